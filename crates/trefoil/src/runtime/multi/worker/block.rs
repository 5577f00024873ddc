//! How a worker parts from its core while it blocks in place.

use super::*;

impl WorkerThread {
    /// Whether what runs on this thread can go on without the core: one of the
    /// scheduler's tasks, which is put on the list as if it had rested, or a
    /// stolen job. Everything else that may ask for this is foreign code in the
    /// midst of the worker's own affairs (wakers, hooks, destructors, sets of
    /// local tasks that go), which hold on to the core.
    pub(super) fn can_part(&self) -> bool {
        let Some(task) = context::with(|context| context.task.get()) else {
            return self.in_job.get() || self.in_leapfrog.get();
        };
        if !task::is_under_way(task, Arc::as_ptr(&self.shared)) {
            return false;
        }
        // Without a core, it was put on the list when it parted.
        if self.core().is_some() {
            settle(task, self);
        }
        true
    }

    /// The core stays here while foreign code blocks: lets others take what
    /// they can, now and of what that code wakes.
    fn open_up(&self, core: &Core) {
        core.batch.set(false);
        core.forked.set(true);
        self.empty_slot(core);
        self.announce_quiet(core);
    }

    /// Offers the core, because this thread is about to block: it then counts as
    /// a sleeping worker's, so whoever has work for a sleeper has another thread
    /// become the worker. If there is work already, that happens here.
    pub(crate) fn begin_blocking(&self) {
        self.vacate();
        self.reclaim();
        let Some(core) = self.core() else { return };
        // They wait for a turn that may not come for as long as this blocks.
        self.wake_deferred(core);
        if !self.can_part() {
            return self.open_up(core);
        }
        // It goes on, if it is woken, in the place where others can see it.
        self.empty_slot(core);
        self.announce_quiet(core);
        core.forked.set(false);
        core.asleep.set(true);
        let shared = &*self.shared;
        let (index, holds) = (core.index, core.holds());
        // The core and this thread, which has a task in its hands, may be two
        // from here on.
        shared.threads.fetch_add(1, SeqCst);
        let remote = self.remote(core);
        let mut offer = None;
        let asleep = shared.idle.sleep(index, core.searching.replace(false), || {
            let core = self.core.replace(ptr::null_mut());
            // SAFETY: this thread's core, which it gives up, and no reference
            // to which is used any more.
            offer = Some(unsafe { remote.handoff.offer(core, holds, true) });
        });
        self.offered.set(offer.map(|offer| (index, offer)));
        // What blocks may compute as well, and has no right to the worker's CPU.
        shared.common.unpin();
        shared.monitor.ensure(&self.shared);
        // Behind the fence in `offer`: either this sees what came for the
        // worker, or who brought it sees the offer (`Shared::unpark_worker`).
        let is_wanted = holds.pinned || !remote.inbox.is_empty() || shared.is_shut_down();
        if is_wanted {
            shared.unpark_worker(index);
        } else if asleep == Asleep::LookAgain {
            shared.look_again(index);
        }
    }

    /// This thread blocks no more: it is the worker again if no other thread
    /// has become it.
    pub(crate) fn end_blocking(&self) {
        if self.offered.get().is_some_and(|(_, offer)| offer.blocks()) {
            self.reclaim();
        }
    }

    /// The core has come back before anybody had a use for it.
    pub(super) fn back_from_blocking(&self) {
        // This thread and its core are one again. Not the last: this is one.
        self.shared.threads.fetch_sub(1, SeqCst);
        self.wake_up();
        let Some(core) = self.core() else { return };
        self.shared.common.pin_worker(core.index);
        if core.searching.get() {
            // It was chosen to search, but goes on with what it was doing.
            self.found_work(core);
        }
    }

    /// At the runtime's end: cancels this worker's tasks, queued and at rest.
    /// Another thread may block for as long as one of them holds something, and
    /// would never leave. What is left, the last one to leave finds.
    pub(super) fn abort_tasks(&self) {
        if self.core().is_none() {
            return;
        }
        task::abort_all(self);
        // A destructor may give the core away, and with it the rest of this.
        while let Some(core) = self.core() {
            core.turns.advance();
            let item = self.next(core).or_else(|| self.take_injected(core));
            match item {
                // SAFETY: tasks are the only items so far.
                Some(item) => unsafe { Runnable::from_item(item) }.cancel(self),
                None if self.wake_deferred(core) => {}
                None => return,
            }
        }
    }
}
