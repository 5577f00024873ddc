//! The slot of one source: its readiness, and who waits for it.
//!
//! # The word
//!
//! ```text
//!   63        40 39        16 9       8      7         0
//!   generation   tick         urgent  over   readiness
//! ```
//!
//! All of it changes by RMWs, so its changes have one order.
//!
//! **Readiness** is set by events (`announce`), and by the maker of a source (`assume`) whose first
//! calls need not wait for an event. It is cleared by operations that the system has turned
//! down (`clear`). The system reports edges: what it has reported once it does not repeat. So a
//! readiness that is cleared by mistake is a task that sleeps for ever.
//!
//! **The tick** counts the events, which makes clearing exact. An operation reads the word, tries
//! its call, and if that would block, clears the readiness if the tick is still the same:
//!
//! - An event that came to the word after it was read has changed the tick, and nothing is cleared.
//!   The operation is tried once more, maybe in vain.
//! - If the tick is the same, then all events that came to the word did so before it was read, and
//!   so before the call. The call has seen whatever they announced. An edge that comes to the
//!   system after the call, or has come before but not to the word yet, will come to the word later
//!   than the clearing.
//!
//! The tick would mislead if it came round in between. For that, a thread would have to pause
//! between its call and the clearing for exactly 2²⁴ events of one source.
//!
//! **The generation** is that of the source. Slots are used again, and never freed while the
//! reactor lives. An event names the slot and the generation. `vacate` changes the generation in
//! the same word that `announce` looks at: an event for a source that is gone is dropped, whether
//! it was read from the system before the source left, or the system still reports it because the
//! file has another descriptor. When generations come round, such an event is at worst one that
//! announces what is not there, and costs one call.
//!
//! # Who waits
//!
//! `announce` changes the word and then takes the wakers, under the lock. Whoever waits leaves its
//! waker under the lock and then looks at the word, before it lets go of the lock. If the waker
//! came too late to be taken, the lock was held later, and so the word is seen changed.

use super::{Interest, Ready, Wakes};
use crate::primitives::Mutex;
use crate::primitives::atomic::{AcqRel, Acquire, AtomicU64};
use crate::task::task_of;
use std::task::Waker;

const READY: u64 = 0xff;
/// The runtime has shut down: everything is ready, and fails.
const OVER: u64 = 1 << 8;
/// The source has had urgent data. This is never cleared.
const URGENT: u64 = 1 << 9;
const TICK_SHIFT: u32 = 16;
#[cfg(not(loom))]
const TICK_BITS: u32 = 24;
/// Small, so that a model could see it come round if it mattered.
#[cfg(loom)]
const TICK_BITS: u32 = 3;
const TICK: u64 = ((1 << TICK_BITS) - 1) << TICK_SHIFT;
const GENERATION_SHIFT: u32 = 40;
pub(super) const GENERATION_BITS: u32 = if usize::BITS >= 64 { 24 } else { 11 };
const GENERATIONS: u64 = 1 << GENERATION_BITS;
/// For how many waiters on the list a vacant slot keeps memory.
const KEPT: usize = 4;

/// The side of a source that the `poll_*` functions wait at. Each has one waker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl Direction {
    fn interest(self) -> Interest {
        match self {
            Self::Read => Interest::READABLE,
            Self::Write => Interest::WRITABLE,
        }
    }

    /// What ends a wait at this side. An error does so on both, because the next operation fetches
    /// it.
    pub(crate) fn mask(self) -> Ready {
        self.interest().mask() | Ready::UNFETCHED
    }

    /// What lets a call at this side go ahead.
    pub(crate) fn calls(self) -> Ready {
        Ready::of_calls(self.interest())
    }
}

/// What was ready at some moment, which [`Slot::clear`] has to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) ready: Ready,
    pub(crate) is_over: bool,
    /// Whether the source has had urgent data by then.
    pub(crate) was_urgent: bool,
    tick: u64,
}

