//! A thread whose locals a fiber has lent does not end before the fiber.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::support::{current_thread, multi};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use trefoil::runtime::{Builder, Handle, LocalRuntime};
use trefoil::sync::oneshot;
use trefoil::{actor, fiber, fork_join, task};

/// A local of a thread, which says when it is gone.
struct Local(Arc<AtomicBool>);

impl Drop for Local {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

thread_local! {
    static LENT: Local = Local(Arc::default());
}

/// A fiber lends a local of its thread to another thread, by means of `std` alone, and waits.
/// Whoever drives a current-thread runtime may end that thread meanwhile.
#[test]
fn a_current_thread_runtime_lends_no_locals_of_a_thread_that_may_end() {
    let runtime = current_thread();
    let (ends, has_ended) = mpsc::channel::<()>();
    let (tells, told) = mpsc::channel();
    let lends = move || {
        LENT.with(|lent| {
            thread::scope(|scope| {
                scope.spawn(move || {
                    // Not by `lent` at the end, which may be no memory any more.
                    let is_gone = lent.0.clone();
                    has_ended.recv().unwrap();
                    tells.send(is_gone.load(SeqCst)).unwrap();
                });
                fiber::yield_now();
            });
        });
    };
    let drives = thread::spawn(move || {
        let spawned = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                drop(fiber::spawn(lends));
                task::yield_now().await;
            });
        }));
        (runtime, spawned.is_ok())
    });
    let (runtime, is_spawned) = drives.join().unwrap();
    if is_spawned {
        ends.send(()).unwrap();
        assert!(!told.recv().unwrap(), "a local is gone that somebody has borrowed");
    }
    drop(runtime);
}

/// What a panic says.
fn said(panics: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(panics)).expect_err("it is refused");
    *payload.downcast().expect("a formatted message")
}

#[track_caller]
fn names_the_way_out(text: &str) {
    assert!(text.contains("a current-thread runtime has no fibers"), "{text}");
    assert!(text.contains("`Builder::new_multi_thread().worker_threads(1)`"), "{text}");
}

#[test]
fn a_current_thread_runtime_refuses_fibers_and_names_the_way_out() {
    let all_refuse = |single: &Handle| {
        let alive = Arc::new(());
        let its = || {
            let its = alive.clone();
            move || unreachable!("{its:?}")
        };
        let _guard = single.enter();
        names_the_way_out(&said(|| drop(fiber::spawn(its()))));
        names_the_way_out(&said(|| fiber::scope(|_| its()())));
        let unsupported = |error: std::io::Error| {
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            names_the_way_out(&error.to_string());
        };
        unsupported(fiber::Builder::new().spawn(its()).unwrap_err());
        unsupported(fiber::Builder::new().spawn_on(single, its()).unwrap_err());
        let f = its();
        unsupported(actor::spawn_fiber(move |_: actor::Context<()>| f()).unwrap_err());
        assert_eq!(Arc::strong_count(&alive), 1, "the closures are dropped");
    };
    let single = current_thread();
    all_refuse(single.handle());
    all_refuse(LocalRuntime::new().unwrap().handle());
    // A fiber of another runtime is refused in the same way, and goes on.
    let handle = single.handle().clone();
    let multi = multi(1);
    multi.block_on(multi.spawn(async {})).unwrap();
    let _guard = multi.enter();
    fiber::spawn(move || all_refuse(&handle)).join().unwrap();
}

/// A thread of the program forks in a worker's place. It may leave, and is not made a host.
#[test]
fn a_guest_begins_no_fiber() {
    let runtime = multi(1);
    let here = thread::current().id();
    for blocks_first in [false, true] {
        let fibers = runtime.install_here(|| {
            if blocks_first {
                task::block_in_place(|| ());
            }
            let spawned = |_| {
                fiber::spawn(|| {
                    fiber::yield_now();
                    thread::current().id()
                })
            };
            let spawns = || (0..10).map(spawned).collect::<Vec<_>>();
            let (one, other) = fork_join::join(spawns, spawns);
            one.into_iter().chain(other)
        });
        for fiber in fibers {
            assert_ne!(fiber.join().unwrap(), here);
        }
    }
}

/// So does one that serves tasks while it is in `block_on`.
#[test]
fn a_stand_in_begins_no_fiber() {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).serve_in_block_on(true).enable_all().build().unwrap();
    let here = thread::current().id();
    for blocks_first in [false, true] {
        runtime.block_on(async {
            // Until this thread is the worker.
            while task::spawn(async { thread::current().id() }).await.unwrap() != here {}
            if blocks_first {
                task::block_in_place(|| ());
            }
            for _ in 0..10 {
                let fiber = fiber::spawn(|| {
                    fiber::yield_now();
                    thread::current().id()
                });
                assert_ne!(fiber.await.unwrap(), here);
            }
        });
    }
}

/// A worker's thread that has lost its place, because a task has blocked in place, would end soon
/// if it was not for its fiber.
#[test]
fn a_thread_that_has_lost_its_place_keeps_its_locals_for_its_fibers() {
    for shuts_down in [false, true] {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).thread_keep_alive(Duration::ZERO).enable_all();
        let runtime = builder.build().unwrap();
        let (ends, has_ended) = mpsc::channel::<()>();
        let (tells, told) = mpsc::channel();
        let (wakes, woken) = oneshot::channel::<()>();
        let (began, has_begun) = oneshot::channel();
        let lends = move || {
            let its = thread::current().id();
            LENT.with(|lent| {
                thread::scope(|scope| {
                    scope.spawn(move || {
                        let is_gone = lent.0.clone();
                        let _ = has_ended.recv();
                        tells.send(is_gone.load(SeqCst)).unwrap();
                    });
                    began.send(its).unwrap();
                    let _ = fiber::wait(woken);
                });
            });
            assert_eq!(thread::current().id(), its);
        };
        let (fiber, thread) = runtime.block_on(async {
            let fiber = fiber::spawn(lends);
            (fiber, has_begun.await.unwrap())
        });
        let blocks = runtime.spawn(async move {
            assert_eq!(thread::current().id(), thread);
            let other = task::spawn(async { thread::current().id() });
            task::block_in_place(|| Handle::current().block_on(other)).unwrap()
        });
        assert_ne!(runtime.block_on(blocks).unwrap(), thread);
        if shuts_down {
            runtime.shutdown_background();
            ends.send(()).unwrap();
            assert!(!told.recv().unwrap(), "a local is gone that somebody has borrowed");
            let _ = wakes.send(());
            assert!(fiber.join().unwrap_err().is_cancelled());
        } else {
            ends.send(()).unwrap();
            assert!(!told.recv().unwrap(), "a local is gone that somebody has borrowed");
            wakes.send(()).unwrap();
            fiber.join().unwrap();
        }
    }
}
