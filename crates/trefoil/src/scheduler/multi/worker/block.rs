//! How a worker offers its state while it blocks in place.

use super::*;
use crate::primitives::atomic::Relaxed;

/// How often deferred wakers are woken when a worker leaves: one may defer itself
/// again, without end.
const DEFERRED_ROUNDS: u32 = 3;

/// What `begin_blocking` leaves to `end_blocking`.
#[derive(Debug)]
#[must_use]
pub(crate) struct Begun {
    situation: Situation,
    /// The watch of a thread without a state was paused, which nobody else resumes.
    has_paused_watch: bool,
}

/// In which situation a thread has begun to block.
#[derive(Debug)]
enum Situation {
    Plain,
    /// The state was on offer for a fork.
    InFork,
    /// So was that of the worker with this index, and it had been retaken.
    InForkWithout(u32, Offer),
    /// The state was on offer for the poll of the root.
    InRoot,
    /// Inside of something that blocks as well.
    Within,
}

impl WorkerThread {
    /// Whether what runs on this thread can continue without the state. A task of
    /// this scheduler can, and is put on the list as if it had rested. A stolen job
    /// can. Other code that may ask for this is called in the middle of the worker's
    /// own code, which uses the state: wakers, hooks, destructors, and sets of local
    /// tasks that are dropped.
    pub(super) fn can_offer(&self) -> bool {
        // A task that was refused is about to leave for a host, and must not be put on the list of
        // this worker. Hooks around its poll may ask nevertheless.
        if self.keeps_state.get() || self.refused.get() {
            return false;
        }
        let Some(task) = context::with(|context| context.task.get()) else {
            return self.in_job.get() || self.in_leapfrog.get() || self.in_root.get();
        };
        if !task::is_under_way(task, Arc::as_ptr(&self.shared)) {
            return false;
        }
        // Without a state, it was put on the list when the state was offered.
        if self.state().is_some() {
            settle(task, self);
        }
        true
    }

