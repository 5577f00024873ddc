//! The lease: the right to poll, which one thread at a time has.

use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{Acquire, AtomicBool, Relaxed, SeqCst};
use crate::primitives::parker::Parker;
use std::fmt;

/// Something that one thread at a time uses, and for which nobody waits.
pub(super) struct Lease<T> {
    is_taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: whoever has set `is_taken` is alone with the value, so it only moves between threads.
unsafe impl<T: Send> Sync for Lease<T> {}

impl<T> Lease<T> {
    pub(super) fn new(value: T) -> Self {
        Self { is_taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Takes the lease if nobody has it.
    ///
    /// Whoever is turned down, and is about to sleep because of that, has made it known before that
    /// it will, with a full fence in between: see `README.md`.
    pub(super) fn take(&self) -> Option<Leased<'_, T>> {
        // SeqCst: the sleeper's half of the pattern with `Leased::drop`. Also Acquire: pairs with
        // the drop, and so with the accesses of whoever had it before.
        let is_free = self.is_taken.compare_exchange(false, true, SeqCst, SeqCst).is_ok();
        // Not `then_some`, which would make one in any case, and drop it.
        is_free.then(|| Leased { lease: self })
    }

    /// Whether somebody has it. The fence is the caller's, if anything depends on it.
    pub(super) fn is_taken(&self) -> bool {
        // SeqCst: see `take`.
        self.is_taken.load(SeqCst)
    }

    /// A glance that orders nothing.
    pub(super) fn seems_taken(&self) -> bool {
        self.is_taken.load(Relaxed)
    }
}

/// Has the thread of `parker` sleep in `poll` if nobody has the lease. Returns whether the parker
/// got a token. `None` if somebody has the lease: then this thread has not slept.
///
/// `poll` ends when the parker's interrupt asks for it. A token that is there, or comes, has no
/// sleep begin, or ends it.
pub(super) fn sleep_with<T>(
    lease: &Lease<T>,
    parker: &Parker,
    poll: impl FnOnce(&mut T),
) -> Option<bool> {
    let mut leased = lease.take()?;
    // The announcement comes after the lease was taken. So the interruption that it brings about
    // finds this thread in the poll, or nobody for whom it was meant.
    if !parker.begin_poll() {
        return Some(true);
    }
    leased.with(poll);
    Some(parker.end_poll())
}

/// The lease, while this thread has it.
#[must_use]
pub(super) struct Leased<'a, T> {
    lease: &'a Lease<T>,
}

impl<T> Leased<'_, T> {
    pub(super) fn with<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {
        self.lease.value.with_mut(|value| {
            // SAFETY: this thread has taken the lease, which nobody else can take before the drop
            // of `self`, and `&mut self` is the only way to the value meanwhile.
            f(unsafe { &mut *value })
        })
    }
}

impl<T> Drop for Leased<'_, T> {
    fn drop(&mut self) {
        // SeqCst: the other half of the pattern with `take`. Also Release: pairs with the Acquire
        // there.
        self.lease.is_taken.store(false, SeqCst);
    }
}

impl<T> fmt::Debug for Lease<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Acquire: for nothing but debug output.
        f.debug_struct("Lease").field("is_taken", &self.is_taken.load(Acquire)).finish()
    }
}
