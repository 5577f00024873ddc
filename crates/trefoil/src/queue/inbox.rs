//! A queue into which many threads push, and from which one takes everything at once. Other threads
//! send a worker its tasks with it.

use super::Fifo;
use super::link::{self, Link, Linked};
use crate::primitives::atomic::{AcqRel, Acquire, AtomicPtr, Relaxed};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// A stack (Treiber 1986) from which only everything can be removed. So its pointers are never
/// dereferenced while they are shared, and the ABA problem does not arise.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    /// The newest value's link, null, or `closed()`. The links of the chain came from
    /// `T::into_link`, and belong to the inbox.
    newest: AtomicPtr<Link>,
    _values: PhantomData<T>,
}

// SAFETY: an inbox owns its values.
unsafe impl<T: Send> Send for Inbox<T> {}
// SAFETY: through a shared reference, values can be moved in and out, and never accessed inside of
// the inbox.
unsafe impl<T: Send> Sync for Inbox<T> {}

fn closed() -> *mut Link {
    // The pointer is never dereferenced. Links are aligned, so it is no link's address.
    const { assert!(align_of::<Link>() > 1) };
    ptr::without_provenance_mut(1)
}

impl<T: Linked> Inbox<T> {
    pub(crate) fn new() -> Self {
        Self { newest: AtomicPtr::new(ptr::null_mut()), _values: PhantomData }
    }

    /// Pushes a value. Returns whether the inbox was empty, in which case its owner may have to be
    /// woken.
    ///
    /// # Errors
    /// The inbox is closed.
    #[inline]
    pub(crate) fn push(&self, value: T) -> Result<bool, T> {
        // Acquire: pairs with `close`. A sender that finds the inbox closed sees everything that
        // the closer did before. Any other value is a guess, which the exchange confirms.
        let mut newest = self.newest.load(Acquire);
        let link = value.into_link();
        loop {
            if newest == closed() {
                // SAFETY: the link came from the value, and was not published.
                return Err(unsafe { T::from_link(link) });
            }
            // SAFETY: the link came from the value, and is not published yet.
            unsafe { link::set_next(link, NonNull::new(newest)) };
            // Release: publishes the link and its value to `take`. Acquire: the sender looks at the
            // owner's state afterwards. Acquire on failure: for the reason given at the load.
            match self.newest.compare_exchange_weak(newest, link.as_ptr(), AcqRel, Acquire) {
                Ok(_) => return Ok(newest.is_null()),
                Err(now) => newest = now,
            }
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: a hint. A worker that must not miss a value is unparked for it.
        let newest = self.newest.load(Relaxed);
        newest.is_null() || newest == closed()
    }

    /// Takes everything, the oldest value first.
    #[inline]
    pub(crate) fn take(&self) -> Fifo<T> {
        if self.is_empty() {
            return Fifo::new();
        }
        self.exchange(ptr::null_mut())
    }

    /// Refuses all further values, and returns those that are left.
    pub(crate) fn close(&self) -> Fifo<T> {
        self.exchange(closed())
    }

    fn exchange(&self, newest: *mut Link) -> Fifo<T> {
        // Acquire: pairs with the exchange in `push`. Release: pairs with the
        // loads of a `push` that is refused.
        let newest = self.newest.swap(newest, AcqRel);
        let chain = if newest == closed() { None } else { NonNull::new(newest) };
        // SAFETY: `push` has made the chain, and the exchange has taken it from the inbox.
        unsafe { Fifo::from_reversed(chain) }
    }
}
