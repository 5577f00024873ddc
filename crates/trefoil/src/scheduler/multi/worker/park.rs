//! How a worker sleeps, and what it looks at before and after.

use super::*;
use crate::reactor::Wakes;
use crate::scheduler::multi::monitor::PERIOD;

impl WorkerThread {
    /// Sleeps until there may be something to do; false when the worker has to leave.
    pub(super) fn park(&self, state: &WorkerState) -> bool {
        let shared = &*self.shared;
        if shared.is_shut_down() {
            return false;
        }
        self.reap(state);
        let fired = self.fire_timers(state);
        let remote = self.remote(state);
        if fired.has_more || self.has_own_work(state) {
            return true;
        }
        if remote.handoff.has_forkers() {
            // Not to be chosen for jobs, which it may not take: to the others,
            // it is a busy worker that looks at all queues now and then. If it was
            // chosen, because the fork went on while it slept, another is instead.
            self.end_search();
            let timeout =
                self.own_timers(state).until_next().map_or(PERIOD, |next| next.min(PERIOD));
            let mut wakes = self.wakes.take();
            self.sleep(state, || self.park_for(state, Some(timeout), &mut wakes));
            self.wake_all(state, wakes);
            self.fire_timers(state);
            return !shared.is_shut_down();
        }
        self.about_to_call(&shared.common.hooks.thread_park);
        shared.common.hooks.thread_park();
        // The hook may have woken something.
        if self.has_own_work(state) {
            self.about_to_call(&shared.common.hooks.thread_unpark);
            shared.common.hooks.thread_unpark();
            return true;
        }
        let asleep = shared.idle.sleep(state.index, state.searching.replace(false), || ());
        if asleep == Asleep::LookAgain {
            shared.look_again(state.index);
        }
        let for_stacks = self.limit_sleep_for_stacks();
        let timeout = earlier(self.own_timers(state).until_next(), for_stacks);
        let mut wakes = self.wakes.take();
        self.sleep(state, || self.park_with_monitor(state, timeout, &mut wakes));
        state.searching.set(shared.idle.wake(state.index) == Awake::Searching);
        if !shared.is_shut_down() {
            shared.monitor.worker_woke(&self.shared);
        }
        if for_stacks.is_some() {
            self.slept_for_stacks();
        }
        self.about_to_call(&shared.common.hooks.thread_unpark);
        shared.common.hooks.thread_unpark();
        if shared.is_shut_down() {
            return false;
        }
        self.wake_all(state, wakes);
        let fired = self.fire_timers(state);
        self.fire_for_another(state, fired.at);
        true
    }

    /// Whether anything is queued at this worker.
    pub(super) fn has_own_work(&self, state: &WorkerState) -> bool {
        let remote = self.remote(state);
        !remote.ring.is_empty()
            || !remote.lifo.is_empty()
            || !remote.deferred.is_empty()
            || !remote.inbox.is_empty()
            || state.has_pinned()
            || self.has_bound_work()
            || self.has_woken_root()
    }

    /// Takes events without waiting, and wakes what they are for.
    pub(super) fn look_at_events(&self, state: &WorkerState) {
        let mut wakes = self.wakes.take();
        self.shared.common.look_at_events(&mut wakes);
        self.wake_all(state, wakes);
    }

    /// Wakes what events were for, and keeps the room for the next ones. It is foreign code, and so
    /// not called before the worker counts as awake.
    fn wake_all(&self, state: &WorkerState, mut wakes: Wakes) {
        if !wakes.is_empty() {
            self.end_search();
            state.batch.set(true);
            wakes.wake();
            state.batch.set(false);
        }
        self.wakes.replace(wakes);
    }

    /// The worker leaves, and sleeps no more.
    pub(super) fn count_busy(&self) {
        if let Some(state) = self.state() {
            let since = state.awake_since.replace(Instant::now());
            state.counters.busy_ns.add(since.elapsed().as_nanos() as u64);
        }
    }

    /// Parks, and starts the monitor meanwhile, if there is none when it is time: the other worker
    /// may be in a long poll then.
    ///
    /// Whoever wakes this worker gives a token. If the time was over first, there was none, and
    /// events had no wakers for it. Then nobody has woken it, and it parks again, still asleep for
    /// all others: a token that comes in between ends that at once.
    fn park_with_monitor(&self, state: &WorkerState, timeout: Option<Duration>, wakes: &mut Wakes) {
        let shared = &self.shared;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut left = timeout;
        while let Some(for_monitor) = shared.monitor.limit_sleep(shared) {
            let is_told = self.park_for(state, earlier(left, Some(for_monitor)), wakes);
            if is_told || !wakes.is_empty() || shared.is_shut_down() {
                return;
            }
            left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return;
            }
            shared.monitor.start_if_due(shared);
        }
        self.park_for(state, left, wakes);
    }

    /// Whether it was told to wake.
    fn park_for(&self, state: &WorkerState, timeout: Option<Duration>, wakes: &mut Wakes) -> bool {
        self.shared.common.park(&self.remote(state).parker, timeout, wakes)
    }

    fn sleep<R>(&self, state: &WorkerState, park: impl FnOnce() -> R) {
        let counters = &self.remote(state).counters;
        counters.count_noop(&state.polls_before);
        counters.parks.add(1);
        let before = Instant::now();
        counters.busy_ns.add((before - state.awake_since.get()).as_nanos() as u64);
        park();
        let after = Instant::now();
        state.awake_since.set(after);
        state.turns.slept(after - before);
        counters.unparks.add(1);
    }
}

/// The earlier end of two sleeps, of which either may have none.
fn earlier(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
