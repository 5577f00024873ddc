//! What becomes of tasks when their runtime ends.

use crate::support::{current_and_multi, current_thread, multi};
use parking_lot::Mutex;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};
use trefoil::runtime::{Builder, Runtime, is_rt_shutdown_err};
use trefoil::sync::oneshot;
use trefoil::task;

const WATCHDOG: Duration = Duration::from_secs(30);

fn runtimes() -> Vec<Runtime> {
    current_and_multi([1, 2, 8])
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn every_kind_of_task_is_dropped() {
    for runtime in runtimes() {
        let count = Arc::new(AtomicUsize::new(0));
        let mut handles = Vec::new();
        runtime.block_on(async {
            for _ in 0..50 {
                let at_rest = Dropped(count.clone());
                handles.push(trefoil::spawn(async move {
                    let _at_rest = at_rest;
                    pending::<()>().await;
                }));
                let yielding = Dropped(count.clone());
                handles.push(trefoil::spawn(async move {
                    let _yielding = yielding;
                    loop {
                        task::yield_now().await;
                    }
                }));
                let sleeping = Dropped(count.clone());
                handles.push(trefoil::spawn(async move {
                    let _sleeping = sleeping;
                    trefoil::time::sleep(Duration::from_secs(3600)).await;
                }));
            }
            for _ in 0..10 {
                task::yield_now().await;
            }
        });
        // This task may never be polled.
        let new = Dropped(count.clone());
        handles.push(runtime.spawn(async move {
            let _new = new;
            pending::<()>().await;
        }));
        drop(runtime);
        assert_eq!(count.load(SeqCst), 151);
        let other = current_thread();
        for handle in handles {
            assert!(handle.is_finished());
            assert!(other.block_on(handle).unwrap_err().is_cancelled());
        }
    }
}

#[test]
fn wakers_outlive_their_runtime() {
    for runtime in runtimes() {
        let (sender, receiver) = oneshot::channel::<()>();
        let handle = runtime.spawn(receiver);
        let abort = handle.abort_handle();
        runtime.block_on(async {
            for _ in 0..10 {
                task::yield_now().await;
            }
        });
        drop(runtime);
        abort.abort();
        assert!(sender.send(()).is_err());
        assert!(handle.is_finished());
    }
}

#[test]
fn destructors_may_spawn_and_wake() {
    struct Spawns(Option<oneshot::Sender<()>>, Arc<AtomicUsize>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
            let count = Dropped(self.1.clone());
            drop(trefoil::spawn(async move {
                let _count = count;
                pending::<()>().await
            }));
        }
    }
    for runtime in runtimes() {
        let count = Arc::new(AtomicUsize::new(0));
        runtime.block_on(async {
            for _ in 0..20 {
                let (sender, receiver) = oneshot::channel();
                let spawns = Spawns(Some(sender), count.clone());
                trefoil::spawn(async move {
                    let _spawns = spawns;
                    pending::<()>().await;
                });
                trefoil::spawn(async move {
                    let _ = receiver.await;
                    pending::<()>().await;
                });
            }
            for _ in 0..10 {
                task::yield_now().await;
            }
        });
        drop(runtime);
        assert_eq!(count.load(SeqCst), 20);
    }
}

#[test]
fn spawning_into_a_dead_runtime_cancels() {
    for runtime in runtimes() {
        let handle = runtime.handle().clone();
        drop(runtime);
        let task = handle.spawn(async { 1 });
        assert!(task.is_finished());
        let blocking = handle.spawn_blocking(|| 1);
        assert!(blocking.is_finished());
        let other = current_thread();
        assert!(other.block_on(task).unwrap_err().is_cancelled());
        assert!(other.block_on(blocking).unwrap_err().is_cancelled());
    }
}

