//! One number per contender over many races, for readers who insist on one.

use std::fmt;

/// Why ratios cannot be averaged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InvalidRatios {
    /// The race at index `race` does not have one entry per contender.
    WrongLength {
        /// Index of the race, from 0.
        race: usize,
    },
    /// A ratio is zero, negative, infinite or not a number.
    NotARatio {
        /// Index of the race, from 0.
        race: usize,
        /// Index of the contender, from 0.
        contender: usize,
    },
}

impl fmt::Display for InvalidRatios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongLength { race } => {
                write!(f, "race {race} does not have one entry per contender")
            }
            Self::NotARatio { race, contender } => {
                write!(f, "the ratio of contender {contender} in race {race} is no positive number")
            }
        }
    }
}

impl std::error::Error for InvalidRatios {}

/// One contender's total.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Total {
    /// Geometric mean of its ratios to the best over the common races; `None` without one.
    pub geometric_mean: Option<f64>,
    /// Arithmetic mean of the same ratios, for comparison with published tables that use it.
    /// It depends on which contender is the denominator (Fleming and Wallace 1986), so it is
    /// never used to order contenders.
    pub arithmetic_mean: Option<f64>,
    /// Races that this contender completed.
    pub completed: usize,
    /// Races that were held.
    pub of: usize,
}

/// Totals over the races that **all** listed contenders completed.
///
/// A failure is never imputed: no time-out counted as a time, no worst ratio plus something. It
/// takes its race out of everybody's mean and shows in its contender's coverage.
#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    /// Number of races that enter the means.
    pub common: usize,
    /// One total per contender, in the order in which they were given.
    pub totals: Vec<Total>,
}

impl Totals {
    /// Averages `races`: for each race, one ratio to the best per contender (the point of
    /// [`Standing::ratio_to_best`](super::Standing::ratio_to_best)), `None` where it failed.
    ///
    /// # Errors
    ///
    /// [`InvalidRatios`] if a race has not exactly `contenders` entries, or a ratio is not a
    /// positive finite number.
    pub fn of(contenders: usize, races: &[Vec<Option<f64>>]) -> Result<Self, InvalidRatios> {
        for (race, ratios) in races.iter().enumerate() {
            if ratios.len() != contenders {
                return Err(InvalidRatios::WrongLength { race });
            }
            let is_bad = |r: &Option<f64>| r.is_some_and(|r| !(r.is_finite() && r > 0.0));
            if let Some(contender) = ratios.iter().position(is_bad) {
                return Err(InvalidRatios::NotARatio { race, contender });
            }
        }
        let common: Vec<Vec<f64>> =
            races.iter().filter_map(|ratios| ratios.iter().copied().collect()).collect();
        let mean = |value: &dyn Fn(&Vec<f64>) -> f64| {
            let n = common.len() as f64;
            (n > 0.0).then(|| common.iter().map(value).sum::<f64>() / n)
        };
        let totals = (0..contenders)
            .map(|c| Total {
                geometric_mean: mean(&|ratios| ratios[c].ln()).map(f64::exp),
                arithmetic_mean: mean(&|ratios| ratios[c]),
                completed: races.iter().filter(|ratios| ratios[c].is_some()).count(),
                of: races.len(),
            })
            .collect();
        Ok(Self { common: common.len(), totals })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_takes_its_race_out_of_every_mean() {
        let races = [vec![Some(1.0), Some(2.0)], vec![Some(4.0), Some(1.0)], vec![Some(1.0), None]];
        let totals = Totals::of(2, &races).unwrap();
        assert_eq!(totals.common, 2);
        assert!((totals.totals[0].geometric_mean.unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(totals.totals[0].arithmetic_mean, Some(2.5));
        assert_eq!((totals.totals[0].completed, totals.totals[0].of), (3, 3));
        assert_eq!((totals.totals[1].completed, totals.totals[1].of), (2, 3));
    }

    #[test]
    fn without_a_common_race_there_is_no_mean() {
        let totals = Totals::of(2, &[vec![Some(1.0), None], vec![None, Some(1.0)]]).unwrap();
        assert_eq!((totals.common, totals.totals[0].geometric_mean), (0, None));
        assert_eq!(Totals::of(0, &[]).unwrap().totals, []);
    }

    #[test]
    fn bad_input_is_named() {
        assert_eq!(Totals::of(2, &[vec![None]]), Err(InvalidRatios::WrongLength { race: 0 }));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Totals::of(1, &[vec![Some(1.0)], vec![Some(bad)]]).unwrap_err();
            assert_eq!(error, InvalidRatios::NotARatio { race: 1, contender: 0 });
        }
    }
}
