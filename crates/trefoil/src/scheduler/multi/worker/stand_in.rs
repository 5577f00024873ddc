//! A thread in `block_on` that takes the place of a sleeping worker.
//!
//! The future of `block_on` (the *root*) need not be `Send`, and so stays on its thread, which is
//! no worker. Each message between the root and a task then costs a wake-up of a thread. With
//! `Builder::serve_in_block_on`, a worker that sleeps lends its state (`multi/loan.rs`), and a
//! thread in `block_on` that takes it is that worker for as long as its root waits: it *stands in*.
//! The root has its turns among the tasks.
//!
//! What runs on the thread, and what of it has the state:
//!
//! | | the state | if it takes long |
//! |---|---|---|
//! | tasks, as on any worker | this thread's | as on any worker; the root waits |
//! | the root's poll | on offer | as from a fork, the monitor has it retaken for what waits |
//! | the root blocks in place | on offer, and asleep | whoever has work for a sleeper retakes it |
//!
//! Whoever retakes it gives it to the worker's own thread, which sleeps meanwhile. The root then
//! goes on as on any thread that is no worker. Before it waits the next time, the thread asks for a
//! place again.
//!
//! The runtime's end wants its worker back from the stand-in, and does not wait for the root. So
//! the tasks that are left are dropped by the runtime's own threads. There is one exception: where
//! the poll of a task has blocked or forked here, and another thread is the worker by the end of
//! that poll, this thread may be the last that has had a task, and then drops what is left.

use super::root::Root;
use super::*;
use crate::context::BlockOn;
use crate::primitives::parker::{Parker, ParkerGuard};
use crate::scheduler::block_on::Frame;
use crate::scheduler::multi::loan::{Loan, Place};
use crate::task::coop::{Budget, with_budget};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::{Context, Poll};

/// How many polls of tasks may go before a root that was woken. It may wait for what they bring as
/// well, and would be polled for each.
const OTHERS_FIRST: u8 = 3;

/// Runs a future to its end on the calling thread, which is no worker and drives nothing, and
/// serves tasks meanwhile, while there is a place for it.
///
/// # Panics
/// With the future's own panic.
pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    let mut future = pin!(future);
    let own = ParkerGuard::new();
    let root = Arc::new(Root::new(own.parker()));
    let waker = Waker::from(Arc::clone(&root));
    let frame = Frame(BlockOn::new(Arc::clone(own.parker())));
    let mut ended = None;
    // A panic must not skip the scheduler's own code.
    let mut poll = || {
        let mut cx = Context::from_waker(&waker);
        let polled =
            AssertUnwindSafe(|| with_budget(Budget::FULL, || future.as_mut().poll(&mut cx)));
        match catch_unwind(polled) {
            Ok(Poll::Pending) => false,
            Ok(Poll::Ready(output)) => {
                ended = Some(Ok(output));
                true
            }
            Err(payload) => {
                ended = Some(Err(payload));
                true
            }
        }
    };
    run_root(shared, &root, own.parker(), &frame.0, &mut poll);
    match ended {
        Some(Ok(output)) => output,
        Some(Err(payload)) => resume_unwind(payload),
        None => unreachable!("the root has ended"),
    }
}

/// Has the root polled until `poll` says that it has ended.
fn run_root(
    shared: &Arc<Shared>,
    root: &Root,
    own: &Arc<Parker>,
    frame: &BlockOn,
    poll: &mut dyn FnMut() -> bool,
) {
    let mut has_ended = false;
    while !has_ended {
        // Asked before each poll and each wait: a worker may have fallen asleep.
        if let Some(state) = shared.take_place() {
            let stand_in =
                StandIn { shared, root, frame, others: Cell::new(0), index: state.index };
            has_ended = stand_in.run(state, poll);
            root.wait_at(own);
            continue;
        }
        has_ended = context::enter_block_on(frame, || {
            if !root.begin_poll() {
                shared.ensure_monitor_for_events();
                frame.park(own);
                return false;
            }
            let has_ended = poll();
            frame.deferred.take().into_iter().for_each(task::wake_guarded);
            has_ended
        });
    }
}

