//! A runtime's counters: how tasks were queued, and what their workers did.

mod support;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};
use support::{current_and_multi, current_thread, multi};
use trefoil::runtime::{Builder, RuntimeMetrics};
use trefoil::task::{self, coop};

fn local_schedules(metrics: &RuntimeMetrics) -> u64 {
    (0..metrics.num_workers()).map(|worker| metrics.worker_local_schedule_count(worker)).sum()
}

#[test]
fn schedules_are_counted_where_they_happen() {
    let runtime = current_thread();
    let metrics = runtime.metrics();
    runtime.block_on(async { trefoil::spawn(async {}).await.unwrap() });
    assert_eq!((local_schedules(&metrics), metrics.remote_schedule_count()), (1, 0));
    runtime.block_on(async { trefoil::spawn(task::yield_now()).await.unwrap() });
    assert_eq!((local_schedules(&metrics), metrics.remote_schedule_count()), (3, 0));
    let spawned = runtime.spawn(async {});
    assert_eq!((local_schedules(&metrics), metrics.remote_schedule_count()), (3, 1));
    runtime.block_on(spawned).unwrap();

    for workers in [1, 2] {
        let runtime = multi(workers);
        let metrics = runtime.metrics();
        runtime.block_on(runtime.spawn(async { trefoil::spawn(async {}).await })).unwrap().unwrap();
        drop(runtime);
        // The inner task is spawned. The outer one is woken when it ends, unless it had ended on
        // another worker before.
        let local = local_schedules(&metrics);
        assert!(local == 2 || workers == 2 && local == 1, "{local}");
        assert_eq!(metrics.remote_schedule_count(), 1);
    }
}

/// Where nothing else is scheduled, each poll of the task follows on one that counts.
#[test]
fn a_task_that_goes_on_after_its_own_poll_is_scheduled_once_more() {
    let runtime = multi(1);
    let metrics = runtime.metrics();
    let wakes_itself = || {
        let mut is_woken = false;
        poll_fn(move |cx| {
            if std::mem::replace(&mut is_woken, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
    };
    runtime.block_on(runtime.spawn(task::yield_now())).unwrap();
    assert_eq!((local_schedules(&metrics), metrics.remote_schedule_count()), (1, 1));
    runtime.block_on(runtime.spawn(wakes_itself())).unwrap();
    assert_eq!((local_schedules(&metrics), metrics.remote_schedule_count()), (2, 2));
    runtime.block_on(runtime.spawn_pinned(0, task::yield_now())).unwrap();
    assert_eq!((local_schedules(&metrics), metrics.remote_schedule_count()), (3, 3));
    runtime.block_on(runtime.spawn_pinned(0, wakes_itself())).unwrap();
    assert_eq!((local_schedules(&metrics), metrics.remote_schedule_count()), (4, 4));
}

/// While the thread blocks in place, another is the worker.
#[test]
fn what_a_thread_schedules_after_it_has_lost_its_worker_comes_from_outside() {
    let runtime = multi(1);
    let metrics = runtime.metrics();
    let (wake, woken) = trefoil::sync::oneshot::channel();
    let waits = runtime.spawn(woken);
    let spawns = runtime.spawn(async move {
        // Now the first task waits.
        task::yield_now().await;
        let (run, has_run) = mpsc::channel();
        let on_another = run.clone();
        let first = trefoil::spawn(async move { on_another.send(()).unwrap() });
        let second = task::block_in_place(|| {
            has_run.recv().unwrap();
            let before = metrics.remote_schedule_count();
            let second = trefoil::spawn(async move { run.send(()).unwrap() });
            assert_eq!(metrics.remote_schedule_count(), before + 1, "a task was spawned");
            has_run.recv().unwrap();
            wake.send(()).unwrap();
            assert_eq!(metrics.remote_schedule_count(), before + 2, "a task was woken");
            second
        });
        first.await.unwrap();
        second.await.unwrap();
    });
    runtime.block_on(async { (spawns.await.unwrap(), waits.await.unwrap().unwrap()) });
}

/// A wake-up in the middle of a poll is its worker's own matter, so this one waits for the poll's
/// end: for the worker to go to sleep.
#[test]
fn wakes_from_outside_are_counted() {
    for runtime in current_and_multi([1, 2]) {
        let metrics = runtime.metrics();
        let (send_polled, polled) = mpsc::channel();
        let (send_word, mut word) = trefoil::sync::oneshot::channel();
        let in_task = metrics.clone();
        let task = runtime.spawn(async move {
            poll_fn(|cx| {
                let poll = pin!(&mut word).poll(cx);
                let here = Some(thread::current().id());
                let mut workers = 0..in_task.num_workers();
                let worker = workers.find(|&worker| in_task.worker_thread_id(worker) == here);
                let worker = worker.expect("a worker polls");
                let _ = send_polled.send((worker, in_task.worker_park_count(worker)));
                poll
            })
            .await
            .unwrap()
        });
        let in_sender = metrics.clone();
        let sender = thread::spawn(move || {
            let (worker, parks) = polled.recv().unwrap();
            while in_sender.worker_park_count(worker) == parks {
                thread::yield_now();
            }
            send_word.send(7).unwrap();
        });
        assert_eq!(runtime.block_on(task).unwrap(), 7);
        sender.join().unwrap();
        // One for the spawn, and one for the wake-up.
        assert_eq!(metrics.remote_schedule_count(), 2);
    }
}

#[test]
fn tasks_from_other_threads_wait_in_the_global_queue() {
    let runtime = current_thread();
    let (handle, metrics) = (runtime.handle().clone(), runtime.metrics());
    assert_eq!(metrics.global_queue_depth(), 0);
    let spawn = move |n: usize| {
        let handle = handle.clone();
        let spawn = move || drop((0..n).map(|_| handle.spawn(async {})).collect::<Vec<_>>());
        thread::spawn(spawn).join().unwrap();
    };
    spawn(3);
    assert_eq!((metrics.global_queue_depth(), metrics.worker_local_queue_depth(0)), (3, 0));
    runtime.block_on(async {
        spawn(2);
        assert_eq!(metrics.global_queue_depth(), 5);
        task::yield_now().await;
        assert_eq!(metrics.global_queue_depth(), 0);
    });
    spawn(4);
    drop(runtime);
    assert_eq!(metrics.global_queue_depth(), 0);
    // These are refused.
    spawn(5);
    assert_eq!((metrics.global_queue_depth(), metrics.num_alive_tasks()), (0, 0));
}

/// Uses its budget up, and yields once for that.
async fn spend() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if has_yielded {
            return Poll::Ready(());
        }
        while pin!(coop::consume_budget()).poll(cx).is_ready() {}
        has_yielded = true;
        Poll::Pending
    })
    .await;
}

