//! Tasks that are aborted, and tasks that panic.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use trefoil::runtime::{Builder, Runtime};
use trefoil::sync::oneshot;
use trefoil::task;

fn runtimes() -> Vec<Runtime> {
    let mut all = vec![Builder::new_current_thread().enable_all().build().unwrap()];
    for workers in [1, 2, 8] {
        all.push(Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap());
    }
    all
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
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
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
            // The runtime goes on.
            assert_eq!(trefoil::spawn(async { 1 }).await.unwrap(), 1);
        });
    }
}

#[test]
fn messages_name_the_panic() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
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
            // In the future, when it is cancelled.
            let bomb = Bomb;
            let handle = trefoil::spawn(async move {
                let _bomb = bomb;
                pending::<()>().await;
            });
            task::yield_now().await;
            handle.abort();
            assert!(handle.await.unwrap_err().is_panic());
            // In the future, after its output.
            struct Done(Bomb);
            impl Future for Done {
                type Output = i32;
                fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<i32> {
                    Poll::Ready(3)
                }
            }
            assert_eq!(trefoil::spawn(Done(Bomb)).await.unwrap(), 3);
            // In an output that nobody takes.
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
