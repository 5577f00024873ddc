//! Everything that may cost a root its place, while it is woken from all sides.

use crate::rig::{builder, each, serving};
use crate::support::Hasty;
use crate::support::fib;
use crate::support::watch::{Event, HappensOnDrop, drop_returns, receive, workers_sleep};
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;
use trefoil::runtime::Handle;
use trefoil::spawn;
use trefoil::sync::oneshot;
use trefoil::task::{LocalSet, block_in_place, spawn_local, spawn_pinned, yield_now};
use trefoil::time::sleep;

const SHORT: Duration = Duration::from_micros(50);

/// A thread that answers all who ask. It is no worker.
fn answers() -> mpsc::Sender<oneshot::Sender<()>> {
    let (ask, asked) = mpsc::channel::<oneshot::Sender<()>>();
    thread::spawn(move || asked.into_iter().for_each(|answer| answer.send(()).unwrap_or(())));
    ask
}

/// Has tasks come from outside of the runtime, as long as `stop` has not happened.
fn disturb(handle: Handle, stop: Event) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut round = 0;
        while !stop.has_happened() {
            round += 1;
            let task = handle.spawn(async move {
                match round % 6 {
                    0 => yield_now().await,
                    1 => block_in_place(thread::yield_now),
                    2 => sleep(SHORT).await,
                    3 => assert_eq!(fib(6), 8),
                    4 => drop(spawn_pinned(round, yield_now()).await),
                    _ => {}
                }
            });
            // One after another, so that workers fall asleep.
            let _ = task.join();
        }
    })
}

/// Waits for all threads. They have to end.
fn all_end(what: &str, threads: Vec<thread::JoinHandle<()>>) {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        let results = Vec::from_iter(threads.into_iter().map(|thread| thread.join().is_ok()));
        done.send(results.iter().all(|is_ok| *is_ok)).unwrap();
    });
    assert!(receive(what, &is_done), "{what}");
}

/// The place is lent, given back, handed over and retaken all the while.
#[test]
fn no_wake_up_from_afar_is_lost() {
    for workers in [1, 2, 3] {
        let runtime = serving(workers);
        let stop = Event::default();
        let _stops = HappensOnDrop(stop.clone());
        let disturbs = disturb(runtime.handle().clone(), stop.clone());
        let roots = Vec::from_iter((0..2).map(|_| {
            let (handle, ask) = (runtime.handle().clone(), answers());
            thread::spawn(move || {
                for _ in 0..10 {
                    handle.block_on(async {
                        for n in 0..200 {
                            let (answer, is_answered) = oneshot::channel();
                            ask.send(answer).unwrap();
                            match n % 24 {
                                0 => yield_now().await,
                                6 => block_in_place(thread::yield_now),
                                12 => sleep(SHORT).await,
                                18 => assert_eq!(fib(6), 8),
                                _ => {}
                            }
                            is_answered.await.unwrap();
                        }
                    });
                }
            })
        }));
        all_end("roots that are answered from afar", roots);
        stop.happens();
        all_end("tasks from outside", vec![disturbs]);
        workers_sleep(&runtime.metrics());
        drop_returns("the drop of the runtime", runtime);
    }
}

/// Guests take places as well, and leave them while a root has them.
#[test]
fn guests_beside_roots() {
    for workers in [1, 2, 3] {
        let runtime = serving(workers);
        let stop = Event::default();
        let _stops = HappensOnDrop(stop.clone());
        let disturbs = disturb(runtime.handle().clone(), stop.clone());
        let guests = (0..2).map(|_| {
            let handle = runtime.handle().clone();
            thread::spawn(move || {
                (0..300).for_each(|_| assert_eq!(handle.install_here(|| fib(9)), 34))
            })
        });
        let roots = (0..2).map(|_| {
            let handle = runtime.handle().clone();
            thread::spawn(move || {
                for n in 0..300 {
                    let its = handle.clone();
                    let task = async move { if n % 2 == 0 { fib(7) } else { 13 } };
                    assert_eq!(handle.block_on(async { spawn(task).await.unwrap() }), 13);
                    if n % 3 == 0 {
                        its.block_on(async { assert_eq!(fib(7), 13) });
                    }
                }
            })
        });
        all_end("guests and roots", guests.chain(roots).collect());
        stop.happens();
        all_end("tasks from outside", vec![disturbs]);
        workers_sleep(&runtime.metrics());
        drop_returns("the drop of the runtime", runtime);
    }
}

