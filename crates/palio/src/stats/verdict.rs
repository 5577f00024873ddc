//! What a comparison allows a reader to conclude.

use super::floor::{NoiseFloor, Side};
use super::ratio::RatioInterval;

/// The largest ratio that still counts as no difference in practice; above 1.
///
/// A margin has to be fixed before the measurement, by the reader's needs and not by the noise.
/// The default of 1.05 is the size of difference between runtimes that we would not switch for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EquivalenceMargin(f64);

impl EquivalenceMargin {
    /// A margin of `ratio`; `None` unless it is finite and above 1.
    #[must_use]
    pub fn new(ratio: f64) -> Option<Self> {
        (ratio.is_finite() && ratio > 1.0).then_some(Self(ratio))
    }

    /// The margin as a ratio above 1.
    #[must_use]
    pub fn ratio(self) -> f64 {
        self.0
    }
}

impl Default for EquivalenceMargin {
    fn default() -> Self {
        Self(1.05)
    }
}

/// A contender against the reference, at 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It takes less time than the reference, beyond the noise floor.
    Faster,
    /// It takes more time than the reference, beyond the noise floor.
    Slower,
    /// The whole interval lies within the equivalence margin: if there is a difference, it does
    /// not matter.
    Equivalent,
    /// The data allow none of the above. More blocks or a quieter machine may.
    Inconclusive,
}

impl Verdict {
    /// Judges the ratio contender / reference.
    ///
    /// 1. `Faster` or `Slower` if the ratio clears the floor (see [`NoiseFloor::clears`]), however
    ///    small the difference is.
    /// 2. Otherwise `Equivalent` if the interval lies inside `[1 / margin, margin]` and the floor
    ///    is no larger than the margin: a race too noisy to see a difference of the margin's size
    ///    cannot show that there is none. This is the interval form of the two one-sided tests
    ///    (Schuirmann 1987), at 2.5 % a side instead of the usual 5 %.
    /// 3. Otherwise `Inconclusive`; in particular with fewer than
    ///    [`MIN_BLOCKS`](super::MIN_BLOCKS) blocks.
    #[must_use]
    pub fn of(ratio: &RatioInterval, floor: &NoiseFloor, margin: EquivalenceMargin) -> Self {
        match floor.side(ratio) {
            Some(Side::Faster) => Self::Faster,
            Some(Side::Slower) => Self::Slower,
            None => {
                let within = ratio.lo >= 1.0 / margin.0 && ratio.hi <= margin.0;
                if within && floor.ratio() <= margin.0 {
                    Self::Equivalent
                } else {
                    Self::Inconclusive
                }
            }
        }
    }

    /// The verdict with the two contenders' parts exchanged.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            same => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::BlockTimes;
    use super::*;

    fn quiet() -> NoiseFloor {
        let times = BlockTimes::new([Some(1.0); 5]).unwrap();
        NoiseFloor::measure(&times, &times)
    }

    fn judge(lo: f64, point: f64, hi: f64, floor: &NoiseFloor) -> Verdict {
        let ratio = RatioInterval { point, lo, hi, blocks: 15 };
        Verdict::of(&ratio, floor, EquivalenceMargin::default())
    }

    #[test]
    fn the_four_verdicts() {
        assert_eq!(judge(0.80, 0.85, 0.90, &quiet()), Verdict::Faster);
        assert_eq!(judge(1.10, 1.15, 1.20, &quiet()), Verdict::Slower);
        assert_eq!(judge(0.97, 1.00, 1.03, &quiet()), Verdict::Equivalent);
        assert_eq!(judge(0.90, 1.00, 1.10, &quiet()), Verdict::Inconclusive);
    }

    #[test]
    fn a_small_but_certain_difference_is_a_difference() {
        assert_eq!(judge(1.02, 1.03, 1.04, &quiet()), Verdict::Slower);
    }

    #[test]
    fn a_difference_below_the_floor_may_be_equivalent_but_never_faster() {
        assert_eq!(judge(0.992, 0.995, 0.998, &quiet()), Verdict::Equivalent);
    }

    #[test]
    fn a_floor_above_the_margin_shows_no_equivalence() {
        let floor = |hi: f64| NoiseFloor::of(RatioInterval { point: 1.0, lo: 1.0, hi, blocks: 15 });
        assert_eq!(judge(0.99, 1.0, 1.01, &floor(1.05)), Verdict::Equivalent);
        assert_eq!(judge(0.99, 1.0, 1.01, &floor(1.06)), Verdict::Inconclusive);
    }

    #[test]
    fn an_unknown_floor_allows_no_claim() {
        assert_eq!(judge(0.4, 0.5, 0.6, &NoiseFloor::unknown()), Verdict::Inconclusive);
        assert_eq!(judge(0.99, 1.0, 1.01, &NoiseFloor::unknown()), Verdict::Inconclusive);
    }

    #[test]
    fn a_margin_is_a_finite_ratio_above_one() {
        for bad in [1.0, 0.9, f64::NAN, f64::INFINITY] {
            assert_eq!(EquivalenceMargin::new(bad), None);
        }
        assert_eq!(EquivalenceMargin::new(1.02).map(EquivalenceMargin::ratio), Some(1.02));
    }
}
