//! The rules for who is said to be unsupported and was never started.
//!
//! That a contender does not do a row is its own word, and a run has it without a process that
//! shows it. So it is what somebody would write who does not like how a contender raced. These
//! rules find it where the rest of the run says otherwise; who writes all of that anew is believed.

use std::collections::BTreeMap;

use super::{Checked, Fault};
use crate::record::{CellRecord, Header, Outcome, RaceRecord};
use crate::runner::excerpt::shown;
use crate::runner::schedule;

/// That a cell which is unsupported without a process is one as [`Plan`](crate::plan::Plan) makes
/// it: it stands for all variants, and is asked for nothing.
pub(super) fn check(race: &RaceRecord, cell: &CellRecord, cells: &[CellRecord]) -> Checked {
    let name = shown(&cell.contender);
    let count = cells.iter().filter(|other| other.contender == cell.contender).count();
    super::check(count == 1, "outcome", || {
        format!(
            "unsupported without a process, and {name} has {count} cells: who takes no part has one"
        )
    })?;
    // Where no quota can be set nobody is started, whatever its command is.
    let is_budget = race.cpu_budget.is_some() && cells.iter().all(|cell| cell.schedule.is_none());
    super::check(is_budget || family(cell).is_none(), "command", || {
        format!(
            "it asks for work, and {name} is said to be unsupported: who takes no part is asked for nothing"
        )
    })
}

/// That a run has pilots. Without them, a process before the blocks is one that was asked for its
/// forks, and is kept where it failed.
pub(super) fn check_pilot(header: &Header, outcome: Outcome) -> Checked {
    super::check(outcome != Outcome::Ok || header.limits.samples.is_none(), "block", || {
        "null: a run whose limits say how many samples there are has no pilots".to_owned()
    })
}

/// That the schedule of a race is the one that its limits say, or else that its pilots give, whose
/// paces these are: whoever is
/// taken out after it took part leaves the schedule of a race in which it did. A thinned run has no
/// samples of pilots.
pub(super) fn check_schedule(
    header: &Header,
    race: &RaceRecord,
    cells: &[CellRecord],
    paces: &[Option<f64>],
) -> Checked {
    let said = cells.iter().find_map(|cell| cell.schedule);
    if let Some((said, due)) = said.zip(schedule::fixed(race, &header.limits)) {
        return super::check(said == due, "cells", || {
            format!(
                "a schedule of {} sample(s) of {} iteration(s), and limits.samples makes it {} of 1",
                said.samples, said.batch, due.samples
            )
        });
    }
    let Some(said) = said.filter(|_| header.thinned.is_none()) else { return Ok(()) };
    let paces: Option<Vec<f64>> = paces.iter().copied().collect();
    let Some(paces) = paces else {
        return Err(Fault::new(
            "cells",
            "somebody has a schedule, and no pilot from which it follows",
        ));
    };
    let due = schedule::of_pilots(race, &paces, &header.limits);
    super::check(due == Some(said), "cells", || {
        let due = due.map_or_else(
            || "none".to_owned(),
            |due| format!("{} sample(s) of {}", due.samples, due.batch),
        );
        format!(
            "a schedule of {} sample(s) of {} iteration(s), and the pilots of those who raced give {due}: somebody \
             else took part, or a pilot was changed",
            said.samples, said.batch
        )
    })
}

/// The name of the work that a cell is asked for.
fn family(cell: &CellRecord) -> Option<&str> {
    let at = cell.command.iter().position(|word| word == "--workload")?;
    cell.command.get(at + 1).map(String::as_str)
}

/// Who raced what, over all races of a run: a contender claims a kind of work with all of its
/// parameters, and on all numbers of threads up to one.
#[derive(Debug, Default)]
pub(super) struct Raced {
    /// By contender and kind of work: the numbers of threads, and in which race.
    raced: BTreeMap<(String, String), Vec<(u32, usize)>>,
    aside: Vec<Aside>,
}

/// Who is unsupported and asked for nothing.
#[derive(Debug)]
struct Aside {
    contender: String,
    family: String,
    threads: u32,
    /// The numbers of the race and of the cell.
    place: (usize, usize),
}

impl Raced {
    /// Goes on with the race of this number.
    pub(super) fn take(&mut self, number: usize, race: &RaceRecord, cells: &[CellRecord]) {
        // Who is left aside does not say of what, but the others of the race do.
        let Some(of_race) = cells.iter().find_map(family) else { return };
        for (index, cell) in cells.iter().enumerate() {
            let key = || (cell.contender.clone(), of_race.to_owned());
            if cell.schedule.is_some() {
                self.raced.entry(key()).or_default().push((race.threads, number));
            } else if cell.outcome == Outcome::Unsupported && family(cell).is_none() {
                let (contender, family) = key();
                let (threads, place) = (race.threads, (number, index));
                self.aside.push(Aside { contender, family, threads, place });
            }
        }
    }

    /// That nobody is unsupported in one race who does the same in others.
    ///
    /// # Errors
    /// Somebody is.
    pub(super) fn check(&self) -> Checked {
        for Aside { contender, family, threads, place: (race, cell) } in &self.aside {
            let key = (contender.clone(), family.clone());
            let mut raced = self.raced.get(&key).into_iter().flatten();
            // It claims a number of threads up to which it does all that it does.
            let Some((raced, number)) = raced.find(|(raced, _)| raced >= threads) else { continue };
            return Err(Fault::new(
                format!("races[{race}].cells[{cell}].outcome"),
                format!(
                    "unsupported, and {} did {} on {raced} thread(s) in races[{number}]",
                    shown(contender),
                    shown(family)
                ),
            ));
        }
        Ok(())
    }
}
