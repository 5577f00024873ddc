//! Panics of the root, and the end of the runtime.

use crate::rig::{OnDrop, builder, id, serving, stand_in};
use crate::support::Hasty;
use crate::support::watch::WATCHDOG;
use crate::support::watch::drop_returns;
use crate::support::watch::receive;
use crate::support::watch::wait_for;
use crate::support::watch::workers_sleep;
use parking_lot::Mutex;
use std::cell::Cell;
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use trefoil::spawn;
use trefoil::sync::oneshot;
use trefoil::task::block_in_place;
use trefoil::task::yield_now;

#[test]
fn a_panic_of_the_root_is_the_callers_and_gives_the_place_back() {
    for workers in [1, 2] {
        let runtime = serving(workers);
        for blocks in [false, true] {
            let panics = AssertUnwindSafe(|| {
                runtime.block_on(async {
                    stand_in().await;
                    if blocks {
                        block_in_place(|| panic!("in vain"));
                    }
                    panic!("in vain");
                });
            });
            let payload = catch_unwind(panics).unwrap_err();
            assert_eq!(*payload.downcast_ref::<&str>().unwrap(), "in vain");
            workers_sleep(&runtime.metrics());
        }
        // A panic in the destructor of the root's locals, while it unwinds, would abort. A task's
        // panic is its own.
        runtime.block_on(async {
            stand_in().await;
            assert!(spawn(async { panic!("in vain") }).await.unwrap_err().is_panic());
            stand_in().await;
        });
        drop_returns("the drop of the runtime", runtime);
    }
}

/// The future is dropped as with any `block_on`: during the panic.
#[test]
fn a_root_that_panics_is_dropped_while_the_thread_unwinds() {
    let runtime = serving(1);
    let was_panicking = Cell::new(None);
    let panics = AssertUnwindSafe(|| {
        let on_drop = OnDrop(|| was_panicking.set(Some(thread::panicking())));
        runtime.block_on(async {
            let _kept = on_drop;
            stand_in().await;
            panic!("in vain");
        });
    });
    assert!(catch_unwind(panics).is_err());
    assert_eq!(was_panicking.get(), Some(true));
}

/// The runtime's own threads drop what is left, and the root goes on.
#[test]
fn a_runtime_that_ends_meanwhile_takes_its_tasks_from_the_root() {
    for workers in [1, 2, 3] {
        for blocks in [false, true] {
            let mut runtime = serving(workers);
            let handle = runtime.handle().clone();
            let dropped_on = Arc::new(Mutex::new(Vec::new()));
            let its = dropped_on.clone();
            let (tell, told) = mpsc::channel();
            let (go, may_go) = oneshot::channel::<()>();
            let (ended, has_ended) = mpsc::channel();
            let body = thread::spawn(move || {
                handle.block_on(async {
                    stand_in().await;
                    let tasks = Vec::from_iter((0..20).map(|n| {
                        let dropped_on = its.clone();
                        // Of a task that has not begun either.
                        let on_drop = OnDrop(move || dropped_on.lock().push(id()));
                        spawn(async move {
                            let _kept = on_drop;
                            if n % 2 == 0 {
                                pending::<()>().await;
                            }
                            loop {
                                yield_now().await;
                            }
                        })
                    }));
                    yield_now().await;
                    tell.send(id()).unwrap();
                    if blocks {
                        // In a poll that ends only after the runtime's end has begun.
                        wait_for("the runtime ends", || tasks.iter().all(|t| t.is_finished()));
                    }
                    for task in tasks {
                        assert!(task.await.unwrap_err().is_cancelled());
                    }
                    // It is no worker any more, and waits as any thread.
                    may_go.await.unwrap();
                    assert!(spawn(async {}).await.unwrap_err().is_cancelled());
                });
                ended.send(()).unwrap();
            });
            let root = receive("the root", &told);
            runtime.0.take().unwrap().shutdown_timeout(WATCHDOG);
            let dropped_on = std::mem::take(&mut *dropped_on.lock());
            assert_eq!(dropped_on.len(), 20, "the runtime's end waits for its tasks");
            assert!(!dropped_on.contains(&root), "tasks were dropped on the root's thread");
            go.send(()).unwrap();
            receive("the root ends after its runtime", &has_ended);
            body.join().unwrap();
        }
    }
}

#[test]
fn a_root_may_end_its_own_runtime() {
    for workers in [1, 2] {
        let mut runtime = serving(workers);
        let handle = runtime.handle().clone();
        let (done, is_done) = mpsc::channel();
        let body = thread::spawn(move || {
            handle.block_on(async move {
                stand_in().await;
                let task = spawn(pending::<()>());
                yield_now().await;
                runtime.0.take().unwrap().shutdown_background();
                assert!(task.await.unwrap_err().is_cancelled());
            });
            done.send(()).unwrap();
        });
        receive("a root that ends its runtime", &is_done);
        body.join().unwrap();
    }
}

/// A task is in its poll on the root's thread when the runtime ends.
#[test]
fn a_runtime_ends_while_a_task_blocks_on_the_roots_thread() {
    for workers in [1, 2] {
        let mut runtime = serving(workers);
        let handle = runtime.handle().clone();
        let (tell, told) = mpsc::channel();
        let (end, is_over) = mpsc::channel::<()>();
        let body = thread::spawn(move || {
            handle.block_on(async {
                stand_in().await;
                // It is dropped at the runtime's end, which does not wait for the task that blocks.
                let holds = spawn(async move {
                    let _kept = end;
                    pending::<()>().await;
                });
                yield_now().await;
                let blocks = spawn(async move {
                    block_in_place(|| {
                        tell.send(()).unwrap();
                        assert!(is_over.recv().is_err());
                    });
                });
                blocks.await.unwrap();
                assert!(holds.await.unwrap_err().is_cancelled());
            });
        });
        receive("a task that blocks", &told);
        let runtime = runtime.0.take();
        drop_returns("the drop of the runtime", Hasty(runtime));
        body.join().unwrap();
    }
}

/// In a task, it would wait for the thread that stands in, which runs the task, and so for ever. It
/// does not wait for the root.
#[test]
fn a_drop_inside_of_the_runtime_panics_in_a_task_and_not_in_the_root() {
    for in_task in [true, false] {
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            let runtime = builder(1).build().unwrap();
            let handle = runtime.handle().clone();
            let drops = move || {
                let dropped = || catch_unwind(AssertUnwindSafe(|| drop(runtime)));
                done.send(block_in_place(dropped).is_err()).unwrap();
            };
            handle.block_on(async {
                stand_in().await;
                if in_task {
                    drop(spawn(async { drops() }).await);
                } else {
                    drops();
                }
            });
        });
        assert_eq!(receive("no hang", &is_done), in_task);
    }
}
