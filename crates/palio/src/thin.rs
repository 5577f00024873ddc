//! A run with fewer samples, for bundles that are kept in a repository. Pure.
//!
//! Which samples stay is decided by their places alone, never by what was measured:
//!
//! - Of an invocation with more than `most` measured samples, `most` stay, evenly spaced in the
//!   order of execution: of `n`, those at the places `(2i + 1) n / 2 most`, rounded down, for `i`
//!   from 0. Each is the middle of one of `most` equal stretches, so that first and last third,
//!   which show drift, keep their shares.
//! - Warm-up samples go.
//! - Invocations that did not end well stay whole: they are evidence.
//! - Samples with a distribution of events stay: each is a summary already, and of many the largest
//!   maximum is ranked, which a part of them does not have.
//!
//! Of what goes, its number and its sums stay, so that CPU time and the share of the time that
//! samples account for are those of all.

use std::path::Path;

use crate::record::{Dropped, InvocationRecord, Outcome, RunRecord, SampleRecord};

/// Fewer samples than this of each process have no median that says what is typical.
pub const MOST_MIN: u32 = 5;

/// Keeps at most `most` measured samples of each invocation, and marks the run if any went.
pub fn thin(run: &mut RunRecord, most: u32) {
    let mut any = false;
    for race in &mut run.races {
        for invocation in race.cells.iter_mut().flat_map(|cell| &mut cell.invocations) {
            any |= thin_invocation(invocation, most as usize);
        }
    }
    if any {
        // Less than it was thinned to before, if it was: there was something left to take.
        run.header.thinned = Some(most);
    }
}

/// Names what the commands of all cells have below `folder` from there on.
pub fn without_folder(run: &mut RunRecord, folder: &Path) {
    for cell in run.races.iter_mut().flat_map(|race| &mut race.cells) {
        for word in &mut cell.command {
            if let Ok(rest) = Path::new(&*word).strip_prefix(folder) {
                *word = rest.to_string_lossy().into_owned();
            }
        }
    }
}

/// True if samples went.
fn thin_invocation(invocation: &mut InvocationRecord, most: usize) -> bool {
    if invocation.outcome != Outcome::Ok {
        return false;
    }
    let before = invocation.samples.len();
    let (warm_ups, measured): (Vec<_>, Vec<_>) =
        invocation.samples.drain(..).partition(|sample| sample.warm_up);
    let summarised = measured.iter().any(|sample| sample.distribution.is_some());
    let most = if summarised { measured.len() } else { most };
    let mut places = places(measured.len(), most).peekable();
    let mut dropped = invocation.dropped.unwrap_or_else(Dropped::nothing);
    dropped.warm_ups += warm_ups.len() as u64;
    for (place, sample) in measured.into_iter().enumerate() {
        if places.next_if_eq(&place).is_some() {
            invocation.samples.push(sample);
        } else {
            dropped.add(&sample);
        }
    }
    let any = invocation.samples.len() < before;
    if any {
        invocation.dropped = Some(dropped);
    }
    any
}

/// The places of the samples that stay, in ascending order.
fn places(n: usize, most: usize) -> impl Iterator<Item = usize> {
    let keep = n.min(most);
    (0..keep).map(move |i| (2 * i + 1) * n / (2 * keep))
}

impl Dropped {
    fn nothing() -> Self {
        let (warm_ups, samples, iterations, elapsed_ns, uncounted) = (0, 0, 0, 0, 0);
        let (user_us, sys_us) = (Some(0), Some(0));
        Self { warm_ups, samples, iterations, elapsed_ns, user_us, sys_us, uncounted }
    }

