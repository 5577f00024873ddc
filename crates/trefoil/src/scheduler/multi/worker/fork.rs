//! How a worker that forks for long lets others serve its tasks meanwhile.

use super::*;

impl WorkerThread {
    pub(crate) fn deques(&self) -> &Deques {
        &self.shared.deques
    }

    /// Called by what runs on this thread when it has made work for others
    /// visible, with a full fence behind it, and may be long.
    pub(crate) fn has_forked(&self) {
        let Some(state) = self.state() else {
            self.shared.notify_fenced();
            return;
        };
        self.notify_for(state);
        if !state.forked.replace(true) {
            self.empty_slot(state);
        }
        self.offer_to_fork();
    }

    /// Moves the task in the LIFO slot to where others can see it.
    pub(super) fn empty_slot(&self, state: &WorkerState) {
        // SAFETY: the state is this thread's.
        if let Some(task) = unsafe { self.remote(state).lifo.take_own() } {
            self.push(state, task);
        }
    }

    /// Called at the start of a scope, whose jobs others may run.
    pub(crate) fn enter_scope(&self) {
        self.scopes.set(self.scopes.get() + 1);
        self.has_forked();
    }

    /// Called at its end.
    pub(crate) fn leave_scope(&self) {
        self.scopes.set(self.scopes.get() - 1);
    }

    /// Offers the state for as long as a fork lasts: see `handoff.rs`. This
    /// thread continues without it.
    pub(super) fn offer_to_fork(&self) {
        let Some(state) = self.state() else { return };
        let is_able = self.shared.knobs.hands_off_while_forking && self.shared.workers() > 1;
        if !is_able || context::is_in_local() || !self.can_offer() {
            return;
        }
        let (index, has_pinned, remote) = (state.index, state.has_pinned(), self.remote(state));
        let state = self.state.replace(ptr::null_mut());
        // SAFETY: this thread's state, which it gives up, and no reference to
        // which is used any more.
        let offer = unsafe { remote.handoff.offer(state, has_pinned, Kind::Forks) };
        self.offered.set(Some((index, offer)));
        self.pause_watch();
        // Behind the fence in `offer`: either this sees that the runtime ends,
        // or `Shared::shut_down` sees the offer.
        if self.shared.is_shut_down() {
            self.shared.retake_from_fork(index, offer);
        }
        self.shared.monitor.ensure(&self.shared);
    }

    /// Gets the state back if it is on offer, unless it was retaken.
    #[inline]
    pub(super) fn reclaim(&self) {
        if let Some((index, offer)) = self.offered.get() {
            self.reclaim_offer(index, offer);
        }
    }

    #[cold]
    fn reclaim_offer(&self, index: u32, offer: Offer) {
        self.offered.set(None);
        let handoff = &self.shared.remotes[index as usize].handoff;
        match handoff.take(offer) {
            Some(state) => {
                self.state.set(state);
                self.resume_watch();
                if offer.blocks() {
                    self.back_from_blocking();
                }
            }
            // It is unpinned since it began to block, or a visitor.
            None if offer.blocks() || offer.is_in_root() => {}
            None => {
                self.shared.monitor.fork_ended(handoff);
                self.shared.common.unpin();
            }
        }
    }

    /// The state, for asynchronous code that comes after a fork in the same
    /// poll: it gets an offered one back if nothing forked is outstanding.
    #[inline(always)]
    pub(super) fn state_after_fork(&self) -> Option<&WorkerState> {
        if self.offered.get().is_some() && self.scopes.get() == 0 && !self.in_job.get() {
            self.reclaim_if_joined();
        }
        self.state()
    }

    #[cold]
    fn reclaim_if_joined(&self) {
        let forks =
            self.offered.get().is_some_and(|(_, offer)| !offer.blocks() && !offer.is_in_root());
        if forks && fork_join::is_joined() {
            self.reclaim();
        }
    }

    /// Back in the worker's loop: what it did is over, forks and all.
    #[inline]
    pub(super) fn come_out(&self) {
        self.reclaim();
        if let Some(state) = self.state() {
            state.forked.set(state.lacks_slot);
        }
    }

    /// A job from another worker's deque, on an empty stack. As for `run`, no
    /// reference to the state is an argument.
    pub(super) fn run_job(&self, job: Stolen<'_>) {
        self.in_job.set(true);
        self.offer_to_fork();
        job.run_apart();
        self.in_job.set(false);
        self.come_out();
    }

    /// Whether a job of another thread's deque runs, perhaps with other things on top.
    pub(crate) fn is_in_job(&self) -> bool {
        self.in_job.get() || self.in_leapfrog.get()
    }

    /// A job of the thread that this one waits for, on top of whatever waits.
    pub(crate) fn leapfrog(&self, job: Stolen<'_>) {
        // Asked before the job runs: inside of it, the task that waits is not the
        // current one.
        let can_offer = self.can_offer();
        let before = self.in_leapfrog.replace(can_offer);
        job.run_apart();
        self.in_leapfrog.set(before);
    }
}
