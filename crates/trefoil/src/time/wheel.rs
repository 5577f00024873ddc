//! A hierarchical timing wheel (Varghese and Lauck, 1987): six levels of 64 slots.
//!
//! Level `l` has slots of `64^l` ticks. A timer is put on the lowest level whose current rotation
//! covers its tick. When a slot comes up, its list is taken out as a whole, and each step then
//! looks at one of the timers: the timer is due, or it moves to a lower level. So even a slot with
//! a million timers makes no step longer. A bit per slot says whether the slot holds anything, so
//! the next slot is found with six shifts.

use super::entry::Entry;
use std::ptr::NonNull;

const LEVELS: usize = 6;
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
/// The range of all levels together, in ticks.
const RANGE: u64 = 1 << (SLOT_BITS * LEVELS as u32);

/// The level of timers that were due when they were inserted.
const DUE: u8 = LEVELS as u8;

/// The part of a timer that the wheel links. It belongs to whoever has the wheel's lock.
#[derive(Debug)]
pub(super) struct Node {
    prev: Option<NonNull<Entry>>,
    /// It also links spare entries.
    pub(super) next: Option<NonNull<Entry>>,
    when: u64,
    /// The slot that the timer was linked into. The slot may have come up since.
    level: u8,
    slot: u8,
}

impl Node {
    pub(super) fn new() -> Self {
        Self { prev: None, next: None, when: 0, level: DUE, slot: 0 }
    }
}

/// # Safety
/// 1. `entry` is live.
/// 2. The caller has exclusive access to the entry's wheel, or to the entry, if it is on no wheel.
///    `f` makes no other reference to the node.
pub(super) unsafe fn with_node<R>(entry: NonNull<Entry>, f: impl FnOnce(&mut Node) -> R) -> R {
    // SAFETY: 1.
    let entry = unsafe { entry.as_ref() };
    entry.node.with_mut(|node| {
        // SAFETY: 2.
        f(unsafe { &mut *node })
    })
}

#[derive(Debug)]
pub(super) struct Wheel {
    /// All timers up to this tick have been taken out.
    now: u64,
    levels: [Level; LEVELS],
    /// The timers whose slot has come up, and that were not looked at yet.
    up: Option<NonNull<Entry>>,
    len: usize,
}

/// The outcome of one step of the wheel.
#[derive(Debug)]
pub(super) enum Step {
    /// This timer is due, and off the wheel.
    Due(NonNull<Entry>),
    /// A timer or a slot was moved, and there may be more to do.
    Moved,
    /// No timer is due up to the given tick.
    Done,
}

#[derive(Debug)]
struct Level {
    occupied: u64,
    slots: [Option<NonNull<Entry>>; SLOTS],
}

