//! Does a contender become slower or faster while its process lives?

use super::blocks::BlockTimes;
use super::ratio::RatioInterval;
use super::summary::location_ns;

/// A change within a process that is smaller than this is not worth a word.
pub const DRIFT_MIN: f64 = 1.05;

/// Fewest samples of an invocation that have a first and a last third.
const SAMPLES_MIN: usize = 3;

/// The last third of an invocation's samples against its first third, over the blocks of a race.
///
/// Warm-up ends after a time that is the same for all; this shows for whom it was too short, and
/// whose memory or queues grow. Each invocation gives one ratio, of the medians of its thirds, and
/// the ratios of all blocks give an interval as for two contenders. Where the samples of an
/// invocation are exchangeable, exchanging the thirds changes the sign of the log-ratio and nothing
/// else, so that the interval excludes 1 in at most 5 % of cells that do not drift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift(RatioInterval);

impl Drift {
    /// Takes the samples of each invocation, in the order of execution; `None` if no invocation has
    /// three, or one of them is no time.
    #[must_use]
    pub fn of<'a>(invocations: impl IntoIterator<Item = &'a [f64]>) -> Option<Self> {
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for samples in invocations.into_iter().filter(|samples| samples.len() >= SAMPLES_MIN) {
            let third = samples.len() / 3;
            first.push(location_ns(&samples[..third]).ok());
            last.push(location_ns(&samples[samples.len() - third..]).ok());
        }
        let (first, last) = (BlockTimes::new(first).ok()?, BlockTimes::new(last).ok()?);
        RatioInterval::between(&last, &first).map(Self)
    }

    /// Last third ÷ first third.
    #[must_use]
    pub fn ratio(&self) -> RatioInterval {
        self.0
    }

    /// Whether the interval excludes 1 and the estimate differs from it by [`DRIFT_MIN`] or more.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        let is_above = |ratio: RatioInterval| ratio.lo > 1.0 && ratio.point >= DRIFT_MIN;
        is_above(self.0) || is_above(self.0.inverse())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drift(invocations: &[Vec<f64>]) -> Drift {
        Drift::of(invocations.iter().map(Vec::as_slice)).unwrap()
    }

    /// `blocks` invocations of nine samples that grow by `step` from one to the next.
    fn growing(blocks: usize, step: f64) -> Vec<Vec<f64>> {
        (0..blocks).map(|b| (0..9).map(|i| (b + 1) as f64 * step.powi(i)).collect()).collect()
    }

    #[test]
    fn growth_within_a_process_is_seen_in_both_directions() {
        let slower = drift(&growing(5, 1.02));
        assert!((slower.ratio().point - 1.02_f64.powi(6)).abs() < 1e-9);
        assert!(slower.is_clear());
        assert!(drift(&growing(5, 0.98)).is_clear());
        // From a first third to the last one are six steps.
        for (change, is_clear) in [(1.051_f64, true), (1.049, false)] {
            for change in [change, 1.0 / change] {
                let drift = drift(&growing(5, change.powf(1.0 / 6.0)));
                assert_eq!(drift.is_clear(), is_clear, "{drift:?}");
            }
        }
    }

    #[test]
    fn little_growth_few_blocks_and_differences_between_processes_are_no_drift() {
        assert!(!drift(&growing(5, 1.005)).is_clear());
        assert!(!drift(&growing(4, 1.02)).is_clear());
        assert!(!drift(&growing(5, 1.0)).is_clear());
    }

    #[test]
    fn two_samples_have_no_thirds() {
        assert_eq!(Drift::of([&[1.0, 2.0][..]; 5]), None);
        assert_eq!(Drift::of([&[1.0, 0.0, 2.0][..]; 5]).map(|d| d.ratio().point), Some(2.0));
        assert_eq!(Drift::of([]), None);
    }
}
