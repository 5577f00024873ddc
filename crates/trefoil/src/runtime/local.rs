use super::{Builder, EnterGuard, Handle, Runtime, RuntimeMetrics};
use crate::context::{self, HandleGuard};
use crate::task::{JoinHandle, LocalEnterGuard, LocalSet};
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// Options for [`Builder::build_local`]. There are none so far.
///
/// They stay on their thread:
///
/// ```compile_fail,E0277
/// fn is_send(_: impl Send) {}
/// is_send(trefoil::runtime::LocalOptions::default());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LocalOptions {
    /// Options that are bound to a thread may come.
    _is_local: PhantomData<*mut u8>,
}

/// A current-thread runtime that stays on its thread, so that its tasks need not be `Send`.
///
/// It is a current-thread [`Runtime`] with a [`LocalSet`] of its own, so
/// [`spawn_local`](crate::task::spawn_local) works everywhere inside of it. The drop first drops
/// the local tasks and then shuts the runtime down, as the drop of a [`Runtime`] does.
///
/// # Panics
/// The drop panics in asynchronous code, because it waits.
#[derive(Debug)]
pub struct LocalRuntime {
    /// None once the drop or a shutdown has begun.
    set: Option<LocalSet>,
    runtime: Runtime,
    /// Kept once the set was dropped, and longer than the runtime: what the destructors of the
    /// runtime's tasks spawn into the set is cancelled.
    left: Option<LocalEnterGuard>,
}

// A panic leaves it in no inconsistent state: no change of the set or the runtime that is half done
// runs foreign code.
impl UnwindSafe for LocalRuntime {}
impl RefUnwindSafe for LocalRuntime {}

impl LocalRuntime {
    /// Makes a runtime with timers.
    ///
    /// # Errors
    /// None at present: no thread is started.
    pub fn new() -> io::Result<Self> {
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
    }

    pub(super) fn from_runtime(runtime: Runtime) -> Self {
        let set = LocalSet::for_runtime(runtime.handle());
        let is_new = runtime.handle().common().local.set(set.of_runtime()).is_ok();
        debug_assert!(is_new);
        Self { set: Some(set), runtime, left: None }
    }

    fn set(&self) -> &LocalSet {
        self.set.as_ref().expect("it is taken on drop only")
    }

    /// A handle to this runtime, which can be sent to other threads. What is spawned through the
    /// handle has to be `Send`. On the runtime's own thread, its `enter` and `block_on` take
    /// [`spawn_local`](crate::task::spawn_local) as well.
    pub fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Spawns a task that need not be `Send`. The task runs while the thread is in
    /// [`block_on`](Self::block_on).
    ///
    /// # Cancellation safety
    /// The task runs on when its handle is dropped.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.set().spawn_local(future)
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
        self.runtime.spawn_blocking(f)
    }

    /// Runs a future to its end on this thread, and the local tasks with it: see
    /// [`Runtime::block_on`].
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block; and with the future's own panic.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _set = self.set().enter();
        let _ends = EndsTogether(self);
        self.set().block_on(&self.runtime, future)
    }

    /// The runtime's counters: see [`RuntimeMetrics`]. Polls of local tasks count for worker 0.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.runtime.metrics()
    }

    /// Makes this the current runtime of the thread until the guard is dropped: see
    /// [`Handle::enter`].
    /// [`spawn_local`](crate::task::spawn_local) then spawns into this runtime.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }

    /// Drops the local tasks, shuts the runtime down and waits for its threads, for `duration` at
    /// most: see [`Runtime::shutdown_timeout`].
    ///
    /// # Panics
    /// In asynchronous code, because it waits; not if `duration` is zero.
    #[track_caller]
    pub fn shutdown_timeout(mut self, duration: Duration) {
        self.drop_set();
        self.runtime.shut_down(Some(duration));
    }

    /// Drops the local tasks and shuts the runtime down without waiting for its threads: see
    /// [`Runtime::shutdown_background`].
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }

    /// Drops the local tasks, whose destructors may use the runtime.
    fn drop_set(&mut self) {
        let _runtime = enter_for_destructors(self.runtime.handle());
        if let Some(set) = self.set.take() {
            self.left = Some(set.enter());
        }
    }
}

/// Enters a runtime whose local tasks are dropped: their destructors may use it. Not as
/// [`Handle::enter`] does, which would panic if one of them leaks a guard.
fn enter_for_destructors(runtime: &Handle) -> (HandleGuard, Option<LocalEnterGuard>) {
    (context::enter_handle(runtime.clone()), runtime.common().enter_local())
}

/// The panic of a task that ends the runtime ends its set as well. (The other way round, the driver
/// sees to it when it is given back.)
struct EndsTogether<'a>(&'a LocalRuntime);

impl Drop for EndsTogether<'_> {
    fn drop(&mut self) {
        let runtime = self.0.runtime.handle();
        if runtime.common().has_ended() {
            let _runtime = enter_for_destructors(runtime);
            self.0.set().end();
        }
    }
}

impl Drop for LocalRuntime {
    fn drop(&mut self) {
        self.drop_set();
    }
}

impl LocalSet {
    /// Runs `future` and the set's tasks on `runtime`, until `future` is done.
    ///
    /// # Panics
    /// As [`Runtime::block_on`].
    #[track_caller]
    pub fn block_on<F: Future>(&self, runtime: &Runtime, future: F) -> F::Output {
        runtime.block_on(self.run_until(future))
    }
}
