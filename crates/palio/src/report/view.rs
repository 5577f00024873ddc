//! The questions that every format asks of a report.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use super::units;
use crate::contender::{Kind, Track};
pub(super) use crate::printable::printable;
use crate::record::{Machine, Outcome};
use crate::report::model::{
    CheckedPrediction, Contender, Entry, Forks, Interval, NoiseFloor, Race, Report, Total,
    VerdictWord,
};
use crate::stats::{Groups, Shape};
use crate::workload::MissNote;
use crate::workload::Origin;

/// A report with its contenders in the order of display and its entries in a grid.
pub(super) struct View<'a> {
    pub(super) report: &'a Report,
    /// Best first as in the totals, then those without a total.
    pub(super) contenders: Vec<&'a str>,
    index: HashMap<&'a str, usize>,
    /// For each of `contenders`, its number for colours and shapes.
    hues: Vec<usize>,
    /// For each race, for each of `contenders`: its entry, `None` if it was not entered.
    pub(super) grid: Vec<Vec<Option<&'a Entry>>>,
    /// The shapes of the samples in the grid, once somebody has asked for one.
    shapes: OnceCell<Vec<Vec<Shape>>>,
}

/// Races that stand under one heading, and who takes part in any of them.
pub(super) struct Family<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) races: Vec<usize>,
    /// Columns of contenders that raced here, be it only to fail.
    pub(super) columns: Vec<usize>,
}

/// A version without what it says of its parts, where there is little room: `ABI GOMP_5.1` of
/// `ABI GOMP_5.1, build-id 3856f0954e19`.
pub(super) fn short_version(version: &str) -> &str {
    let end = [version.find(" ("), version.find(", ")].into_iter().flatten().min();
    end.map_or(version, |end| &version[..end])
}

impl Report {
    /// `contender (tuned)`.
    pub(super) fn marked(&self, id: &str) -> String {
        let known = self.contenders.iter().find(|contender| contender.id == id);
        let is_tuned = known.is_some_and(|contender| contender.track == Track::Tuned);
        if is_tuned { format!("{id} (tuned)") } else { id.to_owned() }
    }

    /// `5 blocks`, or `5 to 20 blocks` where races went on.
    pub(super) fn blocks_text(&self) -> String {
        // Their numbers say nothing: those of blocks that were repeated or cut off are left out.
        let counted = |entry: &Entry| entry.sample_block.chunk_by(|a, b| a == b).count();
        let entries = self.races.iter().flat_map(|race| &race.entries);
        let (planned, most) =
            (self.run.blocks as usize, entries.map(counted).max().unwrap_or_default());
        let text = units::plural(most.max(planned), "block");
        if most > planned { format!("{planned} to {text}") } else { text }
    }

    /// The totals of each model and track, best first.
    pub(super) fn total_groups(&self) -> impl Iterator<Item = &[Total]> {
        self.totals.chunk_by(|a, b| a.field() == b.field())
    }
}

impl<'a> View<'a> {
    pub(super) fn new(report: &'a Report) -> Self {
        let known = report.totals.iter().map(|total| total.contender.as_str());
        let known = known.chain(report.contenders.iter().map(|contender| contender.id.as_str()));
        let entered = report.races.iter().flat_map(|race| &race.entries);
        let mut contenders = Vec::new();
        let mut index = HashMap::new();
        for id in known.chain(entered.map(|entry| entry.contender.as_str())) {
            index.entry(id).or_insert_with(|| {
                contenders.push(id);
                contenders.len() - 1
            });
        }
        let grid = report.races.iter().map(|race| {
            let mut row = vec![None; contenders.len()];
            for entry in &race.entries {
                row[index[entry.contender.as_str()]] = Some(entry);
            }
            row
        });
        let grid = grid.collect();
        // By the list of contenders and not by rank: a contender keeps its colour when it loses.
        let listed = |id: &&str| report.contenders.iter().position(|contender| contender.id == *id);
        let mut spare = report.contenders.len()..;
        let hues =
            contenders.iter().map(|id| listed(id).or_else(|| spare.next()).unwrap_or(0)).collect();
        Self { report, contenders, index, hues, grid, shapes: OnceCell::new() }
    }

