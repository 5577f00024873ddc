//! What a worker that waits for a fork must not run, and must leave to others.

mod support;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use support::{everywhere, fib, multi};
use trefoil::fork_join::{join, scope};
use trefoil::task;

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
