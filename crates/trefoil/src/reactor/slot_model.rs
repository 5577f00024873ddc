//! Random programs of calls of a slot, against a plain model.
//!
//! One thread makes all calls. What threads do to each other is for `loom_tests.rs`.

use super::slot::{Direction, Event, Slot};
use super::{Ready, Wakes};
use crate::primitives::atomic::{AtomicUsize, SeqCst};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// A generator of pseudo-random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
    }

    /// Mostly one or two bits.
    fn ready(&mut self) -> Ready {
        let bit = |random: &mut Self| 1 << random.below(6);
        let bits = bit(self) | if self.below(2) == 0 { bit(self) } else { 0 };
        Ready::from_bits(bits)
    }
}

#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// What a slot is, without words, ticks and generations.
#[derive(Default)]
struct Model {
    ready: u8,
    was_urgent: bool,
    is_over: bool,
    /// How many events there were in all.
    announced: usize,
    /// Who waits on each side.
    sides: [Option<usize>; 2],
    /// Who waits on the list: for what, and whose waker is left.
    list: BTreeMap<u64, (u8, usize)>,
}

const READ_CLOSED: u8 = 1 << 2;
const WRITE_CLOSED: u8 = 1 << 3;
const PRIORITY: u8 = 1 << 4;
const ERROR: u8 = 1 << 5;
/// An error for which no call has looked.
const UNFETCHED: u8 = 1 << 7;
/// Something to read, its end, or an error; and the same for writing.
const SIDES: [u8; 2] = [1 | READ_CLOSED | UNFETCHED, 1 << 1 | WRITE_CLOSED | UNFETCHED];

impl Model {
    /// Returns whose wakers are woken, with repetitions.
    fn tell(&mut self, now: u8) -> Vec<usize> {
        let mut woken = Vec::new();
        for (side, mask) in self.sides.iter_mut().zip(SIDES) {
            if mask & now != 0 {
                woken.extend(side.take());
            }
        }
        self.list.retain(|_, &mut (mask, waker)| {
            if mask & now != 0 {
                woken.push(waker);
            }
            mask & now == 0
        });
        woken
    }

    fn announce(&mut self, now: u8) -> Vec<usize> {
        let now = now | if now & ERROR == 0 { 0 } else { UNFETCHED };
        self.ready |= now;
        self.was_urgent |= now & PRIORITY != 0;
        self.announced += 1;
        self.tell(now)
    }

    fn clear(&mut self, ready: u8, announced: usize) {
        if self.announced == announced {
            self.ready &= !(ready & !(READ_CLOSED | WRITE_CLOSED));
        }
    }

    fn is_ready(&self, mask: u8) -> bool {
        self.is_over || self.ready & mask != 0
    }
}

/// The slot, the model, and what their user remembers.
struct Pair {
    slot: Slot,
    model: Model,
    counters: Vec<Arc<Counter>>,
    wakers: Vec<Waker>,
    expected: Vec<usize>,
    /// Events that the user may clear, with the count of events by then.
    events: Vec<(Event, usize)>,
    /// Places on the list, with what is waited for. Some were woken.
    places: Vec<(Option<u64>, Ready)>,
}

const WAKERS: usize = 5;

impl Pair {
    fn new() -> Self {
        let counters: Vec<_> = (0..WAKERS).map(|_| Arc::new(Counter::default())).collect();
        Self {
            slot: Slot::new(),
            model: Model::default(),
            wakers: counters.iter().map(|counter| Waker::from(counter.clone())).collect(),
            counters,
            expected: vec![0; WAKERS],
            events: Vec::new(),
            places: Vec::new(),
        }
    }

    fn expect(&mut self, woken: Vec<usize>) {
        for waker in woken {
            self.expected[waker] += 1;
        }
    }

    /// Both say the same of `mask`, and the user remembers it.
    fn saw(&mut self, event: Option<Event>, mask: u8) {
        assert_eq!(event.is_some(), self.model.is_ready(mask));
        if let Some(event) = event {
            assert_eq!(event.ready.bits(), self.model.ready & mask);
            assert_eq!(event.is_over, self.model.is_over);
            assert_eq!(event.was_urgent, self.model.was_urgent);
            self.events.push((event, self.model.announced));
        }
    }

