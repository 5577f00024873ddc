//! Panics in closures that fork: all closures run, and the first panic is rethrown.

use crate::support::{everywhere, fib, multi};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use trefoil::fork_join::{fork_all, fork_reduce, join, scope};
use trefoil::runtime::Runtime;

/// The panic of a join in which the given legs panic, and whether both legs ran.
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

/// A payload that panics when it is dropped. During an unwinding, this would end the process.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        resume_unwind(Box::new("dropped"));
    }
}

#[test]
fn a_payload_that_panics_when_it_is_dropped_beside_a_panic() {
    let of = |caught: std::thread::Result<()>| *caught.unwrap_err().downcast::<&str>().unwrap();
    everywhere(|| {
        let join = catch_unwind(|| {
            join(|| panic_any("own"), || panic_any(Payload));
        });
        assert_eq!(of(join), "own");
        let legs =
            [0, 1, 2].map(|n| move || if n == 0 { panic_any("own") } else { panic_any(Payload) });
        assert_eq!(
            of(catch_unwind(|| {
                fork_all(legs);
            })),
            "own"
        );
        let scope = catch_unwind(|| {
            scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|_| panic_any(Payload));
                }
                panic_any("own")
            })
        });
        assert_eq!(of(scope), "own");
    });
}

/// The second leg is stolen.
#[test]
fn a_payload_of_a_thief_that_panics_when_it_is_dropped() {
    let runtime = multi(2);
    let barrier = Barrier::new(2);
    let leg = || {
        barrier.wait();
    };
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let a = || {
            leg();
            panic_any("own")
        };
        let b = || {
            leg();
            panic_any(Payload)
        };
        runtime.install(|| join(a, b)).0
    }));
    assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "own");
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
fn a_fork_reduce_makes_every_call_and_rethrows_the_first_panic() {
    for (workers, is_foreign) in [(1, false), (1, true), (2, false), (4, false)] {
        let runtime = multi(workers);
        for count in [1, 2, 9, 16, 40] {
            for bad in 0..count {
                let calls = AtomicUsize::new(0);
                let map = |n: usize| {
                    // Forks that can be stolen, before and after the panic.
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
        // The deque still works.
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
