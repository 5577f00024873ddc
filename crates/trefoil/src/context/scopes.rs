//! The scopes of task-locals that a thread is in. Only fibers ask for them, when they wait.

#[cfg(all(feature = "fiber", unix, not(loom)))]
use super::stack::{Node, Stack};
#[cfg(all(feature = "fiber", unix, not(loom)))]
use super::{Restore, with};
#[cfg(all(feature = "fiber", unix, not(loom)))]
use std::cell::Cell;

#[cfg(all(feature = "fiber", unix, not(loom)))]
#[derive(Debug)]
pub(super) struct Scopes {
    pub(super) stack: Stack<*const dyn Scope>,
    /// How many task-locals are borrowed.
    pub(super) borrows: Cell<u32>,
}

#[cfg(all(feature = "fiber", unix, not(loom)))]
impl Scopes {
    pub(super) const fn new() -> Self {
        Self { stack: Stack::new(), borrows: Cell::new(0) }
    }
}

/// A scope of a task-local, whose value is in the thread's slot while the scope's code runs.
pub(crate) trait Scope {
    #[cfg_attr(
        not(all(feature = "fiber", unix, not(loom))),
        expect(dead_code, reason = "only fibers come back to a scope")
    )]
    fn enter(&self);
    fn leave(&self);
}

/// Runs `f` in a scope of a task-local. The scope has entered already, and leaves afterwards.
pub(crate) fn in_scope<R>(scope: &dyn Scope, f: impl FnOnce() -> R) -> R {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    {
        struct Linked<'a>(&'a Node<*const dyn Scope>);
        impl Drop for Linked<'_> {
            fn drop(&mut self) {
                with(|context| {
                    context.count_change();
                    // SAFETY: borrowed, so it is live.
                    unsafe { context.scopes.stack.unlink(self.0) };
                });
            }
        }
        // SAFETY: only the lifetime changes. The pointer is used while it is linked, or on a
        // segment that the stack of this frame keeps.
        let scope: *const (dyn Scope + 'static) = unsafe { std::mem::transmute(&raw const *scope) };
        let node = Node::new(scope);
        with(|context| {
            context.count_change();
            // SAFETY: new, and `_linked` unlinks it before this frame is left.
            unsafe { context.scopes.stack.link(&raw const node) };
        });
        let _linked = Linked(&node);
        f()
    }
    #[cfg(not(all(feature = "fiber", unix, not(loom))))]
    {
        let _ = scope;
        f()
    }
}

/// Runs `f`, which has borrowed a task-local.
pub(crate) fn borrowing<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    let _borrow = Restore::set(
        |context| &context.scopes.borrows,
        with(|context| context.scopes.borrows.get()) + 1,
    );
    f()
}
