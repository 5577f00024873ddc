//! `join` from everywhere, with panics, locks and shutdowns.

mod forks;

use forks::{fib, multi};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use trefoil::fork_join::{
    Divisible, Scope, chunks, chunks_mut, for_each, fork_all, fork_reduce, join, map_reduce, scope,
};
use trefoil::runtime::{Builder, Runtime};
use trefoil::task;

/// Lets one closure wait for the other to start, which proves that they run at
/// the same time.
fn meet(barrier: &Barrier) -> ThreadId {
    barrier.wait();
    thread::current().id()
}

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
    // Two thieves, one after the other: the second fork must become public
    // although the first was taken long before.
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
        join(|| order.lock().unwrap().push('a'), || order.lock().unwrap().push('b'));
        assert_eq!(std::mem::take(&mut *order.lock().unwrap()), ['a', 'b']);
    };
    let current = Builder::new_current_thread().build().unwrap();
    current.block_on(async { both() });
    current.install(both);
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
    // On a worker, there is nothing to move to.
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

/// Which panic comes out of a join in which the given legs panic, and whether
/// both legs ran.
fn panics(runtime: &Runtime, a: bool, b: bool, steal: bool) -> (Option<&'static str>, usize) {
    let ran = AtomicUsize::new(0);
    let barrier = Barrier::new(2);
    let leg = |name: &'static str, panics: bool| {
        if steal {
            barrier.wait();
        }
        ran.fetch_add(1, SeqCst);
        if panics {
            panic_any(name);
        }
    };
    let caught = runtime.install(|| {
        catch_unwind(AssertUnwindSafe(|| join(|| leg("a", a), || leg("b", b)))).map(drop)
    });
    let payload = caught.err().map(|payload| *payload.downcast::<&'static str>().unwrap());
    (payload, ran.load(SeqCst))
}

#[test]
fn both_legs_run_and_the_first_panic_is_rethrown() {
    for (workers, steal) in [(1, false), (2, false), (2, true)] {
        let runtime = multi(workers);
        for _ in 0..20 {
            assert_eq!(panics(&runtime, false, false, steal), (None, 2));
            assert_eq!(panics(&runtime, true, false, steal), (Some("a"), 2));
            assert_eq!(panics(&runtime, false, true, steal), (Some("b"), 2));
            assert_eq!(panics(&runtime, true, true, steal), (Some("a"), 2));
        }
        assert_eq!(runtime.install(|| fib(10)), 55);
    }
}

#[test]
fn both_legs_run_where_there_are_no_workers() {
    let ran = AtomicUsize::new(0);
    let caught = catch_unwind(|| {
        join(
            || {
                ran.fetch_add(1, SeqCst);
                panic_any("a");
            },
            || {
                ran.fetch_add(1, SeqCst);
                panic_any("b");
            },
        )
    });
    assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "a");
    assert_eq!(ran.load(SeqCst), 2);
}

/// A full binary tree in which the leaf with number `bad` panics.
fn tree(depth: u32, leaf: usize, bad: usize, leaves: &AtomicUsize) {
    if depth == 0 {
        leaves.fetch_add(1, SeqCst);
        if leaf == bad {
            panic_any(bad);
        }
        return;
    }
    join(|| tree(depth - 1, 2 * leaf, bad, leaves), || tree(depth - 1, 2 * leaf + 1, bad, leaves));
}

#[test]
fn a_panic_at_any_leaf_lets_all_others_run() {
    for workers in [1, 2, 4] {
        let runtime = multi(workers);
        for bad in 0..64 {
            let leaves = AtomicUsize::new(0);
            let caught =
                catch_unwind(AssertUnwindSafe(|| runtime.install(|| tree(6, 0, bad, &leaves))));
            assert_eq!(*caught.unwrap_err().downcast::<usize>().unwrap(), bad);
            assert_eq!(leaves.load(SeqCst), 64);
        }
    }
}

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic_any("dropped");
    }
}

