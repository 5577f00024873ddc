//! The scheduler with several workers: the state that they share.

mod burst;
mod deferred;
mod handoff;
mod host;
mod lifo;
mod loan;
mod monitor;
mod shutdown;
mod unstarted;
mod worker;

pub(crate) use burst::Burst;
pub(super) use monitor::PERIOD;
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) use worker::fork::Forks;
pub(crate) use worker::{Begun, WorkerThread, block_on, work_here};

use super::WorkerCounters;
use super::affinity::Origin;
use super::blocking::{Body, By};
use super::{Common, Knobs, Scheduler};
use crate::context;
use crate::fork_join::Deques;
use crate::idle::{Awake, Idle};
use crate::primitives::atomic::{
    AcqRel, Acquire, AtomicBool, AtomicU64, AtomicUsize, Relaxed, SeqCst, fence, fence_after_rmw,
};
use crate::primitives::parker::Parker;
use crate::primitives::{CachePadded, Mutex};
use crate::queue::{Fifo, Inbox, Injector, Ring};
use crate::scheduler::Handle;
use crate::task::{CompletedTask, Depot, HOSTS, Home, OwnedTasks, Runnable, Schedule};
use crate::time::TimerQueue;
use deferred::Deferred;
use handoff::{Handoff, Kind, Offer};
use host::Hosts;
use lifo::LifoSlot;
use loan::Loan;
use monitor::Monitor;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Weak};
use worker::WorkerState;

/// The idle protocol counts them in a part of a word.
const MOST_WORKERS: usize = u32::MAX as usize / 4 - 1;

/// The default of `Builder::search_rounds`.
pub(crate) const SEARCH_ROUNDS: u32 = 24;

/// The state that all workers and all handles share.
#[derive(Debug)]
pub(crate) struct Shared {
    common: Common,
    knobs: Knobs,
    remotes: Box<[CachePadded<Remote>]>,
    /// The states of workers that sleep, in a runtime that serves tasks in `block_on`. (Not in the
    /// remotes: they would be no power of two in size, for all runtimes.)
    loans: Box<[Loan<Box<WorkerState>>]>,
    this: Weak<Self>,
    /// The threads to which tasks are bound.
    hosts: Hosts,
    /// The deques, with the jobs that the workers have forked.
    deques: Deques,
    /// The memory of completed tasks, for new tasks.
    depot: Arc<Depot>,
    /// The thread that serves what waits for workers that are busy for long.
    monitor: CachePadded<Monitor>,
    injector: CachePadded<Injector<Runnable>>,
    idle: CachePadded<Idle>,
    shutdown: CachePadded<AtomicBool>,
    /// Where workers run whose threads are started later, unless they are pinned.
    origin: Option<Origin>,
    /// The number of threads that run the scheduler's tasks: one for each worker state, and one for
    /// each thread that blocks or forks without its state.
    threads: AtomicUsize,
    /// The states of the workers that have left.
    #[expect(clippy::vec_box, reason = "they come in boxes")]
    retired: Mutex<Vec<Box<WorkerState>>>,
}

/// The part of a worker that other threads may access. The rest is in its `WorkerState`.
#[derive(Debug)]
struct Remote {
    ring: CachePadded<Ring<Runnable>>,
    /// Tasks that only this worker may run.
    inbox: CachePadded<Inbox<Runnable>>,
    /// Tasks of this worker's list that completed on another thread.
    completed_elsewhere: CachePadded<Inbox<CompletedTask>>,
    parker: Arc<Parker>,
    timers: Arc<TimerQueue>,
    /// The task that the worker has woken last.
    lifo: LifoSlot,
    deferred: Deferred,
    /// The worker state, while the worker forks or blocks.
    handoff: Handoff,
    /// The worker counts as asleep although it is not parked: its thread blocks. Which
    /// time that is (`WorkerState::blocked`), or 0. Set before its state is on offer,
    /// cleared by whoever counts it as awake.
    counts_asleep: AtomicU64,
    counters: Arc<CachePadded<WorkerCounters>>,
}

