//! How long a run still takes.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::{InvocationRecord, Outcome, RunRecord};

/// How long the rest will take, from what the past took.
pub(super) struct Estimate {
    invocations: u64,
    total: Duration,
    budget: Duration,
}

impl Estimate {
    pub(super) fn new(run: &RunRecord) -> Self {
        Self {
            invocations: 0,
            total: Duration::ZERO,
            budget: Duration::from_millis(
                run.header.limits.budget_ms + run.header.limits.warm_up_ms,
            ),
        }
    }

    pub(super) fn learn(&mut self, invocation: &InvocationRecord) {
        if invocation.block.is_some() && invocation.outcome == Outcome::Ok {
            self.invocations += 1;
            self.total += Duration::from_micros(invocation.resources.wall_us);
        }
    }

    /// Invocations done, all invocations, and the time that the others will take. A cell that has
    /// raced takes as long as it took; one that has not, as long as the average so far, or its
    /// budget and a little.
    pub(super) fn remaining(&self, run: &RunRecord) -> (u64, u64, Duration) {
        let average = match u32::try_from(self.invocations) {
            Ok(count) if count > 0 => self.total / count,
            _ => self.budget + self.budget / 4 + Duration::from_millis(20),
        };
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
                    None => average,
                };
                rest += each * u32::try_from(to_do).unwrap_or(u32::MAX);
            } else {
                all += count;
            }
        }
        (done, all, rest)
    }
}
