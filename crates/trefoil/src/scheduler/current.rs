//! The scheduler that runs everything on the thread that is in `block_on`.

mod end;
mod main_waker;
mod waiting;

use super::WorkerCounters;
use super::multi::Nowhere;
use super::{Common, Counter, Knobs};
use crate::context;
use crate::primitives::Mutex;
use crate::primitives::parker::Parker;
use crate::primitives::thread::ThreadId;
use crate::queue::{Fifo, Inbox};
use crate::reactor::Wakes;
use crate::scheduler::Handle;
use crate::task::coop::{self, Budget};
use crate::task::{self, CompletedTask, Depot, Home, OwnedTasks, Ran, Runnable, Schedule};
use crate::time::{FIRE_AT_MOST, TimerQueue};
use main_waker::MainWaker;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use waiting::{Waited, Waiting};

/// The state that the driving thread and all others share.
#[derive(Debug)]
pub(crate) struct Shared {
    common: Common,
    knobs: Knobs,
    /// Tasks that other threads have spawned and woken.
    inbox: Inbox<Runnable>,
    /// How many tasks were ever taken out of the inbox.
    taken: Counter,
    parker: Arc<Parker>,
    timers: Arc<TimerQueue>,
    slot: Mutex<DriverSlot>,
    counters: Arc<WorkerCounters>,
    /// The memory of completed tasks, for new tasks.
    depot: Arc<Depot>,
}

/// The driver, which one thread at a time takes.
#[derive(Debug)]
struct DriverSlot {
    /// It is here while nobody drives.
    driver: Option<Box<Driver>>,
    /// Threads in `block_on` that wait, and would drive if the driver were free.
    waiting: Waiting,
}

/// The scheduler's own state, which belongs to the driving thread.
#[derive(Debug)]
pub(crate) struct Driver {
    /// The scheduler that this belongs to. It is only compared.
    shared: *const Shared,
    timers: Arc<TimerQueue>,
    counters: Arc<WorkerCounters>,
    queue: RefCell<Fifo<Runnable>>,
    tasks: OwnedTasks,
    deferred: RefCell<Vec<Waker>>,
    tick: Cell<u32>,
    /// Polls of tasks, local ones included, and of the future in `block_on` since events were last
    /// looked for.
    polls_since_look: Cell<u32>,
    /// The thread that drives, or was the last to: the parker is that thread's.
    thread: Cell<Option<ThreadId>>,
    /// When this thread began to drive, or last woke up.
    awake_since: Cell<Instant>,
    /// The number of polls before the last sleep.
    polls_before: Cell<u64>,
    /// Room for the wakers that the next look at events brings.
    wakes: RefCell<Wakes>,
    /// Memory of completed tasks, for new ones.
    task_memory: task::Memory,
}

// SAFETY: a driver belongs to one thread at a time. The tasks and wakers that move with it may be
// used by any thread, because `spawn` asks for `Send`. So may the memory of tasks, which nobody
// uses. The pointer is only compared.
unsafe impl Send for Driver {}

impl Shared {
    pub(crate) fn new(common: Common, knobs: Knobs) -> Arc<Self> {
        let parker = Arc::new(common.parker());
        let timers =
            Arc::new(TimerQueue::new(common.clock.clone(), Arc::clone(&parker), common.id));
        let counters = Arc::new(WorkerCounters::new(common.histograms.start()));
        let depot = Arc::<Depot>::default();
        Arc::new_cyclic(|shared| {
            let driver = Driver {
                shared: shared.as_ptr(),
                timers: Arc::clone(&timers),
                counters: Arc::clone(&counters),
                queue: RefCell::default(),
                tasks: OwnedTasks::default(),
                deferred: RefCell::default(),
                tick: Cell::new(0),
                polls_since_look: Cell::new(0),
                thread: Cell::new(None),
                awake_since: Cell::new(Instant::now()),
                polls_before: Cell::new(0),
                wakes: RefCell::default(),
                task_memory: task::Memory::new(Arc::clone(&depot)),
            };
            Self {
                common,
                knobs,
                inbox: Inbox::new(),
                taken: Counter::default(),
                parker,
                timers,
                slot: Mutex::new(DriverSlot {
                    driver: Some(Box::new(driver)),
                    waiting: Waiting::default(),
                }),
                counters,
                depot,
            }
        })
    }

    pub(crate) fn common(&self) -> &Common {
        &self.common
    }

    pub(crate) fn counters(&self) -> &WorkerCounters {
        &self.counters
    }

    pub(crate) fn depot(&self) -> &Depot {
        &self.depot
    }

    pub(crate) fn timers(&self) -> &Arc<TimerQueue> {
        &self.timers
    }

    pub(crate) fn unpark(&self) {
        self.parker.unpark();
    }

