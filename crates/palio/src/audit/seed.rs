//! The rules for what follows from the seed of a run: the salt of each process, and its place in
//! the order of its block.
//!
//! Whoever leaves out a race, a contender or a block that he does not like moves those behind it
//! forward, and their salts are then others than the seed gives. Whoever says another seed has all
//! of them against him.

use std::collections::BTreeMap;

use super::{Checked, check};
use crate::plan;
use crate::record::{Header, InvocationRecord, Outcome, RaceRecord};

/// What the seed says of the invocations of one cell.
#[derive(Debug)]
pub(super) struct OfCell<'a> {
    header: &'a Header,
    race: &'a RaceRecord,
    /// In the race.
    cells: usize,
    /// That of the race in the run, and that of the cell in the race.
    numbers: (usize, usize),
    /// How many processes each block had so far, or the pilot.
    started: BTreeMap<Option<u32>, usize>,
}

impl<'a> OfCell<'a> {
    pub(super) fn new(
        header: &'a Header,
        (race, cells): (&'a RaceRecord, usize),
        numbers: (usize, usize),
    ) -> Self {
        Self { header, race, cells, numbers, started: BTreeMap::new() }
    }

    /// Goes on with an invocation. One without a salt is of a Palio that gave none, about which
    /// nothing follows.
    pub(super) fn take(&mut self, invocation: &InvocationRecord) -> Checked {
        let block = invocation.block;
        let attempt = self.started.entry(block).or_default();
        let (seed, (race, cell)) = (self.header.seed, self.numbers);
        let due = plan::salt(seed, race, cell, block, *attempt);
        *attempt += 1;
        let Some(salt) = invocation.salt else { return Ok(()) };
        check(salt == due, "salt", || {
            format!(
                "{salt}, and the run's seed {seed} gives {due} to this process of this cell of this race: another \
                 seed is meant, or something was taken out"
            )
        })?;
        let Some(block) = block else { return Ok(()) };
        // As the runner does: a repeated block has the order of the one that it stands for.
        let place = self.race.undisturbed(block);
        let order = plan::block_order(seed, race, place, self.cells);
        let due = order.iter().position(|other| *other == cell);
        check(due == Some(invocation.position as usize), "position", || {
            format!(
                "{}, and the run's seed {seed} starts this cell as number {} of the block",
                invocation.position,
                due.unwrap_or_default()
            )
        })
    }
}

/// Whether the processes of a run have what a Palio gives them that knows salts: all of them, or
/// none, where an older one raced, whose runs are not resumed.
#[derive(Debug, Default)]
pub(super) struct Witnesses {
    has: Option<bool>,
}

impl Witnesses {
    /// Goes on with an invocation.
    pub(super) fn take(&mut self, race: &RaceRecord, invocation: &InvocationRecord) -> Checked {
        let has = invocation.salt.is_some();
        check(has || race.salt.is_none(), "salt", || {
            "none, and the answers of the row hang on it".to_owned()
        })?;
        let first = *self.has.get_or_insert(has);
        check(first == has, "salt", || {
            "some processes of the run have one, and others have none".to_owned()
        })?;
        if !has || invocation.outcome != Outcome::Ok {
            return Ok(());
        }
        // Older Palios that gave salts had this clock, too.
        check(!invocation.spans.is_empty(), "spans", || {
            "none: Palio's clock saw every process to which it gave a salt".to_owned()
        })
    }

    /// Whether no process of the run has them.
    pub(super) fn are_missing(&self) -> bool {
        self.has == Some(false)
    }
}
