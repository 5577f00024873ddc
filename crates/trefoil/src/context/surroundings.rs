//! What a thread is doing for the runtime: to compare, and to take along to another stack.

use super::closures::{Running, is_deque_shared};
use super::stack::{Node, Segment};
use super::{BlockOn, Context, Entered, Local, Scope, taken_closure_waits, with};
use crate::fork_join::{self, Deque};
use crate::scheduler::Handle;
use crate::scheduler::{current, multi};
use crate::task::coop::Budget;
use crate::task::{Blocking, Header, LocalShared};
use std::cell::Cell;
use std::ptr::{self, NonNull};

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
        Surroundings { fork: now.fork, blocking: now.blocking, ..self.surroundings.get() } == now
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
    fork: *const Deque,
    block_on: *const BlockOn,
    blocking: *const Blocking,
    local: *const LocalShared,
}

/// What a fiber takes along that waits in a closure of a fork, or in `block_in_place`: with
/// [`Before::pack`], and back with [`Before::unpack`].
///
/// - *The thread's deque*, if it holds jobs, or if the closure was taken from another fork, whose
///   owner knows the thief by its deque, and steals back from that while it waits: all that is in
///   there has to be a part of what it waits for (`fork_join/wait.rs`). The jobs are in frames of
///   the fiber's stack, which joins them, each with the deque that it has pushed them to; a fork
///   that is begun on another stack would lie on top of them. So the deque is the fiber's until it
///   is back, and the thread takes another. When the fiber is back, that one is empty, since
///   whoever has run meanwhile has joined its forks or taken its deque along as well; so it is
///   given back, and the thread goes on with that of the fiber. Thieves find either by its place in
///   the table, and the jobs are published, for others to run meanwhile.
/// - *That the closure is another fork's*, and runs on this stack while its fiber waits for a thief
///   (`WorkerThread::leapfrog`).
/// - *That the thread blocks in place*. The offer of the worker's state ends, and begins anew.
///
/// A frame that has forked uses its deque until it has joined what it has forked, and no longer
/// (`fork_join`): if no job is in the deque, no frame on the stack pushes or pops another one.
#[must_use = "it is put back by `unpack`"]
pub(crate) struct Baggage {
    surroundings: Surroundings,
    taken: Option<NonNull<Running>>,
    blocking: *const Blocking,
    forks: multi::Forks,
    deque: Carried,
    /// There is no budget in `block_in_place`, nor in a closure that was taken: what blocks the
    /// thread there by itself would wait for ever for somebody to renew it.
    has_budget: bool,
}

/// Which deque a fiber takes along.
enum Carried {
    /// None: it is empty, and stays the thread's.
    None,
    /// One that it has taken for a fork on a thread without one, and gives back after that
    /// (`fork_join/install.rs`).
    Late,
    /// The thread's, which has this one instead, or another for which that is exchanged in turn. It
    /// has none (null) if none was free.
    Exchanged(*const Deque),
}

impl Before {
    /// Whether the thread has entered nothing since but what may be taken along as [`Baggage`].
    pub(crate) fn may_pack(&self, context: &Context) -> bool {
        let (then, now) = (self.surroundings.get(), context.surroundings());
        // As `Stolen::run_apart` has it.
        let is_apart = now.task.is_none() && context.taken.get().is_some();
        // One that the thread has taken late (`fork_join/install.rs`).
        let is_late = then.fork.is_null();
        let may_be = Surroundings {
            task: if is_apart { None } else { then.task },
            // A future that is polled there must not block, and code that it calls may wait.
            entered: if context.blocking.get().is_null() { then.entered } else { now.entered },
            fork: if is_late { now.fork } else { then.fork },
            blocking: now.blocking,
            ..then
        };
        may_be == now
            && self.layers.get().may_detach_own(context)
            && context.worker().is_some_and(multi::WorkerThread::may_take_forks_along)
    }

    /// The fiber is about to leave its stack, where it [may pack](Self::may_pack).
    pub(crate) fn pack(&self, context: &Context) -> Baggage {
        let Some(worker) = context.worker() else {
            unreachable!("a fiber runs on a worker's thread")
        };
        let (then, now) = (self.surroundings.get(), context.surroundings());
        let deque = if now.fork != then.fork {
            Carried::Late
        } else if now.fork.is_null() || fork_join::is_joined() && !is_deque_shared() {
            Carried::None
        } else {
            Carried::Exchanged(worker.deques().exchange().map_or(ptr::null(), ptr::from_ref))
        };
        fork_join::publish_all();
        taken_closure_waits();
        let blocking = context.blocking.replace(std::ptr::null());
        // SAFETY: it is in the frame of `block_in_place`, which is on this stack.
        unsafe { blocking.as_ref() }.into_iter().for_each(Blocking::pause);
        context.count_change();
        context.task.set(then.task);
        context.entered.set(then.entered);
        context.fork.set(match deque {
            Carried::Exchanged(another) => another,
            Carried::Late | Carried::None => then.fork,
        });
        Baggage {
            surroundings: now,
            taken: context.taken.take(),
            blocking,
            forks: worker.take_forks_along(),
            deque,
            has_budget: context.budget.get() != Budget::UNLIMITED,
        }
    }

    /// The fiber is back on its stack.
    pub(crate) fn unpack(&self, context: &Context, baggage: Baggage) {
        let Baggage { surroundings: now, taken, blocking, forks, deque, has_budget } = baggage;
        let Some(worker) = context.worker() else {
            unreachable!("a fiber is resumed by a worker's thread")
        };
        context.count_change();
        match deque {
            // The thread may have another one by now than it had then, for which other fibers have
            // exchanged that.
            Carried::None => {}
            Carried::Late | Carried::Exchanged(_) => {
                let idle = context.fork.replace(now.fork);
                // The thread has the fiber's from here on; or it has none, after the fork for which
                // the fiber has taken this one.
                let is_late = matches!(deque, Carried::Late);
                let its = if is_late { ptr::null() } else { now.fork };
                self.surroundings.set(Surroundings { fork: its, ..self.surroundings.get() });
                // SAFETY: the thread's deques are all of its scheduler's table, and live as long.
                if let Some(idle) = unsafe { idle.as_ref() } {
                    // SAFETY: it was this thread's, until here.
                    unsafe { worker.deques().put_back(idle) };
                }
            }
        }
        worker.put_back_forks(forks);
        // SAFETY: as in `pack`.
        unsafe { blocking.as_ref() }.into_iter().for_each(Blocking::resume);
        context.blocking.set(blocking);
        context.taken.set(taken);
        context.task.set(now.task);
        context.entered.set(now.entered);
        if !has_budget {
            context.budget.set(Budget::UNLIMITED);
        }
    }
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
            blocking: self.blocking.get(),
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
    /// Whether no task-local was borrowed since.
    fn may_detach(self, context: &Context) -> bool {
        context.scopes.borrows.get() == self.borrows
    }

    /// Whether no task-local was borrowed since whose scope stays when this is detached: there is
    /// none below, or nothing was borrowed.
    fn may_detach_own(self, context: &Context) -> bool {
        self.scopes.is_null() || self.may_detach(context)
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
