//! What the formats say of a run that was thinned on its way.

use super::model::Thinned;
use super::units;
use crate::record::{CellRecord, RunRecord};

/// Measured samples of a cell that a thinned run does not have.
pub(super) fn dropped(cell: &CellRecord) -> u64 {
    cell.dropped().map(|dropped| dropped.samples).fold(0, u64::saturating_add)
}

impl Thinned {
    /// `None` if the run has all of its measured samples, as where only warm-up was left out.
    pub(super) fn of(run: &RunRecord) -> Option<Self> {
        let samples_per_process = run.header.thinned?;
        let cells = || run.races.iter().flat_map(|race| &race.cells);
        let kept = cells().map(|cell| cell.measured().count() as u64).sum::<u64>();
        let measured = cells().map(dropped).fold(kept, u64::saturating_add);
        (kept < measured).then_some(Self { samples_per_process, measured, kept })
    }

    /// A sentence or two for the head of a report.
    pub(crate) fn text(&self) -> String {
        format!(
            "This run is thinned: {} measured, of which {} are here, at most {} of each process, evenly spaced in \
             the order of execution. Medians, ranges, intervals and verdicts are those of the samples that are here; \
             checks of answers, CPU time and the clock outside are those of all.",
            units::plural(usize::try_from(self.measured).unwrap_or(usize::MAX), "sample"),
            units::count(self.kept),
            units::count(self.samples_per_process.into()),
        )
    }
}
