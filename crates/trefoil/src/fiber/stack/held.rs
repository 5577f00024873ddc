//! The free stacks that a thread holds, so that fibers which come and go one by one take no lock.

use super::{FREE, Stack, TURN};
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
}

/// The stack that this thread has released last, if it holds some.
pub(super) fn take() -> Option<Stack> {
    with(|held| {
        let stack = held.stacks.borrow_mut().pop()?;
        let taken = held.taken.get() + 1;
        held.taken.set(taken % TURN);
        if taken == TURN {
            FREE.count_taken_elsewhere(TURN);
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
