//! The free stacks of the process, which are kept for later fibers.
//!
//! A thread that runs fibers holds up to [`HELD`] free stacks (`held.rs`), until it sleeps or ends.
//! All others are in the process's [`Pool`], up to [`KEPT`]; what exceeds that is unmapped. The
//! stack that came last goes first, with the memory that its fiber has touched, so that a program
//! with as many fibers now as a moment ago asks the system for nothing. Those at the bottom of the
//! pile are the ones that are not needed:
//!
//! - A *turn* of the pool ends after [`TIMES`] times as many stacks were taken as there were free
//!   ones at its beginning, but at least [`TURN`]. The stacks that were not taken in a whole turn
//!   are surplus. Each stack that comes back from then on has one surplus stack give back the pages
//!   that it has touched, except for the first ones ([`BYTES_KEPT`]), which most fibers touch; or,
//!   if there are [`TRIMMED`] such stacks already, has it unmapped. So this costs a fiber one call
//!   of the system at most.
//! - When a runtime's threads have slept for a while, all stacks but [`TRIMMED`] are unmapped, and
//!   these give back their pages. That is on the monitor's thread, or, in a runtime of one worker,
//!   on that worker's, when no stack has come or gone for a while, so many at a time
//!   ([`AT_A_TIME`]).
//! - When a runtime ends, all stacks but [`TRIMMED`] give back their pages.

use super::Stack;
use crate::primitives::Mutex;
use crate::primitives::atomic::{AtomicBool, AtomicUsize, Relaxed};
use std::cell::Cell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

#[cfg(doc)]
use super::{BYTES_KEPT, held::HELD};

/// How many free stacks of the default size the process keeps: 4 GiB of addresses, and half of the
/// mappings that a process may have where each stack is two. Where an address is 32 bits, 256 MiB
/// of the 3 GiB or so that a program has.
const KEPT: usize = if usize::BITS < 64 { 1024 } else { 16 * 1024 };

/// How many of them are kept for long although nobody takes them.
const TRIMMED: usize = 256;

/// How many stacks are taken from the pool during a turn, at least.
pub(super) const TURN: usize = 64;

/// How many times as many are taken during a turn as were free at its beginning. To unmap a stack,
/// map one again and touch it costs nearly twenty times what a fiber costs that begins and ends. So
/// however the number of fibers goes up and down, they cost no more than twice as much for it.
const TIMES: usize = 16;

/// How many stacks a worker has give back their memory before it looks for tasks again.
const AT_A_TIME: usize = 256;

/// The free stacks of the process.
pub(super) static FREE: Pool = Pool::new();

#[derive(Debug)]
pub(super) struct Pool {
    pile: Mutex<Pile>,
    /// Whether there is something to do when the process rests, for those who have no lock.
    is_to_rest: AtomicBool,
    /// Changes whenever stacks come or go, other than at rest. Wraps around.
    uses: AtomicUsize,
}

#[derive(Debug)]
struct Pile {
    /// Those that have given their memory back, which are beneath `whole`.
    trimmed: Vec<Stack>,
    /// The others; the back is the top of the pile.
    whole: VecDeque<Stack>,
    /// How many stacks were taken in this turn, and how many are to be.
    taken: usize,
    turn: usize,
    /// The fewest of `whole` that there were in this turn.
    fewest: usize,
    /// How many of `whole` are not needed, at the bottom.
    surplus: usize,
}

impl Pool {
    const fn new() -> Self {
        let pile = Pile {
            trimmed: Vec::new(),
            whole: VecDeque::new(),
            taken: 0,
            turn: TURN,
            fewest: 0,
            surplus: 0,
        };
        Self {
            pile: Mutex::new(pile),
            is_to_rest: AtomicBool::new(false),
            uses: AtomicUsize::new(0),
        }
    }

    pub(super) fn take(&self) -> Option<Stack> {
        let mut pile = self.pile.lock();
        let taken = pile.whole.pop_back();
        pile.count_taken(1);
        let taken = taken.or_else(|| pile.trimmed.pop());
        self.count_use(&pile);
        self.publish(&pile);
        taken
    }

    /// So many fibers have begun on stacks that a thread held. Returns how many stacks are surplus.
    pub(super) fn count_taken_elsewhere(&self, taken: usize) -> usize {
        let mut pile = self.pile.lock();
        pile.count_taken(taken);
        pile.surplus
    }

