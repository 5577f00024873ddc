//! Runtimes: what drives tasks, timers and blocking closures.
//!
//! A [`Runtime`] has one of two schedulers. The *multi-thread* scheduler has worker threads, each
//! with a run queue of its own, and a worker without tasks steals from the others. The
//! *current-thread* scheduler runs all tasks on the thread that is in [`Runtime::block_on`], and
//! pays for no synchronisation between threads.
//!
//! [`from_tokio`] lists the differences for users of tokio.

mod builder;
pub mod from_tokio;
mod global;
mod local;
mod metrics;
mod rng_seed;
mod shutdown_error;
mod unhandled_panic;

pub use crate::scheduler::histogram::{
    HistogramConfiguration, InvalidHistogramConfiguration, LogHistogram, LogHistogramBuilder,
};
pub use crate::scheduler::stalls::Stall;
pub use crate::scheduler::{EnterGuard, Handle, Id, RuntimeFlavor, TryCurrentError};
pub use crate::task::hooks::TaskMeta;
pub use builder::Builder;
pub use global::global;
pub use local::{LocalOptions, LocalRuntime};
pub use metrics::RuntimeMetrics;
pub use rng_seed::RngSeed;
pub use shutdown_error::is_rt_shutdown_err;
pub use unhandled_panic::UnhandledPanic;

pub(crate) use global::global_for_forks;
pub(crate) use shutdown_error::shutdown_error;

use crate::context::{self, Context, Entered};
use crate::scheduler::{Scheduler, current, registry};
use crate::task::JoinHandle;
use std::future::Future;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// The number of the worker that the calling thread is, counted from 0 within its runtime.
///
/// It is 0 in the `block_on` of a current-thread runtime and in its tasks. There is none on a
/// thread that is no worker: in the `block_on` of a multi-thread runtime, in a blocking task,
/// outside of any runtime, and inside of [`block_in_place`](crate::task::block_in_place), where
/// another thread may be the worker. A task that waits may go on with another worker.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use trefoil::runtime::{Runtime, worker_index};
///
/// let runtime = Runtime::new()?;
/// let index = runtime.block_on(runtime.spawn_pinned(0, async { worker_index() })).unwrap();
/// assert_eq!((index, worker_index()), (Some(0), None));
/// # Ok(())
/// # }
/// ```
pub fn worker_index() -> Option<usize> {
    context::with(Context::worker_index)
}

/// A running scheduler, its blocking pool and its timers.
///
/// The drop shuts the runtime down. Each task is dropped at the `.await` where it waits, or at the
/// next one that it reaches. Blocking tasks run to their end, also those that wait for a thread.
/// The drop waits for them and for all threads of the runtime. [`Runtime::shutdown_timeout`] and
/// [`Runtime::shutdown_background`] limit that wait.
///
/// After that, spawned tasks are cancelled, and timers of the runtime panic when they are polled in
/// it or in no runtime.
///
/// # Panics
/// The drop panics in asynchronous code, because it waits, and on a thread of its own runtime (in a
/// blocking closure or inside of `block_in_place`), because it would wait for that thread too, and
/// so for ever, as tokio's does. The shutdown has begun then. During another panic, it does not
/// panic but shuts down without waiting. Call [`Runtime::shutdown_background`] there.
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
    /// The shutdown has begun, so the drop has nothing to do.
    is_over: bool,
}

// A panic leaves none of these in an inconsistent state: no critical section runs foreign code.
impl UnwindSafe for Runtime {}
impl RefUnwindSafe for Runtime {}
impl UnwindSafe for Handle {}
impl RefUnwindSafe for Handle {}
impl UnwindSafe for Builder {}
impl RefUnwindSafe for Builder {}

impl Runtime {
    /// Makes a multi-thread runtime with timers and with all defaults of [`Builder`]: one worker
    /// per CPU that the process may use.
    ///
    /// # Errors
    /// If the system cannot start the worker threads.
    pub fn new() -> io::Result<Runtime> {
        Builder::new_multi_thread().enable_all().build()
    }

    fn from_handle(handle: Handle) -> Self {
        registry::enter(&handle);
        Self { handle, is_over: false }
    }

    /// A handle to this runtime, which can be cloned and sent to other threads.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns a task into the runtime: see [`Handle::spawn`].
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Spawns a task that runs on one worker only: see [`Handle::spawn_pinned`].
    #[track_caller]
    pub fn spawn_pinned<F>(&self, worker: usize, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn_pinned(worker, future)
    }

