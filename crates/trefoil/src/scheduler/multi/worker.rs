//! One worker: its loop, and what of the scheduler only its thread touches.

mod block;
#[cfg(all(test, not(loom), not(miri)))]
mod crash_tests;
pub(super) mod fork;
mod guest;
mod hosting;
#[cfg(all(test, not(loom), not(miri)))]
mod lag_tests;
mod lend;
mod next;
mod park;
mod patience;
#[cfg(all(test, not(loom), not(miri)))]
mod push_tests;
mod root;
mod schedule;
mod search;
mod stand_in;
mod throttle;
mod timers;
mod turns;
mod watch;

pub(crate) use block::Begun;
pub(crate) use guest::work_here;
pub(crate) use stand_in::block_on;
#[cfg(all(test, not(loom), not(miri)))]
pub(super) use timers::tests::without_monitor;

use super::host::Local;
use super::{Kind, Offer, Remote, Shared, handle};
use crate::context::{self, Entered};
use crate::fork_join::{self, Deques, Stolen};
use crate::idle::{Asleep, Awake};
use crate::primitives::CachePadded;
use crate::primitives::abort::AbortOnUnwind;
use crate::primitives::atomic::{SeqCst, fence};
use crate::queue::Fifo;
use crate::reactor::Wakes;
use crate::scheduler::affinity::Origin;
use crate::scheduler::blocking::By;
use crate::scheduler::stalls::{Stalls, Watched};
use crate::scheduler::{Hook, WorkerCounters};
use crate::task::{self, CompletedTask, HOSTS, Home, OwnedTasks, Ran, Runnable, settle};
use crate::time::{FIRE_AT_MOST, Fired, TimerQueue};
use patience::SearchPatience;
use root::Root;
use std::cell::{Cell, OnceCell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};
use throttle::WakeThrottle;
use turns::Turns;

/// The index of a thread that has no state.
pub(super) const NOBODY: u32 = u32::MAX - 1;

/// The state of one worker that only the thread which is the worker may access.
///
/// To own the state is to be the worker: it gives the right to push to the
/// worker's ring, to use its LIFO slot, and to run its pinned tasks. (Go calls it
/// a *P*, tokio a *core*.) When the thread forks or blocks in place, it offers the
/// state, and another thread that takes it becomes the worker (`handoff.rs`). What
/// other threads may access of a worker is in its `Remote`, which stays in place.
///
/// What is in here waits while the worker is in one poll. So it holds only what no
/// other worker could serve.
pub(super) struct WorkerState {
    index: u32,
    /// Its `Remote`, as its index in `Shared::remotes` would find it.
    remote: *const Remote,
    /// The same as in its `Remote`, with one indirection less.
    counters: Arc<CachePadded<WorkerCounters>>,
    turns: Turns,
    /// How many tasks have yielded since the last look at events that a yield has brought about.
    yields: Cell<usize>,
    throttle: WakeThrottle,
    patience: SearchPatience,
    /// The same for wake-ups from other threads of what is bound to this one.
    mail_patience: SearchPatience,
    /// When this worker last woke.
    awake_since: Cell<Instant>,
    /// The number of polls before the last sleep.
    polls_before: Cell<u64>,
    /// How often this worker has begun to block. If it began without a thread, that counts as one.
    blocked: Cell<u64>,
    /// No thread has had this state yet.
    unstarted: Cell<bool>,
    /// The worker whose timers this one has looked at last, other than its own.
    looked_at_timers_of: Cell<usize>,
    /// This worker counts as searching.
    searching: Cell<bool>,
    /// Something was pushed without looking whether somebody sleeps.
    owes_notify: Cell<bool>,
    /// A batch of wakes is being issued; sleepers are looked for at its end.
    batch: Cell<bool>,
    /// What runs now has forked, and so may run for long: the LIFO slot, which
    /// thieves cannot reach, stays empty meanwhile. It always does in a runtime without such slots.
    forked: Cell<bool>,
    /// The runtime has no such slots.
    lacks_slot: bool,
    /// The runtime has no other worker, which could sleep.
    is_alone: bool,
    /// What only this worker may run.
    pinned: RefCell<Fifo<Runnable>>,
    tasks: OwnedTasks,
}

/// What a search has found.
enum Found<'a> {
    Task(Runnable),
    Job(Stolen<'a>),
}

