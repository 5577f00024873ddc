//! Descriptive statistics of samples: what was measured, before any inference.

use std::fmt;

/// Why a set of samples cannot be described: a time is a positive, finite number of nanoseconds.
///
/// Zero is refused too: no work takes no time, so a zero says that the clock was too coarse for
/// the batch, and its logarithm would poison every ratio after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InvalidSamples {
    /// There is no sample at all.
    Empty,
    /// The sample at `index` is zero, negative, infinite or not a number.
    NotATime {
        /// Position of the first offending sample, from 0.
        index: usize,
        /// The offending sample, in nanoseconds.
        value_ns: f64,
    },
}

impl fmt::Display for InvalidSamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "no samples"),
            Self::NotATime { index, value_ns } => {
                write!(f, "sample {index} is {value_ns} ns; a time must be positive and finite")
            }
        }
    }
}

impl std::error::Error for InvalidSamples {}

/// Samples described by their order statistics; all times in nanoseconds per iteration.
///
/// Quantiles interpolate linearly between order statistics (type 7 of Hyndman and Fan 1996, the
/// default of NumPy and R), so that a reader can check them with either.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Number of samples.
    pub n: usize,
    /// Smallest sample.
    pub min_ns: f64,
    /// First quartile.
    pub q1_ns: f64,
    /// Median.
    pub median_ns: f64,
    /// Third quartile.
    pub q3_ns: f64,
    /// Largest sample.
    pub max_ns: f64,
    /// Arithmetic mean; shown, never inferred from, because one late wake-up can move it.
    pub mean_ns: f64,
    /// Median absolute deviation from the median, not rescaled to a standard deviation.
    pub mad_ns: f64,
}

impl Summary {
    /// Describes `samples_ns` (nanoseconds per iteration, in any order).
    ///
    /// # Errors
    ///
    /// [`InvalidSamples`] if there is no sample, or one that is not a positive finite time.
    pub fn of(samples_ns: &[f64]) -> Result<Self, InvalidSamples> {
        check(samples_ns)?;
        let mut sorted = samples_ns.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let median_ns = quantile(&sorted, 0.5);
        // Dividing first cannot overflow; the rounding it costs is far below any clock's.
        let n = sorted.len();
        let mean_ns = sorted.iter().map(|x| x / n as f64).sum();
        let mut deviations: Vec<f64> = sorted.iter().map(|x| (x - median_ns).abs()).collect();
        deviations.sort_unstable_by(f64::total_cmp);
        Ok(Self {
            n,
            min_ns: sorted[0],
            q1_ns: quantile(&sorted, 0.25),
            median_ns,
            q3_ns: quantile(&sorted, 0.75),
            max_ns: sorted[n - 1],
            mean_ns,
            mad_ns: quantile(&deviations, 0.5),
        })
    }

    /// Range relative to the median, `(max - min) / median`: 0.1 reads "within 10 %".
    #[must_use]
    pub fn spread(&self) -> f64 {
        (self.max_ns - self.min_ns) / self.median_ns
    }
}

/// The location of one invocation: the median of its samples, in nanoseconds.
///
/// The median, not the minimum: the minimum asks how fast a runtime can be when its scheduler is
/// lucky, and schedulers differ above all in how often they are. Not the mean: one pre-emption by
/// the operating system among ten samples would decide the block.
///
/// # Errors
///
/// [`InvalidSamples`] if there is no sample, or one that is not a positive finite time.
pub fn location_ns(samples_ns: &[f64]) -> Result<f64, InvalidSamples> {
    check(samples_ns)?;
    let mut scratch = samples_ns.to_vec();
    let n = scratch.len();
    let (below, &mut upper, _) = scratch.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 {
        return Ok(upper);
    }
    let lower = below.iter().copied().fold(f64::MIN, f64::max);
    Ok(midpoint(lower, upper))
}

fn check(samples_ns: &[f64]) -> Result<(), InvalidSamples> {
    if samples_ns.is_empty() {
        return Err(InvalidSamples::Empty);
    }
    match samples_ns.iter().position(|&x| !is_time(x)) {
        Some(index) => Err(InvalidSamples::NotATime { index, value_ns: samples_ns[index] }),
        None => Ok(()),
    }
}

pub(super) fn is_time(ns: f64) -> bool {
    ns.is_finite() && ns > 0.0
}

/// Halves before adding, so that two huge values cannot overflow into infinity.
fn midpoint(a: f64, b: f64) -> f64 {
    a / 2.0 + b / 2.0
}

/// The quantile `p` of values in ascending order, interpolated between the two nearest (Hyndman and
/// Fan's type 7).
///
/// # Panics
/// `sorted` is empty.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let position = p * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = position.ceil() as usize;
    let weight = position - position.floor();
    sorted[below] * (1.0 - weight) + sorted[above] * weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        let values = [1.0, 2.0, 4.0];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 0.25), 1.5);
        assert_eq!(quantile(&values, 1.0), 4.0);
        assert_eq!(quantile(&[7.0], 0.5), 7.0);
    }

    #[test]
    fn a_single_sample_is_its_own_summary() {
        let summary = Summary::of(&[42.0]).unwrap();
        assert_eq!((summary.min_ns, summary.median_ns, summary.max_ns), (42.0, 42.0, 42.0));
        assert_eq!((summary.mad_ns, summary.spread()), (0.0, 0.0));
    }

    #[test]
    fn what_is_no_time_is_refused_with_its_position() {
        assert_eq!(Summary::of(&[]), Err(InvalidSamples::Empty));
        for bad in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = location_ns(&[1.0, bad]).unwrap_err();
            assert!(matches!(error, InvalidSamples::NotATime { index: 1, .. }), "{bad}: {error}");
        }
    }

    #[test]
    fn location_is_the_median_of_the_summary() {
        for n in 1..12 {
            let samples: Vec<f64> = (1..=n).map(|i| f64::from((i * 7) % 13 + 1)).collect();
            let median = Summary::of(&samples).unwrap().median_ns;
            assert!((location_ns(&samples).unwrap() - median).abs() < 1e-12, "n = {n}");
        }
    }

    #[test]
    fn the_mean_of_huge_times_is_finite() {
        assert!(Summary::of(&[f64::MAX; 4]).unwrap().mean_ns.is_finite());
        assert!(location_ns(&[f64::MAX; 4]).unwrap().is_finite());
    }
}
