//! CPU time of a contender, by what its processes tell and what its control group does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::record::Resources;
use crate::runner::warden::Grouped;

/// How many µs a control group must tell beyond what was seen of processes to be believed instead:
/// its clock goes on by ticks.
const GROUP_CPU_US_MIN: u64 = 20_000;

/// CPU time of contenders that have ended, in µs, which the kernel counts as that of no child of
/// Palio, since nobody waited for the processes that took it.
static UNWAITED_US: AtomicU64 = AtomicU64::new(0);

/// CPU time of processes that contenders have started and nobody waited for, in s; of contenders
/// that have ended, and where there are control groups.
pub(super) fn unwaited_cpu_s() -> f64 {
    Duration::from_micros(UNWAITED_US.load(Ordering::Relaxed)).as_secs_f64()
}

/// CPU time that a contender has taken, as its processes tell and as their control group does.
#[derive(Clone, Copy, Debug)]
pub struct CpuTime {
    pub(super) processes_ns: u64,
    pub(super) group_ns: Option<u64>,
}

impl CpuTime {
    /// What was taken since `before`, in ns.
    pub fn since_ns(self, before: Self) -> u64 {
        let seen_ns = self.processes_ns.saturating_sub(before.processes_ns);
        let group_ns = self.group_ns.zip(before.group_ns);
        let group_ns = group_ns.map_or(0, |(after, before)| after.saturating_sub(before));
        if group_ns > seen_ns + GROUP_CPU_US_MIN * 1_000 { group_ns } else { seen_ns }
    }
}

impl Grouped {
    /// `seen`, or the group's CPU time if that is more than any process was waited for; what it is
    /// more is noted as that of no child.
    pub(super) fn correct(&self, seen: Resources) -> Resources {
        let Some(cpu) = self.cpu else { return seen };
        let seen_us = seen.user_us.unwrap_or(0).saturating_add(seen.sys_us.unwrap_or(0));
        let group_us = cpu.user_us.saturating_add(cpu.sys_us);
        if group_us <= seen_us.saturating_add(GROUP_CPU_US_MIN) {
            return seen;
        }
        // Relaxed: a sum, which orders nothing.
        UNWAITED_US.fetch_add(group_us - seen_us, Ordering::Relaxed);
        Resources { user_us: Some(cpu.user_us), sys_us: Some(cpu.sys_us), ..seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::children_cpu_s;
    use crate::runner::warden::Cpu;

    #[test]
    fn what_nobody_waited_for_is_none_of_others() {
        let seen =
            || Resources { user_us: Some(4_000_000), sys_us: Some(0), ..Resources::default() };
        let cpu = |user_us| Some(Cpu { user_us, sys_us: 1_000_000 });
        // Other tests have children too, which do not take so long.
        let before_s = children_cpu_s();
        let grouped = Grouped { cpu: cpu(8_000_000_000), ..Grouped::default() };
        assert_eq!(grouped.correct(seen()).user_us, Some(8_000_000_000));
        let took_s = children_cpu_s() - before_s;
        assert!((7_997.0..7_999.0).contains(&took_s), "{took_s}");
        // The clock of a group is coarser than that of processes.
        let grouped = Grouped { cpu: cpu(3_010_000), ..Grouped::default() };
        assert_eq!(grouped.correct(seen()).user_us, Some(4_000_000));
        assert!(children_cpu_s() - before_s < 7_999.0);
    }
}
