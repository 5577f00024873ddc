//! Forks on a thread from outside of the runtime, in the place of a worker that sleeps.

use crate::support::watch::{receive, workers_sleep};
use crate::support::{Hasty, fib, multi};
use std::future::{Future, poll_fn};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;
use trefoil::fork_join::{fork_all, join, scope};
use trefoil::io::AsyncReadExt;
use trefoil::net::TcpStream;
use trefoil::runtime::{Builder, Handle};
use trefoil::task::block_in_place;
use trefoil::time::sleep;

fn id() -> ThreadId {
    thread::current().id()
}

/// Calls `f` on this thread. For this, a worker has to sleep; until one does, `f` would run on a
/// worker.
fn here<R: Send>(handle: &Handle, f: impl Fn() -> R + Sync) -> R {
    let caller = id();
    loop {
        if let Some(result) = handle.install_here(|| (id() == caller).then(&f)) {
            return result;
        }
        thread::yield_now();
    }
}

fn spin_until(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        thread::yield_now();
    }
}

#[test]
fn it_runs_on_the_calling_thread_and_forks() {
    for workers in [1, 2, 4] {
        let runtime = multi(workers);
        for _ in 0..100 {
            assert_eq!(here(runtime.handle(), || fib(15)), 610, "{workers} workers");
        }
        // The closure is in the context of the runtime, where `block_on` panics.
        here(runtime.handle(), || {
            assert_eq!(Handle::current().id(), runtime.handle().id());
            let blocked = catch_unwind(AssertUnwindSafe(|| runtime.block_on(async {})));
            assert!(blocked.is_err(), "block_on within a fork");
            assert_eq!(runtime.install_here(id), runtime.install(id), "nested: simply called");
        });
        assert!(Handle::try_current().is_err(), "the caller's context is back");
    }
}

#[test]
fn current_thread_runtimes_and_their_threads() {
    let current = Builder::new_current_thread().build().unwrap();
    assert_eq!(current.install_here(id), id());
    // A thread that drives a runtime sends the closure to a worker, as with `install`.
    let other = multi(1);
    let caller = id();
    current.block_on(async {
        assert_ne!(other.install_here(id), caller);
    });
    // A thread in `block_on` of a multi-thread runtime drives nothing.
    other.block_on(async {
        assert_eq!(here(other.handle(), || fib(12)), 144);
        // Afterwards, the thread is what it was before: it can be woken, and has timers.
        sleep(Duration::from_millis(1)).await;
        trefoil::spawn(sleep(Duration::from_millis(1))).await.unwrap();
    });
}

#[test]
fn others_take_what_it_forks() {
    let runtime = multi(2);
    let barrier = Barrier::new(2);
    for _ in 0..100 {
        let meet = || {
            barrier.wait();
            id()
        };
        let (a, b) = here(runtime.handle(), || join(meet, meet));
        assert_ne!(a, b);
    }
    // A scope gets help from workers in another way.
    here(runtime.handle(), || {
        scope(|scope| {
            scope.spawn(|_| {
                barrier.wait();
            });
            scope.spawn(|_| {
                barrier.wait();
            });
        });
    });
}

/// The worker in whose place the guest forks sleeps on.
#[test]
fn no_more_closures_run_at_a_time_than_there_are_workers() {
    for workers in [1, 2, 3] {
        let runtime = multi(workers);
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let leaf = || {
            most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
            // Beside other programs, each may take as long as they are given at a time.
            for _ in 0..5 {
                thread::yield_now();
            }
            running.fetch_sub(1, SeqCst);
        };
        for _ in 0..50 {
            here(runtime.handle(), || {
                fork_all([leaf; 8]);
            });
        }
        assert!(most.into_inner() <= workers, "{workers} workers");
    }
}

