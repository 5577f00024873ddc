//! The blocks of a race: when one begins, whether it counts, and whether another one follows.

use std::time::Instant;

use anyhow::Result;

use super::RaceLoop;
use crate::disturbance::Outside;
use crate::machine::CpuClock;
use crate::record::{BlockRecord, Outcome};
use crate::runner::{children_cpu_s, own_cpu_s};

/// Who was interrupted less often in a row may have had bad luck.
const CUT_IN_A_ROW_TOLD: u32 = 3;

impl RaceLoop<'_> {
    /// Starts to watch the machine for a block that is about to begin; not for one that was begun
    /// before an interruption, of which nobody saw the whole.
    pub(super) fn watch(&self, block: u32) -> Option<Watch> {
        self.run.header.repeat?;
        let race = &self.run.races[self.index];
        let mut invocations = race.cells.iter().flat_map(|cell| &cell.invocations);
        let is_new = !invocations.any(|invocation| invocation.block == Some(block));
        is_new.then(Watch::start)?
    }

    /// Notes that a block begins, before anybody is started in it.
    pub(super) fn begin(&mut self, block: u32) -> Result<()> {
        let race = &mut self.run.races[self.index];
        if race.begun.is_none_or(|before| before < block) {
            race.begun = Some(block);
            self.store.update_race(&self.run.header.id, self.index, race)?;
        }
        Ok(())
    }

    /// Gives up a block that had begun when the run was interrupted: all race in another one. Else
    /// who stops the run at a process that does badly would have it tried again, alone.
    pub(super) fn give_up_cut_block(&mut self) -> Result<()> {
        let race = &mut self.run.races[self.index];
        let Some(block) = race.cut_block() else { return Ok(()) };
        let (outside, steal) = (None, None);
        race.blocks.push(BlockRecord { block, outside, steal, repeated: true, interrupted: true });
        race.mark_disturbed();
        self.store.update_race(&self.run.header.id, self.index, race)?;
        // All of them have the numbers before this one's, as the next block takes the next number.
        let before = (0..=block).rev().take_while(|&before| race.is_cut(before)).count();
        let in_a_row = u32::try_from(before).unwrap_or(u32::MAX);
        if in_a_row >= CUT_IN_A_ROW_TOLD {
            self.progress.stuck(race, in_a_row);
        }
        Ok(())
    }

    /// Judges a block by what the machine did in it, once.
    pub(super) fn judge(&mut self, block: u32, watch: Option<Watch>) -> Result<()> {
        let race = &mut self.run.races[self.index];
        let is_judged = race.blocks.iter().any(|judged| judged.block == block);
        let Some(rule) = self.run.header.repeat.filter(|_| !is_judged) else { return Ok(()) };
        race.blocks.push(rule.judge(block, watch.and_then(|watch| watch.end()), &race.blocks));
        race.mark_disturbed();
        self.store.update_race(&self.run.header.id, self.index, race)
    }

    /// Whether another block follows the first `done`. What is stored of these decides, so that a
    /// resumed run decides alike.
    pub(super) fn needs_block(&self, done: u32) -> bool {
        let header = &self.run.header;
        let race = &self.run.races[self.index];
        let (all, done) = (done, race.undisturbed(done));
        if done < header.blocks {
            return true;
        }
        let races = race.cells.iter().any(|cell| cell.outcome == Outcome::Pending);
        let Some(goal) = header.until_floor.filter(|_| races) else { return false };
        race.floor_after(all).is_some_and(|floor| goal.needs_block(header.blocks, done, &floor))
    }
}

/// The machine's CPU accounting when a block began.
pub(super) struct Watch {
    clock: CpuClock,
    own_s: f64,
    start: Instant,
}

impl Watch {
    /// `None` where the system does not tell.
    fn start() -> Option<Self> {
        let own_s = children_cpu_s() + own_cpu_s();
        Some(Self { clock: CpuClock::now()?, own_s, start: Instant::now() })
    }

    fn end(self) -> Option<Outside> {
        let used = CpuClock::now()?.since(&self.clock);
        let own_s = children_cpu_s() + own_cpu_s() - self.own_s;
        Outside::of(&used, own_s, self.start.elapsed().as_secs_f64())
    }
}