    fn step(&mut self, random: &mut Random) {
        match random.below(40) {
            0..8 => {
                let now = random.ready();
                let mut wakes = Wakes::default();
                self.slot.announce(self.slot.generation(), now, &mut wakes);
                let woken = self.model.announce(now.bits());
                assert_eq!(wakes.is_empty(), woken.is_empty());
                wakes.wake();
                self.expect(woken);
            }
            8..10 => {
                let mut wakes = Wakes::default();
                self.slot.announce(self.slot.generation() ^ 1, Ready::ALL, &mut wakes);
                assert!(wakes.is_empty(), "an event of another source");
            }
            10..18 if !self.events.is_empty() => {
                let (event, announced) = self.events[random.below(self.events.len())];
                self.slot.clear(event);
                self.model.clear(event.ready.bits(), announced);
            }
            18..25 => {
                let (side, waker) = (random.below(2), random.below(WAKERS));
                let direction = [Direction::Read, Direction::Write][side];
                let event = self.slot.wait(direction, direction.mask(), &self.wakers[waker]);
                if event.is_none() {
                    self.model.sides[side] = Some(waker);
                }
                self.saw(event, SIDES[side]);
            }
            25..33 => self.wait_on_list(random),
            33..37 if !self.places.is_empty() => {
                let (place, _) = self.places.swap_remove(random.below(self.places.len()));
                if let Some(place) = place {
                    self.slot.leave_list(place);
                    self.model.list.remove(&place);
                }
            }
            37 if random.below(10) == 0 => self.vacate(random),
            38 if random.below(40) == 0 => {
                let mut wakes = Wakes::default();
                self.slot.end(&mut wakes);
                self.model.is_over = true;
                let woken = self.model.tell(Ready::ALL.bits());
                wakes.wake();
                self.expect(woken);
            }
            _ => {
                let mask = random.ready();
                self.saw(self.slot.event(mask), mask.bits());
                let now = self.slot.now(mask);
                assert_eq!(now.ready.bits(), self.model.ready & mask.bits());
                self.events.push((now, self.model.announced));
            }
        }
        for (counter, &expected) in self.counters.iter().zip(&self.expected) {
            assert_eq!(counter.0.load(SeqCst), expected);
        }
    }

    /// A new wait, or another poll of one, with any waker.
    fn wait_on_list(&mut self, random: &mut Random) {
        let waker = random.below(WAKERS);
        let index = random.below(self.places.len() + 1);
        if index == self.places.len() {
            self.places.push((None, random.ready()));
        }
        let (place, mask) = &mut self.places[index];
        let mask = *mask;
        let event = self.slot.wait_on_list(mask, place, &self.wakers[waker]);
        if event.is_none() {
            let place = place.expect("whoever waits has a place");
            self.model.list.insert(place, (mask.bits(), waker));
        }
        self.saw(event, mask.bits());
    }

    /// Another source comes. All futures of the old one are gone by then.
    fn vacate(&mut self, random: &mut Random) {
        let generation = self.slot.generation();
        let mut dropped = Vec::new();
        self.slot.vacate(&mut dropped);
        assert_ne!(self.slot.generation(), generation);
        let sides = self.model.sides.iter().flatten().count();
        assert_eq!(dropped.len(), sides + self.model.list.len());
        self.model = Model { is_over: self.model.is_over, ..Model::default() };
        self.events.clear();
        self.places.clear();
        if random.below(2) == 0 {
            let ready = random.ready();
            self.slot.assume(ready);
            self.model.ready = ready.bits();
        }
    }
}

#[test]
fn a_slot_does_what_a_plain_model_does() {
    let rounds = if cfg!(miri) { 4 } else { 400 };
    for seed in 1..=rounds {
        let mut random = Random(u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15));
        let mut pair = Pair::new();
        for _ in 0..500 {
            pair.step(&mut random);
        }
        // All wakers that were left are dropped: nothing leaks.
        drop((pair.slot, pair.wakers));
        assert!(pair.counters.iter().all(|counter| Arc::strong_count(counter) == 1));
    }
}
