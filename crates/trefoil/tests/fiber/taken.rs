//! Fibers that are aborted while other threads run closures of their forks.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::in_place::begin_on_both;
use crate::support::watch::{drop_returns, receive, wait_for};
use crate::support::{Hasty, multi};
use parking_lot::Mutex;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;
use trefoil::runtime::{Handle, Runtime};
use trefoil::sync::oneshot;
use trefoil::task::{JoinHandle, block_in_place};
use trefoil::{actor, fiber, fork_join};

type Closure<'a> = &'a (dyn Fn() + Sync);
type Forks = fn(Closure<'_>, Closure<'_>);

const FORKS: [Forks; 3] = [
    |a, b| _ = fork_join::join(a, b),
    |a, b| _ = fork_join::fork_all([a, b]),
    |a, b| {
        fork_join::scope(|scope| {
            scope.spawn(|_| b());
            a();
        });
    },
];

const WAITS: [fn(); 6] = [
    || fiber::wait(pending::<()>()),
    || block_in_place(|| fiber::wait(pending::<()>())),
    || block_in_place(|| Handle::current().block_on(pending::<()>())),
    || loop {
        fiber::yield_now();
    },
    || {
        let (_sender, receiver) = oneshot::channel::<()>();
        _ = receiver.blocking_recv();
    },
    || {
        fiber::scope(|scope| drop(scope.spawn(|| fiber::wait(pending::<()>()))));
        fiber::wait(pending::<()>());
    },
];

/// Counts its drops.
struct Counts<'a>(&'a AtomicUsize);

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A runtime whose workers have fibers or not: what they take runs in a fiber, or blocks in place.
fn hosts_or_not(workers: usize, are_hosts: bool) -> Hasty {
    let runtime = Hasty(Some(multi(workers)));
    if are_hosts && workers == 2 {
        begin_on_both(&runtime);
    } else if are_hosts {
        let begun = Arc::new(AtomicUsize::new(0));
        let _guard = runtime.enter();
        for _ in 0..4 * workers {
            let begun = begun.clone();
            drop(fiber::spawn(move || {
                begun.fetch_add(1, SeqCst);
                fiber::wait(pending::<()>());
            }));
        }
        wait_for("fibers begin", || begun.load(SeqCst) == 4 * workers);
    }
    runtime
}

/// Whether a fiber ends as one that was cancelled.
#[track_caller]
fn is_cancelled<R: Send + 'static>(runtime: &Runtime, fiber: JoinHandle<R>) -> bool {
    let (ends, has_ended) = channel();
    drop(runtime.spawn(async move {
        let is_cancelled = fiber.await.is_err_and(|error| error.is_cancelled());
        ends.send(is_cancelled).unwrap();
    }));
    receive("the end of a fiber that was aborted", &has_ended)
}

/// All kinds of forks, where the other threads have fibers and where not.
fn everywhere() -> impl Iterator<Item = (bool, Forks)> {
    [false, true].into_iter().flat_map(|hosts| FORKS.map(|forks| (hosts, forks)))
}

/// Forks, and calls `f` in a closure that another thread has taken.
fn fork_to_another_thread(forks: Forks, f: Closure<'_>) {
    let is_taken = AtomicBool::new(false);
    let until_taken = || wait_for("a closure is taken", || is_taken.load(SeqCst));
    forks(&until_taken, &|| {
        is_taken.store(true, SeqCst);
        f();
    });
}

