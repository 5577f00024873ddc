//! CPU time that contenders claim for their samples.

use crate::record::CellRecord;

/// Sums over the measured samples whose CPU time is known.
#[derive(Clone, Copy)]
pub(super) struct CpuSums {
    pub(super) user_us: f64,
    pub(super) sys_us: f64,
    pub(super) elapsed_us: f64,
    pub(super) iterations: f64,
}

impl CpuSums {
    /// `None` if the CPU time of a sample could not be read.
    pub(super) fn of(cell: &CellRecord) -> Option<Self> {
        let mut sums = Self { user_us: 0.0, sys_us: 0.0, elapsed_us: 0.0, iterations: 0.0 };
        for sample in cell.raced().flat_map(|i| &i.samples).filter(|sample| !sample.warm_up) {
            sums.user_us += sample.user_us? as f64;
            sums.sys_us += sample.sys_us? as f64;
            sums.elapsed_us += sample.elapsed_ns as f64 / 1000.0;
            sums.iterations += f64::from(sample.batch);
        }
        for dropped in cell.dropped() {
            sums.user_us += dropped.user_us? as f64;
            sums.sys_us += dropped.sys_us? as f64;
            sums.elapsed_us += dropped.elapsed_ns as f64 / 1000.0;
            sums.iterations += dropped.iterations as f64;
        }
        (sums.iterations > 0.0).then_some(sums)
    }
}
