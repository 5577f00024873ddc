//! "Forks": tasks that wait while workers fork. A fork lasts until the expected event has been
//! seen.

use crate::rig::{Event, OnDrop, Rig, timer_that_waits, wait_for};
use parking_lot::Mutex;
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::task::{Context, Wake, Waker};
use std::thread;
use trefoil::fork_join::{join, scope};
use trefoil::runtime::Handle;
use trefoil::spawn;
use trefoil::task::{spawn_pinned, yield_now};
use trefoil::time::{Duration, sleep};

const WORKERS: [usize; 2] = [2, 8];

struct Tell(Event);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        self.0.happens();
    }
}

/// Forks once, until `end`: each closure occupies its thread until then.
fn fork_until(end: &Event) {
    join(|| end.hold(), || end.hold());
}

/// Forks again and again until `end`, in small pieces.
fn forks_until(end: &Event) {
    while !end.has_happened() {
        fib(12);
    }
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// All workers are in a poll that forks, until the guard is dropped. None of them forks before all
/// are in such a poll. Otherwise a worker could first steal a part of another one's fork, and its
/// own fork would need one more of the threads whose number is limited.
fn all_fork(rig: &Rig, fork: fn(&Event)) -> OnDrop {
    let end = OnDrop(Event::default());
    let inside = Arc::new(Barrier::new(rig.workers + 1));
    for worker in 0..rig.workers {
        let (its_end, is_inside) = (end.0.clone(), inside.clone());
        drop(rig.handle().spawn_pinned(worker, async move {
            is_inside.wait();
            fork(&its_end);
        }));
    }
    inside.wait();
    end
}

#[test]
fn the_oldest_fork_is_stolen() {
    for workers in WORKERS {
        let rig = Rig::new(workers);
        for _ in 0..50 {
            let (stolen, all) = (Event::default(), Event::default());
            let done = all.clone();
            drop(rig.handle().spawn(async move {
                // The inner forks are newer, and the wait is for the outer one.
                join(|| join(|| stolen.hold(), || ()), || stolen.happens());
                done.happens();
            }));
            all.wait("an idle worker steals the oldest fork");
        }
    }
}

#[test]
fn tasks_pinned_to_a_worker_that_forks() {
    for fork in [fork_until, forks_until] {
        for workers in WORKERS {
            let rig = Rig::monitored(workers);
            for _ in 0..5 {
                let end = OnDrop(Event::default());
                let (inside, its_end) = (Event::default(), end.0.clone());
                let is_inside = inside.clone();
                let forker = rig.handle().spawn_pinned(0, async move {
                    is_inside.happens();
                    fork(&its_end);
                });
                inside.wait("the fork");
                let seen = Event::default();
                let its = seen.clone();
                drop(rig.handle().spawn_pinned(0, async move {
                    yield_now().await;
                    its.happens();
                }));
                seen.wait("a task that is pinned to a worker that forks");
                assert!(!forker.is_finished());
                drop(end);
                rig.handle().block_on(forker).unwrap();
            }
        }
    }
}

/// Tasks that the worker has queued for itself before it forked are in no queue that others see.
#[test]
fn tasks_that_a_worker_has_pinned_to_itself_before_it_forks() {
    for workers in WORKERS {
        let rig = Rig::monitored(workers);
        for _ in 0..5 {
            let end = OnDrop(Event::default());
            let seen = Event::default();
            let (its_end, its) = (end.0.clone(), seen.clone());
            let forker = rig.handle().spawn_pinned(0, async move {
                drop(spawn_pinned(0, async move { its.happens() }));
                fork_until(&its_end);
            });
            seen.wait("a task that a worker has pinned to itself");
            assert!(!forker.is_finished());
            drop(end);
            rig.handle().block_on(forker).unwrap();
        }
    }
}

#[test]
fn all_tasks_if_all_workers_fork() {
    for fork in [fork_until, forks_until] {
        for workers in WORKERS {
            let rig = Rig::monitored(workers);
            let end = all_fork(&rig, fork);
            for _ in 0..5 {
                let seen = Event::default();
                let its = seen.clone();
                drop(rig.handle().spawn(async move {
                    let inner = spawn(async { sleep(Duration::from_millis(1)).await });
                    inner.await.unwrap();
                    its.happens();
                }));
                seen.wait("a task beside workers that all fork");
            }
            for worker in 0..workers {
                let seen = Event::default();
                let its = seen.clone();
                drop(rig.handle().spawn_pinned(worker, async move { its.happens() }));
                seen.wait("a pinned task beside workers that all fork");
            }
            drop(end);
        }
    }
}

#[test]
fn timers_and_deferred_wakers_of_a_worker_that_forks() {
    for fork in [fork_until, forks_until] {
        for workers in WORKERS {
            let rig = Rig::monitored(workers);
            let end = OnDrop(Event::default());
            let (timer, deferred, slot) = (Event::default(), Event::default(), Event::default());
            let (its_timer, its_deferred) = (timer.clone(), deferred.clone());
            let (its_slot, its_end) = (slot.clone(), end.0.clone());
            drop(rig.handle().spawn_pinned(0, async move {
                let waker = Waker::from(Arc::new(Tell(its_timer)));
                let sleeps = timer_that_waits(Duration::from_millis(20), &waker);
                let waker = Waker::from(Arc::new(Tell(its_deferred)));
                let mut yields = pin!(yield_now());
                assert!(yields.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                drop(spawn(async move { its_slot.happens() }));
                fork(&its_end);
                drop(sleeps);
            }));
            slot.wait("the LIFO slot of a worker that forks");
            deferred.wait("a deferred waker of a worker that forks");
            timer.wait("a timer of a worker that forks");
            drop(end);
        }
    }
}

thread_local! {
    /// This thread waits in a `join` that holds a lock.
    static LOCKS: Cell<bool> = const { Cell::new(false) };
}

/// A lock is held across `join`. Everything that is queued wants the lock, too, and must not run on
/// the stack of the thread that has it.
#[test]
fn a_lock_across_join() {
    for workers in [1, 2, 8] {
        let rig = Rig::monitored(workers);
        let mutex = Arc::new(Mutex::new(0));
        let done = Arc::new(AtomicUsize::new(0));
        let all = 40;
        for n in 0..all {
            let (mutex, done) = (mutex.clone(), done.clone());
            drop(rig.handle().spawn(async move {
                for _ in 0..20 {
                    assert!(!LOCKS.get(), "on top of a task that holds the lock");
                    if n % 2 == 0 {
                        let mut guard = mutex.lock();
                        LOCKS.set(true);
                        *guard += fib(8);
                        LOCKS.set(false);
                    } else {
                        // As a fork of another thread, it may wait for the lock.
                        join(|| fib(6), || drop(mutex.lock()));
                    }
                    yield_now().await;
                }
                done.fetch_add(1, SeqCst);
            }));
        }
        wait_for("locks across `join`", || done.load(SeqCst) == all);
    }
}

/// Guests fork in the places of the workers.
#[test]
fn tasks_beside_guests() {
    for workers in [1, 2, 8] {
        let rig = Rig::monitored(workers);
        let end = OnDrop(Event::default());
        let guests: Vec<_> = (0..workers)
            .map(|_| {
                let (handle, end) = (rig.handle().clone(), end.0.clone());
                let inside = Event::default();
                let is_inside = inside.clone();
                let guest = thread::spawn(move || {
                    handle.install_here(|| {
                        is_inside.happens();
                        forks_until(&end);
                    });
                });
                inside.wait("a guest, or what it has handed over");
                guest
            })
            .collect();
        for trial in 0..5 {
            if workers > 1 {
                let seen = Event::default();
                let its = seen.clone();
                drop(rig.handle().spawn(async move {
                    sleep(Duration::from_millis(1)).await;
                    its.happens();
                }));
                seen.wait("a task beside guests");
                let seen = Event::default();
                let its = seen.clone();
                drop(rig.handle().spawn_pinned(trial, async move { its.happens() }));
                seen.wait("a pinned task beside guests");
            }
        }
        drop(end);
        guests.into_iter().for_each(|guest| guest.join().unwrap());
    }
}

/// "At most *W* threads more than there are workers": threads that have become workers for those
/// that fork, fork in turn.
#[test]
fn no_more_than_as_many_threads_again() {
    fn nested(depth: usize, end: Event, deepest: Event) {
        if depth == 0 {
            return deepest.happens();
        }
        scope(|scope| {
            scope.spawn(|_| ());
            let (its_end, its_deepest) = (end.clone(), deepest.clone());
            // This runs if this worker's state is retaken.
            drop(Handle::current().spawn_pinned(depth, async move {
                nested(depth - 1, its_end, its_deepest);
            }));
            end.hold();
        });
    }
    for workers in WORKERS {
        let rig = Rig::monitored(workers);
        let before = rig.metrics.num_blocking_threads();
        let end = OnDrop(Event::default());
        let (its_end, deepest) = (end.0.clone(), Event::default());
        let its_deepest = deepest.clone();
        drop(rig.handle().spawn_pinned(0, async move {
            nested(6 * its_workers(), its_end, its_deepest);
        }));
        let more = || rig.metrics.num_blocking_threads() - before;
        wait_for("a thread for a worker that forks", || more() > 0);
        let mut most = 0;
        for _ in 0..200 {
            most = most.max(more());
            thread::sleep(Duration::from_micros(200));
        }
        println!("forks within forks: {most} threads more, {workers} workers");
        assert!((1..=workers).contains(&most), "{most} threads more, {workers} workers");
        drop(end);
        deepest.wait("all of them, when the first have ended");
    }
}

fn its_workers() -> usize {
    Handle::current().metrics().num_workers()
}
