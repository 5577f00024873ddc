//! Blocking tasks, `block_in_place`, and where `block_on` is allowed.

use crate::support::{current_and_multi, current_thread, multi};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;
use trefoil::runtime::{Builder, Handle, Runtime};
use trefoil::task;

fn runtimes() -> Vec<Runtime> {
    current_and_multi([1, 2])
}

#[test]
fn closures_that_need_each_other_all_get_threads() {
    for runtime in runtimes() {
        let barrier = Arc::new(Barrier::new(20));
        runtime.block_on(async {
            let handles: Vec<_> = (0..20)
                .map(|n| {
                    let barrier = barrier.clone();
                    task::spawn_blocking(move || {
                        barrier.wait();
                        n
                    })
                })
                .collect();
            for (n, handle) in handles.into_iter().enumerate() {
                assert_eq!(handle.await.unwrap(), n);
            }
        });
        // Idle threads call the hook, too.
        let barrier = Arc::new(Barrier::new(20));
        let handles: Vec<_> = (0..20)
            .map(|_| {
                let barrier = barrier.clone();
                runtime.spawn_blocking(move || barrier.wait().is_leader())
            })
            .collect();
        let leaders = runtime.block_on(async {
            let mut leaders = 0;
            for handle in handles {
                leaders += usize::from(handle.await.unwrap());
            }
            leaders
        });
        assert_eq!(leaders, 1);
    }
}

#[test]
fn the_pool_keeps_to_its_limit() {
    let runtime =
        Builder::new_current_thread().max_blocking_threads(3).enable_all().build().unwrap();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let handles: Vec<_> = (0..200)
        .map(|_| {
            let (now, most) = (now.clone(), most.clone());
            runtime.spawn_blocking(move || {
                most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                std::thread::yield_now();
                now.fetch_sub(1, SeqCst);
            })
        })
        .collect();
    runtime.block_on(async {
        for handle in handles {
            handle.await.unwrap();
        }
    });
    assert!(most.load(SeqCst) <= 3);
    assert!(runtime.metrics().num_blocking_threads() <= 3);
}

#[test]
fn idle_threads_go_away_and_come_back() {
    let stopped = Arc::new(AtomicUsize::new(0));
    let counter = stopped.clone();
    let runtime = Builder::new_current_thread()
        .thread_keep_alive(Duration::from_millis(5))
        .on_thread_stop(move || {
            counter.fetch_add(1, SeqCst);
        })
        .enable_all()
        .build()
        .unwrap();
    for round in 1..4 {
        assert_eq!(runtime.block_on(runtime.spawn_blocking(|| 1)).unwrap(), 1);
        while stopped.load(SeqCst) < round || runtime.metrics().num_blocking_threads() > 0 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn panics_in_closures_reach_the_joiner() {
    for runtime in runtimes() {
        let handle = runtime.spawn_blocking(|| std::panic::resume_unwind(Box::new("no")));
        let error: task::JoinError = runtime.block_on(handle).unwrap_err();
        assert!(error.is_panic());
    }
}

#[test]
fn blocking_tasks_may_block_on_and_spawn() {
    for runtime in runtimes() {
        let answer = runtime.block_on(async {
            task::spawn_blocking(|| {
                Handle::current().block_on(async {
                    let inner = trefoil::spawn(async { 6 });
                    trefoil::time::sleep(Duration::from_millis(1)).await;
                    inner.await.unwrap() * 7
                })
            })
            .await
            .unwrap()
        });
        assert_eq!(answer, 42);
    }
}

#[test]
fn block_in_place_lets_the_others_go_on() {
    for workers in [1, 2] {
        let runtime = multi(workers);
        let total = runtime.block_on(async {
            let handles: Vec<_> = (0..8)
                .map(|n| {
                    trefoil::spawn(async move {
                        let (sender, receiver) = std::sync::mpsc::channel();
                        // It runs on this thread's worker, which another thread has become.
                        let inner = trefoil::spawn(async move { sender.send(n).unwrap() });
                        let got = task::block_in_place(|| receiver.recv().unwrap());
                        inner.await.unwrap();
                        task::yield_now().await;
                        got + task::block_in_place(|| Handle::current().block_on(async { 1 }))
                    })
                })
                .collect();
            let mut total = 0;
            for handle in handles {
                total += handle.await.unwrap();
            }
            total
        });
        assert_eq!(total, 28 + 8);
    }
}

#[test]
fn a_runtime_may_end_while_tasks_block_in_place() {
    for _ in 0..20 {
        let runtime = multi(2);
        let (started, has_started) = std::sync::mpsc::channel();
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let handle = runtime.spawn(async move {
            task::block_in_place(|| {
                started.send(()).unwrap();
                let _ = wait.recv();
            });
            task::yield_now().await;
            std::future::pending::<()>().await;
        });
        has_started.recv().unwrap();
        runtime.spawn(std::future::pending::<()>());
        let releasing = std::thread::spawn(move || drop(release));
        drop(runtime);
        releasing.join().unwrap();
        assert!(handle.is_finished());
    }
}

#[test]
#[should_panic(expected = "can call blocking only when running on the multi-threaded runtime")]
fn block_in_place_panics_on_a_single_thread() {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(async { task::block_in_place(|| ()) });
}

/// What matters is who polls, and not whose guard is held.
#[test]
fn block_in_place_beside_the_guard_of_a_set() {
    let runtime = multi(2);
    runtime.block_on(async {
        let set = task::LocalSet::new();
        let _guard = set.enter();
        assert_eq!(task::block_in_place(|| 1), 1);
    });
    let task = runtime.spawn(async {
        let set = task::LocalSet::new();
        let _guard = set.enter();
        task::block_in_place(|| 1)
    });
    assert_eq!(runtime.block_on(task).unwrap(), 1);
    let blocks = task::LocalSet::new();
    let panicked = blocks.block_on(&runtime, async {
        task::spawn_local(async {
            let set = task::LocalSet::new();
            let _guard = set.enter();
            task::block_in_place(|| 1)
        })
        .await
    });
    assert!(panicked.unwrap_err().is_panic());
}

#[test]
fn block_on_within_async_code_panics() {
    for runtime in runtimes() {
        let handle = runtime.handle().clone();
        let message = runtime.block_on(async move {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                handle.block_on(async {});
            }));
            *result.unwrap_err().downcast::<&'static str>().unwrap()
        });
        assert!(message.contains("must not block on a future"), "{message}");
        let spawned = runtime.spawn(async { Handle::current().block_on(async {}) });
        assert!(runtime.block_on(spawned).unwrap_err().is_panic());
    }
}

