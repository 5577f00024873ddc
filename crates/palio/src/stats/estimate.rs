//! Where is the centre of a few observations, one a block, and how sure is that?

use super::ratio::MIN_BLOCKS;
use super::sign;
use super::signed_rank::Centre;

/// The centre of one number of each block, with its 95 % interval.
///
/// `point` is the Hodges-Lehmann estimate; the limits are the outer ones of the widened signed-rank
/// interval and of the sign interval, for the reasons that stand at
/// [`RatioInterval`](super::RatioInterval).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub point: f64,
    /// Lower limit; negatively infinite with fewer than [`MIN_BLOCKS`] observations.
    pub lo: f64,
    /// Upper limit; infinite with fewer than [`MIN_BLOCKS`] observations.
    pub hi: f64,
    /// Number of observations.
    pub blocks: usize,
}

impl Estimate {
    /// The centre of `observations`; `None` if there is none.
    #[must_use]
    pub fn of(observations: &[f64]) -> Option<Self> {
        let blocks = observations.len();
        let Centre { point, lo, hi } = Centre::of(observations)?;
        if blocks < MIN_BLOCKS {
            return Some(Self { point, lo: f64::NEG_INFINITY, hi: f64::INFINITY, blocks });
        }
        let widen = (blocks as f64 / (blocks as f64 - 1.0)).sqrt();
        let widened = |end: f64| point + (end - point) * widen;
        let (sign_lo, sign_hi) = sign::limits(observations);
        Some(Self { point, lo: widened(lo).min(sign_lo), hi: widened(hi).max(sign_hi), blocks })
    }

    /// Whether both limits are finite.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_enclose_the_point_and_need_five_observations() {
        let four = Estimate::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((four.point, four.is_bounded()), (2.5, false));
        let five = Estimate::of(&[-1.0, 0.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(five.point, 1.0);
        let reach = 2.0 * 1.25_f64.sqrt();
        assert!((five.lo - (1.0 - reach)).abs() < 1e-12 && (five.hi - (1.0 + reach)).abs() < 1e-12);
        assert_eq!(Estimate::of(&[]), None);
    }
}
