//! The thread that looks after workers which are busy for long.
//!
//! A worker that forks, or is in one long poll, cannot serve its own queues. So
//! the monitor looks at all workers every `PERIOD`, and gives what waits there to
//! others. (The idea, and the name of the retake, are those of Go's `sysmon`.)
//!
//! | what waits | the monitor |
//! |---|---|
//! | a task in the LIFO slot, in a poll that lasts from look to look | moves it to the injector |
//! | a deferred waker, in such a poll | wakes it |
//! | a timer that is overdue | fires it |
//! | work that was pushed without a wake-up, beside a sleeping worker | wakes one |
//! | anything, if the worker forks since the last look and no other is free | *retakes* its state |
//! | tasks that completed elsewhere, while the worker sleeps | wakes it to reap them |
//! | a worker's place, for which the system had no thread | asks for one again |
//!
//! To retake a state on offer (`handoff.rs`) is to have another thread become the
//! worker.
//!
//! So nothing but a pinned task waits for a busy worker for more than two
//! periods, and a pinned one only if the worker neither forks nor blocks in
//! place. What the monitor wakes is foreign code, as everywhere in a scheduler:
//! a waker that blocks holds the monitor up.
//!
//! The monitor starts when a worker has been idle for a period, or has made so
//! many polls as the event interval says, and sleeps when all workers have done
//! so for `QUIET_LOOKS`. With one worker, there is nobody to give anything to;
//! it exists only if that worker blocks in place.

use super::handoff::Handoff;
use super::{Offer, Remote, Shared, handle};
use crate::context;
use crate::primitives::abort::AbortOnUnwind;
use crate::primitives::atomic::{AcqRel, AtomicU32, AtomicUsize, Relaxed, SeqCst, fence};
use crate::primitives::parker::Parker;
use crate::primitives::thread;
use crate::task::wake_guarded;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks.
pub(super) const PERIOD: Duration = Duration::from_millis(2);

/// A timer that is overdue by so much is fired by the monitor: a worker that is
/// not in a long poll has fired it by then.
const GRACE: Duration = Duration::from_millis(1);

/// Looks in vain after which the monitor sleeps.
const QUIET_LOOKS: u32 = 50;

/// One look in so many wakes sleeping workers so that they free memory.
const REAP_EVERY: u32 = 64;

/// How many timers of a worker are fired at one look.
const TIMERS_AT_A_LOOK: usize = 1024;

/// There is no monitor.
const ABSENT: u32 = 0;
/// It looks, or is about to.
const AWAKE: u32 = 1;
/// It waits until it is woken.
const ASLEEP: u32 = 2;

/// The monitor, seen from the workers.
#[derive(Debug)]
pub(super) struct Monitor {
    /// Written by the monitor and by whoever wakes or starts it.
    state: AtomicU32,
    parker: Parker,
    /// Forking threads whose states were retaken. No more are taken than there
    /// are workers, so that forks within forks do not make threads without end.
    retaken: AtomicUsize,
}

impl Monitor {
    pub(super) fn new() -> Self {
        Self { state: AtomicU32::new(ABSENT), parker: Parker::new(), retaken: AtomicUsize::new(0) }
    }

    /// Sees to it that the monitor is awake. The caller has made visible what
    /// it is for, with a full fence in between: a state on offer, a guest, or
    /// that a worker is awake.
    #[inline]
    pub(super) fn ensure(&self, shared: &Arc<Shared>) {
        // Relaxed: the worker's half of the store-buffering pattern with `rest`.
        if self.state.load(Relaxed) != AWAKE {
            self.wake_or_start(shared);
        }
    }

    /// For a worker that is awake, and has been for some polls.
    #[inline]
    pub(super) fn ensure_for_busy(&self, shared: &Arc<Shared>) {
        if shared.workers() > 1 {
            // There was a fence when this worker came out of its sleep
            // (`worker_woke`), and it has not slept since.
            self.ensure(shared);
        }
    }

    /// For a worker that comes out of its sleep.
    pub(super) fn worker_woke(&self, shared: &Arc<Shared>) {
        if shared.workers() > 1 {
            // Between the count of those awake and the look at the monitor.
            fence(SeqCst);
            self.ensure(shared);
        }
    }

    /// Whether there is none, and should be.
    pub(super) fn is_missing(&self, shared: &Shared) -> bool {
        // Relaxed: whoever acts on it looks again (`wake_or_start`).
        shared.workers() > 1 && self.state.load(Relaxed) == ABSENT
    }

