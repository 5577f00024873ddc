//! What the senders and receivers of a channel share: the values that are kept, and the end at
//! which new ones come.
//!
//! There is one lock for the end, and one for each slot. Whoever needs both takes that of the end
//! first. A receiver that is behind takes only that of its slot.

use super::error::TryRecvError;
use crate::primitives::atomic::{AcqRel, Acquire, AtomicUsize, Relaxed};
use crate::primitives::{Mutex, MutexGuard};
use crate::sync::Notify;
use crate::sync::sleeper::{Sleeper, Sleepers};
use crate::sync::wakers::Wakers;
use crate::sync::written_once::WrittenOnce;
use std::alloc::Layout;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::Waker;

pub(super) struct Ring<T> {
    /// The value of position `n` is in slot `n` modulo their number. They are made for the first
    /// value, under the lock of the end.
    slots: WrittenOnce<Box<[Mutex<Slot<T>>]>>,
    /// The number of slots, a power of two.
    capacity: usize,
    end: Mutex<End>,
    // Each sender, strong or weak, has a reference of the `Arc` as well, whose counter ends the
    // process before it overflows, and so before one of these does.
    senders: AtomicUsize,
    weak_senders: AtomicUsize,
    /// Notified when the last receiver is dropped.
    deserted: Notify,
}

// Values are behind locks, and no panic leaves what is around them half changed.
impl<T> UnwindSafe for Ring<T> {}
impl<T> RefUnwindSafe for Ring<T> {}

struct Slot<T> {
    position: u64,
    /// How many receivers have not received the value. The value is there until this is zero.
    unread: usize,
    value: Option<T>,
}

/// What a slot has before its first value: nobody gets to this position.
const NEVER: u64 = u64::MAX;

struct End {
    /// The position of the next value.
    next: u64,
    /// Each has a reference of the `Arc` as well, so their number does not overflow.
    receivers: usize,
    /// All senders are dropped.
    is_closed: bool,
    sleepers: Sleepers,
}

impl<T> Ring<T> {
    /// For one sender.
    #[track_caller]
    pub(super) fn new(capacity: usize, receivers: usize) -> Self {
        assert!(capacity > 0, "the capacity of a broadcast channel must not be zero");
        assert!(
            capacity <= usize::MAX / 2,
            "the capacity of a broadcast channel must not be more than `usize::MAX / 2`"
        );
        let capacity = capacity.next_power_of_two();
        // The first value comes too late to say so.
        assert!(
            Layout::array::<Mutex<Slot<T>>>(capacity).is_ok(),
            "the capacity of a broadcast channel must fit into memory"
        );
        Self {
            slots: WrittenOnce::empty(),
            capacity,
            end: Mutex::new(End {
                next: 0,
                receivers,
                is_closed: false,
                sleepers: Sleepers::new(),
            }),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            deserted: Notify::new(),
        }
    }

    /// The slot of a position. None before the first value.
    fn slot(&self, position: u64) -> Option<&Mutex<Slot<T>>> {
        // The truncation keeps the bits that count.
        Some(&self.slots.get()?[position as usize & (self.capacity - 1)])
    }

    /// The slot of a value that was sent.
    fn slot_of_value(&self, position: u64) -> &Mutex<Slot<T>> {
        self.slot(position).expect("the first value has made the slots")
    }

    /// Makes the slots, under the lock of the end.
    #[cold]
    fn make_slots(&self) {
        let slot = || Mutex::new(Slot { position: NEVER, unread: 0, value: None });
        let slots = std::iter::repeat_with(slot).take(self.capacity).collect();
        // SAFETY: whoever calls this has the lock of the end, and has found nothing written.
        unsafe { self.slots.write(slots) };
    }

    fn capacity(&self) -> u64 {
        self.capacity as u64
    }

