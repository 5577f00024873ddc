//! Many tasks that a thread outside of the runtime wakes at once: they come to the queue together.

mod support;

use parking_lot::Mutex;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use support::multi;
use support::watch::{Event, HappensOnDrop, receive, wait_for};
use trefoil::runtime::{Builder, Runtime};
use trefoil::sync::Notify;
use trefoil::task::block_in_place;

/// Starts so many tasks that wait for `notify` once, and waits until they do.
fn waiters(runtime: &Runtime, notify: &Arc<Notify>, count: usize, woken: &Arc<AtomicUsize>) {
    let waiting = Arc::new(AtomicUsize::new(0));
    for _ in 0..count {
        let (notify, woken) = (Arc::clone(notify), Arc::clone(woken));
        let waiting = Arc::clone(&waiting);
        runtime.spawn(async move {
            let mut notified = std::pin::pin!(notify.notified());
            notified.as_mut().enable();
            waiting.fetch_add(1, SeqCst);
            notified.await;
            woken.fetch_add(1, SeqCst);
        });
    }
    wait_for("the waiters", || waiting.load(SeqCst) == count);
    // Each has given its waker once its poll is over, and so once its worker runs another task.
    for worker in 0..runtime.metrics().num_workers() {
        runtime.block_on(runtime.spawn_pinned(worker, async {})).unwrap();
    }
}

/// A waker that blocks until `count` tasks have run.
struct WaitsForTasks {
    woken: Arc<AtomicUsize>,
    count: usize,
    has_waited: AtomicBool,
}

impl Wake for WaitsForTasks {
    fn wake(self: Arc<Self>) {
        wait_for("its tasks", || self.woken.load(SeqCst) == self.count);
        self.has_waited.store(true, SeqCst);
    }
}