    #[cold]
    fn wake_or_start(&self, shared: &Arc<Shared>) {
        // AcqRel: whoever changes the state is the one to act on it.
        if self.state.compare_exchange(ASLEEP, AWAKE, AcqRel, Relaxed).is_ok() {
            self.parker.unpark();
        } else if self.state.compare_exchange(ABSENT, AWAKE, AcqRel, Relaxed).is_ok() {
            let its = Arc::clone(shared);
            let name = "trefoil-monitor".to_owned();
            let started =
                thread::spawn(name, shared.common.thread_stack_bytes, move || monitor(&its));
            if started.is_err() {
                // The next one tries again. Until then, what waits for a busy
                // worker waits for its poll to end.
                self.state.store(ABSENT, Relaxed);
            }
        }
    }

    /// For the runtime's end, which the caller has notified.
    pub(super) fn shut_down(&self) {
        self.parker.unpark();
    }

    /// The fork of a thread whose state was retaken has ended.
    pub(super) fn fork_ended(&self, handoff: &Handoff) {
        handoff.remove_forker();
        // Relaxed: bounds on threads, which order nothing.
        self.retaken.fetch_sub(1, Relaxed);
    }

    /// It has not: the thread has blocked, and computes again. There may be more of
    /// these threads than are retaken for a while.
    pub(super) fn fork_goes_on(&self, handoff: &Handoff) {
        handoff.add_forker();
        // Relaxed: as above.
        self.retaken.fetch_add(1, Relaxed);
    }

    /// Sleeps until a worker is awake, or one offers its state.
    fn rest(&self, shared: &Shared) {
        self.state.store(ASLEEP, Relaxed);
        // The monitor's half of the store-buffering pattern with `ensure`: either the
        // worker sees that we sleep, or we see what it has made visible.
        fence(SeqCst);
        if shared.needs_monitor() {
            // Relaxed: it changes nothing for us who was first.
            let _ = self.state.compare_exchange(ASLEEP, AWAKE, Relaxed, Relaxed);
            return;
        }
        self.parker.park();
    }
}

/// What the monitor remembers of one worker from one look to the next.
#[derive(Clone, Default)]
struct Seen {
    polls: u64,
    offer: Option<Offer>,
    has_guest: bool,
}

/// The body of the monitor's thread.
fn monitor(shared: &Arc<Shared>) {
    // What it is to pass on would wait for as long as polls last, unnoticed.
    let abort = AbortOnUnwind("in the monitor");
    // For destructors, should this be the last thread to leave.
    let its_handle = handle(shared);
    let _handle = context::enter_handle(its_handle.clone());
    shared.common.unpin();
    shared.monitor.parker.adopt();
    let mut seen = vec![Seen::default(); shared.workers()];
    let mut quiet = 0;
    let mut look = 0_u32;
    while !shared.is_shut_down() {
        // After some months.
        look = look.wrapping_add(1);
        let mut timeout = PERIOD;
        // One more thread a look is enough for what everybody sees.
        let mut is_served = false;
        for (worker, seen) in seen.iter_mut().enumerate() {
            shared.look_at_guest(worker, seen, &mut is_served);
        }
        for (worker, seen) in seen.iter_mut().enumerate() {
            shared.look_at_offer(worker as u32, seen, is_served);
            shared.look_at_poll(worker, seen);
            timeout = timeout.min(shared.look_at_timers(worker));
        }
        if shared.idle.wants_searcher() && shared.has_work() {
            shared.notify();
        }
        shared.common.blocking.retry(&its_handle);
        quiet = if shared.needs_monitor() { 0 } else { quiet + 1 };
        if quiet >= QUIET_LOOKS || look.is_multiple_of(REAP_EVERY) {
            shared.have_memory_reaped();
        }
        if quiet < QUIET_LOOKS {
            shared.monitor.parker.park_timeout(timeout);
        } else {
            quiet = 0;
            shared.monitor.rest(shared);
        }
    }
    std::mem::forget(abort);
}

impl Shared {
    /// Whether there is anything to look after.
    fn needs_monitor(&self) -> bool {
        let is_any_awake = self.workers() > 1 && !self.idle.is_all_asleep();
        // Whoever retakes a state makes a body of it in one critical section of the
        // pool. So one of the last two looks sees it, if they come in this order.
        is_any_awake
            || self
                .remotes
                .iter()
                .any(|remote| remote.handoff.available().is_some() || remote.handoff.has_guest())
            || self.common.blocking.has_bodies()
    }

    /// A guest is in the worker's place since the last look, and tasks wait that
    /// nobody has time for: the worker sleeps, and has all it needs to serve them.
    fn look_at_guest(&self, worker: usize, seen: &mut Seen, is_served: &mut bool) {
        let has_guest = self.remotes[worker].handoff.has_guest();
        let had_guest = std::mem::replace(&mut seen.has_guest, has_guest);
        let lacks_worker = self.is_all_busy() && self.has_queued_tasks();
        if has_guest && had_guest && !*is_served && lacks_worker {
            fence(SeqCst);
            *is_served = self.unpark_worker(worker as u32);
        }
    }

