//! Fibers in `block_in_place` that wait there: what it has offered is on offer again afterwards.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::support::watch::{drop_returns, receive, wait_for};
use crate::support::{Hasty, multi};
use std::collections::HashSet;
use std::future::Future;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use trefoil::runtime::{Handle, Runtime};
use trefoil::sync::{oneshot, watch};
use trefoil::task::{block_in_place, yield_now};
use trefoil::{fiber, fork_join};

/// Whether each worker runs a task while the calling thread blocks.
fn all_workers_serve() -> bool {
    let (sends, sent) = channel();
    let handle = Handle::current();
    let workers = handle.metrics().num_workers();
    for worker in 0..workers {
        let sends = sends.clone();
        drop(handle.spawn_pinned(worker, async move { sends.send(()).unwrap() }));
    }
    (0..workers).all(|_| sent.recv_timeout(Duration::from_secs(5)).is_ok())
}

#[test]
fn a_thread_that_has_waited_in_place_goes_on_blocking_in_place() {
    type Waits = fn();
    let ways: [Waits; 4] = [
        || fiber::wait(yield_now()),
        || Handle::current().block_on(async { block_in_place(|| fiber::wait(yield_now())) }),
        || _ = fork_join::join(|| block_in_place(|| fiber::wait(yield_now())), || ()),
        || fiber::scope(|scope| drop(scope.spawn(fiber::yield_now))),
    ];
    for workers in 1..=2 {
        for (number, waits) in ways.into_iter().enumerate() {
            let runtime = Hasty(Some(multi(workers)));
            let guard = runtime.enter();
            let (tells, told) = channel();
            drop(fiber::spawn(move || {
                let serve = block_in_place(|| {
                    waits();
                    all_workers_serve()
                });
                tells.send(serve).unwrap();
            }));
            drop(guard);
            assert!(receive("a fiber that blocks in place", &told), "{number}, {workers} workers");
        }
    }
}

/// The frame of a `block_in_place` goes with the fiber's stack, also where the fiber waits in a
/// future that is polled there, in which the thread must not block. If the thread kept it, other
/// fibers would take it along, and use it after its end.
#[test]
fn a_wait_in_a_future_that_is_polled_in_place_takes_the_frame_along() {
    for _ in 0..10 {
        let runtime = Hasty(Some(multi(1)));
        let guard = runtime.enter();
        let handle = runtime.handle().clone();
        let (ends, has_ended) = channel();
        drop(fiber::spawn(move || {
            let (go, may_go) = oneshot::channel::<()>();
            let (go_on, may_go_on) = oneshot::channel::<()>();
            // It is in no `block_in_place`, and leaves its stack after the first one, and until
            // that is over.
            let second = fiber::spawn(move || {
                fiber::wait(may_go).unwrap();
                fork_join::join(|| fiber::wait(may_go_on).unwrap(), || ());
                thread::current().id()
            });
            fiber::yield_now();
            let first = fiber::spawn(move || {
                block_in_place(|| {
                    handle.block_on(async {
                        go.send(()).unwrap();
                        (0..3).for_each(|_| fiber::wait(yield_now()));
                    });
                });
                thread::current().id()
            });
            let first = first.join().unwrap();
            // Others have their frames where the first one's were.
            let (checks, may_check) = watch::channel(false);
            let others: Vec<_> = (0..4)
                .map(|_| {
                    let may_check = may_check.clone();
                    fiber::spawn(move || fill_and_wait(30, may_check))
                })
                .collect();
            fiber::yield_now();
            go_on.send(()).unwrap();
            assert_eq!(second.join().unwrap(), first, "nothing was tested");
            checks.send(true).unwrap();
            others.into_iter().for_each(|other| other.join().unwrap());
            ends.send(()).unwrap();
        }));
        drop(guard);
        receive("fibers whose stacks are their own", &has_ended);
    }
}

/// Fills much of a stack with a number, waits, and sees whether the number is there still.
#[inline(never)]
fn fill_and_wait(depth: u32, mut may_check: watch::Receiver<bool>) {
    const NUMBER: u64 = 0x5555_5555_5555_5555;
    let mut words = [0; 64];
    words.fill(black_box(NUMBER));
    black_box(&mut words);
    if depth == 0 {
        drop(fiber::wait(may_check.wait_for(|&may| may)));
    } else {
        fill_and_wait(depth - 1, may_check);
    }
    assert!(words.iter().all(|&word| word == NUMBER), "somebody has written to this stack");
}

