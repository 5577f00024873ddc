//! How a worker queues what it has woken, and whom it wakes for that.

use super::*;
use crate::runtime::ring::Full;

/// With so much in the ring, every push in the middle of a poll may wake.
const ENOUGH_MAX: usize = 32;

/// And so long after the poll's last wake-up, every push may as well.
const ENOUGH_FOR: Duration = Duration::from_micros(100);

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
        if let Some(before) = core.lifo.replace(Some(task)) {
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
            Err(full) => self.overflow(core, full),
        }
    }

    /// To the back of the ring; sleepers are looked for before the next poll.
    #[inline]
    pub(super) fn push_quietly(&self, core: &Core, item: Item) {
        // SAFETY: the core makes this thread the ring's owner.
        if let Err(full) = unsafe { self.remote(core).ring.push(item) } {
            return self.overflow(core, full);
        }
        core.unannounced.set(true);
    }

    #[cold]
    fn overflow(&self, core: &Core, full: Full) {
        let mut items = Fifo::new();
        match full {
            Full::Contended(item) => items.push_back(item),
            Full::Overflow(older) => items = older,
        }
        self.remote(core).counters.overflows.add(1);
        let pushed = self.shared.injector.push_all(items);
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

    /// The first push wakes at once. Whoever it woke may have done all there
    /// was, and sleep again, before the next: after each such wake-up, the next
    /// one in this poll needs twice as much in the ring, for a while. What is
    /// left is announced when the poll is over.
    #[cold]
    fn announce_enough(&self, core: &Core) {
        let tick = core.tick.get();
        let now = Instant::now();
        let is_new_poll = core.enough_at.replace(tick) != tick;
        if is_new_poll || now.duration_since(core.woke_at.get()) > ENOUGH_FOR {
            core.enough.set(1);
        }
        let enough = core.enough.get();
        if self.remote(core).ring.len() < enough {
            core.unannounced.set(true);
            return;
        }
        core.enough.set((2 * enough).min(ENOUGH_MAX));
        core.woke_at.set(now);
        self.announce(core);
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
