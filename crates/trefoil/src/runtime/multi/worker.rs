//! One worker: its loop, and what of the scheduler only its thread touches.

mod guest;
mod lending;
mod parting;
mod posting;
mod search;

pub(crate) use guest::work_here;

use super::watch::PERIOD;
use super::{Remote, Shared, drain, handle};
use crate::fork_join::{self, Deques, Stolen};
use crate::idle::{Asleep, Awake};
use crate::runtime::context::{self, Entered};
use crate::runtime::item::{Fifo, Item};
use crate::runtime::metrics::WorkerCounters;
use crate::sync::Line;
use crate::sync::atomic::{SeqCst, fence, fence_after_rmw};
use crate::task::{self, Home, OwnedTasks, Ran, Runnable, bury, settle};
use crate::time::{FIRE_AT_MOST, TimerQueue};
use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// The index of a thread that has no core.
pub(super) const NOBODY: u32 = u32::MAX - 1;

/// How often in a row the task in the LIFO slot may go before the ring.
const LIFO_STREAK: u8 = 3;

/// How many items of the ring may go before the LIFO slot after a streak.
const LIFO_REST: usize = 61;

/// How many items of the ring may go before a joiner.
const JOIN_REST: u8 = 4;

/// How long the shared queue may wait for a worker that has other work, unless
/// a single poll takes longer.
const LOOK_EVERY_NS: u64 = 10_000;

/// How long the wake-up of a thread may be held back, and one poll more.
const HOLD_FOR: Duration = Duration::from_micros(20);

/// The rounds of a search that are made even if none has found anything lately.
const PATIENCE_MIN: u32 = 3;

/// One search in so many is as long as allowed, to see whether that pays again.
const PROBE_EVERY: u32 = 256;

