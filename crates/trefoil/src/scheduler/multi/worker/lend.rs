//! How a worker sleeps that lends its state to threads in `block_on` (`multi/loan.rs`).
//!
//! This is `park.rs` for runtimes with `Builder::serve_in_block_on`. The difference is that no
//! reference to the state is held while the thread sleeps: others use the state, and may give it
//! away.

use super::*;
use crate::reactor::Reactor;
use crate::scheduler::multi::loan::Back;

impl WorkerThread {
    /// Whether this thread lends its state when it sleeps. One that stands in for another does not:
    /// its own future waits for it. Nor does one that is to wait for the system's events, because
    /// nobody else does, nor one to which tasks are bound: their wake-ups would go to whoever has
    /// borrowed its place, who must not run them.
    ///
    /// The look at the lease comes before this worker counts as asleep. So there is another one
    /// afterwards, in `sleep_lending`.
    #[inline]
    pub(super) fn lends(&self) -> bool {
        self.shared.knobs.serves_in_block_on
            && self.root.get().is_null()
            && !self.has_bound_tasks()
            && !self.shared.common.reactor.as_ref().is_some_and(Reactor::lacks_holder)
    }

    /// Sleeps, as `park` does, and lends the state meanwhile; false when the worker has to leave.
    pub(super) fn park_lending(&self) -> bool {
        let shared = &*self.shared;
        let Some(state) = self.state() else { return false };
        if self.remote(state).handoff.has_forkers() {
            // It does not count as asleep.
            return self.park(state);
        }
        if shared.is_shut_down() {
            return false;
        }
        self.reap(state);
        if self.fire_timers(state).has_more || self.has_own_work(state) {
            return true;
        }
        self.about_to_call(&shared.common.hooks.thread_park);
        shared.common.hooks.thread_park();
        // The hook may have woken something.
        if !self.has_own_work(state) {
            self.sleep_lending();
        }
        self.end_search_for_hook();
        shared.common.hooks.thread_unpark();
        if shared.is_shut_down() {
            return false;
        }
        let Some(state) = self.state() else { unreachable!("a sleeper has its state again") };
        self.fire_timers(state);
        true
    }

    fn end_search_for_hook(&self) {
        self.about_to_call(&self.shared.common.hooks.thread_unpark);
    }

    /// Sleeps until this thread has its state again.
    fn sleep_lending(&self) {
        let shared = &*self.shared;
        let Some(state) = self.state() else { return };
        let (index, searched) = (state.index, state.searching.replace(false));
        let for_stacks = self.limit_sleep_for_stacks();
        // It may be lent as soon as it is there.
        let limits = [shared.monitor.limit_sleep(shared), for_stacks];
        let timeout = limits.into_iter().flatten().chain(self.own_timers(state).until_next()).min();
        self.falls_asleep(state);
        let Some(state) = self.take_state() else { return };
        let loan = &shared.loans[index as usize];
        let place = shared.place(index);
        if loan.lend(place, searched, state) == Asleep::LookAgain {
            shared.look_again(index);
        }
        // Since `lends` has looked, the first source may have come, or whoever waited for events
        // may have left. This worker counts as asleep now. So either this sees it, or whoever looks
        // for a sleeper finds this one (`reactor/README.md`).
        if shared.common.reactor.as_ref().is_some_and(Reactor::lacks_holder) {
            place.parker.unpark();
        }
        // Some worker has to start the monitor when the runtime is old enough.
        let late = || shared.monitor.worker_woke(&self.shared);
        let (state, back) = loan.wait(place, timeout, late);
        self.state.set(Box::into_raw(state));
        let Some(state) = self.state() else { return };
        match back {
            Back::Woken(awake) => {
                self.is_awake(state);
                state.searching.set(awake == Awake::Searching);
                if for_stacks.is_some() {
                    self.slept_for_stacks();
                }
            }
            // As a thread that takes an offer: it may have been made to block.
            Back::Handed => {
                state.forked.set(false);
                // If it was handed over by a root's poll, that goes on elsewhere.
                self.remote(state).handoff.end_root_poll();
                self.wake_up();
            }
        }
        if !shared.is_shut_down() {
            shared.monitor.worker_woke(&self.shared);
        }
    }

    /// Counts the beginning of a sleep.
    pub(super) fn falls_asleep(&self, state: &WorkerState) {
        let counters = &state.counters;
        counters.count_noop(&state.polls_before);
        counters.parks.add(1);
        let now = Instant::now();
        let busy = now.saturating_duration_since(state.awake_since.replace(now));
        counters.busy_ns.add(busy.as_nanos() as u64);
    }

    /// Counts the end of a sleep.
    pub(super) fn is_awake(&self, state: &WorkerState) {
        let now = Instant::now();
        let asleep_since = state.awake_since.replace(now);
        state.turns.slept(now.saturating_duration_since(asleep_since));
        state.counters.unparks.add(1);
    }
}
