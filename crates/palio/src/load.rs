//! Requests at fixed times, whatever became of those before, and what came of them. Pure; what
//! sends them is `runner/generator.rs`.
//!
//! A client that waits for an answer before it sends the next request stops asking just when a
//! server is slow, and so leaves out the requests that would have had to wait (*coordinated
//! omission*). Here each request has a moment at which it is *due*, fixed before the first is sent,
//! and its latency is counted from that moment, however late it was really sent.

use anyhow::{Context, Result, ensure};
use hdrhistogram::Histogram;
use palio_protocol::salt::mix;
use palio_protocol::served;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::DistributionRecord;
use crate::workload::Settings;

/// What is asked of a server in one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// All of them are open for the whole iteration.
    pub connections: u64,
    /// Requests a second on each of them.
    pub rate: u64,
    /// Requests on each of them.
    pub requests: u64,
    /// Of a request, and of its answer.
    pub bytes: u64,
    /// How much the server computes for each, if it does not send back what it was sent.
    pub steps: Option<u64>,
}

/// The most that a catalogue, or a run from elsewhere, may ask for.
const CONNECTIONS_MAX: u64 = 10_000;
const REQUESTS_MAX: u64 = 100_000_000;
const RATE_MAX: u64 = 1_000_000_000;
const BYTES_MAX: u64 = 65_536;
/// A request begins with a number of this size.
const BYTES_MIN: u64 = 8;
/// More than this takes minutes for each.
const STEPS_MAX: u64 = 1 << 36;
/// Values are kept to 1 %.
const DIGITS: u8 = 2;

/// What a sample's requests met with, as the generator saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadRecord {
    /// Requests a second on all connections together: what was due, and what was answered, from the
    /// moment at which the first was due until the last answer came.
    pub offered_per_s: u64,
    pub achieved_per_s: u64,
    /// How late the generator came to send, which is not the server's fault and is in the latencies
    /// all the same.
    pub late_p50_ns: u64,
    pub late_p99_ns: u64,
    pub late_max_ns: u64,
    /// Requests that a full socket did not take at once, because the server did not read.
    pub held_back: u64,
    /// CPU time of the generator; `None` where the system does not tell that of a thread.
    pub generator_us: Option<u64>,
    /// Latencies, ascending: the largest of each bucket in ns, and how many there were.
    pub histogram: Vec<[u64; 2]>,
}

impl Load {
    /// From the parameters of a workload.
    ///
    /// # Errors
    /// One is missing, is no number, or is out of range.
    pub fn of(set: &Settings) -> Result<Self> {
        let number = |key: &str, least: u64, most: u64| -> Result<u64> {
            let text = set.get(key).with_context(|| format!("there is no parameter {key:?}"))?;
            let number =
                text.parse().with_context(|| format!("{key}={text} is no whole number"))?;
            ensure!((least..=most).contains(&number), "{key}={number} is not {least} to {most}");
            Ok(number)
        };
        let steps = set.contains_key("steps").then(|| number("steps", 0, STEPS_MAX)).transpose()?;
        let numbers = if steps.is_some() { served::NUMBERS as u64 } else { BYTES_MIN };
        let load = Self {
            connections: number("connections", 1, CONNECTIONS_MAX)?,
            rate: number("rate", 1, RATE_MAX)?,
            requests: number("requests", 1, REQUESTS_MAX)?,
            bytes: number("bytes", numbers, BYTES_MAX)?,
            steps,
        };
        let all = load.all();
        ensure!(all <= REQUESTS_MAX, "{all} requests are more than {REQUESTS_MAX}");
        Ok(load)
    }

    /// The requests of all connections.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.connections.saturating_mul(self.requests)
    }

    #[must_use]
    pub fn offered_per_s(&self) -> u64 {
        self.connections.saturating_mul(self.rate)
    }

    /// When request `number` of a connection is due, in ns from the first moment. Connections take
    /// turns, at equal distances.
    #[must_use]
    pub fn due_ns(&self, connection: u64, number: u64) -> u64 {
        let turns = u128::from(number) * u128::from(self.connections) + u128::from(connection);
        let ns = turns * 1_000_000_000 / u128::from(self.offered_per_s());
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// The number in a request: a unit of the workload, raised by the salt.
    #[must_use]
    pub fn value(&self, connection: u64, number: u64, salt: u64) -> u64 {
        salt.wrapping_add(connection * self.requests + number)
    }

    /// What stands at the beginning of a request; its other bytes are 0.
    #[must_use]
    pub fn head(&self, value: u64, salt: u64) -> Head {
        let factor = self.steps.map(|_| factor_of(salt, value));
        Head { number: value, factor }
    }

    /// What stands at the beginning of its answer; the other bytes are 0 as well.
    #[must_use]
    pub fn answered(&self, head: Head) -> Head {
        let computed = |(factor, steps)| computed(head.number, factor, steps);
        Head { number: head.factor.zip(self.steps).map_or(head.number, computed), ..head }
    }
}

