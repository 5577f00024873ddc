//! The outside clock: what a contender claims against what Palio saw from outside. Pure.
//!
//! A contender times itself, inside its own process. Palio times every `run` command as a whole,
//! from before the command was written until `done` was read. The samples of the command lie
//! within that span, so that they cannot add up to more; and where they add up to much less,
//! something else took the time.

use crate::record::{CellRecord, SpanRecord};
use crate::stats::location_ns;

/// What clocks may differ: both read the same hardware, but the kernel disciplines
/// `CLOCK_MONOTONIC` and not every other clock, by at most 500 parts in a million.
const CLOCK_DRIFT: f64 = 0.001;
/// How much coarser than a nanosecond the clock of a language may be, for each sample.
const GRANULARITY_NS: u64 = 1_000;
/// A contender that accounts for less of its time than this, in percent, is marked. The reasons
/// stand in `docs/methodology.md`.
pub const ACCOUNTED_PERCENT_MIN: f64 = 50.0;
/// Where the process did less than this, in percent of one CPU, the share of it that samples
/// account for says nothing: printing their lines may be most of it.
const CPU_SEEN_PERCENT_MIN: f64 = 10.0;

/// How much more than its threads a contender may keep busy, in processors: what reads commands and
/// prints lines takes some.
const CROWD_MIN: f64 = 0.25;

/// The most that the samples of one command can add up to, in ns.
pub fn most_ns(samples: u32, wall_ns: u64) -> u64 {
    let drift_ns = (wall_ns as f64 * CLOCK_DRIFT) as u64;
    wall_ns
        .saturating_add(drift_ns)
        .saturating_add(u64::from(samples).saturating_mul(GRANULARITY_NS))
}

/// How much of what was seen from outside the measured samples of a cell account for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accounted {
    /// Time claimed ÷ time seen.
    pub time_percent: f64,
    /// CPU time claimed ÷ CPU time seen; `None` where one of them is not known, or where there was
    /// none.
    pub cpu_percent: Option<f64>,
    /// CPU time seen ÷ time seen.
    pub cpu_seen_percent: f64,
    /// The median of what an invocation's samples claim ÷ the time from one of their lines to the
    /// next ([`SpanRecord::line_ns`]); `None` where that was not stored. The median is ranked, and
    /// can be moved where the sum is left alone.
    pub typical_percent: Option<f64>,
}

impl Accounted {
    /// Over the completed invocations of all blocks; `None` if the run was stored by a Palio that
    /// had no such clock.
    pub fn of(cell: &CellRecord) -> Option<Self> {
        let (mut claimed_ns, mut wall_ns) = (0.0, 0.0);
        let (mut claimed_cpu_us, mut cpu_ns) = (Some(0.0), Some(0.0));
        let (mut typical_ns, mut line_ns) = (0.0, Some(0.0));
        for invocation in cell.raced() {
            let spans = invocation.spans.iter().filter(|span| !span.warm_up);
            let SpanRecord { wall_ns: wall, cpu_ns: cpu, line_ns: line, .. } = spans.fold(
                SpanRecord {
                    warm_up: false,
                    samples: 0,
                    wall_ns: 0,
                    cpu_ns: Some(0),
                    line_ns: None,
                },
                |sum, span| SpanRecord {
                    wall_ns: sum.wall_ns.saturating_add(span.wall_ns),
                    cpu_ns: sum.cpu_ns.zip(span.cpu_ns).map(|(a, b)| a.saturating_add(b)),
                    // An invocation has one measured command.
                    line_ns: span.line_ns,
                    ..sum
                },
            );
            if wall == 0 {
                return None;
            }
            wall_ns += wall as f64;
            cpu_ns = cpu_ns.zip(cpu).map(|(sum, ns)| sum + ns as f64);
            let measured = || invocation.samples.iter().filter(|sample| !sample.warm_up);
            let claims: Vec<f64> = measured().map(|sample| sample.elapsed_ns as f64).collect();
            typical_ns += location_ns(&claims).unwrap_or(0.0);
            line_ns = line_ns.zip(line).map(|(sum, ns)| sum + ns as f64);
            for sample in measured() {
                claimed_ns += sample.elapsed_ns as f64;
                let own_us = sample.user_us.zip(sample.sys_us);
                claimed_cpu_us = claimed_cpu_us
                    .zip(own_us)
                    .map(|(sum, (user, sys))| sum + user as f64 + sys as f64);
            }
            if let Some(dropped) = invocation.dropped {
                claimed_ns += dropped.elapsed_ns as f64;
                let own_us = dropped.user_us.zip(dropped.sys_us);
                claimed_cpu_us = claimed_cpu_us
                    .zip(own_us)
                    .map(|(sum, (user, sys))| sum + user as f64 + sys as f64);
            }
        }
        let seen = cpu_ns.filter(|&ns| ns > 0.0);
        (wall_ns > 0.0).then(|| Self {
            time_percent: 100.0 * claimed_ns / wall_ns,
            cpu_percent: claimed_cpu_us.zip(seen).map(|(us, ns)| 100.0 * us * 1e3 / ns),
            cpu_seen_percent: 100.0 * seen.unwrap_or(0.0) / wall_ns,
            typical_percent: line_ns.filter(|&ns| ns > 0.0).map(|ns| 100.0 * typical_ns / ns),
        })
    }