/// The adversary of a burst: foreign code between the wakes of tasks that waits for the first ones
/// to run. They are queued before it is called.
#[test]
fn a_foreign_waker_may_wait_for_tasks_that_were_woken_before_it() {
    let runtime = multi(2);
    let (notify, woken) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    waiters(&runtime, &notify, 3, &woken);
    let foreign = Arc::new(WaitsForTasks {
        woken: Arc::clone(&woken),
        count: 3,
        has_waited: AtomicBool::new(false),
    });
    let mut between = Box::pin(notify.notified());
    let waker = Waker::from(Arc::clone(&foreign));
    assert!(between.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    waiters(&runtime, &notify, 2, &woken);
    notify.notify_waiters();
    assert!(foreign.has_waited.load(SeqCst));
    wait_for("its task", || woken.load(SeqCst) == 5);
}

/// A waker that wakes tasks itself, and waits for them.
#[test]
fn a_foreign_waker_may_wake_tasks_and_wait_for_them() {
    struct Nested(Arc<Notify>, Arc<AtomicUsize>);
    impl Wake for Nested {
        fn wake(self: Arc<Self>) {
            let before = self.1.load(SeqCst);
            self.0.notify_one();
            wait_for("its tasks", || self.1.load(SeqCst) > before);
            self.0.notify_waiters();
            wait_for("all tasks", || self.1.load(SeqCst) == 4);
        }
    }
    let runtime = multi(2);
    let (inner, inner_woken) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    waiters(&runtime, &inner, 4, &inner_woken);
    let (outer, outer_woken) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    waiters(&runtime, &outer, 2, &outer_woken);
    let mut last = Box::pin(outer.notified());
    let waker = Waker::from(Arc::new(Nested(inner, Arc::clone(&inner_woken))));
    assert!(last.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    outer.notify_waiters();
    assert_eq!(inner_woken.load(SeqCst), 4);
    wait_for("all tasks", || outer_woken.load(SeqCst) == 2);
}

/// The tasks of two runtimes wait for one signal in turns.
#[test]
fn tasks_of_several_runtimes_are_woken() {
    let runtimes = [multi(2), multi(2)];
    let (notify, woken) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    for _ in 0..10 {
        for (runtime, count) in runtimes.iter().zip([1, 3]) {
            waiters(runtime, &notify, count, &woken);
        }
    }
    notify.notify_waiters();
    wait_for("all tasks", || woken.load(SeqCst) == 40);
}

/// The end of a burst may start a thread, if the worker blocks in place, and so ask the user for
/// its name. What that code wakes is queued as well: it comes too late for the burst that ends, and
/// is no part of the one of another runtime that follows.
#[test]
fn what_is_woken_for_the_name_of_a_thread_is_queued() {
    for others in 0..2 {
        let (named, was_named) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let third = multi(2);
        waiters(&third, &named, 1, &was_named);
        let is_blocked = Event::default();
        let names = {
            let (named, is_blocked) = (Arc::clone(&named), is_blocked.clone());
            move || {
                if is_blocked.has_happened() {
                    named.notify_one();
                }
                "worker".to_owned()
            }
        };
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().thread_name_fn(names).build().unwrap();
        let (notify, woken) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        waiters(&runtime, &notify, 2, &woken);
        let second = multi(2);
        waiters(&second, &notify, others, &woken);
        let end = HappensOnDrop(Event::default());
        let (blocks, ends) = (is_blocked.clone(), end.0.clone());
        runtime.spawn(async move {
            block_in_place(|| {
                blocks.happens();
                wait_for("the end", || ends.has_happened());
            });
        });
        wait_for("a worker that blocks", || is_blocked.has_happened());
        notify.notify_waiters();
        wait_for("the tasks of the burst", || woken.load(SeqCst) == 2 + others);
        wait_for("the task that the name has woken", || was_named.load(SeqCst) == 1);
    }
}

/// What is woken beyond a number is queued although the burst goes on: the last waker is foreign,
/// and looks at the queue before it lets the workers go on.
#[test]
fn all_of_a_large_burst_is_queued_once() {
    let runtime = multi(2);
    let (notify, woken) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    waiters(&runtime, &notify, 1000, &woken);
    // Both workers are busy until they are told otherwise.
    let (busy, is_busy) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    for _ in 0..2 {
        let (busy, stop) = (busy.clone(), Arc::clone(&stop));
        runtime.spawn(async move {
            busy.send(()).unwrap();
            wait_for("the end", || stop.load(SeqCst));
        });
        receive("a worker", &is_busy);
    }
    notify.notify_waiters();
    assert_eq!(runtime.metrics().global_queue_depth(), 1000);
    stop.store(true, SeqCst);
    wait_for("all tasks", || woken.load(SeqCst) == 1000);
}

/// A runtime may end at any moment between a wake and the end of its burst. No task is lost, and
/// none is dropped twice.
#[test]
fn a_runtime_may_end_in_the_midst_of_a_burst() {
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    for round in 0..100 {
        let runtime = multi(2);
        let (notify, dropped) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        for _ in 0..50 {
            let (notify, counts) = (Arc::clone(&notify), Counts(Arc::clone(&dropped)));
            runtime.spawn(async move {
                let _counts = counts;
                loop {
                    notify.notified().await;
                }
            });
        }
        let stop = Arc::new(AtomicBool::new(false));
        let waking = {
            let (notify, stop) = (Arc::clone(&notify), Arc::clone(&stop));
            thread::spawn(move || {
                while !stop.load(SeqCst) {
                    notify.notify_waiters();
                }
            })
        };
        thread::sleep(Duration::from_micros(20 * (round % 10)));
        drop(runtime);
        assert_eq!(dropped.load(SeqCst), 50);
        stop.store(true, SeqCst);
        waking.join().unwrap();
    }
}

/// Wakers that outlive their tasks, and those of tasks that are woken already, in one burst.
#[test]
fn wakers_of_all_kinds_are_used_up() {
    let runtime = multi(2);
    let notify = Arc::new(Notify::new());
    let wakers = Arc::new(Mutex::new(Vec::new()));
    let (go, polls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let task = {
        let (wakers, go, polls) = (Arc::clone(&wakers), Arc::clone(&go), Arc::clone(&polls));
        runtime.spawn(poll_fn(move |cx| {
            wakers.lock().extend((0..3).map(|_| cx.waker().clone()));
            polls.fetch_add(1, SeqCst);
            if go.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        }))
    };
    wait_for("a poll", || polls.load(SeqCst) == 1);
    let wait = |waker: &Waker| {
        let mut wait = Box::pin(Arc::clone(&notify).notified_owned());
        assert!(wait.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
        wait
    };
    let given = std::mem::take(&mut *wakers.lock());
    let waits: Vec<_> = given.iter().map(&wait).collect();
    notify.notify_waiters();
    wait_for("a poll", || polls.load(SeqCst) >= 2);
    go.store(true, SeqCst);
    given[0].wake_by_ref();
    runtime.block_on(task).unwrap();
    drop(waits);
    // The task is over: its wakers do nothing, and the last one frees it.
    let _waits: Vec<_> = given.iter().map(wait).collect();
    drop(given);
    wakers.lock().clear();
    notify.notify_waiters();
}
