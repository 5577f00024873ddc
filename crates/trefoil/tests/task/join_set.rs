//! Sets of tasks, with all ways to spawn into them and to join.

use crate::support::{self, current_and_multi};
use std::collections::HashSet;
use std::future::{Future, pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::ptr;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::Duration;
use trefoil::runtime::{Builder, Runtime};
use trefoil::sync::oneshot;
use trefoil::task::{self, JoinSet, LocalSet};

fn runtimes() -> Vec<Runtime> {
    current_and_multi([1, 3])
}

#[test]
fn outputs_and_errors_come_with_their_ids() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let good = set.spawn(async { 1 });
            let bad = set.spawn(async { panic!("oh") });
            let aborted = set.spawn(pending());
            aborted.abort();
            let mut left = HashSet::from([good.id(), bad.id(), aborted.id()]);
            while let Some(result) = set.join_next_with_id().await {
                let id = match result {
                    Ok((id, output)) => {
                        assert_eq!((id, output), (good.id(), 1));
                        id
                    }
                    Err(error) => {
                        assert_eq!(error.is_panic(), error.id() == bad.id());
                        assert_eq!(error.is_cancelled(), error.id() == aborted.id());
                        error.id()
                    }
                };
                assert!(left.remove(&id));
            }
            assert!(left.is_empty() && set.is_empty());
        });
    }
}

#[test]
fn what_has_ended_can_be_had_without_waiting() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            assert!(set.try_join_next().is_none());
            let (sender, receiver) = oneshot::channel();
            let task = set.spawn(async move { receiver.await.unwrap() });
            assert!(set.try_join_next_with_id().is_none());
            sender.send(7).unwrap();
            let ended = loop {
                match set.try_join_next_with_id() {
                    Some(ended) => break ended.unwrap(),
                    None => task::yield_now().await,
                }
            };
            assert_eq!(ended, (task.id(), 7));
            assert!(set.try_join_next().is_none() && set.is_empty());
        });
    }
}

#[test]
fn polling_waits_for_the_next_one() {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut set = JoinSet::<u32>::new();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(set.poll_join_next(&mut cx), Poll::Ready(None)));
        set.extend([ready(3), ready(4)]);
        // No task has run yet.
        assert!(set.poll_join_next(&mut cx).is_pending());
        let mut sum = 0;
        for _ in 0..2 {
            sum += poll_fn(|cx| set.poll_join_next(cx)).await.unwrap().unwrap();
        }
        assert_eq!((sum, set.len()), (7, 0));
    });
}

#[test]
fn an_output_is_not_lost_with_the_future_that_waits() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let (sender, receiver) = oneshot::channel();
            set.spawn(async move { receiver.await.unwrap() });
            {
                let mut waiting = pin!(set.join_next());
                let mut cx = Context::from_waker(Waker::noop());
                assert!(waiting.as_mut().poll(&mut cx).is_pending());
                sender.send(5).unwrap();
                task::yield_now().await;
            }
            assert_eq!(set.join_next().await.unwrap().unwrap(), 5);
        });
    }
}

#[test]
fn detached_tasks_run_on_and_aborted_ones_do_not() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let (release, released) = oneshot::channel::<()>();
            let (sender, receiver) = oneshot::channel();
            set.spawn(async move {
                released.await.unwrap();
                sender.send("still there").unwrap();
            });
            set.detach_all();
            assert!(set.is_empty() && set.join_next().await.is_none());
            drop(set);
            release.send(()).unwrap();
            assert_eq!(receiver.await.unwrap(), "still there");

            let mut set: JoinSet<()> = (0..10).map(|_| pending()).collect();
            set.abort_all();
            assert_eq!(set.len(), 10);
            let mut cancelled = 0;
            while let Some(result) = set.join_next().await {
                cancelled += usize::from(result.unwrap_err().is_cancelled());
            }
            assert_eq!(cancelled, 10);

            set.spawn(pending());
            set.shutdown().await;
            assert!(set.is_empty());
            // The set can be used again.
            set.spawn(ready(()));
            set.join_next().await.unwrap().unwrap();
        });
    }
}

#[test]
fn joining_all_passes_the_first_panic_on() {
    for runtime in runtimes() {
        let mut set = JoinSet::new();
        let others = set.spawn_on(pending::<()>(), runtime.handle());
        set.spawn_on(async { panic!("the first") }, runtime.handle());
        let joined = AssertUnwindSafe(|| runtime.block_on(set.join_all()));
        let panic = std::panic::catch_unwind(joined).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the first"));
        runtime.block_on(async {
            while !others.is_finished() {
                task::yield_now().await;
            }
        });
    }
}

#[test]
fn tasks_of_every_kind_can_be_members() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let local = LocalSet::new();
    let mut set = JoinSet::new();
    set.spawn_on(async { 1 }, runtime.handle());
    set.spawn_blocking_on(|| 2, runtime.handle());
    let shared = Rc::new(4);
    set.spawn_local_on(async move { *shared }, &local);
    let outputs = local.block_on(&runtime, async {
        let shared = Rc::new(8);
        set.spawn_local(async move { *shared });
        set.spawn_blocking(|| 16);
        set.spawn(async { 32 });
        set.join_all().await
    });
    assert_eq!((outputs.len(), outputs.iter().sum::<u32>()), (6, 63));
}

/// What the clone of a joiner's waker does, which is foreign code.
static ON_CLONE: parking_lot::Mutex<Option<Box<dyn FnOnce() + Send>>> =
    parking_lot::Mutex::new(None);

