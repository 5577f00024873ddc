//! What was measured of one cell.

use crate::record::{CellRecord, Outcome, SampleRecord};
use crate::report::model::Distribution;
use crate::stats::{BlockTimes, Drift, Statistic, Summary, location_ns};

/// A cell with its samples in the shapes that statistics want.
pub(super) struct MeasuredCell<'a> {
    pub(super) cell: &'a CellRecord,
    pub(super) statistic: Option<Statistic>,
    /// The block of each sample and what is ranked of it in ns, in the order of execution.
    pub(super) samples: Vec<(u32, f64)>,
    pub(super) blocks: Option<BlockTimes>,
    pub(super) summary: Option<Summary>,
}

impl<'a> MeasuredCell<'a> {
    pub(super) fn of(cell: &'a CellRecord, statistic: Option<Statistic>) -> Self {
        let samples: Vec<(u32, f64)> = cell
            .measured()
            .filter_map(|(block, sample)| Some((block, sample.value_ns(statistic)?)))
            .collect();
        Self::of_samples(cell, statistic, samples)
    }

    fn of_samples(
        cell: &'a CellRecord,
        statistic: Option<Statistic>,
        samples: Vec<(u32, f64)>,
    ) -> Self {
        let all: Vec<f64> = samples.iter().map(|(_, ns)| *ns).collect();
        Self {
            cell,
            statistic,
            blocks: BlockTimes::of_samples(statistic, samples.iter().copied()).ok(),
            summary: Summary::of(&all).ok(),
            samples,
        }
    }

    /// The same with what these blocks show alone.
    pub(super) fn within(&self, blocks: &[u32]) -> Self {
        let each = self.samples.iter().copied();
        let samples: Vec<(u32, f64)> = each.filter(|(block, _)| blocks.contains(block)).collect();
        Self::of_samples(self.cell, self.statistic, samples)
    }

    pub(super) fn is_ok(&self) -> bool {
        self.cell.outcome == Outcome::Ok && self.summary.is_some()
    }

    /// What is ranked and shown: the median over all samples, or over the maxima of all
    /// invocations.
    pub(super) fn value_ns(&self) -> Option<f64> {
        match self.statistic {
            Some(Statistic::Max | Statistic::MaxPolls) => self.blocks.as_ref()?.typical_ns(),
            _ => self.summary.as_ref().map(|summary| summary.median_ns),
        }
    }

    /// Whether its samples change while a process lives.
    pub(super) fn drift(&self) -> Option<Drift> {
        if !self.is_ok() || self.statistic.is_some_and(Statistic::grows_with_events) {
            return None;
        }
        let invocations: Vec<Vec<f64>> = self
            .samples
            .chunk_by(|a, b| a.0 == b.0)
            .map(|samples| samples.iter().map(|(_, value)| *value).collect())
            .collect();
        Drift::of(invocations.iter().map(Vec::as_slice))
    }

    pub(super) fn order(&self) -> f64 {
        self.value_ns().unwrap_or(f64::INFINITY)
    }

    pub(super) fn distribution(&self) -> Option<Distribution> {
        self.statistic?;
        let each: Option<Vec<_>> =
            self.cell.measured().map(|(_, sample)| sample.distribution).collect();
        let each = each.filter(|each| !each.is_empty())?;
        let least_events = each.iter().map(|d| d.events).min()?;
        let percentile = |statistic: Statistic| {
            let value = |sample: &SampleRecord| sample.value_ns(Some(statistic));
            let values: Option<Vec<f64>> =
                self.cell.measured().map(|(_, sample)| value(sample)).collect();
            let defined = least_events >= statistic.events_min();
            values.filter(|_| defined).and_then(|values| location_ns(&values).ok())
        };
        Some(Distribution {
            events: each.iter().fold(0, |sum, d| sum.saturating_add(d.events)),
            p50_ns: percentile(Statistic::P50),
            p99_ns: percentile(Statistic::P99),
            p999_ns: percentile(Statistic::P999),
            max_ns: each.iter().map(|d| d.max_ns).max()? as f64,
        })
    }
}
