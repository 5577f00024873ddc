//! What a run from elsewhere must show before it is believed: the rules that every run keeps which
//! Palio has raced. Pure.
//!
//! The hash of a bundle shows that nothing was changed by accident, and nothing more: whoever
//! changes a run can compute it anew. These rules hold a run against itself, and against the
//! catalogue where that has its workloads.

mod command;
mod design;
mod forks;
mod header;
mod here;
mod invocation;
mod seed;
mod unstarted;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use command::{check_cell_command, check_run_command};
use header::{check_contender, check_header};
pub use here::Here;
use here::Told;
pub use invocation::{InvocationAudit, Wrong, wrong};
use seed::{OfCell, Witnesses};
use unstarted::Raced;

use crate::load::Load;
use crate::plan::THREADS_MAX;
use crate::printable::printable;
use crate::record::{CellRecord, ContenderRecord, Header, InvocationRecord, Outcome, RaceRecord};
use crate::runner::excerpt::shown;
use crate::runner::schedule::{self, BATCH_MAX};
use crate::salt::{Plain, Rule};
use crate::workload::Settings;

/// The longest name of a run, a suite, a workload or a unit.
const NAME_BYTES_MAX: usize = 200;
/// The longest name under which a contender races: its release and its knobs are part of it.
const LABEL_BYTES_MAX: usize = 2_000;
/// The longest title of a workload or name of a contender.
const TITLE_BYTES_MAX: usize = 300;
/// The longest definition of a workload.
const DEFINITION_BYTES_MAX: usize = 20_000;

/// What is told of a run whose processes have no salts.
const UNWITNESSED: &str = "its processes have no salts, as those of a Palio from before there were any: \
                           whoever wanted to could know their answers beforehand, and what was taken out of the run \
                           is not missed";

/// Why a run is not believed: a place in it, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    place: String,
    reason: String,
    /// Whether the run may be right where it was raced, and differs from what is known here.
    is_of_here: bool,
}

impl Fault {
    fn new(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { place: place.into(), reason: reason.into(), is_of_here: false }
    }

    /// Whether the run may be right where it was raced, and differs from what is known here: then
    /// another export of it is refused as well.
    pub fn is_of_here(&self) -> bool {
        self.is_of_here
    }

    /// The same as a part of `outer`.
    #[must_use]
    pub fn within(self, outer: impl fmt::Display) -> Self {
        Self { place: format!("{outer}.{}", self.place), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

impl std::error::Error for Fault {}

type Checked = Result<(), Fault>;

fn check(holds: bool, place: &str, reason: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Fault::new(place, reason())) }
}

fn range<T: PartialOrd + fmt::Display>(place: &str, value: T, (least, most): (T, T)) -> Checked {
    check(value >= least && value <= most, place, || {
        format!("{value} is out of range: {least} to {most} can be raced")
    })
}

/// A word that stands in tables and commands.
fn label(place: &str, text: &str, most: usize) -> Checked {
    check(!text.is_empty(), place, || "it is empty".to_owned())?;
    check(text.len() <= most, place, || {
        format!("it has {} bytes, and such a name has at most {most}", text.len())
    })?;
    let plain = |c: char| !c.is_whitespace();
    check(text.chars().all(plain) && printable(text) == text, place, || {
        format!("\"{}\" has blanks or control characters", shown(text))
    })
}

/// A text in which nothing is counted on, of which there is some.
fn text(place: &str, text: &str, most: usize) -> Checked {
    check(!text.trim().is_empty(), place, || "it is empty".to_owned())?;
    check(text.len() <= most, place, || {
        format!("it has {} bytes, and such a text has at most {most}", text.len())
    })
}

fn timestamp(place: &str, text: &str) -> Checked {
    check(humantime::parse_rfc3339(text).is_ok(), place, || {
        format!("\"{}\" is no date as 2026-03-01T12:00:00Z is one", shown(text))
    })
}

/// Holds the races of one run against the rules, one after the other.
#[derive(Debug)]
pub struct Audit<'a> {
    header: &'a Header,
    contenders: BTreeMap<&'a str, &'a ContenderRecord>,
    here: Option<&'a Here>,
    told: Told,
    /// Workload, threads, and whether there is a CPU budget.
    races: BTreeSet<(String, u32, bool)>,
    witnesses: Witnesses,
    raced: Raced,
}

