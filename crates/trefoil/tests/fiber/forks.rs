//! Fibers that wait in closures of forks, and in `block_in_place`: the thread goes on meanwhile,
//! with other fibers that are bound to it.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::in_place::begin_on_both;
use crate::support::watch::{drop_returns, receive, wait_for};
use crate::support::{Hasty, multi};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use trefoil::runtime::Handle;
use trefoil::sync::{oneshot, watch};
use trefoil::task::{JoinHandle, block_in_place};
use trefoil::{fiber, fork_join};

/// A fiber that has begun on the calling one's thread, if there is one worker, and ends when it is
/// next resumed.
fn begun() -> JoinHandle<thread::ThreadId> {
    let (begins, has_begun) = channel();
    let fiber = fiber::spawn(move || {
        begins.send(()).unwrap();
        fiber::yield_now();
        thread::current().id()
    });
    while has_begun.try_recv().is_err() {
        fiber::yield_now();
    }
    fiber
}

/// Has a fiber call a function on a runtime with so many workers.
fn call<R: Send + 'static>(workers: usize, f: impl FnOnce() -> R + Send + 'static) -> R {
    let runtime = Hasty(Some(multi(workers)));
    let (returns, returned) = channel();
    let guard = runtime.enter();
    drop(fiber::spawn(move || returns.send(f()).unwrap()));
    drop(guard);
    receive("a fiber that waits for another of its thread", &returned)
}

/// Each waits for a fiber that the calling thread alone can run.
#[test]
fn a_closure_of_a_fork_waits_for_a_fiber_of_its_thread() {
    type Waits = fn(JoinHandle<thread::ThreadId>) -> thread::ThreadId;
    trefoil::task_local! {
        static LOCAL: u32;
    }
    let ways: [Waits; 14] = [
        |other| fork_join::join(|| other.join().unwrap(), || ()).0,
        |other| fork_join::join(|| (), || other.join().unwrap()).1,
        |other| fork_join::join(|| fork_join::join(|| other.join().unwrap(), || ()), || ()).0.0,
        |other| fork_join::fork_all([|| fiber::wait(other).unwrap()])[0],
        |other| {
            let mut id = None;
            fork_join::scope(|_| id = Some(other.join().unwrap()));
            id.unwrap()
        },
        |other| {
            let mut id = None;
            fork_join::scope(|scope| scope.spawn(|_| id = Some(other.join().unwrap())));
            id.unwrap()
        },
        |other| LOCAL.sync_scope(1, || LOCAL.with(|_| other.join().unwrap())),
        |other| {
            let forks = || fork_join::join(|| LOCAL.with(|_| other.join().unwrap()), || ()).0;
            fork_join::join(|| LOCAL.sync_scope(1, forks), || ()).0
        },
        |other| block_in_place(|| other.join().unwrap()),
        |other| block_in_place(|| Handle::current().block_on(other).unwrap()),
        |other| block_in_place(|| block_in_place(|| Handle::current().block_on(other).unwrap())),
        |other| {
            let forks = || fork_join::join(|| other.join().unwrap(), || ()).0;
            block_in_place(|| Handle::current().block_on(async { forks() }))
        },
        |other| block_in_place(|| fork_join::join(|| other.join().unwrap(), || ()).0),
        |other| fork_join::join(|| block_in_place(|| other.join().unwrap()), || ()).0,
    ];
    for (number, way) in ways.into_iter().enumerate() {
        for workers in 1..=2 {
            let (here, there) = call(workers, move || {
                let other = begun();
                (thread::current().id(), way(other))
            });
            assert!(workers > 1 || here == there, "{number}");
        }
    }
}