/// The end of a scope waits, and nothing unwinds it there.
#[test]
fn a_scope_in_place_waits_for_its_fibers_though_it_is_aborted() {
    for is_at_end in [false, true] {
        let runtime = Hasty(Some(multi(1)));
        let guard = runtime.enter();
        let (begins, has_begun) = channel();
        let (_go, may_go) = oneshot::channel::<()>();
        let fiber = fiber::spawn(move || {
            block_in_place(|| {
                fiber::scope(|scope| {
                    scope.spawn(move || {
                        begins.send(()).unwrap();
                        drop(fiber::wait(may_go));
                    });
                });
            });
        });
        receive("a fiber of a scope begins", &has_begun);
        // The owner waits as well, since it has the only thread.
        wait_for("the worker rests", || runtime.metrics().worker_park_unpark_count(0) % 2 == 1);
        drop(guard);
        if is_at_end {
            drop_returns("the drop of a runtime", runtime);
        } else {
            // It aborts the fibers of the scope first.
            fiber.abort();
            let (ends, has_ended) = channel();
            drop(runtime.spawn(async move { ends.send(fiber.await.unwrap_err().is_cancelled()) }));
            assert!(receive("the end of a fiber that was aborted", &has_ended));
        }
    }
}

/// Has fibers at rest on both workers' threads, so that each runs in a fiber what it takes.
pub(crate) fn begin_on_both(runtime: &Runtime) {
    let _guard = runtime.enter();
    let (begins, has_begun) = channel();
    let mut hosts = HashSet::new();
    while hosts.len() < 2 {
        let begins = begins.clone();
        drop(fiber::spawn(move || {
            begins.send(thread::current().id()).unwrap();
            fiber::wait(std::future::pending::<()>());
        }));
        hosts.insert(receive("a fiber begins", &has_begun));
    }
}

/// Whoever waits for a fork from outside learns that a closure of it has not returned, by a payload
/// that says so.
#[test]
fn a_fork_from_outside_learns_that_the_runtime_ends() {
    let mut runtime = Hasty(Some(multi(2)));
    begin_on_both(&runtime);
    let (waits, does_wait) = channel();
    let handle = runtime.handle().clone();
    let outside = thread::spawn(move || {
        let (tells, told) = channel();
        handle.install(|| {
            let until_taken = move || _ = told.recv();
            let waits = || {
                tells.send(()).unwrap();
                waits.send(()).unwrap();
                fiber::wait(std::future::pending::<()>());
            };
            fork_join::join(until_taken, waits)
        })
    });
    receive("a closure is taken", &does_wait);
    let runtime = runtime.0.take();
    drop_returns("the drop of a runtime", Hasty(runtime));
    let payload = outside.join().unwrap_err();
    assert!(payload.downcast_ref::<&str>().unwrap().contains("its runtime ends"));
}

/// A foreign executor there would wait for ever for a budget that nobody renews.
#[test]
fn there_is_no_budget_in_place_after_a_wait_either() {
    let runtime = Hasty(Some(multi(1)));
    let guard = runtime.enter();
    let (ends, has_ended) = channel();
    drop(fiber::spawn(move || {
        let is_unlimited = || {
            (0..1000).all(|_| {
                let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                std::pin::pin!(trefoil::task::consume_budget()).poll(&mut cx).is_ready()
            })
        };
        block_in_place(|| {
            let before = is_unlimited();
            fiber::yield_now();
            ends.send((before, is_unlimited())).unwrap();
        });
        ends.send((is_unlimited(), false)).unwrap();
    }));
    drop(guard);
    assert_eq!(receive("two loops", &has_ended), (true, true));
    assert!(!receive("a loop", &has_ended).0, "a fiber has a budget elsewhere");
}

/// A fiber whose time is up lets others run there, by checks and by calls that need not wait.
#[test]
fn a_fiber_gives_way_in_place() {
    type Calls = fn();
    let ways: [Calls; 2] = [|| fiber::check!(), || fiber::wait(std::future::ready(()))];
    for calls in ways {
        let runtime = Hasty(Some(multi(1)));
        let guard = runtime.enter();
        let (ends, has_ended) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let its = is_over.clone();
        let fiber = fiber::Builder::new().budget(8).timeslice(None).spawn(move || {
            assert!(fiber::current().is_some());
            block_in_place(|| {
                assert!(fiber::current().is_some());
                while !its.load(SeqCst) {
                    calls();
                }
            });
            ends.send(()).unwrap();
        });
        drop(fiber.unwrap());
        drop(fiber::spawn(move || is_over.store(true, SeqCst)));
        drop(guard);
        receive("a fiber that another one of its thread ends", &has_ended);
    }
}
