//! One registered timer, and who may touch what of it.
//!
//! A timer is known to two parties: its *holder*, the `Sleep`, which may be on
//! any thread, and its queue's *owner*, the thread that fires it. Mostly they
//! are the same thread, and then nothing here costs an atomic
//! read-modify-write. When they are not, the state word decides:
//!
//! | from | to | by | which then |
//! |---|---|---|---|
//! | `IDLE` | `WAITING` | holder, on the owner's thread | has put it on the wheel |
//! | `IDLE` | `SENT` | holder, elsewhere | mails it to the owner |
//! | `SENT` | `WAITING` | owner, by exchange | has put it on the wheel |
//! | `WAITING` | `FIRED`, or `ORPHANED` when the queue closes | owner, by exchange | has the waker, and never touches the entry again |
//! | `WAITING`, `SENT` | `CANCELLED` | holder, by exchange | has the waker, and never touches the entry again, except to mail it to the owner if it was `WAITING` |
//! | `WAITING` | freed | holder, on the owner's thread | has taken it off the wheel |
//! | `FIRED`, `ORPHANED` | freed | holder | |
//! | `CANCELLED` | freed | owner, when it comes to it in its mail; the holder, if the queue takes no mail any more | |
//!
//! So exactly one side gets the waker, and exactly one frees the entry. The
//! waker is written before the entry is known to anybody else, and from then on
//! only copied; the exchange says whose copy counts. Until then the other copy
//! is not a waker, just bytes.

use super::queue::TimerQueue;
use super::wheel::Node;
use crate::runtime::item::{Item, Link};
use crate::sync::UnsafeCell;
use crate::sync::atomic::{AcqRel, Acquire, AtomicU32, Relaxed, Release};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;

/// Where an entry is in its life: see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum State {
    Idle,
    Waiting,
    Sent,
    Fired,
    Cancelled,
    Orphaned,
}

impl State {
    fn from_bits(bits: u32) -> Self {
        [Self::Idle, Self::Waiting, Self::Sent, Self::Fired, Self::Cancelled, Self::Orphaned]
            [bits as usize]
    }
}

#[derive(Debug)]
#[repr(C)]
pub(super) struct Entry {
    /// For the owner's mail. First, so that an item is an entry.
    link: Link,
    state: AtomicU32,
    /// The owner's.
    pub(super) node: UnsafeCell<Node>,
    waker: UnsafeCell<MaybeUninit<Waker>>,
    queue: Arc<TimerQueue>,
}

impl Entry {
    /// An entry of its own, in the hands of a holder. For good: `free` ends it.
    pub(super) fn new(queue: &Arc<TimerQueue>) -> NonNull<Self> {
        let entry = Box::new(Self {
            link: Link::new(),
            state: AtomicU32::new(State::Idle as u32),
            node: UnsafeCell::new(Node::new()),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
            queue: Arc::clone(queue),
        });
        NonNull::from(Box::leak(entry))
    }

    /// # Safety
    /// It came from `new`, has no waker, and nobody else will touch it again.
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
        // Acquire: pairs with the owner's exchange, after which it does not
        // touch the entry any more.
        State::from_bits(self.state.load(Acquire))
    }

    /// By whoever has the entry for itself.
    #[inline]
    pub(super) fn set_state(&self, state: State) {
        // Release: for a holder that reads it elsewhere.
        self.state.store(state as u32, Release);
    }

    /// False if the holder was faster; then nothing has changed.
    pub(super) fn exchange(&self, from: State, to: State) -> bool {
        // Release: the owner's last touch is before the holder's next.
        // Acquire: the holder's exchange is before our mail.
        self.state.compare_exchange(from as u32, to as u32, AcqRel, Relaxed).is_ok()
    }

    /// By the holder, away from the owner; returns the state before.
    pub(super) fn cancel(&self) -> State {
        // Acquire: pairs with the owner's exchange, if that came first.
        // Release: pairs with the owner's exchange, if that fails.
        State::from_bits(self.state.swap(State::Cancelled as u32, AcqRel))
    }

    /// Gives an entry that has no waker one.
    ///
    /// # Safety
    /// Nobody else knows the entry, or all that do are on this thread.
    #[inline]
    pub(super) unsafe fn put_waker(&self, waker: Waker) {
        self.waker.with_mut(|cell| {
            // SAFETY: the caller's promise; what was there is no waker.
            unsafe { *cell = MaybeUninit::new(waker) }
        });
    }

    /// The waker's bytes: it is a waker once an exchange has said that this is
    /// the copy that counts.
    #[inline]
    pub(super) fn copy_waker(&self) -> MaybeUninit<Waker> {
        // SAFETY: it is written only while nobody else knows the entry, or by
        // a holder on the owner's thread, which is the only other reader.
        self.waker.with(|cell| unsafe { std::ptr::read(cell) })
    }

    /// Whether it waits for the same task as `waker`.
    ///
    /// # Safety
    /// The caller is the holder, and has put a waker there.
    #[inline]
    pub(super) unsafe fn will_wake(&self, waker: &Waker) -> bool {
        self.waker.with(|cell| {
            // SAFETY: the bytes are those that the holder wrote. Should the
            // owner have taken their meaning, the answer does not matter, and
            // to compare them is all that is done.
            unsafe { &*cell.cast::<Waker>() }.will_wake(waker)
        })
    }

    /// For the owner's mail.
    ///
    /// # Safety
    /// The entry is in no mail, and stays live until it was received.
    pub(super) unsafe fn into_item(entry: NonNull<Self>) -> Item {
        // SAFETY: the link is the entry's first field and lives as long. What
        // an entry holds may be used by any thread: wakers are `Send`.
        unsafe { Item::from_link(entry.cast()) }
    }

    /// # Safety
    /// The item is an entry.
    pub(super) unsafe fn from_item(item: Item) -> NonNull<Self> {
        item.into_link().cast()
    }
}