    /// Calls foreign code in the midst of the worker's own, which uses the state before
    /// and after: it stays here, whatever that code does. `can_offer` cannot tell by
    /// itself where such code is called inside of a task, as a deferred waker is before
    /// the task blocks.
    pub(crate) fn keep_state<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a Cell<bool>, bool);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.set(self.1);
            }
        }
        let _before = Restore(&self.keeps_state, self.keeps_state.replace(true));
        f()
    }

    /// The state stays here while foreign code blocks: lets others take what
    /// they can, now and of what that code wakes.
    fn open_up(&self, state: &WorkerState) {
        state.batch.set(false);
        state.forked.set(true);
        self.empty_slot(state);
        self.notify_pending(state);
    }

    /// Offers the state, because this thread is about to block: it then counts as
    /// a sleeping worker's, so whoever has work for a sleeper has another thread
    /// become the worker. If there is work already, that happens here.
    pub(crate) fn begin_blocking(&self) -> Begun {
        let fork = self.offered.get();
        if fork.is_some_and(|(_, offer)| offer.blocks()) {
            // A job, on top of something that blocks in place and waits for it. The
            // state is gone, or on offer until that is through.
            return Begun { situation: Situation::Within, has_paused_watch: false };
        }
        self.leave_place();
        self.reclaim();
        let has_state = self.state().is_some();
        // A host that has lost its state polls what is bound to it all the same.
        let has_paused_watch = !has_state && self.is_watched();
        if has_paused_watch {
            self.pause_watch();
        }
        self.offer_to_block();
        let situation = match fork {
            None => Situation::Plain,
            Some((_, offer)) if offer.is_in_root() => Situation::InRoot,
            Some(_) if has_state => Situation::InFork,
            Some((index, offer)) => Situation::InForkWithout(index, offer),
        };
        Begun { situation, has_paused_watch }
    }

    fn offer_to_block(&self) {
        let Some(state) = self.state() else { return };
        // They would wait for as long as this thread blocks.
        self.keep_state(|| self.wake_deferred(state));
        if !self.can_offer() {
            return self.open_up(state);
        }
        // If the task in the slot was woken, others can run it from the ring.
        self.empty_slot(state);
        self.notify_pending(state);
        state.forked.set(state.lacks_slot);
        let shared = &*self.shared;
        if self.remote(state).handoff.has_forkers() {
            // This worker is only there for tasks, so it must not be chosen for
            // jobs, as a sleeper may be. Another thread becomes it at once.
            self.parts_with_state();
            self.pause_watch();
            shared.common.unpin();
            if let Some(state) = self.take_state() {
                shared.hand_to_pool(state);
            }
            return;
        }
        let (index, has_pinned) = (state.index, state.has_pinned());
        self.parts_with_state();
        let remote = self.remote(state);
        let blocked = state.blocked.get() + 1;
        state.blocked.set(blocked);
        let mut offer = None;
        let asleep = shared.idle.sleep(index, state.searching.replace(false), || {
            // Relaxed: the offer publishes it.
            remote.counts_asleep.store(blocked, Relaxed);
            let state = self.state.replace(ptr::null_mut());
            // SAFETY: this thread's state, which it gives up, and no reference
            // to which is used any more.
            offer = Some(unsafe { remote.handoff.offer(state, has_pinned, Kind::Blocks) });
        });
        self.offered.set(offer.map(|offer| (index, offer)));
        self.pause_watch();
        // What blocks may compute as well, and must not do so on the worker's CPU.
        shared.common.unpin();
        shared.monitor.ensure(&self.shared);
        // Behind the fence in `offer`: either this sees what came for the
        // worker, or whoever sent it sees the offer (`Shared::unpark_worker`).
        let is_wanted = has_pinned || !remote.inbox.is_empty() || shared.is_shut_down();
        if is_wanted {
            shared.unpark_worker(index);
        } else if asleep == Asleep::LookAgain {
            shared.look_again(index);
        }
    }

    /// The state and this thread, which has a task in its hands, may be two from here
    /// on. In its root, it has none.
    fn parts_with_state(&self) {
        if !self.in_root.get() {
            self.shared.threads.fetch_add(1, SeqCst);
        }
    }

    /// This thread blocks no more: it is the worker again if no other thread
    /// has become it.
    pub(crate) fn end_blocking(&self, begun: Begun) {
        let Begun { situation, has_paused_watch } = begun;
        if matches!(situation, Situation::Within) {
            return;
        }
        if self.offered.get().is_some_and(|(_, offer)| offer.blocks()) {
            self.reclaim();
        }
        if has_paused_watch {
            self.resume_watch();
        }
        match situation {
            Situation::Plain | Situation::Within => {}
            // The poll of the root goes on.
            Situation::InRoot => self.offer_in_root(),
            // The fork goes on, and may not publish again for long.
            Situation::InFork => {
                if let Some(state) = self.state() {
                    state.forked.set(true);
                }
                self.offer_to_fork();
            }
            // It goes on, and computes beside whoever has become the worker. When it is
            // through, it finds its offer taken, as before.
            Situation::InForkWithout(index, offer) => {
                self.shared.monitor.fork_goes_on(&self.shared.remotes[index as usize].handoff);
                self.offered.set(Some((index, offer)));
            }
        }
    }

    /// The state has come back before anybody had a use for it.
    pub(super) fn back_from_blocking(&self) {
        // This thread and its state are one again. Not the last: this is one.
        if !self.in_root.get() {
            self.shared.threads.fetch_sub(1, SeqCst);
        }
        self.wake_up();
        let Some(state) = self.state() else { return };
        self.shared.common.pin_worker(state.index);
        // It may have been chosen to search, but continues what it was doing.
        self.end_search();
    }

    /// At the runtime's end: cancels this worker's tasks, queued and at rest.
    /// Another thread may block for as long as one of them holds something, and
    /// would never leave. The last thread to leave cancels what is left.
    pub(super) fn abort_tasks(&self) {
        if self.state().is_none() {
            return;
        }
        self.leaves.set(true);
        task::abort_all(self);
        self.end_queued();
    }

    /// At the runtime's end: ends what is queued here, and what that wakes.
    pub(super) fn end_queued(&self) {
        let mut deferred_rounds = DEFERRED_ROUNDS;
        // A destructor may give the state away, and with it the rest of this.
        // There is an end to it: spawns are refused by now.
        while let Some(state) = self.state() {
            state.turns.advance();
            let task = self.next(state).or_else(|| self.take_injected(state));
            match task {
                Some(task) => self.end(task),
                None if deferred_rounds > 0 && self.wake_deferred(state) => deferred_rounds -= 1,
                None => return,
            }
        }
    }
}
