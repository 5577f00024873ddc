//! The pool of threads for closures that block, and for the workers.
//!
//! It grows while closures wait, up to a limit. An idle thread exits after the
//! keep-alive time. One lock guards everything.
//!
//! A worker is a *body* that one of these threads runs until another thread takes
//! the worker's state, or the runtime ends. When a worker's thread blocks, an idle
//! thread of the pool becomes the worker, if there is one. The thread that blocked
//! joins the pool when it is done. So no thread is started or ended for that, and
//! the limit holds for all threads together, but for those that are workers no
//! more and have fibers, which are bound to them (`hosts.rs`). Bodies run
//! before closures, and are never cancelled: they hold tasks that the runtime's
//! end must complete.
//!
//! At most one thread at a time is *on its way*: being woken or started. It
//! takes a closure when it arrives. If there are more, it wakes or starts the
//! next thread before it runs its own closure. So a burst of short closures costs
//! its sender one wake-up instead of one each, and the first thread runs most of
//! them. A burst of long closures still gets a thread each, one wake-up after
//! another. No closure is lost. While closures wait, either a thread is on its
//! way, or the pool is at its limit (or the system has no more threads) and each
//! of its threads looks at the queue before it rests. (Beyond the limit, as many
//! as are too many end instead.)

use super::multi::{Nowhere, WorkerThread};
use super::{Hooks, Scheduler};
use crate::context;
use crate::primitives::parker::Parker;
use crate::primitives::{Condvar, Mutex, MutexGuard, thread};
use crate::queue::Fifo;
use crate::runtime::shutdown_error;
use crate::scheduler::Handle;
use crate::task::{JoinHandle, Runnable};
use starter::Starter;
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

mod closure;
mod end;
mod hosts;
#[cfg(all(test, loom))]
mod loom_tests;
mod starter;
#[cfg(all(test, not(loom), not(miri)))]
mod tests;