    /// What a reader must know, each the end of a sentence about the contender.
    pub fn doubts(&self) -> Vec<String> {
        let little = |percent: &f64| *percent < ACCOUNTED_PERCENT_MIN;
        let cpu = self.cpu_percent.filter(|_| self.cpu_seen_percent >= CPU_SEEN_PERCENT_MIN);
        let time = Some(self.time_percent).filter(little).map(|percent| {
            // All of its CPU time in half of its time: it waited, or was kept waiting, between two
            // samples, as on a machine that others use.
            let waited = cpu.filter(|cpu| !little(cpu)).map(|cpu| {
                format!(" (and for {} % of its CPU time: the rest it waited)", whole_percent(cpu))
            });
            let percent = whole_percent(percent);
            format!(
                "accounted for {percent} % of the time that it took by Palio's clock{}",
                waited.unwrap_or_default()
            )
        });
        let hidden = cpu.filter(little).map(|percent| {
            format!(
                "accounted for {} % of the CPU time that Palio saw it take",
                whole_percent(percent)
            )
        });
        // Where the sum is too small already, so is every sample.
        let typical = self.typical_percent.filter(little).filter(|_| time.is_none());
        let moved = typical.map(|percent| {
            format!(
                "claims for its typical sample {} % of the time from one sample to the next",
                whole_percent(percent)
            )
        });
        time.into_iter().chain(hidden).chain(moved).collect()
    }

    /// What is wrong with the CPU time seen from outside, where work was to be done by so many
    /// threads and by no other: the end of a sentence.
    pub fn crowd(&self, threads: u32) -> Option<String> {
        let busy = self.cpu_seen_percent / 100.0;
        (busy > f64::from(threads) + CROWD_MIN).then(|| {
            let s = if threads == 1 { "" } else { "s" };
            format!("kept {busy:.1} processors busy with {threads} thread{s}")
        })
    }
}

/// Without a zero where there was something.
fn whole_percent(percent: f64) -> String {
    if percent > 0.0 && percent < 0.5 { "under 1".to_owned() } else { format!("{percent:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_may_exceed_the_span_by_what_clocks_differ_and_no_more() {
        assert_eq!(most_ns(1, 0), 1_000);
        assert_eq!(most_ns(10, 1_000_000_000), 1_000_000_000 + 1_000_000 + 10_000);
        assert_eq!(most_ns(u32::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn a_crowd_is_more_than_the_threads_and_a_little() {
        let busy = |cpu_seen_percent| Accounted {
            time_percent: 100.0,
            cpu_percent: None,
            cpu_seen_percent,
            typical_percent: None,
        };
        assert_eq!(busy(124.0).crowd(1), None);
        assert_eq!(busy(190.0).crowd(2), None);
        assert_eq!(busy(187.0).crowd(1).unwrap(), "kept 1.9 processors busy with 1 thread");
        assert!(busy(240.0).crowd(2).unwrap().ends_with("with 2 threads"));
    }

    #[test]
    fn the_doubt_starts_below_half() {
        let doubts = |time_percent, cpu_percent, cpu_seen_percent| {
            let typical_percent = None;
            Accounted { time_percent, cpu_percent, cpu_seen_percent, typical_percent }.doubts()
        };
        assert!(doubts(50.0, None, 0.0).is_empty());
        assert!(doubts(50.0, Some(50.0), 100.0).is_empty());
        assert_eq!(
            doubts(12.3, None, 0.0),
            ["accounted for 12 % of the time that it took by Palio's clock"]
        );
        assert!(doubts(0.01, None, 0.0)[0].contains("under 1 %"));
        assert_eq!(
            doubts(90.0, Some(30.0), 80.0),
            ["accounted for 30 % of the CPU time that Palio saw it take"]
        );
        assert!(doubts(90.0, Some(30.0), 5.0).is_empty(), "it hardly worked");
        assert_eq!(doubts(9.0, Some(8.0), 80.0).len(), 2);
        let shifted = |time_percent, typical_percent| {
            let (cpu_percent, cpu_seen_percent) = (None, 0.0);
            Accounted { time_percent, cpu_percent, cpu_seen_percent, typical_percent }.doubts()
        };
        assert!(shifted(99.0, Some(50.0)).is_empty());
        assert!(shifted(99.0, Some(10.0))[0].contains("typical sample 10 %"));
        assert_eq!(shifted(20.0, Some(10.0)).len(), 1, "one lie is told once");
        let waited = doubts(27.0, Some(98.0), 100.0);
        assert!(waited[0].ends_with("(and for 98 % of its CPU time: the rest it waited)"));
    }
}
