//! A list of those who wait, in the order in which they came.
//!
//! A waiter is a part of the future that waits, so waiting allocates nothing. The list is a part of
//! what a lock guards, and so is all of a waiter that is on it. The future leaves the list under
//! the lock before it is dropped; whoever takes a waiter off the list first [releases](release) it.

use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{Acquire, AtomicBool, Relaxed, Release};
use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::NonNull;

/// Who waits: links of the list, and what the list's user needs.
pub(crate) struct Waiter<P> {
    /// Guarded by the lock of the list.
    links: UnsafeCell<Links<P>>,
    /// Set under the lock. Cleared under the lock, too, as the last access of whoever takes the
    /// waiter off the list.
    is_queued: AtomicBool,
    payload: P,
    _pinned: PhantomPinned,
}

struct Links<P> {
    prev: Option<NonNull<Waiter<P>>>,
    next: Option<NonNull<Waiter<P>>>,
    /// How many had come before.
    number: u64,
}

/// The waiters. Whoever has waited the longest is at the front.
pub(crate) struct WaitList<P> {
    front: Option<NonNull<Waiter<P>>>,
    back: Option<NonNull<Waiter<P>>>,
    /// How many have come. One a nanosecond would take 584 years to overflow it.
    came: u64,
}

/// A moment in the life of a list: those who came before it, and those who will come later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(u64);

// SAFETY: the pointers are to waiters that leave the list before they are dropped. Whoever has the
// list has its lock, and so may use their payloads, which both threads can reach.
unsafe impl<P: Send + Sync> Send for WaitList<P> {}

// SAFETY: the links are used under the lock of the list, and name other waiters only there. A
// waiter is not moved while it is on a list.
unsafe impl<P: Send> Send for Waiter<P> {}
// SAFETY: a shared reference gives access to the payload, to an atomic, and, under the lock of the
// list, to the links.
unsafe impl<P: Sync> Sync for Waiter<P> {}

impl<P> Waiter<P> {
    pub(crate) fn new(payload: P) -> Self {
        Self {
            links: UnsafeCell::new(Links { prev: None, next: None, number: 0 }),
            is_queued: AtomicBool::new(false),
            payload,
            _pinned: PhantomPinned,
        }
    }

    pub(crate) fn payload(&self) -> &P {
        &self.payload
    }

    /// Whether the waiter is on its list. Without the lock, "no" is certain if only the caller
    /// puts it there, and then nobody else accesses the waiter any more; "yes" may be outdated.
    pub(crate) fn is_queued(&self) -> bool {
        // Acquire: pairs with `release`, so that the accesses of whoever took it off are over.
        self.is_queued.load(Acquire)
    }
}

/// The last access to a waiter that was taken off its list: its owner may free it from here on,
/// unless the owner needs more than this for it.
///
/// # Safety
/// `waiter` was taken off a list in this critical section, and was not released before.
pub(crate) unsafe fn release<P>(waiter: NonNull<Waiter<P>>) {
    // SAFETY: the owner keeps the waiter until it sees this, or has the lock.
    let waiter = unsafe { waiter.as_ref() };
    // Release: pairs with the Acquire in `is_queued`.
    waiter.is_queued.store(false, Release);
}

/// # Safety
/// 1. `waiter` is live.
/// 2. The lock of its list is held, and `f` makes no other reference to the links.
unsafe fn with_links<P, R>(waiter: NonNull<Waiter<P>>, f: impl FnOnce(&mut Links<P>) -> R) -> R {
    // SAFETY: the waiter is live by 1.
    let waiter = unsafe { waiter.as_ref() };
    waiter.links.with_mut(|links| {
        // SAFETY: by 2, there is no other reference to the links.
        f(unsafe { &mut *links })
    })
}

impl<P> WaitList<P> {
    pub(crate) const fn new() -> Self {
        Self { front: None, back: None, came: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.front.is_none()
    }

    pub(crate) fn now(&self) -> Moment {
        Moment(self.came)
    }

    /// Appends a waiter.
    ///
    /// # Safety
    /// 1. `waiter` is on no list.
    /// 2. It is removed from this list before it is dropped, unless it was taken off and released.
    pub(crate) unsafe fn push(&mut self, waiter: Pin<&Waiter<P>>) {
        // Relaxed: the lock orders it.
        waiter.is_queued.store(true, Relaxed);
        let waiter = NonNull::from(waiter.get_ref());
        let (prev, number) = (self.back.replace(waiter), self.came);
        self.came += 1;
        // SAFETY: 1: the caller has a reference. 2: `&mut self` comes from the lock.
        unsafe { with_links(waiter, |links| *links = Links { prev, next: None, number }) };
        match prev {
            // SAFETY: 1: a waiter on the list is live. 2: `&mut self` comes from the lock.
            Some(prev) => unsafe { with_links(prev, |links| links.next = Some(waiter)) },
            None => self.front = Some(waiter),
        }
    }

    /// Takes off whoever has waited the longest. Until it is [released](release), in the same
    /// critical section, its owner waits for the lock before it frees the waiter.
    pub(crate) fn pop(&mut self) -> Option<NonNull<Waiter<P>>> {
        let waiter = self.front?;
        // SAFETY: the waiter is on the list.
        unsafe { self.unlink(waiter) };
        Some(waiter)
    }

    /// As [`pop`](Self::pop), if it had come before this moment.
    pub(crate) fn pop_before(&mut self, moment: Moment) -> Option<NonNull<Waiter<P>>> {
        // SAFETY: 1: a waiter on the list is live. 2: `&mut self` comes from the lock.
        let number = unsafe { with_links(self.front?, |links| links.number) };
        if number < moment.0 { self.pop() } else { None }
    }

    /// Takes this waiter off, if it is still on the list, and releases it.
    ///
    /// # Safety
    /// `waiter` was never on another list.
    pub(crate) unsafe fn remove(&mut self, waiter: &Waiter<P>) -> bool {
        // Relaxed: the lock orders it.
        if !waiter.is_queued.load(Relaxed) {
            return false;
        }
        let waiter = NonNull::from(waiter);
        // SAFETY: it is queued, and it cannot be on another list. Nobody has popped it without
        // releasing it, because both happen in one critical section.
        unsafe { self.unlink(waiter) };
        // SAFETY: it was taken off just now.
        unsafe { release(waiter) };
        true
    }

    /// # Safety
    /// `waiter` is on this list.
    unsafe fn unlink(&mut self, waiter: NonNull<Waiter<P>>) {
        // SAFETY: 1: the caller promises that it is on the list. 2: `&mut self` comes from the
        // lock.
        let (prev, next) =
            unsafe { with_links(waiter, |links| (links.prev.take(), links.next.take())) };
        match prev {
            // SAFETY: 1: a waiter on the list is live. 2: `&mut self` comes from the lock.
            Some(prev) => unsafe { with_links(prev, |links| links.next = next) },
            None => self.front = next,
        }
        match next {
            // SAFETY: 1: a waiter on the list is live. 2: `&mut self` comes from the lock.
            Some(next) => unsafe { with_links(next, |links| links.prev = prev) },
            None => self.back = prev,
        }
    }
}

impl<P> fmt::Debug for WaitList<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitList").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}

impl<P> fmt::Debug for Waiter<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter").field("is_queued", &self.is_queued()).finish_non_exhaustive()
    }
}
