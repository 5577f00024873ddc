//! The plan of a run: which cells there are, and in which order a block starts them. Pure.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use palio_protocol::message::Description;
use palio_protocol::salt::mix;

use crate::budget::{Budgets, CpuBudget};
use crate::contender::Contender;
use crate::record::{CellRecord, Outcome, RaceRecord};
use crate::workload::{Model, Preset, Settings, Workload};

/// The most threads that anyone may ask for.
pub const THREADS_MAX: u32 = 4096;

/// A contender, and what it says of itself if it is ready to race.
#[derive(Clone, Debug)]
pub struct Entrant {
    pub contender: Contender,
    /// `Err` is the outcome and the reason for which it cannot race; [`Outcome::Pending`] until it
    /// is asked, and what its `contender.toml` claims counts.
    pub ready: Result<Description, (Outcome, String)>,
    /// Knobs that the user turned.
    pub knobs: Settings,
    /// A second name, to race a contender against itself.
    pub alias: Option<String>,
}

impl Entrant {
    /// The name under which it races.
    pub fn name(&self) -> String {
        if let Some(alias) = &self.alias {
            return alias.clone();
        }
        let knobs = self.knobs.iter().map(|(key, value)| format!("@{key}={value}"));
        self.contender.id_and_release() + &knobs.collect::<String>()
    }
}

/// Which contenders run a second time in every block, as their own shadows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Shadows {
    /// The reference alone: its noise floor is that of the race
    #[default]
    Reference,
    /// Every contender: a comparison has the wider floor of its two sides
    All,
}

/// What to race, with whom and on how many threads; [`races`](Plan::races) lays it out.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    pub workloads: Vec<&'a Workload>,
    pub entrants: Vec<Entrant>,
    pub preset: Preset,
    /// Instead of the preset's thread counts.
    pub threads: Option<Vec<u32>>,
    /// Cores of this machine.
    pub cores: u32,
    /// The contender that every other one is compared to; `None` leaves the choice to each race.
    pub reference: Option<String>,
    pub shadows: Shadows,
    /// Whether races have a CPU budget; `None` if none has.
    pub budgets: Option<Budgets>,
    /// Why none can be kept here, if so: the end of a sentence about a contender.
    pub no_budget: Option<String>,
}

/// References in order of preference, where the user names none: what most readers know.
pub const REFERENCES: [(Model, &[&str]); 2] = [
    (Model::ForkJoin, &["rayon", "onetbb", "openmp", "go", "serial"]),
    (Model::Async, &["tokio-mt", "tokio-ct", "go", "smol"]),
];

