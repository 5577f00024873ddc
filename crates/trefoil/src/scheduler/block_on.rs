//! `block_on` on a thread that runs no tasks.

use crate::context::{self, BlockOn};
use crate::primitives::parker::ParkerGuard;
use crate::scheduler::Handle;
use crate::task::coop::{self, Budget};
use crate::task::wake_guarded;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// # Panics
/// From within asynchronous code, and with the future's own panics.
#[track_caller]
pub(crate) fn block_on<F: Future>(handle: &Handle, future: F) -> F::Output {
    let _entered = context::enter_blocking_section();
    let _handle = context::enter_handle(handle.clone());
    wait(future)
}

/// Polls a future and its timers on this thread until it is done. With `block_in_place`, the future
/// may wait in the same way for another one. Each wait has its own parker, and so keeps its
/// wake-ups.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let own = ParkerGuard::new();
    let parker = own.parker();
    let waker = Waker::from(Arc::clone(parker));
    let mut cx = Context::from_waker(&waker);
    let frame = Frame(BlockOn::new(Arc::clone(parker)));
    context::enter_block_on(&frame.0, || {
        loop {
            let polled = coop::with_budget(Budget::FULL, || future.as_mut().poll(&mut cx));
            if let Poll::Ready(output) = polled {
                return output;
            }
            frame.0.deferred.take().into_iter().for_each(wake_guarded);
            match frame.0.made_timers() {
                None => parker.park(),
                Some(timers) => {
                    match timers.until_next() {
                        None => parker.park(),
                        Some(timeout) => parker.park_timeout(timeout),
                    }
                    // The number needs no limit, because this thread serves nothing else.
                    timers.fire(usize::MAX);
                }
            }
        }
    })
}

/// Closes the timers when the wait ends, also by a panic.
struct Frame(BlockOn);

impl Drop for Frame {
    fn drop(&mut self) {
        self.0.close_timers();
        self.0.deferred.take().into_iter().for_each(wake_guarded);
    }
}
