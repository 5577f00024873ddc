//! A task that panics may end its runtime, or its set.

use crate::polls::panic_of;
use crate::support::current_thread;
use futures::executor;
use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use trefoil::runtime::{Builder, LocalRuntime, Runtime, UnhandledPanic};
use trefoil::sync::oneshot;
use trefoil::task::{self, LocalSet};

fn ends() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().unhandled_panic(UnhandledPanic::ShutdownRuntime).build().unwrap()
}

fn panics<R>(f: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn a_panic_ends_the_runtime() {
    let runtime = ends();
    let (sender, dropped) = mpsc::channel::<()>();
    let rests = runtime.spawn(async move {
        let _sender = sender;
        pending::<()>().await;
    });
    runtime.block_on(async { task::yield_now().await });
    // Its handle exists, and somebody waits for it.
    assert!(panics(|| runtime.block_on(async { trefoil::spawn(async { panic!("1") }).await })));
    assert!(dropped.recv().is_err(), "the other task is dropped");
    assert!(executor::block_on(rests).unwrap_err().is_cancelled());
    // Nothing is polled any more.
    assert!(panics(|| runtime.block_on(async { unreachable!() })));
    assert!(executor::block_on(runtime.spawn(async {})).unwrap_err().is_cancelled());
    let handle = runtime.handle().clone();
    assert!(executor::block_on(handle.spawn(async {})).unwrap_err().is_cancelled());
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
}

#[test]
fn tasks_behind_a_panic_are_not_polled() {
    let runtime = ends();
    runtime.spawn(async { panic!("on purpose") });
    let behind = runtime.spawn(async {});
    assert!(panics(|| runtime.block_on(pending::<()>())));
    assert!(executor::block_on(behind).unwrap_err().is_cancelled());
}

#[test]
fn all_threads_in_block_on_panic() {
    let runtime = Arc::new(ends());
    let (tell, waits) = mpsc::channel();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (runtime, tell) = (Arc::clone(&runtime), tell.clone());
            thread::spawn(move || {
                runtime.block_on(async {
                    tell.send(()).unwrap();
                    pending::<()>().await;
                });
            })
        })
        .collect();
    for _ in 0..3 {
        waits.recv().unwrap();
    }
    runtime.spawn(async { panic!("on purpose") });
    for thread in threads {
        assert!(thread.join().is_err());
    }
}

/// Runs a future on a thread beside the one that drives, until a task panics. The future gets a
/// task that never ends by itself, and what it calls in its first poll.
fn beside_the_driver<F: Future>(
    waits: impl FnOnce(task::JoinHandle<()>, Box<dyn Fn()>) -> F + Send + 'static,
) -> thread::Result<()> {
    let runtime = Arc::new(ends());
    let (tell, is_up) = mpsc::channel();
    let (drives, tells) = (Arc::clone(&runtime), tell.clone());
    let driver = thread::spawn(move || {
        drives.block_on(async {
            tells.send(()).unwrap();
            pending::<()>().await;
        });
    });
    is_up.recv().unwrap();
    let task = runtime.spawn(pending());
    let its = Arc::clone(&runtime);
    let waiter = thread::spawn(move || {
        its.block_on(waits(task, Box::new(move || tell.send(()).unwrap())));
    });
    is_up.recv().unwrap();
    runtime.spawn(async { panic!("on purpose") });
    assert!(driver.join().is_err());
    waiter.join()
}

/// The end cancels the task that the future waits for, and so wakes it.
#[test]
fn a_call_that_waits_for_a_task_panics_without_another_poll() {
    let polls = Arc::new(AtomicUsize::new(0));
    let its = Arc::clone(&polls);
    let ended = beside_the_driver(move |mut task, begins| {
        poll_fn(move |cx| {
            let polled = Pin::new(&mut task).poll(cx);
            its.fetch_add(1, SeqCst);
            begins();
            polled
        })
    });
    let message = ended.unwrap_err();
    let message = message.downcast_ref::<&str>().copied().unwrap_or_default();
    assert!(message.contains("configured to shut down on unhandled panic"), "{message}");
    assert_eq!(polls.load(SeqCst), 1);
}

/// The future's first poll lasts until the end has come, and sees that its task was cancelled.
#[test]
fn a_call_that_sees_the_end_in_its_poll_panics() {
    let ended = beside_the_driver(|task, begins| async move {
        begins();
        while !task.is_finished() {
            thread::yield_now();
        }
        assert!(task.await.unwrap_err().is_cancelled());
    });
    assert!(ended.is_err());
}