impl Plan<'_> {
    /// Every race with its cells, none of them run yet.
    ///
    /// # Errors
    /// A thread count is out of range, or the reference is not among the contenders.
    pub fn races(&self) -> Result<Vec<RaceRecord>> {
        if let Some(&count) =
            self.threads.iter().flatten().find(|&&count| count == 0 || count > THREADS_MAX)
        {
            bail!("{count} threads cannot be raced: use 1 to {THREADS_MAX}");
        }
        if let Some(reference) = &self.reference
            && !self.entrants.iter().any(|entrant| entrant.name() == *reference)
        {
            bail!(
                "the reference {reference:?} is not among the contenders of this run: add -c {reference}"
            );
        }
        let mut races = Vec::new();
        for workload in &self.workloads {
            let instance = &workload.presets[&self.preset];
            let mut counts: Vec<u32> = match &self.threads {
                Some(threads) => threads.clone(),
                None => {
                    instance.threads.iter().flat_map(|threads| threads.on(self.cores)).collect()
                }
            };
            // On one core, `1` and `cores` are the same column.
            counts.sort_unstable();
            counts.dedup();
            if let Some(count) = counts.iter().find(|&&count| count == 0 || count > THREADS_MAX) {
                bail!("{}: {count} threads cannot be raced: use 1 to {THREADS_MAX}", workload.id);
            }
            for threads in counts {
                // What it means for them stands beside each other.
                if self.budgets != Some(Budgets::Only) {
                    races.push(self.race(workload, threads, None));
                }
                if self.budgets.is_some() {
                    let budget = CpuBudget::of_threads(threads);
                    races.push(self.race(workload, threads, Some(budget)));
                }
            }
        }
        Ok(races)
    }

    fn race(&self, workload: &Workload, threads: u32, cpu_budget: Option<CpuBudget>) -> RaceRecord {
        let instance = &workload.presets[&self.preset];
        let mut cells: Vec<CellRecord> = self
            .entrants
            .iter()
            .flat_map(|entrant| workload.variants.iter().map(move |variant| (entrant, variant)))
            .map(|(entrant, variant)| self.cell(workload, threads, entrant, variant))
            .collect();
        if let Some(reason) = self.no_budget.as_ref().filter(|_| cpu_budget.is_some()) {
            for cell in cells.iter_mut().filter(|cell| cell.outcome == Outcome::Pending) {
                cell.outcome = Outcome::Unsupported;
                cell.detail = Some(reason.clone());
            }
        }
        // A contender that cannot take part fails once, not once in every variant.
        cells.dedup_by(|b, a| a.contender == b.contender && a.outcome != Outcome::Pending);

        let able = |name: &str| {
            cells.iter().any(|cell| cell.contender == name && cell.outcome == Outcome::Pending)
        };
        let wanted = self.reference.clone().filter(|name| able(name));
        let reference = wanted.or_else(|| preferred_reference(workload.model, &cells));
        let shadows = self.shadows(&cells, reference.as_ref());
        cells.extend(shadows);
        RaceRecord {
            workload: workload.id.clone(),
            title: workload.title.clone(),
            definition: Some(workload.definition.clone()),
            model: workload.model,
            scope: workload.scope,
            unit: workload.unit.clone(),
            params: instance.set.clone(),
            threads,
            answer: instance.answer.clone(),
            salt: workload.salt,
            origin: Some(workload.origin.clone()),
            ops: instance.ops,
            work: instance.work,
            elapsed_ns_min: workload.elapsed_ns_min,
            untimed: workload.untimed.clone(),
            one_root: workload.one_root,
            served: workload.served,
            statistic: workload.statistic,
            cpu_budget,
            reference,
            // They were made about runtimes that have the machine.
            predictions: match cpu_budget {
                None => workload.predictions.clone(),
                Some(_) => Vec::new(),
            },
            blocks: Vec::new(),
            begun: None,
            cells,
        }
    }

    /// One variant of a contender is enough to learn what the same work differs from itself. That
    /// of the reference comes first.
    fn shadows(&self, cells: &[CellRecord], reference: Option<&String>) -> Vec<CellRecord> {
        let mut names: Vec<&String> = reference.into_iter().collect();
        if self.shadows == Shadows::All {
            let able = cells.iter().filter(|cell| cell.outcome == Outcome::Pending);
            for cell in able {
                if !names.contains(&&cell.contender) {
                    names.push(&cell.contender);
                }
            }
        }
        let first = |name: &String| cells.iter().find(|cell| cell.contender == *name);
        names
            .into_iter()
            .filter_map(first)
            .map(|cell| CellRecord { shadow: true, ..cell.clone() })
            .collect()
    }

    fn cell(
        &self,
        workload: &Workload,
        threads: u32,
        entrant: &Entrant,
        variant: &Settings,
    ) -> CellRecord {
        let instance = &workload.presets[&self.preset];
        let contender = &entrant.contender;
        let unsupported = |reason: String| (Outcome::Unsupported, reason);
        let able = match &entrant.ready {
            Err(failure) if failure.0 != Outcome::Pending => Err(failure.clone()),
            // What it claims is what it says when it is asked, or it does not race.
            _ if !contender.workloads.contains(&workload.family) => {
                Err(unsupported(format!("does not run {}", workload.family)))
            }
            _ => contender.threads_in(threads).map_err(unsupported),
        };
        let mut command = contender.command.clone();
        if let Ok(threads) = able {
            command.extend([
                "--workload".into(),
                workload.family.clone(),
                "--threads".into(),
                threads.to_string(),
            ]);
            for (key, value) in instance.set.iter().chain(variant).chain(&entrant.knobs) {
                command.extend(["--set".into(), format!("{key}={value}")]);
            }
        }
        let (outcome, detail) = match able {
            Ok(_) => (Outcome::Pending, None),
            Err((outcome, reason)) => (outcome, Some(reason)),
        };
        CellRecord {
            contender: entrant.name(),
            variant: variant.clone(),
            shadow: false,
            command,
            outcome,
            detail,
            stderr: None,
            schedule: None,
            forks: None,
            invocations: Vec::new(),
        }
    }
}

