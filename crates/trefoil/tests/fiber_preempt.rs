//! Fibers that compute without an end let others run, where that is safe.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

mod support;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, ThreadId};
use std::time::Duration;
use support::multi;
use trefoil::runtime::{Builder, Runtime};
use trefoil::sync::{Mutex, oneshot};
use trefoil::{fiber, fork_join, task};

#[global_allocator]
static ALLOCATOR: trefoil::alloc::Preempting = trefoil::alloc::Preempting::new();

/// A runtime on which all fibers have the same thread.
fn each(test: impl Fn(&Runtime)) {
    test(&multi(1));
}

/// How often another fiber of the same thread has had a turn.
#[derive(Clone, Default)]
struct Turns(Arc<AtomicUsize>);

impl Turns {
    fn so_far(&self) -> usize {
        self.0.load(SeqCst)
    }

    /// Whether the other fiber runs meanwhile.
    fn go_on_in(&self, f: impl FnOnce()) -> bool {
        let before = self.so_far();
        f();
        self.so_far() > before
    }
}

/// Runs `hog` in a fiber while another one of the same thread has a turn whenever it can.
fn beside<R: Send + 'static>(
    runtime: &Runtime,
    builder: fiber::Builder,
    hog: impl FnOnce(&Turns) -> R + Send + 'static,
) -> R {
    let (turns, stop) = (Turns::default(), Arc::new(AtomicBool::new(false)));
    let (its_turns, its_stop) = (turns.clone(), stop.clone());
    runtime.block_on(async move {
        let other = fiber::spawn(move || -> ThreadId {
            while !its_stop.load(SeqCst) {
                its_turns.0.fetch_add(1, SeqCst);
                fiber::yield_now();
            }
            thread::current().id()
        });
        let hog = builder.spawn(move || {
            while turns.so_far() == 0 {
                fiber::yield_now();
            }
            // A new slice.
            fiber::yield_now();
            (hog(&turns), thread::current().id())
        });
        let (result, here) = hog.unwrap().await.unwrap();
        stop.store(true, SeqCst);
        assert_eq!(other.await.unwrap(), here, "the two were to have one thread");
        result
    })
}

/// Gives way whenever this number of reductions is used up.
fn by_count(budget: u32) -> fiber::Builder {
    fiber::Builder::new().budget(budget).timeslice(None)
}

fn check(times: usize) {
    (0..times).for_each(|_| fiber::check!());
}

fn allocate(times: usize) {
    (0..times).for_each(|number| drop(black_box(Box::new(number))));
}

#[test]
fn a_fiber_that_only_allocates_and_checks_lets_another_one_go_on() {
    each(|runtime| {
        let rounds = beside(runtime, by_count(64), |turns| {
            let before = turns.so_far();
            let mut rounds = 0;
            while turns.so_far() == before {
                allocate(1);
                fiber::check!();
                rounds += 1;
            }
            rounds
        });
        // An allocation and a check are two reductions. By checks alone, it would be 64 rounds.
        assert_eq!(rounds, 32);
    });
}

#[test]
fn a_fiber_that_only_checks_has_its_budget_again_and_again() {
    each(|runtime| {
        beside(runtime, by_count(10), |turns| {
            for _ in 0..100 {
                assert!(!turns.go_on_in(|| check(9)));
                assert!(turns.go_on_in(|| check(1)));
            }
        });
    });
}

#[test]
fn an_allocation_does_not_switch_and_the_next_safe_place_does() {
    each(|runtime| {
        beside(runtime, by_count(8), |turns| {
            assert!(!turns.go_on_in(|| allocate(1000)));
            assert!(turns.go_on_in(|| check(1)), "in a check");
            let lock = Mutex::new(());
            assert!(!turns.go_on_in(|| allocate(1000)));
            assert!(turns.go_on_in(|| drop(lock.blocking_lock())), "in a call that need not wait");
            assert!(!turns.go_on_in(|| allocate(1000)));
            assert!(turns.go_on_in(|| fiber::wait(async {})), "in a wait for what is ready");
            // Grown and zeroed memory counts as well.
            let grows = || {
                for size in 1..100_usize {
                    let mut bytes = vec![0_u8; size];
                    bytes.reserve_exact(size * 100);
                    black_box(bytes);
                }
            };
            assert!(!turns.go_on_in(grows));
            assert!(turns.go_on_in(|| check(1)));
        });
    });
}

#[test]
fn calls_that_need_not_wait_are_reductions() {
    each(|runtime| {
        beside(runtime, by_count(8), |turns| {
            let lock = Mutex::new(());
            let rounds = (1..).find(|_| turns.go_on_in(|| drop(lock.blocking_lock())));
            assert_eq!(rounds, Some(8));
        });
    });
}

#[test]
fn a_wait_begins_a_new_slice() {
    each(|runtime| {
        beside(runtime, by_count(8), |turns| {
            for _ in 0..100 {
                assert!(!turns.go_on_in(|| check(7)));
                fiber::yield_now();
            }
        });
    });
}