    /// The worker forks since the last look: it may have to be replaced.
    /// `is_served` if a worker was just woken for what everybody sees.
    fn look_at_offer(&self, worker: u32, seen: &mut Seen, is_served: bool) {
        let remote = &self.remotes[worker as usize];
        // One that blocks is replaced by whoever needs it.
        let offer = remote.handoff.available().filter(|offer| !offer.blocks());
        let before = std::mem::replace(&mut seen.offer, offer);
        if let Some(offer) = offer.filter(|_| before == offer)
            && self.is_needed(remote, offer, is_served)
        {
            self.retake_from_fork(worker, offer);
        }
    }

    /// Whether something waits that nobody but the worker of the state on offer
    /// will serve.
    fn is_needed(&self, remote: &Remote, offer: Offer, is_served: bool) -> bool {
        if offer.has_pinned() || !remote.inbox.is_empty() {
            return true;
        }
        // What everybody sees is the others' business, if there are others.
        let is_seen = !remote.ring.is_empty() || !self.injector.is_empty();
        !is_served && self.is_all_busy() && is_seen
    }

    fn is_all_busy(&self) -> bool {
        self.idle.counts() == (0, 0)
    }

    /// Has another thread become the worker whose own one forks, if the state is
    /// still there and there may be one more thread.
    pub(super) fn retake_from_fork(&self, worker: u32, offer: Offer) {
        let remote = &self.remotes[worker as usize];
        let retaken = &self.monitor.retaken;
        // Relaxed: bounds on threads, which order nothing.
        let more = |retaken: usize| (retaken < self.workers()).then(|| retaken + 1);
        if retaken.fetch_update(Relaxed, Relaxed, more).is_err() {
            return;
        }
        remote.handoff.add_forker();
        // Before the state is taken, become one of the scheduler's threads, so
        // that the one that forks is not the last to leave. If none is left,
        // the runtime is over.
        // SeqCst: once per retake, and no weaker one is argued for.
        let join = |threads: usize| (threads > 0).then(|| threads + 1);
        if self.threads.fetch_update(SeqCst, SeqCst, join).is_err() {
            return self.monitor.fork_ended(&remote.handoff);
        }
        if !self.replace(worker, offer) {
            self.monitor.fork_ended(&remote.handoff);
            if let Some(shared) = self.this.upgrade() {
                shared.retire(None);
            }
        }
    }

    /// The same poll lasts since the last look: others get what the worker kept for
    /// the time after that poll.
    fn look_at_poll(&self, worker: usize, seen: &mut Seen) {
        let remote = &self.remotes[worker];
        let polls = remote.counters.polls.get();
        if std::mem::replace(&mut seen.polls, polls) != polls {
            return;
        }
        // With one worker, the slot is the worker's own, and nobody could run
        // what is in it.
        if self.workers() > 1 && !remote.lifo.is_empty() {
            self.empty_slot_of(remote);
        }
        remote.deferred.take().into_iter().for_each(wake_guarded);
    }

    #[cold]
    fn empty_slot_of(&self, remote: &Remote) {
        let Some(shared) = self.this.upgrade() else { return };
        // With a task in its hands, the monitor is one of the scheduler's threads:
        // the last one to leave cancels what it finds, and it must find the task.
        // SeqCst: once per task that a long poll holds up.
        let join = |threads: usize| (threads > 0).then(|| threads + 1);
        if self.threads.fetch_update(SeqCst, SeqCst, join).is_err() {
            return;
        }
        if let Some(task) = remote.lifo.take() {
            let queued = self.inject_first(task);
            debug_assert!(queued.is_ok(), "closed before this thread has left");
        }
        shared.retire(None);
    }

    /// Fires the worker's overdue timers. Returns when to look again.
    fn look_at_timers(&self, worker: usize) -> Duration {
        let timers = &self.remotes[worker].timers;
        if timers.overdue(GRACE) && timers.fire(TIMERS_AT_A_LOOK) {
            return Duration::from_nanos(1);
        }
        timers.glance().map_or(PERIOD, |left| left + GRACE)
    }

