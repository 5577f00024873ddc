//! Tasks that are aborted, and tasks that panic.

use crate::support::{current_and_multi, current_thread, that_waits};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use trefoil::runtime::{Builder, Runtime};
use trefoil::sync::oneshot;
use trefoil::task;

fn runtimes() -> Vec<Runtime> {
    current_and_multi([1, 2, 8])
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn abort_drops_a_task_at_rest() {
    for runtime in runtimes() {
        let dropped = Arc::new(AtomicBool::new(false));
        let on_drop = SetOnDrop(dropped.clone());
        runtime.block_on(async {
            let (started, has_started) = oneshot::channel();
            let handle = trefoil::spawn(async move {
                let _on_drop = on_drop;
                started.send(()).unwrap();
                pending::<()>().await;
            });
            has_started.await.unwrap();
            handle.abort();
            handle.abort();
            let error = handle.await.unwrap_err();
            assert!(error.is_cancelled() && !error.is_panic());
            assert!(dropped.load(SeqCst));
        });
    }
}

#[test]
fn abort_before_the_first_poll_never_polls() {
    let runtime = current_thread();
    runtime.block_on(async {
        let handle = trefoil::spawn(async { panic!("it must not run") });
        handle.abort();
        assert!(handle.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn an_output_comes_before_an_abort() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let handle = trefoil::spawn(async { 5 });
            while !handle.is_finished() {
                task::yield_now().await;
            }
            handle.abort();
            assert_eq!(handle.await.unwrap(), 5);
        });
    }
}

#[test]
fn a_task_may_abort_itself() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let (sender, receiver) = oneshot::channel::<task::AbortHandle>();
            let handle = trefoil::spawn(async move {
                receiver.await.unwrap().abort();
                task::yield_now().await;
                unreachable!("it was aborted");
            });
            sender.send(handle.abort_handle()).unwrap();
            assert!(handle.await.unwrap_err().is_cancelled());
        });
    }
}

#[test]
fn panics_reach_the_joiner_with_their_payload() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let handle = trefoil::spawn(async { std::panic::resume_unwind(Box::new(7u32)) });
            let error: task::JoinError = handle.await.unwrap_err();
            assert!(error.is_panic());
            assert_eq!(*error.into_panic().downcast::<u32>().unwrap(), 7);
            // The runtime still works.
            assert_eq!(trefoil::spawn(async { 1 }).await.unwrap(), 1);
        });
    }
}

#[test]
fn messages_name_the_panic() {
    let runtime = current_thread();
    runtime.block_on(async {
        let handle = trefoil::spawn(async { std::panic::resume_unwind(Box::new("boom")) });
        let id = handle.id();
        let error: task::JoinError = handle.await.unwrap_err();
        assert_eq!(error.to_string(), format!("task {id} panicked with message \"boom\""));
        assert_eq!(error.id(), id);
    });
}

#[test]
fn a_panicking_destructor_is_contained() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                std::panic::resume_unwind(Box::new("dropped"));
            }
        }
    }
    for runtime in runtimes() {
        runtime.block_on(async {
            // The future panics when it is cancelled.
            let bomb = Bomb;
            let handle = trefoil::spawn(async move {
                let _bomb = bomb;
                pending::<()>().await;
            });
            task::yield_now().await;
            handle.abort();
            assert!(handle.await.unwrap_err().is_panic());
            // The future panics after it has returned its output.
            struct Done(Bomb);
            impl Future for Done {
                type Output = i32;
                fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<i32> {
                    Poll::Ready(3)
                }
            }
            assert_eq!(trefoil::spawn(Done(Bomb)).await.unwrap(), 3);
            // An output that nobody takes panics.
            let (sender, receiver) = oneshot::channel::<()>();
            drop(trefoil::spawn(async move {
                let _ = receiver.await;
                Bomb
            }));
            sender.send(()).unwrap();
            for _ in 0..20 {
                task::yield_now().await;
            }
        });
        drop(runtime);
    }
}

#[test]
fn a_panicking_waker_does_not_take_the_worker_along() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new("waker"));
        }
    }
    for runtime in runtimes() {
        let (sender, receiver) = oneshot::channel::<()>();
        let mut handle = runtime.spawn(receiver);
        let waker = Waker::from(Arc::new(Bad));
        let mut cx = Context::from_waker(&waker);
        assert!(Pin::new(&mut handle).poll(&mut cx).is_pending());
        sender.send(()).unwrap();
        runtime.block_on(async {
            for _ in 0..50 {
                trefoil::spawn(task::yield_now()).await.unwrap();
            }
        });
        while !handle.is_finished() {
            runtime.block_on(task::yield_now());
        }
    }
}