/// They may be fired by the thread's successor, or by the thread itself when it has none.
#[test]
fn timers_end_waits_in_forks_and_where_the_thread_may_block() {
    let sleeps = || fiber::sleep(Duration::from_micros(100));
    type Way = fn(fn());
    let ways: [Way; 4] = [
        |sleeps| _ = fork_join::join(sleeps, sleeps),
        |sleeps| block_in_place(sleeps),
        |sleeps| _ = block_in_place(|| fork_join::join(sleeps, sleeps)),
        |_| {
            let timers = async {
                refuses_to_block();
                trefoil::time::sleep(Duration::from_micros(100)).await;
            };
            block_in_place(|| Handle::current().block_on(timers));
        },
    ];
    /// What code that is asynchronous must not do is refused there as well.
    fn refuses_to_block() {
        let blocks = || Handle::current().block_on(async {});
        assert!(catch_unwind(AssertUnwindSafe(blocks)).is_err());
    }
    for way in ways {
        for workers in 1..=2 {
            call(workers, move || (0..20).for_each(|_| way(sleeps)));
        }
    }
}

/// The thread has another deque meanwhile, and gets that of the fiber back.
#[test]
fn forks_of_many_fibers_wait_at_once_and_end_in_any_order() {
    const FIBERS: usize = 100;
    for workers in 1..=3 {
        let sums = call(workers, || {
            let mut fibers: Vec<_> = (0..FIBERS)
                .map(|n| {
                    let (go, may_go) = oneshot::channel::<usize>();
                    let (more, has_more) = oneshot::channel::<usize>();
                    let fiber = fiber::spawn(move || {
                        let sum = |from: usize| (from..from + 1000).sum::<usize>();
                        let (a, b) = fork_join::join(
                            || {
                                let got = fiber::wait(may_go).unwrap();
                                let (c, d) = fork_join::join(
                                    || fiber::wait(has_more).unwrap() + sum(n),
                                    || sum(n + 1),
                                );
                                got + c + d
                            },
                            || sum(n + 2),
                        );
                        a + b
                    });
                    (n, go, more, fiber)
                })
                .collect();
            fiber::yield_now();
            // In an order that is neither that of their beginnings nor its reverse.
            fibers.sort_by_key(|(n, ..)| n * 37 % FIBERS);
            let (mores, fibers): (Vec<_>, Vec<_>) = fibers
                .into_iter()
                .map(|(n, go, more, fiber)| {
                    go.send(n).unwrap();
                    ((n, more), (n, fiber))
                })
                .unzip();
            fiber::yield_now();
            for (n, more) in mores.into_iter().rev() {
                more.send(n).unwrap();
            }
            fibers.into_iter().map(|(n, fiber)| (n, fiber.join().unwrap())).collect::<Vec<_>>()
        });
        for (n, sum) in sums {
            let of = |from: usize| (from..from + 1000).sum::<usize>();
            assert_eq!(sum, 2 * n + of(n) + of(n + 1) + of(n + 2), "{n}");
        }
    }
}

/// More of them than there are deques: their thread has none meanwhile, and goes on.
#[test]
fn more_forks_wait_than_there_are_deques() {
    const FIBERS: usize = 300;
    for workers in 1..=2 {
        let ended = call(workers, || {
            let waiting = Arc::new(AtomicUsize::new(0));
            let (go, may_go) = watch::channel(false);
            let fibers: Vec<_> = (0..FIBERS)
                .map(|n| {
                    let (mut may_go, waiting) = (may_go.clone(), waiting.clone());
                    fiber::spawn(move || {
                        let wait = || {
                            waiting.fetch_add(1, SeqCst);
                            fiber::wait(may_go.wait_for(|&go| go)).is_ok()
                        };
                        let (is_ok, m) = fork_join::join(wait, || n + 1);
                        is_ok && m == n + 1
                    })
                })
                .collect();
            // One of the same thread, if there is one worker.
            while waiting.load(SeqCst) < FIBERS {
                fiber::yield_now();
            }
            let sum = || fork_join::map_reduce(0..1000, |n| n, |a, b| a + b);
            assert_eq!(fork_join::join(sum, sum), (Some(499_500), Some(499_500)));
            go.send(true).unwrap();
            fibers.into_iter().all(|fiber| fiber.join().unwrap())
        });
        assert!(ended);
    }
}