#[test]
fn without_a_sleeper_it_waits_for_a_worker() {
    let runtime = multi(1);
    let (started, release) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            runtime.install(|| {
                started.wait();
                release.wait();
            });
        });
        started.wait();
        let installed = scope.spawn(|| (id(), runtime.install_here(id)));
        while runtime.metrics().global_queue_depth() == 0 {
            thread::yield_now();
        }
        release.wait();
        let (caller, ran_on) = installed.join().unwrap();
        assert_ne!(caller, ran_on);
    });
    // With one worker, there is one guest at a time.
    let is_second_in = AtomicBool::new(false);
    thread::scope(|scope| {
        here(runtime.handle(), || {
            scope.spawn(|| runtime.install_here(|| is_second_in.store(true, SeqCst)));
            while runtime.metrics().global_queue_depth() == 0 {
                thread::yield_now();
            }
            assert!(!is_second_in.load(SeqCst), "there are two in one place");
        });
    });
    assert!(is_second_in.load(SeqCst));
}

#[test]
fn a_panic_comes_out_and_the_place_is_given_back() {
    for workers in [1, 2] {
        let runtime = multi(workers);
        for round in 0..50 {
            let ran = AtomicUsize::new(0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                here(runtime.handle(), || {
                    join(
                        || -> () { panic!("{round}") },
                        || {
                            ran.fetch_add(1, SeqCst);
                        },
                    )
                });
            }));
            assert_eq!(*caught.unwrap_err().downcast::<String>().unwrap(), round.to_string());
            assert_eq!(ran.into_inner(), 1);
            // All workers serve tasks again.
            let barrier = Arc::new(Barrier::new(workers));
            let tasks: Vec<_> = (0..workers)
                .map(|_| {
                    let barrier = Arc::clone(&barrier);
                    runtime.spawn(async move { barrier.wait() })
                })
                .collect();
            for task in tasks {
                runtime.block_on(task).unwrap();
            }
        }
    }
}

/// Tasks that are sent to the worker while the guest is there run when the guest has left.
#[test]
fn tasks_that_came_meanwhile_are_found() {
    let runtime = multi(1);
    for _ in 0..200 {
        let task = here(runtime.handle(), || runtime.spawn(async { 5 }));
        assert_eq!(runtime.block_on(task).unwrap(), 5);
    }
}

/// The worker sleeps, and knows of no source. A guest in its place makes the first one, which a
/// thread waits for that does not look for events.
#[test]
fn a_source_that_a_guest_has_made_is_attended() {
    for workers in [1, 2] {
        let runtime = Hasty(Some(multi(workers)));
        workers_sleep(&runtime.metrics());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut theirs = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (ours, _) = listener.accept().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut ours =
            here(runtime.handle(), || TcpStream::from_std(ours.try_clone().unwrap()).unwrap());
        let handle = runtime.handle().clone();
        let ((tell, waits), (done, is_done)) = (mpsc::channel(), mpsc::channel());
        let reader = thread::spawn(move || {
            let mut byte = [0];
            handle.block_on(async {
                let mut read = pin!(ours.read_exact(&mut byte));
                poll_fn(|cx| {
                    let polled = read.as_mut().poll(cx);
                    let _ = polled.is_pending().then(|| tell.send(()));
                    polled
                })
                .await
                .unwrap();
            });
            done.send(byte).unwrap();
        });
        receive("the reader waits", &waits);
        theirs.write_all(b"x").unwrap();
        assert_eq!(receive("the event", &is_done), *b"x");
        reader.join().unwrap();
    }
}

#[test]
fn the_worker_serves_what_only_it_can_serve() {
    for workers in [1, 2] {
        let runtime = multi(workers);
        for index in 0..workers {
            let beats = Arc::new(AtomicUsize::new(0));
            let pinned = {
                let beats = Arc::clone(&beats);
                runtime.spawn_pinned(index, async move {
                    loop {
                        sleep(Duration::from_millis(1)).await;
                        beats.fetch_add(1, SeqCst);
                    }
                })
            };
            here(runtime.handle(), || {
                let before = beats.load(SeqCst);
                while beats.load(SeqCst) < before + 3 {
                    join(|| fib(5), || fib(5));
                    thread::yield_now();
                }
                // So does a task that is sent to the worker now.
                let done = Arc::new(AtomicBool::new(false));
                let its = Arc::clone(&done);
                drop(runtime.spawn_pinned(index, async move { its.store(true, SeqCst) }));
                spin_until(&done);
            });
            pinned.abort();
        }
    }
}