/// A thread that is, or was, a worker.
#[derive(Debug)]
pub(crate) struct WorkerThread {
    shared: Arc<Shared>,
    /// Owned. Null while the state is on offer, and once another thread has it.
    state: Cell<*mut WorkerState>,
    /// The state that this thread has offered, by its index.
    offered: Cell<Option<(u32, Offer)>>,
    /// Scopes that this thread is inside of.
    scopes: Cell<u32>,
    /// This thread is in a job that it has stolen with nothing on its stack.
    in_job: Cell<bool>,
    /// This thread is in a job of the one it waits for, on top of something
    /// that can go on without the state.
    in_leapfrog: Cell<bool>,
    /// The runtime has ended, and this thread ends what it has queued.
    leaves: Cell<bool>,
    /// Foreign code runs in the midst of the scheduler's own: see `keep_state`.
    keeps_state: Cell<bool>,
    /// The worker whose place this thread has taken, if it is a guest.
    place: Cell<Option<u32>>,
    /// The future of the `block_on` that this thread is in, if it stands in; else null.
    root: Cell<*const Root>,
    /// It is being polled.
    in_root: Cell<bool>,
    /// This thread as one to which tasks are bound, once there was such a task.
    host: OnceCell<Local>,
    /// The host's slot was filled since the last look. A thread without one pays nothing else.
    fills_host_slot: Cell<bool>,
    /// What it knows of the free stacks of fibers, if it is the only worker.
    quiet: hosting::Quiet,
    /// It was asked to be one, and is the user's: the task that has asked goes to another.
    refused: Cell<bool>,
    /// Room for the wakers that the next look at events brings.
    wakes: RefCell<Wakes>,
    /// Where it says whose poll it is in, if the runtime reports stalls.
    watched: Option<Watched>,
    /// Memory of completed tasks, for new ones; none if it is a guest.
    task_memory: Option<task::Memory>,
}

impl WorkerState {
    pub(super) fn new(
        index: u32,
        remote: *const Remote,
        counters: Arc<CachePadded<WorkerCounters>>,
        lacks_slot: bool,
        is_alone: bool,
    ) -> Self {
        Self {
            index,
            remote,
            counters,
            turns: Turns::new(),
            yields: Cell::new(0),
            throttle: WakeThrottle::new(),
            patience: SearchPatience::new(),
            mail_patience: SearchPatience::new(),
            awake_since: Cell::new(Instant::now()),
            polls_before: Cell::new(0),
            blocked: Cell::new(0),
            unstarted: Cell::new(false),
            looked_at_timers_of: Cell::new(index as usize),
            searching: Cell::new(false),
            owes_notify: Cell::new(false),
            batch: Cell::new(false),
            forked: Cell::new(lacks_slot),
            lacks_slot,
            is_alone,
            pinned: RefCell::default(),
            tasks: OwnedTasks::default(),
        }
    }

    pub(super) fn index(&self) -> u32 {
        self.index
    }

    pub(super) fn tasks(&self) -> &OwnedTasks {
        &self.tasks
    }

    /// Which time it was that this worker began to block, or 0 if there was none.
    pub(super) fn blocked(&self) -> u64 {
        self.blocked.get()
    }

    /// The worker counts as searching from the beginning.
    pub(super) fn begins_as_searcher(&self) {
        self.searching.set(true);
    }

    /// The worker begins asleep, without a thread. Returns which of its sleeps that is.
    pub(super) fn begins_asleep(&self) -> u64 {
        self.unstarted.set(true);
        self.blocked.set(1);
        self.counters.parks.add(1);
        self.blocked.get()
    }

    pub(super) fn is_unstarted(&self) -> bool {
        self.unstarted.get()
    }

    #[inline(always)]
    fn has_pinned(&self) -> bool {
        self.pinned.borrow().len() > 0
    }

    /// Hands over the tasks that only this worker may run.
    pub(super) fn take_pinned(&self) -> Fifo<Runnable> {
        self.pinned.take()
    }
}

impl std::fmt::Debug for WorkerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerState").field("index", &self.index).finish_non_exhaustive()
    }
}

// SAFETY: a state is owned by one thread at a time, and what moves with it (the
// tasks of its list and queues, wakers) may be used by any thread: `spawn` asks
// for `Send`. Its `Remote` is there for all threads.
unsafe impl Send for WorkerState {}