#[test]
fn a_result_that_panics_when_it_is_dropped_beside_a_panic() {
    for (workers, steal) in [(1, false), (2, false), (2, true)] {
        let runtime = multi(workers);
        let barrier = Barrier::new(2);
        let meet = || {
            if steal {
                barrier.wait();
            }
        };
        let a = || {
            meet();
            panic_any("a")
        };
        let b = || {
            meet();
            PanicsOnDrop
        };
        let caught = catch_unwind(AssertUnwindSafe(|| runtime.install(|| join(a, b).1)));
        assert_eq!(*caught.err().unwrap().downcast::<&str>().unwrap(), "a");
    }
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
    // ThreadSanitizer has room for 65,536 frames of a thread, several of which
    // a level takes, and writes beyond it. A deque has 2,048 places.
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

/// A lock held across a `join` whose waiting worker must not be given any of
/// the other closures that want the same lock (rayon's issue 592).
#[test]
fn a_lock_may_be_held_across_a_join() {
    fn locked(lock: &Mutex<u64>) {
        let mut sum = lock.lock().unwrap();
        let (a, b) = join(|| fib(8), || fib(9));
        *sum += a + b;
    }
    fn spread(n: u32, lock: &Mutex<u64>) {
        if n == 1 {
            return locked(lock);
        }
        join(|| spread(n / 2, lock), || spread(n - n / 2, lock));
    }
    for workers in [1, 2, 8] {
        let runtime = multi(workers);
        for _ in 0..20 {
            let lock = Arc::new(Mutex::new(0));
            let tasks: Vec<_> = (0..4)
                .map(|_| {
                    let lock = Arc::clone(&lock);
                    runtime.spawn(async move {
                        spread(64, &lock);
                        task::yield_now().await;
                        locked(&lock);
                    })
                })
                .collect();
            runtime.block_on(async {
                for task in tasks {
                    task.await.unwrap();
                }
            });
            assert_eq!(*lock.lock().unwrap(), 4 * 65 * 55);
        }
    }
}

/// The same, made certain: the waiting worker is offered exactly what it must
/// not touch, and the offers are taken up by somebody else.
#[test]
fn a_waiting_worker_runs_nothing_unrelated() {
    let runtime = multi(2);
    let waiting = AtomicBool::new(false);
    let started = Barrier::new(2);
    let ran_on = Arc::new(Mutex::new(Vec::new()));
    runtime.install(|| {
        let owner = thread::current().id();
        join(
            || {
                started.wait();
                waiting.store(true, SeqCst);
            },
            || {
                started.wait();
                while !waiting.load(SeqCst) {
                    std::hint::spin_loop();
                }
                for _ in 0..10 {
                    let ran_on = Arc::clone(&ran_on);
                    trefoil::spawn(async move {
                        ran_on.lock().unwrap().push(thread::current().id());
                    });
                }
                let here = thread::current().id();
                // Until they have run, or time for the owner to misbehave.
                let end = Instant::now() + Duration::from_secs(10);
                while ran_on.lock().unwrap().len() < 10 && Instant::now() < end {
                    thread::yield_now();
                }
                let ran_on = ran_on.lock().unwrap();
                assert_eq!(ran_on.len(), 10);
                assert!(!ran_on.contains(&owner) && !ran_on.contains(&here));
            },
        );
    });
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
                    // Before, during and after the end, always the answer.
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
                    // Needs a worker while this thread is one no more.
                    let handle = trefoil::runtime::Handle::current();
                    let one = task::block_in_place(|| handle.block_on(other)).unwrap();
                    one + fib(10)
                },
                || fib(11),
            );
            // Without a core, and still able to fork.
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

#[test]
fn what_a_leg_wakes_is_not_kept_behind_it() {
    // The task is woken by a leg on whose end nobody can count: another worker
    // must be able to take it.
    let runtime = multi(2);
    runtime
        .block_on(runtime.spawn(async {
            let done = Arc::new(AtomicBool::new(false));
            let (sender, receiver) = trefoil::sync::oneshot::channel();
            let theirs = Arc::clone(&done);
            let task = trefoil::spawn(async move {
                receiver.await.unwrap();
                theirs.store(true, SeqCst);
            });
            task::yield_now().await;
            join(
                || {
                    sender.send(()).unwrap();
                    while !done.load(SeqCst) {
                        thread::yield_now();
                    }
                },
                || (),
            );
            task.await.unwrap();
        }))
        .unwrap();
}

fn fast_and_slow_runtimes() -> Vec<Option<Runtime>> {
    let mut all = vec![None];
    all.extend([1, 2, 3, 16].map(|workers| Some(multi(workers))));
    all
}

/// Runs a test body outside of any runtime and on several.
fn everywhere(body: impl Fn() + Sync) {
    for runtime in fast_and_slow_runtimes() {
        match runtime {
            None => body(),
            Some(runtime) => {
                runtime.install(&body);
                let _guard = runtime.enter();
                body();
            }
        }
    }
}

