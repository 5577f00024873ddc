//! The timers of one thread: a wheel under a lock, and when it is next due.

use super::clock::Clock;
use super::wheel::{Entry, Wheel, with_node};
use crate::runtime::parker::Parker;
use crate::sync::Mutex;
use crate::sync::atomic::{Acquire, AtomicU32, AtomicU64, Relaxed, Release};
use crate::task::wake_guarded;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// A quarter of a millisecond: divides one, so that whole milliseconds of
/// paused time are whole ticks.
const TICK_NS: u64 = 250_000;

const NEVER: u64 = u64::MAX;

/// How many wakers are collected under the lock at a time.
const BATCH: usize = 32;

/// Timers are registered by the thread that polls them first, and fired by the
/// queue's owner. The lock is for the others: a timer can be dropped, reset or
/// polled anywhere.
#[derive(Debug)]
pub(crate) struct TimerQueue {
    /// No timer is due before this tick. Written under the lock.
    next: AtomicU64,
    wheel: Mutex<Inner>,
    clock: Clock,
    parker: Arc<Parker>,
}

#[derive(Debug)]
struct Inner {
    wheel: Wheel,
    is_closed: bool,
}

/// Where an entry is. Written under its queue's lock; while it is on none, by
/// the timer's owner.
#[derive(Debug)]
pub(super) struct EntryState(AtomicU32);

const UNREGISTERED: u32 = 0;
const REGISTERED: u32 = 1;
const FIRED: u32 = 2;

impl EntryState {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(UNREGISTERED))
    }

    pub(super) fn is_registered(&self) -> bool {
        // Acquire: pairs with `set`.
        self.0.load(Acquire) == REGISTERED
    }

    pub(super) fn has_fired(&self) -> bool {
        // Acquire: pairs with `set`; what came before the firing is visible,
        // and the queue does not touch the entry any more.
        self.0.load(Acquire) == FIRED
    }

    /// By the owner of a timer that is on no queue.
    pub(super) fn set_fired(&self) {
        self.set(FIRED);
    }

    /// By the owner of a timer that is on no queue.
    pub(super) fn set_unregistered(&self) {
        self.set(UNREGISTERED);
    }

    fn set(&self, state: u32) {
        // Release: pairs with the loads above.
        self.0.store(state, Release);
    }
}

/// A queue whose runtime is over takes no timers.
#[derive(Debug)]
pub(super) struct Closed;

impl TimerQueue {
    pub(crate) fn new(clock: Clock, parker: Arc<Parker>) -> Self {
        Self {
            next: AtomicU64::new(NEVER),
            wheel: Mutex::new(Inner { wheel: Wheel::new(), is_closed: false }),
            clock,
            parker,
        }
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: asked by the owner, who is unparked for what others add.
        self.next.load(Relaxed) == NEVER
    }

    /// # Errors
    /// The queue is closed.
    ///
    /// # Safety
    /// 1. `entry` is on no queue.  2. It stays live until it has fired, is
    ///    unregistered by `close`, or was given to `remove`.
    pub(super) unsafe fn register(
        &self,
        entry: NonNull<Entry>,
        deadline: Instant,
        waker: Waker,
    ) -> Result<(), Closed> {
        let when = self.tick_after(deadline);
        let mut inner = self.wheel.lock();
        if inner.is_closed {
            return Err(Closed);
        }
        // SAFETY: 1, and the lock is the ownership.
        unsafe { with_node(entry, |node| node.waker = Some(waker)) };
        // SAFETY: 2.
        unsafe { entry.as_ref() }.state.set(REGISTERED);
        // SAFETY: 1 and 2.
        unsafe { inner.wheel.insert(entry, when) };
        // Relaxed: written under the lock only.
        let is_first = when < self.next.load(Relaxed);
        if is_first {
            // Relaxed: the owner learns of it by itself or by the unpark.
            self.next.store(when, Relaxed);
        }
        drop(inner);
        if is_first && !self.is_own() {
            self.parker.unpark();
        }
        Ok(())
    }

    /// Whether the calling thread is the one that fires these timers.
    fn is_own(&self) -> bool {
        crate::runtime::context::with(|context| context.fires(self))
    }