#[test]
fn a_poll_that_has_to_yield_counts_once() {
    for runtime in current_and_multi([1, 2]) {
        let metrics = runtime.metrics();
        runtime.block_on(spend());
        assert_eq!(metrics.budget_forced_yield_count(), 1);
        runtime.block_on(async { trefoil::join!(spend(), spend()) });
        assert_eq!(metrics.budget_forced_yield_count(), 2);
        runtime.block_on(runtime.spawn(spend())).unwrap();
        assert_eq!(metrics.budget_forced_yield_count(), 3);
        // Nothing is forced: the budget is just enough, or there is none.
        let enough = async {
            for _ in 0..128 {
                coop::consume_budget().await;
            }
            assert!(!coop::has_budget_remaining());
        };
        runtime.block_on(runtime.spawn(enough)).unwrap();
        let unlimited = async {
            for _ in 0..1000 {
                coop::consume_budget().await;
            }
        };
        runtime.block_on(coop::unconstrained(unlimited));
        assert_eq!(metrics.budget_forced_yield_count(), 3);
    }
}

#[test]
fn a_worker_has_a_thread() {
    let runtime = current_thread();
    let metrics = runtime.metrics();
    assert_eq!(metrics.worker_thread_id(0), None);
    for _ in 0..2 {
        runtime.block_on(async {});
        assert_eq!(metrics.worker_thread_id(0), Some(thread::current().id()));
        let other = thread::scope(|scope| {
            let other = scope.spawn(|| {
                runtime.block_on(async {});
                thread::current().id()
            });
            other.join().unwrap()
        });
        assert_eq!(metrics.worker_thread_id(0), Some(other));
    }
    let runtime = multi(3);
    let metrics = runtime.metrics();
    for worker in 0..3 {
        let own = async { thread::current().id() };
        let own = runtime.block_on(runtime.spawn_pinned(worker, own)).unwrap();
        assert_eq!(metrics.worker_thread_id(worker), Some(own));
    }
}

