//! Fibers that wait in forks while there are few deques, or none.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::in_place::begin_on_both;
use crate::support::watch::{receive, wait_for};
use crate::support::{Hasty, multi};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use trefoil::sync::{Barrier, oneshot, watch};
use trefoil::task::block_in_place;
use trefoil::{fiber, fork_join};

/// So many fibers of a runtime can wait in forks (`fork_join/deques.rs`).
const FOR_FIBERS: usize = 192;

/// Closures of a scope need no deque to wait.
#[test]
fn closures_of_a_scope_wait_for_each_other_however_many_they_are() {
    const CLOSURES: usize = FOR_FIBERS + 60;
    // Where a thread without fibers takes one, that blocks in place.
    for have_fibers in [false, true] {
        let runtime = Hasty(Some(multi(2)));
        if have_fibers {
            begin_on_both(&runtime);
        }
        let guard = runtime.enter();
        let (ends, has_ended) = channel();
        drop(fiber::spawn(move || {
            let barrier = Barrier::new(CLOSURES);
            fork_join::scope(|scope| {
                for _ in 0..CLOSURES {
                    scope.spawn(|_| _ = fiber::wait(barrier.wait()));
                }
            });
            ends.send(()).unwrap();
        }));
        drop(guard);
        receive("a scope whose closures wait for each other", &has_ended);
    }
}

/// A helper that is blocked takes no other closure, whether or not its thread has fibers.
#[test]
fn closures_of_a_scope_block_until_all_are_there() {
    for have_fibers in [false, true] {
        let runtime = Hasty(Some(multi(2)));
        if have_fibers {
            begin_on_both(&runtime);
        }
        let guard = runtime.enter();
        let (ends, has_ended) = channel();
        drop(fiber::spawn(move || {
            let (barrier, is_first_there) = (std::sync::Barrier::new(3), AtomicBool::new(false));
            let meet = || _ = block_in_place(|| barrier.wait());
            fork_join::scope(|scope| {
                scope.spawn(|_| {
                    is_first_there.store(true, SeqCst);
                    meet();
                });
                // On the other thread.
                while !is_first_there.load(SeqCst) {
                    std::hint::spin_loop();
                }
                scope.spawn(|_| meet());
                scope.spawn(|_| meet());
            });
            ends.send(()).unwrap();
        }));
        drop(guard);
        receive("a scope whose closures block until all are there", &has_ended);
    }
}

/// Forks of asynchronous code are joined as ever on a thread that had no deque for a while: the
/// second closure runs in the panic of the first one, which in a fiber it must not.
#[test]
fn forks_outside_of_fibers_are_as_before_where_there_was_no_deque() {
    fn runs_in_panic() -> bool {
        let saw = AtomicBool::new(false);
        let panics = || -> () { std::panic::resume_unwind(Box::new(())) };
        let looks = || saw.store(thread::panicking(), SeqCst);
        let forks = std::panic::AssertUnwindSafe(|| fork_join::join(panics, looks));
        assert!(std::panic::catch_unwind(forks).is_err());
        saw.into_inner()
    }
    let runtime = Hasty(Some(multi(1)));
    let in_task = || runtime.block_on(runtime.spawn(async { runs_in_panic() })).unwrap();
    assert!(in_task());
    let guard = runtime.enter();
    let (go, may_go) = watch::channel(false);
    let waiting = Arc::new(AtomicUsize::new(0));
    let fibers: Vec<_> = (0..=FOR_FIBERS)
        .map(|_| {
            let (mut may_go, waiting) = (may_go.clone(), waiting.clone());
            fiber::spawn(move || {
                let waits = || {
                    waiting.fetch_add(1, SeqCst);
                    drop(fiber::wait(may_go.wait_for(|&go| go)));
                };
                fork_join::join(waits, || ());
            })
        })
        .collect();
    wait_for("fibers wait in forks", || waiting.load(SeqCst) == FOR_FIBERS + 1);
    go.send(true).unwrap();
    drop(guard);
    for fiber in fibers {
        runtime.block_on(fiber).unwrap();
    }
    assert!(in_task());
}