    /// Sends to all receivers, and returns their number; or returns the value if there are none.
    pub(super) fn send(&self, value: T) -> Result<usize, T> {
        let mut end = self.end.lock();
        let receivers = end.receivers;
        if receivers == 0 {
            return Err(value);
        }
        if !self.slots.is_written() {
            self.make_slots();
        }
        let position = end.next;
        end.next += 1;
        let new = Slot { position, unread: receivers, value: Some(value) };
        let old = std::mem::replace(&mut *self.slot_of_value(position).lock(), new);
        self.wake(end);
        // What some have missed is dropped outside of the locks.
        drop(old);
        Ok(receivers)
    }

    /// Wakes all receivers that wait by now.
    fn wake<'a>(&'a self, mut end: MutexGuard<'a, End>) {
        if end.sleepers.is_empty() {
            return;
        }
        let mut wakers = Wakers::new();
        let now = end.sleepers.now();
        while end.sleepers.take_batch(now, &mut wakers) {
            drop(end);
            wakers.wake();
            end = self.end.lock();
        }
        drop(end);
        wakers.wake();
    }

    /// Receives the value at `next`, which then is the position after it. If it was not sent yet,
    /// puts the sleeper to sleep.
    ///
    /// # Safety
    /// The sleeper is only used with this channel, and `leave` is called before it is dropped.
    pub(super) unsafe fn receive(
        &self,
        next: &mut u64,
        sleeper: Option<(Pin<&Sleeper>, &Waker)>,
    ) -> Result<T, TryRecvError>
    where
        T: Clone,
    {
        if let Some(slot) = self.slot(*next) {
            let slot = slot.lock();
            if slot.position == *next {
                *next += 1;
                return Ok(Slot::read(slot));
            }
        }
        // The clone comes before the lock, because it may run any code.
        let sleeper = sleeper.map(|(sleeper, waker)| (sleeper, waker.clone()));
        let mut end = self.end.lock();
        if *next == end.next {
            if end.is_closed {
                drop(end);
                return Err(TryRecvError::Closed);
            }
            // SAFETY: the caller promises it; `leave` removes the sleeper.
            let old = sleeper.map(|(sleeper, waker)| unsafe { end.sleepers.put(sleeper, waker) });
            drop(end);
            drop(old);
            return Err(TryRecvError::Empty);
        }
        let missed = (end.next - *next).saturating_sub(self.capacity());
        if missed > 0 {
            *next += missed;
            drop(end);
            return Err(TryRecvError::Lagged(missed));
        }
        // The value has come after the first look. Without the lock of the end, nobody replaces it
        // before its slot is locked.
        let slot = self.slot_of_value(*next).lock();
        drop(end);
        *next += 1;
        Ok(Slot::read(slot))
    }

    /// # Safety
    /// The sleeper is only used with this channel.
    pub(super) unsafe fn leave(&self, sleeper: &Sleeper) {
        if sleeper.is_queued() {
            // SAFETY: the caller promises it.
            let waker = unsafe { self.end.lock().sleepers.remove_sleeper(sleeper) };
            drop(waker);
        }
    }

    /// A new receiver. Returns the position from which on it receives.
    pub(super) fn add_receiver(&self) -> u64 {
        let mut end = self.end.lock();
        end.receivers += 1;
        end.next
    }

    /// A receiver goes that would have received from `next` on.
    pub(super) fn drop_receiver(&self, next: u64) {
        let mut end = self.end.lock();
        end.receivers -= 1;
        let (is_last, until) = (end.receivers == 0, end.next);
        drop(end);
        let next = next.max(until.saturating_sub(self.capacity()));
        Leaving { ring: self, next, until, is_last }.skip();
    }

    pub(super) fn receiver_count(&self) -> usize {
        self.end.lock().receivers
    }

    /// The position of the next value.
    pub(super) fn end(&self) -> u64 {
        self.end.lock().next
    }

    /// How many values are kept that somebody has not received.
    pub(super) fn len(&self) -> usize {
        let end = self.end.lock();
        // Receivers go from the oldest value to the newest, so what all have received comes first.
        let (mut low, mut high) = (end.next.saturating_sub(self.capacity()), end.next);
        while low < high {
            let middle = low + (high - low) / 2;
            let is_received = self.slot_of_value(middle).lock().unread == 0;
            if is_received { low = middle + 1 } else { high = middle }
        }
        // At most the number of slots.
        (end.next - low) as usize
    }

    pub(super) fn is_empty(&self) -> bool {
        let end = self.end.lock();
        // Who has received the newest value has received all.
        end.next == 0 || self.slot_of_value(end.next - 1).lock().unread == 0
    }

    /// Waits until there is no receiver.
    pub(super) async fn deserted(&self) {
        loop {
            let deserted = self.deserted.notified();
            if self.receiver_count() == 0 {
                return;
            }
            deserted.await;
        }
    }

    pub(super) fn sender_count(&self) -> usize {
        // Acquire: pairs with `drop_sender`: who sees that a sender is gone sees what it sent.
        self.senders.load(Acquire)
    }

    pub(super) fn weak_sender_count(&self) -> usize {
        // Relaxed: it stands for nothing else.
        self.weak_senders.load(Relaxed)
    }

    pub(super) fn add_sender(&self) {
        // Relaxed: the caller has a sender, and publishes nothing.
        self.senders.fetch_add(1, Relaxed);
    }

    /// False if there was no sender any more.
    pub(super) fn add_sender_if_any(&self) -> bool {
        let more = |count| if count == 0 { None } else { Some(count + 1) };
        // Acquire: pairs with `drop_sender`, as in `sender_count`.
        self.senders.fetch_update(Acquire, Acquire, more).is_ok()
    }

    pub(super) fn drop_sender(&self) {
        // Release: pairs with `sender_count`. Acquire: the last one closes after what all others
        // did.
        if self.senders.fetch_sub(1, AcqRel) == 1 {
            let mut end = self.end.lock();
            end.is_closed = true;
            self.wake(end);
        }
    }

    pub(super) fn add_weak_sender(&self) {
        // Relaxed: it stands for nothing else.
        self.weak_senders.fetch_add(1, Relaxed);
    }

    pub(super) fn drop_weak_sender(&self) {
        // Relaxed: it stands for nothing else.
        self.weak_senders.fetch_sub(1, Relaxed);
    }
}

