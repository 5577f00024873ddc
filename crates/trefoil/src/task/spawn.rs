use super::JoinHandle;
use crate::runtime::{Handle, NO_RUNTIME, context};
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
/// Futures that are concurrent with this call *within the same task* wait all
/// the same. Where no worker is held up (on a thread of the blocking pool, or
/// outside of a runtime), this only calls `f`. If the system has no thread to
/// give, the worker's other tasks wait until `f` returns.
///
/// # Panics
/// In a single-threaded runtime, or in a [`LocalSet`](super::LocalSet): no other
/// thread may take the other tasks.
#[track_caller]
pub fn block_in_place<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    use context::Entered;
    context::with(|context| {
        if context.entered() != Entered::Yes {
            return;
        }
        if context.current().is_some() || context::is_in_local() {
            panic!("can call blocking only when running on the multi-threaded runtime");
        }
        if let Some(worker) = context.worker() {
            worker.hand_over();
        }
    });
    let _allowed = context::allow_blocking();
    f()
}
