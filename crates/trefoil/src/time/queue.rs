//! The timers of one worker, and how all threads reach them.

use super::clock::Clock;
use super::entry::{Entry, State};
use super::wheel::{Step, Wheel, with_node};
use crate::primitives::atomic::{AtomicBool, AtomicU64, Relaxed};
use crate::primitives::parker::Parker;
use crate::primitives::{Mutex, MutexGuard};
use crate::scheduler::Id;
use crate::task::{task_of, wake_guarded};
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// A sixteenth of a millisecond: divides one, so that whole milliseconds of
/// paused time are whole ticks. Linux adds up to 50 µs to every wait of a thread (its timer slack),
/// so a much finer tick would make no timer more punctual, and a coarser one would.
const TICK_NS: u32 = 62_500;

const TICKS_PER_S: u64 = 1_000_000_000 / TICK_NS as u64;

const NEVER: u64 = u64::MAX;

/// How many wakers are collected under the lock at a time.
const BATCH: usize = 32;

/// How many steps of the wheel there may be for each waker: moving a timer is
/// much cheaper than waking a task.
const STEPS_PER_WAKER: usize = 4;

/// How many entries are kept for the next timers.
const SPARE: usize = 256;

/// How many timers a scheduler fires between two looks at its tasks: no more
/// than it polls in between, so that they do not pile up.
pub(crate) const FIRE_AT_MOST: usize = 2 * BATCH;

/// A wheel behind a lock, under which no foreign code runs. Any thread may make,
/// cancel and fire timers.
///
/// One thread, the *owner*, sees to it that they are fired: whoever has the
/// worker's state, drives the single-threaded scheduler, or is in the `block_on`
/// that the queue was made for. It is the one that the parker wakes, and it
/// never parks for longer than `until_next` says. Others may fire as well, while
/// the owner is busy.
#[derive(Debug)]
pub(crate) struct TimerQueue {
    /// No timer on the wheel is due before this tick. Written under the lock.
    next: AtomicU64,
    /// There is a `last` waker. Written under the lock.
    has_last: AtomicBool,
    inner: Mutex<Inner>,
    clock: Clock,
    parker: Arc<Parker>,
    runtime: Id,
    /// It is that of a `block_on`: nobody fires it while its thread is busy.
    is_private: bool,
}

#[derive(Debug)]
struct Inner {
    wheel: Wheel,
    /// Entries for the next timers, so that the heap is not asked.
    spare: Spare,
    /// The waker of the timer that was dropped last, until the owner's next turn. A
    /// task that uses one timer after another, as a task that serves requests does,
    /// needs no new waker for each.
    last: Option<Waker>,
    is_closed: bool,
}

/// Linked through their nodes, so that nothing is allocated under the lock.
#[derive(Debug)]
struct Spare {
    first: Option<NonNull<Entry>>,
    len: usize,
}

// SAFETY: what the pointers lead to is entries on the wheel, or spare ones. Their
// nodes are touched under the lock, and their wakers are `Send`.
unsafe impl Send for Inner {}

/// What came of a look at the timers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fired {
    /// More may be due.
    pub(crate) has_more: bool,
    /// When it was, if there is a timer at all.
    pub(crate) at: Option<Instant>,
}

/// Why a timer was not registered.
#[derive(Debug)]
pub(super) enum Refused {
    /// It is due.
    Due,
    /// The queue's runtime is over.
    Closed,
    /// The queue is private, and time is stopped: it would not jump to this timer.
    Stopped,
}

impl TimerQueue {
    /// The timers of a runtime, fired by the thread that waits at `parker`.
    pub(crate) fn new(clock: Clock, parker: Arc<Parker>, runtime: Id) -> Self {
        let inner =
            Inner { wheel: Wheel::new(), spare: Spare::new(), last: None, is_closed: false };
        Self {
            next: AtomicU64::new(NEVER),
            has_last: AtomicBool::new(false),
            inner: Mutex::new(inner),
            clock,
            parker,
            runtime,
            is_private: false,
        }
    }

    /// As `new`, for a `block_on`.
    pub(crate) fn new_private(clock: Clock, parker: Arc<Parker>, runtime: Id) -> Self {
        Self { is_private: true, ..Self::new(clock, parker, runtime) }
    }

    /// Whether it is that of a `block_on`, whose thread alone fires it.
    pub(super) fn is_private(&self) -> bool {
        self.is_private
    }