    /// The shape of the samples of a cell.
    pub(super) fn shape(&self, race: usize, column: usize) -> Shape {
        let shapes = self.shapes.get_or_init(|| {
            let of = |entry: &Option<&Entry>| {
                let ok = entry.filter(|entry| entry.outcome == Outcome::Ok);
                ok.map_or_else(Shape::default, |entry| Shape::of(&entry.sample_ns))
            };
            self.grid.iter().map(|row| row.iter().map(of).collect()).collect()
        });
        shapes[race][column]
    }

    /// The families of workloads (`rt_multi_threaded/…`) in the order of their first race; those
    /// without a family share one for each model.
    pub(super) fn families(&self) -> Vec<Family<'a>> {
        let mut families: Vec<(Cow<'a, str>, Vec<usize>)> = Vec::new();
        for (i, race) in self.report.races.iter().enumerate() {
            let name =
                race.workload.split_once('/').map_or(race.model.name(), |(family, _)| family);
            let name = match race.cpu_budget {
                None => Cow::Borrowed(name),
                Some(_) => Cow::Owned(format!("{name}, with a CPU budget")),
            };
            match families.iter_mut().find(|(other, _)| *other == name) {
                Some((_, races)) => races.push(i),
                None => families.push((name, vec![i])),
            }
        }
        let with_columns = |(name, races): (Cow<'a, str>, Vec<usize>)| {
            let columns = self.raced(&races);
            Family { name, races, columns }
        };
        families.into_iter().map(with_columns).collect()
    }

    /// Columns of those that raced in any of these races, be it only to fail.
    pub(super) fn raced(&self, races: &[usize]) -> Vec<usize> {
        let has_raced = |c: &usize| {
            let entries = races.iter().filter_map(|&race| self.grid[race][*c]);
            entries.map(|entry| entry.outcome).any(|outcome| !outcome.is_left_aside())
        };
        (0..self.contenders.len()).filter(has_raced).collect()
    }

    /// Column of a contender.
    pub(super) fn column(&self, contender: &str) -> usize {
        self.index[contender]
    }

    /// The number of a column's contender for colours and shapes.
    pub(super) fn hue(&self, column: usize) -> usize {
        self.hues[column]
    }

    pub(super) fn contender(&self, id: &str) -> Option<&'a Contender> {
        self.report.contenders.iter().find(|contender| contender.id == id)
    }

    /// Whether any interval is open on a side, so that a format can say what the dash means.
    pub(super) fn has_unbounded(&self) -> bool {
        let intervals = self.ranked().flat_map(|(_, entry)| {
            let reference = entry.ratio_to_reference.map(|v| (v.lo, v.hi));
            [entry.ratio_to_best.map(|i| (i.lo, i.hi)), reference]
        });
        intervals.flatten().any(|(lo, hi)| lo.is_none() || hi.is_none())
    }

    pub(super) fn ranked(&self) -> impl Iterator<Item = (&'a Race, &'a Entry)> {
        self.report.races.iter().flat_map(|race| {
            race.entries.iter().filter(|entry| entry.outcome == Outcome::Ok).map(move |e| (race, e))
        })
    }

    /// Races that differ in nothing but their threads, by rising threads; only where there are
    /// several.
    pub(super) fn thread_sweeps(&self) -> Vec<Vec<usize>> {
        thread_sweeps(&self.report.races, 2)
    }

    /// Races × contenders that did not end well, in the order of the races.
    pub(super) fn failures(&self) -> impl Iterator<Item = (usize, &'a Race, &'a Entry)> {
        self.report.races.iter().enumerate().flat_map(|(i, race)| {
            race.entries.iter().filter(|e| e.outcome != Outcome::Ok).map(move |e| (i, race, e))
        })
    }
}

