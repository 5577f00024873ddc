//! How long a run still takes.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::{InvocationRecord, Outcome, RunRecord};

/// How long the rest will take, from what the past took.
pub(super) struct Estimate {
    pilots: Learnt,
    blocks: Learnt,
    budget: Duration,
}

#[derive(Default)]
struct Learnt {
    count: u32,
    total: Duration,
}

impl Learnt {
    fn average(&self) -> Option<Duration> {
        self.total.checked_div(self.count)
    }
}

impl Estimate {
    pub(super) fn new(run: &RunRecord) -> Self {
        Self {
            pilots: Learnt::default(),
            blocks: Learnt::default(),
            budget: Duration::from_millis(
                run.header.limits.budget_ms + run.header.limits.warm_up_ms,
            ),
        }
    }

    pub(super) fn learn(&mut self, invocation: &InvocationRecord) {
        if invocation.outcome == Outcome::Ok {
            let learnt =
                if invocation.block.is_some() { &mut self.blocks } else { &mut self.pilots };
            learnt.count += 1;
            learnt.total += Duration::from_micros(invocation.resources.wall_us);
        }
    }

    /// Invocations done, all invocations of blocks, and the time that what is left will take, if
    /// anything is known of that. A cell that has raced takes as long as it took; one that has not,
    /// as long as the average so far, or its budget and a little; and no less than its pilot, which
    /// is as long where an iteration takes minutes.
    pub(super) fn remaining(&self, run: &RunRecord) -> (u64, u64, Option<Duration>) {
        let usual = self.budget + self.budget / 4 + Duration::from_millis(20);
        let pilot = self.pilots.average();
        let average = self.blocks.average().unwrap_or(usual);
        let (mut done, mut all, mut rest) = (0_u64, 0_u64, Duration::ZERO);
        for cell in run.races.iter().flat_map(|race| &race.cells) {
            let raced: BTreeMap<u32, u64> = cell
                .invocations
                .iter()
                .filter(|invocation| invocation.outcome == Outcome::Ok)
                .filter_map(|invocation| Some((invocation.block?, invocation.resources.wall_us)))
                .collect();
            let count = raced.len() as u64;
            let counts = cell.raced().count() as u64;
            done += count;
            if cell.outcome == Outcome::Pending {
                let to_do = u64::from(run.header.blocks).saturating_sub(counts);
                all += count + to_do;
                let each = match raced.values().sum::<u64>().checked_div(count) {
                    Some(wall_us) => Duration::from_micros(wall_us),
                    None => {
                        let own = cell.invocations.iter().find(|i| i.block.is_none());
                        let own = own.map(|pilot| Duration::from_micros(pilot.resources.wall_us));
                        average.max(own.or(pilot).unwrap_or_default())
                    }
                };
                rest += each * u32::try_from(to_do).unwrap_or(u32::MAX);
                // A shadow has none.
                let has_pilot = run.header.limits.samples.is_none() && !cell.shadow;
                if cell.invocations.is_empty() && has_pilot && cell.schedule.is_none() {
                    rest += pilot.unwrap_or_default();
                }
            } else {
                all += count;
            }
        }
        let is_known = self.pilots.count > 0 || self.blocks.count > 0;
        (done, all, is_known.then_some(rest))
    }
}
