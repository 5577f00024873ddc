//! The noise floor: what a race shows between a contender and itself.

use super::blocks::BlockTimes;
use super::ratio::{MIN_BLOCKS, RatioInterval};

/// Smallest noise floor ever claimed, whatever the A/A comparison says.
///
/// The reference and its shadow are the same binary started in the same way, so they cannot show
/// the effects of link order, of the environment's size or of code layout, which move times by
/// percents with no change in the code that is measured (Mytkowicz et al. 2009).
pub const MIN_FLOOR: f64 = 1.01;

/// Largest noise floor of a race that may enter a headline: above it the race could not even have
/// told a quarter more time from none. The bound looks at the reference against itself alone, so
/// that it favours none of the others.
pub const HEADLINE_FLOOR_MAX: f64 = 1.25;

/// Comparisons closer than this to a threshold count as on it: the logarithms and exponentials
/// on the way there must not decide a verdict by their last bit.
const ROUNDING: f64 = 1e-9;

/// The noise floor of a race, from its A/A comparison: reference against its own shadow.
///
/// Two numbers come out of that comparison, and a difference has to pass both (see
/// [`NoiseFloor::clears`]): the [`ratio`](Self::ratio), which is how far from 1 its interval
/// reaches, and the [`bias`](Self::bias), which is how far from 1 its estimate lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseFloor {
    ratio: f64,
    bias: f64,
    a_a: Option<RatioInterval>,
}

/// On which side of 1 a ratio lies beyond the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Faster,
    Slower,
}

impl NoiseFloor {
    /// Measures the floor from the reference and its shadow, paired by block.
    ///
    /// With fewer than [`MIN_BLOCKS`] blocks in common the floor is infinite.
    #[must_use]
    pub fn measure(reference: &BlockTimes, shadow: &BlockTimes) -> Self {
        RatioInterval::between(shadow, reference).map_or_else(Self::unknown, Self::of)
    }

    /// The floor that follows from an A/A comparison.
    #[must_use]
    pub fn of(a_a: RatioInterval) -> Self {
        Self {
            ratio: a_a.hi.max(1.0 / a_a.lo).max(MIN_FLOOR),
            bias: a_a.point.max(1.0 / a_a.point).max(MIN_FLOOR),
            a_a: Some(a_a),
        }
    }

    /// The floor of a race whose noise is unknown: infinite, so that nothing is claimed.
    #[must_use]
    pub fn unknown() -> Self {
        Self { ratio: f64::INFINITY, bias: f64::INFINITY, a_a: None }
    }