/// A worker's own state. It moves to another thread when its own one blocks.
pub(super) struct Core {
    index: u32,
    /// The same as its `Remote` has, one step nearer.
    counters: Arc<Line<WorkerCounters>>,
    /// The task woken last: it runs next, while its data is in the cache.
    /// Thieves cannot reach it.
    lifo: Cell<Option<Runnable>>,
    lifo_streak: Cell<u8>,
    /// How many items of the ring go first, after a streak.
    lifo_rest: Cell<u8>,
    tick: Cell<u32>,
    /// When this worker last woke.
    awake_since: Cell<Instant>,
    /// At which tick the shared queue is due for a look, and when the last was.
    look_at: Cell<u32>,
    looked: Cell<Instant>,
    look_interval: Cell<u32>,
    /// This worker counts as searching.
    searching: Cell<bool>,
    /// Something was pushed without looking whether somebody sleeps.
    unannounced: Cell<bool>,
    /// A batch of wakes is being issued; sleepers are looked for at its end.
    batch: Cell<bool>,
    /// What runs now has forked, and so may run for long: the LIFO slot, which
    /// thieves cannot reach, stays empty meanwhile.
    forked: Cell<bool>,
    /// What only this worker may run.
    pinned: RefCell<Fifo>,
    is_pinned_turn: Cell<bool>,
    tasks: OwnedTasks,
    deferred: RefCell<Vec<Waker>>,
    /// Threads to be woken, soon: see `wake_joiner`.
    held: RefCell<Vec<Waker>>,
    /// Since when the first of them.
    held_at: Cell<Instant>,
    /// How much the ring must hold for a push in the middle of a poll to wake
    /// a sleeper, the tick of the poll this is about, and when it last woke one.
    enough: Cell<usize>,
    enough_at: Cell<u32>,
    woke_at: Cell<Instant>,
    /// Into how many rounds the next search should go; see `patience`.
    patience: Cell<u32>,
    searches: Cell<u32>,
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
    /// The core that this thread has lent, by its index and the loan's state.
    lent: Cell<Option<(u32, u64)>>,
    /// Scopes that this thread is inside of.
    scopes: Cell<u32>,
    /// This thread is in a job that it has stolen with nothing on its stack.
    in_job: Cell<bool>,
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
            lifo: Cell::new(None),
            lifo_streak: Cell::new(0),
            lifo_rest: Cell::new(0),
            tick: Cell::new(0),
            awake_since: Cell::new(Instant::now()),
            look_at: Cell::new(0),
            looked: Cell::new(Instant::now()),
            look_interval: Cell::new(1),
            searching: Cell::new(false),
            unannounced: Cell::new(false),
            batch: Cell::new(false),
            forked: Cell::new(false),
            pinned: RefCell::default(),
            is_pinned_turn: Cell::new(false),
            tasks: OwnedTasks::default(),
            deferred: RefCell::default(),
            held: RefCell::default(),
            held_at: Cell::new(Instant::now()),
            enough: Cell::new(1),
            enough_at: Cell::new(0),
            woke_at: Cell::new(Instant::now()),
            patience: Cell::new(u32::MAX),
            searches: Cell::new(0),
        }
    }

    pub(super) fn index(&self) -> u32 {
        self.index
    }

    pub(super) fn tasks(&self) -> &OwnedTasks {
        &self.tasks
    }

    /// Whether anything is queued here, outside of the ring.
    fn has_work(&self) -> bool {
        let lifo = self.lifo.take();
        let any = lifo.is_some();
        self.lifo.set(lifo);
        any || self.pinned.borrow().len() > 0 || !self.deferred.borrow().is_empty()
    }

    /// Hands over what is queued outside of the ring.
    pub(super) fn empty(&self, mut f: impl FnMut(Item)) {
        if let Some(task) = self.lifo.take() {
            f(task.into_item());
        }
        drain(self.pinned.take(), f);
        self.deferred.take().into_iter().for_each(task::wake_guarded);
        self.held.take().into_iter().for_each(task::wake_guarded);
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

/// The body of a worker's thread.
pub(super) fn run(shared: Arc<Shared>, core: Box<Core>) {
    let worker = WorkerThread::new(shared, None);
    core.forked.set(false);
    let shared = Arc::clone(&worker.shared);
    let _entered = context::mark_entered(Entered::Yes);
    let _handle = context::enter_handle(handle(&shared));
    shared.common.pin_worker(core.index);
    shared.remotes[core.index as usize].parker.adopt();
    worker.core.set(Box::into_raw(core));
    {
        // The deque is the thread's and stays with it when the core goes.
        let lease = shared.deques.lease();
        let owner = lease.as_ref().map(|lease| lease.owner());
        context::enter_worker(&worker, || {
            context::enter_fork(owner, || {
                // As a worker: what a hook forks would wait for one elsewhere,
                // and there may be no other.
                shared.common.hooks.thread_start();
                worker.work();
                worker.disband();
                // Before the runtime can be over: who waits for that finds it done.
                shared.common.hooks.thread_stop();
            });
        });
    }
    let core = worker.take_core();
    // Without a core, but still in the runtime's context: destructors may ask.
    context::enter_worker(&worker, || shared.retire(core));
}

impl WorkerThread {
    /// A thread that has no core yet.
    fn new(shared: Arc<Shared>, place: Option<u32>) -> Self {
        Self {
            core: Cell::new(ptr::null_mut()),
            lent: Cell::new(None),
            scopes: Cell::new(0),
            in_job: Cell::new(false),
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
        core.deferred.borrow_mut().push(waker);
        true
    }

    fn work(&self) {
        while let Some(core) = self.core() {
            let tick = core.tick.get().wrapping_add(1);
            core.tick.set(tick);
            if tick % self.shared.knobs.event_interval == 0 && !self.maintain(core) {
                return;
            }
            if let Some(item) = self.next(core, tick) {
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

    /// What this worker has at hand.
    #[inline]
    fn next(&self, core: &Core, tick: u32) -> Option<Item> {
        let remote = self.remote(core);
        if !core.held.borrow().is_empty() && core.held_at.get().elapsed() >= HOLD_FOR {
            self.wake_held(core);
        }
        if tick.wrapping_sub(core.look_at.get()) as i32 >= 0 {
            self.schedule_look(core, tick);
            if let Some(item) = self.take_injected(core) {
                // What came with it has waited long enough, too.
                core.lifo_rest.set(remote.ring.len().min(u8::MAX.into()) as u8);
                return Some(item);
            }
        }
        let rest = core.lifo_rest.get();
        if rest > 0 {
            // The ring's turn, as far as it holds anything.
            core.lifo_rest.set(rest - 1);
            if let Some(item) = self.pop_ring(core) {
                return Some(item);
            }
            core.lifo_rest.set(0);
        }
        let mut lifo = core.lifo.take();
        if lifo.is_some() && !core.held.borrow().is_empty() {
            // It is not one of many that were queued together, and may be long.
            core.lifo.set(lifo);
            self.wake_held(core);
            lifo = core.lifo.take();
        }
        if let Some(task) = lifo {
            let streak = core.lifo_streak.get();
            if streak < LIFO_STREAK {
                core.lifo_streak.set(streak + 1);
                self.announce_quiet(core);
                return Some(task.into_item());
            }
            self.push_quietly(core, task.into_item());
            // Tasks that keep each other awake, or spawn their successors, may
            // never leave the slot empty: let all others go first, once.
            core.lifo_streak.set(0);
            core.lifo_rest.set(self.remote(core).ring.len().min(LIFO_REST) as u8);
            if let Some(item) = self.take_injected(core) {
                return Some(item);
            }
        }
        core.lifo_streak.set(0);
        if !remote.inbox.is_empty() {
            core.pinned.borrow_mut().append(&mut remote.inbox.take());
        }
        // Pinned tasks and the ring take turns.
        let is_pinned_turn = !core.is_pinned_turn.get();
        core.is_pinned_turn.set(is_pinned_turn);
        if is_pinned_turn && let Some(item) = core.pinned.borrow_mut().pop_front() {
            self.announce_quiet(core);
            return Some(item);
        }
        if let Some(item) = self.pop_ring(core) {
            return Some(item);
        }
        core.pinned.borrow_mut().pop_front()
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

    /// Says when to look at the shared queue next: after so many polls, or
    /// fewer if they took long.
    fn schedule_look(&self, core: &Core, tick: u32) {
        let now = Instant::now();
        let took = now.duration_since(core.looked.replace(now)).as_nanos() as u64;
        let most = self.shared.knobs.global_queue_interval;
        let per_poll = took / u64::from(core.look_interval.get()) + 1;
        let interval = (LOOK_EVERY_NS / per_poll).clamp(1, u64::from(most)) as u32;
        core.look_interval.set(interval);
        core.look_at.set(tick.wrapping_add(interval));
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
        } else if yielded || core.lifo_streak.get() >= LIFO_STREAK {
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

    /// Wakes the threads whose wake-up was held back.
    #[inline]
    fn wake_held(&self, core: &Core) {
        if !core.held.borrow().is_empty() {
            core.held.take().into_iter().for_each(task::wake_guarded);
        }
    }

    /// Wakes what was deferred; false if there was nothing.
    fn wake_deferred(&self, core: &Core) -> bool {
        self.wake_held(core);
        if core.deferred.borrow().is_empty() {
            return false;
        }
        core.deferred.take().into_iter().for_each(task::wake_guarded);
        true
    }

    /// What has to be done now and then; false when it is time to go.
    fn maintain(&self, core: &Core) -> bool {
        if self.shared.is_shut_down() {
            return false;
        }
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
        if more || core.has_work() || !remote.ring.is_empty() || !remote.inbox.is_empty() {
            return true;
        }
        if remote.loan.has_forkers() && !core.searching.get() {
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
        if core.has_work() {
            shared.common.hooks.thread_unpark();
            return true;
        }
        let asleep = shared.idle.sleep(core.index, core.searching.replace(false));
        if asleep == Asleep::LookAgain {
            shared.look_again(core.index);
        }
        let timeout = self.own_timers(core).until_next();
        self.sleep(core, timeout);
        core.searching.set(shared.idle.wake(core.index) == Awake::Searching);
        shared.common.hooks.thread_unpark();
        if shared.is_shut_down() {
            return false;
        }
        self.fire_timers(core);
        true
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

    /// A joiner may well wait for the tasks that are queued behind this one,
    /// and would be woken by each in turn. So a task goes first, but not at
    /// once; and a thread, whose wake-up is dear, and which may even push this
    /// one off its CPU, is held back for `HOLD_FOR`, and one poll at most,
    /// if there is more to run here and all others are busy too.
    #[inline]
    fn wake_joiner(&self, joiner: Waker) {
        let Some(core) = self.core() else { return task::wake_guarded(joiner) };
        if task::task_of(&joiner).is_none()
            && !self.remote(core).ring.is_empty()
            && self.shared.idle.counts() == (0, 0)
        {
            let mut held = core.held.borrow_mut();
            if held.is_empty() {
                core.held_at.set(Instant::now());
            }
            return held.push(joiner);
        }
        task::wake_guarded(joiner);
        if let Some(core) = self.core() {
            core.lifo_rest.set(core.lifo_rest.get().max(JOIN_REST));
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
