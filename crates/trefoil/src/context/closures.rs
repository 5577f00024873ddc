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

/// A closure that runs, in the frame of `in_taken`.
#[derive(Debug)]
pub(super) struct Running {
    /// Borrowed by that frame, whatever the lifetime says.
    taken: *const (dyn Taken + 'static),
    /// The one that waits beneath, on the same stack, if there is one: this is a part of what that
    /// waits for (`WorkerThread::leapfrog`).
    beneath: Option<NonNull<Running>>,
}

/// Runs `f`, which is that closure.
pub(crate) fn in_taken<R>(taken: &dyn Taken, f: impl FnOnce() -> R) -> R {
    // SAFETY: only the lifetime changes. The pointer is in the context while `f` runs, or with a
    // fiber on whose stack `f` has not ended.
    let taken: *const (dyn Taken + 'static) = unsafe { std::mem::transmute(&raw const *taken) };
    let running = Running { taken, beneath: with(|context| context.taken.get()) };
    let _taken = Restore::set(|context| &context.taken, Some(NonNull::from(&running)));
    f()
}

/// The closures that were taken from other threads and run on this stack, the newest first.
fn all_taken(mut f: impl FnMut(&dyn Taken)) {
    let mut next = with(|context| context.taken.get());
    while let Some(running) = next {
        // SAFETY: the frame of `in_taken` is on this stack.
        let running = unsafe { running.as_ref() };
        // SAFETY: as above, and that frame has borrowed it.
        f(unsafe { &*running.taken });
        next = running.beneath;
    }
}

/// What runs on this thread is about to wait, or to block. If it is a closure that was taken from
/// another thread, its fork is told; and so are those of the closures beneath, whose own waits it
/// prolongs.
pub(crate) fn taken_closure_waits() {
    all_taken(|taken| taken.waits());
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

/// Whether a closure runs on this thread that was taken from a fork which takes jobs out of its
/// deque.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(super) fn is_deque_shared() -> bool {
    let mut is_shared = false;
    all_taken(|taken| is_shared |= taken.shares_deque());
    is_shared
}

/// Whether a closure runs on this thread that was taken from another one.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) fn is_in_taken() -> bool {
    with(|context| context.taken.get().is_some())
}
