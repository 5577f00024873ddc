//! The outside clock: what a contender claims against what Palio saw from outside. Pure.
//!
//! A contender times itself, inside its own process. Palio times every `run` command as a whole,
//! from before the command was written until `done` was read. The samples of the command lie
//! within that span, so that they cannot add up to more; and where they add up to much less,
//! something else took the time.

use crate::record::{CellRecord, InvocationRecord, SampleRecord};
use crate::stats::{location_ns, quantile};

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
    /// Of all of its processes together.
    pub all: Shares,
    /// Of its typical process: each number is the median over the processes. The ratio of two
    /// contenders is that of the typical block, so that a few long processes which account for
    /// all of their time do not outweigh many that do not.
    pub process: Shares,
    /// Of the typical process: the median of what its samples claim ÷ the time from one of their
    /// lines to the next ([`line_ns`](crate::record::SpanRecord::line_ns)); `None` where that was
    /// not stored. The median is ranked, and can be moved where the sum is left alone.
    pub typical_percent: Option<f64>,
}

/// What was claimed of what was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Time claimed ÷ time seen.
    pub time_percent: f64,
    /// CPU time claimed ÷ CPU time seen; `None` where one of them is not known, or where there was
    /// none.
    pub cpu_percent: Option<f64>,
    /// CPU time seen ÷ time seen.
    pub cpu_seen_percent: f64,
}

/// What was claimed and seen of a process, or of several.
#[derive(Clone, Copy, Debug)]
struct Sums {
    claimed_ns: f64,
    wall_ns: f64,
    claimed_cpu_us: Option<f64>,
    cpu_ns: Option<f64>,
}

impl Sums {
    /// Of the measured commands of one process.
    fn of(invocation: &InvocationRecord) -> Self {
        let (mut wall_ns, mut cpu_ns) = (0_u64, Some(0_u64));
        for span in invocation.spans.iter().filter(|span| !span.warm_up) {
            wall_ns = wall_ns.saturating_add(span.wall_ns);
            cpu_ns = cpu_ns.zip(span.cpu_ns).map(|(a, b)| a.saturating_add(b));
        }
        let samples = measured(invocation).map(|s| (s.elapsed_ns, s.user_us.zip(s.sys_us)));
        let dropped = invocation.dropped.map(|d| (d.elapsed_ns, d.user_us.zip(d.sys_us)));
        let (mut claimed_ns, mut claimed_cpu_us) = (0.0, Some(0.0));
        for (elapsed_ns, own_us) in samples.chain(dropped) {
            claimed_ns += elapsed_ns as f64;
            claimed_cpu_us =
                claimed_cpu_us.zip(own_us).map(|(sum, (user, sys))| sum + user as f64 + sys as f64);
        }
        let cpu_ns = cpu_ns.map(|ns| ns as f64);
        Self { claimed_ns, wall_ns: wall_ns as f64, claimed_cpu_us, cpu_ns }
    }

    fn and(self, other: Self) -> Self {
        let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        Self {
            claimed_ns: self.claimed_ns + other.claimed_ns,
            wall_ns: self.wall_ns + other.wall_ns,
            claimed_cpu_us: sum(self.claimed_cpu_us, other.claimed_cpu_us),
            cpu_ns: sum(self.cpu_ns, other.cpu_ns),
        }
    }

    fn shares(&self) -> Shares {
        let seen = self.cpu_ns.filter(|&ns| ns > 0.0);
        Shares {
            time_percent: 100.0 * self.claimed_ns / self.wall_ns,
            cpu_percent: self.claimed_cpu_us.zip(seen).map(|(us, ns)| 100.0 * us * 1e3 / ns),
            cpu_seen_percent: 100.0 * seen.unwrap_or(0.0) / self.wall_ns,
        }
    }
}

impl Shares {
    /// Of the typical one of several processes, of which there is one.
    fn typical(each: &[Self]) -> Option<Self> {
        let of = |number: fn(&Self) -> f64| median(each.iter().map(number).collect());
        // A process that waited for most of its time says nothing of where its CPU time went.
        let worked: Vec<f64> = each.iter().filter_map(Self::cpu_percent_of_work).collect();
        let most_worked = worked.len() * 2 >= each.len();
        Some(Self {
            time_percent: of(|shares| shares.time_percent)?,
            cpu_percent: median(worked).filter(|_| most_worked),
            cpu_seen_percent: of(|shares| shares.cpu_seen_percent)?,
        })
    }

