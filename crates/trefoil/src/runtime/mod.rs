//! Runtimes: what drives tasks, timers and blocking closures.
//!
//! A [`Runtime`] has one of two schedulers. The *multi-thread* one keeps a run
//! queue per worker thread, and workers without work take from others. The
//! *current-thread* one runs everything on the thread that is in
//! [`Runtime::block_on`], and pays for no synchronisation with anyone.
//!
//! For those who know tokio, [`from_tokio`] says what is different.

mod builder;
pub mod from_tokio;
mod global;
mod handle;
mod histogram;
mod local;
mod metrics;
pub(crate) mod registry;

pub use builder::Builder;
pub use global::global;
pub use handle::{EnterGuard, Handle, RuntimeFlavor, TryCurrentError};
pub use histogram::{
    HistogramConfiguration, InvalidHistogramConfiguration, LogHistogram, LogHistogramBuilder,
};
pub use local::{LocalOptions, LocalRuntime};
pub use metrics::RuntimeMetrics;

pub(crate) use global::global_for_forks;
pub(crate) use handle::NO_RUNTIME;
pub(crate) use histogram::{Histograms, TaskTimes};

use crate::context::{self, Entered};
use crate::scheduler::{Scheduler, current};
use crate::task::JoinHandle;
use std::fmt;
use std::future::Future;
use std::io;
use std::num::NonZeroU64;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// A running scheduler, its blocking pool and its timers.
///
/// Dropping it shuts it down: tasks are dropped at their next `.await`, and the
/// drop waits for the threads, those of blocking tasks that have started
/// included. [`Runtime::shutdown_timeout`] and [`Runtime::shutdown_background`]
/// bound that wait.
///
/// # Panics
/// The drop waits, so it panics in asynchronous code (unless a panic is under
/// way already, when the runtime is left to end by itself).
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
    /// Nothing is left to do on drop.
    is_over: bool,
}

/// Names a runtime, or a [`LocalSet`](crate::task::LocalSet): unique among all of
/// the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(NonZeroU64);

impl Id {
    pub(crate) fn next() -> Self {
        // Never loom's: it orders nothing. Relaxed: only uniqueness matters.
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let id = NEXT.fetch_add(1, crate::primitives::atomic::Relaxed);
        Self(NonZeroU64::new(id).expect("2^64 runtimes"))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// Panics leave none of these half done: no critical section runs foreign code.
impl UnwindSafe for Runtime {}
impl RefUnwindSafe for Runtime {}
impl UnwindSafe for Handle {}
impl RefUnwindSafe for Handle {}
impl UnwindSafe for Builder {}
impl RefUnwindSafe for Builder {}

impl Runtime {
    /// A multi-thread runtime with one worker per core.
    ///
    /// # Errors
    /// The system had no threads to give.
    pub fn new() -> io::Result<Runtime> {
        Builder::new_multi_thread().enable_all().build()
    }

    fn from_handle(handle: Handle) -> Self {
        registry::enter(&handle);
        Self { handle, is_over: false }
    }

    /// A handle that can be given away.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// As [`Handle::spawn`].
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// As [`Handle::spawn_pinned`].
    #[track_caller]
    pub fn spawn_pinned<F>(&self, worker: usize, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn_pinned(worker, future)
    }

    /// As [`Handle::spawn_blocking`].
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(f)
    }

    /// As [`Handle::install`].
    pub fn install<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.handle.install(f)
    }

    /// As [`Handle::install_here`].
    pub fn install_here<F, R>(&self, f: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.handle.install_here(f)
    }

    /// Runs a future on the calling thread until it is done, with this runtime
    /// as its context.
    ///
    /// In a single-threaded runtime, this is what drives all the tasks, too. If
    /// several threads call it, one of them drives, and the others wait for
    /// their futures until it is their turn.
    ///
    /// # Panics
    /// From within asynchronous code, and with the future's own panics.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match &self.handle.scheduler {
            Scheduler::Multi(_) => self.handle.block_on(future),
            Scheduler::Current(shared) => current::block_on(&self.handle, shared, future),
        }
    }

    /// As [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// As [`Handle::metrics`].
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }

    /// Shuts down, and waits for so long at most. Threads that are still in a
    /// blocking closure, or in a task's poll, are left to end by themselves.
    ///
    /// # Panics
    /// In asynchronous code, because it waits.
    #[track_caller]
    pub fn shutdown_timeout(mut self, duration: Duration) {
        self.shut_down(Some(duration));
    }

    /// Shuts down without waiting. This works in asynchronous code as well.
    pub fn shutdown_background(mut self) {
        self.shut_down(Some(Duration::ZERO));
    }

    #[track_caller]
    fn shut_down(&mut self, timeout: Option<Duration>) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        registry::leave(self.handle.id());
        let deadline = timeout.and_then(|timeout| std::time::Instant::now().checked_add(timeout));
        let left = || deadline.map(|d| d.saturating_duration_since(std::time::Instant::now()));
        match &self.handle.scheduler {
            Scheduler::Multi(shared) => shared.shut_down(),
            Scheduler::Current(shared) => current::shut_down(&self.handle, shared),
        }
        self.handle.common().blocking.shut_down();
        if timeout == Some(Duration::ZERO) {
            return;
        }
        if context::with(context::Context::entered) == Entered::Yes {
            if crate::primitives::thread::panicking() {
                return;
            }
            panic!(
                "a runtime was dropped in asynchronous code, which must not wait for the runtime's \
                 threads: call `shutdown_background`, or drop it inside of `spawn_blocking`"
            );
        }
        if let Scheduler::Multi(shared) = &self.handle.scheduler
            && !shared.wait_over(left())
        {
            return;
        }
        self.handle.common().blocking.wait_over(left());
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.shut_down(None);
    }
}
