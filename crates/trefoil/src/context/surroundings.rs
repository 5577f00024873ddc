//! What a thread is doing for the runtime: to compare, and to take along to another stack.

use super::stack::{Node, Segment};
use super::{BlockOn, Context, Entered, Local, Scope, with};
use crate::fork_join;
use crate::scheduler::Handle;
use crate::scheduler::{current, multi};
use crate::task::{Header, LocalShared};
use std::cell::Cell;
use std::ptr::NonNull;

/// What a fiber compares when it waits with what there was when it was resumed.
///
/// Most of the time nobody has entered or left anything in between, which the thread's count of
/// changes tells.
#[derive(Debug)]
pub(crate) struct Before {
    surroundings: Cell<Surroundings>,
    layers: Cell<Layers>,
    /// The count when these were noted.
    changes: Cell<u64>,
}

impl Before {
    pub(crate) fn new(context: &Context) -> Self {
        Self {
            surroundings: Cell::new(context.surroundings()),
            layers: Cell::new(context.layers()),
            changes: Cell::new(context.changes.get()),
        }
    }

    /// The fiber is resumed. Its task is always the same.
    #[inline(always)]
    pub(crate) fn note(&self, context: &Context) {
        if self.changes.get() != context.changes.get() {
            self.note_anew(context);
        }
        debug_assert_eq!(self.surroundings.get(), context.surroundings());
        debug_assert!(self.layers.get().are_on_top(context));
    }

    #[cold]
    fn note_anew(&self, context: &Context) {
        self.surroundings.set(context.surroundings());
        self.layers.set(context.layers());
        self.changes.set(context.changes.get());
    }

    /// Whether nothing was entered or left since, so that the stack may be left, and nothing has
    /// to be taken along.
    #[inline(always)]
    pub(crate) fn is_unchanged(&self, context: &Context, task: NonNull<Header>) -> bool {
        let is_unchanged =
            self.changes.get() == context.changes.get() && Some(task) == context.task.get();
        debug_assert!(!is_unchanged || self.may_leave(context));
        debug_assert!(!is_unchanged || self.layers.get().are_on_top(context));
        is_unchanged
    }

    /// Whether the thread is in nothing that it has entered since, save for what may be taken
    /// along.
    pub(crate) fn may_leave(&self, context: &Context) -> bool {
        self.surroundings.get() == context.surroundings() && self.layers.get().may_detach(context)
    }

    /// Whether the thread has entered nothing since, save for runtimes and scopes, and for a fork
    /// for which it has taken a deque (`fork_join/install.rs`). By itself, a deque changes for
    /// nothing else: whoever becomes another worker or none, which has another deque or none,
    /// changes `worker` as well.
    pub(crate) fn is_there(&self, context: &Context) -> bool {
        let now = context.surroundings();
        Surroundings { fork: now.fork, ..self.surroundings.get() } == now
    }

    pub(crate) fn layers(&self) -> Layers {
        self.layers.get()
    }
}

/// In what of the runtime's code a thread is: two of them are equal if the thread has entered
/// nothing in between that it has not left, and left nothing that it had entered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Surroundings {
    task: Option<NonNull<Header>>,
    entered: Entered,
    worker: *const multi::WorkerThread,
    current: *const current::Driver,
    fork: *const fork_join::Deque,
    block_on: *const BlockOn,
    local: *const LocalShared,
}

impl Context {
    fn surroundings(&self) -> Surroundings {
        Surroundings {
            task: self.task.get(),
            entered: self.entered.get(),
            worker: self.worker.get(),
            current: self.current.get(),
            fork: self.fork.get(),
            block_on: self.block_on.get(),
            local: self.local(),
        }
    }

    fn layers(&self) -> Layers {
        let (handles, locals) = (self.handles.top(), self.locals.top());
        let (scopes, borrows) = (self.scopes.stack.top(), self.scopes.borrows.get());
        Layers { handles, locals, scopes, borrows }
    }
}

/// Which runtimes, sets of local tasks, and scopes of task-locals were entered when a fiber was
/// resumed.
///
/// A set that was entered since by code on the fiber's stack keeps the fiber from leaving that
/// (`Before::may_leave`). One that is entered when a poll has ended is by a guard that the polled
/// future keeps, and is taken along.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layers {
    handles: *const Node<Handle>,
    locals: *const Node<Local>,
    scopes: *const Node<*const dyn Scope>,
    borrows: u32,
}

/// What a fiber has entered on top of the layers in which it was resumed. It is the fiber's, and
/// not that of the tasks that run on the thread while the fiber waits: it comes back on drop.
#[derive(Debug)]
#[must_use]
pub(crate) struct Detached {
    handles: Option<Segment<Handle>>,
    locals: Option<Segment<Local>>,
    scopes: Option<Segment<*const dyn Scope>>,
}

impl Layers {
    /// Whether no task-local was borrowed since. Others could not enter its scopes.
    fn may_detach(self, context: &Context) -> bool {
        context.scopes.borrows.get() == self.borrows
    }

    /// Whether nothing has been entered on top of these, so that there is nothing to detach.
    #[inline(always)]
    pub(crate) fn are_on_top(self, context: &Context) -> bool {
        context.handles.top() == self.handles
            && context.locals.top() == self.locals
            && context.scopes.stack.top() == self.scopes
    }

    #[cold]
    pub(crate) fn detach(self) -> Detached {
        with(|context| {
            context.count_change();
            let scopes = context.scopes.stack.cut(self.scopes);
            for scope in scopes.iter().flat_map(Segment::values) {
                // SAFETY: `in_scope` is on the stack, and keeps it.
                unsafe { &*scope }.leave();
            }
            let handles = context.handles.cut(self.handles);
            Detached { handles, locals: context.locals.cut(self.locals), scopes }
        })
    }
}

impl Drop for Detached {
    #[cold]
    fn drop(&mut self) {
        with(|context| {
            context.count_change();
            if let Some(handles) = &self.handles {
                context.handles.put_back(handles);
            }
            if let Some(locals) = &self.locals {
                context.locals.put_back(locals);
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
