//! Which task of its own queues a worker runs next, as `turns.rs` counts.

use super::*;
use crate::primitives::atomic::fence_after_rmw;
use turns::Slot;

impl WorkerThread {
    /// The next task of this worker's own queues, in the order of `turns.rs`.
    #[inline(always)]
    pub(super) fn next(&self, state: &WorkerState) -> Option<Runnable> {
        let turns = &state.turns;
        if turns.is_for_pinned()
            && self.may_have_pinned(state)
            && let Some(task) = self.next_pinned(state)
        {
            return Some(task);
        }
        if turns.is_for_injector()
            && let Some(task) = self.look_at_injector(state)
        {
            return Some(task);
        }
        if turns.is_for_ring()
            && let Some(task) = self.next_before_slot(state)
        {
            return Some(task);
        }
        match self.take_slot(state) {
            Some(task) if turns.slot() == Slot::Runs => {
                self.notify_pending(state);
                return Some(task);
            }
            Some(task) => {
                if let Some(task) = self.next_after_streak(state, task) {
                    return Some(task);
                }
            }
            None => turns.slot_is_empty(),
        }
        let task = self.pop_ring(state);
        if task.is_none() && self.may_have_pinned(state) {
            return self.next_pinned(state);
        }
        task
    }

    /// The ring goes before the slot.
    fn next_before_slot(&self, state: &WorkerState) -> Option<Runnable> {
        let task = self.pop_ring(state);
        match &task {
            Some(_) => state.turns.ring_went_first(self.is_slot_full(state)),
            None => state.turns.ring_is_empty(),
        }
        task
    }

    /// The task that was in the slot has had its turns.
    #[inline(never)]
    fn next_after_streak(&self, state: &WorkerState, task: Runnable) -> Option<Runnable> {
        state.turns.slot_queues(self.remote(state).ring.len());
        self.queue_from_slot(state, task);
        self.look_at_injector(state)
    }

    /// Whether there may be tasks that only this worker may run.
    #[inline(always)]
    fn may_have_pinned(&self, state: &WorkerState) -> bool {
        state.has_pinned() || !self.remote(state).inbox.is_empty() || self.host.get().is_some()
    }

    #[inline]
    pub(super) fn empty_inbox(&self, state: &WorkerState) {
        let inbox = &self.remote(state).inbox;
        if !inbox.is_empty() {
            state.pinned.borrow_mut().append(&mut inbox.take());
        }
    }

    /// Takes what is due from the shared queue.
    #[inline(always)]
    fn look_at_injector(&self, state: &WorkerState) -> Option<Runnable> {
        // Before each poll, and so no call.
        if self.shared.injector.is_empty() { None } else { self.take_due(state) }
    }

    #[inline(never)]
    fn take_due(&self, state: &WorkerState) -> Option<Runnable> {
        let ring = &self.remote(state).ring;
        let before = ring.len();
        let task = self.take_injected(state)?;
        let (queued, most) = (ring.len(), self.shared.knobs.global_queue_interval);
        if queued <= before && self.shared.injector.is_empty() {
            state.turns.took_only_injected();
        } else {
            state.turns.took_injected(queued, most);
        }
        Some(task)
    }

    /// Takes the oldest task of the ring, and notifies what is left there if
    /// that has not been done.
    #[inline(always)]
    fn pop_ring(&self, state: &WorkerState) -> Option<Runnable> {
        // SAFETY: the state makes this thread the ring's owner.
        let (task, has_more) = unsafe { self.remote(state).ring.pop_and_look() }?;
        if state.owes_notify.replace(false) && has_more {
            // `pop` was an RMW (or there is only one worker).
            fence_after_rmw();
            if self.shared.idle.wants_searcher() {
                self.notify_left(state);
            }
        }
        Some(task)
    }

    #[cold]
    #[inline(never)]
    fn notify_left(&self, state: &WorkerState) {
        self.notify_for(state);
    }
}