/// A root blocks in place and waits there for another `block_on` of the same runtime, and so on.
#[test]
fn roots_within_roots() {
    fn nested(handle: &Handle, depth: u32) -> u32 {
        handle.block_on(async {
            let below = spawn(async move { depth }).await.unwrap();
            if depth == 0 {
                return below;
            }
            let above = block_in_place(|| nested(handle, depth - 1));
            // A task that does the same, on whatever thread.
            let its = handle.clone();
            let task = spawn(async move { block_in_place(|| nested(&its, depth - 1)) });
            assert_eq!(task.await.unwrap(), above);
            below + above
        })
    }
    each(async |handle| {
        let result = block_in_place(|| nested(handle, 4));
        assert_eq!(result, 10);
    });
}

/// A set of local tasks is the root, and its tasks and those of the workers wait for each other.
#[test]
fn local_tasks_and_tasks_wait_for_each_other() {
    for workers in [1, 2] {
        let runtime = serving(workers);
        let handle = runtime.handle().clone();
        let root = thread::spawn(move || {
            let set = LocalSet::new();
            let _entered = handle.enter();
            let runs = set.run_until(async {
                let locals = Vec::from_iter((0..10).map(|n| {
                    spawn_local(async move {
                        for m in 0..20 {
                            let (answer, is_answered) = oneshot::channel();
                            let task = spawn(async move {
                                answer.send(m).unwrap();
                                if m % 5 == 0 {
                                    block_in_place(thread::yield_now);
                                }
                                m
                            });
                            assert_eq!(is_answered.await.unwrap(), m);
                            assert_eq!(task.await.unwrap(), m);
                            if (n + m) % 7 == 0 {
                                sleep(SHORT).await;
                            }
                        }
                    })
                }));
                for local in locals {
                    local.await.unwrap();
                }
            });
            handle.block_on(runs);
        });
        all_end("local tasks", vec![root]);
        workers_sleep(&runtime.metrics());
        drop_returns("the drop of the runtime", runtime);
    }
}

/// The parkers of roots are used again. Whoever wakes a root that has ended wakes nobody else for
/// ever, and no later root misses a wake-up because of that.
#[test]
fn wakers_outlive_their_roots() {
    let runtime = serving(1);
    let (keep, kept) = mpsc::channel::<Waker>();
    let wakes = thread::spawn(move || {
        let mut wakers = Vec::new();
        for waker in kept {
            wakers.push(waker);
            wakers.iter().for_each(Waker::wake_by_ref);
        }
    });
    let handle = runtime.handle().clone();
    let ask = answers();
    let root = thread::spawn(move || {
        for _ in 0..300 {
            handle.block_on(async {
                let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone()));
                keep.send(waker.await).unwrap();
                let (answer, is_answered) = oneshot::channel();
                ask.send(answer).unwrap();
                is_answered.await.unwrap();
                spawn(async {}).await.unwrap();
            });
        }
    });
    all_end("roots, while earlier ones are woken", vec![root, wakes]);
    workers_sleep(&runtime.metrics());
    drop_returns("the drop of the runtime", runtime);
}