/// What so many steps of a server make of `x`, without them: by repeated squaring of a step.
#[must_use]
pub const fn computed(x: u64, factor: u64, mut steps: u64) -> u64 {
    // A step, or two, four, eight of them, are one multiplication and one addition.
    let (mut a, mut b) = (factor, 1_u64);
    let mut x = x;
    while steps > 0 {
        if steps % 2 == 1 {
            x = x.wrapping_mul(a).wrapping_add(b);
        }
        b = b.wrapping_mul(a).wrapping_add(b);
        a = a.wrapping_mul(a);
        steps /= 2;
    }
    x
}

/// The factor by which a server is to compute with a number: odd, so that no number of steps makes
/// the same of all numbers.
#[must_use]
pub const fn factor_of(salt: u64, value: u64) -> u64 {
    mix(salt, value) | 1
}

/// The numbers at the beginning of a request or of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    number: u64,
    /// By which the server computes, where it does.
    factor: Option<u64>,
}

impl Head {
    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> usize {
        if self.factor.is_some() { served::NUMBERS } else { size_of::<u64>() }
    }

    /// Its bytes, and zeros after them: it may be shorter than that.
    #[must_use]
    pub fn bytes(&self) -> [u8; served::NUMBERS] {
        let both = u128::from(self.number) | u128::from(self.factor.unwrap_or(0)) << u64::BITS;
        both.to_le_bytes()
    }
}