/// The other half is with another worker, which has fibers of its own, and waits for one of them or
/// for one of the thread whose fork it is.
#[test]
fn a_closure_that_another_worker_has_taken_waits_for_fibers_of_both() {
    let mut taken = 0;
    for is_in_scope in [false, true] {
        for round in 0..20 {
            let was_taken = call(2, move || {
                let here = thread::current().id();
                let fiber = || {
                    let (begins, has_begun) = channel();
                    let (end, may_end) = oneshot::channel::<()>();
                    let fiber = fiber::spawn(move || {
                        begins.send(thread::current().id()).unwrap();
                        fiber::wait(may_end).unwrap();
                    });
                    (has_begun, end, fiber)
                };
                // The second one takes the place of the first one in this worker's slot. The other
                // worker takes the first, since this thread waits for that, and does nothing else.
                let ((has_begun, end_other, other), (begins, end_own, own)) = (fiber(), fiber());
                assert_ne!(receive("a fiber begins elsewhere", &has_begun), here);
                fiber::yield_now();
                let is_own_here = receive("a fiber begins", &begins) == here;
                let waits_for_own = round % 2 == 0;
                let ((awaited, end), (left, end_of_left)) = match waits_for_own {
                    true => ((own, end_own), (other, end_other)),
                    false => ((other, end_other), (own, end_own)),
                };
                let (taken, is_taken) = (AtomicUsize::new(0), || thread::current().id() != here);
                let waits = || {
                    taken.store(usize::from(is_taken()), SeqCst);
                    end.send(()).unwrap();
                    awaited.join().unwrap();
                    is_taken()
                };
                // Until somebody else has it, so that the fork waits for that.
                let until_taken = || {
                    for _ in 0..1_000_000 {
                        if taken.load(SeqCst) == 1 {
                            break;
                        }
                        std::hint::spin_loop();
                    }
                };
                let was_taken = if is_in_scope {
                    let was_taken = AtomicUsize::new(0);
                    fork_join::scope(|scope| {
                        scope.spawn(|_| was_taken.store(usize::from(waits()), SeqCst));
                        until_taken();
                    });
                    was_taken.into_inner() == 1
                } else {
                    fork_join::join(until_taken, waits).1
                };
                assert_eq!(thread::current().id(), here);
                end_of_left.send(()).unwrap();
                left.join().unwrap();
                is_own_here && was_taken
            });
            taken += usize::from(was_taken);
        }
    }
    assert!(taken > 0, "nothing was tested");
}

/// Other workers have all that is forked around a closure that waits, and so the closure may wait
/// for that, unless there is only one worker.
#[test]
fn what_is_forked_around_a_closure_that_waits_is_for_others() {
    for _ in 0..20 {
        let received = call(2, || {
            let senders_and_receivers = || (0..3).map(|_| oneshot::channel::<u32>()).unzip();
            let (mut senders, mut receivers): (Vec<_>, Vec<_>) = senders_and_receivers();
            let mut send = || {
                let sender = senders.pop().unwrap();
                move || sender.send(7).unwrap()
            };
            let (outer, middle, inner) = (send(), send(), send());
            let waits = || receivers.drain(..).map(|it| fiber::wait(it).unwrap()).sum::<u32>();
            let innermost = || fork_join::join(waits, inner).0;
            fork_join::join(|| fork_join::join(innermost, middle).0, outer).0
        });
        assert_eq!(received, 21);
    }
}