#[test]
fn a_worker_moves_to_another_thread() {
    let runtime = multi(1);
    let metrics = runtime.metrics();
    let task = runtime.spawn(async move {
        let before = metrics.worker_thread_id(0).unwrap();
        assert_eq!(before, thread::current().id());
        let (run, has_run) = mpsc::channel();
        trefoil::spawn(async move { run.send(thread::current().id()).unwrap() });
        let other = task::block_in_place(|| has_run.recv().unwrap());
        assert_ne!(other, before);
        assert_eq!(metrics.worker_thread_id(0), Some(other));
    });
    runtime.block_on(task).unwrap();
}

/// Waits for another thread, which waits for the first worker to go to sleep.
fn woken_from_sleep(metrics: &RuntimeMetrics) -> impl Future<Output = ()> + use<> {
    let metrics = metrics.clone();
    async move {
        let parks = metrics.worker_park_count(0);
        let (wake, woken) = trefoil::sync::oneshot::channel();
        let waker = thread::spawn(move || {
            while metrics.worker_park_count(0) == parks {
                thread::yield_now();
            }
            wake.send(()).unwrap();
        });
        woken.await.unwrap();
        waker.join().unwrap();
    }
}

/// A worker that polled nothing since it last slept sleeps again.
#[test]
fn a_wake_up_in_vain_is_counted() {
    let runtime = current_thread();
    let metrics = runtime.metrics();
    runtime.block_on(async {
        woken_from_sleep(&metrics).await;
        woken_from_sleep(&metrics).await;
    });
    // The future of `block_on` is no task.
    assert_eq!(metrics.worker_noop_count(0), metrics.worker_park_count(0));
    assert!(metrics.worker_noop_count(0) >= 2);

    let before = (metrics.worker_noop_count(0), metrics.worker_park_count(0));
    let task = woken_from_sleep(&metrics);
    runtime.block_on(async { trefoil::spawn(task).await.unwrap() });
    let after = (metrics.worker_noop_count(0), metrics.worker_park_count(0));
    assert!(after.1 - before.1 > after.0 - before.0, "the first sleep comes after a poll");
}

/// The same for a worker: what wakes it is a timer of a thread outside, for which it polls nothing.
#[test]
fn a_worker_that_wakes_in_vain_is_counted() {
    let runtime = multi(1);
    let metrics = runtime.metrics();
    let _entered = runtime.enter();
    runtime.block_on(runtime.spawn(async {})).unwrap();
    let polls = metrics.worker_poll_count(0);
    let before = metrics.worker_noop_count(0);
    let start = Instant::now();
    while metrics.worker_noop_count(0) < before + 2 {
        assert!(start.elapsed() < Duration::from_secs(60), "it sleeps again each time");
        futures::executor::block_on(trefoil::time::sleep(Duration::from_millis(1)));
    }
    assert_eq!(metrics.worker_poll_count(0), polls);
    assert!(metrics.worker_noop_count(0) <= metrics.worker_park_count(0));
}

/// The time in which a worker had nothing to do counts as well: it was awake. One that has never
/// had a thread was not.
#[test]
fn every_worker_was_busy_when_the_runtime_has_ended() {
    for runtime in current_and_multi([1, 4]) {
        let metrics = runtime.metrics();
        runtime.block_on(async {});
        drop(runtime);
        for worker in 0..metrics.num_workers() {
            let was_awake = metrics.worker_thread_id(worker).is_some();
            assert!(was_awake || worker > 0);
            assert_eq!(metrics.worker_total_busy_duration(worker) > Duration::ZERO, was_awake);
        }
    }
}

fn busy(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

#[test]
fn the_mean_of_poll_times_is_measured_on_request() {
    fn mean(builder: &mut Builder) -> Duration {
        let runtime = builder.worker_threads(1).build().unwrap();
        for _ in 0..20 {
            let poll = async { busy(Duration::from_millis(2)) };
            runtime.block_on(runtime.spawn(poll)).unwrap();
        }
        let metrics = runtime.metrics();
        drop(runtime);
        metrics.worker_mean_poll_time(0)
    }
    for builder in [Builder::new_current_thread, Builder::new_multi_thread] {
        assert_eq!(mean(&mut builder()), Duration::ZERO);
        let mean = mean(builder().enable_metrics_poll_time_histogram());
        assert!(mean >= Duration::from_millis(2), "{mean:?}");
    }
}