impl<'a> Audit<'a> {
    /// Begins with a run's header and its contenders.
    ///
    /// # Errors
    /// The first of them that cannot be true.
    pub fn new(
        header: &'a Header,
        contenders: &'a [ContenderRecord],
        here: Option<&'a Here>,
    ) -> Result<Self, Fault> {
        check_header(header)
            .and_then(|()| check_run_command(header))
            .map_err(|fault| fault.within("header"))?;
        let (mut known, mut told) = (BTreeMap::new(), Told::default());
        for (index, contender) in contenders.iter().enumerate() {
            let checked = check_contender(contender)
                .and_then(|()| {
                    let twin = known.insert(contender.id.as_str(), contender);
                    check(twin.is_none(), "id", || format!("{} is there twice", contender.id))
                })
                .and_then(|()| here.map_or(Ok(()), |here| told.contender(here, contender)));
            checked.map_err(|fault| fault.within(format!("contenders[{index}]")))?;
        }
        design::check_design(header.design.as_ref(), &known)?;
        let (races, witnesses, raced) = (BTreeSet::new(), Witnesses::default(), Raced::default());
        Ok(Self { header, contenders: known, here, told, races, witnesses, raced })
    }

    /// Ends with what the run is to be told of itself, each a warning: where it is not what is
    /// known here, and whether it has salts.
    ///
    /// # Errors
    /// Somebody is said not to do what it does in another race.
    pub fn end(mut self) -> Result<Vec<String>, Fault> {
        self.raced.check()?;
        if let Some(here) = self.here {
            let raced = |id: &str| self.races.iter().any(|(workload, ..)| workload == id);
            self.told.suite(here, self.header, raced);
        }
        let mut told = self.here.map_or_else(Vec::new, |here| self.told.warnings(here));
        if self.witnesses.are_missing() {
            told.push(UNWITNESSED.to_owned());
        }
        Ok(told)
    }

