//! The thread that serves what waits for a worker that is busy for long.
//!
//! A worker that forks, or is in one long poll, cannot serve its own queues. So the monitor looks
//! at all workers every `PERIOD`, and passes on what waits for a busy one. (The idea, and the word
//! *retake*, are from Go's `sysmon`.)
//!
//! | what waits | the monitor |
//! |---|---|
//! | a task in the LIFO slot, in a poll that lasts from look to look | moves it to the injector |
//! | the tasks in the ring, in one that lasts longer, if nobody is free | moves them there, too |
//! | a deferred waker, in such a poll | wakes it |
//! | a timer that is overdue | fires it |
//! | work that was pushed without a wake-up, while a worker sleeps | wakes one |
//! | a task, if the worker forks since the last look and no other is free | *retakes* its state |
//! | the same, if a thread polls the future of its `block_on` in the worker's place | the same |
//! | the system's events, if nobody looks for them | wakes a sleeper for them, or takes them |
//! | a poll that has lasted for the bound of `scheduler/stalls.rs` | reports it |
//! | tasks that completed elsewhere, while the worker sleeps | wakes it to reap them |
//! | a worker's place, or a closure, for which the system had no thread | asks for one again |
//! | the same, for a busy thread (`blocking/starter.rs`) | starts it, if woken from its sleep |
//!
//! To retake a state on offer (`handoff.rs`) means that another thread becomes the worker.
//!
//! So only two things can wait for a busy worker for more than two periods while others have time
//! for them. One is a task that is
//! pinned to the worker, and only if the worker neither forks nor blocks in place. The other is
//! memory: the empty allocations of tasks that were on the worker's list and completed on other
//! workers. Only the thread that has the worker's state may unlink them (`task/README.md`), and the
//! monitor does not have a state retaken for memory alone. So a worker in a long poll keeps this
//! memory until it comes out of the poll.
//!
//! The monitor calls foreign wakers, as the workers do. A waker that blocks delays the monitor.
//!
//! With two workers, the monitor starts when the runtime is a period old: then by the first worker
//! that wakes, that sleeps (and sleeps on), or that looks at its timers, which it does every few
//! polls. So a runtime that is over sooner has no thread more than its workers. With three or more,
//! of which most have no thread yet, it has one from the beginning (`unstarted.rs`). With one, no
//! other could serve what waits; the monitor then exists only if that worker blocks in place, or if
//! a thread in `block_on` serves in its place. Where stalls are reported, the first poll starts it;
//! and so does a thread outside that leaves a timer or a source of events, or waits for events in
//! `block_on`: both workers may be in polls by then that began early and do not end. The monitor
//! sleeps when all workers have slept for `QUIET_LOOKS` looks.

#[cfg(all(test, not(loom), not(miri)))]
mod look_tests;
#[cfg(all(test, loom))]
mod loom_tests;

use super::handoff::Handoff;
use super::{Offer, Remote, Shared, handle};
use crate::context;
use crate::primitives::abort::AbortOnUnwind;
use crate::primitives::atomic::{AcqRel, AtomicU32, AtomicUsize, Relaxed, SeqCst, fence};
use crate::primitives::parker::Parker;
use crate::primitives::thread;
use crate::queue::Fifo;
use crate::reactor::{Reactor, Wakes};
use crate::scheduler::handle::Handle;
use crate::scheduler::stalls::Stalls;
use crate::task::wake_guarded;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time between two looks. Miri's clock counts steps of its interpreter, and in 2 ms a look can
/// hardly end.
pub(in crate::scheduler) const PERIOD: Duration =
    Duration::from_millis(if cfg!(miri) { 200 } else { 2 });

/// How long a timer has to be overdue before the monitor fires it: a worker that is not in a long
/// poll has fired it by then.
const GRACE: Duration = Duration::from_millis(1);

/// The monitor sleeps after this many looks in a row at which all workers slept.
const QUIET_LOOKS: u32 = 50;

/// Every so many looks, the monitor wakes sleeping workers that have memory to free.
const REAP_EVERY: u32 = 64;

/// How many timers of a worker are fired at one look.
const TIMERS_AT_A_LOOK: usize = 1024;