    /// The floor of a comparison between two contenders that each have one: the wider of both, in
    /// both of its numbers.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let wider = if other.ratio > self.ratio { other } else { self };
        Self { ratio: wider.ratio, bias: self.bias.max(other.bias), a_a: wider.a_a }
    }

    /// The floor to print above a table, a ratio of at least [`MIN_FLOOR`]: the end of the A/A
    /// interval that lies farther from 1. Infinite if the noise is unknown.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// How far the A/A estimate lies from 1, as a ratio of at least [`MIN_FLOOR`].
    #[must_use]
    pub fn bias(&self) -> f64 {
        self.bias
    }

    /// The A/A comparison itself, shadow over reference, if both ran in at least one block.
    #[must_use]
    pub fn a_a(&self) -> Option<RatioInterval> {
        self.a_a
    }

    /// Whether `ratio` stands out of the noise: its point lies beyond the A/A interval **and**
    /// its interval lies wholly beyond the A/A point, on the same side of 1.
    ///
    /// Each half alone was tried and is not enough: the first lets a lucky cluster of blocks
    /// through when the A/A interval happens to be short, the second when the A/A point happens
    /// to fall on 1. To ask for disjoint intervals instead would cost much more power than it buys.
    #[must_use]
    pub fn clears(&self, ratio: &RatioInterval) -> bool {
        self.side(ratio).is_some()
    }

    /// About how many blocks would make `ratio` stand out of the noise, if both it and the A/A
    /// comparison stay where they are and their intervals narrow with the square root of the
    /// number of blocks. `None` if it stands out already, or if no number would do: it is no
    /// farther from 1 than the A/A estimate, or there is none.
    ///
    /// It is a plan and no promise; below [`MIN_BLOCKS`] it is the least number of blocks that
    /// gives any verdict.
    #[must_use]
    pub fn blocks_needed(&self, ratio: &RatioInterval) -> Option<usize> {
        let distance = ratio.point.ln().abs();
        let gap = distance - self.bias.ln();
        if self.a_a.is_none() || self.clears(ratio) || gap.is_nan() || gap <= ROUNDING {
            return None;
        }
        if ratio.blocks < MIN_BLOCKS {
            return Some(MIN_BLOCKS);
        }
        let near = if ratio.point > 1.0 { ratio.point / ratio.lo } else { ratio.hi / ratio.point };
        let width = near.ln().max(self.ratio.ln() - self.bias.ln());
        let needed = (ratio.blocks as f64 * (width / gap).powi(2) - ROUNDING).ceil();
        needed.is_finite().then(|| (needed as usize).max(ratio.blocks + 1))
    }

    pub(super) fn side(&self, ratio: &RatioInterval) -> Option<Side> {
        if self.is_below(ratio) {
            Some(Side::Slower)
        } else if self.is_below(&ratio.inverse()) {
            Some(Side::Faster)
        } else {
            None
        }
    }

    fn is_below(&self, ratio: &RatioInterval) -> bool {
        let beyond = 1.0 + ROUNDING;
        ratio.point > self.ratio * beyond && ratio.lo > self.bias * beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(locations: &[f64]) -> BlockTimes {
        BlockTimes::new(locations.iter().copied().map(Some)).unwrap()
    }

    fn ratio(point: f64, lo: f64, hi: f64) -> RatioInterval {
        RatioInterval { point, lo, hi, blocks: 15 }
    }

    #[test]
    fn a_perfect_shadow_still_leaves_the_smallest_floor() {
        let floor = NoiseFloor::measure(&times(&[2.0; 5]), &times(&[2.0; 5]));
        assert_eq!((floor.ratio(), floor.bias()), (MIN_FLOOR, MIN_FLOOR));
    }

    #[test]
    fn the_floor_does_not_depend_on_which_twin_was_slower() {
        let a = times(&[1.0, 1.1, 1.0, 1.2, 1.0]);
        let b = times(&[1.1, 1.1, 1.0, 1.0, 1.1]);
        let (ab, ba) = (NoiseFloor::measure(&a, &b), NoiseFloor::measure(&b, &a));
        assert!((ab.ratio() - ba.ratio()).abs() < 1e-12 && (ab.bias() - ba.bias()).abs() < 1e-12);
    }

    #[test]
    fn without_a_shadow_nothing_clears() {
        let missing = BlockTimes::new([None; 5]).unwrap();
        let floor = NoiseFloor::measure(&times(&[1.0; 5]), &missing);
        assert_eq!(floor, NoiseFloor::unknown());
        assert!(!floor.clears(&ratio(9.0, 8.0, 10.0)));
        let short = NoiseFloor::measure(&times(&[1.0; 4]), &times(&[1.0; 4]));
        assert_eq!(short.ratio(), f64::INFINITY);
    }

    #[test]
    fn the_floor_of_two_is_the_wider_in_each_number() {
        let a = NoiseFloor { ratio: 1.05, bias: 1.04, a_a: None };
        let b = NoiseFloor { ratio: 1.20, bias: 1.02, a_a: None };
        for both in [a.with(&b), b.with(&a)] {
            assert_eq!((both.ratio, both.bias), (1.20, 1.04));
        }
        assert_eq!(a.with(&NoiseFloor::unknown()).ratio(), f64::INFINITY);
        // It is shown with the comparison from which its ratio is.
        let [a, b] = [ratio(1.04, 1.03, 1.05), ratio(1.02, 0.9, 1.2)].map(NoiseFloor::of);
        for both in [a.with(&b), b.with(&a)] {
            assert_eq!(both.a_a(), b.a_a());
        }
    }

    #[test]
    fn blocks_are_needed_where_a_verdict_can_come() {
        let floor = NoiseFloor { ratio: 1.05, bias: 1.02, a_a: Some(ratio(1.02, 0.99, 1.05)) };
        let few = RatioInterval { point: 31.0, lo: 0.0, hi: f64::INFINITY, blocks: 2 };
        assert_eq!(floor.blocks_needed(&few), Some(MIN_BLOCKS));
        // It reaches down to 1, and must be half as wide: four times the blocks.
        let point = 1.02_f64 * 1.02;
        let wide = ratio(point, point / (1.02 * 1.02), 1.2);
        assert_eq!(NoiseFloor { ratio: 1.02, ..floor }.blocks_needed(&wide), Some(60));
        // Its own interval is narrow, and that of the A/A comparison must be half as wide.
        let narrow = ratio(point, point / 1.001, 1.2);
        let noisy = NoiseFloor { ratio: 1.02_f64.powi(3), ..floor };
        assert_eq!(noisy.blocks_needed(&narrow), Some(60));
        // On the floor itself: as many as there are do not do.
        assert_eq!(floor.blocks_needed(&ratio(1.05, 1.04, 1.06)), Some(16));
        assert_eq!(floor.blocks_needed(&ratio(1.3, 1.2, 1.4)), None, "it stands out already");
        assert_eq!(floor.blocks_needed(&ratio(0.99, 0.9, 1.1)), None, "closer than the A/A point");
        assert_eq!(NoiseFloor::unknown().blocks_needed(&ratio(9.0, 0.9, 99.0)), None);
        assert_eq!(floor.blocks_needed(&wide.inverse()), floor.blocks_needed(&wide));
    }

    #[test]
    fn point_and_interval_must_both_clear() {
        let floor = NoiseFloor { ratio: 1.05, bias: 1.02, a_a: None };
        assert_eq!(floor.side(&ratio(1.06, 1.03, 1.1)), Some(Side::Slower));
        assert_eq!(floor.side(&ratio(1.06, 1.03, 1.1).inverse()), Some(Side::Faster));
        assert!(!floor.clears(&ratio(1.04, 1.03, 1.1)));
        assert!(!floor.clears(&ratio(1.06, 1.01, 1.1)));
    }
}