/// A thief waits for a part of what it has stolen, and runs a part of that part meanwhile, which
/// waits for a fiber of the first owner's thread. So its own job waits as well, and the first owner
/// learns that, too.
#[test]
fn an_owner_learns_that_a_part_of_a_part_waits() {
    let spin = |flag: &AtomicUsize| {
        (0..200_000).any(|_| {
            thread::yield_now();
            flag.load(SeqCst) == 1
        })
    };
    let mut tested = 0;
    for _ in 0..100 {
        tested += usize::from(call(3, move || {
            let here = thread::current().id();
            let other = begun();
            let flags = [const { AtomicUsize::new(0) }; 3];
            let begin = |of: usize| {
                flags[of].store(1, SeqCst);
                thread::current().id()
            };
            let (_, is_it) = fork_join::join(
                || spin(&flags[0]),
                || {
                    let outer = begin(0);
                    let in_middle = || {
                        let middle = begin(1);
                        let innermost = || {
                            let inner = begin(2);
                            other.join().unwrap();
                            inner == outer && middle != outer && outer != here
                        };
                        fork_join::join(|| spin(&flags[2]), innermost).1
                    };
                    fork_join::join(|| spin(&flags[1]), in_middle).1
                },
            );
            is_it
        }));
        if tested == 3 {
            return;
        }
    }
    panic!("nothing was tested");
}

/// The forks are joined, and what is on the stack is dropped, on the fiber's thread.
#[test]
fn a_fiber_that_is_aborted_in_a_fork_joins_it() {
    struct Counts(Arc<AtomicUsize>, thread::ThreadId);
    impl Drop for Counts {
        fn drop(&mut self) {
            assert_eq!(thread::current().id(), self.1);
            self.0.fetch_add(1, SeqCst);
        }
    }
    for workers in 1..=2 {
        let runtime = Hasty(Some(multi(workers)));
        let guard = runtime.enter();
        let dropped = Arc::new(AtomicUsize::new(0));
        let ran = Arc::new(AtomicUsize::new(0));
        let (begins, has_begun) = channel();
        let (its_dropped, its_ran) = (dropped.clone(), ran.clone());
        let fiber = fiber::spawn(move || {
            let counts = || Counts(its_dropped.clone(), thread::current().id());
            let _outer = counts();
            fork_join::join(
                || {
                    let _inner = counts();
                    begins.send(()).unwrap();
                    fiber::wait(std::future::pending::<()>());
                },
                || its_ran.fetch_add(1, SeqCst),
            );
        });
        receive("a fiber waits in a fork", &has_begun);
        fiber.abort();
        assert!(runtime.block_on(fiber).unwrap_err().is_cancelled());
        assert_eq!(dropped.load(SeqCst), 2);
        assert_eq!(ran.load(SeqCst), 1, "both closures run");
        drop(guard);
        // The thread's deque is whole.
        let sum = runtime.block_on(fiber_sum(&runtime));
        assert_eq!(sum, 499_500);
    }
}

async fn fiber_sum(runtime: &trefoil::runtime::Runtime) -> usize {
    let _guard = runtime.enter();
    fiber::spawn(|| fork_join::map_reduce(0..1000, |n| n, |a, b| a + b)).await.unwrap().unwrap()
}

/// A panic of one closure does not keep the thread from the other's wait.
#[test]
fn a_panic_beside_a_closure_that_waits() {
    for workers in 1..=2 {
        for waits_first in [false, true] {
            let message = call(workers, move || {
                let other = begun();
                let forks = || {
                    let waits = || _ = other.join().unwrap();
                    let panics = || panic!("one panics");
                    if waits_first {
                        fork_join::join(waits, panics);
                    } else {
                        fork_join::join(panics, waits);
                    }
                };
                let payload = catch_unwind(AssertUnwindSafe(forks)).unwrap_err();
                assert!(!thread::panicking());
                *payload.downcast::<&str>().unwrap()
            });
            assert_eq!(message, "one panics");
        }
    }
}

/// The end of a runtime ends fibers that wait in forks, on all of its threads.
#[test]
fn a_runtime_ends_while_forks_wait() {
    for workers in 1..=3 {
        for _ in 0..10 {
            let runtime = Hasty(Some(multi(workers)));
            let guard = runtime.enter();
            let waiting = Arc::new(AtomicUsize::new(0));
            for _ in 0..10 {
                let waiting = waiting.clone();
                drop(fiber::spawn(move || {
                    let wait = || {
                        waiting.fetch_add(1, SeqCst);
                        fiber::wait(std::future::pending::<()>());
                    };
                    fork_join::join(wait, || ());
                }));
            }
            wait_for("fibers wait", || waiting.load(SeqCst) == 10);
            drop(guard);
            drop_returns("the drop of a runtime", runtime);
        }
    }
}