/// At how many looks in a row a worker is in the same poll, and no other is free, before the tasks
/// in its ring are passed on. A worker whose thread is given no time for a moment looks the same,
/// and its tasks would lose their places; so this is longer than systems let a thread wait that
/// could run. (With one look, on a machine with more to do than it has processors, a task in a ring
/// has waited for 12,645 polls where `progress.md` promises 2,495.)
const LOOKS_BEFORE_RING: u32 = 32;

/// How many tasks of a worker's ring are passed on at one look, and 127 more.
const TASKS_AT_A_LOOK: usize = 1024;

/// There is no monitor.
const ABSENT: u32 = 0;
/// The monitor is looking, or is about to.
const AWAKE: u32 = 1;
/// The monitor waits until it is woken.
const ASLEEP: u32 = 2;

/// The monitor, seen from the workers.
#[derive(Debug)]
pub(super) struct Monitor {
    /// Written by the monitor and by whoever wakes or starts it.
    state: AtomicU32,
    parker: Parker,
    /// When the runtime was made.
    since: Instant,
    /// The period of the runtime's life in which the system last had no thread for the monitor.
    refused: AtomicU32,
    /// How many threads are forking whose states were retaken. There are at most as many as
    /// workers, so that forks within forks do not start threads without end.
    retaken: AtomicUsize,
}

