//! The race loop: what a race needs is built, then pilots, then block after block; every invocation
//! is stored before the next one starts, and nothing is built while anything is raced.

mod blocks;
mod estimate;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};

use crate::contender::Kind;
use crate::plan::{self, block_order};
use crate::record::{
    CellRecord, ContenderRecord, InvocationRecord, Outcome, RaceRecord, RunRecord,
};
use crate::runner::{forks, inheritance, invocation, schedule, warden};
use crate::store::{Lease, Store};
use estimate::Estimate;

/// Where contenders come from: builds them, and asks them who they are.
pub trait Stable {
    /// What became of a contender, and how long its build took; `None` if the user interrupted. One
    /// of those that are needed `next` may be built beside it, and no build is under way any more
    /// when this returns.
    ///
    /// # Errors
    /// It cannot be raced as the user asked for it.
    fn ready(
        &mut self,
        contender: &ContenderRecord,
        next: &[&ContenderRecord],
    ) -> Result<Option<(ContenderRecord, Duration)>>;
    /// How the program of a contender differs from the one that was asked, if it does: the end of a
    /// sentence about it.
    fn changed(&mut self, contender: &str) -> Option<String>;
    /// About how long it takes to build a contender, beside others.
    fn cost(&self, contender: &str) -> u32;
}

/// The events that the loop reports to its watcher.
pub trait Progress {
    /// The order of work: races of the run.
    fn planned(&mut self, run: &RunRecord, order: &[usize]);
    /// A contender is about to be built, unless it is up to date: the first, second ... of so many.
    fn readying(&mut self, contender: &ContenderRecord, number: (usize, usize));
    /// A contender is ready to race, or `absent`, after so long.
    fn readied(&mut self, contender: &ContenderRecord, took: Duration);
    /// A pilot came through; a race may have to wait for other contenders yet.
    fn piloted(&mut self, race: &RaceRecord, cell: &CellRecord);
    /// An invocation is about to start.
    fn starting(&mut self, step: &Step<'_>);
    /// A contender failed and takes no further part in this race.
    fn failed(&mut self, race: &RaceRecord, cell: &CellRecord);
    /// A race was interrupted in so many blocks in a row that none of them came to its end.
    fn stuck(&mut self, race: &RaceRecord, blocks: u32);
    /// Something that concerns all that is raced from now on, and is among the run's warnings.
    fn warned(&mut self, warning: &str);
    /// A race is over, the first, second ... of so many.
    fn ended(&mut self, run: &RunRecord, race: usize, number: (usize, usize));
}

/// Where the run stands.
#[derive(Debug)]
pub struct Step<'a> {
    pub race: &'a RaceRecord,
    pub cell: &'a CellRecord,
    /// From 1, of how many.
    pub race_number: (usize, usize),
    /// `None` in the pilot; otherwise from 1, of how many.
    pub block: Option<(u32, u32)>,
    /// Invocations done, and how many there will be if no other contender fails.
    pub done: (u64, u64),
    /// `None` as long as nobody has come through.
    pub remaining: Option<Duration>,
}

/// How the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Finished,
    /// The user stopped it; what was done is stored and the rest can be resumed.
    Interrupted,
}

/// Now, in RFC 3339.
pub fn timestamp() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// What a run is raced with.
#[expect(missing_debug_implementations, reason = "a bundle of borrows, taken apart at once")]
pub struct Course<'a> {
    pub store: &'a mut Store,
    pub lease: &'a mut Lease,
    pub stable: &'a mut dyn Stable,
    pub progress: &'a mut dyn Progress,
    pub interrupted: &'a AtomicBool,
}

/// Races whatever of `run` has not been raced yet, and puts it into the store before its first
/// invocation, unless it `is_stored`.
///
/// # Errors
/// The store or the lease cannot be written, or a contender cannot be raced as the user asked for
/// it. What was stored before stays.
pub fn race(run: &mut RunRecord, is_stored: &mut bool, course: Course<'_>) -> Result<End> {
    let Course { store, lease, stable, progress, interrupted } = course;
    let mut clock = Estimate::new(run);
    let mut last = None;
    let order = plan::work_order(&run.races, |contender| stable.cost(contender));
    progress.planned(run, &order);
    let races = order.len();
    for (place, index) in (1..).zip(order) {
        let number = (place, races);
        let (clock, last) = (&mut clock, &mut last);
        let mut race = RaceLoop {
            run,
            is_stored,
            index,
            number,
            store,
            lease,
            stable,
            interrupted,
            progress,
            clock,
            last,
        };
        if race.run()? == End::Interrupted {
            return Ok(End::Interrupted);
        }
    }
    Ok(End::Finished)
}