    fn add(&mut self, sample: &SampleRecord) {
        self.samples = self.samples.saturating_add(1);
        self.iterations = self.iterations.saturating_add(sample.batch.into());
        self.elapsed_ns = self.elapsed_ns.saturating_add(sample.elapsed_ns);
        self.user_us = self.user_us.zip(sample.user_us).map(|(sum, us)| sum.saturating_add(us));
        self.sys_us = self.sys_us.zip(sample.sys_us).map(|(sum, us)| sum.saturating_add(us));
        self.uncounted = self.uncounted.saturating_add(u64::from(sample.work.is_none()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::record::{DistributionRecord, Resources};

    fn sample(warm_up: bool, elapsed_ns: u64) -> SampleRecord {
        SampleRecord {
            warm_up,
            batch: 2,
            elapsed_ns,
            ops: 10,
            answer: None,
            work: None,
            user_us: Some(elapsed_ns / 1000),
            sys_us: None,
            distribution: None,
            load: None,
        }
    }

    fn invocation(times: &[(bool, u64)]) -> InvocationRecord {
        InvocationRecord {
            block: Some(0),
            position: 0,
            started_at: String::new(),
            salt: None,
            outcome: Outcome::Ok,
            detail: None,
            resources: Resources::default(),
            throttled: None,
            spans: Vec::new(),
            dropped: None,
            disturbed: false,
            samples: times.iter().map(|&(warm_up, ns)| sample(warm_up, ns)).collect(),
        }
    }

    fn times(invocation: &InvocationRecord) -> Vec<u64> {
        invocation.samples.iter().map(|sample| sample.elapsed_ns).collect()
    }

    proptest! {
        #[test]
        fn places_are_as_many_as_allowed_in_order_and_evenly_spaced(n in 0usize..5000, most in 1usize..300) {
            let all: Vec<usize> = places(n, most).collect();
            prop_assert_eq!(all.len(), n.min(most));
            prop_assert!(all.iter().all(|&place| place < n));
            let (narrow, wide) = (n / n.min(most).max(1), n.div_ceil(n.min(most).max(1)));
            for pair in all.windows(2) {
                prop_assert!((narrow..=wide).contains(&(pair[1] - pair[0])));
            }
            if let (Some(first), Some(last)) = (all.first(), all.last()) {
                prop_assert!(first.abs_diff(n - 1 - last) <= 1);
            }
        }

        #[test]
        fn values_decide_nothing_and_sums_stay(
            values in vec((any::<bool>(), 1u64..1_000_000_000), 0..200),
            most in 5usize..50,
        ) {
            let mut thinned = invocation(&values);
            // The same, with the place of each sample instead of its time.
            let by_place: Vec<(bool, u64)> =
                (0..).zip(&values).map(|(place, &(warm_up, _))| (warm_up, place)).collect();
            let mut places = invocation(&by_place);
            let any = thin_invocation(&mut thinned, most);
            prop_assert_eq!(thin_invocation(&mut places, most), any);
            let kept = places.samples.iter().map(|sample| values[sample.elapsed_ns as usize].1);
            prop_assert_eq!(times(&thinned), kept.collect::<Vec<_>>());
            prop_assert!(times(&places).is_sorted());

            let measured = || values.iter().filter(|(warm_up, _)| !warm_up).map(|(_, ns)| ns);
            prop_assert_eq!(thinned.samples.len(), measured().count().min(most));
            prop_assert_eq!(any, thinned.samples.len() < values.len());
            prop_assert_eq!(any, thinned.dropped.is_some());
            let dropped = thinned.dropped.unwrap_or_else(Dropped::nothing);
            let sum = times(&thinned).iter().sum::<u64>() + dropped.elapsed_ns;
            prop_assert_eq!(sum, measured().sum::<u64>());
            prop_assert_eq!(thinned.samples.len() as u64 + dropped.samples, measured().count() as u64);
            prop_assert_eq!(dropped.samples + dropped.warm_ups + thinned.samples.len() as u64, values.len() as u64);
            prop_assert_eq!(dropped.iterations, 2 * dropped.samples);
            prop_assert_eq!(dropped.uncounted, dropped.samples);
            prop_assert_eq!(dropped.sys_us, (dropped.samples == 0).then_some(0));
        }

        #[test]
        fn thinning_twice_adds_up(n in 0usize..500, first in 5usize..100, second in 5usize..100) {
            let values: Vec<(bool, u64)> = (0..n as u64).map(|ns| (false, ns)).collect();
            let mut thinned = invocation(&values);
            thin_invocation(&mut thinned, first);
            thin_invocation(&mut thinned, second);
            prop_assert_eq!(thinned.samples.len(), n.min(first).min(second));
            let dropped = thinned.dropped.map_or(0, |dropped| dropped.samples);
            prop_assert_eq!(dropped as usize + thinned.samples.len(), n);
        }
    }

    #[test]
    fn the_middles_of_equal_stretches_stay() {
        assert_eq!(places(10, 5).collect::<Vec<_>>(), [1, 3, 5, 7, 9]);
        assert_eq!(places(100, 5).collect::<Vec<_>>(), [10, 30, 50, 70, 90]);
        assert_eq!(places(3, 5).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn evidence_and_summaries_stay() {
        let all: Vec<(bool, u64)> = (0..40).map(|ns| (ns < 3, ns + 1)).collect();
        let mut failed = invocation(&all);
        failed.outcome = Outcome::WrongAnswer;
        let before = failed.clone();
        assert!(!thin_invocation(&mut failed, 5));
        assert_eq!(failed, before);

        let mut events = invocation(&all);
        let distribution =
            DistributionRecord { events: 9, p50_ns: 1, p99_ns: 2, p999_ns: 3, max_ns: 4 };
        for sample in &mut events.samples {
            sample.distribution = Some(distribution);
        }
        assert!(thin_invocation(&mut events, 5));
        assert_eq!(events.samples.len(), 37);
        assert_eq!(events.dropped.map(|d| (d.warm_ups, d.samples)), Some((3, 0)));
    }
}
