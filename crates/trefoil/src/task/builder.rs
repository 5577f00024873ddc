use super::local::spawn_local_from;
use super::spawn::spawn_from;
use super::{JoinHandle, LocalSet, Origin};
use crate::scheduler::{Handle, blocking};
use std::future::Future;
use std::io;

/// Spawns tasks that have a name.
///
/// The hooks of a runtime see the name: see [`TaskMeta::name`](crate::runtime::TaskMeta::name). In
/// a runtime without hooks, it is not kept, and costs nothing.
///
/// ```
/// use trefoil::runtime;
/// use trefoil::task;
///
/// # fn main() -> std::io::Result<()> {
/// let runtime = runtime::Builder::new_current_thread()
///     .on_task_spawn(|task| assert_eq!(task.name(), Some("miller")))
///     .build()?;
/// let task = task::Builder::new().name("miller").spawn_on(async { 7 }, runtime.handle())?;
/// assert_eq!(runtime.block_on(task).unwrap(), 7);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Builder<'a> {
    name: Option<&'a str>,
}

impl<'a> Builder<'a> {
    /// A builder for tasks without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the task.
    pub fn name(&self, name: &'a str) -> Self {
        Self { name: Some(name) }
    }

    /// Spawns a task into the current runtime: see [`task::spawn`](super::spawn()).
    ///
    /// # Errors
    /// None at present.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Ok(spawn_from(future, Origin::here(self.name)))
    }

    /// Spawns a task into a runtime: see [`Handle::spawn`].
    ///
    /// # Errors
    /// None at present.
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Ok(handle.spawn_with(future, None, Origin::here(self.name)))
    }

    /// Spawns a task into the current set of local tasks: see
    /// [`task::spawn_local`](super::spawn_local).
    ///
    /// # Errors
    /// None at present.
    ///
    /// # Panics
    /// Outside of a [`LocalSet`].
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        Ok(spawn_local_from(future, Origin::here(self.name)))
    }

    /// Spawns a task into a set of local tasks: see [`LocalSet::spawn_local`].
    ///
    /// # Errors
    /// None at present.
    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, set: &LocalSet) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        Ok(set.spawn_from(future, Origin::here(self.name)))
    }

    /// Runs a closure that may block on a thread of the blocking pool: see
    /// [`task::spawn_blocking`](super::spawn_blocking). No hook is called for it, so its name is
    /// not seen.
    ///
    /// # Errors
    /// If the runtime has shut down, or if the pool has no thread and the system cannot start one.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn_blocking<F, R>(self, f: F) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.spawn_blocking_on(f, &Handle::current())
    }

    /// Runs a closure that may block on a thread of a runtime's blocking pool: see
    /// [`spawn_blocking`](Self::spawn_blocking).
    ///
    /// # Errors
    /// If the runtime has shut down, or if the pool has no thread and the system cannot start one.
    pub fn spawn_blocking_on<F, R>(self, f: F, handle: &Handle) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        blocking::try_spawn(handle, f)
    }
}