/// What a thread runs as a worker.
pub(crate) type Run = Box<dyn FnOnce(By<'_>) + Send>;

/// Which thread runs a body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By<'a> {
    /// One that is new, for which `on_thread_start` still has to be called.
    New,
    /// One that was free.
    Free,
    /// One that has lost its worker and serves its fibers. It only takes the worker's state here,
    /// and then goes on as the worker.
    Host(&'a WorkerThread),
}

/// A worker that waits for a thread.
pub(crate) struct Body {
    /// Its index.
    pub(crate) worker: u32,
    /// The sleep that it still counts as, if it does: see `Shared::count_as_busy`.
    pub(crate) blocked: u64,
    /// It is the first of a worker for whose thread room was kept: see `Pool::reserve`.
    pub(crate) is_reserved: bool,
    pub(crate) run: Run,
}

pub(crate) struct Config {
    /// Of all threads together.
    pub(crate) max_threads: usize,
    pub(crate) keep_alive: Duration,
    pub(crate) hooks: Hooks,
    pub(crate) thread_name: Arc<dyn Fn() -> String + Send + Sync>,
    pub(crate) thread_stack_bytes: Option<usize>,
}

pub(crate) struct Pool {
    config: Config,
    state: Mutex<State>,
    /// Idle threads wait here for something to do.
    work: Condvar,
    /// The thread that shuts the pool down waits here until all is over.
    gone: Condvar,
}

#[derive(Default)]
struct State {
    bodies: VecDeque<Body>,
    queue: Fifo<Runnable>,
    /// The number of threads that exist or are being started.
    threads: usize,
    /// Of these, the ones that are workers. Such a thread may never be free.
    workers: usize,
    /// Of these, the ones that have lost their worker and serve the fibers that are bound to them:
    /// see `hosts.rs`. They are beyond the limit.
    hosts: usize,
    /// Of these, the ones that have nothing to do, by their parkers. None of them was chosen yet.
    resting_hosts: Vec<Arc<Parker>>,
    /// Of these, the ones that were too many: see `hosts.rs`. They run nothing any more, and may be
    /// in `on_thread_stop`.
    leaving: usize,
    /// The number of workers that have no thread yet, and for which there has to be room.
    reserved: usize,
    /// How many threads were refused one by the system, and are about to count workers that wait as
    /// busy: see `count_waiting`.
    counting: usize,
    /// Threads that wait on `work`.
    idle: usize,
    /// Whether a thread is being woken or started.
    on_its_way: bool,
    /// The number of threads that are in `on_thread_start`, and take a closure afterwards.
    in_hook: usize,
    /// The number of closures that wait or run.
    outstanding: usize,
    is_shut_down: bool,
    /// The number of threads that wait on `gone`. To notify a condition costs a call of the system,
    /// also if nobody waits.
    waits: usize,
    /// The scheduler may still have tasks.
    has_tasks: bool,
    /// Who starts threads for those that are busy.
    starter: Starter,
}

/// What has to be done for the queue after the lock is released.
#[derive(Debug)]
#[must_use]
enum Need {
    Nothing,
    WakeOne,
    /// For a body.
    WakeHost(Arc<Parker>),
    StartOne,
}

impl State {
    fn has_work(&self) -> bool {
        self.queue.len() > 0 || !self.bodies.is_empty()
    }

    /// Whether no thread will look at what waits.
    fn is_deserted(&self) -> bool {
        self.threads == self.workers
    }

    /// Whether the runtime's end has nothing left to wait for.
    fn is_over(&self) -> bool {
        // A thread that has left the count may yet run what waits, if no other could be started
        // for that (`serve`).
        self.threads == 0 && !self.has_tasks && !self.has_work()
    }

    /// How much of the limit is taken.
    fn taken(&self) -> usize {
        self.threads - self.hosts - self.leaving + self.reserved
    }

    fn lacks_thread(&self) -> bool {
        !self.bodies.is_empty() || self.queue.len() > 0 && self.is_deserted()
    }

    /// Queues a body. Those for which room was kept come first: another one that waits may have
    /// found no room, and the thread that is started now would be the one that was kept for this.
    fn admit(&mut self, body: Body) {
        let index = if body.is_reserved {
            self.reserved -= 1;
            self.bodies.iter().take_while(|other| other.is_reserved).count()
        } else {
            self.bodies.len()
        };
        self.bodies.insert(index, body);
    }

    /// For a thread that then becomes the worker, until `end_body`.
    fn begin_body(&mut self) -> Option<Body> {
        let body = self.bodies.pop_front()?;
        self.workers += 1;
        Some(body)
    }

    fn end_body(&mut self) {
        self.workers -= 1;
    }

    /// A thread is needed if something waits and none is on its way.
    fn need_one(&mut self, config: &Config) -> Need {
        if self.on_its_way || !self.has_work() {
            return Need::Nothing;
        }
        if self.idle > 0 {
            self.on_its_way = true;
            return Need::WakeOne;
        }
        if let Some(host) = self.choose_host() {
            self.on_its_way = true;
            return Need::WakeHost(host);
        }
        if self.taken() < config.max_threads {
            self.on_its_way = true;
            self.threads += 1;
            return Need::StartOne;
        }
        Need::Nothing
    }
}

/// Spawns a closure.
///
/// # Panics
/// If the pool has no thread and the system cannot start one.
#[track_caller]
pub(crate) fn spawn<F, R>(handle: &Handle, f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (task, join) = closure::make(f);
    match handle.common().blocking.push(handle, task) {
        Ok(()) | Err(Refused::Shutdown) => join,
        Err(Refused::NoThread(error)) => {
            panic!("the blocking pool needs a thread, and the system gives none: {error}")
        }
    }
}

/// As [`spawn`], for callers that can be told.
///
/// # Errors
/// The runtime has shut down, or the pool has no thread and the system cannot start one.
pub(crate) fn try_spawn<F, R>(handle: &Handle, f: F) -> std::io::Result<JoinHandle<R>>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (task, join) = closure::make(f);
    match handle.common().blocking.push(handle, task) {
        Ok(()) => Ok(join),
        Err(Refused::Shutdown) => Err(shutdown_error()),
        Err(Refused::NoThread(error)) => Err(error),
    }
}

/// Why a closure was cancelled at once.
enum Refused {
    /// The pool has been shut down.
    Shutdown,
    /// There is no thread but the workers', and none to be had.
    NoThread(std::io::Error),
}

