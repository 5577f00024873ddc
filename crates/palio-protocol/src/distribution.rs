//! How the events of one sample are distributed, such as the latencies of ten thousand wake-ups.

use std::fmt;

/// The events of one sample, summarised; all times in ns.
///
/// A percentile is the nearest rank: the smallest event that at least so many of all events do not
/// exceed. It is always an event that happened, and it needs no rule for rounding that two
/// languages could read differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// How many events there were; at least 1.
    pub events: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

impl Distribution {
    /// The names of the fields, in the order in which they are printed.
    pub const FIELDS: [&'static str; 5] = ["events", "p50_ns", "p99_ns", "p999_ns", "max_ns"];

    /// Sorts `events_ns` and summarises them; `None` if there are none.
    ///
    /// An event of 0 ns counts as 1 ns: it was shorter than the clock can tell, and no time is a
    /// time of 0.
    #[must_use]
    pub fn of(events_ns: &mut [u64]) -> Option<Self> {
        events_ns.sort_unstable();
        let at = |per_mille: u128| {
            let rank = (events_ns.len() as u128 * per_mille).div_ceil(1000).max(1) as usize;
            events_ns.get(rank - 1).map(|&ns| ns.max(1))
        };
        Some(Self {
            events: events_ns.len() as u64,
            p50_ns: at(500)?,
            p99_ns: at(990)?,
            p999_ns: at(999)?,
            max_ns: at(1000)?,
        })
    }

    /// The five numbers in the order of [`FIELDS`](Self::FIELDS).
    #[must_use]
    pub fn numbers(&self) -> [u64; 5] {
        [self.events, self.p50_ns, self.p99_ns, self.p999_ns, self.max_ns]
    }

    /// From the five numbers in the order of [`FIELDS`](Self::FIELDS).
    ///
    /// # Errors
    /// They are no distribution; the reason.
    pub fn from_numbers(
        [events, p50_ns, p99_ns, p999_ns, max_ns]: [u64; 5],
    ) -> Result<Self, &'static str> {
        if events == 0 {
            return Err("`events` is 0");
        }
        if p50_ns == 0 {
            return Err("`p50_ns` is 0: no event takes no time");
        }
        if p50_ns > p99_ns || p99_ns > p999_ns || p999_ns > max_ns {
            return Err("the percentiles do not ascend");
        }
        Ok(Self { events, p50_ns, p99_ns, p999_ns, max_ns })
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, number)) in Self::FIELDS.iter().zip(self.numbers()).enumerate() {
            let gap = if i == 0 { "" } else { " " };
            write!(f, "{gap}{name}={number}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut events: Vec<u64> = (1..=10_000).rev().collect();
        let all = Distribution::of(&mut events).unwrap();
        assert_eq!(all.numbers(), [10_000, 5_000, 9_900, 9_990, 10_000]);
        // With few events the high percentiles are the largest event.
        assert_eq!(Distribution::of(&mut [30, 10, 20]).unwrap().numbers(), [3, 20, 30, 30, 30]);
        assert_eq!(Distribution::of(&mut [20, 10]).unwrap().p50_ns, 10);
    }

    #[test]
    fn nothing_has_no_distribution_and_no_time_is_zero() {
        assert_eq!(Distribution::of(&mut []), None);
        assert_eq!(Distribution::of(&mut [0]).unwrap().numbers(), [1, 1, 1, 1, 1]);
    }

    #[test]
    fn what_is_no_distribution_says_why() {
        assert!(Distribution::from_numbers([1, 5, 5, 5, 5]).is_ok());
        for bad in [[0, 1, 1, 1, 1], [1, 0, 1, 1, 1], [1, 3, 2, 4, 5], [1, 1, 2, 4, 3]] {
            assert!(Distribution::from_numbers(bad).is_err(), "{bad:?}");
        }
    }
}
