use super::{Common, Id as RuntimeId, Scheduler, WorkerCounters, blocking, current};
use crate::context;
#[cfg(feature = "net")]
use crate::reactor::Reactor;
use crate::task::{Id, JoinHandle, LocalEnterGuard, NO_HOME, Origin, allocate};
use crate::time::{Clock, TimerQueue};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Weak};

/// A handle to a runtime, for any thread.
///
/// A clone is cheap. A handle does not keep the runtime from shutting down. In a runtime that has
/// shut down, tasks that are spawned are cancelled, and forks run on their callers.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) scheduler: Scheduler,
}

/// Keeps a runtime the current one of its thread: see [`Handle::enter`].
///
/// It cannot be sent to another thread. A reference to it can:
///
/// ```
/// fn is_sync(_: &impl Sync) {}
/// let runtime = trefoil::runtime::Runtime::new().unwrap();
/// is_sync(&runtime.enter());
/// ```
/// ```compile_fail,E0277
/// fn is_send(_: impl Send) {}
/// let runtime = trefoil::runtime::Runtime::new().unwrap();
/// is_send(runtime.enter());
/// ```
#[derive(Debug)]
#[must_use = "the context is left again when the guard is dropped"]
pub struct EnterGuard<'a> {
    _guard: context::HandleGuard,
    /// Present in the guards of a `LocalRuntime` on its own thread.
    _local: Option<LocalEnterGuard>,
    _handle: std::marker::PhantomData<&'a Handle>,
    /// A guard belongs to its thread.
    _thread: std::marker::PhantomData<*const ()>,
}

// SAFETY: through a shared reference to a guard, one can do nothing but print its addresses.
unsafe impl Sync for EnterGuard<'_> {}

/// The thread is in no runtime: see [`Handle::try_current`].
#[derive(Debug)]
pub struct TryCurrentError(());

impl TryCurrentError {
    /// Whether the reason is that the thread is in no runtime. This is always true.
    pub fn is_missing_context(&self) -> bool {
        true
    }

    /// Whether the reason is that the thread's locals have been destroyed. This is always false:
    /// those of this crate have no destructors.
    pub fn is_thread_local_destroyed(&self) -> bool {
        false
    }
}

/// The text of all panics and errors that say that the thread is in no runtime. Its first words are
/// those by which programs know this panic from others.
pub(crate) const NO_RUNTIME: &str = "there is no reactor running: this thread is in no Trefoil \
                                     runtime. Call this in a task or in `block_on`, or enter a \
                                     runtime with `Handle::enter`";

/// The text of the panic of what needs the reactor.
#[cfg(feature = "net")]
const NO_IO: &str = "A Trefoil context was found, but IO is disabled. Call `enable_io` on the runtime \
                     builder to enable IO.";

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NO_RUNTIME)
    }
}

impl Error for TryCurrentError {}

/// What kind of scheduler a runtime has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// All tasks run on the thread that calls `block_on`.
    CurrentThread,
    /// Tasks run on several worker threads.
    MultiThread,
}

struct Dump(Handle);

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.scheduler {
            Scheduler::Multi(shared) => shared.dump(f)?,
            Scheduler::Current(shared) => shared.dump(f)?,
        }
        let pool = &self.0.common().blocking;
        writeln!(
            f,
            "blocking: threads {} · idle {} · queued {}",
            pool.threads(),
            pool.idle_threads(),
            pool.queued()
        )
    }
}

impl Handle {
    /// The current runtime of the thread: a thread is in a runtime inside of a task, a blocking
    /// task and `block_on`, and under a guard of [`Handle::enter`].
    ///
    /// # Panics
    /// If the thread is in no runtime.
    #[track_caller]
    pub fn current() -> Self {
        match Self::try_current() {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    /// The current runtime of the thread, as [`Handle::current`].
    ///
    /// # Errors
    /// If the thread is in no runtime.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        context::current_handle().ok_or(TryCurrentError(()))
    }

    /// Makes this the current runtime of the thread, which `spawn` and its like use, until the
    /// guard is dropped.
    ///
    /// The current runtime is that of the newest guard. A leaked guard has an effect for as long as
    /// its thread lives. A guard that is held across an `.await` also has an effect between the
    /// polls, on everything that runs on the thread.
    ///
    /// # Panics
    /// The drop of a guard panics if the thread has a newer guard, except during another panic. The
    /// dropped guard has no effect any more in either case.
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard {
            _guard: context::enter_handle_strictly(self.clone()),
            _local: self.common().enter_local(),
            _handle: std::marker::PhantomData,
            _thread: std::marker::PhantomData,
        }
    }