impl Monitor {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU32::new(ABSENT),
            parker: Parker::new(),
            since: Instant::now(),
            refused: AtomicU32::new(0),
            retaken: AtomicUsize::new(0),
        }
    }

    /// As if there were one already, so that none is started: for tests of what workers do by
    /// themselves. False if there is one, because the runtime is a period old.
    #[cfg(all(test, not(loom)))]
    #[must_use]
    pub(super) fn withhold(&self) -> bool {
        // SeqCst: a test's, and no matter.
        self.state.compare_exchange(ABSENT, AWAKE, SeqCst, SeqCst).is_ok()
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn is_at_rest(&self) -> bool {
        // SeqCst: as above.
        self.state.load(SeqCst) == ASLEEP
    }

    /// Starts the monitor of a scheduler that nobody knows yet.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start_first(&self, shared: &Arc<Shared>) -> io::Result<()> {
        // Relaxed: the start of the thread publishes it.
        self.state.store(AWAKE, Relaxed);
        Self::start(shared).inspect_err(|_| self.state.store(ABSENT, Relaxed))
    }

    fn start(shared: &Arc<Shared>) -> io::Result<()> {
        let its = Arc::clone(shared);
        let (name, stack) = ("trefoil-monitor".to_owned(), shared.common.thread_stack_bytes);
        thread::spawn(name, stack, move || monitor(&its)).map(drop)
    }

    /// Makes sure that the monitor is awake. The caller has made visible what the monitor is needed
    /// for (a state on offer, a guest, or a worker that is awake), with a full fence in between.
    #[inline]
    pub(super) fn ensure(&self, shared: &Arc<Shared>) {
        // Relaxed: the worker's half of the store-buffering pattern with `rest`.
        if self.state.load(Relaxed) != AWAKE {
            self.wake_or_start(shared);
        }
    }

    /// For a worker between polls.
    #[inline]
    pub(super) fn ensure_for_busy(&self, shared: &Arc<Shared>) {
        if shared.is_monitored() && !self.is_early(shared) {
            // There was a fence when this worker came out of its sleep
            // (`worker_woke`), and it has not slept since.
            self.ensure(shared);
        }
    }

    /// For a thread that polls the future of its `block_on` in a worker's place. With one worker,
    /// too: as long as that poll takes, there is nobody else.
    pub(super) fn ensure_for_root(&self, shared: &Arc<Shared>) {
        if !self.is_early(shared) {
            // There was a fence in `Handoff::offer`.
            self.ensure(shared);
        }
    }

    /// At any age of the runtime: for a thread that begins a poll which may become a stall, or that
    /// waits for what only the monitor may bring.
    pub(super) fn ensure_early(&self, shared: &Arc<Shared>) {
        // Relaxed: hints. If the system has no thread, this asks once in a period.
        let was_refused = self.refused.load(Relaxed) != 0;
        if !(was_refused && self.starts_in().is_some()) {
            self.ensure(shared);
        }
    }

    /// For a worker that comes out of its sleep.
    pub(super) fn worker_woke(&self, shared: &Arc<Shared>) {
        if shared.is_monitored() && self.is_to_ensure_for_woken(|| self.is_early(shared)) {
            self.wake_or_start(shared);
        }
    }

    fn is_to_ensure_for_woken(&self, is_early: impl FnOnce() -> bool) -> bool {
        // Between the count of workers that are awake and this worker's looks at the monitor, those
        // of `ensure_for_busy` as well: if it is early, a monitor may come, and rest, before them.
        fence(SeqCst);
        // Relaxed: as in `ensure`.
        !is_early() && self.state.load(Relaxed) != AWAKE
    }

    /// For a worker whose sleep may have come to the end of `limit_sleep`, and that sleeps on.
    pub(super) fn start_if_due(&self, shared: &Arc<Shared>) {
        if self.is_missing(shared) && self.starts_in().is_none() {
            self.wake_or_start(shared);
        }
    }

    /// How long a worker may sleep at most, because there is no monitor yet.
    pub(super) fn limit_sleep(&self, shared: &Shared) -> Option<Duration> {
        self.is_missing(shared).then(|| self.starts_in().unwrap_or(PERIOD))
    }

    /// Whether there is no monitor, and it is not time yet to start one.
    #[inline]
    fn is_early(&self, shared: &Shared) -> bool {
        self.is_missing(shared) && self.starts_in().is_some()
    }

    /// The time until a monitor that is missing is started. `None` if it is time.
    fn starts_in(&self) -> Option<Duration> {
        self.starts_in_at(self.since.elapsed())
    }

    /// The same, at this age of the runtime: it is started at the end of the first period, or of
    /// the one in which that failed last, so that no worker asks again and again.
    fn starts_in_at(&self, age: Duration) -> Option<Duration> {
        // Relaxed: a hint.
        let end = PERIOD * self.refused.load(Relaxed).saturating_add(1);
        end.checked_sub(age).filter(|left| !left.is_zero())
    }

    /// The system had no thread for it, at this age of the runtime.
    fn was_refused_at(&self, age: Duration) {
        let period = age.as_nanos() / PERIOD.as_nanos();
        // Relaxed: see `starts_in_at`.
        self.refused.store(u32::try_from(period).unwrap_or(u32::MAX), Relaxed);
    }

    /// Whether there should be a monitor and is none.
    fn is_missing(&self, shared: &Shared) -> bool {
        // Relaxed: whoever acts on it looks again (`wake_or_start`).
        shared.workers() > 1 && self.state.load(Relaxed) == ABSENT
    }

    #[cold]
    fn wake_or_start(&self, shared: &Arc<Shared>) {
        // AcqRel: whoever changes the state acts on it.
        if self.state.compare_exchange(ASLEEP, AWAKE, AcqRel, Relaxed).is_ok() {
            self.parker.unpark();
        } else if self.state.compare_exchange(ABSENT, AWAKE, AcqRel, Relaxed).is_ok()
            && Self::start(shared).is_err()
        {
            // Whoever comes in the next period tries again. Until then, what waits for a busy
            // worker waits for the end of that worker's poll.
            self.was_refused_at(self.since.elapsed());
            self.state.store(ABSENT, Relaxed);
            // A worker that has gone to sleep meanwhile has relied on this monitor.
            for remote in &shared.remotes {
                remote.parker.unpark();
            }
        }
    }

    /// For whoever has left it something to do under the lock of the pool, where it has said that
    /// it sleeps.
    fn wake(&self) {
        // AcqRel, Relaxed: as `wake_or_start`.
        let _ = self.state.compare_exchange(ASLEEP, AWAKE, AcqRel, Relaxed);
        self.parker.unpark();
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

    /// Sleeps until the next look. A thread that it is to start meanwhile is no reason to look
    /// earlier: what is the same at two looks in a row has been so for a period.
    fn wait(&self, shared: &Shared, handle: &Handle, timeout: Duration) {
        let pool = &shared.common.blocking;
        let end = Instant::now() + timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || shared.is_shut_down() {
                return;
            }
            pool.starter_sleeps();
            self.parker.park_timeout(left);
            pool.start_owed(handle);
        }
    }

    /// Sleeps until a worker is awake, or one offers its state.
    fn rest(&self, shared: &Shared) {
        self.state.store(ASLEEP, Relaxed);
        // The monitor's half of the store-buffering pattern with `ensure`: either the
        // worker sees that we sleep, or we see what it has made visible.
        fence(SeqCst);
        if shared.needs_monitor() {
            // Relaxed: the outcome is the same whoever was first.
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
    /// At how many looks in a row the worker was in the same poll, and no other one was free.
    looks_alone: u32,
    offer: Option<Offer>,
    root_poll: Option<u64>,
    has_guest: bool,
}

/// The body of the monitor's thread.
fn monitor(shared: &Arc<Shared>) {
    // Without the monitor, tasks would wait for as long as polls last, and nobody would notice.
    let abort = AbortOnUnwind("in the monitor");
    // For destructors, should this be the last thread to leave.
    let its_handle = handle(shared);
    let _handle = context::enter_handle(its_handle.clone());
    shared.common.unpin();
    shared.monitor.parker.adopt();
    let mut seen = vec![Seen::default(); shared.workers()];
    let mut reactor_looks = 0;
    let (mut quiet, mut look) = (0, 0_u32);
    while !shared.is_shut_down() {
        // It wraps after some months.
        look = look.wrapping_add(1);
        let mut timeout = PERIOD;
        // One more thread per look is enough for the queues that all workers see.
        let mut is_served = false;
        for (worker, seen) in seen.iter_mut().enumerate() {
            shared.look_at_guest(worker, seen, &mut is_served);
        }
        for (worker, seen) in seen.iter_mut().enumerate() {
            shared.look_at_offer(worker as u32, seen, is_served);
            shared.look_at_root(worker as u32, seen, is_served);
            shared.look_at_poll(worker, seen);
            timeout = timeout.min(shared.look_at_timers(worker));
        }
        if shared.idle.wants_searcher() && shared.has_work() {
            shared.notify();
        }
        shared.look_at_reactor(&mut reactor_looks);
        shared.common.stalls.iter().for_each(|stalls| stalls.look(Instant::now()));
        shared.common.blocking.retry(&its_handle);
        quiet = if shared.needs_monitor() { 0 } else { quiet + 1 };
        if quiet >= QUIET_LOOKS || look.is_multiple_of(REAP_EVERY) {
            shared.have_memory_reaped();
        }
        if quiet < QUIET_LOOKS {
            shared.monitor.wait(shared, &its_handle, timeout);
        } else {
            quiet = 0;
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            // A single worker, of which this may know nothing, trims them itself.
            shared.is_monitored().then(crate::fiber::trim_free);
            shared.common.blocking.starter_sleeps();
            shared.monitor.rest(shared);
            shared.common.blocking.start_owed(&its_handle);
        }
    }
    std::mem::forget(abort);
}

impl Shared {
    /// Makes sure that there is a monitor, and that it is awake, if the system can start it.
    pub(in crate::scheduler) fn has_monitor(self: &Arc<Self>) -> bool {
        // Between what it is needed for and the look at its state, as in `worker_woke`.
        fence(SeqCst);
        self.monitor.ensure(self);
        // Relaxed: this thread has just seen or made it so, or seen that it cannot.
        self.monitor.state.load(Relaxed) != ABSENT
    }

    /// Has the monitor start a thread of the pool: see `blocking/starter.rs`.
    pub(in crate::scheduler) fn wake_monitor(&self) {
        self.monitor.wake();
    }

    /// For a thread outside that has added a timer or a source of events, or waits for one: starts
    /// the monitor if there is none yet. Both workers may be in polls that began before it was time
    /// for one and do not end; then nobody else would fire the timer, or look for events.
    pub(in crate::scheduler) fn ensure_monitor_outside(self: &Arc<Self>) {
        if self.monitor.is_missing(self) {
            self.monitor.ensure_early(self);
        }
    }

    /// For a thread in `block_on` that is about to wait, for events perhaps.
    pub(in crate::scheduler) fn ensure_monitor_for_events(self: &Arc<Self>) {
        if self.common.reactor.as_ref().is_some_and(Reactor::has_sources) {
            self.ensure_monitor_outside();
        }
    }

    /// Whether the monitor has something to do for a worker that is awake.
    fn is_monitored(&self) -> bool {
        self.workers() > 1 || self.common.stalls.is_some()
    }

    /// Whether there is anything to look after.
    pub(super) fn needs_monitor(&self) -> bool {
        let is_any_awake = self.is_monitored() && !self.idle.is_all_asleep();
        // Whoever retakes a state makes a body of it in one critical section of the
        // pool. So one of the last two looks sees it, if they come in this order.
        is_any_awake
            || self
                .remotes
                .iter()
                .any(|remote| remote.handoff.needs_monitor() || remote.handoff.has_guest())
            || self.common.blocking.lacks_thread()
            || self.common.stalls.as_ref().is_some_and(Stalls::is_any_in_poll)
    }

    /// Wakes the worker if a guest has been in its place since the last look, and tasks wait while
    /// no other worker is free: the worker itself sleeps, and can serve them.
    fn look_at_guest(&self, worker: usize, seen: &mut Seen, is_served: &mut bool) {
        let has_guest = self.remotes[worker].handoff.has_guest();
        let had_guest = std::mem::replace(&mut seen.has_guest, has_guest);
        let lacks_worker = self.is_all_busy() && self.has_queued_tasks();
        if has_guest && had_guest && !*is_served && lacks_worker {
            fence(SeqCst);
            *is_served = self.unpark_worker(worker as u32);
        }
    }

    /// Replaces the worker if it has forked since the last look and is needed. `is_served` says
    /// that a worker was just woken for the queues that all workers see.
    fn look_at_offer(&self, worker: u32, seen: &mut Seen, is_served: bool) {
        let remote = &self.remotes[worker as usize];
        // A worker that blocks is replaced by whoever needs it.
        let forks = |offer: &Offer| !offer.blocks() && !offer.is_in_root();
        let offer = remote.handoff.available().filter(forks);
        let before = std::mem::replace(&mut seen.offer, offer);
        if let Some(offer) = offer.filter(|_| before == offer)
            && self.is_needed(remote, offer.has_pinned(), is_served)
        {
            self.retake_from_fork(worker, offer);
        }
    }

    /// The same if a thread polls the future of its `block_on` in the worker's place. It takes the
    /// state back for a moment each time that it wakes or spawns something; so it is not by the
    /// offer that a long poll is known.
    fn look_at_root(&self, worker: u32, seen: &mut Seen, is_served: bool) {
        let remote = &self.remotes[worker as usize];
        let poll = remote.handoff.root_poll();
        let before = std::mem::replace(&mut seen.root_poll, poll);
        let Some(poll) = poll.filter(|_| before == poll) else { return };
        let offer = remote.handoff.available().filter(|offer| offer.is_in_root());
        let has_pinned = offer.is_some_and(Offer::has_pinned);
        // With one worker, nobody else empties the slot.
        let is_slot_full = self.workers() == 1 && !remote.lifo.is_empty();
        if is_slot_full || self.is_needed(remote, has_pinned, is_served) {
            remote.handoff.want_from_root(poll);
            if let Some(offer) = offer {
                self.replace(worker, offer);
            }
        }
    }

    /// Whether something waits that only the worker of the state on offer will serve.
    fn is_needed(&self, remote: &Remote, has_pinned: bool, is_served: bool) -> bool {
        if has_pinned || !remote.inbox.is_empty() {
            return true;
        }
        // Another worker serves what all workers see, if one is free.
        let is_seen = !remote.ring.is_empty() || !self.injector.is_empty();
        !is_served && self.is_all_busy() && is_seen
    }

    fn is_all_busy(&self) -> bool {
        self.idle.counts() == (0, 0)
    }

    /// Has another thread become the worker in place of the thread that forks, if the state is
    /// still on offer and one more thread is allowed.
    pub(super) fn retake_from_fork(&self, worker: u32, offer: Offer) {
        let remote = &self.remotes[worker as usize];
        if offer.is_in_root() {
            // That thread is not the scheduler's, and computes beside the workers from here on, as
            // any thread in `block_on`.
            self.replace(worker, offer);
            return;
        }
        let retaken = &self.monitor.retaken;
        // Relaxed: bounds on threads, which order nothing.
        let more = |retaken: usize| (retaken < self.workers()).then(|| retaken + 1);
        if retaken.fetch_update(Relaxed, Relaxed, more).is_err() {
            return;
        }
        remote.handoff.add_forker();
        // Become one of the scheduler's threads before the state is taken, so that the forking
        // thread is not the last to leave. If no thread is left, the runtime is over.
        // SeqCst: a retake is rare, so nothing weaker was proved.
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

    /// If the worker has been in the same poll since the last look, passes on what it has kept for
    /// the time after that poll.
    fn look_at_poll(&self, worker: usize, seen: &mut Seen) {
        let remote = &self.remotes[worker];
        let polls = remote.counters.polls.get();
        let is_same = std::mem::replace(&mut seen.polls, polls) == polls;
        // While another worker is free, it takes what is in the ring by itself.
        let is_alone = is_same && self.is_all_busy();
        seen.looks_alone = if is_alone { seen.looks_alone.saturating_add(1) } else { 0 };
        if !is_same {
            return;
        }
        // With one worker, no other could run what is in its queues.
        if self.workers() > 1 {
            let has_ring = seen.looks_alone >= LOOKS_BEFORE_RING && !remote.ring.is_empty();
            if has_ring || !remote.lifo.is_empty() {
                self.empty_queues_of(remote, has_ring);
            }
        }
        remote.deferred.take().into_iter().for_each(wake_guarded);
    }

    #[cold]
    fn empty_queues_of(&self, remote: &Remote, has_ring: bool) {
        let Some(shared) = self.this.upgrade() else { return };
        // While the monitor holds tasks, it is one of the scheduler's threads: the last thread to
        // leave cancels the tasks that it finds, and has to find these.
        // SeqCst: once in a look at a long poll that delays tasks.
        let join = |threads: usize| (threads > 0).then(|| threads + 1);
        if self.threads.fetch_update(SeqCst, SeqCst, join).is_err() {
            return;
        }
        if let Some(task) = remote.lifo.take() {
            let queued = self.inject_first(task);
            debug_assert!(queued.is_ok(), "closed before this thread has left");
        }
        if has_ring {
            let mut tasks = Fifo::new();
            while tasks.len() < TASKS_AT_A_LOOK
                && remote.ring.steal_each(|task| tasks.push_back(task)) > 0
            {}
            if tasks.len() > 0 {
                let queued = self.inject_all(tasks);
                debug_assert!(queued.is_ok(), "closed before this thread has left");
            }
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

    /// If nobody waits for events and nobody has looked for them since the last look, has a sleeper
    /// wait for them, or takes what there is.
    fn look_at_reactor(&self, seen: &mut u64) {
        let Some(reactor) = &self.common.reactor else { return };
        if !reactor.is_unattended(seen) || self.have_reactor_attended() {
            return;
        }
        // They are woken by the drop.
        reactor.look(&mut Wakes::default());
        // A worker that was turned down meanwhile may have gone to sleep elsewhere.
        self.have_reactor_attended();
    }

    /// Has a sleeper woken if nobody waits for events. Whoever searches does so before it sleeps.
    /// True if somebody will.
    pub(crate) fn have_reactor_attended(&self) -> bool {
        let Some(reactor) = &self.common.reactor else { return false };
        // Between what makes this necessary, a source or the end of a lease, and the look at the
        // sleepers (`reactor/README.md`).
        fence(SeqCst);
        reactor.lacks_holder() && self.notify_fenced()
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_monitor_that_is_missing_is_asked_for_once_in_a_period() {
        let monitor = Monitor::new();
        assert_eq!(monitor.starts_in_at(Duration::ZERO), Some(PERIOD));
        assert_eq!(monitor.starts_in_at(PERIOD), None);
        for period in [1, 2, 7] {
            let age = PERIOD * period + PERIOD / 4;
            assert_eq!(monitor.starts_in_at(age), None);
            monitor.was_refused_at(age);
            assert_eq!(monitor.starts_in_at(age), Some(PERIOD * 3 / 4));
            assert_eq!(monitor.starts_in_at(PERIOD * (period + 1)), None);
        }
        // After months, the period cannot be said any more.
        monitor.was_refused_at(Duration::MAX);
        assert_eq!(monitor.starts_in_at(Duration::MAX), None);
    }
}
