//! A report about some of the contenders of a run, and about the races that they have in common.
//!
//! What compares contenders with each other is computed anew over those that are shown: ranks,
//! ratios to the best, means and headlines. What belongs to a whole race stays as it was raced: its
//! noise floor, and its reference, even where that one is not shown.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use super::model::{Race, Report, Selection};
use super::{summary, units};
use crate::record::{Outcome, RunRecord};
use crate::suggest::nearest;

/// What a reader asked to see of a run.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The contenders to show; empty for all.
    pub only: Vec<String>,
    /// Contenders to leave out.
    pub except: Vec<String>,
    /// Only races that all contenders that are shown completed.
    pub intersection: bool,
}

impl Choice {
    fn is_everything(&self) -> bool {
        self.only.is_empty() && self.except.is_empty() && !self.intersection
    }

    /// The contenders to show, in the order of the run.
    fn shown<'a>(&self, run: &'a RunRecord) -> Result<Vec<&'a str>> {
        let ids: Vec<&str> = run.contenders.iter().map(|contender| contender.id.as_str()).collect();
        for id in self.only.iter().chain(&self.except) {
            if !ids.contains(&id.as_str()) {
                let hint = instead(id, ids.iter().copied());
                bail!("the contender {id} is not in the run {}; {hint}", run.header.id);
            }
        }
        let has = |list: &[String], id: &str| list.iter().any(|other| other == id);
        let is_shown =
            |id: &&str| (self.only.is_empty() || has(&self.only, id)) && !has(&self.except, id);
        let shown: Vec<&str> = ids.into_iter().filter(is_shown).collect();
        if shown.is_empty() {
            bail!("--only and --except leave no contender of the run {}", run.header.id);
        }
        Ok(shown)
    }
}

/// What to name instead of a contender that a run with these has not.
pub(super) fn instead<'a>(id: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    nearest(id, known.clone()).map_or_else(
        || format!("it has {}", known.collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean {near}?"),
    )
}

/// The report of what was chosen of a run.
///
/// # Errors
/// A name is not in the run, or nothing is left to be shown.
pub fn report(run: &RunRecord, choice: &Choice) -> Result<Report> {
    if choice.is_everything() {
        return Ok(summary::report(run));
    }
    let shown = choice.shown(run)?;
    // Who was not built can have no race in common with anybody, unless somebody asks for it.
    let raced: BTreeSet<&str> = run
        .races
        .iter()
        .flat_map(|race| &race.cells)
        .filter(|cell| !cell.outcome.is_left_aside())
        .map(|cell| cell.contender.as_str())
        .collect();
    let all: Vec<&str> =
        shown.iter().copied().filter(|id| !choice.only.is_empty() || raced.contains(id)).collect();
    let completed = |race: &Race, id: &str| {
        race.entries.iter().any(|entry| entry.contender == id && entry.outcome == Outcome::Ok)
    };
    let mut left_out = Vec::new();
    let mut counts = vec![0_usize; all.len()];
    let mut keeps = |race: &Race| {
        for (count, id) in counts.iter_mut().zip(&all) {
            *count += usize::from(completed(race, id));
        }
        let keeps = if choice.intersection && !all.is_empty() {
            all.iter().all(|id| completed(race, id))
        } else {
            race.entries.iter().any(|entry| !entry.outcome.is_left_aside())
        };
        if !keeps {
            left_out.push(race.label());
        }
        keeps
    };
    let mut report = summary::selected(run, &|id| shown.contains(&id), &mut keeps);
    if report.races.is_empty() && choice.intersection && !all.is_empty() {
        let each: Vec<String> = all
            .iter()
            .zip(&counts)
            .map(|(id, count)| format!("{id} completed {count} of {}", run.races.len()))
            .collect();
        bail!("no race of the run {} was completed by all: {}", run.header.id, each.join(", "));
    }
    if report.races.is_empty() {
        bail!("no race of the run {} was raced by {}", run.header.id, shown.join(", "));
    }
    let others = run.contenders.iter().map(|contender| contender.id.as_str());
    report.run.selection = Some(Selection {
        contenders: shown.iter().map(|id| (*id).to_owned()).collect(),
        contenders_left_out: others.filter(|id| !shown.contains(id)).map(str::to_owned).collect(),
        intersection: choice.intersection,
        races_left_out: left_out,
    });
    Ok(report)
}

impl Selection {
    /// A sentence or two for the head of a report that shows so many races.
    pub(crate) fn text(&self, races: usize) -> String {
        let (shown, hidden) = (self.contenders.len(), self.contenders_left_out.len());
        let mut text = if hidden == 0 {
            "This report shows a part of its run: all contenders".to_owned()
        } else {
            format!(
                "This report shows a part of its run: {shown} of {}, without {}",
                units::plural(shown + hidden, "contender"),
                self.contenders_left_out.join(", ")
            )
        };
        let all = units::plural(races + self.races_left_out.len(), "race");
        text += &match (self.intersection, self.races_left_out.len()) {
            (true, _) => format!("; and {races} of {all}, those that all of them completed"),
            (false, 0) => String::new(),
            (false, _) => format!("; and {races} of {all}, those that one of them raced"),
        };
        text += ". Ranks, firsts, ratios to the best, means and headlines are computed over what is shown; noise \
                 floors, and verdicts against the reference, are those of the whole race, and Holm's correction of \
                 these is that of the whole run.";
        text
    }
}