impl Event {
    fn of(word: u64, mask: Ready) -> Self {
        Self {
            ready: ready(word) & mask,
            is_over: word & OVER != 0,
            was_urgent: word & URGENT != 0,
            tick: tick(word),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Slot {
    word: AtomicU64,
    waiters: Mutex<Waiters>,
}

#[derive(Debug, Default)]
struct Waiters {
    read: Option<Waker>,
    write: Option<Waker>,
    /// Those that wait for any readiness of theirs, by ascending numbers.
    list: Vec<Waiter>,
    /// How many entries of the list are empty, because they were given up.
    gone: usize,
    /// The number of the next one.
    next: u64,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    mask: Ready,
    waker: Option<Waker>,
}

fn tick(word: u64) -> u64 {
    word & TICK
}

fn generation(word: u64) -> u64 {
    word >> GENERATION_SHIFT
}

fn ready(word: u64) -> Ready {
    Ready::from_bits((word & READY) as u8)
}

impl Slot {
    pub(super) fn new() -> Self {
        Self { word: AtomicU64::new(0), waiters: Mutex::new(Waiters::default()) }
    }

    /// Which generation of sources the slot serves.
    pub(super) fn generation(&self) -> u64 {
        // Acquire: as everywhere, though only the owner of the slot changes it.
        generation(self.word.load(Acquire))
    }

    /// What of `mask` is ready.
    #[inline]
    pub(super) fn event(&self, mask: Ready) -> Option<Event> {
        // Acquire: pairs with `announce`. The call that follows comes after the event.
        let event = Event::of(self.word.load(Acquire), mask);
        (event.is_over || !event.ready.is_empty()).then_some(event)
    }

    /// An event that is as old as the slot's word is now, for a call that is made without waiting.
    pub(super) fn now(&self, mask: Ready) -> Event {
        // Acquire: as in `event`.
        Event::of(self.word.load(Acquire), mask)
    }

    /// The source is new, and its maker knows what may be ready before an event says so. The tick
    /// stays, so an event that comes meanwhile counts.
    pub(super) fn assume(&self, now: Ready) {
        // AcqRel: as in `announce`.
        self.word.fetch_or(u64::from(now.bits()), AcqRel);
    }

    /// An event has come for a source of the given generation.
    pub(super) fn announce(&self, of: u64, now: Ready, wakes: &mut Wakes) {
        let now = if now.is_error() { now | Ready::UNFETCHED } else { now };
        let set = u64::from(now.bits()) | if now.is_urgent() { URGENT } else { 0 };
        let change = |word: u64| {
            let next = word.wrapping_add(1 << TICK_SHIFT) & TICK;
            (generation(word) == of).then_some((word & !TICK) | next | set)
        };
        // AcqRel: Release pairs with `event`; Acquire continues what other RMWs have released.
        if self.word.fetch_update(AcqRel, Acquire, change).is_ok() {
            self.waiters.lock().take(now, wakes);
        }
    }

    /// An operation that went ahead because of `event` would have to wait: what it has relied on is
    /// no more, unless there was a newer event.
    pub(super) fn clear(&self, event: Event) {
        self.take_back(event, event.ready.clearable());
    }

    /// As [`clear`](Self::clear), for a source that never closes: what looked like an end was an
    /// error, and passes.
    pub(super) fn clear_all(&self, event: Event) {
        self.take_back(event, event.ready);
    }

    /// As [`clear`](Self::clear), where what looked like the end of writes was an error.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn clear_but_reads_end(&self, event: Event) {
        self.take_back(event, event.ready - Ready::READ_CLOSED);
    }

    fn take_back(&self, event: Event, gone: Ready) {
        let gone = u64::from(gone.bits());
        if gone == 0 {
            return;
        }
        let change = |word: u64| (tick(word) == event.tick).then_some(word & !gone);
        // AcqRel: as in `announce`. An error says that there was a newer event.
        let _ = self.word.fetch_update(AcqRel, Acquire, change);
    }

    /// As [`event`](Self::event). If there is none, leaves the waker on that side. The mask is one
    /// of that side's two.
    #[inline]
    pub(super) fn wait(&self, direction: Direction, mask: Ready, waker: &Waker) -> Option<Event> {
        match self.event(mask) {
            None => self.leave_waker(direction, mask, waker),
            event => event,
        }
    }

    /// Most operations need not wait, so this part is a call.
    #[inline(never)]
    fn leave_waker(&self, direction: Direction, mask: Ready, waker: &Waker) -> Option<Event> {
        let mut waiters = self.waiters.lock();
        match waiters.side(direction) {
            Some(old) if old.will_wake(waker) => return self.event(mask),
            // Almost always: the event that has brought the task here took its waker along. To
            // clone the waker of a task of ours is one operation of ours, which the lock allows.
            place @ None if task_of(waker).is_some() => {
                *place = Some(waker.clone());
                return self.event(mask);
            }
            _ => {}
        }
        // Other clones and drops are foreign code, and so not under the lock.
        drop(waiters);
        let new = waker.clone();
        waiters = self.waiters.lock();
        let old = waiters.side(direction).replace(new);
        let event = self.event(mask);
        drop(waiters);
        drop(old);
        event
    }

    /// As [`event`](Self::event). If there is none, leaves the waker on the list, in the place that
    /// `place` names, or in a new one.
    pub(super) fn wait_on_list(
        &self,
        mask: Ready,
        place: &mut Option<u64>,
        waker: &Waker,
    ) -> Option<Event> {
        if let Some(event) = self.event(mask) {
            return Some(event);
        }
        let mut waiters = self.waiters.lock();
        if waiters.find(*place).is_some_and(|old| old.will_wake(waker)) {
            return self.event(mask);
        }
        // As in `wait`.
        drop(waiters);
        let new = waker.clone();
        waiters = self.waiters.lock();
        let old = match waiters.find(*place) {
            Some(old) => Some(std::mem::replace(old, new)),
            None => {
                *place = Some(waiters.push(mask, new));
                None
            }
        };
        let event = self.event(mask);
        drop(waiters);
        drop(old);
        event
    }

    /// Gives a place on the list up.
    pub(super) fn leave_list(&self, place: u64) {
        let waker = self.waiters.lock().remove(place);
        drop(waker);
    }

    /// The runtime has shut down.
    pub(super) fn end(&self, wakes: &mut Wakes) {
        // AcqRel: as in `announce`.
        self.word.fetch_or(OVER, AcqRel);
        self.waiters.lock().take(Ready::ALL, wakes);
    }

    /// The source leaves: no event reaches its successor. Wakers that are left are dropped by the
    /// caller.
    pub(super) fn vacate(&self, wakes: &mut Vec<Waker>) {
        let change = |word: u64| {
            let next = (generation(word) + 1) % GENERATIONS;
            Some((next << GENERATION_SHIFT) | (word & OVER))
        };
        // AcqRel: as in `announce`.
        let changed = self.word.fetch_update(AcqRel, Acquire, change);
        debug_assert!(changed.is_ok(), "it is changed in any case");
        let mut waiters = self.waiters.lock();
        wakes.extend(waiters.read.take());
        wakes.extend(waiters.write.take());
        wakes.extend(waiters.list.drain(..).filter_map(|waiter| waiter.waker));
        waiters.gone = 0;
        // The slot is never freed, and need not keep the memory of a crowd.
        waiters.list.shrink_to(KEPT);
    }
}

impl Waiters {
    fn side(&mut self, direction: Direction) -> &mut Option<Waker> {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
        }
    }

    fn find(&mut self, number: Option<u64>) -> Option<&mut Waker> {
        let number = number?;
        let index = self.list.binary_search_by_key(&number, |waiter| waiter.number).ok()?;
        self.list[index].waker.as_mut()
    }

    fn push(&mut self, mask: Ready, waker: Waker) -> u64 {
        let number = self.next;
        self.next += 1;
        self.list.push(Waiter { number, mask, waker: Some(waker) });
        number
    }

    /// Entries that are given up are removed in numbers, so that each costs little however long the
    /// list is.
    fn remove(&mut self, number: u64) -> Option<Waker> {
        let index = self.list.binary_search_by_key(&number, |waiter| waiter.number).ok()?;
        let waker = self.list[index].waker.take();
        self.gone += usize::from(waker.is_some());
        if 2 * self.gone > self.list.len() {
            self.list.retain(|waiter| waiter.waker.is_some());
            self.gone = 0;
        }
        waker
    }

    /// Moves to `wakes` who waits for something of `now`.
    fn take(&mut self, now: Ready, wakes: &mut Wakes) {
        for direction in [Direction::Read, Direction::Write] {
            if direction.mask().intersects(now)
                && let Some(waker) = self.side(direction).take()
            {
                wakes.push(waker);
            }
        }
        if self.list.is_empty() {
            return;
        }
        self.list.retain_mut(|waiter| {
            let is_answered = waiter.mask.intersects(now);
            if is_answered && let Some(waker) = waiter.waker.take() {
                wakes.push(waker);
            }
            waiter.waker.is_some()
        });
        self.gone = 0;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_was_not_tried_yet_lets_calls_go_ahead_and_ends_no_wait() {
        let slot = Slot::new();
        slot.assume(Ready::UNTRIED);
        let side = Direction::Read;
        assert!(slot.wait(side, side.mask(), Waker::noop()).is_none());
        assert!(slot.event(Ready::ALL).is_none());
        assert!(slot.wait(Direction::Write, Direction::Write.calls(), Waker::noop()).is_none());
        let event = slot.wait(side, side.calls(), Waker::noop()).unwrap();
        assert!(!event.ready.is_readable());
        slot.clear(event);
        assert!(slot.wait(side, side.calls(), Waker::noop()).is_none());
    }

    /// An error is for two kinds of waiters: calls, which try once, and those who ask for errors.
    #[test]
    fn a_call_that_would_block_clears_no_error_of_those_who_ask_for_it() {
        for clear in [Slot::clear, Slot::clear_all] {
            let slot = Slot::new();
            let mut place = None;
            let errors = Interest::ERROR.mask();
            assert!(slot.wait_on_list(errors, &mut place, Waker::noop()).is_none());
            slot.announce(0, Ready::WRITABLE | Ready::ERROR, &mut Wakes::default());
            // Its waker was taken, and it is not polled yet. A reader is faster.
            let reads = Direction::Read.calls();
            let event = slot.event(reads).expect("an error lets a read go ahead");
            clear(&slot, event);
            assert!(slot.event(reads).is_none(), "the read is tried once");
            let errors = slot.wait_on_list(errors, &mut place, Waker::noop());
            assert!(errors.is_some(), "nobody has fetched the error");
        }
    }

    #[test]
    fn a_vacant_slot_keeps_no_memory_of_a_crowd() {
        let slot = Slot::new();
        for waiters in [KEPT, 10_000] {
            for _ in 0..waiters {
                assert!(slot.wait_on_list(Ready::ALL, &mut None, Waker::noop()).is_none());
            }
            let mut wakers = Vec::new();
            slot.vacate(&mut wakers);
            assert_eq!(wakers.len(), waiters);
            let capacity = slot.waiters.lock().list.capacity();
            assert!((1..=KEPT).contains(&capacity), "{capacity}");
        }
    }
}
