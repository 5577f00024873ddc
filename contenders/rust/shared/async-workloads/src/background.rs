//! Tasks that keep the workers busy beside the ones that are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use task_work::stall;

use crate::AsyncRuntime;

/// How long a busy task holds its worker at a time.
const STALL: Duration = Duration::from_micros(10);

/// A runtime with background tasks that run until it is dropped.
pub(crate) struct Busy<R> {
    // Fields are dropped in this order: the tasks are told to stop before the runtime is.
    _stop: StopOnDrop,
    runtime: R,
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        stop(&self.0);
    }
}

// Relaxed, here and below: the flag is all that is passed, and a late reader does one more round.
pub(crate) fn stop(flag: &AtomicBool) {
    flag.store(true, Ordering::Relaxed);
}

fn stopped(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

impl<R: AsyncRuntime> Busy<R> {
    /// Starts a runtime and `count` background tasks, which `task` makes.
    pub(crate) fn start<F>(
        threads: usize,
        count: usize,
        task: impl Fn(Arc<AtomicBool>) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let runtime = R::start(threads);
        let handle = runtime.handle();
        let flag = Arc::new(AtomicBool::new(false));
        for _ in 0..count {
            R::spawn_detached_from_outside(&handle, task(Arc::clone(&flag)));
        }
        Self { _stop: StopOnDrop(flag), runtime }
    }

    /// Not a public field: a closure that used it would capture it alone, and the background would
    /// stop at once.
    pub(crate) const fn runtime(&self) -> &R {
        &self.runtime
    }
}

/// Yields until told to stop, and does nothing else.
pub(crate) async fn yielder<R: AsyncRuntime>(flag: Arc<AtomicBool>) {
    while !stopped(&flag) {
        R::yield_now().await;
    }
}

/// Yields and stalls until told to stop.
pub(crate) async fn busy_yielder<R: AsyncRuntime>(flag: Arc<AtomicBool>) {
    while !stopped(&flag) {
        R::yield_now().await;
        stall(STALL);
    }
}

/// The first link of a chain in which each spawns the next one and ends.
pub(crate) async fn chain<R: AsyncRuntime>(flag: Arc<AtomicBool>) {
    next_link::<R>(flag);
}

fn next_link<R: AsyncRuntime>(flag: Arc<AtomicBool>) {
    R::spawn_detached(async move {
        if !stopped(&flag) {
            next_link::<R>(flag);
        }
    });
}

/// The first link of a chain in which each stalls, spawns the next one and ends.
pub(crate) async fn busy_chain<R: AsyncRuntime>(flag: Arc<AtomicBool>) {
    next_busy_link::<R>(flag);
}

fn next_busy_link<R: AsyncRuntime>(flag: Arc<AtomicBool>) {
    R::spawn_detached(async move {
        if !stopped(&flag) {
            stall(STALL);
            next_busy_link::<R>(flag);
        }
    });
}
