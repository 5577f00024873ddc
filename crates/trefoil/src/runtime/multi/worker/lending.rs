//! How a worker that forks for long lends its core to whoever serves the tasks meanwhile.

use super::*;

impl WorkerThread {
    pub(crate) fn deques(&self) -> &Deques {
        &self.shared.deques
    }

    /// Called by what runs on this thread when it has made work for others
    /// visible, with a full fence behind it, and may be long.
    pub(crate) fn has_forked(&self) {
        let Some(core) = self.core() else {
            self.shared.notify_fenced();
            return;
        };
        self.announce(core);
        self.wake_held(core);
        let Some(core) = self.core() else { return };
        if !core.forked.replace(true)
            && let Some(task) = core.lifo.take()
        {
            self.push(core, task.into_item());
        }
        self.lend();
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

    /// Leaves the core where it can be taken, for as long as a fork lasts: see
    /// `watch.rs`. As after `hand_over`, this thread goes on without.
    pub(super) fn lend(&self) {
        let Some(core) = self.core() else { return };
        let is_able = self.shared.knobs.lends_workers && self.shared.workers() > 1;
        if !is_able || context::is_in_local() {
            return;
        }
        if !self.can_part() {
            return;
        }
        let remote = self.remote(core);
        let has_work = core.has_work();
        let index = core.index;
        // SAFETY: this thread's core, which it gives up, and no reference to
        // which is used any more.
        let loan = unsafe { remote.loan.put(self.core.replace(ptr::null_mut()), has_work) };
        self.lent.set(Some((index, loan)));
        self.shared.watch.ensure(&self.shared);
    }

    /// Gets the core back if it is lent, unless it was taken.
    #[inline]
    pub(super) fn reclaim(&self) {
        if let Some((index, loan)) = self.lent.get() {
            self.reclaim_loan(index, loan);
        }
    }

    #[cold]
    pub(super) fn reclaim_loan(&self, index: u32, loan: u64) {
        self.lent.set(None);
        let remote = &self.shared.remotes[index as usize];
        match remote.loan.take(loan) {
            Some(core) => self.core.set(core),
            None => {
                self.shared.watch.deputised(&remote.loan);
                self.shared.common.unpin();
            }
        }
    }

    /// The core, for asynchronous code that comes after a fork in the same
    /// poll: it gets a lent one back if nothing forked is outstanding.
    #[inline(always)]
    pub(super) fn core_after_fork(&self) -> Option<&Core> {
        if self.lent.get().is_some() && self.scopes.get() == 0 && !self.in_job.get() {
            self.reclaim_if_joined();
        }
        self.core()
    }

    #[cold]
    pub(super) fn reclaim_if_joined(&self) {
        if fork_join::is_joined() {
            self.reclaim();
        }
    }

    /// Back in the worker's loop: what it did is over, forks and all.
    #[inline]
    pub(super) fn come_out(&self) {
        self.reclaim();
        if let Some(core) = self.core() {
            core.forked.set(false);
        }
    }

    /// A job from another worker's deque, on an empty stack. As for `run`, no
    /// reference to the core is an argument.
    pub(super) fn run_job(&self, job: Stolen<'_>) {
        self.in_job.set(true);
        self.lend();
        job.run_apart();
        self.in_job.set(false);
        self.come_out();
    }
}
