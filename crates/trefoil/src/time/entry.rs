//! One registered timer, and who may touch what of it.
//!
//! A timer is known to two parties, which may be on any threads: its *holder*,
//! the `Sleep`, and its *queue*, which is whoever has the queue's lock.
//!
//! | from | to | by |
//! |---|---|---|
//! | new, or spare | `Waiting` | holder, under the lock: puts it on the wheel, with a waker |
//! | `Waiting` | `Fired` | whoever fires, under the lock: takes it off the wheel, and the waker |
//! | `Waiting` | `Closed` | whoever closes or releases the queue, in the same way |
//! | `Waiting` | freed | holder: takes it off the wheel, and the waker, under the lock |
//! | `Fired`, `Closed` | freed | holder |
//!
//! **The holder alone frees an entry**, or leaves it to the queue's spare ones, under the lock. The
//! queue knows an entry only while it waits: the entry is off the wheel before its state says
//! `Fired` or `Closed`, and storing that state is the queue's last access. So a holder that reads
//! one of these states without the lock has the entry for itself. If it reads `Waiting`, the state
//! may have changed meanwhile, and the holder looks again under the lock.
//!
//! **The waker** belongs to the entry from the registration until it is taken out under the lock.
//! Its bytes stay afterwards. Only the holder writes them, under the lock; so the holder may read
//! them at any time, to compare.
//!
//! **An entry keeps its queue alive.** So a spare entry must not stay in its queue for ever: the
//! queue frees its spare entries when it closes.

use super::queue::TimerQueue;
use super::wheel::Node;
use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{Acquire, AtomicU32, Release};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;

/// Where an entry is in its life: see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum State {
    Waiting,
    Fired,
    Closed,
}

#[derive(Debug)]
pub(super) struct Entry {
    /// Written under the lock.
    state: AtomicU32,
    /// For whoever has the lock while the entry waits, or is spare.
    pub(super) node: UnsafeCell<Node>,
    waker: UnsafeCell<MaybeUninit<Waker>>,
    queue: Arc<TimerQueue>,
}

impl Entry {
    /// An entry that waits for nothing yet. It is live until `free`.
    #[cold]
    pub(super) fn new(queue: &Arc<TimerQueue>) -> NonNull<Self> {
        let entry = Box::new(Self {
            state: AtomicU32::new(State::Fired as u32),
            node: UnsafeCell::new(Node::new()),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
            queue: Arc::clone(queue),
        });
        NonNull::from(Box::leak(entry))
    }

    /// Must be called without the lock, because this may free the queue.
    ///
    /// # Safety
    /// The entry came from `new` and has no waker, and nobody accesses it any more.
    #[cold]
    pub(super) unsafe fn free(entry: NonNull<Self>) {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(entry.as_ptr()) });
    }

    pub(super) fn queue(&self) -> &Arc<TimerQueue> {
        &self.queue
    }

    #[inline]
    pub(super) fn state(&self) -> State {
        // Acquire: pairs with `set_state`, the queue's last access.
        match self.state.load(Acquire) {
            0 => State::Waiting,
            1 => State::Fired,
            _ => State::Closed,
        }
    }

    /// Must be called under the lock.
    #[inline]
    pub(super) fn set_state(&self, state: State) {
        // Release: pairs with `state`, in a holder without the lock.
        self.state.store(state as u32, Release);
    }

    /// Gives an entry that has no waker one.
    ///
    /// # Safety
    /// The caller has the queue's lock, and is the entry's holder.
    #[inline]
    pub(super) unsafe fn put_waker(&self, waker: Waker) {
        self.waker.with_mut(|cell| {
            // SAFETY: the caller's promise: the holder does not read it now,
            // and all others read it under the lock. What was there is no waker.
            unsafe { *cell = MaybeUninit::new(waker) }
        });
    }

    /// # Safety
    /// The caller has the queue's lock, and the entry waits. Before the lock is released, the entry
    /// ceases to wait or gets another waker.
    #[inline]
    pub(super) unsafe fn take_waker(&self) -> Waker {
        self.waker.with(|cell| {
            // SAFETY: it is written under the lock only, which is the caller's.
            let waker = unsafe { cell.read() };
            // SAFETY: an entry has a waker exactly while it waits, so the bytes are those of a
            // waker, and this is the only time that it is taken.
            unsafe { waker.assume_init() }
        })
    }

    /// Whether it waits, or waited, for the same task as `waker`.
    ///
    /// # Safety
    /// The caller is the holder, and has registered the entry.
    #[inline]
    pub(super) unsafe fn will_wake(&self, waker: &Waker) -> bool {
        self.waker.with(|cell| {
            // SAFETY: the bytes are those that the holder wrote, a pointer and
            // a table that is static. Should the waker have been taken, the
            // answer does not matter, and to compare them is all that is done.
            unsafe { &*cell.cast::<Waker>() }.will_wake(waker)
        })
    }
}
