//! How a worker looks for the work of others, and when it stops.

use super::*;
use crate::reactor::Reactor;

impl WorkerThread {
    /// Ends the search; the last searcher has another one start if there is
    /// more to find.
    pub(super) fn found_work(&self, state: &WorkerState) {
        state.searching.set(false);
        if self.shared.idle.stop_searching() {
            fence(SeqCst);
            if self.shared.has_work() {
                self.notify_for(state);
            }
        }
    }

    /// Looks for work of others.
    pub(super) fn search(&self, state: &WorkerState) -> Option<Found<'_>> {
        if self.wake_deferred(state) {
            let state = self.state()?;
            return self.next(state).map(Found::Task);
        }
        if let Some(task) = self.take_injected(state) {
            return Some(Found::Task(task));
        }
        if self.shared.workers() == 1 {
            return None;
        }
        // A stolen job may be long, so what is due here is served first.
        self.fire_timers(state);
        if let Some(task) = self.next(state) {
            return Some(Found::Task(task));
        }
        if self.remote(state).handoff.has_forkers() {
            return self.steal_beside_forkers(state).map(Found::Task);
        }
        if !state.searching.get() && self.shared.idle.start_searching() {
            state.searching.set(true);
        }
        let most = self.shared.knobs.search_rounds;
        let delays_events = self.delays_events();
        let (is_searcher, listens) = (state.searching.get(), self.awaits_bound_mail());
        let search = if is_searcher { state.patience.next_search(most, delays_events) } else { 0 };
        // For what is bound to this thread, which no other could run in its place, it waits in the
        // same way, also if others search already.
        let listen = if listens { state.mail_patience.next_search(most, delays_events) } else { 0 };
        if !is_searcher && !listens {
            return None;
        }
        for round in 0..=search.max(listen) {
            if is_searcher {
                let found = self
                    .steal_anything(state)
                    .or_else(|| self.take_injected(state).map(Found::Task));
                if found.is_some() {
                    if round > 0 {
                        state.patience.paid(most);
                    }
                    return found;
                }
            }
            if listens && self.has_bound_mail() {
                if round > 0 {
                    state.mail_patience.mail_came(most);
                }
                return self.next(state).map(Found::Task);
            }
            let remote = self.remote(state);
            if !remote.inbox.is_empty() || self.shared.is_shut_down() {
                return None;
            }
            for _ in 0..(1u32 << round.min(4)) {
                std::hint::spin_loop();
            }
        }
        if is_searcher {
            state.patience.did_not_pay(most);
        }
        if listens {
            state.mail_patience.did_not_pay(most);
        }
        None
    }

    /// Whether a search that goes on only keeps this worker from the poll: no other worker is
    /// awake, which could post, and nobody waits for events.
    fn delays_events(&self) -> bool {
        let (_, sleeping) = self.shared.idle.counts();
        sleeping as usize + 1 >= self.shared.workers()
            && self.shared.common.reactor.as_ref().is_some_and(Reactor::lacks_holder)
    }

    /// Takes from the shared queue: no more than a batch, so that nothing else
    /// waits for long behind it.
    pub(super) fn take_injected(&self, state: &WorkerState) -> Option<Runnable> {
        let ring = &self.remote(state).ring;
        if self.shared.injector.is_empty() {
            return None;
        }
        // SAFETY: the state makes this thread the ring's owner.
        let free = unsafe { ring.room() };
        let room = Turns::room_for_injected(ring.len()).min(free);
        let beside_others = !ring.is_empty() || !self.remote(state).lifo.is_empty();
        let most = state.turns.injected_batch(beside_others).min(room);
        let mut batched = false;
        // Its part, if others are about to come. They can steal it anyway.
        let (searching, sleeping) = self.shared.idle.counts();
        let share = if searching + sleeping > 0 { self.shared.workers() } else { 1 };
        let first = self.shared.injector.pop_batch(share, most, |task| {
            batched = true;
            // SAFETY: the state makes this thread the ring's owner.
            let pushed = unsafe { ring.push(task) };
            debug_assert!(pushed.is_ok(), "no more are taken than there is room for");
        });
        // A searcher looks around when it stops. All others have to make sure
        // here that what was in between two queues for a moment is not missed.
        // The poll that follows may be long, and so nothing may stay quiet.
        let quiet = first.is_some() && state.owes_notify.take();
        if (batched || quiet) && !state.searching.get() && !ring.is_empty() {
            fence(SeqCst);
            self.notify_for(state);
        }
        first
    }

    /// Tasks and jobs take turns at being looked for first.
    pub(super) fn steal_anything(&self, state: &WorkerState) -> Option<Found<'_>> {
        let job = || self.steal_job().map(Found::Job);
        let task = || self.steal(state).map(Found::Task);
        if state.turns.tick().is_multiple_of(2) { job().or_else(task) } else { task().or_else(job) }
    }

    pub(super) fn steal_job(&self) -> Option<Stolen<'_>> {
        let deques = self.deques();
        let start = context::random(deques.len() as u32) as usize;
        deques.steal(fork_join::deque_id(), start)
    }

    /// As `steal`, for a worker that is no searcher: it may not steal jobs. What it moves is in
    /// neither ring for a moment. A searcher looks around when it stops; this worker looks here,
    /// as the poll that follows may be long.
    fn steal_beside_forkers(&self, state: &WorkerState) -> Option<Runnable> {
        let task = self.steal(state)?;
        if !state.searching.get() && !self.remote(state).ring.is_empty() {
            fence(SeqCst);
            self.notify_for(state);
        }
        Some(task)
    }

    pub(super) fn steal(&self, state: &WorkerState) -> Option<Runnable> {
        let workers = self.shared.workers();
        let own = self.remote(state);
        let start = context::random(workers as u32) as usize;
        for offset in 0..workers {
            let victim = (start + offset) % workers;
            if victim == state.index as usize {
                continue;
            }
            let ring = &self.shared.remotes[victim].ring;
            if ring.is_empty() {
                continue;
            }
            // SAFETY: the state makes this thread the owner of its own ring.
            if let Some(task) = unsafe { ring.steal_into(&own.ring) } {
                own.counters.steals.add(1);
                own.counters.stolen.add(1 + own.ring.len() as u64);
                return Some(task);
            }
        }
        None
    }
}
