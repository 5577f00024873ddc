//! A budget of CPU time: all processes of a contender together get no more of it than so many
//! processors have. Pure.
//!
//! A runtime with helper threads beside its workers (for I/O, for timers) is otherwise given more
//! processors than one without, under the same number of threads. `runner/cgroup/quota.rs` has the
//! kernel keep the budget; [`CpuBudget::broken_by`] looks whether it did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;

/// Of the kernel's quota. It is refilled once a period, and a contender that has used it up stands
/// still until then: with the usual 100 ms, one that wants twice its budget would run for 50 ms and
/// stand for 50 ms. Much shorter than this is finer than the clock tick (4 ms with 250 Hz) by which
/// some kernels see that a quota is used up.
pub const PERIOD_US: u64 = 10_000;
/// A sample must last for so many periods, or it would show whether it met a standstill, and not
/// what the budget costs.
pub const SAMPLE_PERIODS: u64 = 10;
/// What a quota may be overdrawn before the kernel sees it (it is paid back in the next period),
/// and what clocks may differ by, in µs.
const SLACK_US: u64 = 50_000;

words! {
    /// In which track a run races: with a CPU budget, without one, or each race in both.
    #[derive(clap::ValueEnum)]
    "CPU budget": Budgets {
        /// With a CPU budget.
        Only = "only",
        /// Each race once with it and once without.
        Both = "both",
    }
}

/// How much CPU time the processes of a contender may take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuBudget {
    /// That of so many processors.
    pub cpus: u32,
    /// In each period of this length, in µs.
    pub period_us: u64,
}

/// How often a contender had used up its budget, in the whole life of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Throttled {
    /// Periods in which it wanted to run.
    pub periods: u64,
    /// Those in which it had to stand still.
    pub throttled: u64,
    /// For how long, summed over the processors on which it stood.
    pub throttled_us: u64,
}

impl CpuBudget {
    /// That of a race on so many threads.
    #[must_use]
    pub fn of_threads(threads: u32) -> Self {
        Self { cpus: threads, period_us: PERIOD_US }
    }

    /// CPU time of each period, in µs.
    #[must_use]
    pub fn quota_us(&self) -> u64 {
        u64::from(self.cpus).saturating_mul(self.period_us)
    }

    /// The shortest sample that shows what the budget costs.
    #[must_use]
    pub fn sample_ns_min(&self) -> u64 {
        self.period_us.saturating_mul(SAMPLE_PERIODS * 1_000)
    }

    /// Why it was not kept, if processes that lived for `wall_us` took so much of it.
    ///
    /// A quota that is refilled every period allows the time that passed, and one period more on
    /// each side of it.
    #[must_use]
    pub fn broken_by(&self, cpu_us: u64, wall_us: u64) -> Option<String> {
        let periods_us = wall_us.saturating_add(2 * self.period_us);
        let most_us = u64::from(self.cpus).saturating_mul(periods_us);
        let most_us = most_us.saturating_add(most_us / 50).saturating_add(SLACK_US);
        (cpu_us > most_us).then(|| {
            format!(
                "the CPU budget was not kept: {cpu_us} µs of CPU time in {wall_us} µs, under a \
                 quota of {}",
                self.text()
            )
        })
    }

    /// `1 CPU`, `4 CPUs`.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{} CPU{}", self.cpus, if self.cpus == 1 { "" } else { "s" })
    }

    /// What gives a command that is run by hand the same budget.
    #[must_use]
    pub fn by_hand(&self) -> String {
        format!(
            "systemd-run --scope -p CPUQuota={}% -p CPUQuotaPeriodSec={}us",
            u64::from(self.cpus) * 100,
            self.period_us
        )
    }
}

impl Throttled {
    /// The share of periods with a standstill, in percent; `None` without a period.
    #[must_use]
    pub fn percent(&self) -> Option<f64> {
        (self.periods > 0).then(|| self.throttled as f64 / self.periods as f64 * 100.0)
    }

    /// Of both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            periods: self.periods.saturating_add(other.periods),
            throttled: self.throttled.saturating_add(other.throttled),
            throttled_us: self.throttled_us.saturating_add(other.throttled_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_broken_only_by_what_no_quota_allows() {
        let budget = CpuBudget::of_threads(2);
        assert_eq!((budget.quota_us(), budget.sample_ns_min()), (20_000, 100_000_000));
        // 2 CPUs for a second, and what lies at both ends of it.
        assert_eq!(budget.broken_by(2_000_000, 1_000_000), None);
        assert_eq!(budget.broken_by(2_120_000, 1_000_000), None);
        // 2 CPUs for 1.02 s, a fiftieth of that, and 50 ms.
        let most_us = 2_040_000 + 40_800 + 50_000;
        assert_eq!(budget.broken_by(most_us, 1_000_000), None);
        assert!(budget.broken_by(most_us + 1, 1_000_000).is_some());
        let reason = budget.broken_by(3_000_000, 1_000_000).unwrap();
        assert!(reason.contains("3000000 µs") && reason.contains("2 CPUs"), "{reason}");
        assert_eq!(budget.broken_by(u64::MAX, u64::MAX), None);
    }

    #[test]
    fn stored_words_never_change() {
        let words: Vec<_> = Budgets::ALL.iter().map(|word| word.name()).collect();
        assert_eq!(words, ["only", "both"]);
        let throttled = Throttled { periods: 8, throttled: 2, throttled_us: 5 };
        assert_eq!(throttled.with(throttled).percent(), Some(25.0));
        assert_eq!(Throttled::default().percent(), None);
    }
}
