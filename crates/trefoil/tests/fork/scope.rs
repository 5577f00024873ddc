//! `scope`: what closures borrow, and when the scope ends.

use crate::support::{current_thread, everywhere, fib, multi};
use parking_lot::Mutex;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use trefoil::fork_join::{Scope, scope};

#[test]
fn a_scope_ends_after_all_that_was_spawned() {
    fn spread<'scope>(depth: u32, count: &'scope AtomicUsize, scope: &Scope<'scope>) {
        count.fetch_add(1, SeqCst);
        if depth > 0 {
            for _ in 0..2 {
                scope.spawn(move |scope| spread(depth - 1, count, scope));
            }
        }
    }
    everywhere(|| {
        for depth in 0..8 {
            let count = AtomicUsize::new(0);
            let result = scope(|scope| {
                spread(depth, &count, scope);
                "result"
            });
            assert_eq!((result, count.load(SeqCst)), ("result", (1 << (depth + 1)) - 1));
        }
    });
}

/// The page for those who come from rayon says so of current-thread runtimes.
#[test]
fn without_workers_the_newest_closure_goes_first() {
    let runtime = current_thread();
    let _context = runtime.enter();
    let order = Mutex::new(Vec::new());
    scope(|scope| {
        for n in 0..4 {
            let order = &order;
            scope.spawn(move |_| order.lock().push(n));
        }
        order.lock().push(9);
    });
    assert_eq!(order.into_inner(), [9, 3, 2, 1, 0]);
}

#[test]
fn closures_borrow_what_is_around_the_scope() {
    everywhere(|| {
        let mut rows = vec![0u64; 40];
        scope(|scope| {
            for (index, row) in rows.iter_mut().enumerate() {
                scope.spawn(move |_| *row = fib(index as u64 % 10));
            }
        });
        assert_eq!(rows[9], 34);
        assert_eq!(rows.iter().sum::<u64>(), 4 * 88);
    });
}

#[test]
fn spawned_closures_run_while_the_scope_goes_on() {
    let runtime = multi(2);
    let barrier = Barrier::new(2);
    runtime.install(|| {
        scope(|scope| {
            scope.spawn(|_| {
                barrier.wait();
            });
            barrier.wait();
        });
    });
}
