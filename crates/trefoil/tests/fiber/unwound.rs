//! Fibers that end while they wait in forks: by aborts, panics, and the end of their runtime.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::in_place::begin_on_both;
use crate::support::watch::{drop_returns, receive, wait_for};
use crate::support::{Hasty, multi};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use trefoil::sync::oneshot;
use trefoil::{actor, fiber, fork_join};

/// More than there are deques for.
const FIBERS: usize = 300;

type Forks = fn(&(dyn Fn() + Sync), &(dyn Fn() + Sync));

const FORKS: [Forks; 2] =
    [|a, b| _ = fork_join::join(a, b), |a, b| _ = fork_join::fork_all([a, b])];

/// The closures of forks that have no deque are called one after the other. None of them is called
/// in the midst of the other's panic or unwinding, in which it would block the thread.
#[test]
fn forks_without_deques_are_unwound_as_others_are() {
    for (forks, is_at_end) in FORKS.into_iter().flat_map(|forks| [(forks, false), (forks, true)]) {
        let runtime = Hasty(Some(multi(1)));
        let guard = runtime.enter();
        let waiting = Arc::new(AtomicUsize::new(0));
        let fibers: Vec<_> = (0..FIBERS)
            .map(|_| {
                let waiting = waiting.clone();
                fiber::spawn(move || {
                    let first = || {
                        waiting.fetch_add(1, SeqCst);
                        fiber::wait(pending::<()>());
                    };
                    forks(&first, &|| fiber::wait(pending::<()>()));
                })
            })
            .collect();
        wait_for("fibers wait in forks", || waiting.load(SeqCst) == FIBERS);
        drop(guard);
        if is_at_end {
            drop_returns("the drop of a runtime", runtime);
            continue;
        }
        fibers.iter().for_each(|fiber| fiber.abort());
        let (ends, has_ended) = channel();
        drop(runtime.spawn(async move {
            for fiber in fibers {
                ends.send(fiber.await.unwrap_err().is_cancelled()).unwrap();
            }
        }));
        (0..FIBERS).for_each(|_| assert!(receive("a fiber that was aborted", &has_ended)));
    }
}

/// As above: the second closure waits for a fiber of the thread.
#[test]
fn a_panic_in_a_fork_without_a_deque_lets_the_other_closure_wait() {
    for forks in FORKS {
        let runtime = Hasty(Some(multi(1)));
        let guard = runtime.enter();
        let waiting = Arc::new(AtomicUsize::new(0));
        for _ in 0..FIBERS {
            let waiting = waiting.clone();
            drop(fiber::spawn(move || {
                let first = || {
                    waiting.fetch_add(1, SeqCst);
                    fiber::wait(pending::<()>());
                };
                forks(&first, &|| ());
            }));
        }
        wait_for("fibers wait in forks", || waiting.load(SeqCst) == FIBERS);
        let (ends, has_ended) = channel();
        drop(fiber::spawn(move || {
            let waits = || {
                let other = fiber::spawn(fiber::yield_now);
                fiber::yield_now();
                other.join().unwrap();
            };
            let panics = || resume_unwind(Box::new(7));
            let ended = catch_unwind(AssertUnwindSafe(|| forks(&panics, &waits)));
            ends.send(ended.unwrap_err().downcast_ref() == Some(&7)).unwrap();
        }));
        drop(guard);
        assert!(receive("a fork whose first closure panics", &has_ended));
    }
}

/// A closure that another worker has taken waits in a destructor of its panic: the thread of the
/// fork goes on.
#[test]
fn a_taken_closure_that_waits_in_a_panic_says_so() {
    struct Waits(Option<oneshot::Receiver<()>>);
    impl Drop for Waits {
        fn drop(&mut self) {
            fiber::wait(self.0.take().unwrap()).unwrap();
        }
    }
    let mut taken = 0;
    for _ in 0..20 {
        let runtime = Hasty(Some(multi(2)));
        begin_on_both(&runtime);
        let guard = runtime.enter();
        let (ends, has_ended) = channel();
        drop(fiber::spawn(move || {
            let here = thread::current().id();
            let (go, may_go) = oneshot::channel::<()>();
            let (tells, told) = oneshot::channel::<()>();
            let (begins, has_begun) = channel();
            drop(fiber::spawn(move || {
                begins.send(thread::current().id()).unwrap();
                fiber::wait(may_go).unwrap();
                tells.send(()).unwrap();
            }));
            fiber::yield_now();
            let is_here = receive("a fiber begins", &has_begun) == here;
            let is_taken = AtomicBool::new(false);
            let until_taken = || _ = (0..1_000_000).any(|_| is_taken.load(SeqCst));
            let (_, taken) = fork_join::join(until_taken, || {
                is_taken.store(true, SeqCst);
                let waits = Waits(Some(told));
                go.send(()).unwrap();
                let ended = catch_unwind(AssertUnwindSafe(move || {
                    let _waits = waits;
                    if thread::current().id() != here && is_here {
                        resume_unwind(Box::new("as in a panic"));
                    }
                }));
                ended.is_err()
            });
            ends.send(taken).unwrap();
        }));
        drop(guard);
        taken += usize::from(receive("a fork whose closure waits in a panic", &has_ended));
    }
    assert!(taken > 0, "nothing was tested");
}

