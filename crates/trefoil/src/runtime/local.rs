use super::{Builder, EnterGuard, Handle, Runtime, RuntimeMetrics};
use crate::task::{JoinHandle, LocalSet};
use std::future::Future;
use std::io;
use std::time::Duration;

/// Options for [`Builder::build_local`]; none so far.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LocalOptions {}

/// A single-threaded runtime that stays on its thread, so that its tasks need
/// not be `Send`.
///
/// [`spawn_local`](crate::task::spawn_local) works everywhere in it. It is a
/// current-thread [`Runtime`] with a [`LocalSet`] of its own.
#[derive(Debug)]
pub struct LocalRuntime {
    /// Gone once the drop has begun.
    set: Option<LocalSet>,
    runtime: Runtime,
}

impl LocalRuntime {
    /// A runtime with timers.
    ///
    /// # Errors
    /// None at present.
    pub fn new() -> io::Result<Self> {
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
    }

    pub(super) fn from_runtime(runtime: Runtime) -> Self {
        let set = LocalSet::new();
        if runtime.handle().is_measured() {
            set.measure();
        }
        Self { set: Some(set), runtime }
    }

    fn set(&self) -> &LocalSet {
        self.set.as_ref().expect("it is taken on drop only")
    }

    /// A handle that can be given away. What is spawned through it has to be
    /// `Send`.
    pub fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Spawns a task that need not be `Send`.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.set().spawn_local(future)
    }

    /// As [`Handle::spawn_blocking`].
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.runtime.spawn_blocking(f)
    }

    /// As [`Runtime::block_on`], for local tasks as well.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _set = self.set().enter();
        self.set().block_on(&self.runtime, future)
    }

    /// As [`Handle::metrics`]. Local tasks count as those of worker 0.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.runtime.metrics()
    }

    /// As [`Handle::enter`]; and `spawn_local` spawns into this runtime.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.runtime.handle().enter_with(Some(self.set().enter()))
    }

    /// As [`Runtime::shutdown_timeout`].
    #[track_caller]
    pub fn shutdown_timeout(mut self, duration: Duration) {
        self.drop_set();
        self.runtime.shut_down(Some(duration));
    }

    /// As [`Runtime::shutdown_background`].
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }

    /// Drops the local tasks, whose destructors may use the runtime.
    fn drop_set(&mut self) {
        let _runtime = self.runtime.enter();
        self.set = None;
    }
}

impl Drop for LocalRuntime {
    fn drop(&mut self) {
        self.drop_set();
    }
}