impl Shared {
    pub(super) fn place(&self, worker: u32) -> Place<'_> {
        let parker = &self.remotes[worker as usize].parker;
        Place { worker, idle: &self.idle, parker }
    }

    /// The state of a worker that sleeps, which is busy from here on. The thread that lends it is
    /// woken when it is given back or handed over.
    fn take_place(&self) -> Option<Box<WorkerState>> {
        if self.is_shut_down() {
            return None;
        }
        self.idle.wake_any(|worker| self.loans[worker as usize].borrow())
    }
}

/// A thread that stands in for a worker.
struct StandIn<'a> {
    shared: &'a Arc<Shared>,
    root: &'a Root,
    frame: &'a BlockOn,
    /// The worker.
    index: u32,
    /// How many tasks were polled since the root was woken.
    others: Cell<u8>,
}

/// Why a stand-in serves no more tasks for now.
enum Pause {
    /// It is the root's turn.
    Root,
    /// The worker's state is not its any more, or must be given back.
    End,
}

impl StandIn<'_> {
    /// Works in the worker's place until the root has ended, or the place is lost. Returns whether
    /// the root has ended.
    fn run(&self, state: Box<WorkerState>, poll: &mut dyn FnMut() -> bool) -> bool {
        // As in `run` of `worker.rs`. The root's panics do not come here.
        let abort = AbortOnUnwind("in a worker, outside of any task");
        let shared = self.shared;
        let _pinned = shared.common.pin_visitor(self.index);
        let worker = WorkerThread::new(Arc::clone(shared), None);
        worker.root.set(self.root);
        let parker = &self.remote().parker;
        parker.take_seat();
        self.root.wait_at(parker);
        worker.is_awake(&state);
        worker.state.set(Box::into_raw(state));
        let has_ended = {
            let deque = shared.deques.acquire();
            context::enter_worker(&worker, || {
                context::enter_fork(deque, || {
                    // The timers that the root has registered as no worker's: it does so anew.
                    self.frame.made_timers().into_iter().for_each(|timers| timers.release());
                    shared.monitor.worker_woke(shared);
                    let has_ended = self.serve(&worker, poll);
                    worker.give_back();
                    has_ended
                })
            })
        };
        std::mem::forget(abort);
        has_ended
    }

    fn remote(&self) -> &Remote {
        &self.shared.remotes[self.index as usize]
    }

    fn serve(&self, worker: &WorkerThread, poll: &mut dyn FnMut() -> bool) -> bool {
        let its_handle = handle(self.shared);
        loop {
            // What the root has entered and not left is not for tasks.
            match context::beside_guards(&its_handle, || self.serve_tasks(worker)) {
                Pause::Root if self.poll_root(worker, poll) => return true,
                Pause::Root if worker.state().is_some() => {}
                Pause::Root | Pause::End => return false,
            }
        }
    }

    /// Whether it is the root's turn, if the worker has other tasks.
    fn is_root_due(&self) -> bool {
        if !self.root.is_woken() {
            self.others.set(0);
            return false;
        }
        self.others.get() >= OTHERS_FIRST
    }

    fn serve_tasks(&self, worker: &WorkerThread) -> Pause {
        while !self.shared.is_shut_down() {
            if self.is_root_due() {
                return Pause::Root;
            }
            let mut is_idle = false;
            let goes_on = worker.turn(|| {
                is_idle = self.root.is_woken();
                is_idle
            });
            if worker.state().is_none() {
                // The poll of a task blocked or forked, and another thread is the worker. This one
                // counts as one of the scheduler's up to here.
                self.shared.retire(None);
                return Pause::End;
            }
            if is_idle {
                return Pause::Root;
            }
            // A task has to begin on a thread that stays: the worker's own.
            if worker.refused.take() {
                return Pause::End;
            }
            if !goes_on {
                return Pause::End;
            }
            self.others.set(self.others.get().saturating_add(1));
        }
        Pause::End
    }

    /// The root's turn. Returns whether it has ended.
    fn poll_root(&self, worker: &WorkerThread, poll: &mut dyn FnMut() -> bool) -> bool {
        self.others.set(0);
        if !self.root.begin_poll() {
            return false;
        }
        let Some(state) = worker.state() else { return false };
        // It is no poll of a task, and so not counted as one. Nor is it among the turns of
        // `turns.rs`: with every fourth of them, it could take all those of the pinned tasks.
        if state.searching.get() {
            worker.found_work(state);
        }
        worker.notify_pending(state);
        worker.in_root.set(true);
        self.remote().handoff.begin_root_poll();
        worker.offer_in_root();
        let has_ended = context::enter_root(self.frame, poll);
        worker.in_root.set(false);
        worker.reclaim();
        let deferred = self.frame.deferred.take();
        match worker.state() {
            Some(state) if !has_ended => {
                state.forked.set(false);
                // A token that this thread has given itself, with a timer of the root's.
                let remote = worker.remote(state);
                remote.handoff.end_root_poll();
                remote.parker.drop_token();
                deferred.into_iter().for_each(|waker| remote.deferred.push(waker));
            }
            Some(_) => {
                self.remote().handoff.end_root_poll();
                deferred.into_iter().for_each(task::wake_guarded);
            }
            None => deferred.into_iter().for_each(task::wake_guarded),
        }
        has_ended
    }
}

