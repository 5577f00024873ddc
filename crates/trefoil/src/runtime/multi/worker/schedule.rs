//! How a worker queues what it has woken, and whom it wakes for that.

use super::*;

impl WorkerThread {
    /// Queues a task that this thread has woken or spawned.
    #[inline]
    pub(in crate::runtime::multi) fn schedule(&self, task: Runnable) -> Result<(), Runnable> {
        let Some(core) = self.core_after_fork() else { return self.shared.inject(task) };
        if let Some(worker) = task.pinned_to() {
            if worker != core.index {
                return self.shared.send(worker, task);
            }
            core.pinned.borrow_mut().push_back(task.into_item());
            return Ok(());
        }
        if core.batch.get() {
            self.push_quietly(core, task.into_item());
            return Ok(());
        }
        if core.forked.get() {
            self.push(core, task.into_item());
            return Ok(());
        }
        // A task alone in the slot wakes nobody: it runs here, and soon.
        // SAFETY: the core is this thread's.
        if let Some(before) = unsafe { self.remote(core).lifo.replace(task) } {
            self.push(core, before.into_item());
        }
        Ok(())
    }

    /// To the back of the ring, in the middle of a poll that may be long.
    #[inline]
    pub(super) fn push(&self, core: &Core, item: Item) {
        if self.shared.workers() == 1 {
            return self.push_quietly(core, item);
        }
        // SAFETY: the core makes this thread the ring's owner.
        match unsafe { self.remote(core).ring.push_fenced(item) } {
            Ok(()) => self.announce_push(core),
            Err(item) => self.overflow(core, item),
        }
    }

    /// To the back of the ring; sleepers are looked for before the next poll.
    #[inline]
    pub(super) fn push_quietly(&self, core: &Core, item: Item) {
        // SAFETY: the core makes this thread the ring's owner.
        if let Err(item) = unsafe { self.remote(core).ring.push(item) } {
            return self.overflow(core, item);
        }
        core.unannounced.set(true);
    }

    /// There is no room in the ring, so it goes behind what waits outside. What
    /// is in the ring stays there, and so is served before all that comes later.
    #[cold]
    fn overflow(&self, core: &Core, item: Item) {
        self.remote(core).counters.overflows.add(1);
        let pushed = self.shared.injector.push(item);
        debug_assert!(pushed.is_ok(), "closed before this worker has left");
        fence(SeqCst);
        self.announce(core);
    }

    /// Has a sleeper woken if nobody searches.
    #[inline]
    pub(super) fn announce(&self, core: &Core) {
        if self.shared.notify_fenced() {
            self.remote(core).counters.wakes.add(1);
        }
    }

    /// As `announce`, in the middle of a poll that may well push more.
    #[inline]
    fn announce_push(&self, core: &Core) {
        if self.shared.idle.wants_searcher() {
            self.announce_enough(core);
        }
    }

    #[cold]
    fn announce_enough(&self, core: &Core) {
        if core.throttle.admits(core.turns.tick(), self.remote(core).ring.len()) {
            self.announce(core);
        } else {
            core.unannounced.set(true);
        }
    }

    /// Announces what was pushed quietly, before a poll that is not preceded by
    /// a pop from the ring.
    #[inline]
    pub(super) fn announce_quiet(&self, core: &Core) {
        if core.unannounced.replace(false) && !self.remote(core).ring.is_empty() {
            fence(SeqCst);
            self.announce(core);
        }
    }
}