#[test]
fn fork_all_returns_results_in_order() {
    everywhere(|| {
        assert_eq!(fork_all([(); 0].map(|()| || 1)), [0; 0]);
        assert_eq!(fork_all([|| 7]), [7]);
        for _ in 0..50 {
            let legs: [_; 11] = std::array::from_fn(|n| move || (n, fib(n as u64 % 5)));
            let expected = [0, 1, 1, 2, 3, 0, 1, 1, 2, 3, 0];
            assert_eq!(fork_all(legs), std::array::from_fn(|n| (n, expected[n])));
        }
    });
}

/// In order, with the numbers in a text, so that any other order is noticed.
fn written(range: std::ops::Range<usize>) -> Option<String> {
    fork_reduce(range, |n| format!("{n} "), |left, right| left + &right)
}

#[test]
fn fork_reduce_keeps_the_order() {
    let in_order =
        |range: std::ops::Range<usize>| range.map(|n| format!("{n} ")).reduce(|a, b| a + &b);
    for workers in [1, 2, 3] {
        let runtime = multi(workers);
        for count in [0, 1, 2, 10, 15, 16, 17, 100] {
            let range = 3..3 + count;
            assert_eq!(runtime.install(|| written(range.clone())), in_order(range.clone()));
            // From a thread that is no worker, with and without a runtime.
            let _entered = (count % 2 == 0).then(|| runtime.enter());
            assert_eq!(written(range.clone()), in_order(range));
        }
    }
}

#[test]
fn all_calls_of_a_fork_reduce_can_run_at_once() {
    let runtime = multi(4);
    for _ in 0..50 {
        let barrier = Barrier::new(4);
        let threads = runtime.install(|| {
            let meet = |_| vec![meet(&barrier)];
            fork_reduce(0..4, meet, |left, right| [left, right].concat()).unwrap()
        });
        for (i, thread) in threads.iter().enumerate() {
            assert!(!threads[..i].contains(thread));
        }
    }
}

#[test]
fn a_fork_reduce_makes_every_call_and_rethrows_the_first_panic() {
    for (workers, is_foreign) in [(1, false), (1, true), (2, false), (4, false)] {
        let runtime = multi(workers);
        for count in [1, 2, 9, 16, 40] {
            for bad in 0..count {
                let calls = AtomicUsize::new(0);
                let map = |n: usize| {
                    // Something to be stolen, before and after.
                    assert_eq!(fib(4), 3);
                    calls.fetch_add(1, SeqCst);
                    if n == bad || n == bad + 3 {
                        panic_any(n);
                    }
                };
                let work = || fork_reduce(0..count, map, |(), ()| ());
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    if is_foreign { work() } else { runtime.install(work) }
                }));
                assert_eq!(*caught.unwrap_err().downcast::<usize>().unwrap(), bad);
                assert_eq!(calls.load(SeqCst), count);
            }
        }
        // The deque is whole.
        assert_eq!(runtime.install(|| fib(15)), 610);
    }
}

#[test]
fn a_panic_in_the_reduction_comes_after_all_calls() {
    for workers in [1, 2] {
        let runtime = multi(workers);
        let calls = AtomicUsize::new(0);
        let map = |_| {
            calls.fetch_add(1, SeqCst);
        };
        let work = || fork_reduce(0..10, map, |(), ()| panic_any("reduced"));
        let caught = catch_unwind(AssertUnwindSafe(|| runtime.install(work)));
        assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "reduced");
        assert_eq!(calls.load(SeqCst), 10);
    }
}

#[test]
fn fork_all_runs_all_and_rethrows_the_first() {
    everywhere(|| {
        for bad in 0u32..128 {
            let ran = AtomicUsize::new(0);
            let ran = &ran;
            let legs: [_; 7] = std::array::from_fn(|n| {
                move || {
                    ran.fetch_add(1, SeqCst);
                    if bad >> n & 1 == 1 {
                        panic_any(n as u32);
                    }
                }
            });
            let caught = catch_unwind(AssertUnwindSafe(|| fork_all(legs)));
            let first = caught.err().map(|payload| *payload.downcast::<u32>().unwrap());
            assert_eq!(first, (bad != 0).then(|| bad.trailing_zeros()));
            assert_eq!(ran.load(SeqCst), 7);
        }
    });
}

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

