//! The task that a thread is inside of, for the time of a poll, and which thread that is.

use super::{Context, with};
use crate::primitives::thread::{self, ThreadId};
use crate::task::Header;
use crate::task::coop::Budget;
use std::ptr::NonNull;

/// The thread's id. `std` takes two RMWs to find it; this takes them once.
#[inline]
pub(crate) fn thread_id() -> ThreadId {
    with(|context| {
        let id = context.thread_id.get().unwrap_or_else(thread::own_id);
        context.thread_id.set(Some(id));
        id
    })
}

/// One task inside of this thread, from `enter_task` to `leave`.
#[derive(Debug)]
#[must_use]
pub(crate) struct TaskScope {
    before: Option<NonNull<Header>>,
    budget: Budget,
    /// Of a task around this one, which may be polling a set of local tasks.
    yielded: bool,
}

#[inline(always)]
pub(crate) fn enter_task(task: NonNull<Header>) -> TaskScope {
    with(|context| context.enter_task(task))
}

impl Context {
    #[inline(always)]
    pub(crate) fn enter_task(&self, task: NonNull<Header>) -> TaskScope {
        TaskScope {
            yielded: self.yielded.replace(false),
            before: self.task.replace(Some(task)),
            budget: self.budget.replace(Budget::FULL),
        }
    }
}

impl TaskScope {
    /// Returns whether the task yielded. A panic never skips this, because the functions that run
    /// in between catch panics.
    #[inline(always)]
    pub(crate) fn leave(self) -> bool {
        with(|context| self.leave_in(context))
    }

    /// The same on the thread whose context that is, which entered the task.
    #[inline(always)]
    pub(crate) fn leave_in(self, context: &Context) -> bool {
        context.task.set(self.before);
        context.budget.set(self.budget);
        context.yielded.replace(self.yielded)
    }
}