#[test]
fn panicking_hooks_are_survived() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .on_thread_start(|| std::panic::resume_unwind(Box::new("start")))
        .on_thread_park(|| std::panic::resume_unwind(Box::new("park")))
        .on_thread_stop(|| std::panic::resume_unwind(Box::new("stop")))
        .enable_all()
        .build()
        .unwrap();
    let handle = runtime.spawn(async { task::spawn_blocking(|| 4).await.unwrap() });
    assert_eq!(runtime.block_on(handle).unwrap(), 4);
}

#[test]
fn block_on_passes_panics_on_and_stays_usable() {
    for runtime in runtimes() {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            runtime.block_on(async {
                task::yield_now().await;
                std::panic::resume_unwind(Box::new("main"))
            })
        }));
        assert!(result.is_err());
        assert_eq!(runtime.block_on(async { trefoil::spawn(async { 2 }).await.unwrap() }), 2);
    }
}

/// A panic's payload whose own destructor panics, a given number of times.
struct Chain(u32, Arc<AtomicUsize>);

impl Drop for Chain {
    fn drop(&mut self) {
        self.1.fetch_add(1, SeqCst);
        if let Some(left) = self.0.checked_sub(1) {
            std::panic::resume_unwind(Box::new(Chain(left, self.1.clone())));
        }
    }
}

#[test]
fn a_future_whose_destructor_panics_in_a_chain_is_dropped_once() {
    struct Once(Arc<AtomicUsize>, Arc<AtomicUsize>);
    impl Future for Once {
        type Output = u32;
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
            Poll::Ready(7)
        }
    }
    impl Drop for Once {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            std::panic::resume_unwind(Box::new(Chain(2, self.1.clone())));
        }
    }
    for runtime in runtimes() {
        let (dropped, payloads) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let handle = runtime.spawn(Once(dropped.clone(), payloads.clone()));
        assert_eq!(runtime.block_on(handle).unwrap(), 7);
        assert_eq!(dropped.load(SeqCst), 1);
        // One is the payload. The other is what its destructor threw, which is leaked.
        assert_eq!(payloads.load(SeqCst), 1);
        // The same for a task that nobody joins, and for an output.
        drop(runtime.spawn(Once(dropped.clone(), payloads.clone())));
        let output = (Once(dropped.clone(), payloads.clone()),);
        drop(runtime.spawn(async move { output }));
        while dropped.load(SeqCst) < 3 {
            runtime.block_on(task::yield_now());
        }
        drop(runtime);
        assert_eq!(dropped.load(SeqCst), 3);
        assert_eq!(payloads.load(SeqCst), 3);
    }
}

#[test]
fn wakers_and_hooks_may_panic_with_a_chain() {
    struct Bad(Arc<AtomicUsize>);
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new(Chain(2, self.0.clone())));
        }
    }
    for workers in [1, 2] {
        let payloads = Arc::new(AtomicUsize::new(0));
        let its = payloads.clone();
        let hook = move || std::panic::resume_unwind(Box::new(Chain(1, its.clone())));
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .on_thread_start(hook.clone())
            .on_thread_park(hook.clone())
            .on_thread_stop(hook)
            .enable_all()
            .build()
            .unwrap();
        let bad = Waker::from(Arc::new(Bad(payloads.clone())));
        let task = runtime.spawn(async move {
            let soon = std::time::Duration::from_millis(1);
            let _sleep = that_waits(&bad, || Box::pin(trefoil::time::sleep(soon)));
            trefoil::time::sleep(std::time::Duration::from_millis(2)).await;
            task::spawn_blocking(|| 4).await.unwrap()
        });
        assert_eq!(runtime.block_on(task).unwrap(), 4);
        drop(runtime);
        assert!(payloads.load(SeqCst) > 2 * workers);
    }
}

/// A future that panics in its first poll, and whose destructor may panic as well.
struct Panics {
    told: std::sync::mpsc::Sender<bool>,
    twice: bool,
}

impl Future for Panics {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        panic!("in the poll, on purpose")
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        self.told.send(std::thread::panicking()).unwrap();
        assert!(!self.twice, "in the drop, on purpose");
    }
}

#[test]
fn a_future_that_panics_is_dropped_in_its_panic() {
    for runtime in runtimes() {
        for twice in [false, true] {
            let (told, is_panicking) = std::sync::mpsc::channel();
            let error = runtime.block_on(runtime.spawn(Panics { told, twice })).unwrap_err();
            let payload = error.into_panic();
            assert_eq!(payload.downcast_ref(), Some(&"in the poll, on purpose"));
            assert_eq!(is_panicking.iter().collect::<Vec<_>>(), [true]);
        }
    }
}

/// An aborted future is dropped without a panic.
#[test]
fn a_future_that_is_aborted_is_not_dropped_in_a_panic() {
    for runtime in runtimes() {
        let (told, is_panicking) = std::sync::mpsc::channel();
        let guard = Panics { told, twice: false };
        let task = runtime.spawn(async move {
            let _guard = guard;
            pending::<()>().await;
        });
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        assert!(!is_panicking.recv().unwrap());
    }
}
