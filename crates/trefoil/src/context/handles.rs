//! The runtimes that a thread has entered.

use super::stack::{Node, Pin};
use super::{Context, with, without_local};
use crate::primitives::thread;
use crate::scheduler::{Handle, Id};

impl Context {
    /// The innermost runtime. Code that calls foreign code may only use the reference while the
    /// handles are pinned, because foreign code may leave the runtime.
    #[inline(always)]
    pub(crate) fn handle(&self) -> Option<&Handle> {
        // SAFETY: the handle is valid until its guard is dropped on this thread. That does not
        // happen while the reference is in use, by the rule above.
        unsafe { self.handles.newest().as_ref() }
    }

    /// Keeps the handle that `handle` returns from being freed.
    #[inline(always)]
    pub(crate) fn pin_handles(&self) -> Pin<'_, Handle> {
        self.handles.pin()
    }
}

/// The innermost runtime's handle, by value.
pub(crate) fn current_handle() -> Option<Handle> {
    with(|context| context.handle().cloned())
}

/// The innermost runtime, if it has timers.
#[inline]
pub(crate) fn runtime_with_time() -> Option<Id> {
    with(|context| {
        let common = context.handle()?.common();
        common.has_time.then_some(common.id)
    })
}

/// Makes a runtime the thread's innermost one until the guard is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct HandleGuard {
    /// From `Box::into_raw`, and on the stack of this thread.
    node: *const Node<Handle>,
    /// Whether the guard must be the newest when it is dropped.
    is_strict: bool,
}

/// For frames.
pub(crate) fn enter_handle(handle: Handle) -> HandleGuard {
    let node = Box::into_raw(Box::new(Node::new(handle))).cast_const();
    with(|context| {
        context.count_change();
        // SAFETY: new, and not freed before the guard has unlinked it.
        unsafe { context.handles.link(node) };
    });
    HandleGuard { node, is_strict: false }
}

/// The same for users, whose guards have to be dropped in order.
pub(crate) fn enter_handle_strictly(handle: Handle) -> HandleGuard {
    let mut guard = enter_handle(handle);
    guard.is_strict = true;
    guard
}

impl Drop for HandleGuard {
    fn drop(&mut self) {
        let was_newest = with(|context| {
            context.count_change();
            // SAFETY: the guard's node is live.
            let was_newest = unsafe { context.handles.unlink(self.node) };
            // SAFETY: made by `enter_handle`, unlinked, and the guard's alone.
            unsafe { context.handles.free(self.node) };
            was_newest
        });
        if self.is_strict && !was_newest && !thread::panicking() {
            panic!(
                "an `EnterGuard` was dropped before a newer one of its thread: drop the guards of \
                 `Handle::enter` in the reverse order of their making"
            );
        }
    }
}

/// As [`enter_handle`], unless the runtime is the innermost one already.
pub(crate) fn enter_handle_if_outside(handle: &Handle) -> Option<HandleGuard> {
    let is_inside =
        with(|context| context.handle().is_some_and(|newest| newest.id() == handle.id()));
    (!is_inside).then(|| enter_handle(handle.clone()))
}

/// Runs `f` in the given runtime and in no set of local tasks, whatever guards there are.
pub(crate) fn beside_guards<R>(handle: &Handle, f: impl FnOnce() -> R) -> R {
    let _handle = enter_handle_if_outside(handle);
    if with(|context| context.local().is_null()) { f() } else { without_local(f) }
}