#[test]
fn the_time_of_a_fiber_is_its_own() {
    each(|runtime| {
        let times = |time| fiber::Builder::new().budget(4).timeslice(time);
        beside(runtime, times(Duration::from_secs(100_000)), |turns| {
            assert!(!turns.go_on_in(|| check(100_000)));
        });
        beside(runtime, times(Duration::ZERO), |turns| {
            assert!(!turns.go_on_in(|| check(3)));
            assert!(turns.go_on_in(|| check(1)));
        });
        // However long it takes.
        beside(
            runtime,
            times(Duration::from_millis(1)),
            |turns| {
                while !turns.go_on_in(|| check(1)) {}
            },
        );
    });
}

#[test]
fn a_runtime_says_what_its_fibers_have() {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().fiber_budget(16).fiber_timeslice(None);
    let runtime = builder.build().unwrap();
    beside(&runtime, fiber::Builder::new(), |turns| {
        assert!(!turns.go_on_in(|| check(15)));
        assert!(turns.go_on_in(|| check(1)));
    });
    beside(&runtime, fiber::Builder::new().budget(1000), |turns| {
        assert!(!turns.go_on_in(|| check(999)));
        assert!(turns.go_on_in(|| check(1)));
    });
    beside(&runtime, fiber::Builder::new().timeslice(Duration::MAX), |turns| {
        assert!(!turns.go_on_in(|| check(1000)));
    });
}

#[test]
fn a_fiber_is_not_left_where_that_is_not_safe() {
    trefoil::task_local! {
        static LOCAL: u32;
    }
    each(|runtime| {
        beside(runtime, by_count(8), |turns| {
            LOCAL.sync_scope(1, || {
                let borrows = || LOCAL.with(|_| check(1000));
                assert!(!turns.go_on_in(borrows), "in a borrow of a task-local");
                assert!(turns.go_on_in(|| check(1)));
            });
            struct Checks;
            impl Drop for Checks {
                fn drop(&mut self) {
                    check(1000);
                }
            }
            let panics = || {
                let _checks = Checks;
                std::panic::resume_unwind(Box::new(()));
            };
            let unwinds = || {
                let _ = std::panic::catch_unwind(panics);
            };
            assert!(!turns.go_on_in(unwinds), "in a panic");
            assert!(turns.go_on_in(|| check(1)));
        });
    });
}

#[test]
fn a_fiber_is_not_left_in_a_fork() {
    // (On a current-thread runtime, a fork is two calls.)
    beside(&multi(1), by_count(8), |turns| {
        let forks = || {
            fork_join::join(|| check(1000), || ());
        };
        assert!(!turns.go_on_in(forks));
        assert!(turns.go_on_in(|| check(1)));
        let spawns = || fork_join::scope(|scope| scope.spawn(|_| check(1000)));
        assert!(!turns.go_on_in(spawns));
        assert!(turns.go_on_in(|| check(1)));
    });
}

#[test]
fn a_check_outside_of_fibers_does_nothing() {
    check(1000);
    each(|runtime| {
        runtime.block_on(async {
            check(1000);
            allocate(1000);
            task::spawn(async { check(1000) }).await.unwrap();
        });
    });
    let runtime = multi(2);
    runtime.block_on(async { task::spawn_blocking(|| check(1000)).await.unwrap() });
    runtime.install(|| check(1000));
}

#[test]
fn a_fiber_that_only_checks_can_be_aborted() {
    struct Ends(Arc<AtomicBool>);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    for (runtime, in_scope) in [(multi(1), false), (multi(1), true)] {
        let ended = Arc::new(AtomicBool::new(false));
        let ends = Ends(ended.clone());
        runtime.block_on(async move {
            let (began, has_begun) = oneshot::channel();
            let computes = move || {
                let _ends = ends;
                began.send(()).unwrap();
                loop {
                    fiber::check!();
                }
            };
            let fiber = by_count(100)
                .spawn(move || if in_scope { fiber::scope(|_| computes()) } else { computes() });
            let fiber = fiber.unwrap();
            has_begun.await.unwrap();
            fiber.abort();
            assert!(fiber.await.unwrap_err().is_cancelled());
        });
        assert!(ended.load(SeqCst));
    }
}

#[test]
fn a_runtime_ends_although_its_fibers_only_check() {
    for runtime in [multi(1), multi(3)] {
        let alive = Arc::new(());
        runtime.block_on(async {
            for _ in 0..10 {
                let (began, has_begun) = oneshot::channel();
                let its = alive.clone();
                let computes = move || {
                    let _its = its;
                    began.send(()).unwrap();
                    loop {
                        fiber::check!();
                    }
                };
                by_count(100).spawn(computes).unwrap();
                has_begun.await.unwrap();
            }
        });
        drop(runtime);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

#[test]
fn budgets_of_nothing_are_refused() {
    let refused = |f: fn()| std::panic::catch_unwind(f).unwrap_err();
    refused(|| drop(fiber::Builder::new().budget(0)));
    refused(|| drop(Builder::new_multi_thread().fiber_budget(0).build()));
    // The largest number is one that is never used up here.
    each(|runtime| {
        beside(runtime, by_count(u32::MAX), |turns| {
            assert!(!turns.go_on_in(|| check(100_000)));
        });
    });
}