#[test]
fn a_scope_lends_what_is_around_it() {
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

#[test]
fn a_scope_rethrows_when_all_have_ended() {
    everywhere(|| {
        for own in [false, true] {
            let ran = AtomicUsize::new(0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                scope(|scope| {
                    for n in 0..20 {
                        let ran = &ran;
                        scope.spawn(move |_| {
                            ran.fetch_add(1, SeqCst);
                            if n % 5 == 0 {
                                panic_any("spawned");
                            }
                        });
                    }
                    if own {
                        panic_any("own");
                    }
                });
            }));
            let payload = *caught.unwrap_err().downcast::<&str>().unwrap();
            assert_eq!(payload, if own { "own" } else { "spawned" });
            assert_eq!(ran.load(SeqCst), 20);
        }
    });
}

/// A join inside of a lock must not run what was spawned inside of it and wants
/// the same lock.
#[test]
fn a_join_does_not_run_what_its_closures_spawn() {
    everywhere(|| {
        let lock = Mutex::new(0);
        scope(|scope| {
            let mut count = lock.lock().unwrap();
            join(
                || scope.spawn(|_| *lock.lock().unwrap() += 1),
                || scope.spawn(|_| *lock.lock().unwrap() += 1),
            );
            *count += 1;
        });
        assert_eq!(*lock.lock().unwrap(), 3);
    });
}

#[test]
fn loops_serve_every_item_once() {
    everywhere(|| {
        for len in [0usize, 1, 2, 3, 7, 64, 1000] {
            let counts: Vec<AtomicUsize> = (0..len).map(|_| AtomicUsize::new(0)).collect();
            let count = |n: usize| {
                counts[n].fetch_add(1, SeqCst);
            };
            for_each(0..len, count);
            for_each((0..len).with_grain(10), count);
            for_each(&counts[..], |one| {
                one.fetch_add(1, SeqCst);
            });
            for chunk_len in [1, 3, 2000] {
                for_each(chunks(&counts, chunk_len), |chunk| {
                    assert!(chunk.len() <= chunk_len);
                    for one in chunk {
                        one.fetch_add(1, SeqCst);
                    }
                });
            }
            assert!(counts.iter().all(|count| count.load(SeqCst) == 6));

            let mut numbers: Vec<usize> = (0..len).collect();
            for_each(&mut numbers[..], |n| *n += 1);
            for_each(chunks_mut(&mut numbers, 3), |chunk| chunk.reverse());
            let mut expected: Vec<usize> = (1..=len).collect();
            expected.chunks_mut(3).for_each(<[_]>::reverse);
            assert_eq!(numbers, expected);

            // Not commutative, and so in order.
            let text = map_reduce(0..len, |n| n.to_string(), |a, b| a + &b);
            let expected: String = (0..len).map(|n| n.to_string()).collect();
            assert_eq!(text, (len > 0).then_some(expected));
        }
        assert_eq!(Divisible::item_count(&std::ops::Range { start: 5u32, end: 3 }), 0);
        assert_eq!(Divisible::item_count(&(0..u64::MAX)), usize::MAX);
        assert_eq!(map_reduce(250..255u8, u32::from, |a, b| a + b), Some(1260));
    });
}

/// A range that watches how it is cut.
struct Watched<'a> {
    range: std::ops::Range<usize>,
    cuts: &'a AtomicUsize,
}

impl IntoIterator for Watched<'_> {
    type Item = usize;
    type IntoIter = std::ops::Range<usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.range
    }
}

impl Divisible for Watched<'_> {
    fn item_count(&self) -> usize {
        self.range.len()
    }

    fn cut(self, count: usize) -> (Self, Self) {
        assert!(count >= 100 && self.range.len() - count >= 100);
        self.cuts.fetch_add(1, SeqCst);
        let (left, right) = self.range.cut(count);
        (Self { range: left, ..self }, Self { range: right, ..self })
    }
}

#[test]
fn a_grain_is_not_divided_and_a_loop_is() {
    for (len, at_least, at_most) in [(199, 0, 0), (200, 1, 1), (1000, 3, 9)] {
        let cuts = AtomicUsize::new(0);
        let runtime = multi(4);
        let watched = Watched { range: 0..len, cuts: &cuts };
        runtime.install(|| for_each(watched.with_grain(100), |_| ()));
        let cuts = cuts.load(SeqCst);
        assert!((at_least..=at_most).contains(&cuts), "{len} items, {cuts} cuts");
    }
}