struct RaceLoop<'a> {
    run: &'a mut RunRecord,
    is_stored: &'a mut bool,
    index: usize,
    number: (usize, usize),
    store: &'a mut Store,
    stable: &'a mut dyn Stable,
    lease: &'a mut Lease,
    interrupted: &'a AtomicBool,
    progress: &'a mut dyn Progress,
    clock: &'a mut Estimate,
    /// Of whom the last process was, in this race or the one before.
    last: &'a mut Option<String>,
}

impl RaceLoop<'_> {
    fn run(&mut self) -> Result<End> {
        let cells = &self.run.races[self.index].cells;
        if cells.iter().all(|cell| cell.outcome != Outcome::Pending) {
            return Ok(End::Finished);
        }
        if self.pilots()? == End::Interrupted {
            return Ok(End::Interrupted);
        }
        // Nobody was there, here or before: nothing was measured, so that nothing is kept.
        if !*self.is_stored {
            return Ok(End::Finished);
        }
        self.take_out_the_too_slow()?;
        for cell in 0..self.run.races[self.index].cells.len() {
            if self.count_forks(cell)? == End::Interrupted {
                return Ok(End::Interrupted);
            }
        }
        self.agree()?;
        if self.blocks()? == End::Interrupted {
            return Ok(End::Interrupted);
        }
        let cells = &self.run.races[self.index].cells;
        if cells.iter().any(|cell| !cell.invocations.is_empty()) {
            self.progress.ended(self.run, self.index, self.number);
        }
        Ok(End::Finished)
    }

    /// Gets those ready that the race needs, those first that are built soonest, and runs the pilot
    /// of each as soon as it is, if there are pilots.
    fn pilots(&mut self) -> Result<End> {
        let needs: Vec<&str> = self.run.races[self.index].needs().collect();
        let is_needed = |at: &usize| needs.contains(&self.run.contenders[*at].id.as_str());
        let mut order: Vec<usize> = (0..self.run.contenders.len()).filter(is_needed).collect();
        order.sort_by_key(|&at| self.stable.cost(&self.run.contenders[at].id));
        for (place, &at) in order.iter().enumerate() {
            // Until a first time is seen, nothing slows its build down.
            let next = if *self.is_stored { &order[place + 1..] } else { &[] };
            if self.ready(at, next)? == End::Interrupted || self.pilots_of(at)? == End::Interrupted
            {
                return Ok(End::Interrupted);
            }
        }
        Ok(End::Finished)
    }

    fn ready(&mut self, at: usize, next: &[usize]) -> Result<End> {
        let known = &self.run.contenders[at];
        if known.is_asked() {
            return Ok(End::Finished);
        }
        let asked = self.run.contenders.iter().filter(|known| known.is_asked()).count();
        self.progress.readying(known, (asked + 1, self.run.contenders.len()));
        let next: Vec<&ContenderRecord> = next
            .iter()
            .map(|&at| &self.run.contenders[at])
            .filter(|next| !next.is_asked())
            .collect();
        let Some((record, took)) = self.stable.ready(known, &next)? else {
            return Ok(End::Interrupted);
        };
        self.progress.readied(&record, took);
        let mut changed = Vec::new();
        if let Some(reason) = &record.absent {
            for (race, other) in self.run.races.iter_mut().enumerate() {
                let cells = plan::withdraw(other, &record.id, reason);
                changed.extend(cells.into_iter().map(|cell| (race, cell)));
            }
        }
        self.run.contenders[at] = record;
        if *self.is_stored {
            self.store.update_contenders(self.run, &changed)?;
        }
        Ok(End::Finished)
    }

    fn pilots_of(&mut self, contender: usize) -> Result<End> {
        for cell in 0..self.run.races[self.index].cells.len() {
            let record = &self.run.races[self.index].cells[cell];
            let is_done = record.schedule.is_some() || schedule::pace_ns(record).is_some();
            let is_other = record.contender != self.run.contenders[contender].id;
            if is_other || record.shadow || record.outcome != Outcome::Pending || is_done {
                continue;
            }
            if !*self.is_stored {
                self.store.insert(self.run)?;
                *self.is_stored = true;
            }
            if self.run.header.limits.samples.is_some() {
                continue;
            }
            if self.is_replaced(cell, (None, 0))? {
                continue;
            }
            let (limits, interrupted) = (self.run.header.limits, self.interrupted);
            let piloted = self.process(cell, None, |race, cell, salt, started| {
                invocation::pilot(race, cell, salt, &limits, interrupted, started)
            })?;
            let Some((salt, result)) = piloted else { return Ok(End::Interrupted) };
            if self.keep(cell, salt, (None, 0), result)? == End::Interrupted {
                return Ok(End::Interrupted);
            }
            let race = &self.run.races[self.index];
            if race.cells[cell].outcome == Outcome::Pending {
                self.progress.piloted(race, &race.cells[cell]);
            }
        }
        Ok(End::Finished)
    }

    /// Takes out whoever could end no invocation of a block in time, before the first block: it
    /// would be killed there, and until then be the reason for which everybody is asked for fewer
    /// samples. Its stored pilot decides, so that a resumed run decides alike.
    fn take_out_the_too_slow(&mut self) -> Result<()> {
        for cell in 0..self.run.races[self.index].cells.len() {
            let race = &mut self.run.races[self.index];
            let Some(reason) = schedule::too_slow(race, cell, &self.run.header.limits) else {
                continue;
            };
            let record = &mut race.cells[cell];
            record.outcome = Outcome::TimedOut;
            record.detail = Some(reason);
            self.store.update_cell(&self.run.header.id, (self.index, cell), record)?;
            let race = &self.run.races[self.index];
            self.progress.failed(race, &race.cells[cell]);
        }
        Ok(())
    }

    /// Asks a cell whose pilot came through for the forks that it hands to its runtime, once.
    fn count_forks(&mut self, cell: usize) -> Result<End> {
        let race = &self.run.races[self.index];
        let record = &race.cells[cell];
        let is_asked = record.outcome == Outcome::Pending
            && !record.shadow
            && record.schedule.is_none()
            && record.forks.is_none()
            && self.run.contender(&record.contender).is_none_or(|c| c.kind != Kind::Baseline);
        let Some(demand) = race.forks().filter(|_| is_asked) else { return Ok(End::Finished) };
        if self.is_replaced(cell, (None, 0))? {
            return Ok(End::Finished);
        }
        let (limits, interrupted) = (self.run.header.limits, self.interrupted);
        let counted = self.process(cell, None, |race, cell, salt, started| {
            forks::count(race, cell, (demand, salt), &limits, interrupted, started)
        })?;
        let Some((salt, counted)) = counted else { return Ok(End::Interrupted) };
        let record = &mut self.run.races[self.index].cells[cell];
        record.forks = counted.forks;
        match counted.failed {
            // Together with its forks, or a run that goes on would not ask again.
            Some(failed) => self.keep(cell, salt, (None, 0), *failed),
            None => {
                self.store.update_cell(&self.run.header.id, (self.index, cell), record)?;
                Ok(End::Finished)
            }
        }
    }

    /// Starts a process of a cell, in a block (from 0, of so many) or before all blocks, and has
    /// `ask` speak with it; returns its salt and what came of it, or `None` if the user
    /// interrupted before.
    fn process<T>(
        &mut self,
        cell: usize,
        block: Option<(u32, u32)>,
        ask: impl FnOnce(&RaceRecord, &CellRecord, u64, &mut dyn FnMut(u32)) -> T,
    ) -> Result<Option<(u64, T)>> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.refuse_changed_inheritance()?;
        self.tell_unended()?;
        self.announce(cell, block.map(|(block, of)| (block + 1, of)));
        let race = &self.run.races[self.index];
        *self.last = Some(race.cells[cell].contender.clone());
        let salt = self.salt(cell, block.map(|(block, _)| block));
        let mut lease_error = None;
        let lease = &mut *self.lease;
        let result = ask(race, &race.cells[cell], salt, &mut |id| {
            lease_error = lease.note_child(id).err();
        });
        match lease_error {
            Some(error) => Err(error),
            None => Ok(Some((salt, result))),
        }
    }

    /// Starts nobody any more who would inherit what a contender has done to Palio. Often it cannot
    /// be undone: a priority that was lowered stays low. And nobody knows who did it, so that it is
    /// no contender's outcome.
    fn refuse_changed_inheritance(&self) -> Result<()> {
        let Some(what) = inheritance::changed() else { return Ok(()) };
        let when = match self.last.as_ref() {
            Some(last) => format!("while or after {last} was raced"),
            None => "while contenders were built and asked who they are".to_owned(),
        };
        bail!(
            "somebody changed what all contenders inherit from Palio, {when}: {what}. Who is raced \
             now would be raced otherwise than those before. {}",
            inheritance::ADVICE
        )
    }

    /// What could not be ended lives on beside whoever is raced from now on.
    fn tell_unended(&mut self) -> Result<()> {
        let Some(warning) = warden::take_unended() else { return Ok(()) };
        self.progress.warned(&warning);
        self.run.header.warnings.push(warning);
        if *self.is_stored { self.store.update_header(&self.run.header) } else { Ok(()) }
    }

    /// Whether the program of a cell is no longer the one that was asked who it is. It is then not
    /// started, and out of the race.
    fn is_replaced(&mut self, cell: usize, at: (Option<u32>, u32)) -> Result<bool> {
        let Some(reason) = self.stable.changed(&self.run.races[self.index].cells[cell].contender)
        else {
            return Ok(false);
        };
        let salt = self.salt(cell, at.0);
        let result = invocation::Finished::without_a_start(Outcome::Crashed, reason);
        self.keep(cell, salt, at, result)?;
        Ok(true)
    }

    /// Of the next process of a cell: another one than that of a process that was interrupted.
    fn salt(&self, cell: usize, block: Option<u32>) -> u64 {
        let before = &self.run.races[self.index].cells[cell].invocations;
        let attempt = before.iter().filter(|invocation| invocation.block == block).count();
        plan::salt(self.run.header.seed, self.index, cell, block, attempt)
    }

    /// Gives all cells of the race their common schedule. It follows from the stored pilots, so
    /// that a resumed run comes to the same.
    fn agree(&mut self) -> Result<()> {
        for cell in 0..self.run.races[self.index].cells.len() {
            if self.run.races[self.index].cells[cell].shadow {
                self.copy_to_shadow(cell)?;
            }
        }
        let schedule = schedule::of_race(&self.run.races[self.index], &self.run.header.limits);
        for cell in 0..self.run.races[self.index].cells.len() {
            let record = &mut self.run.races[self.index].cells[cell];
            if record.outcome == Outcome::Pending && record.schedule.is_none() {
                record.schedule = schedule;
                self.store.update_cell(&self.run.header.id, (self.index, cell), record)?;
            }
        }
        Ok(())
    }

    /// The shadow cannot race if its twin failed.
    fn copy_to_shadow(&mut self, shadow: usize) -> Result<()> {
        let cells = &mut self.run.races[self.index].cells;
        let twin = cells.iter().find(|cell| {
            !cell.shadow
                && cell.contender == cells[shadow].contender
                && cell.variant == cells[shadow].variant
        });
        let Some(twin) = twin.filter(|twin| twin.schedule.is_none()).cloned() else {
            return Ok(());
        };
        let record = &mut cells[shadow];
        record.outcome = twin.outcome;
        record.detail = twin.detail;
        self.store.update_cell(&self.run.header.id, (self.index, shadow), record)
    }

    fn blocks(&mut self) -> Result<End> {
        let (seed, planned) = (self.run.header.seed, self.run.header.blocks);
        let cells = self.run.races[self.index].cells.len();
        self.give_up_cut_block()?;
        let mut block = 0;
        while self.needs_block(block) {
            if self.run.races[self.index].is_cut(block) {
                block += 1;
                continue;
            }
            if self.interrupted.load(Ordering::Relaxed) {
                return Ok(End::Interrupted);
            }
            self.begin(block)?;
            let blocks = planned.max(block + 1);
            let watch = self.watch(block);
            // A repeated block has the order of the one that it stands for, so that the mirror
            // stays whole.
            let place = self.run.races[self.index].undisturbed(block);
            for (position, cell) in (0_u32..).zip(block_order(seed, self.index, place, cells)) {
                let record = &self.run.races[self.index].cells[cell];
                let raced = record
                    .invocations
                    .iter()
                    .any(|i| i.block == Some(block) && i.outcome == Outcome::Ok);
                let Some(schedule) =
                    record.schedule.filter(|_| record.outcome == Outcome::Pending && !raced)
                else {
                    continue;
                };
                if self.is_replaced(cell, (Some(block), position))? {
                    continue;
                }
                let (limits, interrupted) = (self.run.header.limits, self.interrupted);
                let measured =
                    self.process(cell, Some((block, blocks)), |race, cell, salt, started| {
                        invocation::measure(
                            race,
                            cell,
                            salt,
                            schedule,
                            &limits,
                            interrupted,
                            started,
                        )
                    })?;
                let Some((salt, result)) = measured else { return Ok(End::Interrupted) };
                if self.keep(cell, salt, (Some(block), position), result)? == End::Interrupted {
                    return Ok(End::Interrupted);
                }
            }
            self.judge(block, watch)?;
            block += 1;
        }
        for cell in 0..cells {
            let record = &mut self.run.races[self.index].cells[cell];
            if record.outcome == Outcome::Pending {
                record.outcome = Outcome::Ok;
                self.store.update_cell(&self.run.header.id, (self.index, cell), record)?;
            }
        }
        let race = &mut self.run.races[self.index];
        race.begun = None;
        self.store.update_race(&self.run.header.id, self.index, race)?;
        Ok(End::Finished)
    }

    /// Stores an invocation, and takes a contender that failed out of the race.
    fn keep(
        &mut self,
        cell: usize,
        salt: u64,
        (block, position): (Option<u32>, u32),
        mut result: invocation::Finished,
    ) -> Result<End> {
        // Between the look at its program and its start, or while it ran.
        if result.outcome == Outcome::Ok {
            let contender = &self.run.races[self.index].cells[cell].contender;
            if let Some(reason) = self.stable.changed(contender) {
                (result.outcome, result.detail) = (Outcome::Crashed, Some(reason));
            }
        }
        // What has raced is supported: who refuses later does not get off so lightly.
        // Only Palio itself finds later that it cannot hold somebody to a budget.
        let before = &self.run.races[self.index].cells[cell].invocations;
        let raced = before.iter().filter(|one| one.outcome == Outcome::Ok).count();
        if result.outcome == Outcome::Unsupported && raced > 0 && !result.lost_budget {
            let processes = if raced == 1 { "process" } else { "processes" };
            let why = result.detail.unwrap_or_default();
            result.outcome = Outcome::Crashed;
            result.detail = Some(format!("it refused after {raced} {processes} that raced: {why}"));
        }
        let invocation = InvocationRecord {
            block,
            position,
            started_at: timestamp(),
            salt: Some(salt),
            outcome: result.outcome,
            detail: result.detail.clone(),
            disturbed: false,
            resources: result.resources,
            throttled: result.throttled,
            spans: result.spans,
            dropped: None,
            samples: result.samples,
        };
        self.clock.learn(&invocation);
        let record = &mut self.run.races[self.index].cells[cell];
        let interrupted = result.outcome == Outcome::Pending;
        let failed = !interrupted && result.outcome != Outcome::Ok;
        if failed {
            record.outcome = result.outcome;
            record.detail = result.detail;
            record.stderr = result.stderr;
        }
        self.store.add_invocation(&self.run.header.id, (self.index, cell), record, &invocation)?;
        record.invocations.push(invocation);
        if failed {
            self.fail_twin(cell)?;
            let race = &self.run.races[self.index];
            self.progress.failed(race, &race.cells[cell]);
        }
        Ok(if interrupted { End::Interrupted } else { End::Finished })
    }

    /// A contender that fails as its own shadow has failed, and where it fails itself its shadow
    /// has nothing to be compared to: it is the same program doing the same work.
    fn fail_twin(&mut self, of: usize) -> Result<()> {
        let cells = &mut self.run.races[self.index].cells;
        let failed = cells[of].clone();
        let twin = cells.iter_mut().enumerate().find(|(_, cell)| {
            cell.shadow != failed.shadow
                && cell.contender == failed.contender
                && cell.variant == failed.variant
        });
        let Some((index, twin)) = twin.filter(|(_, twin)| twin.outcome == Outcome::Pending) else {
            return Ok(());
        };
        let who = if failed.shadow { "as its own shadow" } else { "as itself" };
        twin.outcome = failed.outcome;
        twin.detail = failed.detail.map(|detail| format!("{who}: {detail}"));
        twin.stderr = failed.stderr;
        self.store.update_cell(&self.run.header.id, (self.index, index), twin)
    }

    fn announce(&mut self, cell: usize, block: Option<(u32, u32)>) {
        let (done, all, remaining) = self.clock.remaining(self.run);
        let race = &self.run.races[self.index];
        self.progress.starting(&Step {
            race,
            cell: &race.cells[cell],
            race_number: self.number,
            block,
            done: (done, all),
            remaining,
        });
    }
}
