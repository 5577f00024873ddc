//! The current set of local tasks.

use super::stack::Node;
use super::{Local, with};
use crate::task::LocalShared;
use std::sync::Arc;

/// Keeps a set of local tasks the current one, for users. Frames of this crate use [`with_local`].
#[derive(Debug)]
#[must_use]
pub(crate) struct LocalGuard {
    /// From `Box::into_raw`, and on the stack of this thread.
    node: *const Node<Local>,
}

/// Makes a set of local tasks of this thread the current one.
pub(crate) fn enter_local(set: Arc<LocalShared>) -> LocalGuard {
    let local = Local { set: Arc::as_ptr(&set), owner: Some(set) };
    let node = Box::into_raw(Box::new(Node::new(local))).cast_const();
    with(|context| {
        context.count_change();
        // SAFETY: new, and not freed before the guard has unlinked it.
        unsafe { context.locals.link(node) };
    });
    LocalGuard { node }
}

impl Drop for LocalGuard {
    fn drop(&mut self) {
        with(|context| {
            context.count_change();
            // SAFETY: the guard's node is live.
            unsafe { context.locals.unlink(self.node) };
            // SAFETY: made by `enter_local`, unlinked, and the guard's alone.
            unsafe { context.locals.free(self.node) };
        });
    }
}

/// Runs `f` with a set of local tasks as the current one, or, with null, without one.
///
/// # Safety
/// The set belongs to this thread, and outlives the call.
pub(crate) unsafe fn with_local<R>(set: *const LocalShared, f: impl FnOnce() -> R) -> R {
    struct Linked<'a>(&'a Node<Local>);
    impl Drop for Linked<'_> {
        fn drop(&mut self) {
            with(|context| {
                context.count_change();
                // SAFETY: borrowed, so it is live.
                unsafe { context.locals.unlink(self.0) };
            });
        }
    }
    let node = Node::new(Local { set, owner: None });
    with(|context| {
        context.count_change();
        // SAFETY: new, and `linked` unlinks it before this frame is left.
        unsafe { context.locals.link(&raw const node) };
    });
    let linked = Linked(&node);
    let result = f();
    drop(linked);
    result
}

/// Runs `f` without a current set of local tasks.
pub(crate) fn without_local<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: there is no set.
    unsafe { with_local(std::ptr::null(), f) }
}

/// Whether code of a set of local tasks runs, or code that holds a guard of one.
pub(crate) fn is_in_local() -> bool {
    with(|context| !context.local().is_null())
}

/// Whether code of a set of local tasks runs. Guards do not matter.
pub(crate) fn is_polling_local() -> bool {
    with(|context| context.locals.newest_is(Local::is_of_frame, |local| !local.set.is_null()))
}

impl Local {
    fn is_of_frame(&self) -> bool {
        self.owner.is_none()
    }
}
