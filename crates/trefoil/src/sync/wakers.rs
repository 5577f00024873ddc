//! A batch of wakers: collected under a lock, woken outside of it.

use crate::task::{discard, try_wake, wake_all};
use std::any::Any;
use std::fmt;
use std::mem::MaybeUninit;
use std::task::Waker;

/// How many waiters one critical section serves at most, so that a list of any length keeps its
/// lock from nobody for long.
#[cfg(not(loom))]
const BATCH: usize = 32;
/// Two, so that models reach the second batch.
#[cfg(loom)]
const BATCH: usize = 2;

/// Up to `BATCH` wakers. They are woken in the order in which they were added, and at the latest
/// when the batch is dropped. A panic of one of them is stopped, and the others are woken all the
/// same: nobody else would do that.
pub(crate) struct Wakers {
    /// Those at `..added` are initialised.
    wakers: [MaybeUninit<Waker>; BATCH],
    added: usize,
}

impl Wakers {
    pub(crate) fn new() -> Self {
        Self { wakers: [const { MaybeUninit::uninit() }; BATCH], added: 0 }
    }

    /// How many more there is room for.
    pub(crate) fn room(&self) -> usize {
        BATCH - self.added
    }

    /// # Panics
    /// If there is no room.
    pub(crate) fn add(&mut self, waker: Waker) {
        self.wakers[self.added].write(waker);
        self.added += 1;
    }

    /// Wakes all, and makes room. Not to be called under a lock.
    pub(crate) fn wake(&mut self) {
        self.wake_or(discard);
    }

    /// As `wake`, for one that passes panics on. `on_panic` must not panic.
    pub(crate) fn wake_or(&mut self, mut on_panic: impl FnMut(Box<dyn Any + Send>)) {
        let added = std::mem::take(&mut self.added);
        // SAFETY: it was initialised by `add`, and is read once: `added` is zero by now, and
        // nothing that wakes them unwinds.
        let wakers = self.wakers[..added].iter().map(|waker| unsafe { waker.assume_init_read() });
        match added {
            0 => {}
            // The rule, which needs no burst.
            1 => wakers.for_each(|waker| try_wake(waker, &mut on_panic)),
            _ => wake_all(wakers, on_panic),
        }
    }
}

impl Drop for Wakers {
    fn drop(&mut self) {
        self.wake();
    }
}

impl fmt::Debug for Wakers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wakers").field("added", &self.added).finish_non_exhaustive()
    }
}