    /// Goes on with a race and its `cells`, whose invocations follow one by one. The name of a
    /// place starts at the race.
    ///
    /// # Errors
    /// The first thing that cannot be true.
    pub fn race<'r>(
        &mut self,
        race: &'r RaceRecord,
        cells: &'r [CellRecord],
    ) -> Result<RaceAudit<'r>, Fault>
    where
        'a: 'r,
    {
        let key = (race.workload.clone(), race.threads, race.cpu_budget.is_some());
        let new = self.races.insert(key);
        check(new, "workload", || {
            format!("the race of {} on {} thread(s) is there twice", race.workload, race.threads)
        })?;
        self.check_race(race)?;
        if let Some(here) = self.here {
            self.told.race(here, self.header.preset, race, cells)?;
        }
        let has_cell = |name: &&str| cells.iter().any(|cell| cell.contender == **name);
        let missing = self.contenders.keys().find(|name| !has_cell(name));
        check(missing.is_none(), "cells", || {
            let name = shown(missing.unwrap_or(&""));
            format!("{name} has none: whoever does not take part in a race has one that says why")
        })?;
        let is_there = |name: &String| cells.iter().any(|cell| cell.contender == *name);
        check(race.reference.as_ref().is_none_or(is_there), "reference", || {
            format!("{} has no cell in this race", race.reference.as_deref().unwrap_or_default())
        })?;
        let mut seen = BTreeSet::new();
        for (index, cell) in cells.iter().enumerate() {
            let new = seen.insert((&cell.contender, &cell.variant, cell.shadow));
            check(new, "contender", || format!("{} has this cell twice", cell.label()))
                .and_then(|()| self.check_cell(race, cell, cells))
                .and_then(|()| forks::check_forks(race, cell))
                .map_err(|fault| fault.within(format!("cells[{index}]")))?;
        }
        self.raced.take(self.races.len() - 1, race, cells);
        Ok(RaceAudit {
            header: self.header,
            race,
            cells,
            number: self.races.len() - 1,
            next_cell: 0,
            blocks_max: blocks_max(self.header, race),
            raced: None,
            failed: BTreeSet::new(),
            said_to_fail: Vec::new(),
            paces: Vec::new(),
        })
    }

    /// A process has a salt, if the others of the run have, and was then seen by Palio's clock.
    ///
    /// # Errors
    /// This one lacks what others have.
    pub fn witnessed(&mut self, race: &RaceRecord, invocation: &InvocationRecord) -> Checked {
        self.witnesses.take(race, invocation)
    }

    fn check_race(&self, race: &RaceRecord) -> Checked {
        label("workload", &race.workload, NAME_BYTES_MAX)?;
        text("title", &race.title, TITLE_BYTES_MAX)?;
        if let Some(definition) = &race.definition {
            text("definition", definition, DEFINITION_BYTES_MAX)?;
        }
        text("unit", &race.unit, NAME_BYTES_MAX)?;
        range("threads", race.threads, (1, THREADS_MAX))?;
        if let Some(budget) = race.cpu_budget {
            check(budget.cpus == race.threads, "cpus", || {
                format!("{}, and there are as many as threads", budget.cpus)
            })
            .and_then(|()| range("period_us", budget.period_us, (1_000, 1_000_000)))
            .map_err(|fault| fault.within("cpu_budget"))?;
        }
        label("answer", &race.answer, LABEL_BYTES_MAX)?;
        check(race.ops > 0, "ops", || "0: an iteration has one unit of work at least".to_owned())?;
        check(race.work != Some(0), "work", || "0: say `null` where it is not known".to_owned())?;
        if let Some(statistic) = race.statistic {
            let least = statistic.events_min();
            check(race.ops >= least, "ops", || {
                format!("{}: the {statistic} of an iteration needs {least} events", race.ops)
            })?;
        }
        if race.served {
            let load = Load::of(&race.params);
            let all = load.map_err(|error| Fault::new("params", format!("{error:#}")))?.all();
            check(all == race.ops && race.statistic.is_some(), "ops", || {
                format!("{all} requests are sent, and a number of their latencies is ranked")
            })?;
        }
        // The others take long, or may be asked for numbers that take for ever.
        let cheap = |rule: &Rule| {
            matches!(rule, Rule::Start | Rule::Each | Rule::Fib | Rule::Skynet | Rule::Returns)
        };
        if let Some(rule) = race.salt.filter(cheap) {
            let plain = Plain { set: &race.params, ops: race.ops, answer: &race.answer };
            let right = rule.answer(plain, 0).map_err(|e| Fault::new("salt", format!("{e:#}")))?;
            check(right == race.answer, "answer", || {
                format!("{}, and {right} is right", shown(&race.answer))
            })?;
        }
        for (index, prediction) in race.predictions.iter().enumerate() {
            check(prediction.within >= 1.0, "within", || {
                format!("{} is no ratio of the slower to the faster", prediction.within)
            })
            .map_err(|fault| fault.within(format!("predictions[{index}]")))?;
        }
        self.check_blocks(race)
    }

    fn check_blocks(&self, race: &RaceRecord) -> Checked {
        let rule = self.header.repeat;
        let (cut, resumed) = (blocks_cut(race), self.header.resumed_at.len());
        check(cut as usize <= resumed, "blocks", || {
            format!("{cut} were interrupted, and the run was resumed {resumed} times")
        })?;
        race.begun.map_or(Ok(()), |begun| {
            check_block_number(begun, blocks_max(self.header, race))
                .map_err(|fault| fault.within("begun"))
        })?;
        check(rule.is_some() || race.blocks.len() == cut as usize, "blocks", || {
            "they were judged, and the header has no rule (`repeat`)".to_owned()
        })?;
        for (index, block) in race.blocks.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| race.blocks[before].block);
            let share = |share: Option<f64>| share.is_none_or(|s| (0.0..=1.0).contains(&s));
            let repeats =
                rule.is_some_and(|rule| rule.repeats(block.outside, &race.blocks[..index]));
            let checked = check_block_number(block.block, blocks_max(self.header, race))
                .and_then(|()| {
                    check(before.is_none_or(|before| before < block.block), "block", || {
                        format!("{} does not come after the one before it", block.block)
                    })
                })
                .and_then(|()| {
                    check(share(block.outside) && share(block.steal), "outside", || {
                        "it and `steal` are fractions of all CPU time: 0 to 1".to_owned()
                    })
                })
                .and_then(|()| match rule.filter(|_| !block.interrupted) {
                    Some(rule) => check(block.repeated == repeats, "repeated", || {
                        format!(
                            "{}, and by the run's rule it is {repeats}: a block is repeated if others take more \
                             than {} of the CPU time, and at most {} of a race are",
                            block.repeated, rule.outside_max, rule.repeats_max
                        )
                    }),
                    None => check(block.repeated, "repeated", || {
                        "false, and the run was interrupted in it".to_owned()
                    }),
                });
            checked.map_err(|fault| fault.within(format!("blocks[{index}]")))?;
        }
        Ok(())
    }

    /// A cell without its invocations.
    fn check_cell(&self, race: &RaceRecord, cell: &CellRecord, cells: &[CellRecord]) -> Checked {
        let Some(contender) = self.contenders.get(cell.contender.as_str()) else {
            let name = shown(&cell.contender);
            return Err(Fault::new("contender", format!("\"{name}\" is not among `contenders`")));
        };
        check(!cell.command.is_empty(), "command", || "it is empty".to_owned())?;
        let is_twin = |other: &CellRecord| {
            !other.shadow && other.contender == cell.contender && other.variant == cell.variant
        };
        check(!cell.shadow || cells.iter().any(is_twin), "shadow", || {
            format!("{} is the shadow of no cell", cell.label())
        })?;
        let family = self.here.and_then(|here| here.family(race));
        check_cell_command(race, cell, contender, family)?;
        let is_same = |other: &CellRecord| is_twin(other) && other.command == cell.command;
        check(!cell.shadow || cells.iter().any(is_same), "command", || {
            format!("{} is started by another one than the cell that it repeats", cell.label())
        })?;
        if let Some(schedule) = cell.schedule {
            let common = cells.iter().find_map(|cell| cell.schedule);
            let ranges = range("samples", schedule.samples, (1, u32::MAX))
                .and_then(|()| range("batch", schedule.batch, (1, BATCH_MAX)));
            ranges.map_err(|fault| fault.within("schedule"))?;
            let is_cold = schedule.warm_ups == 0;
            check(is_cold == self.header.limits.cold, "schedule.warm_ups", || {
                format!("{}, and limits.cold is {}", schedule.warm_ups, !is_cold)
            })?;
            check(common == Some(schedule), "schedule", || {
                "another cell of the race was asked for something else".to_owned()
            })?;
        }
        match cell.outcome {
            Outcome::Ok => {
                check(
                    contender.absent.is_none() && contender.version.is_some(),
                    "outcome",
                    || format!("ok, and {} was not there or has no version", cell.contender),
                )?;
                check(cell.schedule.is_some(), "schedule", || {
                    "null, and the cell is ok: what it was asked for is not known".to_owned()
                })
            }
            Outcome::Pending => check(self.header.finished_at.is_none(), "outcome", || {
                "pending, and the run is finished".to_owned()
            }),
            _ => check(cell.detail.as_ref().is_some_and(|d| !d.is_empty()), "detail", || {
                format!("empty: nothing says why the outcome is {}", cell.outcome)
            }),
        }
    }
}

