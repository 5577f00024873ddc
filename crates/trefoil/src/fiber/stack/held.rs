//! The free stacks that a thread holds, so that fibers which come and go one by one take no lock.

use super::Stack;
use super::pool::{FREE, TURN};
use crate::context;
use std::cell::{Cell, RefCell};

/// How many free stacks a thread holds.
pub(crate) const HELD: usize = 16;

/// The free stacks of a thread that runs fibers. On drop, they go to the pool.
#[derive(Debug, Default)]
pub(crate) struct Held {
    stacks: RefCell<Vec<Stack>>,
    /// How many were taken since the pool was told.
    taken: Cell<usize>,
    /// How many more stacks that come back here have one of the pool give back its memory.
    owed: Cell<usize>,
}

/// The stack that this thread has released last, if it holds some.
pub(super) fn take() -> Option<Stack> {
    with(|held| {
        let stack = held.stacks.borrow_mut().pop()?;
        let taken = held.taken.get() + 1;
        held.taken.set(taken % TURN);
        if taken == TURN {
            held.owed.set(FREE.count_taken_elsewhere(TURN).min(TURN));
        }
        Some(stack)
    })
    .flatten()
}

/// Holds a stack, or returns it.
pub(super) fn put(stack: Stack) -> Option<Stack> {
    let mut stack = Some(stack);
    with(|held| {
        let mut stacks = held.stacks.borrow_mut();
        if stacks.len() < HELD {
            stacks.extend(stack.take());
        }
        drop(stacks);
        // The pool itself does so where a stack comes back to it.
        if stack.is_none() && held.owed.get() > 0 {
            held.owed.set(held.owed.get() - 1);
            FREE.trim_surplus();
        }
    });
    stack
}

/// Calls `f` with what this thread holds, if it runs fibers.
fn with<T>(f: impl FnOnce(&Held) -> T) -> Option<T> {
    context::with(|context| context.worker()?.held_stacks().map(f))
}

impl Held {
    /// Gives them to the pool: the thread may be about to sleep for long.
    pub(crate) fn give_back(&self) {
        let mut stacks = self.stacks.borrow_mut();
        if !stacks.is_empty() {
            FREE.put_all(&mut stacks);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.give_back();
    }
}
