//! What a runtime calls for its tasks, and does when one panics.

use super::Builder;
use crate::runtime::UnhandledPanic;
use crate::task::hooks::TaskMeta;
use std::sync::Arc;

impl Builder {
    /// Calls `f` for each new task, before its first poll, on the thread that spawns it.
    ///
    /// Tasks of a [`LocalRuntime`](crate::runtime::LocalRuntime) count; closures of the blocking
    /// pool and tasks of other [`LocalSet`](crate::task::LocalSet)s do not. This holds for all
    /// hooks of tasks. Without any, a task costs nothing more.
    ///
    /// A hook runs in the context of the runtime that calls it, whoever spawns the task. If it
    /// spawns, it is called for that task as well. If it panics, the panic is caught.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    /// use trefoil::runtime::Builder;
    ///
    /// let alive = Arc::new(AtomicUsize::new(0));
    /// let (up, down) = (alive.clone(), alive.clone());
    /// let runtime = Builder::new_current_thread()
    ///     .on_task_spawn(move |task| {
    ///         println!("{} is spawned at {}", task.id(), task.spawned_at());
    ///         up.fetch_add(1, Relaxed);
    ///     })
    ///     .on_task_terminate(move |_| drop(down.fetch_sub(1, Relaxed)))
    ///     .build()
    ///     .unwrap();
    /// let task = runtime.spawn(async {});
    /// assert_eq!(alive.load(Relaxed), 1);
    /// runtime.block_on(task).unwrap();
    /// assert_eq!(alive.load(Relaxed), 0);
    /// ```
    pub fn on_task_spawn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.task_hooks.spawn = Some(Arc::new(f));
        self
    }

    /// Calls `f` when a task has ended: it has returned its output, has panicked or was cancelled,
    /// and its future is dropped. Whoever joins the task is woken afterwards. Which tasks count is
    /// said at [`on_task_spawn`](Self::on_task_spawn).
    pub fn on_task_terminate<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.task_hooks.terminate = Some(Arc::new(f));
        self
    }

    /// Calls `f` before each poll of a task, on the thread that polls. Which tasks count is said at
    /// [`on_task_spawn`](Self::on_task_spawn).
    pub fn on_before_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.task_hooks.before_poll = Some(Arc::new(f));
        self
    }

    /// Calls `f` after each poll of a task, also if the poll has panicked. Which tasks count is
    /// said at [`on_task_spawn`](Self::on_task_spawn).
    pub fn on_after_task_poll<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    {
        self.task_hooks.after_poll = Some(Arc::new(f));
        self
    }

    /// What happens when a task panics: nothing, by default, beside that its handle says so.
    ///
    /// With [`UnhandledPanic::ShutdownRuntime`], all tasks of the runtime are dropped after the
    /// poll that has panicked, whether the task's handle exists or not. In a
    /// [`LocalRuntime`](crate::runtime::LocalRuntime), these are its local tasks and the others,
    /// and the panic of either ends both. All calls of
    /// [`block_on`](crate::runtime::Runtime::block_on) panic, those that wait and later ones,
    /// without another poll of their futures, and further tasks are cancelled. This is meant for
    /// tests, in which a panic should not go unseen.
    ///
    /// # Panics
    /// If a multi-thread runtime is to shut down: only a single thread can do so at once.
    ///
    /// ```should_panic
    /// use trefoil::runtime::{Builder, UnhandledPanic};
    ///
    /// let runtime = Builder::new_current_thread()
    ///     .unhandled_panic(UnhandledPanic::ShutdownRuntime)
    ///     .build()
    ///     .unwrap();
    /// runtime.spawn(async { panic!("nobody joins this task") });
    /// runtime.block_on(std::future::pending::<()>());
    /// ```
    #[track_caller]
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        let ends = behavior == UnhandledPanic::ShutdownRuntime;
        assert!(
            !(ends && self.is_multi),
            "`UnhandledPanic::ShutdownRuntime` needs `Builder::new_current_thread`"
        );
        self.task_hooks.ends_with_panic = ends;
        self
    }
}