/// A part of a closure that another worker has taken runs on the fiber's own thread, and is unwound
/// by the fiber's abort.
#[test]
fn a_fiber_that_is_aborted_in_a_part_of_a_taken_closure_is_cancelled() {
    let mut tested = 0;
    for _ in 0..400 {
        let runtime = Hasty(Some(multi(2)));
        begin_on_both(&runtime);
        let guard = runtime.enter();
        let (tells, told) = channel();
        let fiber = fiber::spawn(move || {
            let here = thread::current().id();
            let (outer, inner) = (AtomicBool::new(false), AtomicBool::new(false));
            let until = |event: &AtomicBool| _ = (0..20_000).any(|_| event.load(SeqCst));
            let part = |elsewhere: bool| {
                inner.store(true, SeqCst);
                tells.send(elsewhere && thread::current().id() == here).unwrap();
                fiber::wait(pending::<()>());
            };
            let half = || {
                outer.store(true, SeqCst);
                let elsewhere = thread::current().id() != here;
                fork_join::join(|| until(&inner), || part(elsewhere));
            };
            fork_join::join(|| until(&outer), half);
        });
        let is_back = receive("a part of a half waits", &told);
        fiber.abort();
        drop(guard);
        let (ends, has_ended) = channel();
        drop(runtime.spawn(async move { ends.send(fiber.await.map_err(|e| e.is_cancelled())) }));
        let ended = receive("a fiber that was aborted", &has_ended);
        assert_eq!(ended, Err(true), "it has panicked instead");
        if is_back {
            tested += 1;
            if tested == 3 {
                return;
            }
        }
    }
    panic!("nothing was tested");
}

/// Whoever waits for a fork from outside learns that a closure of it has not returned, also where
/// that was unwound in a yield, or in a scope of fibers.
#[test]
fn a_fork_from_outside_learns_of_the_end_by_a_text() {
    let ways: [fn(); 2] = [
        || loop {
            fiber::yield_now();
        },
        || {
            fiber::scope(|scope| drop(scope.spawn(|| fiber::wait(pending::<()>()))));
            // The other fiber may have been aborted first.
            fiber::wait(pending::<()>());
        },
    ];
    for way in ways {
        let runtime = Hasty(Some(multi(2)));
        begin_on_both(&runtime);
        let (waits, does_wait) = channel();
        let handle = runtime.handle().clone();
        let outside = thread::spawn(move || {
            let (tells, told) = channel();
            handle.install(|| {
                let until_taken = move || _ = told.recv();
                let goes_on = || {
                    tells.send(()).unwrap();
                    waits.send(()).unwrap();
                    way();
                };
                fork_join::join(until_taken, goes_on)
            })
        });
        receive("a closure is taken", &does_wait);
        drop_returns("the drop of a runtime", runtime);
        let payload = outside.join().unwrap_err();
        let text = payload.downcast_ref::<&str>().expect("a text");
        assert!(text.contains("its runtime ends"), "{text}");
    }
}

/// The fiber of the closure learns of the end before the fiber whose fork it is, which computes.
#[test]
fn the_end_of_a_runtime_is_no_panic_of_a_fiber_that_forks() {
    struct Tells(std::sync::mpsc::Sender<()>);
    impl Drop for Tells {
        fn drop(&mut self) {
            _ = self.0.send(());
        }
    }
    for is_in_scope in [false, true] {
        let mut runtime = Hasty(Some(multi(2)));
        begin_on_both(&runtime);
        let guard = runtime.enter();
        let (waits, does_wait) = channel();
        let actor = actor::spawn_fiber(move |_: actor::Context<()>| {
            let (unwinds, unwound) = channel();
            let computes = move || {
                unwound.recv().unwrap();
                // Most likely, it has ended by then.
                thread::sleep(Duration::from_millis(20));
            };
            let waits = move || {
                let _tells = Tells(unwinds);
                waits.send(()).unwrap();
                fiber::wait(pending::<()>());
            };
            if is_in_scope {
                fork_join::scope(move |scope| {
                    scope.spawn(move |_| waits());
                    computes();
                });
            } else {
                fork_join::join(computes, waits);
            }
        })
        .unwrap();
        receive("a closure is taken", &does_wait);
        drop(guard);
        runtime.0.take().unwrap().shutdown_background();
        let (ends, has_ended) = channel();
        thread::spawn(move || ends.send(actor.blocking_join()).unwrap());
        let reason = receive("the end of an actor", &has_ended);
        assert!(matches!(reason, actor::ExitReason::Aborted), "{reason}");
    }
}