/// Races that differ in nothing but their threads, by rising threads, each number once; only where
/// there are `fewest` or more.
pub(super) fn thread_sweeps(races: &[Race], fewest: usize) -> Vec<Vec<usize>> {
    let mut sweeps: Vec<Vec<usize>> = Vec::new();
    for (i, race) in races.iter().enumerate() {
        let same = |sweep: &&mut Vec<usize>| {
            let first = &races[sweep[0]];
            first.is_same_work(race) && first.cpu_budget.is_some() == race.cpu_budget.is_some()
        };
        match sweeps.iter_mut().find(same) {
            Some(sweep) => sweep.push(i),
            None => sweeps.push(vec![i]),
        }
    }
    for sweep in &mut sweeps {
        sweep.sort_by_key(|&i| races[i].threads);
        sweep.dedup_by_key(|i| races[*i].threads);
    }
    sweeps.retain(|sweep| sweep.len() >= fewest);
    sweeps
}

impl Report {
    /// Puts what is known of missed predictions beside them.
    pub fn explain_misses(&mut self, notes: &[MissNote]) {
        for missed in self.predictions.iter_mut().filter(|p| p.held == Some(false)) {
            // What is expected may go on with how near is near.
            let of = |note: &&MissNote| {
                let order = note.order.to_string();
                let rest = missed.expected.strip_prefix(&order);
                note.workload == missed.workload
                    && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            };
            missed.note = notes.iter().find(of).map(|note| note.note.clone());
        }
    }
}

impl CheckedPrediction {
    /// The reason, and why it missed.
    pub(super) fn because_text(&self) -> String {
        let because = self.because.trim_end_matches('.');
        match &self.note {
            Some(note) => format!("{because}; but {note}"),
            None => because.to_owned(),
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self.held {
            Some(true) => "held",
            Some(false) => "missed",
            None => "undecided",
        }
    }
}

impl VerdictWord {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
            Self::Reference => "reference",
        }
    }
}

impl Shape {
    /// `‡` for two groups, `*` for outliers, nothing else.
    pub(super) fn mark(&self) -> &'static str {
        match (self.groups, self.outliers) {
            (Some(_), _) => "‡",
            (None, 0) => "",
            (None, _) => "*",
        }
    }

    /// What the mark stands for, of samples in this race.
    pub(super) fn text(&self, race: &Race, samples: usize) -> Option<String> {
        if let Some(Groups { lower_share, lower, upper }) = self.groups {
            return Some(format!(
                "two groups: {:.0} % near {}, the others near {}",
                lower_share * 100.0,
                race.number_text(lower),
                race.number_text(upper)
            ));
        }
        (self.outliers > 0).then(|| {
            format!(
                "outliers: {} of {} far off the others",
                self.outliers,
                units::count(samples as u64)
            )
        })
    }
}

impl Entry {
    /// `1`, or `1-2` for a tie.
    pub(super) fn rank_text(&self) -> String {
        match self.rank {
            None => units::NONE.into(),
            Some([lo, hi]) if lo == hi => lo.to_string(),
            Some([lo, hi]) => format!("{lo}-{hi}"),
        }
    }

    pub(super) fn is_first(&self) -> bool {
        self.rank.is_some_and(|[lo, _]| lo == 1)
    }

    pub(super) fn is_tuned(&self) -> bool {
        self.track == Track::Tuned
    }

    /// Why it failed, if it did by its own fault: `smol crashed: it exited with status 1`.
    pub(super) fn fault_text(&self) -> Option<String> {
        let detail = self.detail.as_ref().map(|detail| format!(": {}", printable(detail)));
        let name = printable(&marked(self));
        let text = format!("{name} {}{}", self.outcome.words(), detail.unwrap_or_default());
        self.outcome.is_fault().then_some(text)
    }

    /// Its doubts, for a text that marks no number of its own: `doubtful: smol accounted for 12 %
    /// of the time that it took by Palio's clock`.
    pub(super) fn doubts_text(&self) -> impl Iterator<Item = String> {
        let name = printable(&marked(self));
        self.doubts.iter().map(move |doubt| format!("doubtful: {name} {doubt}"))
    }