/// Latencies of several samples together.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// # Panics
    /// Never: the precision is one that the histogram has.
    #[must_use]
    pub fn new() -> Self {
        Self(Histogram::new(DIGITS).expect("a histogram of this precision"))
    }

    pub fn add(&mut self, ns: u64, count: u64) {
        // It grows as it must, and everything fits.
        let _ = self.0.record_n(ns.max(1), count);
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency that so many of a million did not exceed; `None` where fewer than ten lie beyond
    /// it, so that it would hang on one or two.
    #[must_use]
    pub fn percentile_ns(&self, of_million: u32) -> Option<u64> {
        let beyond = u128::from(self.count()) * u128::from(1_000_000 - of_million) / 1_000_000;
        (beyond >= 10).then(|| self.0.value_at_quantile(f64::from(of_million) / 1e6))
    }

    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.0.max()
    }

    /// As it is stored.
    #[must_use]
    pub fn buckets(&self) -> Vec<[u64; 2]> {
        let each = self.0.iter_recorded();
        each.map(|b| [b.value_iterated_to(), b.count_since_last_iteration()]).collect()
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

/// The histogram has latencies to 1 %, the numbers of a distribution are of the latencies.
const SAME: f64 = 0.02;

impl LoadRecord {
    /// What contradicts the load that was asked for, or the sample's other numbers, if anything.
    #[must_use]
    pub fn contradicts(&self, load: &Load, distribution: &DistributionRecord) -> Option<String> {
        if self.offered_per_s != load.offered_per_s() {
            let due = load.offered_per_s();
            return Some(format!("it offered {} in a second, of {due}", self.offered_per_s));
        }
        let mut latencies = Latencies::new();
        self.histogram.iter().for_each(|&[ns, count]| latencies.add(ns, count));
        let DistributionRecord { p50_ns, p99_ns, p999_ns, max_ns, .. } = *distribution;
        let numbers = [(0.5, p50_ns), (0.99, p99_ns), (0.999, p999_ns), (1.0, max_ns)];
        numbers.into_iter().find_map(|(quantile, ns)| {
            let stored = latencies.0.value_at_quantile(quantile);
            let off = stored.abs_diff(ns) as f64;
            (off > SAME * ns as f64 + 1.0).then(|| {
                format!("the histogram has {stored} ns at {quantile}, and `distribution` {ns} ns")
            })
        })
    }

    /// What cannot be true of a sample with so many events, if anything.
    #[must_use]
    pub fn wrong(&self, events: u64) -> Option<String> {
        let ascends = self.histogram.windows(2).all(|pair| pair[0][0] < pair[1][0]);
        let count = self.histogram.iter().fold(0_u64, |sum, [_, n]| sum.saturating_add(*n));
        if !ascends || self.histogram.iter().any(|[ns, n]| *ns == 0 || *n == 0) {
            return Some("the histogram does not ascend, or has an empty bucket".to_owned());
        }
        if count != events {
            return Some(format!("the histogram has {count} latencies, and there were {events}"));
        }
        (self.late_p50_ns > self.late_p99_ns || self.late_p99_ns > self.late_max_ns)
            .then(|| "the percentiles of lateness do not ascend".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> Load {
        Load { connections: 4, rate: 250, requests: 3, bytes: 64, steps: None }
    }

    #[test]
    fn requests_are_due_at_equal_distances_over_all_connections() {
        let due: Vec<u64> =
            (0..3).flat_map(|number| (0..4).map(move |c| load().due_ns(c, number))).collect();
        assert_eq!(due, (0..12).map(|i| i * 1_000_000).collect::<Vec<_>>());
        assert_eq!((load().all(), load().offered_per_s()), (12, 1_000));
    }

    #[test]
    fn every_request_has_a_number_of_its_own_and_their_sum_is_that_of_units_raised_by_the_salt() {
        let (load, salt) = (load(), u64::MAX - 3);
        let values = (0..4).flat_map(|c| (0..3).map(move |n| load.value(c, n, salt)));
        let sum = values.fold(0_u64, u64::wrapping_add);
        assert_eq!(sum, (12_u64 * 11 / 2).wrapping_add(12_u64.wrapping_mul(salt)));
    }

    #[test]
    fn what_the_steps_make_of_a_number_is_known_without_them() {
        for steps in (0..70).chain([1_000, 15_000, 16_384]) {
            for salt in [0, 1, u64::MAX] {
                let (x, factor) = (mix(salt, steps), mix(salt, 3));
                let mut request = [x.to_le_bytes(), factor.to_le_bytes()].concat();
                served::answer_in_place(&mut request, steps);
                assert_eq!(request[..8], computed(x, factor, steps).to_le_bytes(), "{steps}");
            }
        }
    }

    #[test]
    fn a_load_that_makes_no_sense_says_which_parameter() {
        let set = |pairs: &[(&str, &str)]| -> Settings {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let good = [("connections", "4"), ("rate", "250"), ("requests", "3"), ("bytes", "64")];
        assert_eq!(Load::of(&set(&good)).unwrap(), load());
        for bad in [("rate", "0"), ("bytes", "7"), ("requests", "x"), ("connections", "10001")] {
            let mut all = set(&good);
            all.insert(bad.0.to_owned(), bad.1.to_owned());
            let error = format!("{:#}", Load::of(&all).unwrap_err());
            assert!(error.contains(bad.0), "{error}");
        }
        assert!(Load::of(&set(&good[1..])).is_err());
    }

    #[test]
    fn what_a_sample_says_of_its_load_agrees_with_itself() {
        let mut latencies = Latencies::new();
        (1..=1_000).for_each(|us| latencies.add(us * 1_000, 1));
        let record = LoadRecord {
            offered_per_s: 1_000,
            achieved_per_s: 1_000,
            late_p50_ns: 1,
            late_p99_ns: 2,
            late_max_ns: 3,
            held_back: 0,
            generator_us: None,
            histogram: latencies.buckets(),
        };
        let distribution = DistributionRecord {
            events: 1_000,
            p50_ns: 500_000,
            p99_ns: 990_000,
            p999_ns: 999_000,
            max_ns: 1_000_000,
        };
        assert_eq!(record.contradicts(&load(), &distribution), None);
        let other = DistributionRecord { p99_ns: 900_000, ..distribution };
        assert!(record.contradicts(&load(), &other).unwrap().contains("at 0.99"));
        let slower = Load { rate: 249, ..load() };
        assert!(record.contradicts(&slower, &distribution).unwrap().contains("of 996"));
    }

    #[test]
    fn percentiles_are_told_where_ten_latencies_lie_beyond() {
        let mut latencies = Latencies::new();
        (1..=1_000).for_each(|us| latencies.add(us * 1_000, 1));
        let near = |of_million, ns: u64| {
            let found = latencies.percentile_ns(of_million).unwrap();
            assert!(found.abs_diff(ns) <= ns / 100 + 1, "{found} is not {ns}");
        };
        near(500_000, 500_000);
        near(990_000, 990_000);
        assert_eq!(latencies.percentile_ns(999_000), None);
        // What is stored gives the same.
        let mut again = Latencies::new();
        latencies.buckets().into_iter().for_each(|[ns, count]| again.add(ns, count));
        assert_eq!(again.buckets(), latencies.buckets());
        assert_eq!(again.count(), 1_000);
    }
}
