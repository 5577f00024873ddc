//! How a worker queues a task that it has woken, and when it wakes a sleeper.

use super::*;

impl WorkerThread {
    /// Keeps a waker until the ring was served once; false without a state.
    pub(crate) fn defer(&self, waker: &Waker) -> bool {
        // First of all: the clone is foreign code, which may give the state away.
        let waker = waker.clone();
        let Some(state) = self.state_after_fork() else { return false };
        self.remote(state).deferred.push(waker);
        true
    }

    /// Queues a task that this thread has woken.
    #[inline]
    pub(in crate::scheduler::multi) fn wake(&self, task: Runnable) -> Result<(), Runnable> {
        let Some(state) = self.state_after_fork() else {
            self.shared.common.woken_elsewhere.add_shared(1);
            return self.schedule_without_state(task);
        };
        state.counters.woken.add(1);
        self.schedule_here(state, task)
    }

    /// Queues a task that this thread has spawned, and counts it.
    #[inline]
    pub(in crate::scheduler::multi) fn schedule(&self, task: Runnable) -> Result<(), Runnable> {
        let Some(state) = self.state_after_fork() else {
            self.shared.common.tasks_elsewhere.spawned.add_shared(1);
            return self.schedule_without_state(task);
        };
        state.counters.tasks.spawned.add(1);
        self.schedule_here(state, task)
    }

    /// Queues a task that this worker has woken or spawned.
    #[inline(always)]
    pub(super) fn schedule_here(
        &self,
        state: &WorkerState,
        task: Runnable,
    ) -> Result<(), Runnable> {
        if let Some(worker) = task.pinned_to() {
            if worker >= HOSTS {
                self.schedule_bound(state, worker, task);
                return Ok(());
            }
            if worker != state.index {
                return self.shared.send(worker, task);
            }
            self.push_pinned(state, task);
            return Ok(());
        }
        if state.batch.get() {
            self.push_quietly(state, task);
            return Ok(());
        }
        if state.forked.get() {
            self.push(state, task);
            return Ok(());
        }
        // A task alone in the slot wakes nobody: it runs here, and soon.
        // SAFETY: the state is this thread's.
        if let Some(before) = unsafe { self.remote(state).lifo.replace(task) } {
            self.push(state, before);
        }
        if self.fills_host_slot.get()
            && let Some(before) = self.take_host_slot()
        {
            self.queue_from_slot(state, before);
        }
        Ok(())
    }

    /// Queues a task that is bound to a thread. If that is this one, it goes into the host's slot,
    /// and has the turns of the LIFO slot, which is empty meanwhile.
    fn schedule_bound(&self, state: &WorkerState, host: u32, task: Runnable) {
        match self.host_of(host) {
            Some(host) if !state.batch.get() && !state.forked.get() => {
                // SAFETY: the state is this thread's.
                if let Some(before) = unsafe { self.remote(state).lifo.take_own() } {
                    self.push(state, before);
                }
                self.fills_host_slot.set(true);
                host.fill_slot(task);
            }
            _ => self.push_bound(host, task),
        }
    }

    /// Takes the task out of the slot, be it bound to this thread or not.
    #[inline(always)]
    pub(super) fn take_slot(&self, state: &WorkerState) -> Option<Runnable> {
        if self.fills_host_slot.get()
            && let Some(task) = self.take_host_slot()
        {
            return Some(task);
        }
        // SAFETY: the state is this thread's.
        unsafe { self.remote(state).lifo.take_own() }
    }

    #[inline(never)]
    pub(super) fn take_host_slot(&self) -> Option<Runnable> {
        self.fills_host_slot.set(false);
        self.host.get()?.take_slot()
    }

    /// What was in the slot goes to the back of its queue.
    #[cold]
    pub(super) fn queue_from_slot(&self, state: &WorkerState, task: Runnable) {
        match task.pinned_to() {
            Some(host) => self.push_bound(host, task),
            None => self.push_quietly(state, task),
        }
    }

    /// Whether there is a task in the slot.
    #[inline(always)]
    pub(super) fn is_slot_full(&self, state: &WorkerState) -> bool {
        let is_hosts = || self.host.get().is_some_and(Local::has_slot);
        !self.remote(state).lifo.is_empty() || self.fills_host_slot.get() && is_hosts()
    }

    /// A task that only this worker may run, behind all that came before it: those in the
    /// inbox, too.
    #[inline]
    pub(super) fn push_pinned(&self, state: &WorkerState, task: Runnable) {
        self.empty_inbox(state);
        state.pinned.borrow_mut().push_back(task);
    }

    /// To the back of the ring, in the middle of a poll that may be long.
    #[inline]
    pub(super) fn push(&self, state: &WorkerState, task: Runnable) {
        if state.is_alone {
            return self.push_quietly(state, task);
        }
        // SAFETY: the state makes this thread the ring's owner.
        match unsafe { self.remote(state).ring.push_fenced(task) } {
            Ok(()) => self.notify_pushed(state),
            Err(task) => self.overflow(state, task),
        }
    }

    /// To the back of the ring; sleepers are looked for before the next poll.
    #[inline]
    pub(super) fn push_quietly(&self, state: &WorkerState, task: Runnable) {
        // SAFETY: the state makes this thread the ring's owner.
        if let Err(task) = unsafe { self.remote(state).ring.push(task) } {
            return self.overflow(state, task);
        }
        state.owes_notify.set(!state.is_alone);
    }

    /// The ring is as large as it gets, so the task is queued in the injector. The
    /// tasks of the ring stay there, and so run before all later ones.
    #[cold]
    fn overflow(&self, state: &WorkerState, task: Runnable) {
        self.remote(state).counters.overflows.add(1);
        let pushed = self.shared.injector.push(task);
        debug_assert!(pushed.is_ok(), "closed before this worker has left");
        fence(SeqCst);
        self.notify_for(state);
    }

    /// Has a sleeper woken if nobody searches. A thread that leaves does not: whoever came would
    /// leave as well, and may have no thread yet.
    #[inline]
    pub(super) fn notify_for(&self, state: &WorkerState) {
        if !self.leaves.get() && self.shared.notify_fenced() {
            self.remote(state).counters.wakes.add(1);
        }
    }

    /// As `notify`, in the middle of a poll that may well push more.
    #[inline]
    fn notify_pushed(&self, state: &WorkerState) {
        if self.shared.idle.wants_searcher() {
            self.notify_throttled(state);
        }
    }

    #[cold]
    fn notify_throttled(&self, state: &WorkerState) {
        if state.throttle.admits(state.turns.tick(), self.remote(state).ring.len()) {
            self.notify_for(state);
        } else {
            state.owes_notify.set(true);
        }
    }

    /// Notifies a sleeper of what was pushed quietly, before a poll that is not preceded by
    /// a pop from the ring.
    #[inline]
    pub(super) fn notify_pending(&self, state: &WorkerState) {
        if state.owes_notify.replace(false) && !self.remote(state).ring.is_empty() {
            fence(SeqCst);
            self.notify_for(state);
        }
    }
}