    /// Says whether a registered timer has fired; else `waker` is told.
    ///
    /// # Safety
    /// `entry` was registered here.
    pub(super) unsafe fn poll(&self, entry: NonNull<Entry>, waker: &Waker) -> Poll<()> {
        let old;
        {
            let _inner = self.wheel.lock();
            // SAFETY: live, by the caller's promise.
            if !unsafe { entry.as_ref() }.state.is_registered() {
                return Poll::Ready(());
            }
            // SAFETY: it is on this wheel, and the lock is the ownership.
            old = unsafe {
                with_node(entry, |node| match &node.waker {
                    Some(old) if old.will_wake(waker) => None,
                    _ => node.waker.replace(waker.clone()),
                })
            };
        }
        // Dropping it may run anything, so not under the lock.
        drop(old);
        Poll::Pending
    }

    /// Takes a timer off, whether it has fired or not; returns who waited for
    /// it if it had not.
    ///
    /// # Safety
    /// `entry` was registered here.
    pub(super) unsafe fn remove(&self, entry: NonNull<Entry>) -> Option<Waker> {
        let mut inner = self.wheel.lock();
        // SAFETY: live, by the caller's promise.
        let state = &unsafe { entry.as_ref() }.state;
        if !state.is_registered() {
            return None;
        }
        state.set(UNREGISTERED);
        // SAFETY: being registered, it is on this wheel.
        unsafe { inner.wheel.remove(entry) };
        if inner.wheel.is_empty() {
            // Relaxed: see `register`. Other than for the last one, `next` may
            // stay too early: then the owner looks once for nothing.
            self.next.store(NEVER, Relaxed);
        }
        // SAFETY: it was on this wheel, and the lock is the ownership.
        unsafe { with_node(entry, |node| node.waker.take()) }
    }

    /// How long until a timer may be due; `None` if there is none.
    pub(crate) fn until_next(&self) -> Option<Duration> {
        // Relaxed: see `is_empty`.
        let mut next = self.next.load(Relaxed);
        if next == NEVER {
            return None;
        }
        if self.clock.is_paused() {
            // Paused time jumps to exactly the next timer, not to some slot.
            next = self.wheel.lock().wheel.first_deadline()?;
        }
        let due = Duration::from_nanos(next.saturating_mul(TICK_NS));
        Some(due.saturating_sub(self.clock.since_start(self.clock.now())))
    }

    /// Fires what is due. Called by the owner.
    pub(crate) fn fire(&self) {
        // Relaxed: see `is_empty`.
        let next = self.next.load(Relaxed);
        if next == NEVER {
            return;
        }
        let now = self.tick_before(self.clock.now());
        if next > now {
            return;
        }
        let mut wakers: [Option<Waker>; BATCH] = [const { None }; BATCH];
        loop {
            let mut count = 0;
            let mut inner = self.wheel.lock();
            while count < BATCH {
                let Some(entry) = inner.wheel.pop(now) else { break };
                // SAFETY: it was on the wheel up to now, so it is live, and the
                // lock is the ownership.
                wakers[count] = unsafe { with_node(entry, |node| node.waker.take()) };
                count += 1;
                // The last touch: its owner may free it from here on.
                // SAFETY: it was on the wheel up to now, and its owner cannot
                // free it before this says that it has fired.
                unsafe { entry.as_ref() }.state.set(FIRED);
            }
            // Relaxed: see `register`.
            self.next.store(inner.wheel.next_tick().unwrap_or(NEVER), Relaxed);
            drop(inner);
            wakers[..count].iter_mut().filter_map(Option::take).for_each(wake_guarded);
            if count < BATCH {
                return;
            }
        }
    }

    /// Takes no more timers, and has the tasks of those that are left polled,
    /// so that they register elsewhere.
    pub(crate) fn close(&self) {
        let mut orphans = Vec::new();
        {
            let mut inner = self.wheel.lock();
            inner.is_closed = true;
            while let Some(entry) = inner.wheel.pop_any() {
                // SAFETY: it was on the wheel up to now, so it is live, and the
                // lock is the ownership.
                orphans.extend(unsafe { with_node(entry, |node| node.waker.take()) });
                // SAFETY: as in `fire`.
                unsafe { entry.as_ref() }.state.set(UNREGISTERED);
            }
            // Relaxed: see `register`.
            self.next.store(NEVER, Relaxed);
        }
        orphans.into_iter().for_each(wake_guarded);
    }

    /// The first tick that is not before this moment.
    fn tick_after(&self, moment: Instant) -> u64 {
        let ns = self.clock.since_start(moment).as_nanos();
        u64::try_from(ns.div_ceil(u128::from(TICK_NS))).unwrap_or(NEVER - 1)
    }

    /// The last tick that is not after this moment.
    fn tick_before(&self, moment: Instant) -> u64 {
        let ns = self.clock.since_start(moment).as_nanos();
        u64::try_from(ns / u128::from(TICK_NS)).unwrap_or(NEVER - 1)
    }
}
