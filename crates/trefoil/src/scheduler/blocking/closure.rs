//! A closure of the pool, as a task that is done in its first poll.

use crate::scheduler::multi::Nowhere;
use crate::task::coop::{Budget, with_budget};
use crate::task::{Id, JoinHandle, NO_HOME, Ran, Runnable, Schedule, allocate};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pub(super) fn make<F, R>(f: F) -> (Runnable, JoinHandle<R>)
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    allocate(Closure(Some(f)), NO_SCHEDULER, Id::next(), NO_HOME, None, None)
}

pub(super) fn run(task: Runnable) {
    let ran = task.run(&Nowhere);
    debug_assert!(matches!(ran, Ran::Off), "a closure is done when it returns");
}

/// A closure as a future, which is done in its first poll.
struct Closure<F>(Option<F>);

// No field is pinned.
impl<F> Unpin for Closure<F> {}

impl<F: FnOnce() -> R, R> Future for Closure<F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<R> {
        let f = self.0.take().expect("a closure is polled once");
        Poll::Ready(with_budget(Budget::UNLIMITED, f))
    }
}

/// Closures are queued by the pool itself, and never woken.
struct NoScheduler;

const NO_SCHEDULER: *const NoScheduler = std::ptr::null();

impl Schedule for NoScheduler {
    unsafe fn deliver(_: *const Self, task: Runnable) -> Result<(), Runnable> {
        // Only a task at rest is scheduled by its waker, and a closure never rests.
        unreachable!("{task:?} was woken, but it is a closure")
    }
}