/// A waker whose clone takes `ON_CLONE` and calls it.
fn waker_with_a_clone_that_acts() -> Waker {
    const VTABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| {}, |_| {}, |_| {});
    fn clone(_: *const ()) -> RawWaker {
        let act = ON_CLONE.lock().take();
        if let Some(act) = act {
            act();
        }
        RawWaker::new(ptr::null(), &VTABLE)
    }
    // SAFETY: the functions do not use the pointer, and may be called on any thread.
    unsafe { Waker::from_raw(RawWaker::new(ptr::null(), &VTABLE)) }
}

/// A member ends while the waker of the joining task is cloned. Neither waits for the other, and
/// the end is not missed.
#[test]
fn a_member_ends_while_the_joiner_leaves_its_waker() {
    for runtime in [1, 3].map(support::multi) {
        let mut set = JoinSet::new();
        let member = set.spawn_on(pending::<()>(), runtime.handle());
        let handle = runtime.handle().clone();
        let act = move || {
            member.abort();
            let workers = handle.metrics().num_workers();
            // By then, each worker has finished what it does when a member ends.
            for worker in 0..workers {
                let (sender, polled) = mpsc::channel();
                while !member.is_finished() {
                    std::thread::yield_now();
                }
                drop(handle.spawn_pinned(worker, async move { sender.send(()).unwrap() }));
                polled
                    .recv_timeout(Duration::from_secs(20))
                    .expect("a worker that notes the end of a member hangs");
            }
        };
        *ON_CLONE.lock() = Some(Box::new(act));
        let waker = waker_with_a_clone_that_acts();
        let joined = set.poll_join_next(&mut Context::from_waker(&waker));
        let Poll::Ready(Some(Err(error))) = joined else { panic!("missed: {joined:?}") };
        assert!(error.is_cancelled() && set.is_empty());
    }
}

/// A task ends while its joiner replaces one waker by another. The joiner sees the end, and the new
/// waker, for which nobody has a use then, does not stay in the task's memory.
#[test]
fn a_waker_is_not_kept_by_a_task_that_has_ended() {
    struct OnDrop(Option<Box<dyn FnOnce() + Send + Sync>>);
    impl Wake for OnDrop {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.take().into_iter().for_each(|act| act());
        }
    }
    let runtime = support::multi(2);
    let mut handle = runtime.spawn(pending::<()>());
    let abort = handle.abort_handle();
    let its = abort.clone();
    let act = move || {
        its.abort();
        while !its.is_finished() {
            std::thread::yield_now();
        }
    };
    let first = Waker::from(Arc::new(OnDrop(Some(Box::new(act)))));
    assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&first)).is_pending());
    drop(first);
    let second = Arc::new(OnDrop(None));
    let waker = Waker::from(Arc::clone(&second));
    assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_ready());
    drop((handle, waker));
    assert_eq!(Arc::strong_count(&second), 1);
    drop(abort);
}

/// A member has ended when it is inserted, and the waker of the task that joins panics for it. The
/// set does not count a member that it does not have.
#[test]
fn a_set_whose_joiner_s_waker_panics_comes_to_its_end() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("from a waker, on purpose");
        }
    }
    let runtime = support::multi(1);
    let other = support::multi(1);
    let ended = other.handle().clone();
    drop(other);
    let mut set = JoinSet::new();
    let first = set.spawn_on(async {}, runtime.handle());
    let second = set.spawn_on(pending(), runtime.handle());
    runtime.block_on(set.join_next()).unwrap().unwrap();
    drop(first);
    let waker = Waker::from(Arc::new(Panics));
    assert!(set.poll_join_next(&mut Context::from_waker(&waker)).is_pending());
    let inserted = catch_unwind(AssertUnwindSafe(|| set.spawn_on(async {}, &ended)));
    assert!(inserted.is_err());
    second.abort();
    let mut joined = 0;
    while joined < 3 && runtime.block_on(with_a_limit(set.join_next())).is_some() {
        joined += 1;
    }
    assert!(set.is_empty() && joined <= 2, "{joined}");
}

/// Panics instead of waiting without end.
async fn with_a_limit<F: Future>(future: F) -> F::Output {
    let limit = Duration::from_secs(20);
    trefoil::time::timeout(limit, future).await.expect("it waits for a member that is not there")
}

#[test]
fn join_sets_return_all_and_abort_on_drop() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut set: JoinSet<u64> = (0..50u64)
                .map(|n| async move {
                    trefoil::time::sleep(Duration::from_micros(n % 7 * 100)).await;
                    n
                })
                .collect();
            assert_eq!(set.len(), 50);
            let mut sum = 0;
            while let Some(result) = set.join_next().await {
                sum += result.unwrap();
            }
            assert_eq!((sum, set.len()), (1225, 0));
            let (sender, receiver) = oneshot::channel::<()>();
            let abort = set.spawn(async move {
                let _sender = sender;
                pending().await
            });
            assert!(set.try_join_next().is_none());
            drop(set);
            assert!(receiver.await.is_err());
            while !abort.is_finished() {
                task::yield_now().await;
            }
            let mut set = JoinSet::new();
            for n in 0..10 {
                set.spawn(async move { n });
            }
            set.spawn_blocking(|| 10);
            let mut all = set.join_all().await;
            all.sort_unstable();
            assert_eq!(all, (0..=10).collect::<Vec<_>>());
        });
    }
}