/// The reference of a race where the user names none, among those that can take part.
fn preferred_reference(model: Model, cells: &[CellRecord]) -> Option<String> {
    let able = || cells.iter().filter(|cell| cell.outcome == Outcome::Pending);
    let preferred = REFERENCES.iter().filter(|(of, _)| *of == model).flat_map(|(_, names)| *names);
    let named = preferred.clone().find_map(|name| able().find(|cell| cell.contender == *name));
    // With another allocator for all, variants stand in for those that readers know; a variant's
    // id is that of its base, a hyphen and its name.
    let is_variant = |cell: &&CellRecord, base: &str| {
        cell.contender.strip_prefix(base).is_some_and(|rest| rest.starts_with('-'))
    };
    let variant = || preferred.clone().find_map(|name| able().find(|cell| is_variant(cell, name)));
    let cell = named.or_else(variant).or_else(|| able().next());
    cell.map(|cell| cell.contender.clone())
}

/// The order in which the races of a run are raced, by what it `costs` to build each contender:
/// first the one whose first two contenders are built soonest, so that there is something to
/// compare; after it always the one that needs the least besides what is there.
///
/// It follows from what the contenders claim and not from what is built already, so that it is the
/// same on every machine, and after an interruption.
pub fn work_order(races: &[RaceRecord], costs: impl Fn(&str) -> u32) -> Vec<usize> {
    let needs: Vec<BTreeSet<&str>> = races.iter().map(|race| race.needs().collect()).collect();
    order_by_needs(&needs, costs)
}

fn order_by_needs(needs: &[BTreeSet<&str>], costs: impl Fn(&str) -> u32) -> Vec<usize> {
    let mut ready: BTreeSet<&str> = BTreeSet::new();
    let mut left: Vec<usize> = (0..needs.len()).collect();
    let mut order = Vec::with_capacity(needs.len());
    while !left.is_empty() {
        let cost = |place: &usize| {
            let new = needs[left[*place]].difference(&ready);
            let mut each: Vec<u64> = new.map(|name| u64::from(costs(name))).collect();
            each.sort_unstable();
            let all: u64 = each.iter().sum();
            let two: u64 = each.iter().take(2).sum();
            if ready.is_empty() { (two, all) } else { (all, 0) }
        };
        let race = left.remove((0..left.len()).min_by_key(cost).unwrap_or(0));
        ready.extend(&needs[race]);
        order.push(race);
    }
    order
}

/// Takes a contender that turned out not to be ready out of a race; where it was the reference,
/// another one becomes it, and its shadow that one's. Returns the cells that changed.
pub fn withdraw(race: &mut RaceRecord, contender: &str, reason: &str) -> Vec<usize> {
    let mut changed = Vec::new();
    for (index, cell) in race.cells.iter_mut().enumerate() {
        if cell.contender == contender && cell.outcome == Outcome::Pending {
            cell.outcome = Outcome::NotBuilt;
            cell.detail = Some(reason.to_owned());
            changed.push(index);
        }
    }
    if race.reference.as_deref() != Some(contender) {
        return changed;
    }
    race.reference = preferred_reference(race.model, &race.cells);
    let is_new = |cell: &&CellRecord| Some(&cell.contender) == race.reference.as_ref();
    let shadow = race.cells.iter().position(|cell| cell.shadow && cell.contender == contender);
    let has_shadow = race.cells.iter().filter(is_new).any(|cell| cell.shadow);
    let twin = race.cells.iter().find(is_new).filter(|_| !has_shadow).cloned();
    if let Some((shadow, twin)) = shadow.zip(twin) {
        let fresh = CellRecord {
            shadow: true,
            schedule: None,
            forks: None,
            invocations: Vec::new(),
            ..twin
        };
        race.cells[shadow] = fresh;
    }
    changed
}

/// Whether it is on the starting line of a run without `-c`: as its users get it, not tuned.
pub fn takes_part_by_default(contender: &Contender) -> bool {
    contender.track == crate::contender::Track::Stock
}

/// The order in which block `block` of race `race` starts `cells` cells: a permutation of
/// `0..cells`, seeded, and mirrored in every odd block, so that a drift of the machine falls on all
/// alike.
pub fn block_order(seed: u64, race: usize, block: u32, cells: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cells).collect();
    let pair = u64::from(block / 2);
    let mut random =
        SplitMix64(seed ^ (race as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ pair.rotate_left(32));
    // Fisher and Yates' shuffle.
    for last in (1..cells).rev() {
        order.swap(last, random.below(last + 1));
    }
    if block % 2 == 1 {
        order.reverse();
    }
    order
}