/// What a thread does as the worker that has this state, until it has it no
/// more. A thread that is new has its `on_thread_start` called. One that is in
/// here already, as a host, takes the state and goes on where it is.
pub(super) fn run(shared: Arc<Shared>, state: Box<WorkerState>, by: By<'_>) {
    if let By::Host(worker) = by {
        return worker.return_as_worker(state);
    }
    let is_new = matches!(by, By::New);
    // If a worker were lost, its queues would be lost with it, and the runtime's
    // end would wait for ever.
    let abort = AbortOnUnwind("in a worker, outside of any task");
    let worker = WorkerThread::new(shared, None);
    let shared = Arc::clone(&worker.shared);
    let entered = context::mark_entered(Entered::Yes);
    let its_handle = context::enter_handle(handle(&shared));
    let begins_late = worker.begin_as_worker(state);
    let mut random = worker.seed();
    {
        // The deque belongs to the thread, which keeps it without the state.
        let deque = shared.deques.acquire();
        context::enter_worker(&worker, || {
            context::enter_fork(deque, || {
                worker.wake_up();
                if begins_late {
                    shared.begins_late();
                }
                if is_new {
                    // As a worker: what a hook forks would wait for one
                    // elsewhere, and there may be no other.
                    worker.about_to_call(&shared.common.hooks.thread_start);
                    shared.common.hooks.thread_start();
                }
                loop {
                    worker.work();
                    worker.count_busy();
                    worker.abort_tasks();
                    if !worker.serve_as_host() {
                        break;
                    }
                    // The sequence of another worker, perhaps, in place of the first one.
                    drop(random.take());
                    random = worker.seed();
                }
            });
        });
    }
    let state = worker.take_state();
    // Without a state, but still in the runtime's context: destructors may ask.
    context::enter_worker(&worker, || shared.retire(state));
    drop((random, its_handle, entered));
    // The thread continues as one of the pool's.
    shared.common.unpin();
    std::mem::forget(abort);
}

impl WorkerThread {
    /// A thread that has no state yet.
    fn new(shared: Arc<Shared>, place: Option<u32>) -> Self {
        Self {
            state: Cell::new(ptr::null_mut()),
            offered: Cell::new(None),
            scopes: Cell::new(0),
            in_job: Cell::new(false),
            in_leapfrog: Cell::new(false),
            leaves: Cell::new(false),
            keeps_state: Cell::new(false),
            place: Cell::new(place),
            root: Cell::new(ptr::null()),
            in_root: Cell::new(false),
            host: OnceCell::new(),
            fills_host_slot: Cell::new(false),
            quiet: hosting::Quiet::default(),
            refused: Cell::new(false),
            wakes: RefCell::default(),
            watched: shared.common.stalls.as_ref().map(Stalls::watch),
            task_memory: place.is_none().then(|| task::Memory::new(Arc::clone(&shared.depot))),
            shared,
        }
    }

    #[inline(always)]
    pub(crate) fn task_memory(&self) -> Option<&task::Memory> {
        self.task_memory.as_ref()
    }

    #[inline(always)]
    pub(crate) fn is_of(&self, shared: *const Shared) -> bool {
        Arc::as_ptr(&self.shared) == shared
    }

    #[inline(always)]
    fn state(&self) -> Option<&WorkerState> {
        // SAFETY: owned by this thread, which alone can give it away
        // (`WorkerThread` is not `Sync`), and does so only in `take_state`,
        // whose callers hold no reference to it.
        unsafe { self.state.get().as_ref() }
    }

    /// This thread is the worker that has the state, from here on. Returns whether it is the first
    /// thread that is.
    fn begin_as_worker(&self, state: Box<WorkerState>) -> bool {
        let shared = &*self.shared;
        state.forked.set(state.lacks_slot);
        shared.common.pin_worker(state.index);
        let remote: &Remote = &shared.remotes[state.index as usize];
        assert!(ptr::eq(remote, state.remote), "the state of another scheduler's worker");
        remote.parker.adopt();
        state.counters.note_thread();
        let begins_late = state.unstarted.take();
        if begins_late {
            shared.origin.iter().for_each(Origin::settle);
            self.is_awake(&state);
        }
        self.state.set(Box::into_raw(state));
        begins_late
    }

    /// The random numbers of this worker, in a runtime that has a seed.
    fn seed(&self) -> Option<context::RandomGuard> {
        let (seeds, state) = (self.shared.common.seeds.as_ref()?, self.state()?);
        Some(context::seed_random(seeds.of_worker(state.index)))
    }

    fn take_state(&self) -> Option<Box<WorkerState>> {
        let state = self.state.replace(ptr::null_mut());
        // SAFETY: it came from `Box::into_raw`, and the cell has given it up.
        (!state.is_null()).then(|| unsafe { Box::from_raw(state) })
    }