    pub(crate) fn runtime(&self) -> Id {
        self.runtime
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Whether its time may be stopped.
    #[inline]
    pub(crate) fn is_virtual(&self) -> bool {
        self.clock.is_virtual()
    }

    #[inline]
    fn set_next(&self, next: u64) {
        // Relaxed: see `next`.
        self.next.store(next, Relaxed);
    }

    #[inline]
    fn next(&self) -> u64 {
        // Relaxed: the owner has written it itself, or gets a token at its
        // parker afterwards, which orders the two. For all others, it is a hint.
        self.next.load(Relaxed)
    }

    /// How long until a timer may be due; `None` if there is none. The owner may
    /// sleep for so long: for an earlier one, it is woken.
    pub(crate) fn until_next(&self) -> Option<Duration> {
        let mut next = self.next();
        if next == NEVER {
            return None;
        }
        if self.clock.is_paused() {
            // Paused time jumps to exactly the next timer, not to some slot.
            next = self.inner.lock().wheel.first_deadline()?;
        }
        Some(self.until(next))
    }

    /// How long until a timer may be due, for people.
    pub(crate) fn glance(&self) -> Option<Duration> {
        let next = self.next();
        (next != NEVER).then(|| self.until(next))
    }

    /// Whether a timer may have been due for so long: then its owner is busy, and
    /// somebody else has to fire.
    pub(crate) fn overdue(&self, grace: Duration) -> bool {
        self.overdue_at(None, grace)
    }

    /// As `overdue`, for callers that may know what time it is.
    #[inline]
    pub(crate) fn overdue_at(&self, now: Option<Instant>, grace: Duration) -> bool {
        let next = self.next();
        if next == NEVER {
            return false;
        }
        let now = now.unwrap_or_else(|| self.clock.now());
        self.clock.since_start(now) >= time_of(next) + grace
    }

    fn until(&self, tick: u64) -> Duration {
        time_of(tick).saturating_sub(self.clock.since_start(self.clock.now()))
    }

    /// The first tick that is not before this moment.
    #[inline]
    fn tick_after(&self, moment: Instant) -> u64 {
        let since = self.clock.since_start(moment);
        let ticks = u64::from(since.subsec_nanos().div_ceil(TICK_NS));
        since.as_secs().saturating_mul(TICKS_PER_S).saturating_add(ticks).min(NEVER - 1)
    }

    /// The last tick that is not after this moment.
    fn tick_before(&self, moment: Instant) -> u64 {
        let since = self.clock.since_start(moment);
        let ticks = u64::from(since.subsec_nanos() / TICK_NS);
        since.as_secs().saturating_mul(TICKS_PER_S).saturating_add(ticks).min(NEVER - 1)
    }

    /// Makes a timer, whose entry the caller gives to `cancel`. `clone` is what
    /// [`clone_foreign`] has made of `waker`; it may be left.
    ///
    /// `is_owner` says that the calling thread is the queue's owner, and so needs
    /// not be woken. No foreign code may have run since that was found out.
    ///
    /// # Errors
    /// [`Refused`].
    #[inline]
    pub(super) fn register(
        self: &Arc<Self>,
        deadline: Instant,
        waker: &Waker,
        clone: &mut Option<Waker>,
        is_owner: bool,
    ) -> Result<NonNull<Entry>, Refused> {
        let when = self.tick_after(deadline);
        let mut inner = self.inner.lock();
        self.admit(&inner, when)?;
        let entry = match inner.spare.pop() {
            Some(entry) => entry,
            None => {
                drop(inner);
                let entry = Entry::new(self);
                inner = self.inner.lock();
                if let Err(refused) = self.admit(&inner, when) {
                    drop(inner);
                    // SAFETY: it was just made, and nobody else knows it.
                    unsafe { Entry::free(entry) };
                    return Err(refused);
                }
                entry
            }
        };
        let waker = clone.take().unwrap_or_else(|| {
            // A task's, so that its clone is no foreign code.
            self.take_last(&mut inner, waker).unwrap_or_else(|| waker.clone())
        });
        // SAFETY: live: new, or spare.
        let this = unsafe { entry.as_ref() };
        // SAFETY: nobody else knows the entry.
        unsafe { this.put_waker(waker) };
        this.set_state(State::Waiting);
        // SAFETY: on no wheel; freed only when it has left this one.
        unsafe { inner.wheel.insert(entry, when) };
        self.inserted(inner, when, is_owner);
        Ok(entry)
    }

    /// Whether a timer for `when` can be put on the wheel.
    #[inline]
    fn admit(&self, inner: &Inner, when: u64) -> Result<(), Refused> {
        if inner.is_closed {
            Err(Refused::Closed)
        } else if self.is_private && self.is_virtual() {
            // Under the lock, which `release` takes after time was stopped: it either finds the
            // timer, or has had the lock before, and then this sees that time is stopped.
            Err(Refused::Stopped)
        } else if when <= inner.wheel.now() {
            Err(Refused::Due)
        } else {
            Ok(())
        }
    }

    /// A timer for `when` was put on the wheel.
    #[inline]
    fn inserted(&self, inner: MutexGuard<'_, Inner>, when: u64, is_owner: bool) {
        let is_first = when < self.next();
        if is_first {
            self.set_next(when);
        }
        drop(inner);
        // The owner sleeps until what was `next` at some time since it began. If
        // that was lowered since, it has got a token for it; so a timer that is
        // not the first does not concern it. The token comes after the store: an
        // owner that has not seen the one will find the other.
        if is_first && !is_owner {
            self.parker.unpark();
        }
    }

    /// The last waker, if it is the same. `waker` is a task's.
    fn take_last(&self, inner: &mut Inner, waker: &Waker) -> Option<Waker> {
        let last = inner.last.take_if(|last| last.will_wake(waker))?;
        // Relaxed: a hint, written under the lock.
        self.has_last.store(false, Relaxed);
        Some(last)
    }

    /// Lets go of a timer in any state, on any thread; returns who waited for
    /// it.
    ///
    /// # Safety
    /// The caller is the entry's holder, and does not use it again.
    pub(super) unsafe fn cancel(entry: NonNull<Entry>) -> Option<Waker> {
        // SAFETY: live, by the caller's promise.
        let this = unsafe { entry.as_ref() };
        let mut waker = None;
        if this.state() == State::Waiting {
            // The entry keeps the queue for as long as the lock is in use; were it
            // left to the spare ones, it might not.
            let queue = &**this.queue();
            let mut inner = queue.inner.lock();
            // SAFETY: the caller's promise, and the entry is of this queue.
            waker = unsafe { queue.unlink(&mut inner, entry) };
        }
        // SAFETY: it waits no more, so the queue has had its last touch.
        unsafe { Entry::free(entry) };
        waker
    }

    /// As `cancel`, for callers that keep the queue alive: the entry is kept for
    /// the next timer.
    ///
    /// # Safety
    /// As for `cancel`, and the entry is of this queue.
    #[inline]
    pub(super) unsafe fn cancel_here(&self, entry: NonNull<Entry>) -> Option<Waker> {
        let mut inner = self.inner.lock();
        // SAFETY: the caller's promise.
        let waker = unsafe { self.unlink(&mut inner, entry) };
        // SAFETY: on no wheel, without a waker, and the caller's.
        unsafe { Inner::recycle(inner, entry) };
        waker
    }

    /// As `cancel_here`, by the owner, for a timer that is dropped.
    ///
    /// # Safety
    /// As for `cancel_here`.
    #[inline]
    pub(super) unsafe fn discard_here(&self, entry: NonNull<Entry>) {
        let mut inner = self.inner.lock();
        // SAFETY: the caller's promise.
        let mut waker = unsafe { self.unlink(&mut inner, entry) };
        // Others' wakers are not ours to keep.
        if waker.as_ref().is_some_and(|waker| task_of(waker).is_some()) && !inner.is_closed {
            std::mem::swap(&mut inner.last, &mut waker);
            // Relaxed: a hint, written under the lock.
            self.has_last.store(true, Relaxed);
        }
        // SAFETY: on no wheel, without a waker, and the caller's.
        unsafe { Inner::recycle(inner, entry) };
        // Foreign code, and the lock is free again.
        drop(waker);
    }

    /// Takes a timer off the wheel, if it still waits.
    ///
    /// # Safety
    /// The caller is the entry's holder, and the entry is of this queue.
    #[inline]
    unsafe fn unlink(&self, inner: &mut Inner, entry: NonNull<Entry>) -> Option<Waker> {
        // SAFETY: live, since it is held.
        let this = unsafe { entry.as_ref() };
        if this.state() != State::Waiting {
            return None;
        }
        // SAFETY: what waits is on its queue's wheel.
        unsafe { inner.wheel.remove(entry) };
        if inner.wheel.is_empty() {
            // Other than for the last one, `next` may stay too early: then the
            // owner looks once for nothing.
            self.set_next(NEVER);
        }
        // SAFETY: it waits up to here, and the lock is ours.
        let waker = unsafe { this.take_waker() };
        this.set_state(State::Fired);
        Some(waker)
    }

    /// Makes a timer wait until another deadline; false if it does not wait, or
    /// the new deadline has passed. As for `register`, `is_owner` is about the
    /// calling thread.
    ///
    /// # Safety
    /// The caller is the entry's holder.
    pub(super) unsafe fn reset(entry: NonNull<Entry>, deadline: Instant, is_owner: bool) -> bool {
        // SAFETY: live, since it is held; and it keeps the queue.
        let this = unsafe { entry.as_ref() };
        let queue = &**this.queue();
        let when = queue.tick_after(deadline);
        let mut inner = queue.inner.lock();
        if this.state() != State::Waiting || when <= inner.wheel.now() {
            return false;
        }
        // SAFETY: what waits is on its queue's wheel.
        unsafe { inner.wheel.remove(entry) };
        // SAFETY: just removed; freed only when it has left again.
        unsafe { inner.wheel.insert(entry, when) };
        queue.inserted(inner, when, is_owner);
        true
    }

    /// Makes another task the one that waits; false if the timer does not wait
    /// any more. `waker` is a clone for the entry to keep.
    ///
    /// # Safety
    /// The caller is the entry's holder.
    pub(super) unsafe fn replace_waker(entry: NonNull<Entry>, waker: Waker) -> bool {
        // SAFETY: live, since it is held; and it keeps the queue.
        let this = unsafe { entry.as_ref() };
        let inner = this.queue().inner.lock();
        if this.state() != State::Waiting {
            // Foreign code.
            drop(inner);
            drop(waker);
            return false;
        }
        // SAFETY: it waits, the lock is ours, and it gets another one.
        let before = unsafe { this.take_waker() };
        // SAFETY: the lock is ours, and the caller the holder.
        unsafe { this.put_waker(waker) };
        drop(inner);
        drop(before);
        true
    }

    /// Fires what is due, on any thread: wakes so many tasks at most, and returns
    /// whether there may be more, for which the caller is to come back soon. Who
    /// fires at the same time wakes others.
    pub(crate) fn fire(&self, at_most: usize) -> bool {
        self.fire_after(at_most, || ()).has_more
    }

    /// As `fire`, with a call of `before` if foreign code is about to be called. Only this
    /// look at the clock can tell: a moment before, nothing may have been due.
    #[inline]
    pub(crate) fn fire_after(&self, at_most: usize, before: impl Fn()) -> Fired {
        // Relaxed: the owner has written it itself, or does not mind.
        if self.has_last.load(Relaxed) {
            before();
            self.drop_last();
        }
        let next = self.next();
        if next == NEVER {
            return Fired { has_more: false, at: None };
        }
        let at = self.clock.now();
        let now = self.tick_before(at);
        if next > now {
            return Fired { has_more: false, at: Some(at) };
        }
        before();
        Fired { has_more: self.fire_until(now, at_most), at: Some(at) }
    }

    #[cold]
    fn drop_last(&self) {
        let mut inner = self.inner.lock();
        // Relaxed: a hint, written under the lock.
        self.has_last.store(false, Relaxed);
        let last = inner.last.take();
        // Foreign code, and so after the lock.
        drop(inner);
        drop(last);
    }

    fn fire_until(&self, now: u64, at_most: usize) -> bool {
        let mut wakers: [Option<Waker>; BATCH] = [const { None }; BATCH];
        let mut left = at_most;
        let mut steps = at_most.saturating_mul(STEPS_PER_WAKER);
        loop {
            let room = left.min(BATCH);
            let most_steps = steps.min(BATCH * STEPS_PER_WAKER);
            let (count, taken) = self.take_due(now, &mut wakers[..room], most_steps);
            wakers[..count].iter_mut().filter_map(Option::take).for_each(wake_guarded);
            let Some(taken) = taken else { return false };
            left -= count;
            steps -= taken;
            if left == 0 || steps == 0 {
                return true;
            }
        }
    }

    /// Takes so many timers off, and returns how many; and how many steps that
    /// took, unless there are no more.
    fn take_due(
        &self,
        now: u64,
        wakers: &mut [Option<Waker>],
        most_steps: usize,
    ) -> (usize, Option<usize>) {
        let mut inner = self.inner.lock();
        let (mut count, mut steps) = (0, 0);
        while count < wakers.len() && steps < most_steps {
            steps += 1;
            match inner.wheel.step(now) {
                Step::Due(entry) => {
                    // SAFETY: it was on the wheel up to now, and the lock is ours.
                    wakers[count] = Some(unsafe { take_waker(entry, State::Fired) });
                    count += 1;
                }
                Step::Moved => {}
                Step::Done => break,
            }
        }
        let next = inner.wheel.next_tick().unwrap_or(NEVER);
        self.set_next(next);
        (count, (next <= now).then_some(steps))
    }

    /// Takes no more timers, and has the tasks of those that are left polled,
    /// so that they register elsewhere.
    pub(crate) fn close(&self) {
        let mut inner = self.inner.lock();
        inner.is_closed = true;
        let mut spare = std::mem::replace(&mut inner.spare, Spare::new());
        drop(inner);
        self.drop_last();
        // They keep the queue alive.
        while let Some(entry) = spare.pop() {
            // SAFETY: spare: nobody knows it.
            unsafe { Entry::free(entry) };
        }
        self.release();
    }

    /// Has the tasks of all timers polled, which then register elsewhere, or here again. For
    /// an owner that cannot fire them for a while.
    pub(crate) fn release(&self) {
        // What comes meanwhile is not meant, or there might be no end.
        let mut left_to_take = self.inner.lock().wheel.len();
        let mut left: [Option<Waker>; BATCH] = [const { None }; BATCH];
        while left_to_take > 0 {
            let most = left_to_take.min(BATCH);
            let count = self.take_any(&mut left[..most]);
            if count == 0 {
                break;
            }
            left_to_take -= count;
            left.iter_mut().filter_map(Option::take).for_each(wake_guarded);
        }
    }

    /// Takes timers off, and returns how many. Their holders find them closed.
    fn take_any(&self, wakers: &mut [Option<Waker>]) -> usize {
        let mut inner = self.inner.lock();
        let mut count = 0;
        while count < wakers.len()
            && let Some(entry) = inner.wheel.pop_any()
        {
            // SAFETY: it was on the wheel up to now, and the lock is ours.
            wakers[count] = Some(unsafe { take_waker(entry, State::Closed) });
            count += 1;
        }
        if inner.wheel.is_empty() {
            self.set_next(NEVER);
        }
        count
    }
}

/// A clone of a waker that is not a task's: foreign code, and so made before
/// anything is looked up, let alone locked. A task's is only counted up, which
/// can wait, and may not be needed.
#[inline]
pub(super) fn clone_foreign(waker: &Waker) -> Option<Waker> {
    task_of(waker).is_none().then(|| waker.clone())
}

/// When a tick is, since the clock's start.
fn time_of(tick: u64) -> Duration {
    let ns = tick % TICKS_PER_S * u64::from(TICK_NS);
    Duration::new(tick / TICKS_PER_S, ns as u32)
}

/// The queue's last touch of an entry.
///
/// # Safety
/// The entry was on the queue's wheel up to now, and the caller has the lock.
unsafe fn take_waker(entry: NonNull<Entry>, state: State) -> Waker {
    // SAFETY: its holder finds it waiting, and so cannot free it yet.
    let entry = unsafe { entry.as_ref() };
    // SAFETY: the caller's promise; it waits no more.
    let waker = unsafe { entry.take_waker() };
    entry.set_state(state);
    waker
}

impl Inner {
    /// # Safety
    /// 1. The entry is on no wheel, has no waker, and is in nobody else's hands.
    /// 2. The caller keeps the queue alive.
    #[inline]
    unsafe fn recycle(mut inner: MutexGuard<'_, Self>, entry: NonNull<Entry>) {
        if inner.spare.len < SPARE && !inner.is_closed {
            // SAFETY: 1.
            unsafe { inner.spare.push(entry) };
        } else {
            drop(inner);
            // SAFETY: 1.
            unsafe { Entry::free(entry) };
        }
    }
}

impl Spare {
    fn new() -> Self {
        Self { first: None, len: 0 }
    }

    /// # Safety
    /// The entry is on no wheel, and in nobody else's hands.
    #[inline]
    unsafe fn push(&mut self, entry: NonNull<Entry>) {
        let next = self.first.replace(entry);
        // SAFETY: the caller's promise.
        unsafe { with_node(entry, |node| node.next = next) };
        self.len += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<NonNull<Entry>> {
        let entry = self.first?;
        // SAFETY: spare ones are live, and nobody else's.
        self.first = unsafe { with_node(entry, |node| node.next.take()) };
        self.len -= 1;
        Some(entry)
    }
}
