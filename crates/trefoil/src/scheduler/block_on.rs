//! `block_on` on a thread that runs no tasks. (One that may is in `multi/worker/stand_in.rs`.)

use crate::context::{self, BlockOn};
use crate::primitives::parker::{Parker, ParkerGuard};
use crate::scheduler::{Handle, Scheduler, multi};
use crate::task::coop::{self, Budget};
use crate::task::{block_in_place, wake_guarded};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// # Panics
/// From within asynchronous code, in a fork if it takes workers, and with the future's own panics.
#[track_caller]
pub(crate) fn block_on<F: Future>(handle: &Handle, future: F) -> F::Output {
    if let Scheduler::Multi(_) = &handle.scheduler {
        handle.common().check_workers();
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        if context::may_block() && crate::fiber::may_pack() {
            // A fiber's `block_in_place`, which waits as the fiber does.
            let _handle = context::enter_handle(handle.clone());
            return crate::fiber::wait_in_place(future);
        }
    }
    // A closure that was taken from a fork blocks in place, and an abort unwinds it there as well.
    let is_taken = context::may_block() && context::is_taken_closures_own();
    let _entered = context::enter_block_on_section();
    let _handle = context::enter_handle(handle.clone());
    let _local = handle.common().enter_local();
    let seeds = handle.common().seeds.as_ref();
    let _random = seeds.map(|seeds| context::seed_random(seeds.of_next_block_on()));
    match &handle.scheduler {
        Scheduler::Multi(shared) if is_taken => {
            let mut future = pin!(future);
            wait_in_taken(poll_fn(|cx| {
                let polled = future.as_mut().poll(cx);
                if polled.is_pending() {
                    shared.ensure_monitor_for_events();
                }
                polled
            }))
        }
        Scheduler::Multi(shared) if shared.may_stand_in() => multi::block_on(shared, future),
        Scheduler::Multi(shared) => wait_with(future, || shared.ensure_monitor_for_events()),
        Scheduler::Current(_) if is_taken => wait_in_taken(future),
        Scheduler::Current(_) => wait(future),
    }
}

/// Waits for a future in code that is not asynchronous: a fiber leaves its stack meanwhile, and any
/// other thread blocks.
///
/// # Panics
/// In asynchronous code, and with the future's own panics.
#[inline]
#[track_caller]
pub(crate) fn blocking<F: Future>(future: F) -> F::Output {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    match crate::fiber::begin_wait() {
        crate::fiber::Wait::Leaves(fiber) => return fiber.wait(future),
        crate::fiber::Wait::InPlace => return crate::fiber::wait_in_place(future),
        crate::fiber::Wait::Outside => {}
    }
    blocking_outside(future)
}

/// The same in code that is no fiber's own.
#[track_caller]
pub(crate) fn blocking_outside<F: Future>(future: F) -> F::Output {
    // A closure that has left its fork does not know who has forked. If a fiber has, it may wait.
    if context::is_in_taken_closure() {
        return block_in_place(|| wait_in_taken(future));
    }
    // So it may where it blocks in place by itself.
    let is_taken = context::is_taken_closures_own();
    let _entered = context::enter_wait();
    if is_taken { wait_in_taken(future) } else { wait(future) }
}

/// Blocks the thread in such a closure. If the fiber is aborted, this unwinds the closure.
fn wait_in_taken<F: Future>(future: F) -> F::Output {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    return crate::fiber::wait_in_taken(future);
    #[cfg(not(all(feature = "fiber", unix, not(loom))))]
    wait(future)
}

/// Polls a future and its timers on this thread until it is done. With `block_in_place`, the future
/// may wait in the same way for another one. Each wait has its own parker, and so keeps its
/// wake-ups.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    wait_with(future, || ())
}

/// The same, and calls a function before the thread sleeps.
fn wait_with<F: Future>(future: F, before_sleep: impl Fn()) -> F::Output {
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
            before_sleep();
            frame.0.park(parker);
        }
    })
}

impl BlockOn {
    /// Waits for a token of the parker, and fires the timers.
    pub(crate) fn park(&self, parker: &Parker) {
        let Some(timers) = self.made_timers() else { return parker.park() };
        parker.park_at_most(timers.until_next());
        // The number needs no limit, because this thread serves nothing else.
        timers.fire(usize::MAX);
    }
}

/// Closes the timers when the wait ends, also by a panic.
pub(crate) struct Frame(pub(crate) BlockOn);

impl Drop for Frame {
    fn drop(&mut self) {
        self.0.close_timers();
        self.0.deferred.take().into_iter().for_each(wake_guarded);
    }
}