/// The salt of one process: of cell `cell` of race `race` in block `block`, or in its pilot.
/// Another one for each, so that no process can know the answer of another.
///
/// `attempt` counts those that were started for the same before, and interrupted.
pub fn salt(seed: u64, race: usize, cell: usize, block: Option<u32>, attempt: usize) -> u64 {
    let stage = block.map_or(0, |block| u64::from(block) + 1);
    let first = [race as u64, cell as u64, stage].into_iter().fold(mix(seed, 0), mix);
    if attempt == 0 { first } else { mix(first, attempt as u64) }
}

/// Steele, Lea and Flood's SplitMix64: a plan must be the same for ever, so it does not hang on a
/// crate's version.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number below `bound`; the bias for bounds this small (tens) is under 2^-57.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_order_is_a_permutation_and_the_next_block_mirrors_it() {
        for race in 0..20 {
            let first = block_order(7, race, 0, 9);
            let mut sorted = first.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..9).collect::<Vec<_>>());
            let mut mirrored = block_order(7, race, 1, 9);
            mirrored.reverse();
            assert_eq!(mirrored, first);
        }
    }

    #[test]
    fn seeds_races_and_pairs_of_blocks_have_their_own_order() {
        let base = block_order(7, 0, 0, 12);
        assert_ne!(block_order(8, 0, 0, 12), base);
        assert_ne!(block_order(7, 1, 0, 12), base);
        assert_ne!(block_order(7, 0, 2, 12), base);
        assert_eq!(block_order(7, 0, 0, 12), base);
    }

    /// The order of races of contenders with these costs.
    fn order(races: &[&[(&'static str, u32)]]) -> Vec<usize> {
        let costs: BTreeMap<&str, u32> = races.iter().copied().flatten().copied().collect();
        let names = |race: &&[(&'static str, u32)]| race.iter().map(|(name, _)| *name).collect();
        order_by_needs(&races.iter().map(names).collect::<Vec<_>>(), |name| costs[name])
    }

    #[test]
    fn the_race_is_first_whose_first_two_contenders_are_ready_soonest() {
        let (few, many) = ([("a", 6), ("b", 6)], [("c", 1), ("d", 2), ("e", 90)]);
        assert_eq!(order(&[&few, &many]), [1, 0]);
        // Of two such races the one with less to build beside.
        let more = [("c", 1), ("d", 2), ("e", 90), ("f", 1000)];
        assert_eq!(order(&[&few, &more, &many]), [2, 0, 1]);
    }

    #[test]
    fn later_races_wait_for_what_is_not_ready_yet_and_for_nothing_else() {
        // The dear contender is ready when the first race is over.
        let first = [("a", 1), ("b", 2), ("dear", 100)];
        assert_eq!(order(&[&first, &[("c", 50)], &[("dear", 100)]]), [0, 2, 1]);
        // All that is missing counts, and not two of it.
        let four = [("c", 5), ("d", 5), ("e", 5), ("f", 5)];
        assert_eq!(order(&[&first, &four, &[("g", 15)]]), [0, 2, 1]);
        // Equals stay as they are in the suite.
        assert_eq!(order(&[&first, &[("x", 7)], &[("y", 7)]]), [0, 1, 2]);
    }

    #[test]
    fn no_two_processes_of_a_run_share_a_salt_and_a_run_can_be_repeated() {
        let mut salts = BTreeSet::new();
        for (seed, race, cell, block) in (0..2).flat_map(|s| {
            (0..8).flat_map(move |r| (0..8).flat_map(move |c| (0..8).map(move |b| (s, r, c, b))))
        }) {
            assert!(salts.insert(salt(seed, race, cell, Some(block).filter(|&b| b > 0), 0)));
        }
        assert_eq!(salt(7, 1, 2, Some(3), 0), salt(7, 1, 2, Some(3), 0));
        assert!((1..8).all(|attempt| salts.insert(salt(1, 1, 2, Some(3), attempt))));
    }

    #[test]
    fn every_place_is_equally_likely() {
        let mut first_places = [0_u32; 4];
        for seed in 0..4000 {
            first_places[block_order(seed, 0, 0, 4)[0]] += 1;
        }
        assert!(first_places.iter().all(|&count| (850..1150).contains(&count)), "{first_places:?}");
    }
}
