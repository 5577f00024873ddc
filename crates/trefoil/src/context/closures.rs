//! Closures of forks that a thread has taken from another.

use super::{Entered, Restore, is_in_local, with};
use crate::scheduler::multi;
use std::ptr::NonNull;

/// A closure of a fork that a thread has taken from another, which waits for its end.
pub(crate) trait Taken {
    /// The closure waits for something other than a CPU. So does whoever waits for the closure.
    fn waits(&self);

    /// Whether whoever waits for the closure takes jobs out of the deque of the thread that has
    /// taken it.
    #[cfg_attr(
        not(all(feature = "fiber", unix, not(loom))),
        expect(dead_code, reason = "only fibers change a thread's deque")
    )]
    fn shares_deque(&self) -> bool;
}

/// Runs `f`, which is that closure.
pub(crate) fn in_taken<R>(taken: &dyn Taken, f: impl FnOnce() -> R) -> R {
    // SAFETY: only the lifetime changes. The pointer is in the context while `f` runs, or with a
    // fiber on whose stack `f` has not ended.
    let taken: NonNull<dyn Taken + 'static> = unsafe { std::mem::transmute(NonNull::from(taken)) };
    let _taken = Restore::set(|context| &context.taken, Some(taken));
    f()
}

/// What runs on this thread is about to wait, or to block. If it is a closure that was taken from
/// another thread, its fork is told.
pub(crate) fn taken_closure_waits() {
    // SAFETY: `in_taken` is on the stack, and has borrowed it.
    with(|context| context.taken.get().map(|taken| unsafe { taken.as_ref() }.waits()));
}

/// Runs `f`, the closure of a fork that this thread has taken from another, in a task of the
/// fork's.
pub(crate) fn in_helper<R>(f: impl FnOnce() -> R) -> R {
    let _helper = Restore::set(|context| &context.helper, with(|context| context.task.get()));
    f()
}

/// Whether the calling code is that of a fork's closure, and nothing on top of it, that this thread
/// has taken from another. It may block in place.
pub(crate) fn is_in_taken_closure() -> bool {
    with(|context| {
        let is_taken = || match context.task.get() {
            None => context.worker().is_some_and(multi::WorkerThread::is_in_job),
            task => task == context.helper.get(),
        };
        context.entered() == Entered::Yes && is_taken() && !is_in_local()
    })
}

/// Whether a closure runs on this thread that was taken from another one.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) fn is_in_taken() -> bool {
    with(|context| context.taken.get().is_some())
}