    /// Runs a closure that may block on a thread of the blocking pool: see
    /// [`Handle::spawn_blocking`].
    ///
    /// # Panics
    /// If the pool has no thread and the system cannot start one.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(f)
    }

    /// Runs a closure on one of the runtime's workers and waits for its end: see
    /// [`Handle::install`].
    ///
    /// # Panics
    /// With the closure's own panic.
    #[track_caller]
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.handle.install(f)
    }

    /// Runs a closure on the calling thread in the place of a sleeping worker: see
    /// [`Handle::install_here`].
    ///
    /// # Panics
    /// With the closure's own panic.
    #[track_caller]
    pub fn install_here<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.handle.install_here(f)
    }

    /// Runs a future on the calling thread to its end, with this runtime as its context, and
    /// returns its output.
    ///
    /// In a current-thread runtime, this call also runs all tasks. If several threads call it at
    /// the same time, one of them runs the tasks. When that thread returns, another one continues.
    /// Each of them polls its own future meanwhile.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block; and with the future's own panic.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match &self.handle.scheduler {
            Scheduler::Multi(_) => self.handle.block_on(future),
            Scheduler::Current(shared) => current::block_on(&self.handle, shared, future),
        }
    }

    /// Makes this the current runtime of the thread until the guard is dropped: see
    /// [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// The runtime's counters: see [`RuntimeMetrics`].
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }

    /// Shuts the runtime down and waits for its threads, for `duration` at most.
    ///
    /// After that time, a thread that is still inside of a blocking closure or of a task's poll is
    /// left alone, and ends when the closure or the poll returns.
    ///
    /// # Panics
    /// In asynchronous code, because it waits; not if `duration` is zero. On a thread of the
    /// runtime itself, it waits for all of `duration`, and panics if that has no end (as that of
    /// [`Duration::MAX`]).
    #[track_caller]
    pub fn shutdown_timeout(mut self, duration: Duration) {
        self.shut_down(Some(duration));
    }

    /// Shuts the runtime down without waiting for its threads. Asynchronous code may call this.
    pub fn shutdown_background(mut self) {
        self.shut_down(Some(Duration::ZERO));
    }

    #[track_caller]
    fn shut_down(&mut self, timeout: Option<Duration>) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let is_in_a_fork = self.handle.common().is_in_a_fork();
        if is_in_a_fork && self.handle.runtime_flavor() == RuntimeFlavor::MultiThread {
            // There are no workers to wait for, and what they have is not dropped by others.
            return;
        }
        registry::leave(self.handle.id());
        let deadline = timeout.and_then(|timeout| std::time::Instant::now().checked_add(timeout));
        let left = || deadline.map(|d| d.saturating_duration_since(std::time::Instant::now()));
        match &self.handle.scheduler {
            Scheduler::Multi(shared) => shared.shut_down(),
            Scheduler::Current(shared) => current::shut_down(&self.handle, shared),
        }
        if is_in_a_fork {
            // Nor are there threads of the pool.
            return;
        }
        self.handle.common().block_on_timers.close();
        self.handle.common().blocking.shut_down(&self.handle);
        if timeout == Some(Duration::ZERO) {
            return;
        }
        if context::with(Context::entered) == Entered::Yes {
            if crate::primitives::thread::panicking() {
                return;
            }
            // The first words are those by which programs know this panic from others.
            panic!(
                "Cannot drop a runtime in a context where blocking is not allowed: asynchronous \
                 code must not wait for the runtime's threads; call `shutdown_background`, or drop \
                 it inside of `spawn_blocking` of another runtime"
            );
        }
        if deadline.is_none() && self.is_this_thread_its_own() {
            if crate::primitives::thread::panicking() {
                return;
            }
            panic!(
                "Cannot drop a runtime on one of its own threads, for whose end it would wait for \
                 ever: call `shutdown_background`"
            );
        }
        self.handle.common().blocking.wait_over(&self.handle, left());
    }

    /// Whether the runtime's end waits for the calling thread.
    fn is_this_thread_its_own(&self) -> bool {
        let is_visitor = match &self.handle.scheduler {
            Scheduler::Multi(shared) => shared.has_task_of_visitor(),
            Scheduler::Current(_) => false,
        };
        is_visitor || self.handle.common().blocking.is_this_thread_its_own()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.shut_down(None);
    }
}