/// The owner of a fork waits for a closure that blocks elsewhere, and no deque is free that its
/// thread could have meanwhile: it misses no end of the closure.
#[test]
fn a_fiber_that_leaves_its_thread_no_deque_misses_no_end_of_a_closure() {
    const ROUNDS: usize = 8000;
    for is_in_scope in [false, true] {
        let runtime = Hasty(Some(multi(2)));
        let guard = runtime.enter();
        let (go, may_go) = watch::channel(false);
        let waiting = Arc::new(AtomicUsize::new(0));
        for _ in 0..FOR_FIBERS {
            let (mut may_go, waiting) = (may_go.clone(), waiting.clone());
            drop(fiber::spawn(move || {
                let waits = || {
                    waiting.fetch_add(1, SeqCst);
                    drop(fiber::wait(may_go.wait_for(|&go| go)));
                };
                fork_join::join(waits, || ());
            }));
        }
        wait_for("fibers wait in forks", || waiting.load(SeqCst) == FOR_FIBERS);
        let (ends, has_ended) = channel();
        drop(fiber::spawn(move || {
            let here = thread::current().id();
            for round in 0..ROUNDS {
                let is_taken = AtomicBool::new(false);
                let blocks = || {
                    is_taken.store(true, SeqCst);
                    if thread::current().id() != here {
                        block_in_place(|| {
                            (0..round * 7 % 300).for_each(|_| std::hint::spin_loop())
                        });
                    }
                };
                let until_taken = || {
                    for _ in 0..20_000 {
                        if is_taken.load(SeqCst) {
                            break;
                        }
                        std::hint::spin_loop();
                    }
                    (0..round * 13 % 1009).for_each(|_| std::hint::spin_loop());
                };
                if is_in_scope {
                    fork_join::scope(|scope| {
                        scope.spawn(|_| blocks());
                        until_taken();
                    });
                } else {
                    fork_join::join(until_taken, blocks);
                }
                _ = ends.send(());
            }
        }));
        drop(guard);
        (0..ROUNDS).for_each(|_| receive("a fork whose closure blocks", &has_ended));
        go.send(true).unwrap();
    }
}

/// A thread that has no deque of its own takes one for a fork, and what is forked around a closure
/// that waits is published as on all others.
#[test]
fn a_late_deque_is_published_where_its_fiber_waits() {
    // Two for the workers, and as many as there are to spare.
    const BLOCKING: usize = 66;
    let runtime = Hasty(Some(multi(2)));
    let guard = runtime.enter();
    let released = Arc::new(AtomicBool::new(false));
    let (blocks, does_block) = channel();
    let (ends, has_ended) = channel();
    for _ in 0..BLOCKING {
        let (released, blocks, ends) = (released.clone(), blocks.clone(), ends.clone());
        drop(runtime.spawn(async move {
            block_in_place(|| {
                blocks.send(()).unwrap();
                while !released.load(SeqCst) {
                    thread::sleep(std::time::Duration::from_millis(1));
                }
            });
            ends.send(()).unwrap();
        }));
    }
    (0..BLOCKING).for_each(|_| receive("a thread with a deque blocks", &does_block));
    let (begins, has_begun) = channel();
    let (go, may_go) = watch::channel(false);
    let (returns, returned) = channel();
    for _ in 0..8 {
        let (begins, mut may_go, returns) = (begins.clone(), may_go.clone(), returns.clone());
        drop(fiber::spawn(move || {
            begins.send(()).unwrap();
            drop(fiber::wait(may_go.wait_for(|&go| go)));
            // The first is published at once, since nothing is; not so the others.
            let [(a, at_a), (b, at_b), (c, at_c)] = [(); 3].map(|()| oneshot::channel::<u32>());
            let waits = || [at_a, at_b, at_c].map(|it| fiber::wait(it).unwrap());
            let inner = || fork_join::join(waits, || c.send(3).unwrap()).0;
            let middle = || fork_join::join(inner, || b.send(2).unwrap()).0;
            returns.send(fork_join::join(middle, || a.send(1).unwrap()).0).unwrap();
        }));
    }
    (0..8).for_each(|_| receive("a fiber begins", &has_begun));
    released.store(true, SeqCst);
    (0..BLOCKING).for_each(|_| receive("a thread blocks no more", &has_ended));
    let is_back = || runtime.metrics().num_idle_blocking_threads() >= BLOCKING;
    wait_for("the threads give their deques back", is_back);
    go.send(true).unwrap();
    for _ in 0..8 {
        assert_eq!(receive("what other workers have sent", &returned), [1, 2, 3]);
    }
    drop(guard);
}
