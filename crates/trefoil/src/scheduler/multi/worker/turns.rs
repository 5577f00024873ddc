//! How a worker divides its polls among its queues.
//!
//! Each bound is in polls of this worker, and holds whatever the other queues
//! hold. The page `progress` of the crate's documentation puts them together.

use crate::time::Fired;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// How often in a row the task in the LIFO slot may run before the ring.
pub(super) const LIFO_STREAK: u8 = 3;

/// How many tasks of the ring may run before a task in the LIFO slot.
pub(super) const LIFO_WAIT: u8 = 61;

/// How many tasks of the ring run before a joiner that was just woken. It may
/// wait for them as well, and would be woken by each.
const JOINER_REST: u8 = 4;

/// One poll in so many is a pinned task's, if there is one.
const PINNED_EVERY: u32 = 4;

/// After several tasks were taken from the shared queue, it is not looked at for so
/// many polls; after one that was alone there, for one poll.
const LOOK_EVERY: u32 = 8;

/// The timers are looked at every so many polls, or after fewer if these may take
/// so long. A look takes the time of reading the clock, a thousandth of the quantum.
const TIMERS_EVERY: u32 = 8;
const TIMERS_QUANTUM: Duration = Duration::from_micros(40);

/// Another worker's timers are looked at as often as the own ones; but where polls are short, only
/// every so many polls, because the look fetches a cache line that the other one writes.
const OTHERS_EVERY: u32 = 4 * TIMERS_EVERY;

/// How many tasks a worker takes from the shared queue at a time, at most, and
/// at least if there are so many: beside tasks of its own, as many of average
/// length as last for `INJECTED_QUANTUM`.
const INJECTED_BATCH: usize = 128;
const INJECTED_BATCH_MIN: usize = 4;
const INJECTED_QUANTUM: Duration = Duration::from_micros(100);

/// No batch makes the ring longer than this.
const RING_FOR_INJECTED: usize = 256;

/// Counts the turns of one worker.
#[derive(Debug)]
pub(super) struct Turns {
    /// Turns so far.
    tick: Cell<u32>,
    /// The turn at which the shared queue is due for a look.
    look_at: Cell<u32>,
    /// The turn at which the timers are due for a look.
    timers_at: Cell<u32>,
    /// The turn in which another worker's timers were last due for a look.
    others_at: Cell<u32>,
    /// The turn at which periodic work is due.
    maintain_at: Cell<u32>,
    /// The earlier one of these two.
    more_at: Cell<u32>,
    /// When there were last timers to look at, and at which turn. Sleep since then is added, as
    /// if the look had come that much later.
    looked: Cell<Instant>,
    looked_at: Cell<u32>,
    /// How many nanoseconds a poll may take: as long as the polls between two looks did on
    /// average, where that was the most of late. A sixteenth of it goes with each look.
    poll_ns: Cell<u64>,
    /// When a batch was last taken from there, and at which turn.
    took: Cell<Instant>,
    took_at: Cell<u32>,
    /// How often the slot has run before the ring, in a row.
    streak: Cell<u8>,
    /// How many tasks of the ring are to run before the slot.
    rest: Cell<u8>,
    /// How many of them have run since the slot last had a turn.
    waited: Cell<u8>,
}

