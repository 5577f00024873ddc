//! What the senders and receivers of a channel share.

use crate::primitives::atomic::{AcqRel, Acquire, AtomicU64, AtomicUsize, Relaxed};
use crate::primitives::{Mutex, RwLock};
use crate::sync::Notify;
use crate::sync::sleeper::{Sleeper, Sleepers};
use crate::sync::wakers::Wakers;
use std::fmt;
use std::pin::Pin;
use std::task::Waker;

/// All senders are dropped.
const CLOSED: u64 = 1;
/// Receivers may wait: whoever changes the state has to wake them. Only changed under the lock of
/// the list.
const AWAITED: u64 = 1 << 1;
/// The unit of the number of the value. 62 bits do not overflow in the life of a machine.
const NEXT: u64 = 1 << 2;

/// The number of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version(u64);

impl Version {
    pub(super) const FIRST: Self = Self(0);

    /// A version that is not this one.
    pub(super) fn before(self) -> Self {
        Self(self.0.wrapping_sub(NEXT))
    }
}

/// A look at the state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen(u64);

impl Seen {
    pub(super) fn version(self) -> Version {
        Version(self.0 & !(CLOSED | AWAITED))
    }

    pub(super) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }
}

pub(super) struct Shared<T> {
    pub(super) value: RwLock<T>,
    /// The version of the value, and two bits. The version is changed while the value is locked for
    /// writing. Only changed by RMWs, whose one order is what the protocol rests on: a receiver
    /// that sets `AWAITED` sees the change in what it replaces, or the change sees `AWAITED`.
    state: AtomicU64,
    sleepers: Mutex<Sleepers>,
    // Each receiver and each sender has a reference of the `Arc` as well, whose counter ends the
    // process before it overflows, and so before one of these does.
    receivers: AtomicUsize,
    senders: AtomicUsize,
    /// Notified when the last receiver is dropped.
    pub(super) deserted: Notify,
}

impl<T> Shared<T> {
    /// For one sender and one receiver.
    pub(super) fn new(init: T) -> Self {
        Self {
            value: RwLock::new(init),
            state: AtomicU64::new(Version::FIRST.0),
            sleepers: Mutex::new(Sleepers::new()),
            receivers: AtomicUsize::new(1),
            senders: AtomicUsize::new(1),
            deserted: Notify::new(),
        }
    }

    pub(super) fn look(&self) -> Seen {
        // Acquire: pairs with the AcqRel of `change`. Who sees the change sees what came before it.
        Seen(self.state.load(Acquire))
    }

    /// Numbers a new value. The caller has locked the value, and then calls `wake` if this is true.
    #[must_use]
    pub(super) fn change(&self) -> bool {
        // Release: pairs with `look` and `begin_to_wait`.
        self.state.fetch_add(NEXT, AcqRel) & AWAITED != 0
    }

    fn close(&self) {
        // Release: pairs with `look` and `begin_to_wait`.
        if self.state.fetch_or(CLOSED, AcqRel) & AWAITED != 0 {
            self.wake();
        }
    }

    /// Wakes all receivers that wait by now.
    #[cold]
    pub(super) fn wake(&self) {
        let mut wakers = Wakers::new();
        let mut sleepers = self.sleepers.lock();
        let now = sleepers.now();
        while sleepers.take_batch(now, &mut wakers) {
            drop(sleepers);
            wakers.wake();
            sleepers = self.sleepers.lock();
        }
        self.note_if_empty(&sleepers);
        drop(sleepers);
        wakers.wake();
    }

    fn note_if_empty(&self, sleepers: &Sleepers) {
        if sleepers.is_empty() {
            // Relaxed: it hands nothing over. The lock orders it with `begin_to_wait`.
            self.state.fetch_and(!AWAITED, Relaxed);
        }
    }

    /// Puts a receiver that has seen `version` to sleep, unless there is a newer one or the channel
    /// is closed; then returns false.
    ///
    /// # Safety
    /// `sleeper` is only used with this channel, and `leave` is called before it is dropped.
    pub(super) unsafe fn begin_to_wait(
        &self,
        version: Version,
        sleeper: Pin<&Sleeper>,
        waker: &Waker,
    ) -> bool {
        // The clone comes before the lock, because it may run any code.
        let waker = waker.clone();
        let mut sleepers = self.sleepers.lock();
        // Acquire: pairs with `change`. A later change sees the bit, and its sender then waits for
        // the lock.
        let seen = Seen(self.state.fetch_or(AWAITED, AcqRel));
        if seen.version() != version || seen.is_closed() {
            self.note_if_empty(&sleepers);
            drop(sleepers);
            return false;
        }
        // SAFETY: the caller promises it; `leave` removes the sleeper.
        let old = unsafe { sleepers.put(sleeper, waker) };
        drop(sleepers);
        drop(old);
        true
    }

    /// # Safety
    /// `sleeper` is only used with this channel.
    pub(super) unsafe fn leave(&self, sleeper: &Sleeper) {
        if !sleeper.is_queued() {
            return;
        }
        let mut sleepers = self.sleepers.lock();
        // SAFETY: the caller promises it.
        let waker = unsafe { sleepers.remove_sleeper(sleeper) };
        self.note_if_empty(&sleepers);
        drop(sleepers);
        drop(waker);
    }

    pub(super) fn receiver_count(&self) -> usize {
        // Acquire: pairs with `drop_receiver`: who sees that a receiver is gone sees what it did.
        self.receivers.load(Acquire)
    }

    pub(super) fn sender_count(&self) -> usize {
        // Acquire: pairs with `drop_sender`.
        self.senders.load(Acquire)
    }

    pub(super) fn add_receiver(&self) {
        // Relaxed: it publishes nothing.
        self.receivers.fetch_add(1, Relaxed);
    }

    pub(super) fn drop_receiver(&self) {
        // Release: pairs with `receiver_count`.
        if self.receivers.fetch_sub(1, AcqRel) == 1 {
            self.deserted.notify_waiters_guarded();
        }
    }

    pub(super) fn add_sender(&self) {
        // Relaxed: it publishes nothing.
        self.senders.fetch_add(1, Relaxed);
    }

    pub(super) fn drop_sender(&self) {
        // AcqRel: the last sender closes after what all others did.
        if self.senders.fetch_sub(1, AcqRel) == 1 {
            self.close();
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.look();
        f.debug_struct("Shared")
            .field("value", &self.value)
            .field("version", &(seen.version().0 / NEXT))
            .field("is_closed", &seen.is_closed())
            .finish_non_exhaustive()
    }
}
