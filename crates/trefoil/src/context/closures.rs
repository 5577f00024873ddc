//! Closures of forks that a thread has taken from another.

use super::{Context, Entered, Restore, is_in_local, with};
use crate::scheduler::multi;
#[cfg(all(feature = "fiber", unix, not(loom)))]
use std::cell::Cell;
use std::ptr::NonNull;
#[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
use std::task::Waker;

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

    /// Whether the fiber that waits for the closure was aborted, so that the closure is to be
    /// unwound where it waits.
    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    fn is_aborted(&self) -> bool;

    /// Has that wake whoever waits in the closure, until `remove_waiter`. Whoever adds one looks at
    /// `is_aborted` afterwards. If a frame on top of it does the same, both are woken, and the
    /// one that was added last is removed first.
    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    fn add_waiter(&self, waker: &Waker);

    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    fn remove_waiter(&self);
}

/// A closure that runs, in the frame of `in_taken`.
#[derive(Debug)]
pub(super) struct Running {
    /// Borrowed by that frame, whatever the lifetime says.
    taken: *const (dyn Taken + 'static),
    /// The one that waits beneath, on the same stack, if there is one: this is a part of what that
    /// waits for (`WorkerThread::leapfrog`).
    beneath: Option<NonNull<Running>>,
    /// It was forked in a panic, by a destructor: nothing may unwind it, which would be a panic in
    /// that.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    stays: Cell<bool>,
}

/// Runs `f`, which is that closure.
pub(crate) fn in_taken<R>(taken: &dyn Taken, f: impl FnOnce() -> R) -> R {
    // SAFETY: only the lifetime changes. The pointer is in the context while `f` runs, or with a
    // fiber on whose stack `f` has not ended.
    let taken: *const (dyn Taken + 'static) = unsafe { std::mem::transmute(&raw const *taken) };
    let running = Running {
        taken,
        beneath: with(|context| context.taken.get()),
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        stays: Cell::new(false),
    };
    let _taken = Restore::set(|context| &context.taken, Some(NonNull::from(&running)));
    f()
}

/// The closures that were taken from other threads and run on this stack, the newest first.
fn all_running(mut f: impl FnMut(&Running)) {
    let mut next = with(|context| context.taken.get());
    while let Some(running) = next {
        // SAFETY: the frame of `in_taken` is on this stack.
        let running = unsafe { running.as_ref() };
        f(running);
        next = running.beneath;
    }
}

fn all_taken(mut f: impl FnMut(&dyn Taken)) {
    // SAFETY: the frame of `in_taken`, which is on this stack, has borrowed it.
    all_running(|running| f(unsafe { &*running.taken }));
}

/// The closure that runs was forked in a panic, by a destructor.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) fn taken_closure_stays() {
    let mut is_newest = true;
    all_running(|running| {
        if is_newest {
            running.stays.set(true);
        }
        is_newest = false;
    });
}

/// Whether the calling code may be unwound for an abort: not where a destructor waits for it that
/// runs in a panic of another thread.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) fn may_unwind_taken() -> bool {
    let mut may = true;
    all_running(|running| may &= !running.stays.get());
    may
}

/// What runs on this thread is about to wait, or to block. If it is a closure that was taken from
/// another thread, its fork is told; and so are those of the closures beneath, whose own waits it
/// prolongs.
pub(crate) fn taken_closure_waits() {
    all_taken(|taken| taken.waits());
}

/// Runs `f`, a closure of the fork of a fiber, or of such a closure: it forks as in fibers, also on
/// a thread without them.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) fn fork_as_in_fibers<R>(f: impl FnOnce() -> R) -> R {
    if with(|context| !context.fiber.get().is_null()) {
        return f();
    }
    let _as_in_fibers = Restore::set(|context| &context.forks_as_in_fibers, true);
    let _outside = Restore::set(|context| &context.fork_outside, std::ptr::null());
    f()
}

/// Whether the thread is on a fiber's stack, or in `fork_as_in_fibers`.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) fn forks_as_in_fibers() -> bool {
    with(|context| !context.fiber.get().is_null() || context.forks_as_in_fibers.get())
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
    with(Context::entered) == Entered::Yes && is_taken_closures_own()
}

/// The same, or in `block_in_place` there.
pub(crate) fn is_taken_closures_own() -> bool {
    let is_taken = with(|context| match context.task.get() {
        None => context.worker().is_some_and(multi::WorkerThread::is_in_job),
        task => task == context.helper.get(),
    });
    is_taken && !is_in_local()
}

/// Whether a closure runs on this thread that was taken from a fork which takes jobs out of its
/// deque.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(super) fn is_deque_shared() -> bool {
    let mut is_shared = false;
    all_taken(|taken| is_shared |= taken.shares_deque());
    is_shared
}

/// Whether a closure runs on this thread whose fork's fiber was aborted, or that is a part of such
/// a closure.
#[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
pub(crate) fn is_taken_aborted() -> bool {
    let mut is_aborted = false;
    all_taken(|taken| is_aborted |= taken.is_aborted());
    is_aborted
}

/// While this exists, whoever aborts one of the closures on this stack wakes who waits in them. It
/// is dropped in the closure in which it was made.
#[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
pub(crate) struct Waiter(());

#[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
impl Waiter {
    pub(crate) fn new(waker: &Waker) -> Self {
        all_taken(|taken| taken.add_waiter(waker));
        Self(())
    }
}

#[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
impl Drop for Waiter {
    fn drop(&mut self) {
        all_taken(|taken| taken.remove_waiter());
    }
}

/// Whether a closure runs on this thread that was taken from another one.
#[cfg(all(feature = "fiber", unix, not(loom)))]
pub(crate) fn is_in_taken() -> bool {
    with(|context| context.taken.get().is_some())
}