    #[inline(always)]
    fn remote(&self, state: &WorkerState) -> &Remote {
        debug_assert!(ptr::eq(&raw const *self.shared.remotes[state.index as usize], state.remote));
        // SAFETY: the state is one of `self.shared`, whose `new_state` has made it with a pointer
        // to one of its `remotes`. These stay where they are for as long as `self` has its count.
        unsafe { &*state.remote }
    }

    /// Which worker this thread is, while it has that worker's state or can have it back.
    pub(crate) fn worker_index(&self) -> Option<usize> {
        Some(self.state_after_fork()?.index as usize)
    }

    pub(crate) fn counters(&self) -> Option<&WorkerCounters> {
        // Not the state's: it may go before the reference does.
        Some(&self.remote(self.state()?).counters)
    }

    /// Ends this worker's search, if it counts as a searcher. Foreign code between two
    /// polls (hooks, wakers) may take long, or wait for a task: as long as it runs, this
    /// is no search that others may rely on.
    fn end_search(&self) {
        if let Some(state) = self.state()
            && state.searching.get()
        {
            self.found_work(state);
        }
    }

    /// What precedes a hook, if there is one.
    fn about_to_call(&self, hook: &Hook) {
        if hook.is_some() {
            self.end_search();
        }
    }

    /// A state that was offered while its thread blocked counts as asleep.
    fn wake_up(&self) {
        let Some(state) = self.state() else { return };
        if let Some(awake) = self.shared.wake_from_blocking(state.index, state.blocked()) {
            state.searching.set(awake == Awake::Searching);
        }
        // Also if somebody else counts it as awake: they may not be there yet.
        if !self.shared.is_shut_down() {
            self.shared.monitor.worker_woke(&self.shared);
        }
    }

    fn work(&self) {
        while self.turn(|| false) {}
    }

    /// One turn; false when the worker has to leave, or the state is gone. `is_taken` is asked when
    /// there are no tasks at hand: whether the turn is somebody else's.
    #[inline(always)]
    fn turn(&self, is_taken: impl FnOnce() -> bool) -> bool {
        let Some(state) = self.state() else { return false };
        state.turns.advance();
        if state.turns.is_for_more_than_a_poll() && !self.begin_turn(state) {
            return false;
        }
        if let Some((host, task)) = self.next_bound(state) {
            self.run_bound(host, task);
        } else if let Some(task) = self.next(state) {
            self.about_to_poll(state);
            self.run(task);
        } else if !is_taken() {
            match self.search(state) {
                Some(Found::Task(task)) => {
                    self.about_to_poll(state);
                    self.run(task);
                }
                Some(Found::Job(job)) => {
                    if state.searching.get() {
                        self.found_work(state);
                    }
                    self.notify_pending(state);
                    // Tasks that it wakes belong where others can see them.
                    state.forked.set(true);
                    self.run_job(job);
                }
                None if self.lends() => return self.park_lending(),
                None => return self.park(state),
            }
        }
        true
    }

    /// What some turns begin with. False when the worker has to leave.
    #[inline(never)]
    fn begin_turn(&self, state: &WorkerState) -> bool {
        if state.turns.is_for_maintenance() {
            state.turns.maintained(self.shared.knobs.event_interval);
            self.maintain(state);
        }
        if state.turns.is_for_timers() {
            if self.shared.is_shut_down() {
                return false;
            }
            self.shared.monitor.ensure_for_busy(&self.shared);
            let fired = self.fire_timers(state);
            if state.turns.fired(fired) {
                self.fire_for_another(state, fired.at);
            }
        }
        true
    }

    /// Polls a task. No reference to the state is an argument here, nor used by
    /// the caller afterwards: the poll may give the state away.
    #[inline]
    fn run(&self, task: Runnable) {
        let ran = task.run(self);
        self.come_out();
        match ran {
            Ran::Off => {}
            Ran::Woken(task) => self.queue_again(task),
            Ran::Yielded(task) => match self.state() {
                Some(state) if !self.refused.get() && task.pinned_to().is_none() => {
                    state.counters.woken.add(1);
                    self.push_quietly(state, task);
                    self.look_after_yield(state);
                }
                _ => self.queue_again(task),
            },
        }
    }