impl<T> Slot<T> {
    /// Clones the value for a receiver that was counted as one that has not received it. The last
    /// one clones it without the lock, and then drops it.
    fn read(mut slot: MutexGuard<'_, Self>) -> T
    where
        T: Clone,
    {
        // Before the clone, which may panic.
        slot.unread -= 1;
        let clone = if slot.unread == 0 {
            let value = slot.value.take();
            drop(slot);
            value.clone()
        } else {
            slot.value.clone()
        };
        clone.expect("a value that somebody has not received is there")
    }
}

/// A receiver that goes, and what it did not receive: the values at `next..until`.
struct Leaving<'a, T> {
    ring: &'a Ring<T>,
    next: u64,
    until: u64,
    is_last: bool,
}

impl<T> Leaving<'_, T> {
    fn skip(&mut self) {
        while self.next < self.until {
            let mut slot = self.ring.slot_of_value(self.next).lock();
            let mut dropped = None;
            if slot.position == self.next {
                slot.unread -= 1;
                if slot.unread == 0 {
                    dropped = slot.value.take();
                }
            }
            self.next += 1;
            drop(slot);
            // Outside of the lock, and when this is in order: it may run any code.
            drop(dropped);
        }
    }
}

impl<T> Drop for Leaving<'_, T> {
    fn drop(&mut self) {
        if self.next < self.until {
            // The destructor of a value has panicked.
            self.skip();
        }
        if self.is_last {
            self.ring.deserted.notify_waiters_guarded();
        }
    }
}