    /// Keeps a stack, or unmaps it.
    pub(super) fn put(&self, stack: Stack) {
        let mut pile = self.pile.lock();
        if pile.len() >= KEPT {
            // The system's call is not made under the lock.
            drop(pile);
            drop(stack);
            return;
        }
        pile.whole.push_back(stack);
        self.count_use(&pile);
        self.publish(&pile);
        let has_surplus = pile.surplus > 0;
        drop(pile);
        if has_surplus {
            self.trim_surplus();
        }
    }

    /// A stack that is not needed, if there is one, gives back its memory or is unmapped.
    pub(super) fn trim_surplus(&self) {
        let mut pile = self.pile.lock();
        let Some(surplus) = pile.take_surplus() else { return };
        let is_to_unmap = pile.trimmed.len() >= TRIMMED;
        self.publish(&pile);
        // The system's calls are not made under the lock.
        drop(pile);
        if is_to_unmap {
            drop(surplus);
            return;
        }
        surplus.trim();
        let mut pile = self.pile.lock();
        pile.trimmed.push(surplus);
        self.publish(&pile);
    }

    /// Keeps stacks that a thread has held.
    pub(super) fn put_all(&self, stacks: &mut Vec<Stack>) {
        let mut pile = self.pile.lock();
        let room = KEPT.saturating_sub(pile.len()).min(stacks.len());
        pile.whole.extend(stacks.drain(..room));
        self.count_use(&pile);
        self.publish(&pile);
        let surplus = pile.surplus.min(room);
        drop(pile);
        stacks.clear();
        // As if they had come back one by one.
        (0..surplus).for_each(|_| self.trim_surplus());
    }

    /// Up to so many stacks give their memory back, those at the bottom first, until `left` are
    /// whole.
    fn trim(&self, most: usize, left: usize) {
        let mut pile = self.pile.lock();
        let number = pile.whole.len().saturating_sub(left).min(most);
        let mut stacks = pile.take_bottom(number);
        drop(pile);
        stacks.iter().for_each(Stack::trim);
        let mut pile = self.pile.lock();
        let room = KEPT.saturating_sub(pile.len()).min(stacks.len());
        pile.trimmed.extend(stacks.drain(..room));
        self.publish(&pile);
        drop(pile);
        // What is left is unmapped here, outside of the lock.
        drop(stacks);
    }

    /// Nobody has run for a while: up to so many stacks are unmapped or give their memory back.
    fn rest(&self, most: usize) {
        let mut pile = self.pile.lock();
        let excess = pile.len().saturating_sub(TRIMMED).min(most);
        // From the bottom.
        let trimmed = pile.trimmed.len().min(excess);
        let mut unmapped: Vec<_> = pile.trimmed.drain(..trimmed).collect();
        unmapped.extend(pile.take_bottom(excess - trimmed));
        drop(pile);
        drop(unmapped);
        self.trim(most - excess, 0);
    }