#[test]
fn timeouts_and_background_do_not_wait_for_blocking_threads() {
    for runtime in runtimes() {
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let (started, has_started) = std::sync::mpsc::channel();
        runtime.spawn_blocking(move || {
            started.send(()).unwrap();
            let _ = wait.recv();
        });
        has_started.recv().unwrap();
        let start = Instant::now();
        runtime.shutdown_timeout(Duration::from_millis(20));
        assert!(start.elapsed() >= Duration::from_millis(20));
        drop(release);
    }
    for runtime in runtimes() {
        let (release, wait) = std::sync::mpsc::channel::<()>();
        runtime.spawn_blocking(move || wait.recv());
        runtime.shutdown_background();
        drop(release);
    }
}

#[test]
fn a_runtime_may_be_left_to_end_in_async_context() {
    for runtime in runtimes() {
        let inner = multi(2);
        inner.spawn(pending::<()>());
        runtime.block_on(async move { inner.shutdown_background() });
    }
}

#[test]
fn dropping_a_runtime_in_async_context_panics() {
    for runtime in runtimes() {
        let inner = multi(2);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            runtime.block_on(async move { drop(inner) });
        }));
        let message = *result.unwrap_err().downcast::<&'static str>().unwrap();
        assert!(message.contains("call `shutdown_background`"), "{message}");
    }
}

/// It would wait for itself.
#[test]
fn dropping_a_runtime_on_its_own_thread_panics() {
    let ends = |runtime: Arc<Mutex<Option<Runtime>>>, end: fn(Runtime)| {
        let runtime = runtime.lock().take().unwrap();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| end(runtime)));
        *result.unwrap_err().downcast::<&'static str>().unwrap()
    };
    let endless = |runtime: Runtime| runtime.shutdown_timeout(Duration::MAX);
    for end in [drop, endless] {
        for runtime in runtimes() {
            let handle = runtime.handle().clone();
            let shared = Arc::new(Mutex::new(Some(runtime)));
            let (send, message) = std::sync::mpsc::channel();
            drop(handle.spawn_blocking(move || send.send(ends(shared, end))));
            let message = message.recv_timeout(WATCHDOG).expect("no hang");
            assert!(message.contains("one of its own threads"), "{message}");
            // The shutdown has begun.
            assert!(handle.block_on(handle.spawn(async {})).unwrap_err().is_cancelled());
        }
    }
    let runtime = multi(2);
    let handle = runtime.handle().clone();
    let shared = Arc::new(Mutex::new(Some(runtime)));
    let (send, message) = std::sync::mpsc::channel();
    drop(handle.spawn(async move {
        trefoil::task::block_in_place(|| send.send(ends(shared, drop))).unwrap();
    }));
    let message = message.recv_timeout(WATCHDOG).expect("no hang");
    assert!(message.contains("one of its own threads"), "{message}");
}

/// Neither does a blocking closure of another runtime, nor the thread that another runtime lends.
#[test]
fn a_runtime_may_be_dropped_in_a_closure_of_another() {
    for runtime in runtimes() {
        let inner = multi(2);
        inner.block_on(inner.spawn(async {})).unwrap();
        runtime.block_on(runtime.spawn_blocking(move || drop(inner))).unwrap();
    }
}

#[test]
fn foreign_wakes_race_with_the_end() {
    for round in 0..200 {
        let runtime = match round % 3 {
            0 => current_thread(),
            n => multi(n),
        };
        let count = Arc::new(AtomicUsize::new(0));
        let mut senders = Vec::new();
        let mut handles = Vec::new();
        for _ in 0..32 {
            let (sender, receiver) = oneshot::channel::<()>();
            let dropped = Dropped(count.clone());
            senders.push(sender);
            handles.push(runtime.spawn(async move {
                let _dropped = dropped;
                let _ = receiver.await;
                pending::<()>().await;
            }));
        }
        runtime.block_on(async {
            for _ in 0..4 {
                task::yield_now().await;
            }
        });
        let barrier = Arc::new(std::sync::Barrier::new(3));
        let (wakers, its) = (senders, barrier.clone());
        let waking = std::thread::spawn(move || {
            its.wait();
            for sender in wakers {
                let _ = sender.send(());
            }
        });
        let its = barrier.clone();
        let aborts: Vec<_> = handles.iter().map(|handle| handle.abort_handle()).collect();
        let aborting = std::thread::spawn(move || {
            its.wait();
            for abort in aborts.iter().rev() {
                abort.abort();
            }
        });
        barrier.wait();
        drop(runtime);
        assert_eq!(count.load(SeqCst), 32);
        assert!(handles.iter().all(|handle| handle.is_finished()));
        waking.join().unwrap();
        aborting.join().unwrap();
    }
}

