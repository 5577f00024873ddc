use super::RuntimeMetrics;
use crate::context;
use crate::scheduler::{Common, Scheduler, WorkerCounters, blocking};
use crate::task::{Id, JoinHandle, LocalEnterGuard, Runnable, allocate};
use crate::time::{Clock, TimerQueue};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// A handle to a runtime: spawns into it from anywhere, and does not keep it
/// from shutting down.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) scheduler: Scheduler,
}

/// Keeps a runtime the current one of its thread: see [`Handle::enter`].
///
/// It stays on its thread:
///
/// ```compile_fail,E0277
/// fn is_send(_: impl Send) {}
/// let runtime = trefoil::runtime::Runtime::new().unwrap();
/// is_send(runtime.enter());
/// ```
#[derive(Debug)]
#[must_use = "the context is left again when the guard is dropped"]
pub struct EnterGuard<'a> {
    _guard: context::HandleGuard,
    /// Of a `LocalRuntime`.
    _local: Option<LocalEnterGuard>,
    _handle: std::marker::PhantomData<&'a Handle>,
    /// Guards belong to their thread.
    _thread: std::marker::PhantomData<*const ()>,
}

/// There is no runtime: see [`Handle::try_current`].
#[derive(Debug)]
pub struct TryCurrentError(());

impl TryCurrentError {
    /// Whether the reason is that the thread is in no runtime. It is the only
    /// one, save that the thread may be on its way out.
    pub fn is_missing_context(&self) -> bool {
        true
    }

    /// Whether the thread's locals are gone. Ours never are.
    pub fn is_thread_local_destroyed(&self) -> bool {
        false
    }
}

