//! How a worker parts: from its core when it blocks, from its tasks at the end.

use super::*;

impl WorkerThread {
    /// Whether what runs on this thread can go on without the core: one of the
    /// scheduler's tasks, which is put on the list as if it had rested, or a
    /// stolen job. Everything else that may call for this is foreign code in the
    /// midst of the worker's own affairs (wakers, hooks, destructors, sets of
    /// local tasks that go), which hold on to the core.
    pub(super) fn can_part(&self) -> bool {
        let Some(task) = context::with(|context| context.task.get()) else {
            return self.in_job.get();
        };
        if !task::is_under_way(task, Arc::as_ptr(&self.shared)) {
            return false;
        }
        settle(task, self);
        true
    }

    /// The core stays here while foreign code blocks: lets others take what
    /// they can, now and of what that code wakes.
    fn open_up(&self, core: &Core) {
        core.batch.set(false);
        core.forked.set(true);
        if let Some(task) = core.lifo.take() {
            self.push(core, task.into_item());
        }
        self.announce_quiet(core);
    }

    /// Gives the core to another thread, because this one is about to block.
    /// False if there is no core to give, if it cannot be given now, or if there
    /// is no thread to give it to.
    pub(crate) fn hand_over(&self) -> bool {
        self.vacate();
        self.reclaim();
        let Some(core) = self.core() else { return false };
        // They wait for a turn that may not come for as long as this blocks.
        self.wake_deferred(core);
        // One of them may have blocked in turn, and given the core away.
        let Some(core) = self.core() else { return false };
        if !self.can_part() {
            self.open_up(core);
            return false;
        }
        // It goes on, if it is woken, in the place where others can see it.
        if let Some(task) = core.lifo.take() {
            self.push(core, task.into_item());
        }
        core.forked.set(false);
        let Some(core) = self.take_core() else { return false };
        let shared = Arc::clone(&self.shared);
        // This thread stays one of the scheduler's until its poll has ended.
        shared.threads.fetch_add(1, SeqCst);
        // The core must survive a refusal: it is kept where both sides reach it.
        let parcel = Arc::new(crate::sync::Mutex::new(Some(core)));
        let its = (Arc::clone(&shared), Arc::clone(&parcel));
        let name = (shared.common.thread_name)();
        let started =
            crate::sync::thread::spawn(name, shared.common.thread_stack_bytes, move || {
                let (shared, parcel) = its;
                let core = parcel.lock().take();
                if let Some(core) = core {
                    run(shared, core);
                }
            });
        if started.is_ok() {
            self.shared.common.unpin();
            return true;
        }
        shared.threads.fetch_sub(1, SeqCst);
        let core = parcel.lock().take();
        if let Some(core) = core {
            self.core.set(Box::into_raw(core));
        }
        false
    }

    /// At the runtime's end: cancels this worker's tasks, queued and at rest.
    /// Another thread may block for as long as one of them holds something, and
    /// would never leave. What is left, the last one to leave finds.
    pub(super) fn disband(&self) {
        if self.core().is_none() {
            return;
        }
        task::abort_all(self);
        // A destructor may give the core away, and with it the rest of this.
        while let Some(core) = self.core() {
            let item = self.next(core, core.tick.get()).or_else(|| self.take_injected(core));
            match item {
                // SAFETY: tasks are the only items so far.
                Some(item) => unsafe { Runnable::from_item(item) }.cancel(self),
                None if self.wake_deferred(core) => {}
                None => return,
            }
        }
    }
}