    /// Tasks that other threads have sent, and that the driver has not taken.
    pub(crate) fn inbox_depth(&self) -> usize {
        // What was taken is read first, so that the difference is not negative. A task that is just
        // being sent counts.
        let taken = self.taken.get();
        self.common.scheduled_elsewhere().saturating_sub(taken) as usize
    }

    /// Unparks the driving thread, unless that is this one: what it is to look at, it sees before
    /// it parks.
    #[cfg(feature = "net")]
    pub(crate) fn unpark_from_afar(&self) {
        let is_here = context::with(|context| {
            context.current().is_some_and(|driver| std::ptr::eq(driver.shared, self))
        });
        if !is_here {
            self.parker.unpark();
        }
    }

    /// Tasks in the driver's queue, as far as this thread can know.
    pub(crate) fn queue_depth(&self) -> usize {
        context::with(|context| match context.current() {
            Some(driver) if std::ptr::eq(driver.shared, self) => driver.queue.borrow().len(),
            _ => 0,
        })
    }

    /// Queues a new task. If the runtime has shut down, cancels it.
    #[inline]
    pub(crate) fn spawn(&self, task: Runnable) {
        let rejected = context::with(|context| match context.current() {
            Some(driver) if std::ptr::eq(driver.shared, self) => {
                driver.counters.tasks.spawned.add(1);
                driver.queue.borrow_mut().push_back(task);
                Ok(())
            }
            _ => {
                self.common.tasks_elsewhere.spawned.add_shared(1);
                self.send(task)
            }
        });
        if let Err(task) = rejected {
            self.common.tasks_elsewhere.ended.add_shared(1);
            task.cancel(&Nowhere);
        }
    }

    /// Queues a task. Called on a thread that does not drive.
    fn send(&self, task: Runnable) -> Result<(), Runnable> {
        // What is refused is in the inbox no more than what was taken.
        let refused = |_: &Runnable| self.taken.add_shared(1);
        let was_empty = self.inbox.push(task).inspect_err(refused)?;
        if was_empty {
            self.parker.unpark();
        }
        Ok(())
    }

    fn take_driver(&self) -> Option<Box<Driver>> {
        let driver = self.slot.lock().driver.take()?;
        let this = Some(context::thread_id());
        // Mostly, the same thread drives again.
        if driver.thread.replace(this) != this {
            self.parker.adopt();
            driver.counters.note_thread();
        }
        Some(driver)
    }

    fn return_driver(&self, driver: Box<Driver>) {
        let mut slot = self.slot.lock();
        slot.driver = Some(driver);
        slot.waiting.wake_all();
    }

    pub(crate) fn dump(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "current thread: inbox {} · parked {} · polls {} · next timer {:?}",
            if self.inbox.is_empty() { "empty" } else { "full" },
            self.parker.is_parked(),
            self.counters.polls.get(),
            self.timers.glance(),
        )
    }
}

impl Schedule for Shared {
    #[inline]
    unsafe fn deliver(this: *const Self, task: Runnable) -> Result<(), Runnable> {
        context::with(|context| match context.current() {
            Some(driver) if std::ptr::eq(driver.shared, this) => {
                driver.counters.woken.add(1);
                driver.queue.borrow_mut().push_back(task);
                Ok(())
            }
            _ => {
                // SAFETY: the caller's promise.
                unsafe { deliver_from_afar(this, task) }
            }
        })
    }
}

/// # Safety
/// As for [`Schedule::deliver`].
#[cold]
unsafe fn deliver_from_afar(this: *const Shared, task: Runnable) -> Result<(), Runnable> {
    // Once the task is in the inbox, the runtime may complete it, and end, before this thread has
    // unparked the driving one.
    // SAFETY: `this` is from `as_ptr`, and live up to here by the caller's promise.
    unsafe { Arc::increment_strong_count(this) };
    // SAFETY: the count that was just added.
    let shared = unsafe { Arc::from_raw(this) };
    shared.common.woken_elsewhere.add_shared(1);
    shared.send(task)
}

/// Drives the scheduler until `future` is done. While another thread drives, this only waits for
/// `future`.
///
/// # Panics
/// From within asynchronous code, with the future's own panics, and if the panic of a task has
/// ended the runtime.
#[track_caller]
pub(crate) fn block_on<F: Future>(handle: &Handle, shared: &Arc<Shared>, future: F) -> F::Output {
    shared.common.check_process();
    let _entered = context::enter_block_on_section();
    let _handle = context::enter_handle(handle.clone());
    let seeds = shared.common.seeds.as_ref();
    let _random = seeds.map(|seeds| context::seed_random(seeds.of_next_block_on()));
    let mut future = pin!(future);
    loop {
        if let Some(driver) = shared.take_driver() {
            driver.awake_since.set(Instant::now());
            let driving = Driving { shared, driver: Some(driver) };
            return driving.driver().drive(shared, future);
        }
        match waiting::wait(shared, future.as_mut()) {
            Waited::Output(output) => return output,
            Waited::DriverIsFree => {}
            Waited::RuntimeEnded => panic_after_end(),
        }
    }
}