/// The other worker is busy, and so is the guest. A task is spawned that either worker may run.
#[test]
fn tasks_do_not_wait_for_a_guest_that_stays() {
    let runtime = multi(2);
    for _ in 0..5 {
        let (started, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let busy = {
            let (started, done) = (Arc::clone(&started), Arc::clone(&done));
            runtime.spawn(async move {
                started.store(true, SeqCst);
                spin_until(&done);
            })
        };
        spin_until(&started);
        here(runtime.handle(), || {
            let its = Arc::clone(&done);
            drop(runtime.spawn(async move { its.store(true, SeqCst) }));
            spin_until(&done);
        });
        runtime.block_on(busy).unwrap();
    }
}

/// There are two workers, both covered by guests that stay, and two tasks. The first task waits for
/// the second one.
#[test]
fn tasks_do_not_wait_for_as_many_guests_as_there_are_workers() {
    let runtime = multi(2);
    for _ in 0..5 {
        let (entered, done) = (Barrier::new(2), Arc::new(AtomicBool::new(false)));
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                here(runtime.handle(), || {
                    entered.wait();
                    spin_until(&done);
                });
            });
            here(runtime.handle(), || {
                entered.wait();
                let its = Arc::clone(&done);
                drop(runtime.spawn(async move { spin_until(&its) }));
                let its = Arc::clone(&done);
                drop(runtime.spawn(async move { its.store(true, SeqCst) }));
                spin_until(&done);
            });
            other.join().unwrap();
        });
    }
}

#[test]
fn a_guest_that_blocks_in_place_gives_its_place_back() {
    let runtime = multi(1);
    for _ in 0..50 {
        let sum = here(runtime.handle(), || {
            let task = runtime.spawn(async { 3 });
            let three = block_in_place(|| runtime.block_on(task).unwrap());
            // The worker has taken its place back. The guest goes on, and forks without help.
            three + fib(10)
        });
        assert_eq!(sum, 58);
    }
}

#[test]
fn a_runtime_is_dropped_while_others_are_guests() {
    for workers in [1, 2] {
        for _ in 0..20 {
            let runtime = multi(workers);
            let started = Barrier::new(4);
            thread::scope(|scope| {
                for _ in 0..3 {
                    let handle = runtime.handle().clone();
                    let started = &started;
                    scope.spawn(move || {
                        for round in 0..100 {
                            assert_eq!(handle.install_here(|| fib(12)), 144);
                            if round == 0 {
                                started.wait();
                            }
                        }
                    });
                }
                started.wait();
                drop(runtime);
            });
        }
    }
}

/// The shutdown does not wait for a guest. What the guest spawns then is cancelled at once.
#[test]
fn a_guest_outlives_its_runtime() {
    for workers in [1, 2] {
        let runtime = multi(workers);
        let handle = runtime.handle().clone();
        let runtime = parking_lot::Mutex::new(Some(runtime));
        thread::scope(|scope| {
            here(&handle, || {
                let Some(runtime) = runtime.lock().take() else { return };
                scope.spawn(|| drop(runtime)).join().unwrap();
                let task = block_in_place(|| handle.block_on(handle.spawn(async {})));
                assert!(task.unwrap_err().is_cancelled());
                assert_eq!(fib(12), 144);
                assert_eq!(handle.install(|| fib(12)), 144);
                trefoil::fork_join::scope(|scope| scope.spawn(|_| assert_eq!(fib(12), 144)));
            });
        });
        assert_eq!(handle.install_here(|| fib(12)), 144);
    }
}

/// Guests of each other's runtimes, and a dozen guests at once.
#[test]
fn guests_of_many_kinds() {
    let (one, two) = (multi(1), multi(2));
    thread::scope(|scope| {
        for index in 0..12 {
            let (one, two) = (&one, &two);
            scope.spawn(move || {
                for _ in 0..50 {
                    let sum = match index % 4 {
                        0 => one.install_here(|| fib(9)),
                        1 => two.install_here(|| fib(9)),
                        2 => two.install(|| fib(9)),
                        _ => one.install_here(|| two.install_here(|| fib(9))),
                    };
                    assert_eq!(sum, 34);
                }
            });
        }
    });
}
