use super::super::Builder as TaskBuilder;
use super::{AbortHandle, Handle, JoinSet, LocalSet};
use std::fmt;
use std::future::Future;
use std::io;

/// Spawns a task into a [`JoinSet`]: see [`JoinSet::build_task`].
#[must_use = "a builder spawns nothing by itself"]
pub struct Builder<'a, T> {
    set: &'a mut JoinSet<T>,
    task: TaskBuilder<'a>,
}

impl<'a, T: 'static> Builder<'a, T> {
    pub(super) fn new(set: &'a mut JoinSet<T>) -> Self {
        Self { set, task: TaskBuilder::new() }
    }

    /// Names the task: see [`task::Builder`](crate::task::Builder).
    pub fn name(self, name: &'a str) -> Self {
        Self { task: self.task.name(name), ..self }
    }

    /// As [`JoinSet::spawn`].
    ///
    /// # Errors
    /// None at present.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        let task = self.task.spawn(future)?;
        Ok(self.set.insert(task))
    }

    /// As [`JoinSet::spawn_on`].
    ///
    /// # Errors
    /// None at present.
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        let task = self.task.spawn_on(future, handle)?;
        Ok(self.set.insert(task))
    }

    /// As [`JoinSet::spawn_local`].
    ///
    /// # Errors
    /// None at present.
    ///
    /// # Panics
    /// Outside of a [`LocalSet`].
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        let task = self.task.spawn_local(future)?;
        Ok(self.set.insert(task))
    }

    /// As [`JoinSet::spawn_local_on`].
    ///
    /// # Errors
    /// None at present.
    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, set: &LocalSet) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        let task = self.task.spawn_local_on(future, set)?;
        Ok(self.set.insert(task))
    }

    /// As [`JoinSet::spawn_blocking`].
    ///
    /// # Errors
    /// If the runtime has shut down, or if the pool has no thread and the system cannot start one.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn_blocking<F>(self, f: F) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        let task = self.task.spawn_blocking(f)?;
        Ok(self.set.insert(task))
    }

    /// As [`JoinSet::spawn_blocking_on`].
    ///
    /// # Errors
    /// If the runtime has shut down, or if the pool has no thread and the system cannot start one.
    pub fn spawn_blocking_on<F>(self, f: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        let task = self.task.spawn_blocking_on(f, handle)?;
        Ok(self.set.insert(task))
    }
}

impl<T> fmt::Debug for Builder<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("set", &self.set).field("task", &self.task).finish()
    }
}
