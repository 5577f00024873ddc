//! Which number of a distribution a workload is about, and how an invocation gets one of it.

use palio_protocol::distribution::Distribution;

use super::summary::{InvalidSamples, location_ns};
use crate::words::words;

words! {
    /// What is ranked of a workload that consists of events, instead of the time of an iteration.
    "statistic": Statistic {
        /// The median event.
        P50 = "p50",
        /// The 99th percentile.
        P99 = "p99",
        /// The 99.9th percentile.
        P999 = "p99.9",
        /// The longest event of all.
        Max = "max",
        /// The largest event of all, where events are counts of polls and no times.
        MaxPolls = "max polls",
    }
}

impl Statistic {
    /// The fewest events in one sample for which the statistic means what its name says: ten of
    /// them lie beyond a percentile, so that it does not hang on one or two. A maximum is what it
    /// is.
    #[must_use]
    pub fn events_min(self) -> u64 {
        match self {
            Self::P50 => 20,
            Self::P99 => 1_000,
            Self::P999 => 10_000,
            Self::Max | Self::MaxPolls => 1,
        }
    }

    /// Whether it grows with the number of events, so that only equal numbers of them can be
    /// compared.
    #[must_use]
    pub fn grows_with_events(self) -> bool {
        matches!(self, Self::Max | Self::MaxPolls)
    }

    /// Whether events are times; else a contender reports counts where ns would stand.
    #[must_use]
    pub fn is_time(self) -> bool {
        self != Self::MaxPolls
    }

    /// The value in one sample's distribution, in ns.
    #[must_use]
    pub fn in_sample(self, distribution: &Distribution) -> u64 {
        match self {
            Self::P50 => distribution.p50_ns,
            Self::P99 => distribution.p99_ns,
            Self::P999 => distribution.p999_ns,
            Self::Max | Self::MaxPolls => distribution.max_ns,
        }
    }

    /// The location of one invocation, from the value of each of its samples: for a percentile the
    /// median, since each sample estimates the same percentile; for the maximum the largest, since
    /// no event of the invocation may be forgotten.
    ///
    /// # Errors
    ///
    /// [`InvalidSamples`] if there is no sample, or one that is not a positive finite time.
    pub fn location_ns(self, samples_ns: &[f64]) -> Result<f64, InvalidSamples> {
        // Checks the samples too.
        let median = location_ns(samples_ns)?;
        Ok(match self {
            Self::P50 | Self::P99 | Self::P999 => median,
            Self::Max | Self::MaxPolls => samples_ns.iter().copied().fold(median, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_located_by_its_median_and_a_maximum_by_its_largest() {
        let samples = [3.0, 900.0, 5.0];
        for percentile in [Statistic::P50, Statistic::P99, Statistic::P999] {
            assert_eq!(percentile.location_ns(&samples), Ok(5.0));
        }
        for maximum in [Statistic::Max, Statistic::MaxPolls] {
            assert_eq!(maximum.location_ns(&samples), Ok(900.0));
        }
    }

    #[test]
    fn every_statistic_refuses_what_is_no_time() {
        for &statistic in Statistic::ALL {
            assert_eq!(statistic.location_ns(&[]), Err(InvalidSamples::Empty));
            assert!(statistic.location_ns(&[1.0, 0.0]).is_err());
        }
    }

    #[test]
    fn each_statistic_reads_its_own_number() {
        let distribution = Distribution::from_numbers([10_000, 1, 2, 3, 4]).unwrap();
        let read = Statistic::ALL.iter().map(|statistic| statistic.in_sample(&distribution));
        assert_eq!(read.collect::<Vec<_>>(), [1, 2, 3, 4, 4]);
    }

    #[test]
    fn ten_events_lie_beyond_a_percentile_at_least() {
        let beyond = |statistic: Statistic, share: f64| statistic.events_min() as f64 * share;
        assert!(beyond(Statistic::P50, 0.5) >= 10.0);
        assert!(beyond(Statistic::P99, 0.0100001) >= 10.0);
        assert!(beyond(Statistic::P999, 0.00100001) >= 10.0);
    }
}