    /// Wakes the workers that sleep and have memory to free.
    fn have_memory_reaped(&self) {
        for (worker, remote) in self.remotes.iter().enumerate() {
            if !remote.completed_elsewhere.is_empty() && remote.parker.is_parked() {
                self.unpark_worker(worker as u32);
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::primitives::Mutex;
    use crate::primitives::atomic::AtomicBool;
    use std::ptr;

    /// The store-buffering pattern of `ensure` and `rest`, about something that `make` makes
    /// visible with a full fence, and `see` sees.
    fn one_sees_the_other(make: fn(&Handoff), see: fn(&Handoff) -> bool) {
        loom::model(move || {
            let handoff = Arc::new(Handoff::new());
            let monitor = Arc::new(Monitor::new());
            monitor.state.store(AWAKE, Relaxed);
            let maker = {
                let (handoff, monitor) = (Arc::clone(&handoff), Arc::clone(&monitor));
                loom::thread::spawn(move || {
                    make(&handoff);
                    // As in `ensure`.
                    monitor.state.load(Relaxed) != AWAKE
                })
            };
            // As in `rest`.
            monitor.state.store(ASLEEP, Relaxed);
            fence(SeqCst);
            let is_seen = see(&handoff);
            let is_woken = maker.join().unwrap();
            assert!(is_seen || is_woken);
        });
    }

    #[test]
    fn loom_a_guest_is_not_slept_through() {
        one_sees_the_other(|handoff| handoff.guest_enters(), Handoff::has_guest);
    }

    #[test]
    fn loom_an_offer_is_not_slept_through() {
        let offer = |handoff: &Handoff| {
            // SAFETY: a state that does not exist has no other owner.
            let _ = unsafe { handoff.offer(ptr::null_mut(), false, false) };
        };
        one_sees_the_other(offer, |handoff| handoff.available().is_some());
    }

    /// A sleeper is chosen, wakes, and runs, while the monitor begins to rest.
    #[test]
    fn loom_a_worker_that_wakes_is_not_slept_through() {
        loom::model(|| {
            let idle = Arc::new(crate::idle::Idle::new(1));
            let monitor = Arc::new(Monitor::new());
            monitor.state.store(AWAKE, Relaxed);
            let _ = idle.sleep(0, false, || ());
            let worker = {
                let (idle, monitor) = (Arc::clone(&idle), Arc::clone(&monitor));
                loom::thread::spawn(move || {
                    let _ = idle.wake(0);
                    // As in `worker_woke`.
                    fence(SeqCst);
                    monitor.state.load(Relaxed) != AWAKE
                })
            };
            // As in `rest`.
            monitor.state.store(ASLEEP, Relaxed);
            fence(SeqCst);
            let is_seen = !idle.is_all_asleep();
            let is_woken = worker.join().unwrap();
            assert!(is_seen || is_woken);
        });
    }

    /// What of `Shared` the end of a runtime and `empty_slot_of` share, about one task.
    struct End {
        threads: AtomicUsize,
        slot: AtomicBool,
        /// Whether the task is in the injector; `None` when that is closed.
        injector: Mutex<Option<bool>>,
        cancelled: AtomicUsize,
    }

    impl End {
        /// As in `LifoSlot::take`.
        fn take(&self) -> bool {
            self.slot.load(Relaxed) && self.slot.swap(false, AcqRel)
        }

        /// As in `Shared::retire` and `cancel_tasks`.
        fn retire(&self) {
            if self.threads.fetch_sub(1, AcqRel) == 1 {
                let is_queued = self.injector.lock().take().expect("only one is the last");
                let found = usize::from(is_queued) + usize::from(self.take());
                self.cancelled.fetch_add(found, Relaxed);
            }
        }

        /// As in `Shared::empty_slot_of`.
        fn empty_slot(&self) {
            let join = |threads: usize| (threads > 0).then(|| threads + 1);
            if self.threads.fetch_update(SeqCst, SeqCst, join).is_err() {
                return;
            }
            if self.take() {
                let mut injector = self.injector.lock();
                *injector.as_mut().expect("closed before this thread has left") = true;
            }
            self.retire();
        }
    }

    /// The monitor takes the task of a worker's slot while the workers leave: the last
    /// thread to leave finds the task.
    #[test]
    fn loom_a_task_that_the_monitor_holds_is_found_at_the_end() {
        loom::model(|| {
            let end = Arc::new(End {
                threads: AtomicUsize::new(2),
                slot: AtomicBool::new(true),
                injector: Mutex::new(Some(false)),
                cancelled: AtomicUsize::new(0),
            });
            let [worker, monitor] = [End::retire as fn(&End), End::empty_slot].map(|body| {
                let end = Arc::clone(&end);
                loom::thread::spawn(move || body(&end))
            });
            end.retire();
            worker.join().unwrap();
            monitor.join().unwrap();
            assert_eq!(end.cancelled.load(Relaxed), 1);
        });
    }
}
