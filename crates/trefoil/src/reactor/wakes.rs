//! Wakers that are to be woken once all locks are released.

use crate::task::wake_guarded;
use std::task::Waker;

/// For how many wakers the room is kept.
const KEPT: usize = 1024;

/// Wakers that were taken out of their slots. They are woken on drop at the latest: nobody else
/// would wake them.
///
/// Whoever polls often keeps one for its room, and hands it down by reference.
#[derive(Debug, Default)]
pub(crate) struct Wakes(Vec<Waker>);

impl Wakes {
    pub(crate) fn push(&mut self, waker: Waker) {
        self.0.push(waker);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Wakes all of them, and keeps the room. A waker that panics harms no other one.
    pub(crate) fn wake(&mut self) {
        self.0.drain(..).for_each(wake_guarded);
        if self.0.capacity() > KEPT {
            self.0.shrink_to(KEPT);
        }
    }
}

impl Drop for Wakes {
    fn drop(&mut self) {
        self.wake();
    }
}
