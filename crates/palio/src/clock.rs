//! The outside clock: what a contender claims against what Palio saw from outside. Pure.
//!
//! A contender times itself, inside its own process. Palio times every `run` command as a whole,
//! from before the command was written until `done` was read. The samples of the command lie
//! within that span, so that they cannot add up to more; and where they add up to much less,
//! something else took the time.

use crate::record::{CellRecord, Outcome, SpanRecord};

/// What clocks may differ: both read the same hardware, but the kernel disciplines
/// `CLOCK_MONOTONIC` and not every other clock, by at most 500 parts in a million.
const CLOCK_DRIFT: f64 = 0.001;
/// How much coarser than a nanosecond the clock of a language may be, for each sample.
const GRANULARITY_NS: u64 = 1_000;
/// A contender that accounts for less of its time than this, in percent, is marked. The reasons
/// stand in `docs/methodology.md`.
pub const ACCOUNTED_PERCENT_MIN: f64 = 50.0;

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
}

impl Accounted {
    /// Over the completed invocations of all blocks; `None` if the run was stored by a Palio that
    /// had no such clock.
    pub fn of(cell: &CellRecord) -> Option<Self> {
        let (mut claimed_ns, mut wall_ns) = (0.0, 0.0);
        let (mut claimed_cpu_us, mut cpu_ns) = (Some(0.0), Some(0.0));
        let raced =
            cell.invocations.iter().filter(|i| i.block.is_some() && i.outcome == Outcome::Ok);
        for invocation in raced {
            let spans = invocation.spans.iter().filter(|span| !span.warm_up);
            let SpanRecord { wall_ns: wall, cpu_ns: cpu, .. } = spans.fold(
                SpanRecord { warm_up: false, samples: 0, wall_ns: 0, cpu_ns: Some(0) },
                |sum, span| SpanRecord {
                    wall_ns: sum.wall_ns + span.wall_ns,
                    cpu_ns: sum.cpu_ns.zip(span.cpu_ns).map(|(a, b)| a + b),
                    ..sum
                },
            );
            if wall == 0 {
                return None;
            }
            wall_ns += wall as f64;
            cpu_ns = cpu_ns.zip(cpu).map(|(sum, ns)| sum + ns as f64);
            for sample in invocation.samples.iter().filter(|sample| !sample.warm_up) {
                claimed_ns += sample.elapsed_ns as f64;
                let own_us = sample.user_us.zip(sample.sys_us).map(|(user, sys)| user + sys);
                claimed_cpu_us = claimed_cpu_us.zip(own_us).map(|(sum, us)| sum + us as f64);
            }
        }
        let seen = cpu_ns.filter(|&ns| ns > 0.0);
        (wall_ns > 0.0).then(|| Self {
            time_percent: 100.0 * claimed_ns / wall_ns,
            cpu_percent: claimed_cpu_us.zip(seen).map(|(us, ns)| 100.0 * us * 1e3 / ns),
        })
    }

    /// What a reader must know, as the end of a sentence about the contender.
    pub fn doubt(&self) -> Option<String> {
        (self.time_percent < ACCOUNTED_PERCENT_MIN).then(|| {
            format!("accounted for {} % of the time it took", whole_percent(self.time_percent))
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
    fn the_doubt_starts_below_half() {
        let accounted = |time_percent| Accounted { time_percent, cpu_percent: None };
        assert_eq!(accounted(50.0).doubt(), None);
        let doubt = accounted(12.3).doubt().unwrap();
        assert_eq!(doubt, "accounted for 12 % of the time it took");
        assert!(accounted(0.01).doubt().unwrap().contains("under 1 %"));
    }
}
