//! One worker: its loop, and what of the scheduler only its thread touches.

mod block;
#[cfg(all(test, not(loom), not(miri)))]
mod crash_tests;
mod fork;
mod guest;
mod patience;
mod schedule;
mod search;
mod throttle;
mod turns;

pub(crate) use guest::work_here;

use super::handoff::Holds;
use super::monitor::PERIOD;
use super::{Offer, Remote, Shared, drain, handle};
use crate::fork_join::{self, Deques, Stolen};
use crate::idle::{Asleep, Awake};
use crate::runtime::abort::AbortOnUnwind;
use crate::runtime::context::{self, Entered};
use crate::runtime::item::{Fifo, Item};
use crate::runtime::metrics::WorkerCounters;
use crate::sync::Line;
use crate::sync::atomic::{SeqCst, fence, fence_after_rmw};
use crate::task::{self, Home, OwnedTasks, Ran, Runnable, bury, settle};
use crate::time::{FIRE_AT_MOST, TimerQueue};
use patience::SearchPatience;
use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};
use throttle::WakeThrottle;
use turns::{Slot, Turns};

/// The index of a thread that has no core.
pub(super) const NOBODY: u32 = u32::MAX - 1;

/// A worker's own state. It moves to another thread when its own one blocks.
///
/// What is in here waits for as long as the worker is in one poll, so there is
/// nothing in here that another worker could serve.
pub(super) struct Core {
    index: u32,
    /// The same as its `Remote` has, one step nearer.
    counters: Arc<Line<WorkerCounters>>,
    turns: Turns,
    throttle: WakeThrottle,
    patience: SearchPatience,
    /// When this worker last woke.
    awake_since: Cell<Instant>,
    /// This worker counts as searching.
    searching: Cell<bool>,
    /// This worker counts as asleep, or was chosen while it did.
    asleep: Cell<bool>,
    /// Something was pushed without looking whether somebody sleeps.
    unannounced: Cell<bool>,
    /// A batch of wakes is being issued; sleepers are looked for at its end.
    batch: Cell<bool>,
    /// What runs now has forked, and so may run for long: the LIFO slot, which
    /// thieves cannot reach, stays empty meanwhile.
    forked: Cell<bool>,
    /// What only this worker may run.
    pinned: RefCell<Fifo>,
    tasks: OwnedTasks,
}

/// What a search has found.
enum Found<'a> {
    Item(Item),
    Job(Stolen<'a>),
}

/// A thread that is, or was, a worker.
#[derive(Debug)]
pub(crate) struct WorkerThread {
    shared: Arc<Shared>,
    /// Null once the core was given away, and while it is lent. Owned.
    core: Cell<*mut Core>,
    /// The core that this thread has offered, by its index.
    offered: Cell<Option<(u32, Offer)>>,
    /// Scopes that this thread is inside of.
    scopes: Cell<u32>,
    /// This thread is in a job that it has stolen with nothing on its stack.
    in_job: Cell<bool>,
    /// This thread is in a job of the one it waits for, on top of something
    /// that can go on without the core.
    in_leapfrog: Cell<bool>,
    /// The worker in whose place this thread forks, as a guest.
    place: Cell<Option<u32>>,
    /// What it keeps of tasks that are over; nothing if it is a guest.
    task_memory: Option<task::Memory>,
}

