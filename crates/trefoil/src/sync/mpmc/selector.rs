//! Who waits: a selector, which waits at one or several channels, and what it leaves at each.
//!
//! A selector is claimed once, for one of its arms. Whoever wants to complete an arm takes its node
//! off the channel's list, claims the selector, and then completes the arm, all under the lock of
//! that channel. A claim that fails says that another arm was chosen: the node is stale, and leaves
//! no trace.

use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{AcqRel, Acquire, AtomicU32, Release};
use crate::sync::wait_list::{WaitList, Waiter, release};
use std::marker::PhantomPinned;
use std::ptr::NonNull;
use std::task::Waker;

const WAITING: u32 = 0;
/// Beside the number of the arm, which counts from one: whoever has claimed it is done with it.
const DONE: u32 = 1 << 31;

/// What has become of a selector. Arms count from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Waiting,
    /// Whoever has claimed it has the lock of that arm, and is not done yet.
    Claimed(u32),
    Done(u32),
}

pub(super) struct Selector {
    word: AtomicU32,
    /// Changed by the owner, before its nodes are on any list or with the locks of all of them; and
    /// taken by whoever has claimed the selector.
    waker: UnsafeCell<Option<Waker>>,
    _pinned: PhantomPinned,
}

// SAFETY: the claim and the locks give the waker, which is `Send`, to one thread at a time.
unsafe impl Sync for Selector {}

impl Selector {
    pub(super) fn new() -> Self {
        Self { word: AtomicU32::new(WAITING), waker: UnsafeCell::new(None), _pinned: PhantomPinned }
    }

    pub(super) fn fate(&self) -> Fate {
        // Acquire: pairs with the Release in `finish`, and so the arm is the owner's again.
        match self.word.load(Acquire) {
            WAITING => Fate::Waiting,
            word if word & DONE != 0 => Fate::Done((word & !DONE) - 1),
            word => Fate::Claimed(word - 1),
        }
    }

    fn claim(&self, arm: u32) -> bool {
        // AcqRel: claims at several channels are in one order, which the owner's locks need not be
        // in.
        self.word.compare_exchange(WAITING, arm + 1, AcqRel, Acquire).is_ok()
    }

    /// Whether this is the waker that it has.
    ///
    /// # Safety
    /// No node is on a list, or all the locks are held and nobody has claimed the selector.
    pub(super) unsafe fn has_waker(&self, waker: &Waker) -> bool {
        self.waker.with(|own| {
            // SAFETY: the caller is the only one that uses the cell.
            unsafe { &*own }.as_ref().is_some_and(|own| own.will_wake(waker))
        })
    }

    /// Returns the waker that it had.
    ///
    /// # Safety
    /// No node is on a list, or all the locks are held and nobody has claimed the selector; or the
    /// caller has claimed it.
    pub(super) unsafe fn replace_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        self.waker.with_mut(|own| {
            // SAFETY: the caller is the only one that uses the cell.
            std::mem::replace(unsafe { &mut *own }, waker)
        })
    }
}

/// What a selector leaves at a channel.
pub(super) struct Node<T> {
    /// The owner's while it is not on the list; guarded by the channel's lock else.
    entry: UnsafeCell<Entry<T>>,
}

pub(super) struct Entry<T> {
    /// What is to be sent, or was received.
    pub(super) item: Option<T>,
    /// Who waits here, and which of its arms this is.
    pub(super) whose: Option<(NonNull<Selector>, u32)>,
}

// SAFETY: the channel's lock gives the entry to one thread at a time. The pointer is to a
// `Selector`, which is `Sync`.
unsafe impl<T: Send> Send for Node<T> {}
// SAFETY: a shared reference gives access to nothing without the lock or the owner's `&mut`.
unsafe impl<T: Send> Sync for Node<T> {}

impl<T> Node<T> {
    pub(super) fn new(item: Option<T>) -> Self {
        Self { entry: UnsafeCell::new(Entry { item, whose: None }) }
    }

    /// # Safety
    /// The entry is the caller's, who makes no other reference to it.
    pub(super) unsafe fn with<R>(&self, f: impl FnOnce(&mut Entry<T>) -> R) -> R {
        self.entry.with_mut(|entry| {
            // SAFETY: the caller promises it.
            f(unsafe { &mut *entry })
        })
    }
}

/// A node that was taken off its list, and whose selector was claimed for it. It must be
/// [finished](Self::finish) under the same lock.
#[must_use = "its owner waits until it is finished"]
pub(super) struct Claimed<T> {
    waiter: NonNull<Waiter<Node<T>>>,
    selector: NonNull<Selector>,
    arm: u32,
}

/// Takes off the list, and claims, whoever has waited the longest. Stale nodes before it are taken
/// off as well, so each of them is met once.
pub(super) fn claim_first<T>(list: &mut WaitList<Node<T>>) -> Option<Claimed<T>> {
    while let Some(waiter) = list.pop() {
        // SAFETY: it was popped in this critical section, and so its owner keeps it.
        let node = unsafe { waiter.as_ref() }.payload();
        // SAFETY: the lock guards the entry.
        let whose = unsafe { node.with(|entry| entry.whose) };
        let (selector, arm) = whose.expect("a node on a list has a selector");
        // SAFETY: the owner keeps the selector until its nodes have left their lists under their
        // locks, one of which the caller has, or until it is finished.
        if unsafe { selector.as_ref() }.claim(arm) {
            return Some(Claimed { waiter, selector, arm });
        }
        // SAFETY: it was popped above.
        unsafe { release(waiter) };
    }
    None
}

impl<T> Claimed<T> {
    /// Completes the arm: `f` gives an item to its node, or takes it from there. Returns the waker
    /// to be woken outside of the lock.
    pub(super) fn finish<R>(self, f: impl FnOnce(&mut Option<T>) -> R) -> (R, Option<Waker>) {
        // SAFETY: it was popped in this critical section, and so its owner keeps it.
        let node = unsafe { self.waiter.as_ref() }.payload();
        // SAFETY: the lock guards the entry.
        let result = unsafe { node.with(|entry| f(&mut entry.item)) };
        // SAFETY: the owner keeps the selector until it is finished.
        let selector = unsafe { self.selector.as_ref() };
        // SAFETY: the selector was claimed.
        let waker = unsafe { selector.replace_waker(None) };
        // SAFETY: it was popped, and not released yet. The owner goes by the selector's word, and
        // so keeps the waiter up to the store below.
        unsafe { release(self.waiter) };
        // Release: pairs with `fate`. This is the last access: the owner may free all from here on.
        selector.word.store((self.arm + 1) | DONE, Release);
        (result, waker)
    }
}