/// Spawns a fiber that does so, and waits until `f` says that it has begun.
#[track_caller]
fn spawn_forking(
    runtime: &Runtime,
    forks: Forks,
    f: impl Fn(Closure<'_>) + Send + Sync + 'static,
) -> JoinHandle<()> {
    let (begins, has_begun) = channel();
    let _guard = runtime.enter();
    let fiber = fiber::spawn(move || {
        fork_to_another_thread(forks, &|| f(&|| _ = begins.send(())));
    });
    receive("a closure begins", &has_begun);
    fiber
}

/// By an abort, or by the end of the runtime.
#[test]
fn a_closure_that_another_worker_has_taken_is_unwound_where_it_waits() {
    for (are_hosts, forks) in everywhere() {
        for (waits, is_at_end) in WAITS.into_iter().flat_map(|it| [(it, false), (it, true)]) {
            let runtime = hosts_or_not(2, are_hosts);
            let dropped = Arc::new(AtomicUsize::new(0));
            let its = dropped.clone();
            let fiber = spawn_forking(&runtime, forks, move |begins| {
                let _counts = Counts(&its);
                begins();
                waits();
            });
            if is_at_end {
                drop_returns("the drop of a runtime", runtime);
            } else {
                fiber.abort();
                assert!(is_cancelled(&runtime, fiber));
            }
            assert_eq!(dropped.load(SeqCst), 1);
        }
    }
}

/// The closure does not wait when its fiber is aborted, and does so later.
#[test]
fn a_taken_closure_that_computes_is_unwound_where_it_next_waits() {
    for (are_hosts, forks) in everywhere() {
        let runtime = hosts_or_not(2, are_hosts);
        let is_aborted = Arc::new(AtomicBool::new(false));
        let its = is_aborted.clone();
        let fiber = spawn_forking(&runtime, forks, move |begins| {
            begins();
            wait_for("an abort", || its.load(SeqCst));
            fiber::wait(pending::<()>());
        });
        fiber.abort();
        is_aborted.store(true, SeqCst);
        assert!(is_cancelled(&runtime, fiber));
    }
}

/// A closure of a closure is taken by a third thread, and both wait: the outer one for the inner
/// one, after its own part or in the unwinding of that.
#[test]
fn what_a_taken_closure_has_forked_is_unwound_as_well() {
    for (are_hosts, forks) in everywhere() {
        for own_part_waits in [false, true] {
            let runtime = hosts_or_not(3, are_hosts);
            let dropped = Arc::new(AtomicUsize::new(0));
            let its = dropped.clone();
            let fiber = spawn_forking(&runtime, forks, move |begins| {
                let _counts = Counts(&its);
                let is_taken = AtomicBool::new(false);
                let own_part = || {
                    wait_for("a part is taken", || is_taken.load(SeqCst));
                    if own_part_waits {
                        fiber::wait(pending::<()>());
                    }
                };
                forks(&own_part, &|| {
                    let _counts = Counts(&its);
                    is_taken.store(true, SeqCst);
                    begins();
                    fiber::wait(pending::<()>());
                });
            });
            fiber.abort();
            assert!(is_cancelled(&runtime, fiber));
            assert_eq!(dropped.load(SeqCst), 2);
        }
    }
}

/// The thread has no fibers, and calls what it has forked in turn: none of it in a panic, in which
/// nothing could be unwound.
#[test]
fn what_a_taken_closure_has_forked_and_nobody_has_taken_is_unwound_as_well() {
    for (are_hosts, forks) in everywhere() {
        let runtime = hosts_or_not(2, are_hosts);
        let waited = Arc::new(AtomicUsize::new(0));
        let its = waited.clone();
        let fiber = spawn_forking(&runtime, forks, move |begins| {
            let waits = || {
                its.fetch_add(1, SeqCst);
                begins();
                fiber::wait(pending::<()>());
            };
            forks(&|| forks(&waits, &waits), &waits);
        });
        fiber.abort();
        assert!(is_cancelled(&runtime, fiber));
        assert_eq!(waited.load(SeqCst), 3);
    }
}

/// A taken closure that yields until somebody acts whose thread has forked it.
#[test]
fn a_taken_closure_yields_to_the_thread_that_has_forked_it() {
    for (are_hosts, forks) in everywhere() {
        let runtime = hosts_or_not(2, are_hosts);
        let guard = runtime.enter();
        let (ends, has_ended) = channel();
        drop(fiber::spawn(move || {
            let (go, may_go) = oneshot::channel::<()>();
            let acts = Arc::new(AtomicBool::new(false));
            let its = acts.clone();
            // Most likely, it begins on this thread, and waits there.
            drop(fiber::spawn(move || {
                fiber::wait(may_go).unwrap();
                its.store(true, SeqCst);
            }));
            fiber::yield_now();
            let go = Mutex::new(Some(go));
            fork_to_another_thread(forks, &|| {
                go.lock().take().unwrap().send(()).unwrap();
                while !acts.load(SeqCst) {
                    fiber::yield_now();
                }
            });
            ends.send(()).unwrap();
        }));
        drop(guard);
        receive("a fork whose closure yields", &has_ended);
    }
}

/// A destructor that runs for the abort is no part of what is aborted, nor is what it forks: an
/// unwinding in it would be a panic in a panic.
#[test]
fn destructors_of_a_taken_closure_wait_and_fork() {
    struct Forks(Sender<oneshot::Sender<u8>>);
    impl Drop for Forks {
        fn drop(&mut self) {
            let waits = || {
                let (sender, receiver) = oneshot::channel();
                self.0.send(sender).unwrap();
                assert_eq!(fiber::wait(receiver), Ok(7));
            };
            waits();
            fork_to_another_thread(FORKS[0], &waits);
        }
    }
    for are_hosts in [false, true] {
        let runtime = hosts_or_not(3, are_hosts);
        let (waits, does_wait) = channel();
        let fiber = spawn_forking(&runtime, FORKS[0], move |begins| {
            let _forks = Forks(waits.clone());
            begins();
            fiber::wait(pending::<()>());
        });
        fiber.abort();
        for _ in 0..2 {
            receive("a destructor waits", &does_wait).send(7).unwrap();
        }
        assert!(is_cancelled(&runtime, fiber));
    }
}

/// The runtime ends meanwhile: the closures of such forks, which other threads have taken, go on.
#[test]
fn what_a_destructor_has_forked_is_not_unwound_at_the_end_of_the_runtime() {
    struct Forks(Sender<oneshot::Sender<u8>>);
    impl Drop for Forks {
        fn drop(&mut self) {
            fork_to_another_thread(FORKS[0], &|| {
                let (sender, receiver) = oneshot::channel();
                self.0.send(sender).unwrap();
                assert_eq!(fiber::wait(receiver), Ok(7));
            });
        }
    }
    for are_hosts in [false, true] {
        let runtime = hosts_or_not(3, are_hosts);
        let guard = runtime.enter();
        let (waits, does_wait) = channel();
        let fiber = spawn_forking(&runtime, FORKS[0], move |begins| {
            let _forks = Forks(waits.clone());
            begins();
            fiber::wait(pending::<()>());
        });
        fiber.abort();
        let answer = receive("a destructor's fork waits", &does_wait);
        drop(guard);
        let (drops, has_dropped) = channel();
        thread::spawn(move || {
            drop(runtime);
            drops.send(()).unwrap();
        });
        // Most likely, the end has begun.
        thread::sleep(Duration::from_millis(20));
        answer.send(7).unwrap();
        receive("the drop of a runtime", &has_dropped);
    }
}

/// A closure that catches its unwinding gets what is ready, and is unwound again where it waits.
/// Its fork has its result.
#[test]
fn a_taken_closure_may_catch_its_unwinding() {
    for are_hosts in [false, true] {
        let runtime = hosts_or_not(2, are_hosts);
        let guard = runtime.enter();
        let (begins, has_begun) = channel();
        let (ends, has_ended) = channel();
        let fiber = fiber::spawn(move || {
            let caught = AtomicUsize::new(0);
            fork_to_another_thread(FORKS[0], &|| {
                begins.send(()).unwrap();
                for _ in 0..3 {
                    let waits = || fiber::wait(pending::<()>());
                    caught.fetch_add(usize::from(catch_unwind(waits).is_err()), SeqCst);
                    assert_eq!(fiber::wait(async { 7 }), 7);
                }
            });
            ends.send(caught.load(SeqCst)).unwrap();
            fiber::wait(pending::<()>());
        });
        receive("a closure waits", &has_begun);
        drop(guard);
        fiber.abort();
        assert_eq!(receive("the end of a fork", &has_ended), 3);
        assert!(is_cancelled(&runtime, fiber));
    }
}

/// The worker that had the closure goes on, and so does what waits there for something else.
#[test]
fn an_abort_unwinds_nothing_else() {
    for are_hosts in [false, true] {
        let runtime = hosts_or_not(2, are_hosts);
        let guard = runtime.enter();
        let mut others = Vec::new();
        for round in 0..50 {
            let fiber = spawn_forking(&runtime, FORKS[round % FORKS.len()], move |begins| {
                begins();
                fiber::wait(pending::<()>());
            });
            let (sender, receiver) = oneshot::channel();
            others.push((
                sender,
                fiber::spawn(|| fork_join::join(fiber::yield_now, || fiber::wait(receiver)).1),
            ));
            fiber.abort();
            assert!(is_cancelled(&runtime, fiber));
        }
        for (sender, other) in others {
            sender.send(7).unwrap();
            assert_eq!(runtime.block_on(other).unwrap(), Ok(7));
        }
        drop(guard);
    }
}

/// Whoever ends an actor need not know who runs its closures.
#[test]
fn an_actor_ends_that_waits_for_a_taken_closure() {
    for are_hosts in [false, true] {
        let runtime = hosts_or_not(2, are_hosts);
        let guard = runtime.enter();
        let (begins, has_begun) = channel();
        let actor = actor::spawn_fiber(move |_: actor::Context<()>| {
            fork_to_another_thread(FORKS[0], &|| {
                begins.send(()).unwrap();
                fiber::wait(pending::<()>());
            });
        })
        .unwrap();
        receive("a closure waits", &has_begun);
        drop(guard);
        actor.abort();
        let (ends, has_ended) = channel();
        thread::spawn(move || ends.send(actor.blocking_join()).unwrap());
        let reason = receive("the end of an actor", &has_ended);
        assert!(matches!(reason, actor::ExitReason::Aborted), "{reason}");
    }
}

/// Aborts at any time: while closures are taken, begin to wait, are woken, and end.
#[test]
fn aborts_at_any_time_end_fibers_and_what_they_have_forked() {
    fn forks(depth: u32, alive: &AtomicUsize, seed: u32) {
        struct Alive<'a>(&'a AtomicUsize);
        impl Drop for Alive<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, SeqCst);
            }
        }
        alive.fetch_add(1, SeqCst);
        let _alive = Alive(alive);
        if depth == 0 {
            match seed % 3 {
                0 => fiber::wait(pending::<()>()),
                1 => fiber::sleep(Duration::from_micros(u64::from(seed) % 300)),
                _ => fiber::yield_now(),
            }
            return;
        }
        let next = |n: u32| seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223 + n) >> 3;
        FORKS[seed as usize % FORKS.len()](&|| forks(depth - 1, alive, next(0)), &|| {
            forks(depth - 1, alive, next(1));
        });
    }
    for are_hosts in [false, true] {
        let runtime = hosts_or_not(3, are_hosts);
        let guard = runtime.enter();
        let alive = Arc::new(AtomicUsize::new(0));
        for round in 0..40 {
            let fibers = Vec::from_iter((0..6).map(|n| {
                let alive = alive.clone();
                fiber::spawn(move || {
                    let all = || forks(3, &alive, round * 6 + n);
                    drop(catch_unwind(AssertUnwindSafe(all)));
                    fiber::wait(pending::<()>());
                })
            }));
            for fiber in fibers {
                thread::sleep(Duration::from_micros(u64::from(round * 37 % 200)));
                fiber.abort();
                assert!(is_cancelled(&runtime, fiber));
            }
            assert_eq!(alive.load(SeqCst), 0);
        }
        drop(guard);
    }
}
