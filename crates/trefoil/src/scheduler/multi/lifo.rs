//! The slot for the task that a worker has woken last.
//!
//! That task runs next, while its data is in the cache. Only the worker puts tasks in. The worker
//! takes them out, and so does the monitor if the worker has been in one poll for long. The
//! exchange of the pointer decides which of them gets the task. (In tokio, every thief may take
//! from the slot, a change that was merged, reverted and merged again. Here, thieves take from the
//! ring only, so the worker keeps the task that it is about to run.)

use crate::primitives::atomic::{AcqRel, AtomicPtr, Relaxed, Release};
use crate::queue::{Link, Linked};
use crate::task::Runnable;
use std::ptr::{self, NonNull};

#[derive(Debug)]
pub(super) struct LifoSlot {
    /// Null while the slot is empty. Only the worker fills the slot. The worker and the monitor
    /// empty it.
    task: AtomicPtr<Link>,
    /// There is no monitor, so the worker needs no RMW.
    is_solo: bool,
}

impl LifoSlot {
    pub(super) fn new(is_solo: bool) -> Self {
        Self { task: AtomicPtr::new(ptr::null_mut()), is_solo }
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        // Relaxed: the worker reads its own write, or a slot that was emptied meanwhile. For the
        // monitor, it is a hint.
        self.task.load(Relaxed).is_null()
    }

    /// Puts a task in, and returns the one that it displaces.
    ///
    /// # Safety
    /// The caller has the state of the worker whose slot this is.
    #[inline(always)]
    pub(super) unsafe fn replace(&self, task: Runnable) -> Option<Runnable> {
        let link = task.into_link().as_ptr();
        // Relaxed: only whether there is one counts, and then it is exchanged, or
        // nobody else touches it.
        let before = self.task.load(Relaxed);
        let before = if before.is_null() || self.is_solo {
            // Release: pairs with the exchange in `take`. A store will do:
            // nobody else fills the slot.
            self.task.store(link, Release);
            before
        } else {
            // Release: as above. Acquire: for the task that comes out.
            self.task.swap(link, AcqRel)
        };
        // SAFETY: the exchange made it ours; without a monitor, it was.
        unsafe { from_link(before) }
    }

    /// Takes the task out, on the worker's thread.
    ///
    /// # Safety
    /// The caller has the state of the worker whose slot this is.
    #[inline(always)]
    pub(super) unsafe fn take_own(&self) -> Option<Runnable> {
        if !self.is_solo {
            return self.take();
        }
        // Relaxed: no other thread accesses the slot.
        let task = self.task.load(Relaxed);
        self.task.store(ptr::null_mut(), Relaxed);
        // SAFETY: the task in the slot was the worker's, and was just taken out.
        unsafe { from_link(task) }
    }

    /// Takes the task out, on any thread (but see `is_solo`).
    #[inline(always)]
    pub(super) fn take(&self) -> Option<Runnable> {
        if self.is_empty() {
            return None;
        }
        // Acquire: pairs with `replace`.
        let task = self.task.swap(ptr::null_mut(), AcqRel);
        // SAFETY: the exchange made us the owner of the task.
        unsafe { from_link(task) }
    }
}

/// # Safety
/// `link` is null; or it came from a task's `into_link`, and this is the first
/// call with it since then.
#[inline(always)]
unsafe fn from_link(link: *mut Link) -> Option<Runnable> {
    let link = NonNull::new(link)?;
    // SAFETY: the caller's promise.
    Some(unsafe { Runnable::from_link(link) })
}
