//! The slot for the task that a worker has woken last.
//!
//! That task runs next, while its data is in the cache. Only the worker puts
//! tasks in. It takes them out as well, and so does the monitor, when the
//! worker has been in one poll for long: so the exchange of the pointer decides
//! who has the task. (A slot from which every thief may take is what tokio
//! merged, reverted and merged again; here nobody takes from it who could have
//! taken from the ring, and the worker keeps what it is about to run.)

use crate::primitives::atomic::{AcqRel, AtomicPtr, Relaxed, Release};
use crate::queue::{Link, Linked};
use crate::task::Runnable;
use std::ptr::{self, NonNull};

#[derive(Debug)]
pub(super) struct LifoSlot {
    /// Null while the slot is empty. Filled by the worker only, emptied by it
    /// and by the monitor.
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
        // Relaxed: the worker reads what it wrote, or a slot that was emptied
        // meanwhile; to the monitor it is a hint.
        self.task.load(Relaxed).is_null()
    }

    /// Puts a task in; returns the one that it displaces.
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
        // Relaxed: nobody else touches it.
        let task = self.task.load(Relaxed);
        self.task.store(ptr::null_mut(), Relaxed);
        // SAFETY: what is in the slot is the worker's, and was taken out.
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
        // SAFETY: the exchange made it ours.
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