#[test]
fn without_it_a_panic_stays_in_its_task() {
    let mut builder = Builder::new_current_thread();
    builder.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    let runtime = builder.unhandled_panic(UnhandledPanic::Ignore).build().unwrap();
    runtime.spawn(async { panic!("on purpose") });
    assert_eq!(runtime.block_on(async { trefoil::spawn(async { 3 }).await.unwrap() }), 3);
    // An abort is no panic, nor is that of a blocking closure one of a task.
    let runtime = ends();
    let aborted = runtime.spawn(pending::<()>());
    aborted.abort();
    assert!(runtime.block_on(aborted).unwrap_err().is_cancelled());
    let closure = runtime.spawn_blocking(|| panic!("on purpose"));
    assert!(runtime.block_on(closure).unwrap_err().is_panic());
}

#[test]
fn a_panic_ends_no_other_runtime_of_its_builder() {
    let mut builder = Builder::new_current_thread();
    builder.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    let [ends, goes_on] = [(); 2].map(|()| builder.build().unwrap());
    ends.spawn(async { panic!("on purpose") });
    assert!(panics(|| ends.block_on(pending::<()>())));
    assert_eq!(goes_on.block_on(async { trefoil::spawn(async { 3 }).await.unwrap() }), 3);
}

#[test]
fn several_workers_do_not_end() {
    let mut builder = Builder::new_multi_thread();
    builder.unhandled_panic(UnhandledPanic::Ignore);
    assert!(panics(|| drop(builder.unhandled_panic(UnhandledPanic::ShutdownRuntime).build())));
}

#[test]
fn a_panic_ends_a_set() {
    let runtime = current_thread();
    let mut set = LocalSet::new();
    set.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    let rests = set.spawn_local(pending::<()>());
    set.block_on(&runtime, async { task::yield_now().await });
    let panicking = set.spawn_local(async { panic!("on purpose") });
    let behind = set.spawn_local(async {});
    assert!(panics(|| set.block_on(&runtime, pending::<()>())));
    assert!(runtime.block_on(panicking).unwrap_err().is_panic());
    assert!(runtime.block_on(behind).unwrap_err().is_cancelled());
    assert!(runtime.block_on(rests).unwrap_err().is_cancelled());
    assert!(panics(|| set.block_on(&runtime, async {})));
    assert!(runtime.block_on(set.spawn_local(async {})).unwrap_err().is_cancelled());
    assert!(panics(|| runtime.block_on(set)));
    // The runtime goes on.
    assert_eq!(runtime.block_on(runtime.spawn(async { 1 })).unwrap(), 1);
}

/// A task of the set polls the set in turn when another one panics.
#[test]
fn a_panic_ends_a_set_that_polls_itself() {
    struct Ends(Rc<Cell<bool>>);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let runtime = current_thread();
    let mut set = LocalSet::new();
    set.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    let set = Rc::new(set);
    let has_ended = Rc::new(Cell::new(false));
    let (its, ends) = (Rc::clone(&set), Ends(Rc::clone(&has_ended)));
    let (begin, begins) = oneshot::channel();
    let polls = set.spawn_local(async move {
        let _ends = ends;
        begins.await.unwrap();
        its.run_until(pending::<()>()).await;
    });
    // Once it has waited, a task is on its set's list.
    runtime.block_on(set.run_until(task::yield_now()));
    // From inside of the set, so that it is queued before the next.
    runtime.block_on(set.run_until(async { begin.send(()).unwrap() }));
    let panicking = set.spawn_local(async { panic!("on purpose") });
    let rests = set.spawn_local(pending::<()>());
    let message = panic_of(|| runtime.block_on(set.run_until(pending::<()>())));
    assert!(message.starts_with("a spawned task panicked"), "{message}");
    assert!(has_ended.get());
    assert!(runtime.block_on(panicking).unwrap_err().is_panic());
    let ended = runtime.block_on(polls).unwrap_err().into_panic();
    assert_eq!(ended.downcast_ref::<&str>(), Some(&message.as_str()));
    assert!(runtime.block_on(rests).unwrap_err().is_cancelled());
}

#[test]
fn a_panic_of_a_set_within_a_task_is_not_the_tasks() {
    let runtime = current_thread();
    let mut outer = LocalSet::new();
    outer.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    for yields in [false, true] {
        let task = outer.spawn_local(async move {
            let inner = LocalSet::new();
            let panicking = inner.spawn_local(async { panic!("on purpose") });
            let joined = inner.run_until(panicking).await;
            if yields {
                task::yield_now().await;
            }
            joined.unwrap_err().is_panic()
        });
        assert!(outer.block_on(&runtime, task).unwrap());
    }
}