    /// What of its work nobody has counted although the row has an amount of it, each the end of
    /// a sentence about the contender.
    pub(super) fn uncounted(&self) -> impl Iterator<Item = String> {
        let work = (self.certified == Some(false)).then(|| {
            "did not count its work, so that nothing certifies that it did all of it".to_owned()
        });
        let is_ranked = self.outcome == Outcome::Ok && self.kind != Kind::Baseline;
        let forks = self.forks.as_ref().filter(|forks| is_ranked && forks.handed.is_none());
        let forks = forks.map(|forks| {
            let why = forks.detail.as_ref().and_then(|why| why.lines().next());
            let why =
                why.map(|why| format!(" ({})", why.trim_end_matches('.'))).unwrap_or_default();
            format!("has forks that were not counted{why}: they may have been plain calls")
        });
        work.into_iter().chain(forks)
    }

    /// Range ÷ what is ranked, in percent.
    pub(super) fn spread_percent(&self) -> Option<f64> {
        Some((self.max_ns? - self.min_ns?) / self.value_ns? * 100.0).filter(|x| x.is_finite())
    }

    pub(super) fn ns_per_op(&self, race: &Race) -> Option<f64> {
        self.median_ns.filter(|_| race.ops > 0).map(|ns| ns / race.ops as f64)
    }

    /// CPU time of an iteration, user and system.
    pub(super) fn cpu_us(&self) -> Option<f64> {
        Some(self.user_us? + self.sys_us?).filter(|x| *x > 0.0)
    }

    /// How much of its CPU time it spends in the system's calls.
    fn system_share(&self) -> Option<f64> {
        self.sys_us.zip(self.cpu_us()).map(|(system, total)| system / total)
    }

    /// User, system and total CPU time of an iteration.
    pub(super) fn cpu_texts(&self) -> [Option<String>; 3] {
        let time = |us: f64| if us == 0.0 { "0".to_owned() } else { units::time(us * 1e3) };
        let total = self.user_us.zip(self.sys_us).map(|(user, sys)| user + sys);
        [self.user_us, self.sys_us, total].map(|us| us.map(time))
    }

    /// The samples of each block in order, blocks without a sample left out.
    pub(super) fn blocks(&self) -> BTreeMap<u32, Vec<f64>> {
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (&ns, &block) in self.sample_ns.iter().zip(&self.sample_block) {
            if ns.is_finite() && ns > 0.0 {
                blocks.entry(block).or_default().push(ns);
            }
        }
        blocks
    }
}

/// From this share of the CPU time of any contender on, what the system takes is worth a column.
const SYSTEM_SHARE_MIN: f64 = 0.25;

impl Race {
    /// Whether somebody spends much of its CPU time in the system's calls, as in rows on sockets.
    pub(super) fn works_in_the_system(&self) -> bool {
        let mut shares = self.entries.iter().filter_map(Entry::system_share);
        shares.any(|share| share >= SYSTEM_SHARE_MIN)
    }

    /// Whether more than one contender is ranked.
    pub(super) fn is_contested(&self) -> bool {
        self.entries.iter().filter(|entry| entry.rank.is_some()).count() > 1
    }

    /// `n=27`, or nothing.
    pub(super) fn params_text(&self) -> String {
        let pairs: Vec<String> =
            self.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
        pairs.join(" ")
    }

    pub(super) fn threads_text(&self) -> String {
        units::plural(self.threads as usize, "thread")
    }

    /// `fib n=27 · 2 threads`, or `fib n=27 · 2 threads in 2 CPUs`.
    pub(super) fn label(&self) -> String {
        let params = self.params_text();
        let gap = if params.is_empty() { "" } else { " " };
        let conditions = self.conditions_text();
        printable(&format!("{}{gap}{params} · {conditions}", self.workload))
    }