/// What is to be done with the task in the LIFO slot.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Slot {
    /// It runs next.
    Runs,
    /// It had its turns, and is moved to the back of the ring.
    Queues,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self {
            tick: Cell::new(0),
            look_at: Cell::new(0),
            timers_at: Cell::new(0),
            others_at: Cell::new(0),
            maintain_at: Cell::new(0),
            more_at: Cell::new(0),
            looked: Cell::new(Instant::now()),
            looked_at: Cell::new(0),
            poll_ns: Cell::new(0),
            took: Cell::new(Instant::now()),
            took_at: Cell::new(0),
            streak: Cell::new(0),
            rest: Cell::new(0),
            waited: Cell::new(0),
        }
    }

    #[inline(always)]
    pub(super) fn tick(&self) -> u32 {
        self.tick.get()
    }

    /// The next turn.
    #[inline(always)]
    pub(super) fn advance(&self) -> u32 {
        let tick = self.tick.get().wrapping_add(1);
        self.tick.set(tick);
        tick
    }

    /// Whether this turn is that of the pinned tasks, if there are any.
    #[inline(always)]
    pub(super) fn is_for_pinned(&self) -> bool {
        self.tick.get().is_multiple_of(PINNED_EVERY)
    }

    /// Whether the timers or periodic work are due.
    #[inline(always)]
    pub(super) fn is_for_more_than_a_poll(&self) -> bool {
        self.has_come(self.more_at.get())
    }

    /// Whether this turn is that one, or a later one.
    #[inline(always)]
    fn has_come(&self, at: u32) -> bool {
        self.tick.get().wrapping_sub(at) as i32 >= 0
    }

    pub(super) fn is_for_maintenance(&self) -> bool {
        self.has_come(self.maintain_at.get())
    }

    /// Periodic work is done, and is next due after so many turns.
    pub(super) fn maintained(&self, interval: u32) {
        // A turn that is too far away to be told from one of the past is none.
        let wait = interval.min(i32::MAX as u32);
        self.maintain_at.set(self.tick.get().wrapping_add(wait));
        self.find_more();
    }

    fn find_more(&self) {
        let (timers, maintenance) = (self.timers_at.get(), self.maintain_at.get());
        let is_earlier = (timers.wrapping_sub(maintenance) as i32) < 0;
        self.more_at.set(if is_earlier { timers } else { maintenance });
    }

    pub(super) fn is_for_timers(&self) -> bool {
        self.has_come(self.timers_at.get())
    }

    /// The timers were looked at. What is due, or moves down the wheel, does so in
    /// parts. If there is more, the next part comes after one poll, so that tasks
    /// go in between. Returns whether another worker's are due for a look.
    pub(super) fn fired(&self, fired: Fired) -> bool {
        let (wait, are_long) = match fired {
            Fired { has_more: true, .. } => (1, false),
            Fired { at: Some(now), .. } => {
                let wait = self.polls_within(now);
                (wait, wait < TIMERS_EVERY)
            }
            // Nothing is known of how long polls take.
            Fired { at: None, .. } => (TIMERS_EVERY, true),
        };
        let since = self.tick.get().wrapping_sub(self.others_at.get());
        let looks_at_others = are_long || since >= OTHERS_EVERY;
        if looks_at_others {
            self.others_at.set(self.tick.get());
        }
        self.timers_at.set(self.tick.get().wrapping_add(wait));
        self.find_more();
        // A look that nothing has come of for very many turns would seem to be one of
        // the future.
        if self.is_for_injector() {
            self.look_at.set(self.tick.get());
        }
        looks_at_others
    }

    /// The worker slept, which is no time that polls took.
    pub(super) fn slept(&self, slept: Duration) {
        self.looked.set(self.looked.get() + slept);
    }

    /// How many polls take `TIMERS_QUANTUM`, if they are long ones; one at least, and
    /// `TIMERS_EVERY` at most.
    ///
    /// Short polls that come in a bunch, as of tasks whose timers have just fired, must not
    /// hide that long ones follow: so it is not the average of all that counts. About a
    /// hundred short polls are forgetful enough; the looks at the clock that they cost take
    /// less than a tenth of the long poll that was the cause.
    fn polls_within(&self, now: Instant) -> u32 {
        let polls = self.tick.get().wrapping_sub(self.looked_at.replace(self.tick.get()));
        let took = now.saturating_duration_since(self.looked.replace(now));
        // In 64 bits: to divide 128 takes as long as to read the clock.
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let poll_ns = (took / u64::from(polls.max(1))).max(self.poll_ns.get() / 16 * 15);
        self.poll_ns.set(poll_ns);
        let within = u64::from(TIMERS_QUANTUM.subsec_nanos()) / poll_ns.max(1);
        within.clamp(1, TIMERS_EVERY.into()) as u32
    }

    #[inline(always)]
    pub(super) fn is_for_injector(&self) -> bool {
        self.has_come(self.look_at.get())
    }

    /// How much room there is for tasks from the shared queue, behind so many in the
    /// ring. They stay where they are, for whoever comes first, if that is much.
    pub(super) fn room_for_injected(queued: usize) -> usize {
        RING_FOR_INJECTED.saturating_sub(queued)
    }

    /// Tasks were taken from the shared queue, and the ring holds so much now. The
    /// next look comes when that had its turn, and after `most` polls at the latest.
    /// If there was no room for a batch, looks are the more frequent.
    #[inline]
    pub(super) fn took_injected(&self, queued: usize, most: u32) {
        let had_room = Self::room_for_injected(queued) >= INJECTED_BATCH_MIN;
        let most = if had_room { most } else { (most / INJECTED_BATCH_MIN as u32).max(1) };
        let wait = u32::try_from(queued).unwrap_or(u32::MAX).max(LOOK_EVERY).min(most);
        self.look_after(wait);
    }

    /// The only task of the shared queue was taken. So that a task from outside that
    /// comes now and then is polled at once, the next look comes soon; but one other
    /// poll goes first, so that whoever sends them one by one has no more than half
    /// of the turns.
    #[inline]
    pub(super) fn took_only_injected(&self) {
        self.look_after(0);
    }

    /// The next look comes after so many turns at the latest: one earlier where that turn
    /// is the pinned tasks'. Before it comes a turn of the ring and the slot, which would
    /// have none otherwise for as long as the shared queue is not empty.
    #[inline(always)]
    fn look_after(&self, wait: u32) {
        let tick = self.tick.get();
        let is_pinned = |wait| tick.wrapping_add(wait).is_multiple_of(PINNED_EVERY);
        let wait = if is_pinned(wait) { wait.saturating_sub(1) } else { wait };
        let least = if is_pinned(1) { 3 } else { 2 };
        self.look_at.set(tick.wrapping_add(wait.max(least)));
    }

    /// How many tasks to take from the shared queue, which holds some. With
    /// `beside_others`, this worker has tasks of its own.
    pub(super) fn injected_batch(&self, beside_others: bool) -> usize {
        if !beside_others {
            return INJECTED_BATCH;
        }
        let now = Instant::now();
        let polls = self.tick.get().wrapping_sub(self.took_at.replace(self.tick.get()));
        let took = now.duration_since(self.took.replace(now));
        let quantum = INJECTED_QUANTUM.as_nanos() * u128::from(polls) / took.as_nanos().max(1);
        (quantum as usize).clamp(INJECTED_BATCH_MIN, INJECTED_BATCH)
    }

    /// Whether the ring is served before the LIFO slot.
    #[inline(always)]
    pub(super) fn is_for_ring(&self) -> bool {
        self.rest.get() > 0
    }

    /// A task of the ring ran before the slot, which holds a task or not.
    #[inline]
    pub(super) fn ring_went_first(&self, is_slot_full: bool) {
        let waited = if is_slot_full { self.waited.get() + 1 } else { 0 };
        self.waited.set(waited);
        let rest = self.rest.get() - 1;
        self.rest.set(if waited < LIFO_WAIT { rest } else { 0 });
    }

    /// There is nothing in the ring that could run first.
    #[inline(always)]
    pub(super) fn ring_is_empty(&self) {
        self.rest.set(0);
    }

    /// The slot's turn, and it holds a task. With `Queues`, call `slot_queues`.
    #[inline(always)]
    pub(super) fn slot(&self) -> Slot {
        self.waited.set(0);
        let streak = self.streak.get();
        if streak < LIFO_STREAK {
            self.streak.set(streak + 1);
            return Slot::Runs;
        }
        Slot::Queues
    }

    /// The slot has had its turns; so much is in the ring.
    pub(super) fn slot_queues(&self, queued: usize) {
        // Tasks that keep each other awake, or spawn their successors, may
        // never leave the slot empty: all others run first, once.
        self.streak.set(0);
        self.rest.set(queued.min(LIFO_WAIT.into()) as u8);
    }

    /// The slot is empty.
    #[inline(always)]
    pub(super) fn slot_is_empty(&self) {
        self.streak.set(0);
    }

    /// A task that was running has been woken again: may it go to the slot?
    #[inline(always)]
    pub(super) fn has_slot_for_itself(&self) -> bool {
        self.streak.get() < LIFO_STREAK
    }

    /// A joiner has just come to the slot.
    #[inline(always)]
    pub(super) fn joiner_woken(&self) {
        if self.waited.get() < LIFO_WAIT {
            self.rest.set(self.rest.get().max(JOINER_REST));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The slot is full all the time, and joiners come to it with every poll:
    /// neither side waits for longer than its bound.
    #[test]
    fn slot_and_ring_take_turns() {
        for queued in [1_usize, 5, 256] {
            let turns = Turns::new();
            let (mut slot_waits, mut ring_waits) = (0_u32, 0_u32);
            for _ in 0..10_000 {
                turns.advance();
                turns.joiner_woken();
                if turns.is_for_ring() {
                    turns.ring_went_first(true);
                    (ring_waits, slot_waits) = (0, slot_waits + 1);
                } else {
                    match turns.slot() {
                        Slot::Runs => (ring_waits, slot_waits) = (ring_waits + 1, 0),
                        // The ring is popped. What comes to the slot is new.
                        Slot::Queues => {
                            turns.slot_queues(queued);
                            (ring_waits, slot_waits) = (0, 0);
                        }
                    }
                }
                assert!(ring_waits <= u32::from(LIFO_STREAK), "{ring_waits}");
                assert!(slot_waits <= u32::from(LIFO_WAIT), "{slot_waits}");
            }
        }
    }

    /// The number is that of `progress.md`, and not this file's constant.
    #[test]
    fn the_slot_goes_first_three_times_in_a_row() {
        let turns = Turns::new();
        let streak = || {
            let mut runs = 0;
            while turns.slot() == Slot::Runs {
                runs += 1;
            }
            runs
        };
        assert_eq!(streak(), 3);
        turns.slot_queues(5);
        for _ in 0..5 {
            assert!(turns.is_for_ring());
            turns.ring_went_first(false);
        }
        assert!(!turns.is_for_ring(), "all that were there have run");
        assert_eq!(streak(), 3);
        turns.slot_queues(0);
        assert_eq!(turns.slot(), Slot::Runs);
        turns.slot_is_empty();
        assert_eq!(streak(), 3, "an empty slot ends a streak");
    }

    /// By the number of `progress.md`, again.
    #[test]
    fn four_tasks_of_the_ring_go_before_a_joiner() {
        for comes_again in [false, true] {
            let turns = Turns::new();
            turns.joiner_woken();
            for n in 0..4 {
                assert!(turns.is_for_ring(), "{n}");
                turns.ring_went_first(true);
                if comes_again && n == 0 {
                    turns.joiner_woken();
                }
            }
            assert_eq!(turns.is_for_ring(), comes_again, "that one has four from its coming on");
        }
    }

    #[test]
    fn a_batch_is_a_quantum_within_its_limits() {
        let turns = Turns::new();
        assert_eq!(turns.injected_batch(false), INJECTED_BATCH);
        for (poll_us, expected) in [(0, INJECTED_BATCH), (10, 10), (1000, INJECTED_BATCH_MIN)] {
            for _ in 0..61 {
                turns.advance();
            }
            let ago = Duration::from_micros(61 * poll_us);
            turns.took.set(Instant::now().checked_sub(ago).unwrap());
            let batch = turns.injected_batch(true);
            assert!(batch <= expected && batch >= expected.min(INJECTED_BATCH_MIN), "{batch}");
        }
    }

    #[test]
    fn the_shared_queue_is_due_within_its_interval() {
        let turns = Turns::new();
        assert!(turns.is_for_injector(), "as long as nothing was taken");
        for (queued, most, expected) in [
            (0, 61, 8),
            (20, 61, 20),
            (200, 61, 61),
            (200, 4, 4),
            (200, 3, 2),
            (256, 61, 14),
            (9999, 3, 2),
        ] {
            turns.tick.set(1);
            turns.took_injected(queued, most);
            let mut waited = 0;
            while !turns.is_for_injector() {
                turns.advance();
                waited += 1;
            }
            assert_eq!(waited, expected);
        }
        turns.tick.set(1);
        turns.took_only_injected();
        turns.advance();
        assert!(!turns.is_for_injector(), "one other poll goes first");
        turns.advance();
        assert!(turns.is_for_injector());
    }

    /// Its first look is at `start`, however long the test has taken to come here.
    fn looked(start: Instant) -> Turns {
        let turns = Turns::new();
        turns.looked.set(start);
        turns
    }

    /// How many polls there are before the next look, if the last one was at `now`.
    fn polls_until_look(turns: &Turns, now: Instant) -> u32 {
        turns.fired(Fired { has_more: false, at: Some(now) });
        let before = turns.tick();
        while !turns.is_for_timers() {
            turns.advance();
        }
        turns.tick() - before
    }

    #[test]
    fn timers_are_looked_at_the_more_often_the_longer_polls_take() {
        for (poll_us, expected) in [(0, 8), (4, 8), (10, 4), (30, 1), (40, 1), (5000, 1)] {
            let start = Instant::now();
            let turns = looked(start);
            // The first look finds out how long polls take, the second goes by it.
            let polls = polls_until_look(&turns, start);
            let now = start + Duration::from_micros(poll_us) * polls;
            assert_eq!(polls_until_look(&turns, now), expected, "{poll_us}");
        }
        let turns = Turns::new();
        turns.fired(Fired { has_more: false, at: None });
        assert_eq!(turns.timers_at.get(), turns.tick() + TIMERS_EVERY, "no timers");
    }

    #[test]
    fn sleep_does_not_count_as_polls() {
        let start = Instant::now();
        let turns = looked(start);
        assert_eq!(polls_until_look(&turns, start), TIMERS_EVERY);
        turns.slept(Duration::from_secs(1));
        let now = start + Duration::from_secs(1) + Duration::from_micros(80);
        assert_eq!(polls_until_look(&turns, now), 4, "eight polls took 80 microseconds");
    }

    #[test]
    fn short_polls_do_not_hide_that_long_ones_follow() {
        let start = Instant::now();
        let turns = looked(start);
        polls_until_look(&turns, start);
        let mut now = start + Duration::from_millis(1);
        // A millisecond for eight polls is 125 µs each.
        let mut polls = 0;
        let waits: Vec<u32> = std::iter::repeat_with(|| {
            let wait = polls_until_look(&turns, now);
            now += Duration::from_nanos(100) * wait;
            polls += wait;
            wait
        })
        .take_while(|&wait| wait < TIMERS_EVERY)
        .collect();
        assert!(waits.is_sorted() && waits[..18].iter().all(|&wait| wait == 1), "{waits:?}");
        assert!((50..200).contains(&polls), "{polls} polls: {waits:?}");
    }

    /// However long polls take, and whatever comes of the looks.
    #[test]
    fn anothers_timers_are_due_for_a_look_within_forty_polls() {
        let start = Instant::now();
        let turns = looked(start);
        let (mut now, mut since, mut worst, mut looks) = (start, 0, 0, 0);
        for turn in 0..100_000_u32 {
            turns.advance();
            since += 1;
            now += Duration::from_nanos([50, 300, 20_000][turn as usize / 3000 % 3]);
            if turns.is_for_timers() {
                let at = (turn / 7000 % 2 == 0).then_some(now);
                let has_more = at.is_some() && turn / 100 % 5 == 0;
                looks += 1;
                if turns.fired(Fired { has_more, at }) {
                    (worst, since) = (worst.max(since), 0);
                }
            }
        }
        assert!(worst <= 40, "{worst}");
        assert!(looks > 100_000 / 40, "nothing was tested");
        assert!(worst >= OTHERS_EVERY, "short polls do not look each time");
    }

    #[test]
    fn periodic_work_comes_with_its_interval_beside_the_timers() {
        for interval in [1, 2, 7, 8, 61, 1000] {
            let turns = Turns::new();
            // The count wraps in between.
            turns.tick.set(u32::MAX - 100);
            turns.fired(Fired { has_more: false, at: None });
            turns.maintained(interval);
            let mut since = (0, 0);
            for _ in 0..5000 {
                turns.advance();
                since = (since.0 + 1, since.1 + 1);
                let is_due = turns.is_for_maintenance() || turns.is_for_timers();
                assert_eq!(turns.is_for_more_than_a_poll(), is_due);
                assert_eq!(turns.is_for_maintenance(), since.0 == interval, "{interval}");
                assert_eq!(turns.is_for_timers(), since.1 == TIMERS_EVERY, "{interval}");
                if turns.is_for_maintenance() {
                    turns.maintained(interval);
                    since.0 = 0;
                }
                if turns.is_for_timers() {
                    turns.fired(Fired { has_more: false, at: None });
                    since.1 = 0;
                }
            }
        }
    }

    #[test]
    fn periodic_work_that_is_hardly_ever_asked_for_keeps_no_timer_waiting() {
        let turns = Turns::new();
        turns.maintained(u32::MAX);
        for _ in 0..100 {
            turns.fired(Fired { has_more: false, at: None });
            for _ in 1..TIMERS_EVERY {
                turns.advance();
                assert!(!turns.is_for_more_than_a_poll());
            }
            turns.advance();
            assert!(turns.is_for_timers() && turns.is_for_more_than_a_poll());
            assert!(!turns.is_for_maintenance());
        }
    }

    /// Nothing is taken from the shared queue for more than half of the turns that can be counted.
    #[test]
    fn a_look_that_is_due_stays_due() {
        let turns = Turns::new();
        turns.took_injected(8, 61);
        for _ in 0..8 {
            // As if so many turns had been counted. The timers are looked at in between.
            turns.tick.set(turns.tick.get().wrapping_add(1 << 30));
            assert!(turns.is_for_timers());
            turns.fired(Fired { has_more: false, at: None });
            assert!(turns.is_for_injector());
        }
    }

    /// Tasks come from outside one by one, and pinned tasks are always ready: every fourth turn is
    /// theirs, and half of the others are left for the ring and the slot.
    #[test]
    fn a_task_from_outside_lets_another_go_first_that_is_not_pinned() {
        let turns = Turns::new();
        let (mut injected, mut others) = (0, 0);
        for _ in 0..1000 {
            turns.advance();
            if turns.is_for_pinned() {
            } else if turns.is_for_injector() {
                turns.took_only_injected();
                injected += 1;
            } else {
                others += 1;
            }
            assert!(injected <= others + 1, "{injected} {others}");
        }
    }
}