/// The blocks of a race in which its run was interrupted.
fn blocks_cut(race: &RaceRecord) -> u32 {
    let cut = race.blocks.iter().filter(|block| block.interrupted).count();
    u32::try_from(cut).unwrap_or(u32::MAX)
}

/// The most blocks that a race of this run can have, those that are repeated among them.
fn blocks_max(header: &Header, race: &RaceRecord) -> u32 {
    let goal = header.until_floor.map_or(0, |goal| goal.blocks_max);
    let repeats = header.repeat.map_or(0, |rule| rule.repeats_max);
    header.blocks.max(goal).saturating_add(repeats).saturating_add(blocks_cut(race))
}

fn check_block_number(block: u32, most: u32) -> Checked {
    check(block < most, "block", || {
        format!("{block}: a race of this run has at most {most} block(s), counted from 0")
    })
}

/// Holds the cells of one race against the rules, one after the other.
#[derive(Debug)]
pub struct RaceAudit<'a> {
    header: &'a Header,
    race: &'a RaceRecord,
    cells: &'a [CellRecord],
    /// From 0: which race of the run it is, and which cell of it comes next.
    number: usize,
    next_cell: usize,
    blocks_max: u32,
    /// How many blocks a cell that is ok has raced.
    raced: Option<u32>,
    /// Who has a process that failed, in which variant and how.
    failed: BTreeSet<Failed>,
    /// The numbers of cells that failed and have no such process.
    said_to_fail: Vec<usize>,
    /// Of the pilots of all cells that had a schedule; `None` of one without a pilot.
    paces: Vec<Option<f64>>,
}

/// A contender, its variant, and an outcome.
type Failed = (String, Settings, Outcome);