#[test]
fn a_panic_ends_a_local_runtime() {
    let ends = || {
        let mut builder = Builder::new_current_thread();
        let builder = builder.unhandled_panic(UnhandledPanic::ShutdownRuntime);
        builder.build_local(Default::default()).unwrap()
    };
    let local = ends();
    assert!(panics(|| local.block_on(async { task::spawn_local(async { panic!("1") }).await })));
    assert!(panics(|| local.block_on(async { unreachable!() })));
    let local = ends();
    assert!(panics(|| local.block_on(async { trefoil::spawn(async { panic!("1") }).await })));
}

/// It has two kinds of tasks, and the panic of either ends both.
#[test]
fn a_panic_ends_all_tasks_of_a_local_runtime() {
    for is_local in [false, true] {
        let mut builder = Builder::new_current_thread();
        builder.unhandled_panic(UnhandledPanic::ShutdownRuntime);
        let local = builder.build_local(Default::default()).unwrap();
        let (sender, dropped) = mpsc::channel::<()>();
        let its = sender.clone();
        local.handle().spawn(async move {
            let _sender = sender;
            pending::<()>().await;
        });
        local.spawn_local(async move {
            let _sender = its;
            pending::<()>().await;
        });
        local.block_on(async { task::yield_now().await });
        let panics_in = async { panic!("on purpose") };
        if is_local {
            local.spawn_local(panics_in);
        } else {
            local.handle().spawn(panics_in);
        }
        assert!(panics(|| local.block_on(pending::<()>())));
        // Both are gone, and further ones are refused.
        assert_eq!(dropped.try_recv(), Err(mpsc::TryRecvError::Disconnected), "{is_local}");
        assert!(local.handle().spawn(async {}).is_finished(), "{is_local}");
        assert!(local.spawn_local(async {}).is_finished(), "{is_local}");
        assert!(panics(|| local.block_on(async { unreachable!() })));
        assert_eq!(local.metrics().num_alive_tasks(), 0);
    }
}

/// A task that is dropped in the end may come to the runtime again.
#[test]
fn a_destructor_may_enter_a_local_runtime_that_ends() {
    struct Enters(Rc<LocalRuntime>, Rc<Cell<u32>>);
    impl Drop for Enters {
        fn drop(&mut self) {
            assert!(panics(|| self.0.block_on(async { unreachable!() })));
            self.0.spawn_local(async { unreachable!() });
            self.1.set(self.1.get() + 1);
        }
    }
    for is_local in [false, true] {
        let mut builder = Builder::new_current_thread();
        builder.unhandled_panic(UnhandledPanic::ShutdownRuntime);
        let local = Rc::new(builder.build_local(Default::default()).unwrap());
        let dropped = Rc::new(Cell::new(0));
        for _ in 0..2 {
            let enters = Enters(Rc::clone(&local), Rc::clone(&dropped));
            local.spawn_local(async move {
                let _enters = enters;
                pending::<()>().await;
            });
        }
        local.block_on(async { task::yield_now().await });
        let panics_in = async { panic!("on purpose") };
        if is_local {
            local.spawn_local(panics_in);
        } else {
            local.handle().spawn(panics_in);
        }
        assert!(panics(|| local.block_on(pending::<()>())));
        assert_eq!(dropped.get(), 2);
    }
}

/// It holds for the tasks that were spawned since, whatever is said later.
#[test]
fn a_set_remembers_what_it_was_told() {
    let runtime = current_thread();
    let run = |set: &LocalSet| set.block_on(&runtime, async { task::yield_now().await });
    for later in [UnhandledPanic::ShutdownRuntime, UnhandledPanic::Ignore] {
        let mut set = LocalSet::new();
        set.unhandled_panic(UnhandledPanic::ShutdownRuntime);
        set.spawn_local(async { panic!("on purpose") });
        let behind = set.spawn_local(async {});
        set.unhandled_panic(later);
        assert!(panics(|| run(&set)), "{later:?}");
        assert!(runtime.block_on(behind).unwrap_err().is_cancelled());

        let mut set = LocalSet::new();
        set.unhandled_panic(UnhandledPanic::ShutdownRuntime);
        set.unhandled_panic(UnhandledPanic::Ignore);
        set.spawn_local(async { panic!("on purpose") });
        set.unhandled_panic(later);
        run(&set);
    }
}

#[trefoil::test(unhandled_panic = "shutdown_runtime")]
#[should_panic(expected = "configured to shut down on unhandled panic")]
async fn the_macro_ends_the_runtime() {
    let _ = trefoil::spawn(async { panic!("on purpose") }).await;
}

#[trefoil::test(unhandled_panic = "ignore")]
async fn the_macro_ignores_it() {
    assert!(trefoil::spawn(async { panic!("on purpose") }).await.unwrap_err().is_panic());
}