#[test]
fn thread_stop_hooks_are_over_when_the_drop_returns() {
    for round in 0..200 {
        let (started, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (starts, stops) = (started.clone(), stopped.clone());
        let runtime = Builder::new_multi_thread()
            .worker_threads(1 + round % 4)
            .on_thread_start(move || {
                starts.fetch_add(1, SeqCst);
            })
            .on_thread_stop(move || {
                std::thread::yield_now();
                stops.fetch_add(1, SeqCst);
            })
            .build()
            .unwrap();
        runtime.spawn(pending::<()>());
        drop(runtime);
        assert_eq!(started.load(SeqCst), stopped.load(SeqCst));
    }
}

/// A thread that blocks in place until a task is dropped is released: the workers that leave drop
/// their tasks without waiting for that thread.
#[test]
fn a_thread_that_blocks_until_a_task_goes_lets_the_runtime_end() {
    for workers in [1, 2, 8] {
        for queued in [false, true] {
            let mut builder = Builder::new_multi_thread();
            let runtime = builder.worker_threads(workers).enable_all().build().unwrap();
            let (sender, receiver) = std::sync::mpsc::channel::<()>();
            let (blocks, has_blocked) = std::sync::mpsc::channel();
            let blocked = runtime.spawn(async move {
                task::block_in_place(|| {
                    blocks.send(()).unwrap();
                    receiver.recv().unwrap_err();
                });
            });
            has_blocked.recv().unwrap();
            let holder = runtime.spawn(async move {
                let _held = sender;
                loop {
                    if queued {
                        task::yield_now().await;
                    } else {
                        pending::<()>().await;
                    }
                }
            });
            drop(runtime);
            let other = Builder::new_current_thread().build().unwrap();
            other.block_on(blocked).unwrap();
            assert!(other.block_on(holder).unwrap_err().is_cancelled());
        }
    }
}

/// Closures that wait for a thread when the shutdown begins run. What is spawned later is
/// cancelled: by that the first closure, which has the only thread, sees that the shutdown has
/// begun.
#[test]
fn blocking_tasks_that_wait_for_a_thread_run() {
    fn shut_down(runtime: Runtime, way: usize) {
        match way {
            0 => drop(runtime),
            1 => runtime.shutdown_timeout(Duration::from_secs(3600)),
            _ => runtime.shutdown_background(),
        }
    }
    for way in 0..3 {
        let builders = [Builder::new_current_thread(), Builder::new_multi_thread()];
        for mut builder in builders {
            let runtime =
                builder.worker_threads(1).max_blocking_threads(1).enable_all().build().unwrap();
            let handle = runtime.handle().clone();
            let first = runtime.spawn_blocking(move || {
                while !handle.spawn_blocking(|| ()).is_finished() {
                    std::thread::yield_now();
                }
            });
            let waiting: Vec<_> = (0..20).map(|n| runtime.spawn_blocking(move || n)).collect();
            shut_down(runtime, way);
            futures::executor::block_on(async {
                first.await.unwrap();
                for (n, waiting) in waiting.into_iter().enumerate() {
                    assert_eq!(waiting.await.unwrap(), n);
                }
            });
        }
    }
}

#[test]
fn standard_outputs_say_that_the_runtime_has_shut_down() {
    use trefoil::io::{AsyncWriteExt, stderr, stdout};
    for runtime in runtimes() {
        let handle = runtime.handle().clone();
        drop(runtime);
        let error = handle.block_on(async { stdout().write_all(b"lost").await }).unwrap_err();
        assert!(is_rt_shutdown_err(&error), "{error}");
        let error = handle.block_on(async { stderr().write_all(b"lost").await }).unwrap_err();
        assert!(is_rt_shutdown_err(&error), "{error}");
    }
}
