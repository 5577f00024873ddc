//! What a runtime calls at certain moments of its tasks' lives.

use super::{Id, discard};
use crate::primitives::atomic::{AtomicBool, Relaxed};
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

/// A task, as the hooks of its runtime see it: see
/// [`Builder::on_task_spawn`](crate::runtime::Builder::on_task_spawn).
#[derive(Clone, Copy, Debug)]
pub struct TaskMeta<'a> {
    pub(super) id: Id,
    pub(super) spawned_at: &'static Location<'static>,
    pub(super) name: Option<&'a str>,
}

impl TaskMeta<'_> {
    /// The task's id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Where in the source the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// The task's name, if a [`task::Builder`](crate::task::Builder) gave it one.
    pub fn name(&self) -> Option<&str> {
        self.name
    }
}

pub(crate) type TaskHook = Option<Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>>;

/// The user's functions that are called for tasks, and what is to happen when one panics.
#[derive(Default)]
pub(crate) struct TaskHooks {
    pub(crate) spawn: TaskHook,
    pub(crate) terminate: TaskHook,
    pub(crate) before_poll: TaskHook,
    pub(crate) after_poll: TaskHook,
    /// A task that panics ends its scheduler.
    pub(crate) ends_with_panic: bool,
    pub(crate) end: End,
}

/// Whether a task has panicked whose panic ends its scheduler. All clones are about the same one.
///
/// The thread that polls the scheduler's tasks writes this, and looks at it when the poll is over.
/// What other threads wait for comes later: the cancellation of a task, or the right to poll. They
/// synchronize with either, and so see this as well.
#[derive(Clone, Debug, Default)]
pub(crate) struct End(Arc<AtomicBool>);

impl End {
    fn begin(&self) {
        // Relaxed: see the type.
        self.0.store(true, Relaxed);
    }

    pub(crate) fn has_begun(&self) -> bool {
        // Relaxed: see the type.
        self.0.load(Relaxed)
    }
}

impl TaskHooks {
    /// Those of a scheduler that ends when a task panics.
    pub(crate) fn for_panics(end: End) -> Self {
        Self { ends_with_panic: true, end, ..Self::default() }
    }

    /// The same hooks for another scheduler. None if there is nothing to call.
    pub(crate) fn for_another(&self) -> Option<Arc<Self>> {
        let hooks = [&self.spawn, &self.terminate, &self.before_poll, &self.after_poll];
        let any = self.ends_with_panic || hooks.iter().any(|hook| hook.is_some());
        any.then(|| {
            Arc::new(Self {
                spawn: self.spawn.clone(),
                terminate: self.terminate.clone(),
                before_poll: self.before_poll.clone(),
                after_poll: self.after_poll.clone(),
                ends_with_panic: self.ends_with_panic,
                end: End::default(),
            })
        })
    }

    pub(super) fn task_panicked(&self) {
        if self.ends_with_panic {
            self.end.begin();
        }
    }
}

/// Calls a hook, and catches its panic, which is not the task's. Its message was printed.
pub(super) fn call(hook: &TaskHook, task: &TaskMeta<'_>) {
    if let Some(hook) = hook
        && let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook(task)))
    {
        discard(payload);
    }
}

impl fmt::Debug for TaskHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHooks").finish_non_exhaustive()
    }
}
