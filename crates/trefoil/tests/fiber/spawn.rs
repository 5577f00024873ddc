//! Fibers: what a program may rely on.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]
#![expect(clippy::async_yields_async, reason = "a runtime's context is entered by `block_on`")]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::ThreadId;
use std::time::Duration;
use trefoil::fiber;
use trefoil::runtime::{Builder, Runtime};
use trefoil::sync::{Mutex, Notify, broadcast, mpmc, mpsc, oneshot};
use trefoil::task;

fn multi(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// Runtimes on which all fibers have the same thread, and others.
fn each(test: impl Fn(&Runtime)) {
    test(&multi(1));
    test(&multi(3));
}

#[test]
fn a_fiber_returns_its_output_to_a_task() {
    each(|runtime| {
        let output = runtime.block_on(async { fiber::spawn(|| 6 * 7).await.unwrap() });
        assert_eq!(output, 42);
    });
}

#[test]
fn a_thread_and_a_fiber_join_fibers() {
    let runtime = multi(2);
    let _guard = runtime.enter();
    let outer = fiber::spawn(|| fiber::spawn(|| 1).join().unwrap() + 1);
    assert_eq!(outer.join().unwrap(), 2);
}

#[test]
fn a_fiber_waits_for_everything_that_a_task_awaits() {
    each(|runtime| {
        let sum = runtime.block_on(async {
            let (one, answer) = oneshot::channel::<u64>();
            let (many, mut messages) = mpsc::channel(1);
            let notify = Arc::new(Notify::new());
            let lock = Arc::new(Mutex::new(0));
            let mut held = lock.clone().lock_owned().await;
            let fiber = fiber::spawn({
                let (notify, lock) = (notify.clone(), lock.clone());
                move || {
                    let mut sum = answer.blocking_recv().unwrap();
                    fiber::wait(notify.notified());
                    while let Some(message) = messages.blocking_recv() {
                        sum += message;
                    }
                    fiber::sleep(Duration::from_millis(1));
                    sum + *lock.blocking_lock()
                }
            });
            one.send(1).unwrap();
            notify.notify_one();
            for message in 0..10 {
                many.send(message).await.unwrap();
            }
            drop(many);
            task::yield_now().await;
            *held = 1000;
            drop(held);
            fiber.await.unwrap()
        });
        assert_eq!(sum, 1046);
    });
}

#[test]
fn fibers_talk_through_every_channel() {
    each(|runtime| {
        runtime.block_on(async {
            let (sender, receiver) = mpmc::bounded(2);
            let (tell, _) = broadcast::channel(100);
            let receivers: Vec<_> = (0..4)
                .map(|_| {
                    let (receiver, mut told) = (receiver.clone(), tell.subscribe());
                    fiber::spawn(move || {
                        let mut sum = 0u64;
                        for _ in 0..25 {
                            sum += told.blocking_recv().unwrap();
                        }
                        while let Ok(item) = receiver.blocking_recv() {
                            sum += item;
                        }
                        sum
                    })
                })
                .collect();
            drop(receiver);
            let told = fiber::spawn(move || {
                for number in 0..25u64 {
                    tell.send(number).unwrap();
                    fiber::yield_now();
                }
            });
            let senders: Vec<_> = (0..4)
                .map(|_| {
                    let sender = sender.clone();
                    fiber::spawn(move || {
                        (1..=100u64).for_each(|item| sender.blocking_send(item).unwrap());
                    })
                })
                .collect();
            drop(sender);
            told.await.unwrap();
            for sender in senders {
                sender.await.unwrap();
            }
            let mut sum = 0;
            for receiver in receivers {
                sum += receiver.await.unwrap();
            }
            assert_eq!(sum, 4 * 300 + 4 * 5050);
        });
    });
}

thread_local! {
    static MINE: Cell<u64> = const { Cell::new(0) };
}

#[test]
fn a_fiber_stays_on_its_thread_whatever_is_on_its_stack() {
    let runtime = multi(4);
    let fibers: Vec<_> = (0..200u64)
        .map(|number| {
            runtime.block_on(async move {
                fiber::spawn(move || {
                    let not_send = Rc::new(RefCell::new(number));
                    let thread = std::thread::current().id();
                    MINE.with(|mine| {
                        for round in 0..50 {
                            match round % 3 {
                                0 => fiber::yield_now(),
                                1 => fiber::wait(async { task::spawn(async {}).await.unwrap() }),
                                _ => fiber::sleep(Duration::from_micros(10)),
                            }
                            *not_send.borrow_mut() += 1;
                            assert!(MINE.with(|now| std::ptr::eq(now, mine)));
                            assert_eq!(std::thread::current().id(), thread);
                        }
                    });
                    *not_send.borrow() - number
                })
            })
        })
        .collect();
    for fiber in fibers {
        assert_eq!(runtime.block_on(fiber).unwrap(), 50);
    }
}

#[test]
fn a_fiber_whose_thread_has_lost_its_place_goes_on_there() {
    let runtime = multi(1);
    let (sender, mut receiver) = mpsc::unbounded_channel::<ThreadId>();
    let stop = Arc::new(AtomicBool::new(false));
    let resident = runtime.block_on({
        let stop = stop.clone();
        async move {
            fiber::spawn(move || {
                let thread = std::thread::current().id();
                let other = receiver.blocking_recv().unwrap();
                assert_ne!(other, thread, "another thread is the worker");
                assert_eq!(std::thread::current().id(), thread);
                while !stop.load(SeqCst) {
                    fiber::sleep(Duration::from_micros(100));
                    assert_eq!(std::thread::current().id(), thread);
                }
                thread
            })
        }
    });
    // A fiber on the same thread blocks in place until a task has run, on whatever thread.
    let blocker = runtime.block_on(async move {
        fiber::spawn(move || {
            let (tell, told) = std::sync::mpsc::channel();
            task::spawn(async move { tell.send(std::thread::current().id()).unwrap() });
            let other = task::block_in_place(|| told.recv().unwrap());
            sender.send(other).unwrap();
            std::thread::current().id()
        })
    });
    let thread = runtime.block_on(blocker).unwrap();
    // Both sides of the split are alive: new fibers begin, and the old one goes on.
    let fresh = runtime.block_on(async { fiber::spawn(|| std::thread::current().id()).await });
    assert_ne!(fresh.unwrap(), thread);
    stop.store(true, SeqCst);
    assert_eq!(runtime.block_on(resident).unwrap(), thread);
}

#[test]
fn forks_run_inside_of_fibers_and_wait_inside_of_forks() {
    fn sum(from: u64, to: u64) -> u64 {
        if to - from < 10 {
            return (from..to).sum();
        }
        let middle = u64::midpoint(from, to);
        let (a, b) = trefoil::fork_join::join(|| sum(from, middle), || sum(middle, to));
        a + b
    }
    let runtime = multi(2);
    let sum = runtime.block_on(async {
        fiber::spawn(|| {
            let before = sum(0, 1000);
            fiber::yield_now();
            let (a, b) = trefoil::fork_join::join(
                || fiber::wait(async { task::spawn(async { 1 }).await.unwrap() }),
                || 2,
            );
            before + a + b
        })
        .await
        .unwrap()
    });
    assert_eq!(sum, 499_500 + 3);
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn an_abort_unwinds_a_fiber_where_it_waits() {
    each(|runtime| {
        runtime.block_on(async {
            let dropped = Arc::new(AtomicUsize::new(0));
            let (began, has_begun) = oneshot::channel();
            let fiber = fiber::spawn({
                let dropped = dropped.clone();
                move || {
                    let _outer = Dropped(dropped.clone());
                    let _inner = Dropped(dropped);
                    began.send(()).unwrap();
                    fiber::wait(std::future::pending::<()>());
                }
            });
            has_begun.await.unwrap();
            fiber.abort();
            assert!(fiber.await.unwrap_err().is_cancelled());
            assert_eq!(dropped.load(SeqCst), 2);
        });
    });
}

#[test]
fn an_abort_before_the_beginning_drops_the_closure() {
    let runtime = multi(1);
    let dropped = Arc::new(AtomicUsize::new(0));
    let guard = Dropped(dropped.clone());
    // The only worker is in this task, and begins no fiber meanwhile.
    let aborts = runtime.spawn(async {
        let fiber = fiber::spawn(move || drop(guard));
        fiber.abort();
        assert!(fiber.await.unwrap_err().is_cancelled());
    });
    runtime.block_on(aborts).unwrap();
    assert_eq!(dropped.load(SeqCst), 1);
}

#[test]
fn a_fiber_that_catches_its_unwinding_ends_all_the_same() {
    each(|runtime| {
        runtime.block_on(async {
            let (began, has_begun) = oneshot::channel();
            let fiber = fiber::spawn(move || {
                let waits = std::panic::AssertUnwindSafe(|| {
                    began.send(()).unwrap();
                    fiber::wait(std::future::pending::<()>());
                });
                assert!(std::panic::catch_unwind(waits).is_err());
                // It may wait still, for what needs nobody else.
                fiber::wait(async {});
                fiber::yield_now();
            });
            has_begun.await.unwrap();
            fiber.abort();
            assert!(fiber.await.unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn a_panic_reaches_whoever_joins_and_nobody_else() {
    each(|runtime| {
        runtime.block_on(async {
            let fiber = fiber::spawn(|| {
                fiber::yield_now();
                panic!("of a fiber");
            });
            let error = fiber.await.unwrap_err();
            assert_eq!(*error.into_panic().downcast_ref::<&str>().unwrap(), "of a fiber");
            assert!(!std::thread::panicking());
            assert_eq!(fiber::spawn(|| 1).await.unwrap(), 1);
        });
    });
}

#[test]
fn a_destructor_that_waits_in_a_panic_blocks_and_ends() {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            fiber::wait(async { trefoil::time::sleep(Duration::from_millis(1)).await });
        }
    }
    let runtime = multi(2);
    runtime.block_on(async {
        let fiber = fiber::spawn(|| {
            let _waits = Waits;
            fiber::yield_now();
            panic!("with a destructor that waits");
        });
        assert!(fiber.await.unwrap_err().is_panic());
    });
}

#[test]
fn the_end_of_a_runtime_unwinds_fibers_on_their_threads() {
    struct Here(ThreadId, Dropped);
    impl Drop for Here {
        fn drop(&mut self) {
            assert_eq!(std::thread::current().id(), self.0);
            let _ = &self.1;
        }
    }
    for workers in [1, 3] {
        let dropped = Arc::new(AtomicUsize::new(0));
        let runtime = multi(workers);
        let (began, mut has_begun) = mpsc::unbounded_channel();
        runtime.block_on(async {
            for number in 0..100u64 {
                let (dropped, began) = (dropped.clone(), began.clone());
                fiber::spawn(move || {
                    let _here = Here(std::thread::current().id(), Dropped(dropped));
                    began.send(()).unwrap();
                    match number % 3 {
                        0 => fiber::wait(std::future::pending()),
                        1 => fiber::sleep(Duration::from_secs(1000)),
                        _ => loop {
                            fiber::yield_now();
                        },
                    }
                });
            }
            for _ in 0..100 {
                has_begun.recv().await.unwrap();
            }
            // These never begin, or do so at the very end.
            for _ in 0..100 {
                let dropped = Dropped(dropped.clone());
                fiber::spawn(move || {
                    let _dropped = dropped;
                    fiber::wait(std::future::pending::<()>());
                });
            }
        });
        drop(runtime);
        assert_eq!(dropped.load(SeqCst), 200);
    }
}

#[test]
fn fibers_begin_in_a_runtime_whose_only_worker_is_lent() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .serve_in_block_on(true)
        .enable_all()
        .build()
        .unwrap();
    let here = std::thread::current().id();
    for _ in 0..100 {
        let thread = runtime.block_on(async {
            task::spawn(async {}).await.unwrap();
            fiber::spawn(|| {
                fiber::yield_now();
                std::thread::current().id()
            })
            .await
            .unwrap()
        });
        assert_ne!(thread, here);
    }
}

#[test]
fn a_fiber_wakes_whose_worker_would_be_lent_meanwhile() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .serve_in_block_on(true)
        .enable_all()
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    for round in 0..50 {
        let (wake, woken) = oneshot::channel();
        let (begun, has_begun) = oneshot::channel();
        let fiber = handle.block_on(async {
            let fiber = fiber::spawn(move || {
                begun.send(()).unwrap();
                fiber::wait(woken).unwrap()
            });
            has_begun.await.unwrap();
            fiber
        });
        let ended = handle.block_on(async {
            // Time for the worker to fall asleep, and for this thread to stand in for it.
            trefoil::time::sleep(Duration::from_millis(2)).await;
            task::spawn(async {}).await.unwrap();
            wake.send(round).unwrap();
            trefoil::time::timeout(Duration::from_secs(20), fiber).await
        });
        assert_eq!(ended.expect("the fiber did not wake").unwrap(), round);
    }
}

#[test]
fn who_a_fiber_is() {
    let runtime = multi(1);
    assert_eq!(fiber::current(), None);
    runtime.block_on(async {
        assert_eq!(fiber::current(), None);
        let fiber = fiber::Builder::new().name("a name").stack_size(100_000).spawn(|| {
            let inside = std::thread::spawn(fiber::current).join().unwrap();
            assert_eq!(inside, None);
            (fiber::current().unwrap(), task::id())
        });
        let fiber = fiber.unwrap();
        let id = fiber.id();
        let (current, task) = fiber.await.unwrap();
        assert_eq!((current.id(), task), (id, id));
        assert_eq!(current.name(), Some("a name"));
        assert!(current.stack_size() >= 100_000 && current.stack_size() % 4096 == 0);
    });
}

#[test]
fn sizes_that_no_stack_can_have_are_refused() {
    let runtime = multi(1);
    let _guard = runtime.enter();
    let most: usize = 1 << if usize::BITS < 64 { 30 } else { 36 };
    for size in [0, 1, 16 * 1024 - 1, most + 1, usize::MAX] {
        let error = fiber::Builder::new().stack_size(size).spawn(|| ()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&size.to_string()), "{error}");
    }
    // A page more or less does not matter.
    for size in [16 * 1024, 16 * 1024 + 1, 1 << 24] {
        let fiber = fiber::Builder::new().stack_size(size).spawn(|| ()).unwrap();
        runtime.block_on(fiber).unwrap();
    }
}

#[test]
fn asynchronous_code_must_not_wait_as_fibers_do() {
    let runtime = multi(1);
    let waits: [fn(); 7] = [
        || fiber::wait(std::future::ready(())),
        || fiber::sleep(Duration::ZERO),
        || fiber::scope(|_| unreachable!("it is refused before")),
        || fiber::spawn(|| ()).join().unwrap(),
        || assert_eq!(mpsc::channel::<()>(1).1.blocking_recv(), None),
        || drop(oneshot::channel::<()>().1.blocking_recv()),
        || drop(Mutex::new(()).blocking_lock()),
    ];
    for waits in waits {
        let error = runtime.block_on(async { task::spawn(async move { waits() }).await });
        let payload = error.unwrap_err().into_panic();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap();
        assert!(
            text.starts_with("Cannot block the current thread from within a runtime"),
            "{text}"
        );
    }
    // On any other thread, it blocks.
    assert_eq!(fiber::wait(async { 1 }), 1);
}

#[test]
fn the_output_of_a_fiber_is_taken_once() {
    let runtime = multi(1);
    let _guard = runtime.enter();
    let twice = || {
        let mut fiber = fiber::spawn(|| 1);
        assert_eq!(fiber::wait(&mut fiber).unwrap(), 1);
        fiber.join()
    };
    let said = |payload: Box<dyn std::any::Any + Send>| {
        let text = *payload.downcast::<&str>().unwrap();
        assert_eq!(text, "JoinHandle polled after completion");
    };
    said(std::panic::catch_unwind(twice).unwrap_err());
    said(fiber::spawn(twice).join().unwrap_err().into_panic());
    assert_eq!(fiber::spawn(|| 2).join().unwrap(), 2);
}

#[test]
fn a_fiber_that_never_waits_holds_up_its_own_thread_alone() {
    let runtime = multi(2);
    let stop = Arc::new(AtomicBool::new(false));
    runtime.block_on(async {
        let spinner = fiber::spawn({
            let stop = stop.clone();
            move || {
                while !stop.load(SeqCst) {
                    std::hint::spin_loop();
                }
            }
        });
        let fibers: Vec<_> = (0..100).map(|_| fiber::spawn(fiber::yield_now)).collect();
        for fiber in fibers {
            fiber.await.unwrap();
        }
        stop.store(true, SeqCst);
        spinner.await.unwrap();
    });
}

/// Runs one of this file's tests, which ends its process, in a process of its own. Returns what it
/// has said.
fn in_a_process(test: &str) -> (std::process::ExitStatus, String) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[expect(unconditional_recursion, reason = "it is to overflow the stack")]
fn deeper(depth: u64) -> u64 {
    let here = std::hint::black_box([depth; 64]);
    deeper(depth + 1) + here[0]
}

#[test]
#[ignore = "ends its process; `an_overflow_is_named` runs it"]
fn overflows_its_stack() {
    let runtime = multi(2);
    runtime.block_on(async {
        let fiber = fiber::Builder::new().name("too deep").stack_size(64 * 1024);
        let _ = fiber.spawn(|| deeper(0)).unwrap().await;
    });
}

#[test]
#[ignore = "ends its process; `an_overflow_is_named` runs it"]
fn overflows_the_stack_of_a_thread() {
    let runtime = multi(1);
    runtime.block_on(async { fiber::spawn(|| ()).await.unwrap() });
    let _ = std::thread::Builder::new().stack_size(64 * 1024).spawn(|| deeper(0)).unwrap().join();
}

#[test]
#[ignore = "ends its process; `an_overflow_is_named` runs it"]
fn overflows_in_a_closure_that_was_taken() {
    let runtime = multi(2);
    crate::in_place::begin_on_both(&runtime);
    runtime.install(|| {
        let taken = AtomicBool::new(false);
        let until_taken = || {
            while !taken.load(SeqCst) {
                std::hint::spin_loop();
            }
        };
        trefoil::fork_join::join(until_taken, || {
            taken.store(true, SeqCst);
            deeper(0)
        })
    });
}

#[test]
fn an_overflow_is_named() {
    let (status, said) = in_a_process("spawn::overflows_its_stack");
    assert!(!status.success());
    assert!(said.contains("'too deep' has overflowed its stack of 65536 bytes"), "{said}");
    let (status, said) = in_a_process("spawn::overflows_in_a_closure_that_was_taken");
    assert!(!status.success());
    assert!(said.contains("fiber ") && said.contains("thread_stack_size"), "{said}");
    // That of a thread is still said by the standard library.
    let (status, said) = in_a_process("spawn::overflows_the_stack_of_a_thread");
    assert!(!status.success());
    assert!(said.contains("has overflowed its stack") && !said.contains("fiber"), "{said}");
}

#[test]
fn many_fibers_rest_wake_and_end() {
    for runtime in [multi(1), multi(3)] {
        let (all, ended) = (10_000, Arc::new(AtomicUsize::new(0)));
        runtime.block_on(async {
            let gate = Arc::new(trefoil::sync::Semaphore::new(0));
            let (rests, mut resting) = mpsc::unbounded_channel();
            let fibers: Vec<_> = (0..all)
                .map(|_| {
                    let (gate, rests, ended) = (gate.clone(), rests.clone(), ended.clone());
                    fiber::spawn(move || {
                        rests.send(()).unwrap();
                        fiber::wait(gate.acquire()).unwrap().forget();
                        ended.fetch_add(1, SeqCst);
                    })
                })
                .collect();
            for _ in 0..all {
                resting.recv().await.unwrap();
            }
            gate.add_permits(all);
            for fiber in fibers {
                fiber.await.unwrap();
            }
        });
        assert_eq!(ended.load(SeqCst), all);
    }
}
