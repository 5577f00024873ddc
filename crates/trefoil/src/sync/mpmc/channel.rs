//! A channel: what it holds, who waits at it, and how an item passes from one side to the other.

use super::selector::{Claimed, Node, claim_first};
use crate::primitives::atomic::{AcqRel, Acquire, AtomicUsize, Relaxed};
use crate::primitives::{Mutex, MutexGuard, UnsafeCell};
use crate::sync::Notify;
use crate::sync::wait_list::WaitList;
use crate::sync::wakers::Wakers;
use std::collections::VecDeque;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::Waker;

/// The capacity of a channel without one. A `VecDeque` cannot hold as many.
pub(super) const UNBOUNDED: usize = usize::MAX;

pub(super) struct Channel<T> {
    /// Guards the state. It is apart, so that a selector can hold the locks of channels of any
    /// types.
    lock: Mutex<()>,
    state: UnsafeCell<State<T>>,
    // Each sender and each receiver has a reference of the `Arc` as well, whose counter ends the
    // process before it overflows, and so before one of these does.
    senders: AtomicUsize,
    receivers: AtomicUsize,
    /// Notified when the channel is closed.
    closed: Notify,
}

// SAFETY: the lock gives the state to one thread at a time. Items move between threads, and are
// never shared, so `T: Send` is enough.
unsafe impl<T: Send> Send for Channel<T> {}
// SAFETY: the lock gives the state to one thread at a time; `T: Send` is enough, because items are
// never shared.
unsafe impl<T: Send> Sync for Channel<T> {}
impl<T> UnwindSafe for Channel<T> {}
// No foreign code runs under the lock, so no panic leaves the state half changed.
impl<T> RefUnwindSafe for Channel<T> {}

/// Receivers wait only while the buffer is empty and no sender waits; senders wait only while the
/// buffer is full. (Nodes that are stale do not count.) So nobody overtakes who waits.
pub(super) struct State<T> {
    buffer: VecDeque<T>,
    capacity: usize,
    is_closed: bool,
    receiving: WaitList<Node<T>>,
    sending: WaitList<Node<T>>,
}

/// Why an item was not taken, or not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The channel is full, or empty: the other side has to come first.
    NotNow,
    Closed,
}

impl<T> State<T> {
    /// Gives an item to whoever has waited for one the longest, or else to the buffer. Returns the
    /// waker to be woken outside of the lock.
    pub(super) fn send(&mut self, item: T) -> Result<Option<Waker>, (T, Refusal)> {
        if self.is_closed {
            return Err((item, Refusal::Closed));
        }
        if let Some(receiver) = claim_first(&mut self.receiving) {
            return Ok(receiver.finish(|its| *its = Some(item)).1);
        }
        if self.buffer.len() < self.capacity {
            self.buffer.push_back(item);
            return Ok(None);
        }
        Err((item, Refusal::NotNow))
    }

    /// Takes the oldest item. Whoever has waited the longest to send takes its place in the buffer.
    /// Returns its waker as well, to be woken outside of the lock.
    pub(super) fn receive(&mut self) -> Result<(T, Option<Waker>), Refusal> {
        let Some(item) = self.buffer.pop_front() else {
            let Some(sender) = claim_first(&mut self.sending) else {
                return Err(if self.is_closed { Refusal::Closed } else { Refusal::NotNow });
            };
            return Ok(take(sender));
        };
        // An item that was given back may have filled the buffer beyond its capacity.
        if self.buffer.len() < self.capacity
            && let Some(sender) = claim_first(&mut self.sending)
        {
            let (next, waker) = take(sender);
            self.buffer.push_back(next);
            return Ok((item, waker));
        }
        Ok((item, None))
    }

    /// Gives back an item that a receiver was given and did not take: to the next receiver that
    /// waits, or else to the front of the buffer, also if that is full. Returns the waker to be
    /// woken outside of the lock.
    pub(super) fn give_back(&mut self, item: T) -> Option<Waker> {
        match claim_first(&mut self.receiving) {
            Some(receiver) => receiver.finish(|its| *its = Some(item)).1,
            None => {
                self.buffer.push_front(item);
                None
            }
        }
    }

    pub(super) fn receiving(&mut self) -> &mut WaitList<Node<T>> {
        &mut self.receiving
    }

