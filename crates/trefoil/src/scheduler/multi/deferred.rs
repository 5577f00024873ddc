//! Wakers to be woken when everything else that is ready had its turn.

use crate::primitives::Mutex;
use crate::primitives::atomic::{AtomicUsize, Relaxed};
use std::task::Waker;

/// What one worker's tasks have deferred. The worker wakes it between two
/// polls, or the monitor, when a poll takes long.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// Written under the lock.
    len: AtomicUsize,
    wakers: Mutex<Vec<Waker>>,
}

impl Deferred {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        // Relaxed: the worker reads what it wrote, or what was taken
        // meanwhile; to the monitor it is a hint.
        self.len.load(Relaxed) == 0
    }

    pub(super) fn push(&self, waker: Waker) {
        let mut wakers = self.wakers.lock();
        wakers.push(waker);
        // Relaxed: see `is_empty`.
        self.len.store(wakers.len(), Relaxed);
    }

    /// All of them. The caller wakes them, which is foreign code, and so not
    /// under the lock.
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
