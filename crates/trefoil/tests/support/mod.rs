//! What the tests share. Each file of tests, or folder of them, is a program of its own, and uses a
//! part of this.
#![allow(dead_code, reason = "no program of tests uses all of it")]

pub(crate) mod actors;
pub(crate) mod by_hand;
pub(crate) mod watch;

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};
use trefoil::fork_join::join;
use trefoil::runtime::{Builder, Runtime};

/// A runtime with the given number of workers, and with timers.
pub(crate) fn multi(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// The size of the system's pages, of which it counts a process's memory.
#[cfg(target_os = "linux")]
pub(crate) fn page_size() -> usize {
    // SAFETY: it has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap()
}

/// Has all workers' threads started, which otherwise are when they are needed.
pub(crate) fn start_workers(runtime: &Runtime) {
    for worker in 0..runtime.metrics().num_workers() {
        runtime.block_on(runtime.spawn_pinned(worker, async {})).unwrap();
    }
}

/// A runtime whose drop waits only where its test has not failed, so that one that fails because of
/// a hang ends and says so.
pub(crate) struct Hasty(pub(crate) Option<Runtime>);

impl Deref for Hasty {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        self.0.as_ref().expect("until it is taken out")
    }
}

impl Drop for Hasty {
    fn drop(&mut self) {
        let Some(runtime) = self.0.take() else { return };
        if thread::panicking() {
            runtime.shutdown_background();
        } else {
            watch::ends("the end of a test's runtime", Some(runtime));
        }
    }
}

/// A current-thread runtime with timers.
pub(crate) fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A current-thread runtime, and a multi-thread runtime for each of these numbers of workers.
pub(crate) fn current_and_multi<const N: usize>(workers: [usize; N]) -> Vec<Runtime> {
    std::iter::once(current_thread()).chain(workers.map(multi)).collect()
}

/// Runs a test body outside of any runtime, on workers, and on a thread that has entered a runtime.
pub(crate) fn everywhere(body: impl Fn() + Sync) {
    body();
    for workers in [1, 2, 3, 16] {
        let runtime = multi(workers);
        runtime.install(&body);
        let _guard = runtime.enter();
        body();
    }
}

/// Waits at the barrier until all closures that share it have started. This proves that they run at
/// the same time.
pub(crate) fn meet(barrier: &Barrier) -> ThreadId {
    barrier.wait();
    thread::current().id()
}

/// A future whose first poll was pending, with this waker. A short timer may be due by then, if the
/// machine is busy: then there is another one.
pub(crate) fn that_waits<F: Future + Unpin>(waker: &Waker, make: impl Fn() -> F) -> F {
    loop {
        let mut future = make();
        if Pin::new(&mut future).poll(&mut Context::from_waker(waker)).is_pending() {
            return future;
        }
    }
}

/// A fork for each addition.
pub(crate) fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Counts what is alive.
#[derive(Debug)]
pub(crate) struct Alive(Arc<AtomicUsize>);

impl Alive {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}