impl<'a> RaceAudit<'a> {
    /// Goes on with a cell, whose invocations follow one by one. Cells come in their order.
    pub fn cell(&mut self, cell: &'a CellRecord) -> CellAudit<'a> {
        let number = self.next_cell;
        self.next_cell += 1;
        CellAudit {
            header: self.header,
            race: self.race,
            cell,
            cells: self.cells.len(),
            number,
            by_seed: OfCell::new(self.header, (self.race, self.cells.len()), (self.number, number)),
            blocks_max: self.blocks_max,
            pilot: false,
            pace_ns: None,
            blocks: BTreeSet::new(),
            failed: None,
        }
    }

    /// Ends the race, of which all cells have ended.
    ///
    /// # Errors
    /// A contender is said to have failed, and no process of it did: nor as its own shadow, or as
    /// what it repeats.
    pub fn end(self) -> Checked {
        for &number in &self.said_to_fail {
            let cell = &self.cells[number];
            let failed = (cell.contender.clone(), cell.variant.clone(), cell.outcome);
            check(self.failed.contains(&failed), "outcome", || {
                format!("{}, and no process of {} ended so", cell.outcome, shown(&cell.contender))
            })
            .map_err(|fault| fault.within(format!("cells[{number}]")))?;
        }
        unstarted::check_schedule(self.header, self.race, self.cells, &self.paces)
    }

    /// What a cell that ended shows of its race.
    ///
    /// # Errors
    /// It is ok, and has not raced all blocks; or nobody would have left it aside.
    pub fn end_of_cell(&mut self, mut cell: CellAudit<'a>) -> Checked {
        let outcome = cell.cell.outcome;
        if cell.cell.schedule.is_some() && !cell.cell.shadow {
            self.paces.push(cell.pace_ns);
        }
        if outcome == Outcome::Pending {
            return Ok(());
        }
        if outcome != Outcome::Ok {
            // Nobody starts what cannot race, or is not there.
            let is_unstarted = outcome.is_left_aside() && !cell.pilot && cell.blocks.is_empty();
            // Nobody starts in a block who was too slow in the pilot, nor has a schedule.
            let is_too_slow = outcome == Outcome::TimedOut
                && cell.pilot
                && cell.blocks.is_empty()
                && cell.cell.schedule.is_none()
                && cell.was_slow_in_pilot();
            if cell.failed == Some(outcome) || is_too_slow {
                let CellRecord { contender, variant, .. } = cell.cell;
                self.failed.insert((contender.clone(), variant.clone(), outcome));
            } else if !is_unstarted || outcome == Outcome::Unsupported && cell.cell.shadow {
                // Who takes no part has no shadow.
                self.said_to_fail.push(cell.number);
            } else if outcome == Outcome::Unsupported {
                unstarted::check(self.race, cell.cell, self.cells)?;
            }
            return Ok(());
        }
        // Not everybody has raced in these.
        cell.blocks.extend(self.race.blocks.iter().filter(|b| b.interrupted).map(|b| b.block));
        let count = u32::try_from(cell.blocks.len()).unwrap_or(u32::MAX);
        if let Some(gap) = (0..count).find(|block| !cell.blocks.contains(block)) {
            return Err(Fault::new("invocations", format!("none of them is block {gap}")));
        }
        let undisturbed = self.race.undisturbed(count);
        let planned = self.header.blocks;
        // Who chooses when to stop chooses the result.
        let most = self.header.until_floor.map_or(planned, |goal| planned.max(goal.blocks_max));
        check((planned..=most).contains(&undisturbed), "invocations", || {
            let to = if most > planned { format!(" to {most}") } else { String::new() };
            format!(
                "{undisturbed} block(s) that count, and the run has {planned}{to}: the cell cannot be ok"
            )
        })?;
        let first = *self.raced.get_or_insert(count);
        check(first == count, "invocations", || {
            format!("{count} block(s), and another cell that is ok has {first}")
        })
    }
}

/// Holds the invocations of one cell against the rules, one after the other.
#[derive(Debug)]
pub struct CellAudit<'a> {
    header: &'a Header,
    race: &'a RaceRecord,
    cell: &'a CellRecord,
    /// How many there are in the race, and the number of this one among them.
    cells: usize,
    number: usize,
    by_seed: OfCell<'a>,
    blocks_max: u32,
    pilot: bool,
    /// Of its pilot.
    pace_ns: Option<f64>,
    blocks: BTreeSet<u32>,
    /// How a process of it failed.
    failed: Option<Outcome>,
}