/// When a fiber is aborted in one closure of a fork, the other one is run, and its wait unwound:
/// nobody may be left who could end it.
#[test]
fn an_abort_ends_the_waits_of_both_closures() {
    /// Would be a panic in a panic, if a wait in it were unwound as well.
    struct Waits(Arc<AtomicUsize>);
    impl Drop for Waits {
        fn drop(&mut self) {
            assert!(thread::panicking());
            let (sends, sent) = oneshot::channel();
            thread::spawn(move || sends.send(()));
            fiber::wait(sent).unwrap();
            self.0.fetch_add(1, SeqCst);
        }
    }
    for is_at_end in [false, true] {
        let runtime = Hasty(Some(multi(1)));
        let guard = runtime.enter();
        let (begins, has_begun) = channel();
        let dropped = Arc::new(AtomicUsize::new(0));
        let its = dropped.clone();
        let fiber = fiber::spawn(move || {
            let waits = || {
                let _waits = Waits(its.clone());
                assert_eq!(fiber::wait(async { 1 }), 1, "what is ready needs nobody else");
                _ = begins.send(());
                fiber::wait(std::future::pending::<()>());
            };
            fork_join::join(waits, || fork_join::join(waits, waits));
        });
        receive("a fiber waits in a fork", &has_begun);
        drop(guard);
        if is_at_end {
            drop_returns("the drop of a runtime", runtime);
        } else {
            fiber.abort();
            let (ends, has_ended) = channel();
            drop(runtime.spawn(async move { ends.send(fiber.await.unwrap_err().is_cancelled()) }));
            assert!(receive("the end of a fiber that was aborted", &has_ended));
        }
        assert_eq!(dropped.load(SeqCst), 3);
    }
}

/// While a fork waits for a closure that another worker has taken, its thread runs parts of that
/// closure and nothing else, also if that worker does something else while the closure waits.
#[test]
fn a_fork_runs_nothing_unrelated_while_its_closure_waits() {
    let runtime = Hasty(Some(multi(2)));
    begin_on_both(&runtime);
    let (takes, taken) = channel();
    let (go, may_go) = oneshot::channel::<()>();
    let (joins, has_joined) = channel();
    drop(runtime.spawn(async move {
        let here = thread::current().id();
        let is_taken = AtomicUsize::new(0);
        let waits = || {
            is_taken.store(1, SeqCst);
            takes.send((here, thread::current().id())).unwrap();
            drop(fiber::wait(may_go));
        };
        let until_taken = || while is_taken.load(SeqCst) == 0 {};
        fork_join::join(until_taken, waits);
        joins.send(()).unwrap();
    }));
    let (owner, thief) = receive("another worker takes a closure", &taken);
    assert_ne!(owner, thief);
    let mut forks_of_thief = 0;
    for _ in 0..100 {
        let (runs, has_run) = channel();
        drop(runtime.spawn(async move {
            let ran = AtomicUsize::new(0);
            let other = || {
                ran.store(1, SeqCst);
                thread::current().id()
            };
            let spins = || (0..100_000).any(|_| ran.load(SeqCst) == 1);
            let (_, other) = fork_join::join(spins, other);
            runs.send((thread::current().id(), other)).unwrap();
        }));
        let (here, other) = receive("an unrelated fork", &has_run);
        assert_ne!(other, owner, "a thread that waits for a fork runs a closure of another");
        forks_of_thief += usize::from(here == thief);
    }
    assert!(forks_of_thief > 0, "nothing was tested");
    go.send(()).unwrap();
    receive("the fork that waits", &has_joined);
}