impl Core {
    pub(super) fn new(index: u32, counters: Arc<Line<WorkerCounters>>) -> Self {
        Self {
            index,
            counters,
            turns: Turns::new(),
            throttle: WakeThrottle::new(),
            patience: SearchPatience::new(),
            awake_since: Cell::new(Instant::now()),
            searching: Cell::new(false),
            asleep: Cell::new(false),
            unannounced: Cell::new(false),
            batch: Cell::new(false),
            forked: Cell::new(false),
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

    fn has_pinned(&self) -> bool {
        self.pinned.borrow().len() > 0
    }

    /// What of this cannot be seen from outside.
    fn holds(&self) -> Holds {
        // But the one that runs.
        let running = usize::from(context::with(|context| context.task.get()).is_some());
        Holds { pinned: self.has_pinned(), tasks: self.tasks.len() > running }
    }

    /// Hands over the tasks that only this worker may run.
    pub(super) fn take_pinned(&self) -> Fifo {
        self.pinned.take()
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("index", &self.index).finish_non_exhaustive()
    }
}

// SAFETY: a core is owned by one thread at a time, and what moves with it (the
// tasks of its list and queues, wakers) may be used by any thread: `spawn` asks
// for `Send`.
unsafe impl Send for Core {}

/// What a thread does as the worker that has this core, until it has it no
/// more. A thread that is new has its `on_thread_start` called.
pub(super) fn run(shared: Arc<Shared>, core: Box<Core>, is_new: bool) {
    // A worker that is lost takes its queues along, and the runtime's end would
    // wait for it for ever.
    let abort = AbortOnUnwind("in a worker, outside of any task");
    let worker = WorkerThread::new(shared, None);
    core.forked.set(false);
    let shared = Arc::clone(&worker.shared);
    let entered = context::mark_entered(Entered::Yes);
    let its_handle = context::enter_handle(handle(&shared));
    shared.common.pin_worker(core.index);
    shared.remotes[core.index as usize].parker.adopt();
    worker.core.set(Box::into_raw(core));
    {
        // The deque is the thread's and stays with it when the core goes.
        let lease = shared.deques.lease();
        let owner = lease.as_ref().map(|lease| lease.owner());
        context::enter_worker(&worker, || {
            context::enter_fork(owner, || {
                if is_new {
                    // As a worker: what a hook forks would wait for one
                    // elsewhere, and there may be no other.
                    shared.common.hooks.thread_start();
                }
                worker.wake_up();
                worker.work();
                worker.abort_tasks();
            });
        });
    }
    let core = worker.take_core();
    // Without a core, but still in the runtime's context: destructors may ask.
    context::enter_worker(&worker, || shared.retire(core));
    drop((its_handle, entered));
    // The thread goes on as one of the pool's.
    shared.common.unpin();
    std::mem::forget(abort);
}

impl WorkerThread {
    /// A thread that has no core yet.
    fn new(shared: Arc<Shared>, place: Option<u32>) -> Self {
        Self {
            core: Cell::new(ptr::null_mut()),
            offered: Cell::new(None),
            scopes: Cell::new(0),
            in_job: Cell::new(false),
            in_leapfrog: Cell::new(false),
            place: Cell::new(place),
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
    fn core(&self) -> Option<&Core> {
        // SAFETY: owned by this thread, which alone can give it away
        // (`WorkerThread` is not `Sync`), and does so only in `take_core`,
        // whose callers hold no reference to it.
        unsafe { self.core.get().as_ref() }
    }

    fn take_core(&self) -> Option<Box<Core>> {
        let core = self.core.replace(ptr::null_mut());
        // SAFETY: it came from `Box::into_raw`, and the cell has given it up.
        (!core.is_null()).then(|| unsafe { Box::from_raw(core) })
    }

    #[inline(always)]
    fn remote(&self, core: &Core) -> &Remote {
        &self.shared.remotes[core.index as usize]
    }

    pub(crate) fn counters(&self) -> Option<&WorkerCounters> {
        // Not the core's: it may go before the reference does.
        Some(&self.remote(self.core()?).counters)
    }

    #[inline]
    pub(super) fn count_spawn(&self) {
        match self.core() {
            Some(core) => core.counters.tasks.spawned.add(1),
            None => self.shared.common.tasks_elsewhere.spawned.add_shared(1),
        }
    }

    /// The timers that this thread fires.
    #[inline]
    pub(crate) fn timers(&self) -> Option<&Arc<TimerQueue>> {
        Some(self.own_timers(self.core_after_fork()?))
    }

    /// The timers of the core that this thread has.
    fn own_timers(&self, core: &Core) -> &Arc<TimerQueue> {
        &self.remote(core).timers
    }

    /// Keeps a waker until the ring was served once; false without a core.
    pub(crate) fn defer(&self, waker: &Waker) -> bool {
        // First of all: the clone is foreign code, which may give the core away.
        let waker = waker.clone();
        let Some(core) = self.core_after_fork() else { return false };
        self.remote(core).deferred.push(waker);
        true
    }

    /// A core that was offered while its thread blocked counts as asleep.
    fn wake_up(&self) {
        let Some(core) = self.core() else { return };
        if core.asleep.replace(false) {
            core.searching.set(self.shared.idle.wake(core.index) == Awake::Searching);
        }
    }

    fn work(&self) {
        while let Some(core) = self.core() {
            let tick = core.turns.advance();
            if tick % self.shared.knobs.event_interval == 0 && !self.maintain(core) {
                return;
            }
            if let Some(item) = self.next(core) {
                self.about_to_poll(core);
                self.run(item);
            } else {
                match self.search(core) {
                    Some(Found::Item(item)) => {
                        self.about_to_poll(core);
                        self.run(item);
                    }
                    Some(Found::Job(job)) => {
                        if core.searching.get() {
                            self.found_work(core);
                        }
                        self.announce_quiet(core);
                        // Tasks that it wakes are better off where others see them.
                        core.forked.set(true);
                        self.run_job(job);
                    }
                    None if self.park(core) => {}
                    None => return,
                }
            }
        }
    }

    /// What this worker has at hand: see `turns.rs` for who goes when.
    #[inline]
    fn next(&self, core: &Core) -> Option<Item> {
        let remote = self.remote(core);
        let turns = &core.turns;
        if turns.is_for_pinned()
            && let Some(item) = self.next_pinned(core)
        {
            return Some(item);
        }
        if turns.is_for_injector()
            && let Some(item) = self.look_at_injector(core)
        {
            return Some(item);
        }
        if turns.is_for_ring() {
            if let Some(item) = self.pop_ring(core) {
                turns.ring_went_first(!remote.lifo.is_empty());
                return Some(item);
            }
            turns.ring_is_empty();
        }
        // SAFETY: the core is this thread's.
        match unsafe { remote.lifo.take_own() } {
            Some(task) => match turns.slot(remote.ring.len()) {
                Slot::Runs => {
                    self.announce_quiet(core);
                    return Some(task.into_item());
                }
                Slot::Queues => {
                    self.push_quietly(core, task.into_item());
                    if let Some(item) = self.look_at_injector(core) {
                        return Some(item);
                    }
                }
            },
            None => turns.slot_is_empty(),
        }
        self.pop_ring(core).or_else(|| self.next_pinned(core))
    }

    /// The oldest of the tasks that only this worker may run.
    #[inline]
    fn next_pinned(&self, core: &Core) -> Option<Item> {
        let inbox = &self.remote(core).inbox;
        if !inbox.is_empty() {
            core.pinned.borrow_mut().append(&mut inbox.take());
        }
        let item = core.pinned.borrow_mut().pop_front()?;
        self.announce_quiet(core);
        Some(item)
    }

    /// Takes what is due from the shared queue.
    fn look_at_injector(&self, core: &Core) -> Option<Item> {
        let item = self.take_injected(core);
        let queued = if item.is_some() { self.remote(core).ring.len() } else { 0 };
        core.turns.looked(queued, self.shared.knobs.global_queue_interval);
        item
    }

    /// Takes the oldest item of the ring, and announces what is left there if
    /// that has not been done.
    #[inline]
    fn pop_ring(&self, core: &Core) -> Option<Item> {
        let ring = &self.remote(core).ring;
        // SAFETY: the core makes this thread the ring's owner.
        let item = unsafe { ring.pop() }?;
        if core.unannounced.replace(false) {
            // `pop` was an RMW (or there is only one worker).
            fence_after_rmw();
            if !ring.is_empty() {
                self.announce(core);
            }
        }
        Some(item)
    }

    /// Polls a task. No reference to the core is an argument here, nor used by
    /// the caller afterwards: the poll may give the core away.
    #[inline]
    fn run(&self, item: Item) {
        // SAFETY: tasks are the only items so far.
        let task = unsafe { Runnable::from_item(item) };
        let ran = task.run(self);
        self.come_out();
        let (task, yielded) = match ran {
            Ran::Off => return,
            Ran::Woken(task) => (task, false),
            Ran::Yielded(task) => (task, true),
        };
        let Some(core) = self.core() else {
            let queued = self.shared.inject(task);
            debug_assert!(queued.is_ok(), "closed before this thread has left");
            return;
        };
        if task.pinned_to().is_some() {
            core.pinned.borrow_mut().push_back(task.into_item());
        } else if yielded || !core.turns.has_slot_for_itself() {
            self.push_quietly(core, task.into_item());
        } else {
            let queued = self.schedule(task);
            debug_assert!(queued.is_ok());
        }
    }

    /// What precedes every poll. The reference to the core ends here: the poll may give the core away.
    #[inline]
    fn about_to_poll(&self, core: &Core) {
        if core.searching.get() {
            self.found_work(core);
        }
        core.counters.polls.add(1);
    }

    /// Wakes what was deferred; false if there was nothing.
    fn wake_deferred(&self, core: &Core) -> bool {
        let deferred = self.remote(core).deferred.take();
        let any = !deferred.is_empty();
        deferred.into_iter().for_each(task::wake_guarded);
        any
    }

    /// What has to be done now and then; false when it is time to go.
    fn maintain(&self, core: &Core) -> bool {
        if self.shared.is_shut_down() {
            return false;
        }
        self.shared.monitor.ensure_for_busy(&self.shared);
        self.wake_deferred(core);
        self.bury(core);
        self.fire_timers(core);
        true
    }

    fn bury(&self, core: &Core) {
        let remote = self.remote(core);
        if !remote.graves.is_empty() {
            drain(remote.graves.take(), |item| {
                // SAFETY: it was sent to this worker, whose list this is.
                unsafe { bury(item, &core.tasks) };
            });
        }
    }

    /// Returns whether there may be more.
    fn fire_timers(&self, core: &Core) -> bool {
        core.batch.set(true);
        let more = self.own_timers(core).fire(FIRE_AT_MOST);
        core.batch.set(false);
        more
    }

    /// Sleeps until there may be something to do; false when it is time to go.
    fn park(&self, core: &Core) -> bool {
        let shared = &*self.shared;
        if shared.is_shut_down() {
            return false;
        }
        self.bury(core);
        let more = self.fire_timers(core);
        let remote = self.remote(core);
        if more || self.has_own_work(core) {
            return true;
        }
        if remote.handoff.has_forkers() && !core.searching.get() {
            // Not to be chosen for jobs, which it may not take: to the others,
            // it is a busy worker that looks at all queues now and then.
            let timeout =
                self.own_timers(core).until_next().map_or(PERIOD, |next| next.min(PERIOD));
            self.sleep(core, Some(timeout));
            self.fire_timers(core);
            return !shared.is_shut_down();
        }
        shared.common.hooks.thread_park();
        // The hook may have woken something.
        if self.has_own_work(core) {
            shared.common.hooks.thread_unpark();
            return true;
        }
        let asleep = shared.idle.sleep(core.index, core.searching.replace(false), || ());
        if asleep == Asleep::LookAgain {
            shared.look_again(core.index);
        }
        let mut timeout = self.own_timers(core).until_next();
        let starts_monitor = shared.monitor.is_missing(shared);
        if starts_monitor {
            timeout = Some(timeout.map_or(PERIOD, |next| next.min(PERIOD)));
        }
        let since = Instant::now();
        self.sleep(core, timeout);
        core.searching.set(shared.idle.wake(core.index) == Awake::Searching);
        // A runtime that is over in a moment can do without.
        if !starts_monitor || since.elapsed() >= PERIOD {
            shared.monitor.worker_woke(&self.shared);
        }
        shared.common.hooks.thread_unpark();
        if shared.is_shut_down() {
            return false;
        }
        self.fire_timers(core);
        true
    }

    /// Whether anything is queued at this worker.
    fn has_own_work(&self, core: &Core) -> bool {
        let remote = self.remote(core);
        !remote.ring.is_empty()
            || !remote.lifo.is_empty()
            || !remote.deferred.is_empty()
            || !remote.inbox.is_empty()
            || core.has_pinned()
    }

    fn sleep(&self, core: &Core, timeout: Option<Duration>) {
        let Remote { counters, parker, .. } = self.remote(core);
        counters.parks.add(1);
        counters.busy_ns.add(core.awake_since.get().elapsed().as_nanos() as u64);
        match timeout {
            None => parker.park(),
            Some(timeout) => parker.park_timeout(timeout),
        }
        core.awake_since.set(Instant::now());
        counters.unparks.add(1);
    }
}

impl Home for WorkerThread {
    #[inline(always)]
    fn index(&self) -> u32 {
        self.core().map_or(NOBODY, |core| core.index)
    }

    #[inline(always)]
    fn tasks(&self) -> &OwnedTasks {
        // A thread without a core only finishes the poll in which it lost it,
        // and that task was settled before.
        &self.core().expect("a task came to rest on a thread without a core").tasks
    }

    /// A task that joins comes to the LIFO slot, but not at once to its turn:
    /// it may well wait for the tasks of the ring, too, and would be woken by
    /// each. A thread that joins is woken at once, whatever that costs: what it
    /// does next may be what the next poll waits for.
    #[inline]
    fn wake_joiner(&self, joiner: Waker) {
        let was_empty = self.core().is_some_and(|core| self.remote(core).lifo.is_empty());
        task::wake_guarded(joiner);
        if was_empty
            && let Some(core) = self.core()
            && !self.remote(core).lifo.is_empty()
        {
            core.turns.joiner_woken();
        }
    }

    #[inline]
    fn count_end(&self) {
        match self.core() {
            Some(core) => core.counters.tasks.ended.add(1),
            None => self.shared.common.tasks_elsewhere.ended.add_shared(1),
        }
    }

    fn send_home(&self, home: u32, task: Item) {
        let sent = self.shared.remotes[home as usize].graves.push(task);
        debug_assert!(sent.is_ok(), "graves are never closed");
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        debug_assert!(self.core.get().is_null(), "a core was lost");
        self.vacate();
    }
}
