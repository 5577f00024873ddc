//! Wakers that are woken after everything else that is ready has had its turn.

use crate::primitives::Mutex;
use crate::primitives::atomic::{AtomicUsize, Relaxed};
use std::task::Waker;

/// The wakers that one worker's tasks have deferred. The worker wakes them between two polls. If a
/// poll takes long, the monitor wakes them.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// Written under the lock.
    len: AtomicUsize,
    wakers: Mutex<Vec<Waker>>,
}

impl Deferred {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        // Relaxed: the worker reads its own write, or a list that was taken meanwhile. For the
        // monitor, it is a hint.
        self.len.load(Relaxed) == 0
    }

    pub(super) fn push(&self, waker: Waker) {
        let mut wakers = self.wakers.lock();
        wakers.push(waker);
        // Relaxed: see `is_empty`.
        self.len.store(wakers.len(), Relaxed);
    }

    /// Takes all of them. The caller wakes them outside of the lock, because this is foreign code.
    pub(super) fn take(&self) -> Vec<Waker> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut wakers = self.wakers.lock();
        // Relaxed: see `is_empty`.
        self.len.store(0, Relaxed);
        std::mem::take(&mut *wakers)
    }
}
