//! `join`: its results, and on which threads it runs.

use crate::support::{fib, meet, multi};
use parking_lot::Mutex;
use std::sync::Barrier;
use std::thread::{self, ThreadId};
use trefoil::fork_join::join;
use trefoil::runtime::Builder;
use trefoil::task;

#[test]
fn results_come_back_with_any_number_of_workers() {
    for workers in [1, 2, 3, 8, 64] {
        let runtime = multi(workers);
        assert_eq!(runtime.install(|| fib(20)), 6765, "{workers} workers");
        let joined = runtime.block_on(runtime.spawn(async { fib(18) }));
        assert_eq!(joined.unwrap(), 2584);
    }
}

#[test]
fn both_closures_can_run_at_once() {
    let runtime = multi(2);
    for _ in 0..100 {
        let barrier = Barrier::new(2);
        let (a, b) = runtime.install(|| join(|| meet(&barrier), || meet(&barrier)));
        assert_ne!(a, b);
    }
}

#[test]
fn the_oldest_of_nested_forks_can_always_be_stolen() {
    let runtime = multi(2);
    for depth in [1, 2, 5, 30] {
        let barrier = Barrier::new(2);
        fn down(depth: u32, barrier: &Barrier) -> ThreadId {
            if depth == 0 {
                return meet(barrier);
            }
            join(|| down(depth - 1, barrier), || ()).0
        }
        let (a, b) = runtime.install(|| join(|| down(depth, &barrier), || meet(&barrier)));
        assert_ne!(a, b);
    }
}

#[test]
fn a_thief_finds_more_while_the_owner_forks() {
    // Two thieves, one after the other: the second fork must become public, although the first one
    // was stolen long before.
    let runtime = multi(3);
    for _ in 0..50 {
        let (first, second) = (Barrier::new(2), Barrier::new(2));
        runtime.install(|| {
            join(
                || {
                    first.wait();
                    join(|| second.wait(), || second.wait())
                },
                || first.wait(),
            )
        });
    }
}

#[test]
fn a_task_stays_on_its_worker() {
    let runtime = multi(4);
    let same = runtime.block_on(runtime.spawn(async {
        let before = thread::current().id();
        let (a, _) = join(|| thread::current().id(), || fib(15));
        before == a && thread::current().id() == before
    }));
    assert!(same.unwrap());
}

#[test]
fn in_a_current_thread_runtime_it_is_two_calls() {
    let order = Mutex::new(Vec::new());
    let both = || {
        join(|| order.lock().push('a'), || order.lock().push('b'));
        assert_eq!(std::mem::take(&mut *order.lock()), ['a', 'b']);
    };
    let current = Builder::new_current_thread().build().unwrap();
    current.block_on(async { both() });
    {
        // `install` only calls the closure, so the context stays that of this thread.
        let _guard = current.enter();
        current.install(both);
    }
    let id = current.block_on(async { join(|| thread::current().id(), || ()).0 });
    assert_eq!(id, thread::current().id());
}

#[test]
fn a_foreign_thread_moves_to_the_workers() {
    let runtime = multi(2);
    let here = thread::current().id();
    let name = || thread::current().id();
    assert_ne!(runtime.install(name), here);
    assert_ne!(runtime.block_on(async { join(name, || ()).0 }), here);
    {
        let _guard = runtime.enter();
        assert_ne!(join(name, || ()).0, here);
    }
    let blocking = runtime.spawn_blocking(move || {
        let here = thread::current().id();
        (here, join(name, || ()).0)
    });
    let (there, worker) = runtime.block_on(blocking).unwrap();
    assert_ne!(there, worker);
    // On a worker, the closure stays where it is.
    let handle = runtime.handle().clone();
    assert!(runtime.install(|| thread::current().id() == handle.install(name)));
}

#[test]
fn many_foreign_threads_at_once() {
    let runtime = multi(2);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(runtime.install(|| fib(12)), 144);
                }
            });
        }
    });
}

#[test]
fn recursion_may_be_deeper_than_the_deque() {
    fn down(depth: u32) -> u32 {
        if depth == 0 {
            return 0;
        }
        let (a, b) = join(|| down(depth - 1), || 1);
        a + b
    }
    // ThreadSanitizer has room for 65,536 frames per thread, and writes beyond the end if there are
    // more. Each level takes several frames. A deque has 2,048 slots.
    let depth = if cfg!(trefoil_tsan) { 5_000 } else { 100_000 };
    for workers in [1, 2] {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .thread_stack_size(256 << 20)
            .build()
            .unwrap();
        assert_eq!(runtime.install(|| down(depth)), depth);
    }
}

#[test]
fn shutdown_while_foreign_threads_join() {
    for round in 0..50 {
        let runtime = multi(1 + round % 3);
        let handle = runtime.handle().clone();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let handle = handle.clone();
                thread::spawn(move || {
                    let _guard = handle.enter();
                    // The answer is right before, during and after the shutdown.
                    for _ in 0..40 {
                        assert_eq!(fib(10), 55);
                        assert_eq!(handle.install(|| fib(9)), 34);
                    }
                })
            })
            .collect();
        if round % 2 == 0 {
            thread::yield_now();
        }
        drop(runtime);
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

#[test]
fn a_leg_may_block_in_place() {
    for workers in [1, 2] {
        let runtime = multi(workers);
        let sum = runtime.block_on(runtime.spawn(async {
            let (a, b) = join(
                || {
                    let other = trefoil::spawn(async { 1 });
                    // This needs a worker, and this thread is no longer one.
                    let handle = trefoil::runtime::Handle::current();
                    let one = task::block_in_place(|| handle.block_on(other)).unwrap();
                    one + fib(10)
                },
                || fib(11),
            );
            // Without a worker state, the thread can still fork.
            a + b + fib(12)
        }));
        assert_eq!(sum.unwrap(), 1 + 55 + 89 + 144);
    }
}

#[test]
fn tasks_and_forks_mix() {
    for workers in [1, 2, 8] {
        let runtime = multi(workers);
        runtime.block_on(async {
            let tasks: Vec<_> = (0..200u64)
                .map(|n| {
                    trefoil::spawn(async move {
                        for _ in 0..n % 7 {
                            task::yield_now().await;
                        }
                        let inner = trefoil::spawn(async move { fib(n % 12) });
                        fib(10) + inner.await.unwrap()
                    })
                })
                .collect();
            for (n, task) in tasks.into_iter().enumerate() {
                let small = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89][n % 12];
                assert_eq!(task.await.unwrap(), 55 + small);
            }
        });
    }
}
