use super::{JoinHandle, Origin};
use crate::context::{self, BlockOn, Entered};
use crate::scheduler::multi::Begun;
#[cfg(all(feature = "fiber", unix, not(loom)))]
use crate::scheduler::multi::WorkerThread;
use crate::scheduler::{Handle, NO_RUNTIME};
use std::cell::Cell;
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
    spawn_from(future, Origin::here(None))
}

/// As [`spawn`], for a task that comes from there.
///
/// # Panics
/// Outside of a runtime.
#[track_caller]
#[inline]
pub(super) fn spawn_from<F>(future: F, origin: Origin<'_>) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // The panic comes from here and not from the closure, so that its message names the caller's
    // location.
    let spawned = context::with(|context| {
        // A runtime that has shut down drops the future, whose destructor may leave the runtime.
        let _pin = context.pin_handles();
        context.handle().map(|handle| handle.spawn_with(future, None, origin))
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

/// Runs a closure that may block, on a thread of the blocking pool: see
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

/// Calls a closure that may block, on the calling thread. Meanwhile another thread can run the
/// worker's other tasks.
///
/// A thread of the blocking pool becomes the worker as soon as the worker has something to do: at
/// once if tasks are queued, and otherwise when one comes. If none comes, the calling thread is
/// still the worker when `f` returns, and no other thread was involved. The number of all threads
/// is at most [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads) plus the
/// number of workers, beside those that have lost their worker in such a call and still have
/// fibers: these serve nothing but their fibers until all of them have ended. If all others block,
/// the worker's tasks wait until one is free.
///
/// Other futures *of the same task* do wait for `f`, for example the other branches of a `join!`.
/// So do [fibers](crate::fiber) that have begun on this thread, for as long as the thread blocks:
/// if `f` blocks it until one of them does something, it waits for ever. Where `f` is called by a
/// fiber and [waits](fn@crate::fiber::wait), for example in `join` of a handle, in `blocking_recv`
/// or in [`Handle::block_on`] of a multi-thread runtime, it does not block the thread.
///
/// On a thread that is no worker (of the blocking pool, or outside of a runtime), this only calls
/// `f`.
///
/// # Panics
/// In a current-thread runtime, and in a [`LocalSet`](super::LocalSet) that is polled, because no
/// other thread may run the other tasks. A panic of `f` is passed on.
#[track_caller]
pub fn block_in_place<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    let is_driving = context::with(|context| {
        let is_driving = context.entered() == Entered::Yes;
        is_driving && (context.current().is_some() || context::is_polling_local())
    });
    // The panic comes from here and not from a closure, so that its message names the caller's
    // location.
    if is_driving {
        panic!(
            "can call blocking only when running on the multi-threaded runtime: this thread drives a \
             single-threaded scheduler, so use `spawn_blocking`"
        );
    }
    let Some(blocking) = Blocking::begin() else {
        let _allowed = context::allow_blocking();
        return f();
    };
    let _allowed = context::allow_blocking();
    context::in_blocking(&blocking, f)
}

/// While this exists, this thread's worker offers its state.
pub(crate) struct Blocking {
    /// `None` while a fiber has left the stack on which this is.
    begun: Cell<Option<Begun>>,
    /// The one that this is within, on the same stack, or null.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    outer: Cell<*const Self>,
}

impl Blocking {
    /// `None` if this thread is no worker, or blocks in place already.
    fn begin() -> Option<Self> {
        context::with(|context| {
            if context.entered() != Entered::Yes {
                return None;
            }
            context.block_on().into_iter().for_each(BlockOn::release);
            let worker = context.worker()?;
            context::taken_closure_waits();
            Some(Self {
                begun: Cell::new(Some(worker.begin_blocking())),
                #[cfg(all(feature = "fiber", unix, not(loom)))]
                outer: Cell::new(std::ptr::null()),
            })
        })
    }

    fn end(&self) {
        if let Some(begun) = self.begun.take() {
            context::with(|context| context.worker().map(|worker| worker.end_blocking(begun)));
        }
    }
}

#[cfg(all(feature = "fiber", unix, not(loom)))]
impl Blocking {
    pub(crate) fn is_within(&self, outer: *const Self) {
        self.outer.set(outer);
    }

    fn outer(&self) -> Option<&Self> {
        // SAFETY: null, or in a frame below that of this one.
        unsafe { self.outer.get().as_ref() }
    }

    /// The thread leaves the stack, and blocks no more, here and in those that this is within.
    pub(crate) fn pause(&self) {
        self.end();
        self.outer().into_iter().for_each(Self::pause);
    }

    /// It is back.
    pub(crate) fn resume(&self) {
        self.outer().into_iter().for_each(Self::resume);
        let begun = context::with(|context| context.worker().map(WorkerThread::begin_blocking));
        self.begun.set(begun);
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        self.end();
    }
}