    /// `2 threads`, or `2 threads in 2 CPUs` with a CPU budget.
    pub(super) fn conditions_text(&self) -> String {
        let budget =
            self.cpu_budget.map_or(String::new(), |budget| format!(" in {}", budget.text()));
        self.threads_text() + &budget
    }

    /// Whether the two are raced on the same work; on as many threads or not.
    pub(super) fn is_same_work(&self, other: &Self) -> bool {
        self.workload == other.workload && self.params == other.params
    }

    /// The head of the column of verdicts: what they are against.
    pub(super) fn verdict_head(&self) -> String {
        self.reference.as_ref().map_or("verdict".into(), |name| format!("against {name}"))
    }

    /// What a reader must know of this race's conditions, each a sentence.
    pub(super) fn caveats(&self, report: &Report) -> Vec<String> {
        let machine = &report.run.machine;
        // Those that the system schedules: threads of a core are among them already.
        let cpus = machine.cores;
        let crowded = cpus
            .filter(|&cpus| self.threads > cpus)
            .map(|cpus| format!("{} on a machine that runs {cpus} at a time", self.threads_text()));
        let differs = self.origin.iter().flat_map(Origin::notes);
        let unbound = self.cpu_budget.zip(cpus).filter(|(budget, cpus)| budget.cpus > *cpus);
        let unbound = unbound.map(|(budget, cpus)| {
            format!("a CPU budget of {} on a machine of {cpus} binds nobody", budget.text())
        });
        let all =
            crowded.into_iter().chain(unbound).chain(self.cautions.iter().cloned()).chain(differs);
        all.map(|text: String| printable(&text)).collect()
    }

    /// What was checked, for the certificate of equal work: the samples of all that are ranked.
    pub(super) fn checked_samples(&self) -> u64 {
        let ranked = self.entries.iter().filter(|entry| entry.outcome == Outcome::Ok);
        ranked.map(|entry| u64::from(entry.samples)).sum()
    }

    /// `all 600 samples answered 196418 after 317,810 forks; not certified: the work of go, which
    /// does not count it`.
    pub(super) fn certificate(&self) -> Option<String> {
        let samples = self.checked_samples();
        let ok = || self.entries.iter().filter(|entry| entry.outcome == Outcome::Ok);
        let uncounted: Vec<&str> = ok()
            .filter(|entry| entry.certified == Some(false))
            .map(|entry| entry.contender.as_str())
            .collect();
        let rest = if ok().all(|entry| entry.certified.is_none()) {
            "; not certified: the work, of which the catalogue states no amount".to_owned()
        } else if uncounted.is_empty() {
            String::new()
        } else {
            format!("; not certified: the work of {}, uncounted", uncounted.join(", "))
        };
        (samples > 0).then(|| {
            format!(
                "all {} samples answered {} after {}{rest}{}",
                units::count(samples),
                if self.salted {
                    "what the salt of their process demands".to_owned()
                } else {
                    format!("{} (unsalted: the same everywhere)", printable(&self.answer))
                },
                units::plural(self.ops as usize, &self.unit),
                self.forks_text()
            )
        })
    }

