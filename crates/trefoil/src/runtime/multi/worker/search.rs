//! How a worker looks for the work of others, and when it stops.

use super::*;

impl WorkerThread {
    /// Ends the search; the last searcher has another one start if there is
    /// more to find.
    pub(super) fn found_work(&self, core: &Core) {
        core.searching.set(false);
        if self.shared.idle.stop_searching() {
            fence(SeqCst);
            if self.shared.has_work() {
                self.announce(core);
            }
        }
    }

    /// Looks for work of others.
    pub(super) fn search(&self, core: &Core) -> Option<Found<'_>> {
        if self.wake_deferred(core) {
            let core = self.core()?;
            return self.next(core).map(Found::Item);
        }
        if let Some(item) = self.take_injected(core) {
            return Some(Found::Item(item));
        }
        if self.shared.workers() == 1 {
            return None;
        }
        // A stolen job may be long: what is due here goes first.
        self.fire_timers(core);
        if let Some(item) = self.next(core) {
            return Some(Found::Item(item));
        }
        if self.remote(core).handoff.has_forkers() {
            return self.steal(core).map(Found::Item);
        }
        if !core.searching.get() {
            if !self.shared.idle.start_searching() {
                return None;
            }
            core.searching.set(true);
        }
        let most = self.shared.knobs.search_rounds;
        let rounds = core.patience.next_search(most);
        for round in 0..=rounds {
            let found =
                self.steal_anything(core).or_else(|| self.take_injected(core).map(Found::Item));
            if found.is_some() {
                if round > 0 {
                    core.patience.paid(most);
                }
                return found;
            }
            let remote = self.remote(core);
            if !remote.inbox.is_empty() || self.shared.is_shut_down() {
                return None;
            }
            for _ in 0..(1u32 << round.min(4)) {
                std::hint::spin_loop();
            }
        }
        core.patience.did_not_pay(most);
        None
    }

    /// Takes from the shared queue: no more than a batch, so that nothing else
    /// waits for long behind it.
    pub(super) fn take_injected(&self, core: &Core) -> Option<Item> {
        let ring = &self.remote(core).ring;
        if self.shared.injector.is_empty() {
            return None;
        }
        // SAFETY: the core makes this thread the ring's owner.
        let room = unsafe { ring.room() };
        let beside_others = !ring.is_empty() || !self.remote(core).lifo.is_empty();
        let most = core.turns.injected_batch(beside_others).min(room);
        let mut batched = false;
        // Its part, if others are about to come. They can steal it anyway.
        let (searching, sleeping) = self.shared.idle.counts();
        let share = if searching + sleeping > 0 { self.shared.workers() } else { 1 };
        let first = self.shared.injector.pop_batch(share, most, |item| {
            batched = true;
            // SAFETY: as above.
            let pushed = unsafe { ring.push(item) };
            debug_assert!(pushed.is_ok(), "there was room");
        });
        // A searcher looks around when it stops. All others have to make sure
        // here that what was in between two queues for a moment is not missed.
        // The poll that follows may be long, and so nothing may stay quiet.
        let quiet = first.is_some() && core.unannounced.take();
        if (batched || quiet) && !core.searching.get() && !ring.is_empty() {
            fence(SeqCst);
            self.announce(core);
        }
        first
    }

    /// Tasks and jobs take turns at being looked for first.
    pub(super) fn steal_anything(&self, core: &Core) -> Option<Found<'_>> {
        let job = || self.steal_job().map(Found::Job);
        let task = || self.steal(core).map(Found::Item);
        if core.turns.tick().is_multiple_of(2) { job().or_else(task) } else { task().or_else(job) }
    }

    pub(super) fn steal_job(&self) -> Option<Stolen<'_>> {
        let deques = self.deques();
        let start = context::random(deques.len() as u32) as usize;
        deques.steal(fork_join::deque_id(), start)
    }

    pub(super) fn steal(&self, core: &Core) -> Option<Item> {
        let workers = self.shared.workers();
        let own = self.remote(core);
        let start = context::random(workers as u32) as usize;
        for offset in 0..workers {
            let victim = (start + offset) % workers;
            if victim == core.index as usize {
                continue;
            }
            let ring = &self.shared.remotes[victim].ring;
            if ring.is_empty() {
                continue;
            }
            // SAFETY: the core makes this thread the owner of its own ring.
            if let Some(item) = unsafe { ring.steal_into(&own.ring) } {
                own.counters.steals.add(1);
                own.counters.stolen.add(1 + own.ring.len() as u64);
                return Some(item);
            }
        }
        None
    }
}
