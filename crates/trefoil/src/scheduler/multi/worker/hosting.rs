//! What a worker's thread does for the tasks that are bound to it (`multi/host.rs`).

use super::*;
use crate::scheduler::multi::host::Local;
use turns::Slot;

/// The thread is the user's, which works in a worker's place for a while and may go at any time.
/// The task that has asked yields, and goes to another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoHost;

/// Of the free stacks of fibers, if there are fibers.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(super) type Quiet = crate::fiber::Quiet;
#[cfg(not(all(feature = "fiber", unix, not(loom))))]
pub(super) type Quiet = ();

impl WorkerThread {
    /// Makes this thread a host, if it is none yet. Returns its index.
    ///
    /// # Errors
    /// It cannot be one.
    #[cfg_attr(
        not(all(feature = "fiber", unix, not(loom))),
        expect(dead_code, reason = "only fibers are bound to threads")
    )]
    pub(crate) fn become_host(&self) -> Result<u32, NoHost> {
        if let Some(host) = self.host.get() {
            return Ok(host.index());
        }
        if self.place.get().is_some() || !self.root.get().is_null() {
            self.refused.set(true);
            return Err(NoHost);
        }
        let index = match self.state() {
            Some(state) => state.index,
            None => unreachable!("a thread without a state polls nothing for the first time"),
        };
        Ok(self.host.get_or_init(|| Local::new(&self.shared, index)).index())
    }

    /// Whether what runs on this thread is no part of a fork, of a scope or of the worker's own
    /// code, which would be torn apart if this stack was left for another.
    #[cfg_attr(
        not(all(feature = "fiber", unix, not(loom))),
        expect(dead_code, reason = "only fibers are bound to threads")
    )]
    #[inline(always)]
    pub(crate) fn may_leave_stack(&self) -> bool {
        // Without a branch for each.
        let is_in_one = self.in_job.get()
            | self.in_leapfrog.get()
            | self.keeps_state.get()
            | self.in_root.get();
        (self.scopes.get() | u32::from(is_in_one)) == 0 && fork_join::is_joined()
    }

    /// The free stacks of this thread, if it runs fibers.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    #[inline]
    pub(crate) fn held_stacks(&self) -> Option<&crate::fiber::Held> {
        self.host.get().map(Local::stacks)
    }

    /// The thread is about to sleep as a worker. Returns how long it may do so, at most, since
    /// nobody else would have the free stacks of fibers give back their memory.
    pub(super) fn limit_sleep_for_stacks(&self) -> Option<Duration> {
        if let Some(host) = self.host.get() {
            host.about_to_sleep();
        }
        // No matter whether fibers have run on this thread: those that have may have ended on one
        // that was the worker before.
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        if self.shared.workers() == 1 {
            return self.quiet.limit_sleep();
        }
        None
    }

    /// The worker has slept, under such a limit.
    pub(super) fn slept_for_stacks(&self) {
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        self.quiet.has_slept();
        #[cfg(not(all(feature = "fiber", unix, not(loom))))]
        let () = self.quiet;
    }

    /// The host that this thread is, if its index is that.
    #[inline]
    pub(super) fn host_of(&self, index: u32) -> Option<&Local> {
        self.host.get().filter(|host| host.index() == index)
    }

    /// Queues a bound task that this thread has woken.
    #[inline]
    pub(super) fn push_bound(&self, host: u32, task: Runnable) {
        match self.host_of(host) {
            Some(host) => host.push(task),
            None => self.shared.hosts.send(&self.shared, task, host),
        }
    }

    /// The oldest of the tasks that only this worker may run.
    pub(super) fn next_pinned(&self, state: &WorkerState) -> Option<Runnable> {
        self.empty_inbox(state);
        let bound = self.host.get().and_then(|host| host.next_in_turn(state.has_pinned()));
        let task = bound.or_else(|| state.pinned.borrow_mut().pop_front())?;
        self.notify_pending(state);
        Some(task)
    }

    /// What [`next`](Self::next) comes to if nothing but bound tasks is at hand, and the host.
    /// `None` if it is not so simple.
    ///
    /// Between two polls of fibers that hand over to each other, this is all that is asked. It
    /// decides nothing by itself: wherever one of the other queues holds a task, `next` is called,
    /// and it counts as `next` does.
    #[inline(always)]
    pub(super) fn next_bound(&self, state: &WorkerState) -> Option<(&Local, Runnable)> {
        let host = self.host.get()?;
        let remote = self.remote(state);
        let are_others_at_hand = !remote.ring.is_empty()
            || !remote.lifo.is_empty()
            || !self.shared.injector.is_empty()
            || !remote.inbox.is_empty()
            || state.has_pinned()
            || state.searching.get();
        if are_others_at_hand {
            return None;
        }
        let task = self.next_of_host(state, host)?;
        // Of what was pushed, nothing is left.
        state.owes_notify.set(false);
        state.counters.polls.add(1);
        Some((host, task))
    }

    /// If there is nothing, what this has counted is what `next` counts as well.
    #[inline(always)]
    fn next_of_host(&self, state: &WorkerState, host: &Local) -> Option<Runnable> {
        let turns = &state.turns;
        if !turns.is_for_pinned() {
            if turns.is_for_ring() {
                turns.ring_is_empty();
            }
            let woken = if self.fills_host_slot.get() { self.take_host_slot() } else { None };
            match woken.map(|task| (task, turns.slot())) {
                Some((task, Slot::Runs)) => return Some(task),
                Some((task, Slot::Queues)) => {
                    turns.slot_queues(0);
                    host.push(task);
                }
                None => turns.slot_is_empty(),
            }
        }
        host.next_in_turn(false)
    }

    /// Polls a bound task. As for `run`, no reference to the state is an argument.
    #[inline(never)]
    pub(super) fn run_bound(&self, host: &Local, task: Runnable) {
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        if let Some(fiber) = task.fiber() {
            let ran = task.resume(fiber, self);
            self.come_out();
            return match ran {
                Ran::Off => {}
                Ran::Woken(task) | Ran::Yielded(task) => host.push(task),
            };
        }
        let _ = host;
        self.run(task);
    }

    /// Whether a wake-up of a task that is bound to this thread has come from another one.
    #[inline]
    pub(super) fn has_bound_mail(&self) -> bool {
        self.host.get().is_some_and(Local::has_mail)
    }

    /// Whether tasks that are bound to this thread are at rest, whom others may wake.
    #[inline]
    pub(super) fn awaits_bound_mail(&self) -> bool {
        self.host.get().is_some_and(|host| host.tasks().len() > 0)
    }

    /// Whether something is queued that is bound to this thread.
    #[inline]
    pub(super) fn has_bound_work(&self) -> bool {
        self.host.get().is_some_and(|host| !host.is_idle())
    }

    /// Whether the runtime ends.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(crate) fn is_shut_down(&self) -> bool {
        self.shared.is_shut_down()
    }

    /// Whether tasks are bound to this thread, queued or at rest.
    #[inline]
    pub(crate) fn has_bound_tasks(&self) -> bool {
        self.host.get().is_some_and(Local::has_tasks)
    }

    /// The thread has left its worker's loop: serves what is bound to it until nothing is. At the
    /// runtime's end, this is soon, because all of it is aborted.
    ///
    /// True if it is a worker again instead.
    pub(super) fn serve_as_host(&self) -> bool {
        let Some(host) = self.host.get() else { return false };
        host.leave_place();
        let is_beyond_limit = host.has_tasks() && self.state().is_none();
        if is_beyond_limit {
            self.shared.common.blocking.begin_hosting(&handle(&self.shared));
        }
        let mut is_aborted = false;
        while host.has_tasks() {
            if !is_aborted && self.shared.is_shut_down() {
                is_aborted = true;
                task::abort_all(&Bound { worker: self, host });
            }
            // The other half is in `Hosts::send` and `Shared::shut_down`.
            fence(SeqCst);
            if is_aborted {
                // A destructor of a bound task has queued here what it has woken.
                self.end_queued();
                self.cancel_injected();
            }
            // What came to the slot while this was a worker waits behind what came before it, or
            // tasks that keep the queue full would never let it run.
            if let Some(task) = host.take_slot() {
                host.push(task);
            }
            match host.next() {
                Some(task) if is_aborted => self.end(task),
                Some(task) => self.run(task),
                None if !is_aborted && self.shared.is_shut_down() => {}
                // What was queued as on a worker were the last.
                None if !host.has_tasks() => {}
                None if is_beyond_limit && !is_aborted => {
                    if self.rest_as_host(host) {
                        return true;
                    }
                }
                None => host.park(),
            }
        }
        if is_aborted {
            self.end_queued();
        }
        if is_beyond_limit {
            self.shared.common.blocking.end_hosting();
        }
        self.leave_stacks(host);
        false
    }

    /// This thread, which is no worker, is about to sleep, or to leave. If fibers have left free
    /// stacks, and the runtime has one worker, that one has them give back their memory: it is told
    /// to limit its sleep, if it has begun to sleep before there were any.
    fn leave_stacks(&self, host: &Local) {
        host.about_to_sleep();
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        if self.shared.workers() == 1 && self.state().is_none() && crate::fiber::is_to_rest() {
            // The token comes after the stacks, so that the worker's look does as well.
            self.shared.remotes[0].parker.unpark();
        }
    }

    /// Waits until something may be queued. True if a worker has needed a thread first, and this is
    /// that worker now.
    fn rest_as_host(&self, host: &Local) -> bool {
        let (pool, handle) = (&self.shared.common.blocking, handle(&self.shared));
        self.leave_stacks(host);
        let body = pool.host_rests(&handle, host.parker()).or_else(|| {
            host.park();
            pool.host_wakes(&handle, host.parker())
        });
        body.map(|body| (body.run)(By::Host(self))).is_some()
    }

    /// A host takes a worker's state, and goes on as that worker.
    pub(super) fn return_as_worker(&self, state: Box<WorkerState>) {
        debug_assert!(self.state().is_none() && self.offered.get().is_none());
        let index = state.index;
        let begins_late = self.begin_as_worker(state);
        if let Some(host) = self.host.get() {
            host.take_place(index);
        }
        // Each of the two was counted. Not the last: this is one.
        self.shared.threads.fetch_sub(1, SeqCst);
        self.wake_up();
        if begins_late {
            self.shared.begins_late();
        }
    }

    /// A bound task may wait for the end of another that was spawned at the very end, and that lies
    /// where the last thread to leave would find it, which waits for this one. Whoever was spawned
    /// by a bound task is found here by the host of that task, at the latest.
    fn cancel_injected(&self) {
        let next = || self.shared.injector.pop_batch(1, 1, |_| unreachable!("one was asked for"));
        while let Some(task) = next() {
            self.end(task);
        }
    }

    /// At the runtime's end: ends a task, or has it go on until it has ended by itself.
    pub(super) fn end(&self, task: Runnable) {
        match task.cancel_unless_shielded(self) {
            Some(task) => self.run(task),
            // A destructor that has forked may have left the state on offer. If nobody has retaken
            // it, this is still the worker.
            None => self.come_out(),
        }
    }
}

/// A thread, as the home of what is bound to it.
struct Bound<'a> {
    worker: &'a WorkerThread,
    host: &'a Local,
}

impl Home for Bound<'_> {
    fn index(&self) -> u32 {
        self.host.index()
    }

    fn tasks(&self) -> &OwnedTasks {
        self.host.tasks()
    }

    fn send_home(&self, home: u32, task: CompletedTask) {
        self.worker.send_home(home, task);
    }
}