#[test]
fn many_threads_may_block_on_one_runtime() {
    for runtime in runtimes() {
        std::thread::scope(|scope| {
            for n in 0..8u64 {
                let runtime = &runtime;
                scope.spawn(move || {
                    for _ in 0..20 {
                        let got = runtime.block_on(async {
                            let handle = trefoil::spawn(async move {
                                task::yield_now().await;
                                n
                            });
                            trefoil::time::sleep(Duration::from_micros(n * 100)).await;
                            handle.await.unwrap()
                        });
                        assert_eq!(got, n);
                    }
                });
            }
        });
    }
}

#[test]
#[should_panic(expected = "this thread is in no Trefoil runtime")]
fn spawning_outside_of_a_runtime_panics() {
    drop(trefoil::spawn(async {}));
}

#[test]
fn guards_make_a_runtime_current_and_nest() {
    let one = current_thread();
    let two = multi(3);
    assert!(Handle::try_current().is_err());
    {
        let _one = one.enter();
        assert_eq!(Handle::current().metrics().num_workers(), 1);
        {
            let _two = two.enter();
            assert_eq!(Handle::current().metrics().num_workers(), 3);
        }
        assert_eq!(Handle::current().metrics().num_workers(), 1);
    }
    assert!(Handle::try_current().is_err());
}

#[test]
fn threads_are_named_and_announced() {
    let started = Arc::new(AtomicUsize::new(0));
    let counter = started.clone();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("miller")
        .on_thread_start(move || {
            counter.fetch_add(1, SeqCst);
        })
        .enable_all()
        .build()
        .unwrap();
    let name = runtime.spawn(async { std::thread::current().name().map(String::from) });
    assert_eq!(runtime.block_on(name).unwrap().as_deref(), Some("miller"));
    runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
    drop(runtime);
    assert_eq!(started.load(SeqCst), 3);
}

/// All threads of the pool block, and so does one worker. The other worker runs new tasks, although
/// the worker that blocks fell asleep last.
#[test]
fn a_blocked_worker_without_a_thread_keeps_no_work() {
    for _ in 0..20 {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (start, started) = mpsc::channel();
        let (go, may_go) = mpsc::channel::<()>();
        let its_start = start.clone();
        let pooled = runtime.spawn_blocking(move || {
            its_start.send(()).unwrap();
            may_go.recv().unwrap();
        });
        started.recv().unwrap();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let blocked = runtime.spawn(async move {
            task::block_in_place(|| {
                start.send(()).unwrap();
                may_go_on.recv().unwrap();
            });
        });
        started.recv().unwrap();
        for n in 0..100 {
            let (sender, polled) = mpsc::channel();
            drop(runtime.spawn(async move { sender.send(n).unwrap() }));
            let got = polled.recv_timeout(Duration::from_secs(20));
            assert_eq!(got.expect("the idle worker polls a task"), n);
        }
        go_on.send(()).unwrap();
        runtime.block_on(blocked).unwrap();
        go.send(()).unwrap();
        runtime.block_on(pooled).unwrap();
    }
}