/// The text of all panics and errors for lack of a runtime.
pub(crate) const NO_RUNTIME: &str = "this thread is in no Trefoil runtime: call this in a task or in `block_on`, or enter a \
     runtime with `Handle::enter`";

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
    /// The runtime that the caller is in: as a task, a blocking task, in
    /// `block_on`, or under a guard of [`Handle::enter`].
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn current() -> Self {
        match Self::try_current() {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`Handle::current`].
    ///
    /// # Errors
    /// Outside of a runtime.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        context::current_handle().ok_or(TryCurrentError(()))
    }

    /// Makes this the current runtime of the thread, so that `spawn` and its
    /// like find it, until the guard is dropped.
    ///
    /// The current runtime is that of the newest guard that is left. A guard
    /// that is leaked stays in force for as long as its thread lives. One that
    /// is held across an `.await` is in force between the polls, too, for all
    /// that runs on the thread.
    ///
    /// # Panics
    /// Guards must be dropped in the reverse order of their making; the drop of
    /// one that is not panics, unless a panic is under way already. The runtime
    /// is left all the same.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.enter_with(None)
    }

    pub(super) fn enter_with(&self, local: Option<LocalEnterGuard>) -> EnterGuard<'_> {
        EnterGuard {
            _guard: context::enter_handle_strictly(self.clone()),
            _local: local,
            _handle: std::marker::PhantomData,
            _thread: std::marker::PhantomData,
        }
    }

    /// Spawns a task into the runtime. It starts at once, whether or not the
    /// handle is awaited. In a runtime that has shut down it is cancelled.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_with(future, None)
    }

    /// Spawns a task that runs on one worker only, and so keeps that worker's
    /// caches. Workers are counted from 0 and taken modulo their number.
    ///
    /// It still has to be `Send`, for it is made on one thread and runs on
    /// another. While its worker is held up by another task, it waits.
    #[track_caller]
    pub fn spawn_pinned<F>(&self, worker: usize, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_with(future, Some(worker))
    }

    #[inline]
    fn spawn_with<F>(&self, future: F, pinned: Option<usize>) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let id = Id::next();
        let (task, join) = match &self.scheduler {
            Scheduler::Multi(shared) => {
                let pinned = pinned.map_or(crate::task::NO_HOME, |n| (n % shared.workers()) as u32);
                let is_measured = shared.common().is_measured;
                allocate(future, Arc::as_ptr(shared), id, pinned, is_measured, Some(shared.depot()))
            }
            Scheduler::Current(shared) => {
                let is_measured = shared.common().is_measured;
                allocate(future, Arc::as_ptr(shared), id, crate::task::NO_HOME, is_measured, None)
            }
        };
        self.start(task);
        join
    }

    #[inline]
    fn start(&self, task: Runnable) {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.spawn(task),
            Scheduler::Current(shared) => shared.spawn(task),
        }
    }

    /// Runs a closure that may block on a thread meant for that. In a runtime
    /// that has shut down it is cancelled.
    ///
    /// Aborting it has an effect only until it starts: nobody can stop a thread.
    ///
    /// # Panics
    /// If the system has no thread to give and none is there.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        blocking::spawn(self, f)
    }

    /// Runs a future on the calling thread, with this runtime as its context,
    /// until it is done.
    ///
    /// With a multi-thread runtime, its workers run the tasks meanwhile. The
    /// tasks of a single-threaded one only go on while some thread is in
    /// [`Runtime::block_on`](super::Runtime::block_on).
    ///
    /// # Panics
    /// From within asynchronous code, and with the future's own panics.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        crate::scheduler::block_on::block_on(self, future)
    }

    /// Runs a closure on one of the runtime's workers, where it can
    /// [`join`](crate::fork_join::join) at its cheapest, and blocks the calling
    /// thread until it is done.
    ///
    /// On a worker of this runtime, and with a current-thread runtime, it is
    /// simply called. So it is when the runtime has shut down. A worker of
    /// another runtime blocks like any other thread: two runtimes with all
    /// their workers in `install` into one another wait forever.
    ///
    /// # Panics
    /// With the closure's own panic.
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        crate::fork_join::install(self, f)
    }

    /// Runs a closure on the calling thread, which takes the place of a worker
    /// that sleeps: as [`install`](Self::install), without handing anything
    /// over, which is two wake-ups of threads. This pays for forks of less than
    /// a millisecond; longer ones gain nothing by it.
    ///
    /// What the closure forks is taken by the other workers. The one whose
    /// place is taken sleeps on, so that no more threads compute than there are
    /// workers. It wakes for its timers and for tasks that are pinned to it, and,
    /// with two workers or more, for other tasks if all workers are busy for
    /// some milliseconds. With one worker, or with
    /// [`handoff_while_forking(false)`](super::Builder::handoff_while_forking) while all others are
    /// busy, other tasks wait until the closure is done, or calls
    /// [`block_in_place`](crate::task::block_in_place), which gives the place back
    /// for good. The end of the runtime does not wait for it.
    ///
    /// The closure has the calling thread's stack and thread-locals:
    /// [`thread_stack_size`](super::Builder::thread_stack_size),
    /// [`worker_affinity`](super::Builder::worker_affinity) and
    /// [`on_thread_start`](super::Builder::on_thread_start) do not apply to it,
    /// and no worker counts the time as its own.
    ///
    /// It is the same as `install` if no worker sleeps; on workers of this or
    /// another runtime, inside of a [`LocalSet`](crate::task::LocalSet) and on
    /// threads that drive a current-thread runtime; and if more than 64 threads
    /// do this, or block, at the same time.
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

    /// The runtime's id.
    pub fn id(&self) -> super::Id {
        self.common().id
    }

    /// The runtime's name, if [`Builder::name`](super::Builder::name) gave one.
    pub fn name(&self) -> Option<&str> {
        self.common().name.as_deref()
    }

    /// The runtime's counters.
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(self.clone())
    }

    /// The scheduler's state, to be looked at when something seems to hang.
    pub fn dump(&self) -> impl fmt::Display {
        Dump(self.clone())
    }

    pub(crate) fn common(&self) -> &Common {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.common(),
            Scheduler::Current(shared) => shared.common(),
        }
    }

    /// Whether tasks are to know since when they wait.
    pub(crate) fn is_measured(&self) -> bool {
        self.common().is_measured
    }

    pub(crate) fn clock(&self) -> Clock {
        self.common().clock.clone()
    }

    /// The queue for timers first polled on a thread that drives none.
    pub(crate) fn foreign_timers(&self) -> &Arc<TimerQueue> {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.foreign_timers(),
            Scheduler::Current(shared) => shared.timers(),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.workers(),
            Scheduler::Current(_) => 1,
        }
    }

    /// Threads of the pool that are workers.
    pub(crate) fn worker_threads(&self) -> usize {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.workers(),
            Scheduler::Current(_) => 0,
        }
    }

    pub(crate) fn counters(&self, worker: usize) -> &WorkerCounters {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.counters(worker),
            Scheduler::Current(shared) => {
                assert_eq!(worker, 0, "a single-threaded runtime has one worker");
                shared.counters()
            }
        }
    }

    pub(crate) fn global_queue_depth(&self) -> usize {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.global_queue_depth(),
            Scheduler::Current(_) => 0,
        }
    }

    pub(crate) fn local_queue_depth(&self, worker: usize) -> usize {
        match &self.scheduler {
            Scheduler::Multi(shared) => shared.local_queue_depth(worker),
            Scheduler::Current(shared) => shared.queue_depth(),
        }
    }
}
