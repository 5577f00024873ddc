//! How much slower is one contender than another, and how sure is that?

use super::blocks::BlockTimes;
use super::estimate::Estimate;

/// Fewest paired blocks for which an interval has finite limits.
///
/// With four, no distribution-free statement at 95 % exists (their range covers the centre with
/// probability 7/8), and inventing one from an assumed shape is what a benchmark must not do.
pub const MIN_BLOCKS: usize = 5;

/// The ratio of two contenders' times with its 95 % interval: above 1, the first is slower.
///
/// From the logarithm of the ratio in each block where both were measured:
///
/// - `point` is the Hodges-Lehmann estimate, the median of all pairwise averages. It is nearly as
///   precise as the mean for normal noise and, unlike it, survives a few invocations gone wrong.
/// - the limits are the outer ones of two intervals. One is the exact Wilcoxon signed-rank
///   interval, of which each limit is moved away from the point by the factor `sqrt(n / (n - 1))`:
///   an interval read off the empirical distribution of a small sample is too narrow by that
///   factor (Hesterberg 2015, "narrowness bias"). The other is the exact sign interval of the
///   median.
///
/// The signed-rank interval assumes that log-ratios are symmetric about their centre. For two
/// contenders with the same distribution this is not an assumption but a consequence of pairing
/// (swapping the two changes the sign), whatever the noise, its tails, or the drift from block to
/// block. For two contenders of which one is noisier in its own way it is wrong: who is slow in
/// three of ten invocations has a centre above its median. The sign interval assumes nothing, so
/// that whatever lies outside of both is told apart by the typical block as well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioInterval {
    /// The estimate.
    pub point: f64,
    /// Lower limit; 0 with fewer than [`MIN_BLOCKS`] blocks.
    pub lo: f64,
    /// Upper limit; infinite with fewer than [`MIN_BLOCKS`] blocks.
    pub hi: f64,
    /// Number of blocks in which both contenders were measured.
    pub blocks: usize,
}

impl RatioInterval {
    /// The ratio `a / b` over the blocks in which both were measured; `None` if there is no such
    /// block.
    #[must_use]
    pub fn between(a: &BlockTimes, b: &BlockTimes) -> Option<Self> {
        let Estimate { point, lo, hi, blocks } = Estimate::of(&a.log_ratios(b))?;
        Some(Self { point: point.exp(), lo: lo.exp(), hi: hi.exp(), blocks })
    }

    /// The same comparison seen from the other side, `b / a`.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { point: 1.0 / self.point, lo: 1.0 / self.hi, hi: 1.0 / self.lo, blocks: self.blocks }
    }

    /// Whether both limits are finite and above 0.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.lo > 0.0 && self.hi.is_finite()
    }

    /// A contender compared with itself: 1, exactly.
    pub(super) fn identity(blocks: usize) -> Self {
        Self { point: 1.0, lo: 1.0, hi: 1.0, blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(locations: &[f64]) -> BlockTimes {
        BlockTimes::new(locations.iter().copied().map(Some)).unwrap()
    }

    #[test]
    fn too_few_blocks_give_a_point_without_limits() {
        for blocks in 1..MIN_BLOCKS {
            let ratio =
                RatioInterval::between(&times(&[3.0; 4][..blocks]), &times(&[1.0; 4])).unwrap();
            assert!((ratio.point - 3.0).abs() < 1e-12);
            assert_eq!((ratio.lo, ratio.hi, ratio.blocks), (0.0, f64::INFINITY, blocks));
            assert!(!ratio.is_bounded());
            assert_eq!(ratio.inverse().hi, f64::INFINITY);
        }
        assert_eq!(RatioInterval::between(&times(&[]), &times(&[])), None);
    }

    #[test]
    fn five_blocks_span_their_range_widened() {
        let logs = [-0.02, 0.01, 0.0, 0.03, 0.05];
        let a = times(&logs.map(f64::exp));
        let ratio = RatioInterval::between(&a, &times(&[1.0; 5])).unwrap();
        let point = ratio.point.ln();
        assert!((ratio.hi.ln() - point - (0.05 - point) * 1.25_f64.sqrt()).abs() < 1e-12);
        assert!((ratio.lo.ln() - point - (-0.02 - point) * 1.25_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn slowness_in_three_of_ten_blocks_is_not_told_from_none() {
        let slow = |block: usize| if block % 10 < 3 { 1.5 } else { 1.0 };
        let quiet = |block: usize| 1.0 + 0.001 * (block as f64).sin();
        for blocks in [10, 30] {
            let a: Vec<f64> = (0..blocks).map(|block| slow(block) * quiet(block)).collect();
            let ratio = RatioInterval::between(&times(&a), &times(&vec![1.0; blocks])).unwrap();
            assert!(ratio.lo < 1.001, "{blocks} blocks: {ratio:?}");
        }
    }

    #[test]
    fn one_invocation_gone_wrong_hardly_moves_the_point() {
        let mut locations = [1.1; 15];
        locations[4] = 50.0;
        let ratio = RatioInterval::between(&times(&locations), &times(&[1.0; 15])).unwrap();
        assert!((ratio.point - 1.1).abs() < 1e-12);
        assert!(ratio.hi < 1.2);
    }
}
