use super::JoinHandle;
use crate::context::{self, Entered};
use crate::runtime::{Handle, NO_RUNTIME};
use crate::scheduler::multi::{Begun, WorkerThread};
use std::future::Future;

/// Spawns a task into the current runtime: see [`Handle::spawn`].
///
/// # Panics
/// Outside of a runtime.
#[track_caller]
#[inline]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // The panic comes from here, not from the closure, so that it names the
    // caller's place.
    let spawned = context::with(|context| {
        // A runtime that is over drops the future, which may leave the runtime.
        let _pin = context.pin_handles();
        context.handle().map(|handle| handle.spawn(future))
    });
    match spawned {
        Some(join) => join,
        None => panic!("{NO_RUNTIME}"),
    }
}

/// Spawns a task that runs on one worker only: see [`Handle::spawn_pinned`].
///
/// # Panics
/// Outside of a runtime.
#[track_caller]
pub fn spawn_pinned<F>(worker: usize, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Handle::current().spawn_pinned(worker, future)
}

/// Runs a closure that may block on a thread meant for that: see
/// [`Handle::spawn_blocking`].
///
/// # Panics
/// Outside of a runtime.
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    Handle::current().spawn_blocking(f)
}

/// Runs a closure that may block right here, while another thread takes over
/// the worker's other tasks.
///
/// A thread of the blocking pool becomes the worker as soon as there is work
/// for it: at once if some is queued, or else when some comes. If none comes,
/// the calling thread is the worker again when `f` returns, and nothing was
/// handed over. All threads together are bounded by
/// [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads) and
/// the number of workers; if all of them block, the worker's tasks wait for one
/// that is free.
///
/// Futures that are concurrent with this call *within the same task* wait all
/// the same. Where no worker is held up (on a thread of the blocking pool, or
/// outside of a runtime), this only calls `f`.
///
/// # Panics
/// In a single-threaded runtime, or in a [`LocalSet`](super::LocalSet): no other
/// thread may take the other tasks. And with the closure's own panic.
#[track_caller]
pub fn block_in_place<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    let is_driving = context::with(|context| {
        let is_driving = context.entered() == Entered::Yes;
        is_driving && (context.current().is_some() || context::is_in_local())
    });
    // Here and not in a closure, so that it names the caller's place.
    if is_driving {
        panic!("can call blocking only when running on the multi-threaded runtime");
    }
    let _blocking = Blocking::begin();
    let _allowed = context::allow_blocking();
    f()
}

/// The worker that this thread is offers its state for as long as this exists.
struct Blocking {
    begun: Option<Begun>,
}

impl Blocking {
    fn begin() -> Self {
        let begun = context::with(|context| {
            let worker = context.worker().filter(|_| context.entered() == Entered::Yes);
            worker.map(WorkerThread::begin_blocking)
        });
        Self { begun }
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        if let Some(begun) = self.begun.take() {
            context::with(|context| context.worker().map(|worker| worker.end_blocking(begun)));
        }
    }
}