/// Hooks run on the root's thread as well, at the moments at which it falls asleep and wakes. What
/// they wake and spawn is not left behind.
#[test]
fn hooks_of_a_thread_that_stands_in_wake_its_root() {
    for workers in [1, 2] {
        let waker = Arc::new(parking_lot::Mutex::new(None::<Waker>));
        let ran = Arc::new(AtomicUsize::new(0));
        let (its, counts) = (waker.clone(), ran.clone());
        let mut builder = builder(workers);
        builder.on_thread_park(move || {
            let Some(waker) = its.lock().take() else { return };
            waker.wake();
            let counts = counts.clone();
            spawn(async move { counts.fetch_add(1, SeqCst) });
        });
        let runtime = Hasty(Some(builder.build().unwrap()));
        let handle = runtime.handle().clone();
        let root = thread::spawn(move || {
            let mut polls = 0;
            handle.block_on(poll_fn(|cx| {
                polls += 1;
                if polls == 100 {
                    return Poll::Ready(());
                }
                *waker.lock() = Some(cx.waker().clone());
                // Somebody is to fall asleep after this. If all workers do so just before, the
                // root's thread may sleep without the place of one, and then no hook is called.
                spawn(async {});
                Poll::Pending
            }));
        });
        all_end("a root that hooks wake", vec![root]);
        workers_sleep(&runtime.metrics());
        assert_eq!(ran.load(SeqCst), 99, "what the hooks have spawned");
        drop_returns("the drop of the runtime", runtime);
    }
}

/// Fibers begin on the workers' own threads, and a root waits for them and wakes them.
#[cfg(all(feature = "fiber", unix))]
#[test]
fn fibers_and_roots_wait_for_each_other() {
    use trefoil::fiber;
    use trefoil::sync::mpsc::channel;
    for workers in [1, 2, 3] {
        let runtime = serving(workers);
        let roots = Vec::from_iter((0..3).map(|root| {
            let handle = runtime.handle().clone();
            thread::spawn(move || {
                for _ in 0..20 {
                    handle.block_on(async {
                        let (to, mut at) = channel(1);
                        let (back, mut answers) = channel(1);
                        let fiber = fiber::spawn(move || {
                            while let Some(n) = at.blocking_recv() {
                                if n % 5 == root {
                                    fiber::yield_now();
                                }
                                back.blocking_send(n).unwrap();
                            }
                        });
                        for n in 0..20 {
                            to.send(n).await.unwrap();
                            let task = spawn(async move { n });
                            assert_eq!(answers.recv().await, Some(n));
                            assert_eq!(task.await.unwrap(), n);
                            if n % 10 == root {
                                block_in_place(thread::yield_now);
                            }
                        }
                        drop(to);
                        fiber.await.unwrap();
                    });
                }
            })
        }));
        all_end("roots and fibers", roots);
        workers_sleep(&runtime.metrics());
        drop_returns("the drop of the runtime", runtime);
    }
}

/// Roots are clients, and tasks their servers. Then the runtime ends, while roots wait for events.
#[cfg(feature = "net")]
#[test]
fn roots_wait_for_sockets() {
    use trefoil::io::{AsyncReadExt, AsyncWriteExt};
    use trefoil::net::{TcpListener, TcpStream};
    for workers in [1, 2, 3] {
        let mut runtime = serving(workers);
        let (waits, waiting) = mpsc::channel();
        let roots = Vec::from_iter((0..3).map(|root| {
            let (handle, waits) = (runtime.handle().clone(), waits.clone());
            thread::spawn(move || {
                handle.block_on(async {
                    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                    let addr = listener.local_addr().unwrap();
                    let serves = spawn(async move {
                        let (mut stream, _) = listener.accept().await.unwrap();
                        while let Ok(byte) = stream.read_u8().await {
                            stream.write_u8(byte).await.unwrap();
                        }
                    });
                    let mut stream = TcpStream::connect(addr).await.unwrap();
                    for n in 0..300_usize {
                        stream.write_u8(n as u8).await.unwrap();
                        if n % 20 == root {
                            block_in_place(thread::yield_now);
                        }
                        if n % 30 == root {
                            sleep(SHORT).await;
                        }
                        assert_eq!(stream.read_u8().await.unwrap(), n as u8);
                    }
                    drop(stream);
                    serves.await.unwrap();
                    // Nobody ever connects.
                    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                    waits.send(()).unwrap();
                    let error = listener.accept().await.unwrap_err();
                    assert!(trefoil::runtime::is_rt_shutdown_err(&error), "{error}");
                });
            })
        }));
        for _ in &roots {
            receive("a root that is a client", &waiting);
        }
        let runtime = runtime.0.take();
        drop_returns("the drop of the runtime, beside roots", Hasty(runtime));
        all_end("roots that wait for events", roots);
    }
}