    pub(super) fn sending(&mut self) -> &mut WaitList<Node<T>> {
        &mut self.sending
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub(super) fn len(&self) -> usize {
        self.buffer.len()
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }
}

/// The item of a sender that waits.
fn take<T>(sender: Claimed<T>) -> (T, Option<Waker>) {
    let (item, waker) = sender.finish(Option::take);
    (item.expect("a sender that waits has its item"), waker)
}

impl<T> Channel<T> {
    /// For one sender and one receiver.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            lock: Mutex::new(()),
            state: UnsafeCell::new(State {
                buffer: VecDeque::new(),
                capacity,
                is_closed: false,
                receiving: WaitList::new(),
                sending: WaitList::new(),
            }),
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(1),
            closed: Notify::new(),
        }
    }

    pub(super) fn lock(&self) -> &Mutex<()> {
        &self.lock
    }

    /// # Safety
    /// The lock is held, and `f` neither uses this channel nor runs foreign code.
    pub(super) unsafe fn with_lock_held<R>(&self, f: impl FnOnce(&mut State<T>) -> R) -> R {
        self.state.with_mut(|state| {
            // SAFETY: the lock is held, and `f` makes no other reference to the state.
            f(unsafe { &mut *state })
        })
    }

    /// Takes the lock for `f`, which neither uses this channel nor runs foreign code.
    pub(super) fn locked<R>(&self, f: impl FnOnce(&mut State<T>) -> R) -> R {
        let _held: MutexGuard<'_, ()> = self.lock.lock();
        // SAFETY: the lock is held; the rest is up to this module's siblings, which pass closures
        // that call methods of `State` and of lists.
        unsafe { self.with_lock_held(f) }
    }

    /// Refuses all that is sent from now on. Returns whether the channel was open. Those who wait
    /// are woken; the lock is released after each batch of them.
    pub(super) fn close(&self) -> bool {
        let was_open = self.locked(|state| !std::mem::replace(&mut state.is_closed, true));
        if was_open {
            let mut wakers = Wakers::new();
            // Nobody begins to wait at a closed channel, so this ends.
            while self.locked(|state| state.end_a_batch(&mut wakers)) {
                wakers.wake();
            }
            wakers.wake();
            self.closed.notify_waiters_guarded();
        }
        was_open
    }

    pub(super) async fn closed(&self) {
        loop {
            let closed = self.closed.notified();
            if self.locked(|state| state.is_closed()) {
                return;
            }
            closed.await;
        }
    }

    pub(super) fn sender_count(&self) -> usize {
        // Acquire: pairs with `drop_sender`.
        self.senders.load(Acquire)
    }

    pub(super) fn receiver_count(&self) -> usize {
        // Acquire: pairs with `drop_receiver`.
        self.receivers.load(Acquire)
    }

    pub(super) fn add_sender(&self) {
        // Relaxed: it publishes nothing.
        self.senders.fetch_add(1, Relaxed);
    }

    pub(super) fn add_receiver(&self) {
        // Relaxed: it publishes nothing.
        self.receivers.fetch_add(1, Relaxed);
    }

    pub(super) fn drop_sender(&self) {
        // AcqRel: the last one closes after what all others did.
        if self.senders.fetch_sub(1, AcqRel) == 1 {
            self.close();
        }
    }

    pub(super) fn drop_receiver(&self) {
        // AcqRel: the last one closes after what all others did.
        if self.receivers.fetch_sub(1, AcqRel) == 1 {
            self.close();
            // Nobody can receive these. They are dropped outside of the lock.
            drop(self.locked(|state| std::mem::take(&mut state.buffer)));
        }
    }
}

impl<T> State<T> {
    /// Tells one batch of those who wait that the channel is closed: receivers get no item, and
    /// senders keep theirs. Returns whether there may be more.
    fn end_a_batch(&mut self, wakers: &mut Wakers) -> bool {
        while wakers.room() > 0 {
            let list =
                if self.receiving.is_empty() { &mut self.sending } else { &mut self.receiving };
            if list.is_empty() {
                return false;
            }
            if let Some(claimed) = claim_first(list)
                && let ((), Some(waker)) = claimed.finish(|_| ())
            {
                wakers.add(waker);
            }
        }
        true
    }
}