impl Shared {
    /// Makes a scheduler, and starts the threads that it needs from the beginning.
    ///
    /// # Errors
    /// There are too many workers; or the system cannot start a thread. The threads that were
    /// started are told to leave.
    pub(crate) fn start(common: Common, knobs: Knobs, workers: usize) -> io::Result<Arc<Self>> {
        debug_assert!(workers > 0);
        if workers > MOST_WORKERS {
            let text = format!("a runtime has at most {MOST_WORKERS} workers, and not {workers}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let remotes = (0..workers)
            .map(|_| {
                let parker = Arc::new(common.parker());
                CachePadded(Remote {
                    ring: CachePadded(Ring::new(workers == 1)),
                    inbox: CachePadded(Inbox::new()),
                    completed_elsewhere: CachePadded(Inbox::new()),
                    timers: Arc::new(TimerQueue::new(
                        common.clock.clone(),
                        Arc::clone(&parker),
                        common.id,
                    )),
                    parker,
                    lifo: LifoSlot::new(workers == 1),
                    deferred: Deferred::default(),
                    handoff: Handoff::new(),
                    counts_asleep: AtomicU64::new(0),
                    counters: Arc::new(CachePadded(WorkerCounters::new(common.histograms.start()))),
                })
            })
            .collect();
        let starts_later = unstarted::starts_later(workers, &knobs);
        let origin = if starts_later && common.affinity.is_none() { Origin::here() } else { None };
        let shared = Arc::new_cyclic(|this| Self {
            common,
            knobs,
            remotes,
            loans: (0..workers).map(|_| Loan::new()).collect(),
            this: Weak::clone(this),
            hosts: Hosts::default(),
            deques: Deques::new(workers),
            depot: Arc::default(),
            monitor: CachePadded(Monitor::new()),
            injector: CachePadded(Injector::new()),
            idle: CachePadded(Idle::new(workers as u32)),
            shutdown: CachePadded(AtomicBool::new(false)),
            origin,
            threads: AtomicUsize::new(workers),
            retired: Mutex::new(Vec::new()),
        });
        let started = if starts_later { shared.lay_asleep() } else { workers };
        if starts_later && let Err(error) = shared.monitor.start_first(&shared) {
            shared.give_up(0..started);
            return Err(no_thread("the monitor", &error));
        }
        for index in 0..started {
            let state = shared.new_state(index);
            if started < workers {
                shared.begins_as_searcher(&state);
            }
            let its = Arc::clone(&shared);
            let body = Box::new(move |by: By<'_>| worker::run(its, state, by));
            if let Err(error) = shared.common.blocking.start(handle(&shared), body) {
                shared.give_up(index..started);
                return Err(no_thread("a worker", &error));
            }
        }
        Ok(shared)
    }

    /// Ends a scheduler of which these workers' threads were to be started, and were not.
    fn give_up(self: &Arc<Self>, unborn: Range<usize>) {
        self.shut_down();
        self.common.blocking.shut_down(&handle(self));
        // This thread leaves in their place.
        unborn.for_each(|index| self.retire(Some(self.new_state(index))));
    }

    fn new_state(&self, index: usize) -> Box<WorkerState> {
        let remote: &Remote = &self.remotes[index];
        let counters = Arc::clone(&remote.counters);
        let (lacks_slot, is_alone) = (!self.knobs.has_lifo_slot, self.workers() == 1);
        Box::new(WorkerState::new(index as u32, remote, counters, lacks_slot, is_alone))
    }

    pub(crate) fn common(&self) -> &Common {
        &self.common
    }

    pub(crate) fn depot(&self) -> &Depot {
        &self.depot
    }

    pub(crate) fn workers(&self) -> usize {
        self.remotes.len()
    }

    pub(crate) fn counters(&self, worker: usize) -> &WorkerCounters {
        &self.remotes[worker].counters
    }

    pub(crate) fn global_queue_depth(&self) -> usize {
        self.injector.len()
    }

    pub(crate) fn local_queue_depth(&self, worker: usize) -> usize {
        self.remotes[worker].ring.len()
    }

    /// The queue for timers of a thread that fires none.
    pub(crate) fn foreign_timers(&self) -> &Arc<TimerQueue> {
        let root = context::with(|context| {
            context.worker().filter(|worker| worker.is_of(self)).and_then(WorkerThread::root_place)
        });
        &self.remotes[root.unwrap_or(0) as usize].timers
    }

    /// Whether the calling thread, which is in `block_on`, may serve tasks.
    pub(crate) fn may_stand_in(&self) -> bool {
        self.knobs.serves_in_block_on && context::is_free()
    }

    /// Whether the calling thread, which stands in for a worker, is inside of a task. The runtime's
    /// end waits for that, as for its own threads.
    pub(crate) fn has_task_of_visitor(&self) -> bool {
        context::with(|context| {
            context.worker().is_some_and(|worker| worker.is_of(self) && worker.serves_beside_root())
        })
    }

    /// Queues a new task. If the runtime has shut down, cancels it.
    #[inline]
    pub(crate) fn spawn(self: &Arc<Self>, task: Runnable) {
        let rejected = context::with(|context| {
            // The threads that leave would have to find and cancel tasks that are spawned during
            // the shutdown, and this might never end.
            if self.is_shut_down() {
                self.common.tasks_elsewhere.spawned.add_shared(1);
                return Err(task);
            }
            match context.worker().filter(|worker| worker.is_of(Arc::as_ptr(self))) {
                Some(worker) => worker.schedule(task),
                None => {
                    self.common.tasks_elsewhere.spawned.add_shared(1);
                    self.inject(task)
                }
            }
        });
        if let Err(task) = rejected {
            self.common.tasks_elsewhere.ended.add_shared(1);
            // Its destructor may run in the poll of another task, or between polls.
            // Neither is its own affair, so it cannot give the worker's state away.
            context::keep_state(|| task.cancel(&Nowhere));
        }
    }

    /// Queues a task. Called on a thread that is none of the workers.
    fn inject(&self, task: Runnable) -> Result<(), Runnable> {
        if let Some(worker) = task.pinned_to() {
            return self.send(worker, task);
        }
        self.injector.push(task)?;
        self.notify();
        // At the runtime's end, a host that has looked there before
        // (`WorkerThread::cancel_injected`) may wait for this task. The fence of `notify` is
        // between the push and the flag; the other half is that of `shut_down`. If the flag is not
        // seen, the push comes before it, and so before a look of any host that has seen it.
        if self.is_shut_down() {
            self.hosts.wake_all(self);
        }
        Ok(())
    }

    /// As `inject`, for a task that has waited for long: it goes before all others.
    fn inject_first(&self, task: Runnable) -> Result<(), Runnable> {
        self.injector.push_front(task)?;
        self.notify();
        Ok(())
    }

    /// As `inject`, for tasks of a worker's ring, none of which is pinned.
    fn inject_all(&self, tasks: Fifo<Runnable>) -> Result<(), Fifo<Runnable>> {
        self.injector.push_all(tasks)?;
        self.notify();
        Ok(())
    }

    /// Sends a pinned task to its worker, or a bound one to its host.
    fn send(&self, worker: u32, task: Runnable) -> Result<(), Runnable> {
        if worker >= HOSTS {
            self.hosts.send(self, task, worker);
            return Ok(());
        }
        let remote = &self.remotes[worker as usize];
        let was_empty = remote.inbox.push(task)?;
        // If the inbox was not empty, the thread that made it so does this or has done it, and the
        // worker has not emptied the inbox since.
        if was_empty {
            // The fence is between the push of the task and the look at the worker's state.
            fence_after_rmw();
            self.unpark_worker(worker);
        }
        Ok(())
    }

    /// Wakes a worker for work that was made visible, if this is needed.
    fn notify(&self) {
        // The fence is between the work and the look at the sleepers: see `idle/README.md`.
        fence(SeqCst);
        self.notify_fenced();
    }

    /// As `notify`, for callers whose last RMW was a full fence.
    #[inline]
    fn notify_fenced(&self) -> bool {
        let Some(worker) = self.idle.notify() else { return false };
        self.unpark_worker(worker);
        true
    }

    /// Wakes a worker. If its thread blocks, another one becomes the worker. If it has none yet,
    /// one is started.
    ///
    /// The caller has made a full fence between the work for the worker and this call. So either
    /// the caller sees the state on offer, or the thread that offers the state sees the work
    /// (`WorkerThread::offer_to_block`).
    ///
    /// Returns whether a thread was woken or has become the worker.
    fn unpark_worker(&self, worker: u32) -> bool {
        let remote = &self.remotes[worker as usize];
        if let Some(offer) = remote.handoff.available().filter(|offer| offer.blocks())
            && self.replace(worker, offer)
        {
            return true;
        }
        remote.parker.unpark()
    }

    /// Has another thread become the worker whose state is on offer. False if the
    /// state's own thread came back for it.
    fn replace(&self, worker: u32, offer: Offer) -> bool {
        let handoff = &self.remotes[worker as usize].handoff;
        self.run_in_pool(worker, || {
            let state = handoff.take(offer)?;
            // SAFETY: it was offered by `Handoff::offer`, and the exchange made it
            // ours.
            Some(unsafe { Box::from_raw(state) })
        })
    }

    /// Another thread becomes the worker. The caller is a thread of the pool.
    fn hand_to_pool(&self, state: Box<WorkerState>) {
        self.run_in_pool(state.index(), || Some(state));
    }

    /// As [`Pool::run`](super::blocking::Pool::run), with a worker's state for the body.
    fn run_in_pool(&self, worker: u32, take: impl FnOnce() -> Option<Box<WorkerState>>) -> bool {
        let loan = &self.loans[worker as usize];
        if self.knobs.serves_in_block_on && loan.has_owner() {
            // The worker's own thread sleeps beside the one that has the state.
            return take().map(|state| loan.hand(state)).is_some();
        }
        // The caller has work for this scheduler, or is one of its threads, and so
        // keeps it alive.
        let Some(shared) = self.this.upgrade() else { unreachable!("a state without a scheduler") };
        let its = handle(&shared);
        self.common.blocking.run(&its, || {
            let state = take()?;
            let (blocked, is_reserved) = (state.blocked(), state.is_unstarted());
            let run = Box::new(move |by: By<'_>| worker::run(shared, state, by));
            Some(Body { worker, blocked, is_reserved, run })
        })
    }

    /// A worker that was counted as asleep because its thread blocks is so no
    /// more, and does not search, even if it was chosen to.
    pub(super) fn count_as_busy(&self, worker: u32, blocked: u64) {
        if self.wake_from_blocking(worker, blocked) == Some(Awake::Searching)
            && self.idle.stop_searching()
        {
            // The last searcher has another one start if there is something.
            fence(SeqCst);
            if self.has_work() {
                self.notify_fenced();
            }
        }
    }

    /// Ends what `begin_blocking` has begun with the idle protocol, the time that
    /// `blocked` names. `None` if somebody else has ended it, or if it is 0.
    ///
    /// Whoever counts the worker as busy may be late: another thread may have become
    /// the worker, and block in turn. That sleep is not theirs to end.
    fn wake_from_blocking(&self, worker: u32, blocked: u64) -> Option<Awake> {
        let counts_asleep = &self.remotes[worker as usize].counts_asleep;
        // Relaxed: whoever has the state sees that sleep or something newer, and others only
        // try.
        if blocked == 0 || counts_asleep.load(Relaxed) != blocked {
            return None;
        }
        // AcqRel: exactly one side is to act on it, after what came before. Relaxed:
        // somebody else acts, or has.
        let is_ours = || counts_asleep.compare_exchange(blocked, 0, AcqRel, Relaxed).is_ok();
        self.idle.wake_if(worker, is_ours)
    }

    /// Looks for work once more, after a worker was counted as asleep.
    fn look_again(&self, worker: u32) {
        fence(SeqCst);
        // This worker itself may be chosen. If none can be, because a guest has just taken its
        // place, the work was there before the guest.
        if self.has_work() && !self.notify_fenced() {
            self.unpark_worker(worker);
        }
    }

    /// Whether there is a task or a job that any worker could run.
    fn has_work(&self) -> bool {
        self.has_queued_tasks() || self.deques.have_public()
    }

    /// Whether there are tasks that any worker could run.
    fn has_queued_tasks(&self) -> bool {
        !self.injector.is_empty() || self.remotes.iter().any(|remote| !remote.ring.is_empty())
    }

    fn is_shut_down(&self) -> bool {
        // Acquire: pairs with `shut_down`.
        self.shutdown.load(Acquire)
    }

    /// Tells all workers to leave.
    pub(crate) fn shut_down(&self) {
        // Once per runtime.
        self.shutdown.store(true, SeqCst);
        // The fence is between the flag and the looks at states on offer. A thread that offers its
        // state later sees the flag (`WorkerThread::offer`).
        fence(SeqCst);
        for (worker, remote) in self.remotes.iter().enumerate() {
            if remote.handoff.available().is_some_and(Offer::is_unstarted) {
                continue;
            }
            self.unpark_worker(worker as u32);
            // A fork may wait until one of the worker's tasks is dropped.
            if let Some(offer) = remote.handoff.available().filter(|offer| !offer.blocks()) {
                self.retake_from_fork(worker as u32, offer);
            }
        }
        self.hosts.wake_all(self);
        self.monitor.shut_down();
    }

    /// Called by each thread that leaves, with its state if it has one. The last one cancels the
    /// tasks that are left.
    fn retire(self: &Arc<Self>, state: Option<Box<WorkerState>>) {
        let mut leaves = 1;
        if let Some(state) = state {
            let mut retired = self.retired.lock();
            retired.push(state);
            let before = retired.len();
            retired.extend(self.take_unstarted());
            leaves += retired.len() - before;
            let is_last = retired.len() == self.workers();
            drop(retired);
            if is_last {
                // The workers' tasks are gone. A thread that blocks without a state, for as long
                // as an operation takes, has to leave as well.
                self.common.shut_down_reactor();
            }
        }
        // Release: what this thread did to tasks and lists is visible to the last one. Acquire:
        // this may be the last one.
        if self.threads.fetch_sub(leaves, AcqRel) == leaves {
            shutdown::cancel_tasks(self);
            self.common.blocking.tasks_are_gone();
        }
    }

    /// The scheduler's state, for people who debug a hang.
    pub(crate) fn dump(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (searching, sleeping) = self.idle.counts();
        writeln!(
            f,
            "workers {} · searching {searching} · sleeping {sleeping} · injector {} · shutdown {}",
            self.workers(),
            self.injector.len(),
            self.is_shut_down()
        )?;
        for (index, remote) in self.remotes.iter().enumerate() {
            writeln!(
                f,
                "  worker {index}: ring {} · inbox {} · completed_elsewhere {} · parked {} · polls {} · parks {} \
                 · steals {} · next timer {:?}",
                remote.ring.len(),
                if remote.inbox.is_empty() { "empty" } else { "full" },
                if remote.completed_elsewhere.is_empty() { "empty" } else { "full" },
                remote.parker.is_parked(),
                remote.counters.polls.get(),
                remote.counters.parks.get(),
                remote.counters.steals.get(),
                remote.timers.glance(),
            )?;
        }
        Ok(())
    }
}

impl Schedule for Shared {
    const JOINS_BURSTS: bool = true;

    #[inline]
    unsafe fn deliver(this: *const Self, task: Runnable) -> Result<(), Runnable> {
        context::with(|context| {
            match context.worker().filter(|worker| worker.is_of(this)) {
                Some(worker) => worker.wake(task),
                // SAFETY: the caller's promise.
                None => unsafe { deliver_from_afar(this, task, context.burst()) },
            }
        })
    }
}

/// # Safety
/// As for [`Schedule::deliver`].
#[cold]
unsafe fn deliver_from_afar(
    this: *const Shared,
    task: Runnable,
    burst: Option<&Burst>,
) -> Result<(), Runnable> {
    if let Some(burst) = burst.filter(|_| task.pinned_to().is_none()) {
        // SAFETY: the caller's promise.
        unsafe { burst.add(this, task) };
        return Ok(());
    }
    // Once the task is in a queue, the runtime may complete it, and end, before this thread has
    // looked for sleepers.
    // SAFETY: `this` is from `as_ptr`, and live up to here by the caller's promise.
    unsafe { Arc::increment_strong_count(this) };
    // SAFETY: the count that was just added.
    let shared = unsafe { Arc::from_raw(this) };
    shared.common.woken_elsewhere.add_shared(1);
    shared.inject(task)
}

/// The worker, for the bookkeeping of tasks that no worker ever had.
#[derive(Debug)]
pub(super) struct Nowhere;

impl Home for Nowhere {
    fn index(&self) -> u32 {
        worker::NOBODY
    }

    fn tasks(&self) -> &OwnedTasks {
        unreachable!("a task that is cancelled does not rest")
    }

    fn send_home(&self, _home: u32, _task: CompletedTask) {
        unreachable!("a task that no worker ever had is on no list")
    }
}

/// The handle of the worker's runtime, for its context.
fn handle(shared: &Arc<Shared>) -> Handle {
    Handle { scheduler: Scheduler::Multi(Arc::clone(shared)) }
}

/// The error of a runtime that is not made, because the system has refused a thread.
fn no_thread(whose: &str, error: &io::Error) -> io::Error {
    let text = format!("no thread for {whose} of the runtime: {error}");
    io::Error::new(error.kind(), text)
}