impl Wheel {
    pub(super) fn new() -> Self {
        const EMPTY: Level = Level { occupied: 0, slots: [None; SLOTS] };
        Self { now: 0, levels: [EMPTY; LEVELS], up: None, len: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// All timers up to this tick have been taken out.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// # Safety
    /// `entry` is on no wheel, and stays live until it is removed from this one.
    pub(super) unsafe fn insert(&mut self, entry: NonNull<Entry>, when: u64) {
        self.len += 1;
        // SAFETY: the caller's promise, and `&mut self` is the ownership.
        unsafe { with_node(entry, |node| node.when = when) };
        // SAFETY: the caller's promise.
        unsafe { self.link(entry, when) };
    }

    /// # Safety
    /// `entry` is live, counted in `len`, and in no slot.
    unsafe fn link(&mut self, entry: NonNull<Entry>, when: u64) {
        let (level, slot) = if when <= self.now {
            (DUE, 0)
        } else {
            // The highest bit in which the two ticks differ gives the level. A timer beyond the
            // range waits in the top level, and is sorted again later.
            let differing = ((when ^ self.now) | (SLOTS as u64 - 1)).min(RANGE - 1);
            let level = differing.ilog2() / SLOT_BITS;
            (level as u8, ((when >> (level * SLOT_BITS)) % SLOTS as u64) as u8)
        };
        let head = self.head(level, slot).replace(entry);
        if level != DUE {
            self.levels[level as usize].occupied |= 1 << slot;
        }
        // SAFETY: the caller's promise; `&mut self` is the ownership.
        unsafe {
            with_node(entry, |node| {
                node.prev = None;
                node.next = head;
                node.level = level;
                node.slot = slot;
            });
        }
        if let Some(head) = head {
            // SAFETY: what is on the wheel is live.
            unsafe { with_node(head, |node| node.prev = Some(entry)) };
        }
    }

    fn head(&mut self, level: u8, slot: u8) -> &mut Option<NonNull<Entry>> {
        if level == DUE {
            &mut self.up
        } else {
            &mut self.levels[level as usize].slots[slot as usize]
        }
    }

    /// # Safety
    /// `entry` is on this wheel.
    pub(super) unsafe fn remove(&mut self, entry: NonNull<Entry>) {
        // SAFETY: the caller's promise; `&mut self` is the ownership.
        let (prev, next, level, slot) = unsafe {
            with_node(entry, |node| (node.prev.take(), node.next.take(), node.level, node.slot))
        };
        match prev {
            // SAFETY: what is on the wheel is live.
            Some(prev) => unsafe { with_node(prev, |node| node.next = next) },
            // The slot that it was linked into has come up.
            None if *self.head(level, slot) != Some(entry) => {
                debug_assert_eq!(self.up, Some(entry));
                self.up = next;
            }
            None => {
                *self.head(level, slot) = next;
                if next.is_none() && level != DUE {
                    self.levels[level as usize].occupied &= !(1 << slot);
                }
            }
        }
        if let Some(next) = next {
            // SAFETY: what is on the wheel is live.
            unsafe { with_node(next, |node| node.prev = prev) };
        }
        self.len -= 1;
    }

    /// The next slot to come up: its tick, its level and its index.
    fn next_slot(&self) -> Option<(u64, usize, usize)> {
        // All slots of a lower level come before the next slot of a higher one.
        self.levels.iter().enumerate().find_map(|(index, level)| {
            if level.occupied == 0 {
                return None;
            }
            let shift = SLOT_BITS * index as u32;
            let current = ((self.now >> shift) % SLOTS as u64) as u32;
            // The current slot comes last. Only in the top level can it hold timers, which are
            // beyond the range.
            let ahead = level.occupied.rotate_right(current + 1).trailing_zeros() + 1;
            let slot = (current + ahead) as usize % SLOTS;
            let rotation = 1u64 << (shift + SLOT_BITS);
            let mut when = (self.now & !(rotation - 1)) + ((slot as u64) << shift);
            if when <= self.now {
                when += rotation;
            }
            Some((when, index, slot))
        })
    }

    /// A tick before which no timer is due. `None` if there is no timer.
    pub(super) fn next_tick(&self) -> Option<u64> {
        if self.up.is_some() {
            return Some(self.now);
        }
        self.next_slot().map(|(when, ..)| when)
    }

    /// The exact tick of the first timer. It is at most `now` if that timer is due. `None` if there
    /// is no timer.
    pub(super) fn first_deadline(&self) -> Option<u64> {
        let slots = match self.next_slot() {
            None => &[],
            // In the top level, the next slot may hold only timers beyond the range, which come
            // after those of all other slots.
            Some((_, level, _)) if level == LEVELS - 1 => &self.levels[level].slots[..],
            Some((_, level, slot)) => &self.levels[level].slots[slot..=slot],
        };
        let mut first = None;
        for head in slots.iter().chain([&self.up]) {
            let mut next = *head;
            while let Some(entry) = next {
                // SAFETY: what is on the wheel is live, and nobody writes to nodes while `self` is
                // borrowed.
                let (when, after) = unsafe { with_node(entry, |node| (node.when, node.next)) };
                first = Some(first.unwrap_or(when).min(when));
                next = after;
            }
        }
        first
    }

    /// Looks at one timer, or takes out one slot, of those that come up until `now`.
    pub(super) fn step(&mut self, now: u64) -> Step {
        if let Some(entry) = self.up {
            // SAFETY: it is on this wheel.
            unsafe { self.remove(entry) };
            // SAFETY: it was on this wheel, to which `&mut self` gives exclusive access.
            let when = unsafe { with_node(entry, |node| node.when) };
            if when <= self.now {
                return Step::Due(entry);
            }
            // SAFETY: just removed, and live for as long as before.
            unsafe { self.insert(entry, when) };
            return Step::Moved;
        }
        match self.next_slot() {
            Some((when, level, slot)) if when <= now => {
                self.now = when;
                let level = &mut self.levels[level];
                level.occupied &= !(1 << slot);
                self.up = level.slots[slot].take();
                Step::Moved
            }
            _ => {
                self.now = self.now.max(now);
                Step::Done
            }
        }
    }

    /// Takes a timer off, whichever it is.
    pub(super) fn pop_any(&mut self) -> Option<NonNull<Entry>> {
        let entry = self.up.or_else(|| {
            let (_, level, slot) = self.next_slot()?;
            self.levels[level].slots[slot]
        })?;
        // SAFETY: it is on this wheel.
        unsafe { self.remove(entry) };
        Some(entry)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::primitives::parker::Parker;
    use crate::scheduler::Id;
    use crate::time::{Clock, TimerQueue};
    use std::sync::Arc;

    impl Wheel {
        /// Takes off one timer that is due at `now`.
        fn pop(&mut self, now: u64) -> Option<NonNull<Entry>> {
            loop {
                match self.step(now) {
                    Step::Due(entry) => return Some(entry),
                    Step::Moved => {}
                    Step::Done => return None,
                }
            }
        }
    }

    fn when(entry: NonNull<Entry>) -> u64 {
        // SAFETY: the tests keep entries to the end, and use one thread.
        unsafe { with_node(entry, |node| node.when) }
    }

    fn queue() -> Arc<TimerQueue> {
        let (clock, parker) = (Clock::new(false, false), Arc::new(Parker::new()));
        Arc::new(TimerQueue::new(clock, parker, Id::next()))
    }

    /// The wheel against a sorted list, over all levels and beyond the range.
    #[test]
    fn fires_in_order_and_never_early() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let queue = queue();
        // For Miri, each eighth, and with fewer timers.
        let (step, timers) = if cfg!(miri) { (8, 50) } else { (1, 200) };
        for round in (0..40).step_by(step) {
            let mut wheel = Wheel::new();
            let start = next() >> (64 - (round % 40 + 1));
            assert!(wheel.pop(start).is_none());
            let entries: Vec<NonNull<Entry>> = (0..timers).map(|_| Entry::new(&queue)).collect();
            let mut expected = Vec::new();
            for (index, &pointer) in entries.iter().enumerate() {
                let at = start + (next() >> (64 - (index % 40 + 1)));
                // SAFETY: the entry lives to the end of the round.
                unsafe { wheel.insert(pointer, at) };
                if index % 3 == 0 {
                    // SAFETY: it was just inserted.
                    unsafe { wheel.remove(pointer) };
                } else {
                    expected.push(at.max(start));
                }
            }
            expected.sort_unstable();
            let mut now = start;
            for &at in &expected {
                // One tick earlier, the timer must not fire.
                if at > now {
                    now = at - 1;
                    if let Some(early) = wheel.pop(now) {
                        panic!("{} came at {}", when(early), at - 1);
                    }
                    let tick = wheel.next_tick().expect("one is left");
                    assert!(now < tick && tick <= at, "would sleep until {tick}, not {at}");
                    assert_eq!(wheel.first_deadline(), Some(at));
                }
                now = at;
                let entry = wheel.pop(now).expect("one is due");
                assert_eq!(when(entry).max(start), at);
            }
            assert!(wheel.is_empty());
            assert_eq!(wheel.next_tick(), None);
            for entry in entries {
                // SAFETY: the entry is on no wheel any more, and nobody else uses it.
                unsafe { Entry::free(entry) };
            }
        }
    }

    /// In the top level, the slot that comes up next may hold a timer of a later rotation alone.
    #[test]
    fn the_first_deadline_is_not_that_of_a_timer_beyond_the_range() {
        const SLOT: u64 = RANGE / SLOTS as u64;
        let queue = queue();
        let mut wheel = Wheel::new();
        for at in [RANGE + SLOT, 2 * SLOT] {
            // SAFETY: it lives until it is freed below, off the wheel.
            unsafe { wheel.insert(Entry::new(&queue), at) };
        }
        assert_eq!(wheel.next_tick(), Some(SLOT), "nothing is earlier");
        for at in [2 * SLOT, RANGE + SLOT] {
            assert_eq!(wheel.first_deadline(), Some(at));
            assert_eq!(wheel.pop(at - 1), None);
            let entry = wheel.pop(at).expect("it is due");
            assert_eq!(when(entry), at);
            // SAFETY: the entry is on no wheel any more, and nobody else uses it.
            unsafe { Entry::free(entry) };
        }
        assert!(wheel.is_empty());
    }

    /// However long nothing was on the wheel: "A timer, due or not, is moved down twice at most if
    /// it was set for less than 4 ms", says `progress.md`, which is 64 ticks.
    #[test]
    fn a_short_timer_is_moved_twice_at_most() {
        let queue = queue();
        for start in [63, 64, 4095, 0x0fff_ffff, 0x1234_5678, RANGE - 1, RANGE + 12_345] {
            // For Miri, each ninth.
            for ticks in (1..64).step_by(if cfg!(miri) { 9 } else { 1 }) {
                let mut wheel = Wheel::new();
                assert!(matches!(wheel.step(start), Step::Done));
                let (entry, at) = (Entry::new(&queue), start + ticks);
                // SAFETY: it lives until it is freed below, off the wheel.
                unsafe { wheel.insert(entry, at) };
                // Each time, a slot comes up, and then the timer is moved, or at last is due.
                let mut steps = 0;
                while !matches!(wheel.step(at), Step::Due(_)) {
                    steps += 1;
                }
                let moves = steps / 2;
                assert!(moves <= 2, "{moves} moves from {start} on, for {ticks} ticks");
                // SAFETY: the entry is on no wheel any more, and nobody else uses it.
                unsafe { Entry::free(entry) };
            }
        }
    }

    /// Between any two steps, timers are inserted and removed, also those of the slot that has come
    /// up.
    #[test]
    fn timers_come_and_go_while_a_slot_is_taken_apart() {
        const LATEST: u64 = 70 * 64;
        let queue = queue();
        let step = if cfg!(miri) { 7 } else { 1 };
        for victim in (0..12).step_by(step) {
            for after in (0..30).step_by(step) {
                let mut wheel = Wheel::new();
                let entries: Vec<NonNull<Entry>> = (0..13).map(|_| Entry::new(&queue)).collect();
                let at = |index: usize| LATEST - [0, 0, 1, 63][index % 4];
                for (index, &entry) in entries[..12].iter().enumerate() {
                    // SAFETY: the entry lives to the end of the round.
                    unsafe { wheel.insert(entry, at(index)) };
                }
                let mut fired = Vec::new();
                let (mut steps, mut is_gone) = (0, false);
                loop {
                    if steps == after {
                        // SAFETY: the entry is on no wheel, and lives to the end of the round.
                        unsafe { wheel.insert(entries[12], at(0)) };
                        if !fired.contains(&entries[victim]) {
                            // SAFETY: the entry is still on the wheel.
                            unsafe { wheel.remove(entries[victim]) };
                            is_gone = true;
                        }
                        let left = entries.iter().enumerate().filter(|(index, entry)| {
                            !(fired.contains(entry) || is_gone && *index == victim)
                        });
                        let first = left.map(|(index, _)| at(index)).min();
                        assert_eq!(wheel.first_deadline(), first);
                        assert!(wheel.next_tick() <= first);
                    }
                    steps += 1;
                    match wheel.step(LATEST) {
                        Step::Due(entry) => fired.push(entry),
                        Step::Moved => {}
                        Step::Done if steps <= after => {}
                        Step::Done => break,
                    }
                }
                assert_eq!(fired.len() + usize::from(is_gone), 13);
                let order: Vec<u64> = fired.iter().map(|&entry| when(entry)).collect();
                assert!(order.is_sorted(), "{order:?}");
                assert!(wheel.is_empty());
                for entry in entries {
                    // SAFETY: the entry is on no wheel any more, and nobody else uses it.
                    unsafe { Entry::free(entry) };
                }
            }
        }
    }
}
