//! Threads in `block_on` that wait while another one drives.

use super::Shared;
use crate::scheduler::block_on;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Poll, Waker};

/// Those that would drive if the driver were free. Each has a key, and is here once at most.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The wakers are those of `block_on::wait`, which are no foreign code.
    wakers: Vec<(u64, Waker)>,
    last_key: u64,
}

impl Waiting {
    /// Wakes all of them, because each may be waiting for something else.
    pub(super) fn wake_all(&mut self) {
        self.wakers.drain(..).for_each(|(_, waker)| waker.wake());
    }
}

/// How a wait has ended.
pub(super) enum Waited<T> {
    Output(T),
    /// The caller may drive, if nobody is faster.
    DriverIsFree,
    /// A task has panicked whose panic ends the runtime.
    RuntimeEnded,
}

/// A thread that waits: its place among the others, which is empty until it rests.
struct Place<'a> {
    shared: &'a Shared,
    key: Option<u64>,
}

impl Place<'_> {
    /// Has the thread woken when the driver is free. False if it is.
    fn rest(&mut self, waker: &Waker) -> bool {
        let mut slot = self.shared.slot.lock();
        if slot.driver.is_some() {
            return false;
        }
        let waiting = &mut slot.waiting;
        let key = *self.key.get_or_insert_with(|| {
            waiting.last_key += 1;
            waiting.last_key
        });
        // The waker is the same in each poll of a wait.
        if !waiting.wakers.iter().any(|(other, _)| *other == key) {
            waiting.wakers.push((key, waker.clone()));
        }
        true
    }
}

impl Drop for Place<'_> {
    /// A wait that ends by itself, or by a panic, leaves nothing. If the driver was given back
    /// meanwhile, all others were woken as well, so none of them relies on this thread.
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let wakers = &mut self.shared.slot.lock().waiting.wakers;
            wakers.retain(|(other, _)| *other != key);
        }
    }
}

/// Waits for `future`, or until this thread may drive.
pub(super) fn wait<F: Future>(shared: &Shared, mut future: Pin<&mut F>) -> Waited<F::Output> {
    let mut place = Place { shared, key: None };
    block_on::wait(poll_fn(|cx| {
        if shared.common.has_ended() {
            return Poll::Ready(Waited::RuntimeEnded);
        }
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            // If the future has seen that a task was cancelled because of the end, then it is seen
            // here that there is one: the task that panicked came before.
            let has_ended = shared.common.has_ended();
            return Poll::Ready(if has_ended {
                Waited::RuntimeEnded
            } else {
                Waited::Output(output)
            });
        }
        if place.rest(cx.waker()) { Poll::Pending } else { Poll::Ready(Waited::DriverIsFree) }
    }))
}