    /// The share of its CPU time, where there was some.
    fn cpu_percent_of_work(&self) -> Option<f64> {
        self.cpu_percent.filter(|_| self.cpu_seen_percent >= CPU_SEEN_PERCENT_MIN)
    }
}

fn measured(invocation: &InvocationRecord) -> impl Iterator<Item = &SampleRecord> {
    invocation.samples.iter().filter(|sample| !sample.warm_up)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| quantile(&values, 0.5))
}

impl Accounted {
    /// Over the completed invocations of all blocks; `None` if the run was stored by a Palio that
    /// had no such clock, or raced without warm-up: the start of a process is then in its only
    /// command, and cannot be told from what the samples do not account for.
    pub fn of(cell: &CellRecord) -> Option<Self> {
        let is_cold = |invocation: &InvocationRecord| {
            invocation.spans.first().is_some_and(|span| !span.warm_up)
        };
        if cell.raced().any(is_cold) {
            return None;
        }
        let sums: Vec<Sums> = cell.raced().map(Sums::of).collect();
        if sums.iter().any(|sums| sums.wall_ns == 0.0) {
            return None;
        }
        let all = sums.iter().copied().reduce(Sums::and)?.shares();
        let process = Shares::typical(&sums.iter().map(Sums::shares).collect::<Vec<_>>())?;
        let typical = cell.raced().map(|invocation| {
            let claims: Vec<f64> =
                measured(invocation).map(|sample| sample.elapsed_ns as f64).collect();
            // An invocation has one measured command.
            let command = invocation.spans.iter().rev().find(|span| !span.warm_up)?;
            let line_ns = command.line_ns.filter(|&ns| ns > 0)?;
            Some(100.0 * location_ns(&claims).unwrap_or(0.0) / line_ns as f64)
        });
        let typical_percent = typical.collect::<Option<Vec<f64>>>().and_then(median);
        Some(Self { all, process, typical_percent })
    }

