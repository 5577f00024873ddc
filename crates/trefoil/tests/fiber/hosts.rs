//! Threads that have lost their worker and only have fibers, beside closures at the limit.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::support::Hasty;
use crate::support::watch::{drop_returns, receive};
use std::sync::mpsc::{Receiver, Sender, channel};
use trefoil::runtime::Builder;
use trefoil::sync::oneshot;
use trefoil::{fiber, task};

/// A runtime with one worker, and one thread more for closures. One closure runs, and another one
/// waits for that. A fiber rests on a third thread, which was the worker.
struct AtLimit {
    runtime: Hasty,
    end_fiber: Option<oneshot::Sender<()>>,
    end_closure: Sender<()>,
    /// What begins, and ends.
    events: Receiver<&'static str>,
}

impl AtLimit {
    fn new() -> Self {
        let (says, events) = channel();
        let stops = says.clone();
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).max_blocking_threads(1);
        builder.on_thread_stop(move || _ = stops.send("the end of a thread"));
        let runtime = Hasty(Some(builder.build().unwrap()));
        let context = runtime.enter();
        let (end_fiber, may_end) = oneshot::channel();
        let begins = says.clone();
        drop(fiber::spawn(move || {
            begins.send("the fiber").unwrap();
            fiber::wait(may_end).unwrap();
        }));
        assert_eq!(receive("the fiber", &events), "the fiber");
        hand_over();
        let (end_closure, may_end) = channel();
        let begins = says.clone();
        drop(task::spawn_blocking(move || {
            begins.send("the first closure").unwrap();
            // An error is the end of a test that has failed.
            let _ = may_end.recv();
        }));
        assert_eq!(receive("the first closure", &events), "the first closure");
        drop(task::spawn_blocking(move || _ = says.send("the second closure")));
        drop(context);
        Self { runtime, end_fiber: Some(end_fiber), end_closure, events }
    }

    /// A thread is about to be free, which is one too many.
    fn check(self) {
        assert_eq!(receive("what comes first", &self.events), "the end of a thread");
        self.end_closure.send(()).unwrap();
        assert_eq!(receive("the second closure", &self.events), "the second closure");
        drop_returns("everything has ended", self.runtime);
    }
}

/// The worker's thread blocks until another one is the worker.
fn hand_over() {
    let (says, said) = channel();
    drop(task::spawn(async move {
        let (ran, has_run) = channel();
        drop(task::spawn(async move { ran.send(()).unwrap() }));
        task::block_in_place(|| receive("a task beside one that blocks", &has_run));
        says.send(()).unwrap();
    }));
    receive("a task that blocks", &said);
}

#[test]
fn the_limit_of_closures_holds_when_the_last_fiber_of_a_thread_ends() {
    let mut all = AtLimit::new();
    all.end_fiber.take().unwrap().send(()).unwrap();
    all.check();
}

/// The thread that has blocked comes back to the pool.
#[test]
fn the_limit_of_closures_holds_when_a_thread_with_fibers_is_the_worker_again() {
    let all = AtLimit::new();
    let context = all.runtime.enter();
    hand_over();
    drop(context);
    all.check();
}