    /// The caller holds the lock of this pile.
    fn count_use(&self, _pile: &Pile) {
        // Relaxed: a hint for those who sleep. It is written under the lock.
        self.uses.store(self.uses.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// The caller holds the lock of this pile.
    fn publish(&self, pile: &Pile) {
        // Relaxed: a hint for those who sleep. It is written under the lock.
        self.is_to_rest.store(!pile.whole.is_empty() || pile.trimmed.len() > TRIMMED, Relaxed);
    }
}

impl Pile {
    fn len(&self) -> usize {
        self.trimmed.len() + self.whole.len()
    }

    fn count_taken(&mut self, taken: usize) {
        let whole = self.whole.len();
        self.fewest = self.fewest.min(whole);
        self.surplus = self.surplus.min(whole);
        self.taken += taken;
        if self.taken >= self.turn {
            self.surplus = self.fewest;
            self.fewest = whole;
            self.taken = 0;
            self.turn = (TIMES * whole).max(TURN);
        }
    }

    fn take_surplus(&mut self) -> Option<Stack> {
        if self.surplus == 0 {
            return None;
        }
        self.take_bottom(1).pop()
    }

    /// Takes so many of `whole` that are not needed any more.
    fn take_bottom(&mut self, number: usize) -> Vec<Stack> {
        self.fewest = self.fewest.saturating_sub(number);
        self.surplus = self.surplus.saturating_sub(number);
        self.whole.drain(..number).collect()
    }
}

/// Nobody runs, and this thread has nothing else to do: the free stacks of the process give their
/// memory back.
pub(crate) fn trim_free() {
    FREE.rest(usize::MAX);
}

/// The same on the only worker of a runtime, when no stack came or went for this long, whatever it
/// did besides.
const QUIET: Duration = Duration::from_millis(100);

/// Since when such a worker has seen no stack come or go.
#[derive(Debug, Default)]
pub(crate) struct Quiet(Cell<Option<(usize, Instant)>>);

impl Quiet {
    /// How long the worker may sleep, since nobody else has the free stacks give back their memory.
    pub(crate) fn limit_sleep(&self) -> Option<Duration> {
        // Relaxed: hints. What this worker has given back itself, it sees.
        if !FREE.is_to_rest.load(Relaxed) {
            self.0.set(None);
            return None;
        }
        let (uses, now) = (FREE.uses.load(Relaxed), Instant::now());
        let since = self.0.get().filter(|seen| seen.0 == uses).map_or(now, |seen| seen.1);
        self.0.set(Some((uses, since)));
        Some(QUIET.saturating_sub(now - since))
    }

    /// The worker has slept under such a limit.
    pub(crate) fn has_slept(&self) {
        let Some((uses, since)) = self.0.get() else { return };
        if uses == FREE.uses.load(Relaxed) && since.elapsed() >= QUIET {
            // The next part has its time as well, so that this worker is awake in between.
            self.0.set(None);
            FREE.rest(AT_A_TIME);
        }
    }
}

/// Whether free stacks are to give back their memory when nobody runs.
pub(crate) fn is_to_rest() -> bool {
    // Relaxed: a hint, as above.
    FREE.is_to_rest.load(Relaxed)
}

/// A runtime has ended.
pub(crate) fn trim_after_end() {
    FREE.trim(usize::MAX, TRIMMED);
}

#[cfg(test)]
mod tests {
    use super::super::{BYTES_KEPT, DEFAULT_SIZE, page_size};
    use super::*;

    fn touched(number: usize) -> Vec<Stack> {
        let stacks: Vec<_> = (0..number).map(|_| Stack::map(DEFAULT_SIZE).unwrap()).collect();
        for stack in &stacks {
            for at in (page_size()..stack.len).step_by(page_size()) {
                // SAFETY: it is in the mapping, and not in its guard.
                let place = unsafe { stack.start.byte_add(at) };
                // SAFETY: as above, and nobody else uses it.
                unsafe { place.write(1) };
            }
        }
        stacks
    }

    /// How many pages of a stack the system backs.
    #[cfg(target_os = "linux")]
    fn resident(stack: &Stack) -> usize {
        let page = page_size();
        let mut pages = vec![0_u8; stack.size() / page];
        // SAFETY: as in `touched`.
        let start = unsafe { stack.start.byte_add(page) };
        // SAFETY: the range is mapped, and there is a byte for each of its pages.
        let result = unsafe {
            libc::mincore(start.as_ptr().cast(), stack.size(), pages.as_mut_ptr().cast())
        };
        assert_eq!(result, 0);
        pages.iter().filter(|&page| page & 1 != 0).count()
    }

    fn kept(pool: &Pool) -> (usize, usize) {
        let pile = pool.pile.lock();
        (pile.trimmed.len(), pile.whole.len())
    }

    /// One fiber after the other, each on the stack of the one before.
    fn begin_and_end(pool: &Pool, count: usize) {
        for _ in 0..count {
            let stack = pool.take().unwrap();
            pool.put(stack);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn stacks_that_nobody_takes_give_their_memory_back() {
        let kept_pages = BYTES_KEPT.div_ceil(page_size());
        let pool = Pool::new();
        touched(4).into_iter().for_each(|stack| pool.put(stack));
        begin_and_end(&pool, TURN);
        assert_eq!(kept(&pool), (0, 4), "the first turn has begun before they came");
        begin_and_end(&pool, TURN - 1);
        assert_eq!(kept(&pool), (0, 4));
        begin_and_end(&pool, 3);
        assert_eq!(kept(&pool), (3, 1));
        for stack in &pool.pile.lock().trimmed {
            assert_eq!(resident(stack), kept_pages);
        }
        let stack = pool.take().unwrap();
        assert_eq!(resident(&stack), DEFAULT_SIZE / page_size());
        pool.put(stack);
        pool.rest(usize::MAX);
        let all: Vec<_> = (0..4).map(|_| pool.take().unwrap()).collect();
        assert!(all.iter().all(|stack| resident(stack) == kept_pages));
        assert!(pool.take().is_none());
    }

    /// As many at once as a moment ago: nobody asks the system for anything.
    #[test]
    fn stacks_that_are_taken_again_stay_whole() {
        const MANY: usize = 10 * TURN;
        let pool = Pool::new();
        let mut stacks: Vec<_> = (0..MANY).map(|_| Stack::map(DEFAULT_SIZE).unwrap()).collect();
        for _ in 0..5 {
            stacks.drain(..).for_each(|stack| pool.put(stack));
            assert_eq!(kept(&pool), (0, MANY));
            stacks.extend((0..MANY).map(|_| pool.take().unwrap()));
        }
    }

    /// However the number of fibers at once goes up and down within a turn.
    #[test]
    fn stacks_that_are_needed_now_and_then_stay_whole() {
        const MANY: usize = 10 * TURN;
        let pool = Pool::new();
        for _ in 0..MANY {
            pool.put(Stack::map(DEFAULT_SIZE).unwrap());
        }
        for round in 1..=8 * TIMES {
            let number = if round.is_multiple_of(TIMES - 1) { MANY } else { MANY / 2 };
            let used: Vec<_> = (0..number).map(|_| pool.take().unwrap()).collect();
            used.into_iter().for_each(|stack| pool.put(stack));
            assert_eq!(kept(&pool), (0, MANY));
        }
    }

    /// As fibers of which every third has ended when the last begins.
    #[test]
    fn stacks_that_are_taken_more_often_than_they_are_there_at_once_stay_whole() {
        const MANY: usize = 10 * TURN;
        let pool = Pool::new();
        for _ in 0..MANY {
            pool.put(Stack::map(DEFAULT_SIZE).unwrap());
        }
        for _ in 0..10 {
            let (mut used, mut taken) = (Vec::new(), 0_usize);
            while let Some(stack) = pool.take() {
                taken += 1;
                if taken.is_multiple_of(3) {
                    pool.put(stack);
                } else {
                    used.push(stack);
                }
            }
            assert_eq!(used.len(), MANY);
            used.drain(..).for_each(|stack| pool.put(stack));
            assert_eq!(kept(&pool), (0, MANY));
        }
    }

    #[test]
    fn stacks_that_a_thread_holds_count_for_the_turns_of_the_pool() {
        let pool = Pool::new();
        for _ in 0..4 {
            pool.put(Stack::map(DEFAULT_SIZE).unwrap());
        }
        pool.count_taken_elsewhere(TURN);
        pool.count_taken_elsewhere(TURN);
        begin_and_end(&pool, 5);
        assert_eq!(kept(&pool), (3, 1), "one is taken by the loop");
    }

    #[test]
    fn surplus_goes_one_by_one_and_little_of_it_stays() {
        let pool = Pool::new();
        let number = TRIMMED + 2 * TURN;
        for _ in 0..number {
            pool.put(Stack::map(DEFAULT_SIZE).unwrap());
        }
        // To the end of the turn that has begun before they came, and of the first whole one.
        begin_and_end(&pool, TURN + TIMES * (number - 1));
        assert_eq!(kept(&pool).1, number - 1, "the last of these has paid for one");
        begin_and_end(&pool, 10);
        assert_eq!(kept(&pool), (11, number - 11));
        begin_and_end(&pool, 3 * number);
        assert_eq!(kept(&pool), (TRIMMED, 1));
    }

    #[test]
    fn a_pool_is_bounded_and_at_rest_keeps_little() {
        let pool = Pool::new();
        let number = TRIMMED + 10;
        for _ in 0..number {
            pool.put(Stack::map(DEFAULT_SIZE).unwrap());
        }
        pool.trim(4, TRIMMED);
        assert_eq!(kept(&pool), (4, number - 4));
        pool.trim(usize::MAX, TRIMMED);
        assert_eq!(kept(&pool), (10, TRIMMED));
        pool.rest(4);
        assert_eq!(kept(&pool), (6, TRIMMED));
        pool.rest(8);
        assert_eq!(kept(&pool), (2, TRIMMED - 2), "six are unmapped, and two are trimmed");
        assert!(pool.is_to_rest.load(Relaxed));
        pool.rest(usize::MAX);
        assert_eq!(kept(&pool), (TRIMMED, 0));
        assert!(!pool.is_to_rest.load(Relaxed));
    }

    #[test]
    fn more_than_so_many_are_unmapped() {
        let pool = Pool::new();
        for _ in 0..KEPT + 10 {
            pool.put(Stack::map(DEFAULT_SIZE).unwrap());
        }
        assert_eq!(kept(&pool), (0, KEPT));
    }
}
