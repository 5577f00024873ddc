//! A tuning sweep: every point of the grid against the baseline, row by row and over all rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model::{Entry, Race, Report, VerdictWord};
use super::{pair, units};
use crate::grid::{Axis, Design, Grid};
use crate::record::Outcome;
use crate::stats::Verdict;

/// What a sweep has to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The contender with all of the knobs as they are by default.
    pub baseline: String,
    pub knobs: Vec<Axis>,
    /// The baseline first, then the points in the order of the grid.
    pub points: Vec<SweepPoint>,
    /// One for each race of the report, in the same order.
    pub rows: Vec<SweepRow>,
    /// How many of the rows all points completed: what their means are over.
    #[serde(default)]
    pub common: u32,
}

/// A setting of the knobs, over all rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPoint {
    pub contender: String,
    pub settings: BTreeMap<String, String>,
    pub is_baseline: bool,
    /// Geometric mean of its ratios to the baseline, over the rows that all points completed;
    /// `None` without such a row.
    pub geomean_ratio: Option<f64>,
    /// In how many rows it is told apart from the baseline, and how.
    pub faster: u32,
    pub slower: u32,
    pub equivalent: u32,
    pub inconclusive: u32,
    /// Rows that it, or the baseline, did not complete.
    pub failed: u32,
}

/// What a row says of the grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepRow {
    pub workload: String,
    pub threads: u32,
    /// The point that is faster than the baseline and than all other points; `None` where none is
    /// told apart so.
    pub best: Option<String>,
    /// A sentence about that, without its full stop.
    pub conclusion: String,
}

impl Sweep {
    /// Of a report whose run was a sweep; of the points that it shows.
    #[must_use]
    pub fn of(report: &Report) -> Option<Self> {
        let Some(Design::Sweep(grid)) = &report.run.design else { return None };
        let shown: Vec<&str> = grid.contenders().filter(|id| is_shown(report, id)).collect();
        // Nothing is averaged over rows with and without a CPU budget.
        let has_budget = |race: &Race| race.cpu_budget.is_some();
        let first = report.races.first().map(has_budget);
        let all: Vec<&Race> =
            report.races.iter().filter(|race| Some(has_budget(race)) == first).collect();
        let is_common = |race: &&Race| shown.iter().all(|id| point(race, grid, id).is_some());
        let common: Vec<&Race> = all.iter().copied().filter(is_common).collect();
        let points = shown.iter().map(|id| over_all([&all, &common], grid, id)).collect();
        let rows = report.races.iter().map(|race| SweepRow::of(race, grid, &shown)).collect();
        Some(Self {
            baseline: grid.baseline.clone(),
            knobs: grid.knobs.clone(),
            points,
            rows,
            common: u32::try_from(common.len()).unwrap_or(u32::MAX),
        })
    }

    /// What the means are over, in a sentence without its full stop.
    pub(super) fn mean_text(&self) -> String {
        format!(
            "mean ÷ baseline: the geometric mean over {} of {} that all points completed",
            self.common,
            units::plural(self.rows.len(), "row")
        )
    }

    /// How many of the points that are shown have a best row.
    pub(super) fn best_in(&self, contender: &str) -> usize {
        self.rows.iter().filter(|row| row.best.as_deref() == Some(contender)).count()
    }
}

fn is_shown(report: &Report, id: &str) -> bool {
    report.contenders.iter().any(|contender| contender.id == id)
}

/// The entry of a contender in a race whose ratios are to the baseline, if both completed it.
fn point<'a>(race: &'a Race, grid: &Grid, id: &str) -> Option<&'a Entry> {
    let entry = race.entries.iter().find(|entry| entry.contender == id)?;
    let is_against_baseline = race.reference.as_ref() == Some(&grid.baseline);
    let is_ok = entry.outcome == Outcome::Ok && entry.ratio_to_reference.is_some();
    (is_against_baseline && is_ok).then_some(entry)
}

fn over_all([all_races, common]: [&[&Race]; 2], grid: &Grid, id: &str) -> SweepPoint {
    let ratio = |race: &&Race| Some(point(race, grid, id)?.ratio_to_reference?.point.ln());
    let logs: Vec<f64> = common.iter().filter_map(ratio).collect();
    let mut all = SweepPoint {
        contender: id.to_owned(),
        settings: grid.settings(id).unwrap_or_default(),
        is_baseline: id == grid.baseline,
        geomean_ratio: (!logs.is_empty())
            .then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp()),
        faster: 0,
        slower: 0,
        equivalent: 0,
        inconclusive: 0,
        failed: 0,
    };
    for race in all_races {
        let verdict = point(race, grid, id).and_then(|entry| entry.ratio_to_reference);
        match verdict.map(|verdict| verdict.verdict) {
            Some(VerdictWord::Faster) => all.faster += 1,
            Some(VerdictWord::Slower) => all.slower += 1,
            Some(VerdictWord::Equivalent) => all.equivalent += 1,
            Some(VerdictWord::Inconclusive) => all.inconclusive += 1,
            Some(VerdictWord::Reference) => {}
            None => all.failed += 1,
        }
    }
    all
}

impl SweepRow {
    fn of(race: &Race, grid: &Grid, shown: &[&str]) -> Self {
        let (best, conclusion) = best(race, grid, shown);
        Self { workload: race.workload.clone(), threads: race.threads, best, conclusion }
    }
}

/// Who is best, if that can be said, and what can be said. Who looks for the lowest of many numbers
/// finds one by chance, so that it must be told apart from the baseline and from everybody else.
fn best(race: &Race, grid: &Grid, shown: &[&str]) -> (Option<String>, String) {
    let ratio = |entry: &Entry| entry.ratio_to_reference.map_or(f64::INFINITY, |v| v.point);
    let mut entries: Vec<&Entry> = shown.iter().filter_map(|id| point(race, grid, id)).collect();
    entries.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let Some((lowest, others)) = entries.split_first() else {
        return (None, format!("{} did not complete it, and nothing is compared", grid.baseline));
    };
    if others.is_empty() {
        return (None, "only one point completed it".to_owned());
    }
    let name = &lowest.contender;
    if *name == grid.baseline {
        return (None, "no point takes less time than the baseline".to_owned());
    }
    let is_faster = lowest.ratio_to_reference.is_some_and(|v| v.verdict == VerdictWord::Faster);
    if !is_faster {
        return (
            None,
            format!("none is best: the lowest, {name}, is not told apart from the baseline"),
        );
    }
    let is_apart = |other: &&&Entry| {
        pair::between(race, lowest, other).is_some_and(|(_, verdict)| verdict == Verdict::Faster)
    };
    let alike: Vec<&str> = others
        .iter()
        .filter(|other| other.contender != grid.baseline && !is_apart(other))
        .map(|other| other.contender.as_str())
        .collect();
    if alike.is_empty() {
        return (
            Some(name.clone()),
            format!("{name} is best: faster than the baseline and all others"),
        );
    }
    let sentence = format!(
        "none is best: the lowest, {name}, is faster than the baseline, and not told apart from {}",
        alike.join(", ")
    );
    (None, sentence)
}
