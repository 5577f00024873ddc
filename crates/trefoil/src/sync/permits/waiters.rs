//! The ring of those who wait for permits, and how a wait in it ends.

use super::parcel::Parcel;
use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{Acquire, AtomicU32, Release};
use std::cell::Cell;
use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::task::Waker;

/// A ring of waiters. It has one pointer, because it lies in each lock of a program.
#[derive(Debug)]
pub(super) struct Waiters {
    /// The one that has waited the longest.
    pub(super) first: Option<NonNull<Waiter>>,
}

// SAFETY: the pointers are to waiters that remove themselves under the lock before they are
// dropped, and a waiter's waker is `Send`.
unsafe impl Send for Waiters {}

/// One who waits. It lies in its future.
pub(super) struct Waiter {
    /// Guarded by the lock.
    node: UnsafeCell<Node>,
    pub(super) wanted: usize,
    /// What whoever grants the permits takes with them.
    pub(super) parcel: Option<NonNull<Parcel>>,
    /// How the wait has ended. It is written once, under the lock, when the waiter leaves the ring;
    /// the writer does not access the waiter from then on.
    outcome: AtomicU32,
    /// For its future alone. It is here because it takes no room beside `outcome`.
    pub(super) phase: Cell<Phase>,
    _pinned: PhantomPinned,
}

/// The part of a waiter that the lock of its ring guards.
pub(super) struct Node {
    /// The waiter itself if it is alone.
    prev: NonNull<Waiter>,
    next: NonNull<Waiter>,
    pub(super) waker: Option<Waker>,
    /// How many permits the waiter has. All but the first have none. Those beyond what it wants
    /// wait with it for whoever hands them out.
    pub(super) gathered: usize,
}

/// The waiter is in the ring, or was never in it.
pub(super) const NONE: u32 = 0;
pub(super) const GRANTED: u32 = 1;
pub(super) const REFUSED: u32 = 2;
/// The permits were granted, and went away with the parcel at once.
pub(super) const COLLECTED: u32 = 3;

/// How far the future is in which a waiter lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    New,
    /// The waiter is in the ring, or has an outcome.
    Queued,
    /// The permits are this future's. It has not said so yet, for want of budget.
    Taken,
    /// They were, and went away with its parcel.
    Collected,
    /// `Ready` was returned, or will be with an error.
    Done,
}

impl Waiter {
    pub(super) fn new(wanted: usize, parcel: Option<NonNull<Parcel>>) -> Self {
        let node =
            Node { prev: NonNull::dangling(), next: NonNull::dangling(), waker: None, gathered: 0 };
        Self {
            node: UnsafeCell::new(node),
            wanted,
            parcel,
            outcome: AtomicU32::new(NONE),
            phase: Cell::new(Phase::New),
            _pinned: PhantomPinned,
        }
    }

    pub(super) fn outcome(&self) -> u32 {
        // Acquire: pairs with the Release in `end_wait`. What came before the permits were given
        // back is visible, and the other thread's accesses to the waiter are over.
        self.outcome.load(Acquire)
    }
}

/// # Safety
/// 1. `waiter` is live.
/// 2. The lock of its ring is held, and `f` makes no other reference to the node.
pub(super) unsafe fn with_node<R>(waiter: NonNull<Waiter>, f: impl FnOnce(&mut Node) -> R) -> R {
    // SAFETY: the waiter is live by 1.
    let waiter = unsafe { waiter.as_ref() };
    waiter.node.with_mut(|node| {
        // SAFETY: by 2, there is no other reference to the node.
        f(unsafe { &mut *node })
    })
}

/// The waiter that comes after this one in its ring, which is itself if it is alone.
///
/// # Safety
/// `waiter` is in a ring, whose lock is held.
pub(super) unsafe fn next(waiter: NonNull<Waiter>) -> NonNull<Waiter> {
    // SAFETY: 1: a waiter in a ring is live. 2: the lock is held.
    unsafe { with_node(waiter, |node| node.next) }
}

impl Waiters {
    /// # Safety
    /// `waiter` is live and in no ring, and it leaves this one before it is dropped.
    pub(super) unsafe fn push(&mut self, waiter: NonNull<Waiter>, waker: Waker, gathered: usize) {
        let first = *self.first.get_or_insert(waiter);
        let last = if first == waiter {
            waiter
        } else {
            // SAFETY: 1: a waiter in the ring is live. 2: `&mut self` comes from the lock.
            unsafe { with_node(first, |node| std::mem::replace(&mut node.prev, waiter)) }
        };
        // SAFETY: 1: the caller promises it. 2: `&mut self` comes from the lock.
        unsafe {
            with_node(waiter, |node| {
                *node = Node { prev: last, next: first, waker: Some(waker), gathered };
            });
        }
        // SAFETY: 1: it is in the ring, or `waiter` itself. 2: `&mut self` comes from the lock.
        unsafe { with_node(last, |node| node.next = waiter) };
    }

    /// Takes all waiters away, into a ring of which `guard` is the last. `remove` serves that ring
    /// as well.
    ///
    /// # Safety
    /// As for `push`.
    pub(super) unsafe fn move_behind(&mut self, guard: NonNull<Waiter>) {
        // SAFETY: the caller promises it.
        unsafe { self.push(guard, Waker::noop().clone(), 0) };
        self.first = None;
    }

    /// Removes a waiter, and returns its waker and what it has gathered.
    ///
    /// # Safety
    /// `waiter` is in this ring, or in one that was taken away from it.
    pub(super) unsafe fn remove(&mut self, waiter: NonNull<Waiter>) -> (Option<Waker>, usize) {
        // SAFETY: 1: a waiter in the ring is live. 2: `&mut self` comes from the lock.
        let (prev, next, waker, gathered) = unsafe {
            with_node(waiter, |node| (node.prev, node.next, node.waker.take(), node.gathered))
        };
        // SAFETY: 1: the neighbours are in the ring too, or are `waiter`. 2: `&mut self` comes from
        // the lock.
        unsafe { with_node(prev, |node| node.next = next) };
        // SAFETY: 1: the neighbours are in the ring too, or are `waiter`. 2: `&mut self` comes from
        // the lock.
        unsafe { with_node(next, |node| node.prev = prev) };
        if self.first == Some(waiter) {
            self.first = (next != waiter).then_some(next);
        }
        (waker, gathered)
    }

    /// Removes a waiter whose wait is over. It may be freed from here on.
    ///
    /// # Safety
    /// As for `remove`.
    pub(super) unsafe fn end_wait(
        &mut self,
        waiter: NonNull<Waiter>,
        outcome: u32,
    ) -> Option<Waker> {
        // SAFETY: the caller promises it.
        let (waker, _) = unsafe { self.remove(waiter) };
        // SAFETY: its owner does not free it without the lock or this outcome.
        let waiter = unsafe { waiter.as_ref() };
        // Release: pairs with the Acquire in `Waiter::outcome`.
        waiter.outcome.store(outcome, Release);
        waker
    }
}
