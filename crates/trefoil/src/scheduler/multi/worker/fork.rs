//! How a worker that forks for long lets others serve its tasks meanwhile.

use super::*;
#[cfg(all(feature = "fiber", unix, not(loom)))]
use crate::task::NO_HOME;

/// What a worker's thread knows of the forks that it is in: for a fiber that leaves the stack in
/// them.
#[cfg(all(feature = "fiber", unix, not(loom)))]
#[derive(Debug)]
pub(crate) struct Forks {
    scopes: u32,
    in_leapfrog: bool,
}

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
    ///
    /// If tasks are bound to this thread, it runs in a fiber: otherwise they would wait for as long
    /// as the job waits, and it may wait for them.
    pub(super) fn run_job(&self, job: Stolen<'_>) {
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        let job = {
            // SAFETY: only the lifetime changes. The deques are the scheduler's, which this thread
            // keeps until all that is bound to it has ended.
            let job = unsafe { std::mem::transmute::<Stolen<'_>, Stolen<'static>>(job) };
            match self.run_in_fiber(job, Stolen::run) {
                Ok(()) => return,
                Err(job) => job,
            }
        };
        self.in_job.set(true);
        self.offer_to_fork();
        job.run_apart();
        self.in_job.set(false);
        self.come_out();
    }

    /// Whether what the thread does for forks may be taken along by the fiber that it runs. Not
    /// where code runs in the midst of the worker's own, or in another's closure on the worker's
    /// own stack.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(crate) fn may_take_forks_along(&self) -> bool {
        !(self.keeps_state.get() || self.in_root.get() || self.in_job.get())
    }

    /// The fiber that runs leaves its stack. The worker's loop gets the state back, if that is on
    /// offer, as at the end of a poll (`come_out`).
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(crate) fn take_forks_along(&self) -> Forks {
        Forks { scopes: self.scopes.take(), in_leapfrog: self.in_leapfrog.take() }
    }

    /// The fiber is back, in the midst of its forks.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(crate) fn put_back_forks(&self, forks: Forks) {
        self.scopes.set(forks.scopes);
        self.in_leapfrog.set(forks.in_leapfrog);
        if forks.scopes == 0 && fork_join::is_joined() {
            return;
        }
        // As in `has_forked`; but nothing is new here for others to see.
        if let Some(state) = self.state() {
            state.forked.set(true);
            self.empty_slot(state);
        }
        self.offer_to_fork();
    }

    /// Runs a closure of another thread's fork in a fiber of this one, if it has others, and if the
    /// system has memory for a stack. The fiber may wait when this returns.
    ///
    /// # Errors
    /// The closure was not called.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(crate) fn run_in_fiber<J>(&self, job: J, run: fn(J)) -> Result<(), J>
    where
        J: Send + 'static,
    {
        if !self.has_bound_tasks() {
            return Err(job);
        }
        // The fiber may give the state away, which the task that has called this has to rest with.
        if let Some(task) = context::with(|context| context.task.get())
            && self.state().is_some()
        {
            settle(task, self);
        }
        let run_as_fork = |(job, run): (J, fn(J))| {
            let with_worker = |f: fn(&Self)| context::with(|context| context.worker().map(f));
            with_worker(Self::enter_scope);
            run(job);
            with_worker(Self::leave_scope);
        };
        let bytes = self.shared.common.stack_bytes();
        let future = match crate::fiber::with_stack(bytes, (job, run), run_as_fork) {
            Ok(future) => future,
            Err((job, _)) => return Err(job),
        };
        let (task, join) = task::allocate(
            future,
            Arc::as_ptr(&self.shared),
            task::Id::next(),
            NO_HOME,
            None,
            Some(self.shared.depot()),
        );
        drop(join);
        match self.state() {
            Some(state) => state.counters.tasks.spawned.add(1),
            None => self.shared.common.tasks_elsewhere.spawned.add_shared(1),
        }
        self.run(task);
        Ok(())
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
