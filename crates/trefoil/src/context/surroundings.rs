//! What a thread is doing for the runtime: to compare, and to take along to another stack.

use super::stack::{Node, Segment};
use super::{BlockOn, Context, Entered, Scope, with};
use crate::fork_join;
use crate::scheduler::Handle;
use crate::scheduler::{current, multi};
use crate::task::{Header, LocalShared};
use std::ptr::NonNull;

/// In what of the runtime's code a thread is: two of them are equal if the thread has entered
/// nothing in between that it has not left, and left nothing that it had entered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Surroundings {
    task: Option<NonNull<Header>>,
    entered: Entered,
    worker: *const multi::WorkerThread,
    current: *const current::Driver,
    fork: *const fork_join::Deque,
    block_on: *const BlockOn,
    local: *const LocalShared,
    local_drops: bool,
}

impl Context {
    #[inline(always)]
    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings {
            task: self.task.get(),
            entered: self.entered.get(),
            worker: self.worker.get(),
            current: self.current.get(),
            fork: self.fork.get(),
            block_on: self.block_on.get(),
            local: self.local(),
            local_drops: self.local_drops.get(),
        }
    }

    #[inline(always)]
    pub(crate) fn layers(&self) -> Layers {
        let (handles, scopes) = (self.handles.top(), self.scopes.stack.top());
        Layers { handles, scopes, borrows: self.scopes.borrows.get() }
    }
}

/// Which runtimes were entered, and which scopes of task-locals, when a fiber was resumed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layers {
    handles: *const Node<Handle>,
    scopes: *const Node<*const dyn Scope>,
    borrows: u32,
}

/// What a fiber has entered on top of the layers in which it was resumed. It is the fiber's, and
/// not that of the tasks that run on the thread while the fiber waits: it comes back on drop.
#[derive(Debug)]
#[must_use]
pub(crate) struct Detached {
    handles: Option<Segment<Handle>>,
    scopes: Option<Segment<*const dyn Scope>>,
}

impl Layers {
    /// Whether no task-local was borrowed since. Others could not enter its scopes.
    #[inline(always)]
    pub(crate) fn may_detach(self, context: &Context) -> bool {
        context.scopes.borrows.get() == self.borrows
    }

    /// Whether nothing has been entered on top of these, so that there is nothing to detach.
    #[inline(always)]
    pub(crate) fn are_on_top(self, context: &Context) -> bool {
        context.handles.top() == self.handles && context.scopes.stack.top() == self.scopes
    }

    #[cold]
    pub(crate) fn detach(self) -> Detached {
        with(|context| {
            let scopes = context.scopes.stack.cut(self.scopes);
            for scope in scopes.iter().flat_map(Segment::values) {
                // SAFETY: `in_scope` is on the stack, and keeps it.
                unsafe { &*scope }.leave();
            }
            Detached { handles: context.handles.cut(self.handles), scopes }
        })
    }
}

impl Drop for Detached {
    #[cold]
    fn drop(&mut self) {
        with(|context| {
            if let Some(handles) = &self.handles {
                context.handles.put_back(handles);
            }
            let Some(scopes) = &self.scopes else { return };
            context.scopes.stack.put_back(scopes);
            for scope in scopes.values().into_iter().rev() {
                // SAFETY: `in_scope` is on the stack, and keeps it.
                unsafe { &*scope }.enter();
            }
        });
    }
}
