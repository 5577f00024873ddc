//! The blocks of a race as they are stored: what the machine did in each, and which of them count.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CellRecord, Outcome, RaceRecord};
use crate::stats::NoiseFloor;

/// A block of a race as the machine tells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockRecord {
    pub block: u32,
    /// What others took of the machine's CPU time, as a fraction; `None` where it is not told.
    pub outside: Option<f64>,
    /// Of that, what the hypervisor took for other guests.
    pub steal: Option<f64>,
    /// Another block was raced in its place, and its samples enter no result: others disturbed it,
    /// or the run was interrupted in it.
    pub repeated: bool,
    /// The run was interrupted before all had raced in it. Then it is always repeated, by all: a
    /// process that was interrupted would otherwise be the one of its block that has two tries.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

impl RaceRecord {
    /// The noise floor of the reference that the first `blocks` blocks show; `None` if it or its
    /// shadow takes no part any more.
    pub fn floor_after(&self, blocks: u32) -> Option<NoiseFloor> {
        let races = |cell: &&CellRecord| matches!(cell.outcome, Outcome::Ok | Outcome::Pending);
        let is_reference = |cell: &&CellRecord| Some(&cell.contender) == self.reference.as_ref();
        let mut shadows = self.cells.iter().filter(races).filter(|cell| cell.shadow);
        let shadow = shadows.find(is_reference)?;
        let twin = self.cells.iter().filter(races).find(|cell| {
            !cell.shadow && cell.contender == shadow.contender && cell.variant == shadow.variant
        })?;
        let times = |cell: &CellRecord| cell.block_times(self.statistic, blocks);
        Some(NoiseFloor::measure(&times(twin)?, &times(shadow)?))
    }

    /// Blocks that were raced in the place of none.
    pub fn undisturbed(&self, blocks: u32) -> u32 {
        let repeated = self.blocks.iter().filter(|b| b.repeated && b.block < blocks).count();
        blocks.saturating_sub(u32::try_from(repeated).unwrap_or(u32::MAX))
    }

    /// The block that had begun when the run was interrupted, if there is one in which somebody
    /// would have to race yet.
    pub fn cut_block(&self) -> Option<u32> {
        // An older Palio noted none.
        let stored = self.cells.iter().flat_map(|cell| &cell.invocations);
        let last = self.begun.max(stored.filter_map(|one| one.block).max())?;
        let has_raced = |cell: &CellRecord| {
            let mut here = cell.invocations.iter().filter(|i| i.block == Some(last));
            here.any(|invocation| invocation.outcome == Outcome::Ok)
        };
        let races = |cell: &&CellRecord| cell.outcome == Outcome::Pending;
        let is_cut = self.cells.iter().filter(races).any(|cell| !has_raced(cell));
        let is_new = !self.blocks.iter().any(|block| block.block == last);
        (is_cut && is_new).then_some(last)
    }

    /// The blocks so far in which everybody has raced who has not failed, without those that are
    /// repeated.
    pub fn whole_blocks(&self) -> Vec<u32> {
        let races = |cell: &&CellRecord| matches!(cell.outcome, Outcome::Ok | Outcome::Pending);
        let blocks_of = |cell: &CellRecord| -> BTreeSet<u32> {
            cell.raced().filter_map(|invocation| invocation.block).collect()
        };
        let each = self.cells.iter().filter(races).map(blocks_of);
        let all = each.reduce(|all, one| all.intersection(&one).copied().collect());
        all.unwrap_or_default().into_iter().collect()
    }

    /// Whether the run was interrupted in a block.
    pub fn is_cut(&self, block: u32) -> bool {
        self.blocks.iter().any(|known| known.block == block && known.interrupted)
    }

    /// Marks the invocations of blocks that were repeated.
    pub fn mark_disturbed(&mut self) {
        let repeated: Vec<u32> =
            self.blocks.iter().filter(|block| block.repeated).map(|block| block.block).collect();
        for invocation in self.cells.iter_mut().flat_map(|cell| &mut cell.invocations) {
            invocation.disturbed = invocation.block.is_some_and(|block| repeated.contains(&block));
        }
    }
}