    /// What a reader must know, each the end of a sentence about the contender.
    pub fn doubts(&self) -> Vec<String> {
        let little = |percent: &f64| *percent < ACCOUNTED_PERCENT_MIN;
        let each = [("it", self.all), ("its typical process", self.process)];
        let time = each.iter().find(|(_, of)| little(&of.time_percent)).map(|(who, of)| {
            // All of its CPU time in half of its time: it waited, or was kept waiting, between two
            // samples, as on a machine that others use.
            let waited = of.cpu_percent_of_work().filter(|cpu| !little(cpu)).map(|cpu| {
                format!(" (and for {} % of its CPU time: the rest it waited)", whole_percent(cpu))
            });
            let percent = whole_percent(of.time_percent);
            format!(
                "accounted for {percent} % of the time that {who} took by Palio's clock{}",
                waited.unwrap_or_default()
            )
        });
        let hidden = each.iter().find_map(|(who, of)| {
            let percent = of.cpu_percent_of_work().filter(little)?;
            Some(format!(
                "accounted for {} % of the CPU time that Palio saw {who} take",
                whole_percent(percent)
            ))
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
        let busy = self.all.cpu_seen_percent.max(self.process.cpu_seen_percent) / 100.0;
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
    use crate::record::{Dropped, Outcome, Resources, SpanRecord};

    #[test]
    fn samples_may_exceed_the_span_by_what_clocks_differ_and_no_more() {
        assert_eq!(most_ns(1, 0), 1_000);
        assert_eq!(most_ns(10, 1_000_000_000), 1_000_000_000 + 1_000_000 + 10_000);
        assert_eq!(most_ns(u32::MAX, u64::MAX), u64::MAX);
    }

    /// Three samples of 200 µs in a command of 800 µs, after a warm-up of 1 s that claims all of
    /// its time. `dropped` stands for those that are not stored.
    fn process(dropped: Option<Dropped>) -> InvocationRecord {
        let span = |warm_up, samples, wall_ns| SpanRecord {
            warm_up,
            samples,
            wall_ns,
            cpu_ns: Some(wall_ns),
            line_ns: None,
        };
        let sample = |warm_up, elapsed_ns| SampleRecord {
            warm_up,
            batch: 1,
            elapsed_ns,
            ops: 1,
            answer: None,
            work: None,
            user_us: Some(elapsed_ns / 1_000),
            sys_us: Some(0),
            distribution: None,
            load: None,
        };
        let stored = 3 - dropped.map_or(0, |dropped| dropped.samples);
        let samples = (0..stored).map(|_| sample(false, 200_000));
        InvocationRecord {
            block: Some(0),
            position: 0,
            started_at: String::new(),
            salt: None,
            outcome: Outcome::Ok,
            detail: None,
            disturbed: false,
            resources: Resources::default(),
            throttled: None,
            spans: vec![span(true, 1, 1_000_000_000), span(false, 3, 800_000)],
            dropped,
            samples: [sample(true, 1_000_000_000)].into_iter().chain(samples).collect(),
        }
    }

    #[test]
    fn measured_samples_account_for_the_time_of_their_commands_those_dropped_too() {
        let dropped = Dropped {
            warm_ups: 0,
            samples: 2,
            iterations: 2,
            elapsed_ns: 400_000,
            user_us: Some(300),
            sys_us: Some(100),
            uncounted: 0,
        };
        for dropped in [None, Some(dropped)] {
            let shares = Sums::of(&process(dropped)).shares();
            let seen = (shares.time_percent, shares.cpu_percent, shares.cpu_seen_percent);
            assert_eq!(seen, (75.0, Some(75.0), 100.0), "{dropped:?}");
        }
    }

    /// Of processes that are all the same.
    fn alike(all: Shares, typical_percent: Option<f64>) -> Accounted {
        Accounted { all, process: all, typical_percent }
    }

    #[test]
    fn a_long_process_does_not_outweigh_the_typical_one() {
        let one = |time_percent, cpu_percent, cpu_seen_percent| Shares {
            time_percent,
            cpu_percent: Some(cpu_percent),
            cpu_seen_percent,
        };
        // Two of five sleep for long and claim all of it, so that their sums are those of all.
        let (short, long) = (one(5.0, 4.0, 190.0), one(100.0, 100.0, 1.0));
        let process = Shares::typical(&[long, short, short, long, short]).unwrap();
        assert_eq!(process, short);
        let cheat = Accounted { all: long, process, typical_percent: Some(5.0) };
        assert_eq!(
            cheat.doubts(),
            [
                "accounted for 5 % of the time that its typical process took by Palio's clock",
                "accounted for 4 % of the CPU time that Palio saw its typical process take"
            ]
        );
        assert!(cheat.crowd(1).unwrap().starts_with("kept 1.9 processors busy"));
        assert_eq!(Shares::typical(&[]), None);
    }

    #[test]
    fn a_crowd_is_more_than_the_threads_and_a_little() {
        let busy = |cpu_seen_percent| {
            let shares = Shares { time_percent: 100.0, cpu_percent: None, cpu_seen_percent };
            alike(shares, None)
        };
        assert_eq!(busy(124.0).crowd(1), None);
        assert_eq!(busy(190.0).crowd(2), None);
        assert_eq!(busy(187.0).crowd(1).unwrap(), "kept 1.9 processors busy with 1 thread");
        assert!(busy(240.0).crowd(2).unwrap().ends_with("with 2 threads"));
    }

    #[test]
    fn the_doubt_starts_below_half() {
        let doubts = |time_percent, cpu_percent, cpu_seen_percent| {
            alike(Shares { time_percent, cpu_percent, cpu_seen_percent }, None).doubts()
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
            alike(Shares { time_percent, cpu_percent, cpu_seen_percent }, typical_percent).doubts()
        };
        assert!(shifted(99.0, Some(50.0)).is_empty());
        assert!(shifted(99.0, Some(10.0))[0].contains("typical sample 10 %"));
        assert_eq!(shifted(20.0, Some(10.0)).len(), 1, "one lie is told once");
        let waited = doubts(27.0, Some(98.0), 100.0);
        assert!(waited[0].ends_with("(and for 98 % of its CPU time: the rest it waited)"));
    }
}