impl WorkerThread {
    /// Whether this thread stands in, and that is its root.
    pub(super) fn stands_in_for(&self, root: *const Root) -> bool {
        std::ptr::eq(self.root.get(), root)
    }

    /// Whether this thread stands in, and what it runs is not its root.
    pub(in crate::scheduler::multi) fn serves_beside_root(&self) -> bool {
        !self.root.get().is_null() && !self.in_root.get()
    }

    /// Whether this thread has a root that was woken.
    #[inline]
    pub(super) fn has_woken_root(&self) -> bool {
        // SAFETY: null, or that of a stand-in, whose frame is around that of this thread's worker.
        unsafe { self.root.get().as_ref() }.is_some_and(Root::is_woken)
    }

    /// Offers the state for as long as the root is polled. As for a fork, with other rules for
    /// whoever retakes it: a root is none of the scheduler's tasks.
    pub(super) fn offer_in_root(&self) {
        let Some(state) = self.state() else { return };
        let (index, has_pinned, remote) = (state.index, state.has_pinned(), self.remote(state));
        let state = self.state.replace(ptr::null_mut());
        // SAFETY: this thread's state, which it gives up, and no reference to which is used any
        // more.
        let offer = unsafe { remote.handoff.offer(state, has_pinned, Kind::InRoot) };
        self.offered.set(Some((index, offer)));
        // Behind the fence in `offer`: as in `offer_to_fork`.
        if self.shared.is_shut_down() || remote.handoff.is_wanted_from_root() {
            self.shared.retake_from_fork(index, offer);
        }
        self.shared.monitor.ensure_for_root(&self.shared);
    }

    /// What the root's poll has woken or spawned.
    #[cold]
    pub(super) fn schedule_without_state(&self, task: Runnable) -> Result<(), Runnable> {
        if self.in_root.get() && self.offered.get().is_some() {
            self.reclaim();
            if let Some(state) = self.state() {
                // The caller has counted what was spawned or woken.
                let queued = self.schedule_here(state, task);
                self.offer_in_root();
                return queued;
            }
        }
        self.shared.inject(task)
    }

    /// The worker that this thread is between the polls of its root, if it is in one. The root's
    /// timers are that worker's; but whoever has the state has to be told of them.
    pub(in crate::scheduler::multi) fn root_place(&self) -> Option<u32> {
        let (index, _) = self.offered.get().filter(|_| self.in_root.get())?;
        Some(index)
    }

    /// Gives the state back to the worker's own thread. If there is something to do, that one does
    /// it; if not, it sleeps on.
    fn give_back(&self) {
        let Some(state) = self.state() else { return };
        let shared = &*self.shared;
        self.reap(state);
        self.notify_pending(state);
        let remote = self.remote(state);
        let is_busy = shared.is_shut_down()
            || self.has_own_work(state)
            || remote.handoff.has_forkers()
            || self.own_timers(state).until_next().is_some();
        if is_busy {
            self.end_search();
            if let Some(state) = self.take_state() {
                loan_of(shared, &state).hand(state);
            }
            return;
        }
        self.falls_asleep(state);
        let (index, searched) = (state.index, state.searching.replace(false));
        if let Some(state) = self.take_state()
            && loan_of(shared, &state).give_back(shared.place(index), searched, state)
                == Asleep::LookAgain
        {
            shared.look_again(index);
        }
        // The owner sleeps on where it lent the state, and not in the poll, which was this
        // thread's. A period later the monitor would see that, too.
        shared.have_reactor_attended();
    }
}

fn loan_of<'a>(shared: &'a Shared, state: &WorkerState) -> &'a Loan<Box<WorkerState>> {
    &shared.loans[state.index as usize]
}
