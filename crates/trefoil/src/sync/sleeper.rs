//! Those who wait for nothing but to be woken, all at once.

use super::wait_list::{Moment, WaitList, Waiter, release};
use super::wakers::Wakers;
use crate::primitives::UnsafeCell;
use std::pin::Pin;
use std::task::Waker;

/// What such a waiter brings along.
pub(crate) struct Sleep {
    /// Guarded by the lock of the list.
    waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: the lock of the list guards the waker, which is `Send`.
unsafe impl Sync for Sleep {}

pub(crate) type Sleeper = Waiter<Sleep>;
pub(crate) type Sleepers = WaitList<Sleep>;

impl Sleeper {
    pub(crate) fn asleep() -> Self {
        Self::new(Sleep { waker: UnsafeCell::new(None) })
    }

    /// # Safety
    /// The lock of its list is held.
    unsafe fn replace_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        self.payload().waker.with_mut(|cell| {
            // SAFETY: the lock guards the waker.
            std::mem::replace(unsafe { &mut *cell }, waker)
        })
    }
}

impl Sleepers {
    /// Puts a sleeper on the list, if it is not there, and keeps its waker. Returns the waker that
    /// it had: to be dropped outside of the lock.
    ///
    /// # Safety
    /// `sleeper` was never on another list, and [`remove_sleeper`](Self::remove_sleeper) is called
    /// before it is dropped, unless it is no longer queued.
    #[must_use]
    pub(crate) unsafe fn put(&mut self, sleeper: Pin<&Sleeper>, waker: Waker) -> Option<Waker> {
        // SAFETY: `&mut self` comes from the lock.
        let old = unsafe { sleeper.replace_waker(Some(waker)) };
        if !sleeper.is_queued() {
            // SAFETY: 1: it is not queued. 2: the caller promises it.
            unsafe { self.push(sleeper) };
        }
        old
    }

    /// Takes a sleeper off the list, if it is there. Returns its waker: to be dropped outside of
    /// the lock.
    ///
    /// # Safety
    /// `sleeper` was never on another list.
    #[must_use]
    pub(crate) unsafe fn remove_sleeper(&mut self, sleeper: &Sleeper) -> Option<Waker> {
        // SAFETY: the caller promises it.
        unsafe { self.remove(sleeper) };
        // SAFETY: `&mut self` comes from the lock.
        unsafe { sleeper.replace_waker(None) }
    }

    /// Takes one batch of those off the list who had come before this moment. Returns whether more
    /// of them may be left.
    pub(crate) fn take_batch(&mut self, before: Moment, wakers: &mut Wakers) -> bool {
        while wakers.room() > 0 {
            let Some(sleeper) = self.pop_before(before) else { return false };
            // SAFETY: it was popped, and its owner does not free it before it is released.
            let waker = unsafe { sleeper.as_ref() };
            // SAFETY: `&mut self` comes from the lock.
            let waker = unsafe { waker.replace_waker(None) };
            // SAFETY: it was popped just now.
            unsafe { release(sleeper) };
            if let Some(waker) = waker {
                wakers.add(waker);
            }
        }
        true
    }
}