/// The panic of `block_on` in a runtime that the panic of a task has ended.
#[cold]
#[track_caller]
fn panic_after_end() -> ! {
    panic!("a spawned task panicked and the runtime is configured to shut down on unhandled panic");
}

/// Gives the driver back, also after a panic.
struct Driving<'a> {
    shared: &'a Arc<Shared>,
    driver: Option<Box<Driver>>,
}

impl Driving<'_> {
    fn driver(&self) -> &Driver {
        self.driver.as_ref().expect("it is given back on drop only")
    }
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        if let Some(driver) = self.driver.take() {
            if self.shared.common.has_ended() {
                // The panic of a local task comes out of the poll of the future, and so past the
                // place where `drive` does this.
                driver.cancel_tasks(self.shared);
            }
            driver.count_busy();
            self.shared.return_driver(driver);
        }
    }
}

impl Driver {
    pub(crate) fn counters(&self) -> &WorkerCounters {
        &self.counters
    }

    #[inline]
    pub(crate) fn timers(&self) -> &Arc<TimerQueue> {
        &self.timers
    }

    #[inline(always)]
    pub(crate) fn task_memory(&self) -> &task::Memory {
        &self.task_memory
    }

    /// Counts polls of local tasks, which are made within one poll of the scheduler's own.
    pub(crate) fn count_local_polls(&self, polls: u32) {
        self.count_polls(polls);
        self.counters.polls.add(u64::from(polls));
    }

    /// Has the next look at events come as much sooner.
    fn count_polls(&self, polls: u32) {
        self.polls_since_look.set(self.polls_since_look.get().saturating_add(polls));
    }

    pub(crate) fn defer(&self, waker: &Waker) {
        // The clone is foreign code, so nothing may be borrowed meanwhile.
        let waker = waker.clone();
        self.deferred.borrow_mut().push(waker);
    }

    fn drive<F: Future>(&self, shared: &Arc<Shared>, mut future: Pin<&mut F>) -> F::Output {
        let main = Arc::new(MainWaker::new(Arc::as_ptr(shared), Arc::clone(&shared.parker)));
        let waker = Waker::from(Arc::clone(&main));
        let mut cx = Context::from_waker(&waker);
        context::enter_current(Some(self), || {
            loop {
                if shared.common.has_ended() {
                    self.cancel_tasks(shared);
                    panic_after_end();
                }
                if main.take() {
                    self.count_polls(1);
                    let polled = coop::with_budget(Budget::FULL, || future.as_mut().poll(&mut cx));
                    if let Poll::Ready(output) = polled {
                        return output;
                    }
                }
                if !self.run_some(shared, &main) && !main.is_woken() {
                    self.rest(shared, &main);
                }
                self.look_in_turn(shared);
                self.wake_deferred();
                self.timers().fire(FIRE_AT_MOST);
            }
        })
    }

    /// Runs tasks for a while. False if there are no more.
    fn run_some(&self, shared: &Shared, main: &MainWaker) -> bool {
        let (mut polls, mut woken) = (0, 0);
        // When so many have yielded, the others have had their turn: a round is over.
        let mut round = self.queue.borrow().len().max(1) as u64;
        let any_left = loop {
            if polls == shared.knobs.event_interval {
                break true;
            }
            let tick = self.tick.get().wrapping_add(1);
            self.tick.set(tick);
            if tick.is_multiple_of(shared.knobs.global_queue_interval) {
                self.take_inbox(shared);
            }
            let mut task = self.queue.borrow_mut().pop_front();
            if task.is_none() {
                self.take_inbox(shared);
                task = self.queue.borrow_mut().pop_front();
            }
            let Some(task) = task else { break false };
            polls += 1;
            match task.run(self) {
                Ran::Off => {}
                Ran::Woken(task) | Ran::Yielded(task) => {
                    woken += 1;
                    let mut queue = self.queue.borrow_mut();
                    queue.push_back(task);
                    if woken == round {
                        round += queue.len() as u64;
                        drop(queue);
                        if self.has_others(shared, main) {
                            break true;
                        }
                    }
                }
            }
        };
        shared.counters.polls.add(u64::from(polls));
        shared.counters.woken.add(woken);
        self.count_polls(polls);
        any_left
    }