    /// Spawns a task into the runtime. The task starts even if nobody awaits the handle. If the
    /// runtime has shut down, the task is cancelled.
    ///
    /// # Cancellation safety
    /// The task runs on when its handle is dropped.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_with(future, None, Origin::here(None))
    }

    /// Spawns a task that runs on one worker only, and so in that worker's caches. Workers are
    /// counted from 0, and `worker` is taken modulo their number.
    ///
    /// The future still has to be `Send`, because the task is made on one thread and runs on
    /// another. The task waits while another task keeps its worker busy. If the runtime has shut
    /// down, the task is cancelled.
    ///
    /// # Cancellation safety
    /// The task runs on when its handle is dropped.
    #[track_caller]
    pub fn spawn_pinned<F>(&self, worker: usize, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_with(future, Some(worker), Origin::here(None))
    }

    #[inline]
    pub(crate) fn spawn_with<F>(
        &self,
        future: F,
        pinned: Option<usize>,
        origin: Origin<'_>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let id = Id::next();
        match &self.scheduler {
            Scheduler::Multi(shared) => {
                let pinned = pinned.map_or(NO_HOME, |n| (n % shared.workers()) as u32);
                let (this, depot) = (Arc::as_ptr(shared), Some(shared.depot()));
                let notes = shared.common().notes(origin);
                let _context = notes.as_ref().and_then(|notes| notes.enter_for_hooks(self));
                let (task, join) = allocate(future, this, id, pinned, notes, depot);
                shared.spawn(task);
                join
            }
            Scheduler::Current(shared) => {
                let (this, depot) = (Arc::as_ptr(shared), Some(shared.depot()));
                let notes = shared.common().notes(origin);
                let _context = notes.as_ref().and_then(|notes| notes.enter_for_hooks(self));
                let (task, join) = allocate(future, this, id, NO_HOME, notes, depot);
                shared.spawn(task);
                join
            }
        }
    }

    /// Runs a closure that may block on a thread of the blocking pool. If the runtime has shut
    /// down, the closure is cancelled.
    ///
    /// # Cancellation safety
    /// The closure runs on when its handle is dropped. An abort cancels it only if it has not
    /// started, because a thread cannot be stopped.
    ///
    /// # Panics
    /// If the pool has no thread and the system cannot start one.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        blocking::spawn(self, f)
    }

    /// Runs a future on the calling thread to its end, with this runtime as its context, and
    /// returns its output.
    ///
    /// This call polls nothing but the future. The workers of a multi-thread runtime run the tasks
    /// meanwhile; with [`serve_in_block_on`](crate::runtime::Builder::serve_in_block_on), the
    /// calling thread may be one of them. The tasks of a current-thread runtime only run while a
    /// thread is in [`Runtime::block_on`](crate::runtime::Runtime::block_on). In a
    /// [fiber](crate::fiber), in [`block_in_place`](crate::task::block_in_place), this waits as the
    /// fiber does: without the thread.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block; and with the future's own panic.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        crate::scheduler::block_on::block_on(self, future)
    }

    /// Runs a closure on one of the runtime's workers, where a fork such as
    /// [`join`](fn@crate::fork_join::join) is cheapest, and blocks the calling thread until the
    /// closure has returned.
    ///
    /// The closure is called on the calling thread, and in that thread's context, if the thread is
    /// a worker of this runtime, if the runtime is a current-thread one, if the runtime has shut
    /// down, or if this process is a fork of the one that has made it, and so has no workers of it.
    ///
    /// Hooks of tasks and reports of stalls see the closure as a task that is spawned here.
    ///
    /// A worker of another runtime blocks like any other thread. If all workers of two runtimes are
    /// in `install` of the other runtime, all of them wait forever.
    ///
    /// # Panics
    /// With the closure's own panic.
    #[track_caller]
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        crate::fork_join::install(self, f)
    }

    /// Runs a closure on the calling thread in the place of a sleeping worker.
    ///
    /// This is [`install`](Self::install) without the two wake-ups of threads that moving the
    /// closure costs. It pays for computations of less than a millisecond; longer ones gain
    /// nothing.
    ///
    /// Other workers may take what the closure forks. The worker whose place is taken stays asleep,
    /// so that no more threads compute than there are workers. It wakes for its timers and for
    /// tasks that are pinned to it. In a runtime with two workers or more, it also wakes for other
    /// tasks if all workers are busy for some milliseconds. In a runtime with one worker, other
    /// tasks wait until the closure has returned; so they do with
    /// [`handoff_while_forking(false)`](crate::runtime::Builder::handoff_while_forking) while all
    /// workers are busy. A call of [`block_in_place`](crate::task::block_in_place) in the closure
    /// ends that wait: it gives the place back for good. The shutdown of the runtime does not wait
    /// for the closure.
    ///
    /// The closure has the stack and the thread-locals of the calling thread.
    /// [`thread_stack_size`](crate::runtime::Builder::thread_stack_size),
    /// [`worker_affinity`](crate::runtime::Builder::worker_affinity) and
    /// [`on_thread_start`](crate::runtime::Builder::on_thread_start) do not apply to it, and the
    /// time does not count as any worker's.
    ///
    /// It is the same as `install`
    /// - if no worker sleeps,
    /// - on a worker of this or another runtime, inside of a [`LocalSet`](crate::task::LocalSet),
    ///   and on a thread that drives a current-thread runtime,
    /// - in a fork of the process that has made the runtime,
    /// - if more than 64 threads are in this function or block in place at the same time.
    ///
    /// # Panics
    /// With the closure's own panic.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// let runtime = trefoil::runtime::Runtime::new()?;
    /// let (mut low, mut high) = ([3, 1, 2], [9, 7, 8]);
    /// runtime.install_here(|| trefoil::fork_join::join(|| low.sort(), || high.sort()));
    /// assert_eq!((low, high), ([1, 2, 3], [7, 8, 9]));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn install_here<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        crate::fork_join::install_here(self, f)
    }

    /// What kind of scheduler the runtime has.
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        match &self.scheduler {
            Scheduler::Multi(_) => RuntimeFlavor::MultiThread,
            Scheduler::Current(_) => RuntimeFlavor::CurrentThread,
        }
    }

    /// The runtime's id, which no other runtime of the process has.
    pub fn id(&self) -> RuntimeId {
        self.common().id
    }

    /// The runtime's name, if [`Builder::name`](crate::runtime::Builder::name) gave one.
    pub fn name(&self) -> Option<&str> {
        self.common().name.as_deref()
    }

    /// The state of the scheduler as text, for people who look for the reason of a hang. The format
    /// may change in any release.
    pub fn dump(&self) -> impl fmt::Display {
        Dump(self.clone())
    }

    pub(crate) fn common(&self) -> &Common {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.common(),
            Scheduler::Current(shared) => shared.common(),
        }
    }

    /// The runtime's reactor.
    ///
    /// # Panics
    /// If the runtime has no I/O.
    #[cfg(feature = "net")]
    #[track_caller]
    pub(crate) fn reactor(&self) -> &Reactor {
        match &self.common().reactor {
            Some(reactor) => reactor,
            None => panic!("{NO_IO}"),
        }
    }

    /// A source was added to the reactor: makes sure that a thread waits for its events, or looks
    /// for them now and then.
    #[cfg(feature = "net")]
    pub(crate) fn have_reactor_attended(&self) {
        match &self.scheduler {
            Scheduler::Multi(shared) => {
                shared.have_reactor_attended();
                if context::with(|context| context.worker().is_none()) {
                    shared.ensure_monitor_outside();
                }
            }
            Scheduler::Current(shared) => shared.unpark_from_afar(),
        }
    }

    /// The scheduler, for its own parts. Of a multi-thread runtime there is none.
    pub(crate) fn downgrade(&self) -> Weak<current::Shared> {
        match &self.scheduler {
            Scheduler::Multi(_) => Weak::new(),
            Scheduler::Current(shared) => Arc::downgrade(shared),
        }
    }

    /// Whether it is of a `LocalRuntime`.
    pub(crate) fn is_local(&self) -> bool {
        self.common().local.get().is_some()
    }

    /// Whether tasks record since when they have been waiting.
    pub(crate) fn is_measured(&self) -> bool {
        self.common().is_measured
    }

    pub(crate) fn clock(&self) -> Clock {
        self.common().clock.clone()
    }

    /// The queue for timers whose first poll is on a thread that drives no timers.
    pub(crate) fn foreign_timers(&self) -> &Arc<TimerQueue> {
        match &self.scheduler {
            Scheduler::Multi(shared) => {
                shared.ensure_monitor_outside();
                shared.foreign_timers()
            }
            Scheduler::Current(shared) => shared.timers(),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.workers(),
            Scheduler::Current(_) => 1,
        }
    }

    /// How many threads of the blocking pool are workers.
    pub(crate) fn worker_threads(&self) -> usize {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.workers(),
            Scheduler::Current(_) => 0,
        }
    }

    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub(crate) fn counters(&self, worker: usize) -> &WorkerCounters {
        self.check_worker(worker);
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.counters(worker),
            Scheduler::Current(shared) => shared.counters(),
        }
    }

    #[track_caller]
    fn check_worker(&self, worker: usize) {
        let workers = self.workers();
        assert!(
            worker < workers,
            "there is no worker {worker}: they are numbered from 0, and there are {workers}"
        );
    }

    pub(crate) fn global_queue_depth(&self) -> usize {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.global_queue_depth(),
            Scheduler::Current(shared) => shared.inbox_depth(),
        }
    }

    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub(crate) fn local_queue_depth(&self, worker: usize) -> usize {
        self.check_worker(worker);
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.local_queue_depth(worker),
            Scheduler::Current(shared) => shared.queue_depth(),
        }
    }
}
