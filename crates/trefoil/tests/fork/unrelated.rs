//! What a worker that waits for a fork must not run, but leave to other workers.

use crate::support::{everywhere, fib, multi};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use trefoil::fork_join::{join, scope};
use trefoil::task;

/// A lock is held across a `join`. The waiting worker must not run any of the other closures that
/// want the same lock (rayon's issue 592).
#[test]
fn a_lock_may_be_held_across_a_join() {
    fn locked(lock: &Mutex<u64>) {
        let mut sum = lock.lock();
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
            assert_eq!(*lock.lock(), 4 * 65 * 55);
        }
    }
}

/// The same, without chance: there is only work that the waiting worker must not run, and another
/// worker runs it.
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
                        ran_on.lock().push(thread::current().id());
                    });
                }
                let here = thread::current().id();
                // Waits until they have run, so that the owner has time to take one by mistake.
                let end = Instant::now() + Duration::from_secs(10);
                while ran_on.lock().len() < 10 && Instant::now() < end {
                    thread::yield_now();
                }
                let ran_on = ran_on.lock();
                assert_eq!(ran_on.len(), 10);
                assert!(!ran_on.contains(&owner) && !ran_on.contains(&here));
            },
        );
    });
}

/// A `join` under a lock must not run closures that were spawned under the lock and want it, too.
#[test]
fn a_join_does_not_run_what_its_closures_spawn() {
    everywhere(|| {
        let lock = Mutex::new(0);
        scope(|scope| {
            let mut count = lock.lock();
            join(|| scope.spawn(|_| *lock.lock() += 1), || scope.spawn(|_| *lock.lock() += 1));
            *count += 1;
        });
        assert_eq!(*lock.lock(), 3);
    });
}

#[test]
fn what_a_leg_wakes_is_not_kept_behind_it() {
    // A leg wakes the task, and then does not end before the task has run: another worker must be
    // able to take the task.
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