    /// All tasks of the queue have yielded: whether anybody else may be ready, who comes before
    /// they are polled again.
    fn has_others(&self, shared: &Shared, main: &MainWaker) -> bool {
        self.have_events_looked_at(shared) || main.is_woken() || !self.deferred.borrow().is_empty()
    }

    /// Everybody who is ready has yielded, maybe to what an event brings: if there are sources, the
    /// next look at them is due.
    fn have_events_looked_at(&self, shared: &Shared) -> bool {
        let has_sources = shared.common.has_sources();
        if has_sources {
            self.polls_since_look.set(shared.knobs.event_interval);
        }
        has_sources
    }

    /// Looks for events if enough polls were made since the last look.
    fn look_in_turn(&self, shared: &Shared) {
        if self.polls_since_look.get() >= shared.knobs.event_interval {
            self.polls_since_look.set(0);
            let mut wakes = self.wakes.take();
            shared.common.look_at_events(&mut wakes);
            wakes.wake();
            self.wakes.replace(wakes);
        }
    }

    fn take_inbox(&self, shared: &Shared) {
        if !shared.inbox.is_empty() {
            let mut sent = shared.inbox.take();
            shared.taken.add_shared(sent.len() as u64);
            self.queue.borrow_mut().append(&mut sent);
        }
    }

    fn wake_deferred(&self) {
        if !self.deferred.borrow().is_empty() {
            self.deferred.take().into_iter().for_each(task::wake_guarded);
        }
    }

    /// Sleeps until there may be something to do.
    fn rest(&self, shared: &Shared, main: &MainWaker) {
        if !self.deferred.borrow().is_empty() {
            self.have_events_looked_at(shared);
            return;
        }
        self.timers().fire(FIRE_AT_MOST);
        if self.queue.borrow().len() > 0 || main.is_woken() {
            return;
        }
        shared.common.hooks.thread_park();
        // The hook may have woken something.
        let is_idle = self.queue.borrow().len() == 0 && self.deferred.borrow().is_empty();
        let mut wakes = self.wakes.take();
        if is_idle && !main.is_woken() {
            shared.counters.count_noop(&self.polls_before);
            shared.counters.parks.add(1);
            self.count_busy();
            self.park(shared, main, &mut wakes);
            self.awake_since.set(Instant::now());
            shared.counters.unparks.add(1);
        }
        shared.common.hooks.thread_unpark();
        wakes.wake();
        self.wakes.replace(wakes);
    }

    fn count_busy(&self) {
        self.counters.busy_ns.add(self.awake_since.get().elapsed().as_nanos() as u64);
    }

    fn park(&self, shared: &Shared, main: &MainWaker, wakes: &mut Wakes) {
        self.polls_since_look.set(0);
        let next = self.timers().until_next();
        let can_jump = shared.common.clock.is_paused() && !shared.common.blocking.is_busy();
        match next {
            Some(timeout) if can_jump => {
                // Tasks that other threads have sent, events, and the future in `block_on` come
                // before the next timer. What a closure of the pool has woken before it ended is
                // seen here: `is_busy` has taken the lock under which the closure stopped counting.
                shared.common.park(&shared.parker, Some(Duration::ZERO), wakes);
                if shared.inbox.is_empty() && wakes.is_empty() && !main.is_woken() {
                    shared.common.clock.jump(timeout);
                }
            }
            Some(timeout) if !shared.common.clock.is_paused() => {
                shared.common.park(&shared.parker, Some(timeout), wakes);
            }
            // The clock is paused and must not jump, so no timer becomes due by itself.
            Some(_) | None => {
                shared.common.park(&shared.parker, None, wakes);
            }
        }
    }
}

impl Home for Driver {
    #[inline(always)]
    fn index(&self) -> u32 {
        0
    }

    #[inline(always)]
    fn tasks(&self) -> &OwnedTasks {
        &self.tasks
    }

    #[inline(always)]
    fn count_end(&self) {
        self.counters.tasks.ended.add(1);
    }

    fn send_home(&self, _home: u32, _task: CompletedTask) {
        unreachable!("there is only one home")
    }
}

/// Cancels all tasks. No thread drives any more, because driving needs a reference to the
/// `Runtime`, and the caller has the only one.
pub(crate) fn shut_down(handle: &Handle, shared: &Arc<Shared>) {
    let Some(driver) = shared.slot.lock().driver.take() else { return };
    {
        let _handle = context::enter_handle(handle.clone());
        driver.cancel_tasks(shared);
        context::enter_current(None, || {
            driver.timers().close();
            shared.common.shut_down_reactor();
        });
    }
    drop(driver);
    // Handles may be kept for long, and nobody will need this memory. Without any, it goes with the
    // rest: later, which is faster where many short runtimes follow each other (`task/README.md`).
    if Arc::strong_count(shared) > 1 {
        shared.depot.clear();
    }
}
