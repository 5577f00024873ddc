//! How a thread without fibers waits in a closure of a fork that it has taken. If a fiber has
//! forked and is aborted, the closure is unwound there, as it is in fibers (`baggage.rs`).

use super::unwinding::unwind_again;
use crate::context;
use crate::primitives::thread;
use crate::scheduler::block_on;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Whether the calling code is in a closure that is to be unwound, and in no destructor that runs
/// for that.
pub(super) fn is_to_unwind() -> bool {
    context::is_taken_aborted() && !thread::panicking() && context::may_unwind_taken()
}

/// Blocks the thread until a future is ready, in such a closure. An abort wakes the thread, and the
/// future is polled again.
pub(super) fn wait_through<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut waiter = None;
    block_on::wait(poll_fn(|cx| {
        waiter.get_or_insert_with(|| context::Waiter::new(cx.waker()));
        future.as_mut().poll(cx)
    }))
}

/// Yields the thread to the system, in such a closure or not.
#[cold]
pub(super) fn yield_thread() {
    if context::is_taken_closures_own() {
        context::taken_closure_waits();
        if is_to_unwind() {
            unwind_again();
        }
    }
    thread::yield_now();
}

/// As `wait_through`, and an abort unwinds the closure.
#[cold]
pub(crate) fn wait_in_taken<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let output = wait_through(poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Pending if is_to_unwind() => Poll::Ready(None),
        polled => polled.map(Some),
    }));
    output.unwrap_or_else(|| unwind_again())
}
