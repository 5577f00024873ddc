//! Several roots, and everything at once.

use crate::rig::{id, on, serving};
use crate::support::Hasty;
use crate::support::fib;
use crate::support::watch::drop_returns;
use crate::support::watch::receive;
use crate::support::watch::workers_sleep;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::Barrier;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use trefoil::spawn;
use trefoil::task::block_in_place;
use trefoil::task::spawn_pinned;
use trefoil::task::yield_now;
use trefoil::time::sleep;

/// More roots than workers: each that finds no place waits as any thread, and is woken.
#[test]
fn several_roots_at_once() {
    for workers in [1, 2, 3] {
        let runtime = serving(workers);
        let (done, is_done) = mpsc::channel();
        let barrier = Arc::new(Barrier::new(6));
        let roots = Vec::from_iter((0..6).map(|_| {
            let (handle, done) = (runtime.handle().clone(), done.clone());
            let barrier = barrier.clone();
            thread::spawn(move || {
                for round in 0..60 {
                    barrier.wait();
                    handle.block_on(async {
                        for n in 0..10 {
                            assert_eq!(spawn(async move { n }).await.unwrap(), n);
                            if round % 3 == 0 {
                                sleep(Duration::from_micros(50)).await;
                            }
                            if round % 5 == 0 {
                                block_in_place(|| ());
                            }
                        }
                    });
                }
                done.send(()).unwrap();
            })
        }));
        for _ in 0..roots.len() {
            receive("a root", &is_done);
        }
        roots.into_iter().for_each(|root| root.join().unwrap());
        workers_sleep(&runtime.metrics());
        drop_returns("the drop of the runtime", runtime);
    }
}

/// Roots of two runtimes wait for each other's tasks.
#[test]
fn roots_of_two_runtimes() {
    let other = Arc::new(serving(1));
    let its = other.clone();
    on(serving(1), async move |_| {
        for _ in 0..100 {
            let handle = its.handle().clone();
            let task = spawn(async move { handle.spawn(async { 1 }).await.unwrap() });
            assert_eq!(task.await.unwrap(), 1);
            // A nested one, in the other runtime: no task runs on top of the root.
            let here = id();
            let nested = block_in_place(|| its.block_on(async { spawn(async { id() }).await }));
            assert_ne!(nested.unwrap(), here);
        }
    });
    workers_sleep(&other.metrics());
}

/// Everything at once, and the runtime's end in the midst of it.
#[test]
fn storms() {
    for round in 0..30 {
        let mut runtime = serving(1 + round % 3);
        let barrier = Arc::new(Barrier::new(4));
        let roots = Vec::from_iter((0..3).map(|root| {
            let (handle, barrier) = (runtime.handle().clone(), barrier.clone());
            thread::spawn(move || {
                barrier.wait();
                for n in 0..40_usize {
                    let root = AssertUnwindSafe(|| {
                        handle.block_on(async {
                            let task = spawn(async move {
                                match (n + root) % 5 {
                                    0 => yield_now().await,
                                    1 => block_in_place(thread::yield_now),
                                    2 => assert!(fib(6) == 8),
                                    3 => drop(spawn(async {}).await),
                                    _ => {}
                                }
                            });
                            match (n + 2 * root) % 7 {
                                0 => block_in_place(thread::yield_now),
                                // A panic, without the lock around its message.
                                1 => resume_unwind(Box::new("in vain")),
                                2 => assert!(fib(6) == 8),
                                3 => drop(spawn_pinned(n, async {}).await),
                                4 => return drop(task),
                                5 => task.abort(),
                                _ => yield_now().await,
                            }
                            drop(task.await);
                        });
                    });
                    let _ = catch_unwind(root);
                }
            })
        }));
        barrier.wait();
        if round % 2 == 0 {
            thread::sleep(Duration::from_micros(100 * round as u64));
            let runtime = runtime.0.take();
            drop_returns("the drop of the runtime, beside roots", Hasty(runtime));
        }
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            roots.into_iter().for_each(|root| root.join().unwrap());
            done.send(()).unwrap();
        });
        receive("all roots", &is_done);
    }
}
