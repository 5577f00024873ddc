//! The timers of a worker, and how it fires those of others that are late.

use super::*;

#[cfg(all(test, not(loom), not(miri)))]
pub(super) mod tests;

/// How late a timer has to be before another worker fires it that is between two polls. Its own
/// worker looks every 40 µs or after each poll, or wakes for it, and the system takes some 50 µs
/// for that: so it is in a longer poll, or has no processor.
const OTHERS_GRACE: Duration = Duration::from_micros(250);

impl WorkerThread {
    /// The timers that this thread fires.
    #[inline]
    pub(crate) fn timers(&self) -> Option<&Arc<TimerQueue>> {
        Some(self.own_timers(self.state_after_fork()?))
    }

    /// The timers of the state that this thread has.
    pub(super) fn own_timers(&self, state: &WorkerState) -> &Arc<TimerQueue> {
        &self.remote(state).timers
    }

    /// Fires the timers of one other worker, of each in its turn, if they are late: that worker is
    /// in a long poll, or the system gives its thread no time. `now` is a moment just past.
    pub(super) fn fire_for_another(&self, state: &WorkerState, now: Option<Instant>) {
        let workers = self.shared.workers();
        if workers == 1 {
            return;
        }
        let own = state.index as usize;
        let other = (state.looked_at_timers_of.get() + 1) % workers;
        let other = if other == own { (other + 1) % workers } else { other };
        state.looked_at_timers_of.set(other);
        let timers = &self.shared.remotes[other].timers;
        if timers.overdue_at(now, OTHERS_GRACE) {
            state.batch.set(true);
            timers.fire_after(FIRE_AT_MOST, || self.end_search());
            state.batch.set(false);
        }
    }

    pub(super) fn fire_timers(&self, state: &WorkerState) -> Fired {
        state.batch.set(true);
        let fired = self.own_timers(state).fire_after(FIRE_AT_MOST, || self.end_search());
        state.batch.set(false);
        fired
    }
}
