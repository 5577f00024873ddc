//! Many send, one receives everything at once: what other threads have for
//! one particular worker.

use super::item::{Fifo, Item, Link};
use crate::primitives::atomic::{AcqRel, Acquire, AtomicPtr, Relaxed};
use std::ptr::{self, NonNull};

/// A stack (Treiber 1986) whose only removal takes all of it, so that its
/// pointers are never dereferenced while shared, and ABA does not arise.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// The newest item, null, or `CLOSED`.
    newest: AtomicPtr<Link>,
}

fn closed() -> *mut Link {
    // Never dereferenced, and no link's address: links are aligned.
    ptr::without_provenance_mut(1)
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { newest: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Returns whether the inbox was empty: then its owner may have to be told.
    ///
    /// # Errors
    /// The inbox is closed.
    #[inline]
    pub(crate) fn push(&self, item: Item) -> Result<bool, Item> {
        // Acquire: pairs with `close`. Who learns that the inbox is closed may
        // do at once what has to come after all that the closer did before. Any
        // other value is a guess, which the exchange confirms.
        let mut newest = self.newest.load(Acquire);
        let link = item.into_link();
        loop {
            // SAFETY: the very link that was just taken out of the item.
            let item = unsafe { Item::from_link(link) };
            if newest == closed() {
                return Err(item);
            }
            let _ = item.chain(NonNull::new(newest));
            // Release: publishes the link and what the item stands for to
            // `take`. Acquire: keeps the sender's later look at the owner's
            // state behind it. On failure: Acquire, as for the load above.
            match self.newest.compare_exchange_weak(newest, link.as_ptr(), AcqRel, Acquire) {
                Ok(_) => return Ok(newest.is_null()),
                Err(now) => newest = now,
            }
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: a hint; whoever must not miss an item is unparked for it.
        let newest = self.newest.load(Relaxed);
        newest.is_null() || newest == closed()
    }

    /// Everything, oldest first.
    #[inline]
    pub(crate) fn take(&self) -> Fifo {
        if self.is_empty() {
            return Fifo::new();
        }
        // Acquire: pairs with `push`.
        let newest = self.newest.swap(ptr::null_mut(), AcqRel);
        // SAFETY: the exchange made the chain ours.
        unsafe { in_order(newest) }
    }

    /// Refuses all further items, and returns those that are left.
    pub(crate) fn close(&self) -> Fifo {
        // Acquire: pairs with the exchange in `push`. Release: pairs with the
        // loads of a `push` that is refused.
        let newest = self.newest.swap(closed(), AcqRel);
        // SAFETY: the exchange made the chain ours.
        unsafe { in_order(newest) }
    }
}

/// # Safety
/// The caller owns the chain that starts at `newest`.
unsafe fn in_order(newest: *mut Link) -> Fifo {
    let mut items = Fifo::new();
    if newest == closed() {
        return items;
    }
    let mut next = NonNull::new(newest);
    while let Some(link) = next {
        // SAFETY: `push` chained it, and the caller owns the chain.
        let (item, older) = unsafe { Item::unchain(link) };
        items.push_front(item);
        next = older;
    }
    items
}