impl Pool {
    pub(crate) fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            config,
            state: Mutex::default(),
            work: Condvar::new(),
            gone: Condvar::new(),
        })
    }

    /// # Errors
    /// [`Refused`]: the closure was cancelled.
    fn push(self: &Arc<Self>, handle: &Handle, task: Runnable) -> Result<(), Refused> {
        let mut state = self.state.lock();
        if state.is_shut_down {
            drop(state);
            task.cancel(&Nowhere);
            return Err(Refused::Shutdown);
        }
        let id = task.id();
        state.queue.push_back(task);
        state.outstanding += 1;
        let need = state.need_one(&self.config);
        drop(state);
        // Not by the monitor, even if the pool has other threads: they may all be workers when the
        // system refuses, and the spawner, who is to be told then, would be gone.
        let Err(error) = self.meet(handle, need) else { return Ok(()) };
        // Others may have relied on this thread. Their spawners were told nothing.
        let others_wait = asks_again(handle);
        let mut state = self.state.lock();
        if !state.is_deserted() {
            // It waits until one of the threads is free.
            return Ok(());
        }
        let mut cancelled = Fifo::new();
        let mut has_own = false;
        mem::take(&mut state.queue).drain(|other| {
            let is_own = other.id() == id;
            has_own |= is_own;
            let queue = if is_own || !others_wait { &mut cancelled } else { &mut state.queue };
            queue.push_back(other);
        });
        state.outstanding -= cancelled.len();
        let is_idle = state.outstanding == 0;
        drop(state);
        cancelled.drain(|task| task.cancel(&Nowhere));
        if is_idle {
            allow_time_to_jump(handle);
        }
        // If it is not there any more, a thread has taken it, which is a worker now.
        if has_own { Err(Refused::NoThread(error)) } else { Ok(()) }
    }

    /// # Errors
    /// The system cannot start a thread.
    fn meet(self: &Arc<Self>, handle: &Handle, need: Need) -> std::io::Result<()> {
        match need {
            Need::Nothing => Ok(()),
            Need::WakeOne => {
                self.work.notify_one();
                Ok(())
            }
            Need::WakeHost(parker) => {
                parker.unpark();
                Ok(())
            }
            Need::StartOne => self.start_one(handle, self.thread_name()),
        }
    }

    /// For a new thread. It is the user's function that says it, and a worker calls it
    /// when it has another worker woken, which may be anywhere in its own code.
    fn thread_name(&self) -> String {
        context::keep_state(|| (self.config.thread_name)())
    }

    /// Runs a worker's body on a thread of its own, as one that starts with it.
    /// For the workers that a runtime begins with.
    ///
    /// # Errors
    /// The system cannot start a thread. The body was dropped.
    pub(crate) fn start(self: &Arc<Self>, handle: Handle, run: Run) -> std::io::Result<()> {
        let mut state = self.state.lock();
        state.has_tasks = true;
        state.threads += 1;
        state.workers += 1;
        drop(state);
        let pool = Arc::clone(self);
        let name = self.thread_name();
        let started = thread::spawn(name, self.config.thread_stack_bytes, move || {
            pool.as_its_thread(|| {
                run(By::New);
                pool.state.lock().end_body();
                pool.serve(&handle);
            });
        });
        if started.is_err() {
            let mut state = self.state.lock();
            state.threads -= 1;
            state.workers -= 1;
            self.unlock_and_notify(state);
        }
        started
    }

    /// Has a worker's body run, on an idle thread, on a new one, or, if there
    /// may be no more, on the first to be free. As long as it has to wait for that, its
    /// worker counts as busy. False if there is no body.
    ///
    /// `take` takes the worker's state from a thread of this pool, and is called under
    /// the lock. So that thread, which serves the pool when it finds the state gone,
    /// finds the body here. Otherwise it might look before the body comes, and be the
    /// last thread that the system gives.
    pub(crate) fn run(
        self: &Arc<Self>,
        handle: &Handle,
        take: impl FnOnce() -> Option<Body>,
    ) -> bool {
        let mut state = self.state.lock();
        let Some(body) = take() else { return false };
        state.admit(body);
        if state.counting > 0 {
            // No thread is to be had. The one that was told so counts this worker, too.
            return true;
        }
        let free = state.idle
            + state.resting_hosts.len()
            + self.config.max_threads.saturating_sub(state.taken());
        let has_thread = state.bodies.len() <= free;
        let need = state.need_one(&self.config);
        drop(state);
        // Without a new thread, an existing one takes it later: the one that the
        // worker leaves, for example. The monitor tries again meanwhile. Bodies that
        // rely on a thread that was on its way are counted if that one does not come.
        let _ = self.meet_elsewhere(handle, need);
        if !has_thread {
            self.count_waiting(handle, self.state.lock());
        }
        true
    }

    /// It may take long until there is a thread for the workers that wait for one. Until then, they
    /// are no sleepers that could be woken, and they do not search either.
    ///
    /// A worker that stops searching may have the next sleeper woken, which may need a thread as
    /// well. Its body then comes here meanwhile, and is counted in this loop: one call within the
    /// other for each of many workers might need more stack than there is.
    fn count_waiting<'a>(&'a self, handle: &Handle, mut state: MutexGuard<'a, State>) {
        state.counting += 1;
        loop {
            // Whoever waits for the end may have counted on a thread, and has to ask again.
            if state.waits > 0 {
                self.gone.notify_all();
            }
            // A thread may have come to rest meanwhile, and has not been woken for what came after
            // that.
            if state.idle > 0 || state.may_choose_host() {
                match state.need_one(&self.config) {
                    Need::WakeOne => self.work.notify_one(),
                    Need::WakeHost(parker) => _ = parker.unpark(),
                    // One is on its way.
                    Need::Nothing | Need::StartOne => {}
                }
            }
            // Once each. Whoever retakes the worker's next sleep makes another body of it.
            let uncounted = state.bodies.iter_mut().filter(|body| body.blocked != 0);
            let bodies =
                Vec::from_iter(uncounted.map(|body| (body.worker, mem::take(&mut body.blocked))));
            if bodies.is_empty() {
                state.counting -= 1;
                return;
            }
            let is_shut_down = state.is_shut_down;
            drop(state);
            count_as_busy(handle, &bodies);
            // They may have been asleep until now, and so may the monitor, which asks again. Once
            // the runtime ends, whoever waits for that does. Not before they count as busy, or the
            // monitor may rest once more in between.
            if !is_shut_down {
                asks_again(handle);
            }
            state = self.state.lock();
        }
    }

    /// Keeps room for the threads of so many workers, which may be started later.
    pub(crate) fn reserve(&self, workers: usize) {
        self.state.lock().reserved = workers;
    }

    /// Whether a worker's body waits for a thread, or closures do and there is none.
    pub(crate) fn lacks_thread(&self) -> bool {
        self.state.lock().lacks_thread()
    }

    /// Tries again to find a thread for what waits, as the system may have had none to
    /// give.
    pub(crate) fn retry(self: &Arc<Self>, handle: &Handle) {
        let mut state = self.state.lock();
        if !state.lacks_thread() {
            return;
        }
        let need = state.need_one(&self.config);
        drop(state);
        // If this fails, there is another look in a moment.
        let _ = self.meet(handle, need);
    }

    /// The life of a thread that is started for waiting closures or bodies.
    fn work(self: &Arc<Self>, handle: &Handle) {
        handle.common().unpin();
        let mut state = self.state.lock();
        state.on_its_way = false;
        let body = state.begin_body();
        state.in_hook += usize::from(body.is_none());
        // This comes before the hook, which may take long, or wait for other threads. Each thread
        // in its hook was started for one closure, so even a slow hook never makes more threads
        // than there are closures.
        let has_more = state.bodies.len() + state.queue.len() > state.in_hook;
        let need = if has_more { state.need_one(&self.config) } else { Need::Nothing };
        drop(state);
        let _ = self.meet_elsewhere(handle, need);
        if let Some(body) = body {
            (body.run)(By::New);
            self.state.lock().end_body();
        } else {
            let _handle = context::enter_handle(handle.clone());
            self.config.hooks.thread_start();
            self.state.lock().in_hook -= 1;
        }
        self.serve(handle);
    }

    /// The rest of a thread's life: it runs closures and bodies.
    fn serve(self: &Arc<Self>, handle: &Handle) {
        let _handle = context::enter_handle(handle.clone());
        let mut state = self.state.lock();
        let is_too_many = loop {
            if let Some(body) = state.begin_body() {
                let need = state.need_one(&self.config);
                drop(state);
                let _ = self.meet_elsewhere(handle, need);
                (body.run)(By::Free);
                state = self.state.lock();
                state.end_body();
                continue;
            }
            if state.is_beyond_limit(&self.config) {
                state.leaving += 1;
                break true;
            }
            if let Some(task) = state.queue.pop_front() {
                let need = state.need_one(&self.config);
                drop(state);
                // If no other thread can be started, this one runs the rest later.
                let _ = self.meet_elsewhere(handle, need);
                closure::run(task);
                state = self.state.lock();
                state.outstanding -= 1;
                if state.outstanding == 0 {
                    drop(state);
                    allow_time_to_jump(handle);
                    state = self.state.lock();
                }
                continue;
            }
            if state.is_shut_down {
                break false;
            }
            let (woken, is_late) = self.rest(state);
            state = woken;
            if is_late && !state.has_work() {
                break false;
            }
        };
        // One that is too many may have been woken for what another one is to run now.
        let need = state.need_one(&self.config);
        drop(state);
        let _ = self.meet(handle, need);
        self.config.hooks.thread_stop();
        let mut state = self.state.lock();
        state.threads -= 1;
        state.leaving -= usize::from(is_too_many);
        // The hook ran without the lock. Meanwhile a closure may have been queued that relies on
        // this thread.
        let need = state.need_one(&self.config);
        if matches!(need, Need::Nothing) {
            return self.unlock_and_notify(state);
        }
        drop(state);
        if self.meet(handle, need).is_err() {
            // No other thread can be started, so this one runs it, although its stop hook has run.
            let mut state = self.state.lock();
            if state.is_deserted() && state.has_work() {
                state.threads += 1;
                drop(state);
                self.serve(handle);
            }
        }
    }

    /// Waits for work. Returns whether the wait has timed out.
    fn rest<'a>(&self, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
        let deadline = Instant::now().checked_add(self.config.keep_alive);
        state.idle += 1;
        let is_late = loop {
            let left = match deadline {
                Some(deadline) => deadline.saturating_duration_since(Instant::now()),
                None => Duration::MAX,
            };
            let (woken, timed_out) = self.work.wait_timeout(state, left);
            state = woken;
            if state.has_work() || state.is_shut_down || state.on_its_way {
                break false;
            }
            if timed_out {
                break true;
            }
        };
        state.idle -= 1;
        // The first thread that wakes counts as the one that was on its way. If another thread was
        // meant, that one finds no work, and rests again.
        state.on_its_way = false;
        (state, is_late)
    }

    /// The number of threads, with those for which room is kept.
    pub(crate) fn threads(&self) -> usize {
        let state = self.state.lock();
        state.threads + state.reserved
    }

    pub(crate) fn idle_threads(&self) -> usize {
        self.state.lock().idle
    }

    pub(crate) fn queued(&self) -> usize {
        self.state.lock().queue.len()
    }

    /// Whether any closure waits or runs: paused time must not jump then.
    pub(crate) fn is_busy(&self) -> bool {
        self.state.lock().outstanding > 0
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("queued", &self.queue.len())
            .field("threads", &self.threads)
            .field("idle", &self.idle)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("state", &self.state).finish_non_exhaustive()
    }
}

fn count_as_busy(handle: &Handle, bodies: &[(u32, u64)]) {
    if let Scheduler::Multi(shared) = &handle.scheduler {
        bodies.iter().for_each(|&(worker, blocked)| shared.count_as_busy(worker, blocked));
    }
}

/// Whether the system will be asked again for a thread for closures that wait. The caller has
/// queued them under the pool's lock.
fn asks_again(handle: &Handle) -> bool {
    match &handle.scheduler {
        Scheduler::Multi(shared) => shared.has_monitor(),
        Scheduler::Current(_) => false,
    }
}

/// If the clock is paused, the driver may be waiting until the pool is idle.
fn allow_time_to_jump(handle: &Handle) {
    if let Scheduler::Current(shared) = &handle.scheduler
        && shared.common().clock.is_virtual()
    {
        shared.unpark();
    }
}