impl<'a> CellAudit<'a> {
    /// A thinned run has no samples of pilots, and is believed.
    fn was_slow_in_pilot(&self) -> bool {
        let is_slow = |pace_ns| schedule::is_too_slow(self.race, pace_ns, &self.header.limits);
        self.header.thinned.is_some() || self.pace_ns.is_some_and(is_slow)
    }

    /// Goes on with what an invocation that ended has shown: its pace, if it was a pilot.
    pub fn end_of_invocation(&mut self, pace_ns: Option<f64>) {
        // As the runner does, the last one that came through.
        self.pace_ns = pace_ns.or(self.pace_ns);
    }

    /// Goes on with an invocation, whose samples follow one by one.
    ///
    /// # Errors
    /// The first thing that cannot be true.
    pub fn invocation<'i>(
        &mut self,
        invocation: &'i InvocationRecord,
    ) -> Result<InvocationAudit<'i>, Fault>
    where
        'a: 'i,
    {
        let outcome = invocation.outcome;
        check(self.cell.outcome != Outcome::NotBuilt, "outcome", || {
            format!("{outcome}, and the contender was not built")
        })?;
        let settled = matches!(self.cell.outcome, Outcome::Ok | Outcome::Pending);
        check(!settled || matches!(outcome, Outcome::Ok | Outcome::Pending), "outcome", || {
            format!("{outcome}, and the cell is {}", self.cell.outcome)
        })?;
        check(outcome != Outcome::NotBuilt, "outcome", || {
            "not-built, and the process ran".to_owned()
        })?;
        timestamp("started_at", &invocation.started_at)?;
        let is_told = invocation.detail.as_ref().is_some_and(|detail| !detail.is_empty());
        check(outcome == Outcome::Ok || is_told, "detail", || {
            format!("empty: nothing says why the outcome is {outcome}")
        })?;
        match invocation.block {
            Some(block) => {
                check_block_number(block, self.blocks_max)?;
                check((invocation.position as usize) < self.cells, "position", || {
                    format!("{}: the race has {} cells", invocation.position, self.cells)
                })?;
                let new = outcome != Outcome::Ok || self.blocks.insert(block);
                check(new, "block", || format!("{block} was raced twice by this cell"))?;
            }
            None => {
                check(outcome != Outcome::Ok || !self.pilot, "block", || {
                    "null: the cell has two pilots".to_owned()
                })?;
                unstarted::check_pilot(self.header, outcome)?;
                self.pilot |= outcome == Outcome::Ok;
            }
        }
        self.by_seed.take(invocation)?;
        if let Some(failed) = self.failed {
            return Err(Fault::new(
                "outcome",
                format!(
                    "{outcome}, and the process before it was {failed}: nobody who failed is started again"
                ),
            ));
        }
        self.failed = Some(outcome).filter(|o| !matches!(o, Outcome::Ok | Outcome::Pending));
        check(outcome != Outcome::Ok || invocation.resources.wall_us > 0, "wall_us", || {
            "0: no process takes no time".to_owned()
        })
        .map_err(|fault| fault.within("resources"))?;
        if let Some(dropped) = invocation.dropped {
            check(self.header.thinned.is_some(), "dropped", || {
                "it lacks samples, and the header does not say that the run was thinned".to_owned()
            })?;
            check(outcome == Outcome::Ok, "dropped", || {
                format!("thinning leaves alone what ended with {outcome}")
            })?;
            let times =
                |sum: u64| if dropped.samples == 0 { sum == 0 } else { sum >= dropped.samples };
            check(times(dropped.iterations) && times(dropped.elapsed_ns), "dropped", || {
                "its sums are not those of so many samples".to_owned()
            })?;
            check(dropped.uncounted <= dropped.samples, "dropped", || {
                "more samples did not count their work than there were".to_owned()
            })?;
        }
        Ok(InvocationAudit::new(self.header, self.race, self.cell, invocation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_its_place_from_the_outside_in() {
        let fault = check(false, "elapsed_ns", || "0".to_owned()).unwrap_err();
        let fault = fault.within("samples[7]").within("invocations[2]").within("cells[3]");
        assert_eq!(fault.to_string(), "cells[3].invocations[2].samples[7].elapsed_ns: 0");
    }
}
