//! The system gives no more threads, for a while: there is no room for another stack.
//!
//! The limit is the process's, so there is one test in here.
#![cfg(all(target_os = "linux", not(miri)))]

mod support;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use support::Hasty;
use support::watch::{drop_returns, receive, wait_for, workers_sleep};
use trefoil::runtime::Builder;
use trefoil::task::block_in_place;

const STACK: usize = 1 << 30;

/// Until the drop, no thread with such a stack can be started.
struct NoThreads(Rlimit);

impl NoThreads {
    fn new() -> Self {
        let before = getrlimit(Resource::As);
        // One for all that the tests need, and half a stack.
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
        let bytes = pages * 4096 + STACK as u64 / 2;
        setrlimit(Resource::As, Rlimit { current: Some(bytes), maximum: before.maximum }).unwrap();
        Self(before)
    }
}

impl Drop for NoThreads {
    fn drop(&mut self) {
        setrlimit(Resource::As, self.0.clone()).unwrap();
    }
}

#[test]
fn a_system_gives_no_threads_for_a_while() {
    for workers in [1, 2] {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .thread_stack_size(STACK)
            .enable_all()
            .build()
            .unwrap();
        let runtime = Hasty(Some(runtime));
        let (begin, begun) = mpsc::channel();
        let (end, is_over) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        // The monitor needs a thread, too.
        drop(runtime.spawn_pinned(0, async { block_in_place(|| ()) }));
        workers_sleep(&runtime.metrics());
        drop(runtime.spawn_pinned(0, async move {
            block_in_place(|| {
                begin.send(()).unwrap();
                is_over.recv().unwrap();
            });
            tell.send(()).unwrap();
        }));
        receive("a task blocks", &begun);
        let no_threads = NoThreads::new();
        let spawned = catch_unwind(AssertUnwindSafe(|| runtime.spawn_blocking(|| ())));
        assert!(spawned.is_err(), "a closure waits for a thread although there is none");
        let pinned = runtime.spawn_pinned(0, async move { end.send(()).unwrap() });
        // Longer only makes it harder to pass.
        thread::sleep(std::time::Duration::from_millis(300));
        assert!(!pinned.is_finished());
        drop(no_threads);
        receive("a task that waits for another one, which had no thread", &told);
        wait_for("that other one", || pinned.is_finished());
        drop_returns("the drop of a runtime that had no threads for a while", runtime);
    }
}