    /// Queues a task that was woken in its own poll; or that has yielded, and is pinned or comes
    /// out of a poll that has cost this thread its state.
    fn queue_again(&self, task: Runnable) {
        let pinned_to = task.pinned_to();
        if let Some(host) = pinned_to.filter(|pinned| *pinned >= HOSTS) {
            return self.push_bound(host, task);
        }
        let Some(state) = self.state().filter(|_| !self.refused.get()) else {
            self.shared.common.woken_elsewhere.add_shared(1);
            let queued = self.shared.inject(task);
            debug_assert!(queued.is_ok(), "closed before this thread has left");
            return;
        };
        state.counters.woken.add(1);
        if pinned_to.is_some() {
            self.push_pinned(state, task);
        } else if !state.turns.has_slot_for_itself() {
            self.push_quietly(state, task);
        } else {
            let queued = self.schedule_here(state, task);
            debug_assert!(queued.is_ok());
        }
        self.look_after_yield(state);
    }

    /// A task has yielded, maybe to what it waits for. If as many have done so as the ring holds,
    /// nothing else may be ready but what events bring.
    #[inline]
    fn look_after_yield(&self, state: &WorkerState) {
        if !self.shared.common.has_sources() {
            return;
        }
        self.look_after_yield_for(state);
    }

    fn look_after_yield_for(&self, state: &WorkerState) {
        let yields = state.yields.get() + 1;
        let is_time = yields >= self.remote(state).ring.len();
        state.yields.set(if is_time { 0 } else { yields });
        if is_time {
            self.look_at_events(state);
        }
    }

    /// What precedes every poll. The reference to the state ends here: the poll
    /// may give the state away.
    #[inline]
    fn about_to_poll(&self, state: &WorkerState) {
        if state.searching.get() {
            self.found_work(state);
        }
        state.counters.polls.add(1);
    }

    /// Wakes what was deferred; false if there was nothing.
    fn wake_deferred(&self, state: &WorkerState) -> bool {
        let deferred = self.remote(state).deferred.take();
        let any = !deferred.is_empty();
        if any {
            self.end_search();
        }
        deferred.into_iter().for_each(task::wake_guarded);
        any
    }

    /// Periodic work between polls.
    fn maintain(&self, state: &WorkerState) {
        self.wake_deferred(state);
        self.reap(state);
        self.look_at_events(state);
    }

    fn reap(&self, state: &WorkerState) {
        let remote = self.remote(state);
        if !remote.completed_elsewhere.is_empty() {
            remote.completed_elsewhere.take().drain(|task| {
                // SAFETY: it was sent to this worker, whose list this is.
                unsafe { task.reap(&state.tasks) };
            });
        }
    }
}

impl Home for WorkerThread {
    #[inline(always)]
    fn index(&self) -> u32 {
        self.state().map_or(NOBODY, |state| state.index)
    }

    #[inline(always)]
    fn home_of(&self, pinned: u32) -> (&OwnedTasks, u32) {
        match self.host.get() {
            Some(host) if host.index() == pinned => (host.tasks(), pinned),
            _ => (self.tasks(), self.index()),
        }
    }

    #[inline(always)]
    fn list_of(&self, home: u32) -> Option<&OwnedTasks> {
        match self.state() {
            Some(state) if state.index == home => Some(&state.tasks),
            _ => self.host_of(home).map(Local::tasks),
        }
    }

    #[inline(always)]
    fn tasks(&self) -> &OwnedTasks {
        // A thread without a state only finishes the poll in which it lost it,
        // and that task was settled before.
        &self.state().expect("a task came to rest on a thread without a state").tasks
    }

    /// A task that joins is put into the LIFO slot, but some tasks of the ring run
    /// first: the joiner may wait for them as well, and would be woken by each. A
    /// thread that joins is woken at once, whatever that costs: the next poll may
    /// wait for what that thread does next.
    #[inline]
    fn wake_joiner(&self, joiner: Waker) {
        let was_empty = self.state().is_some_and(|state| !self.is_slot_full(state));
        task::wake_guarded(joiner);
        if was_empty
            && let Some(state) = self.state()
            && self.is_slot_full(state)
        {
            state.turns.joiner_woken();
        }
    }

    #[inline]
    fn count_end(&self) {
        match self.state() {
            Some(state) => state.counters.tasks.ended.add(1),
            None => self.shared.common.tasks_elsewhere.ended.add_shared(1),
        }
    }

    fn send_home(&self, home: u32, task: CompletedTask) {
        let sent = self.shared.remotes[home as usize].completed_elsewhere.push(task);
        debug_assert!(sent.is_ok(), "`completed_elsewhere` is never closed");
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        debug_assert!(self.state.get().is_null(), "a state was lost");
        self.leave_place();
        self.end_watches();
    }
}