    /// `; of 317,810 forks due, handed to the runtime: 317,810 by go, rayon; 635,620 by openmp;
    /// forks not counted: tmc (another iteration would take too long)`, or nothing where the row
    /// has none. Each reason stands there once, behind all whom it is about: it may be Palio's.
    fn forks_text(&self) -> String {
        let ok = self.entries.iter().filter(|entry| entry.outcome == Outcome::Ok);
        let asked: Vec<(&str, &Forks)> = ok
            .filter_map(|entry| Some((entry.contender.as_str(), entry.forks.as_ref()?)))
            .collect();
        let mut handed: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        let mut uncounted: Vec<(&str, Vec<&str>)> = Vec::new();
        for (contender, forks) in &asked {
            if let Some(count) = forks.handed {
                handed.entry(count).or_default().push(contender);
                continue;
            }
            let why = forks.detail.as_deref().unwrap_or_default();
            match uncounted.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(contender),
                None => uncounted.push((why, vec![*contender])),
            }
        }
        let Some((_, Forks { at_least, .. })) = asked.first() else { return String::new() };
        let due = units::plural(*at_least as usize, "fork");
        let by: Vec<String> = handed
            .iter()
            .map(|(count, by)| format!("{} by {}", units::count(*count), by.join(", ")))
            .collect();
        let counted = (!by.is_empty())
            .then(|| format!("; of {due} due, handed to the runtime: {}", by.join("; ")));
        let without: Vec<String> = uncounted
            .iter()
            .map(|(why, names)| match printable(why).lines().next() {
                Some(why) => format!("{} ({why})", names.join(", ")),
                None => names.join(", "),
            })
            .collect();
        let rest =
            (!without.is_empty()).then(|| format!("; forks not counted: {}", without.join("; ")));
        counted.into_iter().chain(rest).collect()
    }

    /// What must be known of the ranked before their numbers are believed: `smol accounted for
    /// 12 % of the time it took`.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let ranked = self.entries.iter().filter(|entry| entry.outcome == Outcome::Ok);
        ranked
            .flat_map(|entry| {
                entry.doubts.iter().map(|doubt| format!("{} {doubt}", printable(&marked(entry))))
            })
            .collect()
    }

    /// The floors of contenders other than the reference that ran beside a shadow.
    fn own_floors(&self) -> String {
        let others =
            self.entries.iter().filter(|entry| Some(&entry.contender) != self.reference.as_ref());
        let floors = others.filter_map(|entry| {
            let factor = entry.noise_floor?.ratio.map_or("unknown".to_owned(), units::factor);
            Some(format!("{} {factor}", printable(&entry.contender)))
        });
        let floors = floors.collect::<Vec<_>>().join(", ");
        if floors.is_empty() { floors } else { format!("; of contenders: {floors}") }
    }

    pub(super) fn noise_text(&self) -> String {
        let shadow =
            |i: Interval| format!("{} {}", units::fine(i.point), units::fine_limits(i.lo, i.hi));
        match self.noise_floor {
            Some(NoiseFloor { ratio: Some(ratio), shadow: i }) => {
                let others = self.own_floors();
                format!("{} (shadow ÷ reference {}){others}", units::factor(ratio), shadow(i))
            }
            Some(NoiseFloor { ratio: None, shadow: i }) => {
                format!("unknown, too few blocks (shadow ÷ reference {})", shadow(i))
            }
            None => "unknown, the reference and its shadow did not both complete".into(),
        }
    }
}

/// `contender (tuned)`.
pub(super) fn marked(entry: &Entry) -> String {
    if entry.is_tuned() { format!("{} (tuned)", entry.contender) } else { entry.contender.clone() }
}

/// What is known of a machine, each with its name.
pub(super) fn machine_facts(machine: &Machine) -> Vec<(&'static str, String)> {
    let number = |n: Option<u32>| n.map(|n| n.to_string());
    let caches = (!machine.caches.is_empty()).then(|| machine.caches.join(", "));
    let facts = [
        ("CPU", machine.cpu_model.clone()),
        ("Processors", number(machine.cores)),
        ("Threads a core", number(machine.threads_per_core)),
        ("Sockets", number(machine.sockets)),
        ("NUMA nodes", number(machine.numa_nodes)),
        ("Caches", caches),
        ("Memory", machine.memory_kib.map(units::kibibytes)),
        ("Governor", machine.governor.clone()),
        ("Turbo", machine.turbo.clone()),
        ("Kernel", machine.kernel.clone()),
        ("libc", machine.libc.clone()),
        ("System", machine.os.clone()),
        ("Virtualisation", machine.virtualisation.clone()),
        ("CPU quota", machine.cpu_quota.clone()),
        ("Control groups", machine.control_groups.clone()),
    ];
    facts.into_iter().filter_map(|(name, text)| Some((name, printable(&text?)))).collect()
}

pub(super) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}
