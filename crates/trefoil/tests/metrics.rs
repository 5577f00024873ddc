//! A runtime's metrics.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use trefoil::runtime::{
    Builder, HistogramConfiguration, LogHistogramBuilder, Runtime, RuntimeMetrics,
};
use trefoil::{task, time};

fn measured(workers: Option<usize>) -> Runtime {
    let mut builder = match workers {
        None => Builder::new_current_thread(),
        Some(_) => Builder::new_multi_thread(),
    };
    builder
        .worker_threads(workers.unwrap_or(1))
        .enable_all()
        .enable_metrics_schedule_latency_histogram()
        .metrics_schedule_latency_histogram_configuration(HistogramConfiguration::default())
        .enable_metrics_poll_time_histogram()
        .metrics_poll_time_histogram_configuration(HistogramConfiguration::default())
        .build()
        .unwrap()
}

fn runtimes() -> Vec<Runtime> {
    [None, Some(1), Some(2), Some(4)].into_iter().map(measured).collect()
}

/// How many latencies were certainly as long as that, on all workers.
fn latencies_from(metrics: &RuntimeMetrics, least: Duration) -> u64 {
    let buckets = 0..metrics.schedule_latency_histogram_num_buckets();
    let long =
        buckets.filter(|&n| metrics.schedule_latency_histogram_bucket_range(n).start >= least);
    long.map(|bucket| {
        let of = |worker| metrics.schedule_latency_histogram_bucket_count(worker, bucket);
        (0..metrics.num_workers()).map(of).sum::<u64>()
    })
    .sum()
}

fn poll_times_from(metrics: &RuntimeMetrics, least: Duration) -> u64 {
    let buckets = 0..metrics.poll_time_histogram_num_buckets();
    let long = buckets.filter(|&n| metrics.poll_time_histogram_bucket_range(n).start >= least);
    long.map(|bucket| {
        let of = |worker| metrics.poll_time_histogram_bucket_count(worker, bucket);
        (0..metrics.num_workers()).map(of).sum::<u64>()
    })
    .sum()
}

fn polls(metrics: &RuntimeMetrics) -> u64 {
    (0..metrics.num_workers()).map(|worker| metrics.worker_poll_count(worker)).sum()
}

fn busy(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

/// Waits until the last poll has been counted: a task can be joined before its poll has ended.
fn settled(runtime: &Runtime) -> RuntimeMetrics {
    let metrics = runtime.metrics();
    while poll_times_from(&metrics, Duration::ZERO) < polls(&metrics) {
        std::thread::yield_now();
    }
    metrics
}

/// A future that wakes itself in its first polls.
struct Restless(u32);

impl Future for Restless {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[test]
fn every_poll_is_in_both_histograms() {
    for runtime in runtimes() {
        let workers = runtime.metrics().num_workers();
        runtime.block_on(async {
            let mut tasks = task::JoinSet::new();
            for n in 0..200 {
                tasks.spawn(async move {
                    for _ in 0..n % 7 {
                        task::yield_now().await;
                    }
                    Restless(n % 5).await;
                    time::sleep(Duration::from_micros(u64::from(n) * 10)).await;
                    let (tx, rx) = trefoil::sync::oneshot::channel();
                    let other = trefoil::spawn(async move { tx.send(()).unwrap() });
                    rx.await.unwrap();
                    other.await.unwrap();
                });
            }
            for worker in 0..workers {
                let pinned = trefoil::task::spawn_pinned(worker, async {
                    for _ in 0..50 {
                        task::yield_now().await;
                    }
                });
                tasks.spawn(async move { pinned.await.unwrap() });
            }
            tasks.join_all().await;
        });
        let metrics = settled(&runtime);
        let polls = polls(&metrics);
        assert!(polls > 1_500, "{polls}");
        assert_eq!(latencies_from(&metrics, Duration::ZERO), polls);
        assert_eq!(poll_times_from(&metrics, Duration::ZERO), polls);
    }
}

#[test]
fn polls_of_local_tasks_count() {
    let runtime = Builder::new_current_thread()
        .enable_metrics_schedule_latency_histogram()
        .build_local(Default::default())
        .unwrap();
    let outside = runtime.spawn_local(task::yield_now());
    runtime.block_on(async {
        let tasks: Vec<_> = (0..10).map(|_| task::spawn_local(task::yield_now())).collect();
        for task in tasks {
            task.await.unwrap();
        }
        outside.await.unwrap();
    });
    let metrics = runtime.metrics();
    assert_eq!(metrics.worker_poll_count(0), 22);
    assert_eq!(latencies_from(&metrics, Duration::ZERO), 22);
}

const LONG: Duration = Duration::from_millis(40);
/// The width of a bucket is at most a quarter of its start. So a time of `LONG` is in a bucket that
/// starts after this.
const SURELY: Duration = Duration::from_millis(30);

#[test]
fn a_task_behind_a_busy_one_is_seen_to_wait() {
    for runtime in [measured(None), measured(Some(1))] {
        runtime.block_on(async {
            // They are spawned within a task, so that both are queued before either runs.
            trefoil::spawn(async {
                let first = trefoil::spawn(async { busy(LONG) });
                let second = trefoil::spawn(async { busy(LONG) });
                first.await.unwrap();
                second.await.unwrap();
            })
            .await
            .unwrap();
        });
        let metrics = settled(&runtime);
        // One task waited for the other. The task that joins them waited for both.
        assert!(latencies_from(&metrics, SURELY) >= 1);
        assert!(poll_times_from(&metrics, SURELY) >= 2);
        assert!(poll_times_from(&metrics, SURELY) < polls(&metrics));
    }
}

/// So much longer that no pause of the machine can be confused with it.
const VERY_LONG: Duration = Duration::from_millis(400);
const SURELY_NOT: Duration = Duration::from_millis(300);

#[test]
fn a_task_that_rests_does_not_wait_to_be_run() {
    let runtime = measured(None);
    runtime.block_on(async {
        let (tx, rx) = trefoil::sync::oneshot::channel::<()>();
        let resting = trefoil::spawn(rx);
        task::yield_now().await;
        // The future of `block_on` is no task.
        busy(VERY_LONG);
        drop(tx);
        resting.await.unwrap().unwrap_err();
    });
    let metrics = settled(&runtime);
    assert_eq!(polls(&metrics), 2);
    assert_eq!(latencies_from(&metrics, SURELY_NOT), 0);
}

#[test]
fn a_task_does_not_wait_for_its_own_poll() {
    for runtime in [measured(None), measured(Some(1))] {
        runtime.block_on(async {
            trefoil::spawn(async {
                busy(VERY_LONG);
                task::yield_now().await;
                busy(VERY_LONG);
                Restless(1).await;
            })
            .await
            .unwrap();
        });
        let metrics = settled(&runtime);
        assert_eq!(polls(&metrics), 3);
        assert_eq!(poll_times_from(&metrics, SURELY_NOT), 2);
        assert_eq!(latencies_from(&metrics, SURELY_NOT), 0);
    }
}

#[test]
fn wakes_from_other_threads_are_stamped() {
    for runtime in [measured(None), measured(Some(1))] {
        let meet = Arc::new(Barrier::new(2));
        runtime.block_on(async {
            let (tx, rx) = trefoil::sync::oneshot::channel::<()>();
            let woken = trefoil::spawn(async move { rx.await.unwrap() });
            let its = Arc::clone(&meet);
            let thread = std::thread::spawn(move || {
                its.wait();
                tx.send(()).unwrap();
                its.wait();
            });
            let holder = trefoil::spawn(async move {
                // The other task comes to rest.
                task::yield_now().await;
                meet.wait();
                meet.wait();
                busy(LONG);
            });
            holder.await.unwrap();
            woken.await.unwrap();
            thread.join().unwrap();
        });
        let metrics = settled(&runtime);
        assert!(latencies_from(&metrics, SURELY) >= 1);
    }
}

#[test]
fn a_poll_that_blocks_in_place_counts_once() {
    let runtime = measured(Some(1));
    runtime.block_on(async {
        trefoil::spawn(async {
            task::block_in_place(|| std::thread::sleep(LONG));
        })
        .await
        .unwrap();
        trefoil::spawn(async {}).await.unwrap();
    });
    let metrics = settled(&runtime);
    assert_eq!(polls(&metrics), 2);
    assert_eq!(poll_times_from(&metrics, SURELY), 1);
}

#[test]
fn histograms_are_kept_only_if_asked_for() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let metrics = runtime.metrics();
    assert!(!metrics.schedule_latency_histogram_enabled());
    assert!(!metrics.poll_time_histogram_enabled());
    assert_eq!(metrics.schedule_latency_histogram_num_buckets(), 0);
    assert_eq!(metrics.poll_time_histogram_num_buckets(), 0);

    let configuration = HistogramConfiguration::linear(Duration::from_millis(5), 3);
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .metrics_schedule_latency_histogram_configuration(configuration)
        .enable_metrics_schedule_latency_histogram()
        .metrics_poll_time_histogram_configuration(HistogramConfiguration::log(
            LogHistogramBuilder::default(),
        ))
        .build()
        .unwrap();
    let metrics = runtime.metrics();
    assert!(metrics.schedule_latency_histogram_enabled());
    assert_eq!(metrics.schedule_latency_histogram_num_buckets(), 3);
    let second = Duration::from_millis(5)..Duration::from_millis(10);
    assert_eq!(metrics.schedule_latency_histogram_bucket_range(1), second);
    assert!(!metrics.poll_time_histogram_enabled());
}

#[test]
fn a_histogram_that_is_not_kept_is_empty() {
    let metrics = Builder::new_current_thread().build().unwrap().metrics();
    for bucket in [0, 1000] {
        assert_eq!(metrics.schedule_latency_histogram_bucket_count(0, bucket), 0);
        assert_eq!(metrics.poll_time_histogram_bucket_count(0, bucket), 0);
        assert!(metrics.schedule_latency_histogram_bucket_range(bucket).is_empty());
        assert!(metrics.poll_time_histogram_bucket_range(bucket).is_empty());
    }
}

#[test]
fn tasks_are_alive_until_they_end() {
    for runtime in runtimes() {
        let (handle, metrics) = (runtime.handle().clone(), runtime.metrics());
        let (outside, inside) = runtime.block_on(async {
            let resting: Vec<_> =
                (0..50).map(|_| runtime.spawn(std::future::pending::<()>())).collect();
            let more = trefoil::spawn(async {
                (0..50).map(|_| trefoil::spawn(std::future::pending::<()>())).collect::<Vec<_>>()
            });
            (resting, more.await.unwrap())
        });
        assert_eq!(metrics.spawned_tasks_count(), 101);
        assert_eq!(metrics.num_alive_tasks(), 100);
        for task in outside {
            task.abort();
            assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        }
        assert_eq!(metrics.num_alive_tasks(), 50);
        drop(runtime);
        assert_eq!(metrics.num_alive_tasks(), 0);
        drop(inside);

        // A task that is spawned after the shutdown ends at once.
        let late = handle.spawn(async {});
        assert!(late.is_finished());
        assert_eq!((metrics.num_alive_tasks(), metrics.spawned_tasks_count()), (0, 102));
    }
}

#[test]
fn a_worker_that_sleeps_is_not_busy() {
    /// Until the worker has slept: where the machine holds it up, a timer is over before that.
    async fn sleep(metrics: &RuntimeMetrics) {
        let parks = metrics.worker_park_count(0);
        while metrics.worker_park_count(0) == parks {
            time::sleep(Duration::from_millis(200)).await;
        }
    }
    for runtime in [measured(None), measured(Some(1))] {
        let start = Instant::now();
        let metrics = runtime.metrics();
        runtime.block_on(async {
            trefoil::spawn(async move {
                for _ in 0..3 {
                    sleep(&metrics).await;
                    busy(Duration::from_millis(10));
                }
                sleep(&metrics).await;
            })
            .await
            .unwrap();
        });
        let all = start.elapsed();
        let metrics = runtime.metrics();
        let busy = metrics.worker_total_busy_duration(0);
        assert!(busy >= Duration::from_millis(30), "{busy:?}");
        assert!(busy + Duration::from_millis(100) <= all, "{busy:?} of {all:?}");
        assert!(metrics.worker_park_count(0) >= 4);
        let parks = metrics.worker_park_count(0);
        assert!((2 * parks - 1..=2 * parks + 1).contains(&metrics.worker_park_unpark_count(0)));
    }
}

/// A worker that sleeps starts the thread that looks after workers, and sleeps on. Whether it falls
/// asleep so early depends on the system, so that many runtimes are asked.
#[test]
fn a_young_runtime_wakes_no_worker() {
    let wakes_alone = || {
        let runtime = measured(Some(2));
        let metrics = runtime.metrics();
        let counts = || [0, 1].map(|worker| metrics.worker_park_unpark_count(worker));
        while counts().iter().any(|count| count % 2 == 0) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(5));
        counts().iter().any(|&count| count > 1)
    };
    assert_eq!((0..200).filter(|_| wakes_alone()).count(), 0);
}

fn sum_of(metrics: &RuntimeMetrics, count: impl Fn(usize) -> u64) -> u64 {
    (0..metrics.num_workers()).map(count).sum()
}

#[test]
fn queues_are_as_deep_as_what_waits_in_them() {
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let metrics = runtime.metrics();
    let meet = Arc::new(Barrier::new(2));
    let its = Arc::clone(&meet);
    let holder = runtime.spawn(async move {
        its.wait();
        its.wait();
        // The last one of these goes to the LIFO slot, which does not count as a queue.
        let tasks: Vec<_> = (0..4).map(|_| trefoil::spawn(async {})).collect();
        let metrics = trefoil::runtime::Handle::current().metrics();
        assert_eq!(metrics.worker_local_queue_depth(0), 3);
        assert_eq!(metrics.worker_overflow_count(0), 0);
        // More than the queue holds.
        let more: Vec<_> = (0..70_000).map(|_| trefoil::spawn(async {})).collect();
        assert!(metrics.worker_overflow_count(0) > 0);
        for task in tasks.into_iter().chain(more) {
            task.await.unwrap();
        }
    });
    meet.wait();
    let waiting: Vec<_> = (0..5).map(|_| runtime.spawn(async {})).collect();
    assert_eq!(metrics.global_queue_depth(), 5);
    meet.wait();
    runtime.block_on(async {
        holder.await.unwrap();
        for task in waiting {
            task.await.unwrap();
        }
    });
    assert_eq!((metrics.global_queue_depth(), metrics.worker_local_queue_depth(0)), (0, 0));
}

/// A worker's own queue grows to 65,536 tasks, and what it holds runs in order. Further tasks go to
/// the shared queue.
#[test]
fn a_queue_grows_and_stays_in_order() {
    const HELD: usize = 65_536;
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let order = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let its = Arc::clone(&order);
    let spawns = async move {
        let metrics = trefoil::runtime::Handle::current().metrics();
        let spawn = |n| {
            let order = Arc::clone(&its);
            trefoil::spawn(async move { order.lock().push(n) })
        };
        // The last one is in the LIFO slot.
        let mut tasks: Vec<_> = (0..=HELD).map(spawn).collect();
        assert_eq!(metrics.worker_overflow_count(0), 0);
        assert_eq!((metrics.worker_local_queue_depth(0), metrics.global_queue_depth()), (HELD, 0));
        tasks.extend((HELD + 1..HELD + 5).map(spawn));
        assert_eq!(metrics.worker_overflow_count(0), 4);
        assert_eq!((metrics.worker_local_queue_depth(0), metrics.global_queue_depth()), (HELD, 4));
        for task in tasks {
            task.await.unwrap();
        }
    };
    runtime.block_on(runtime.spawn(spawns)).unwrap();
    let order = order.lock();
    assert_eq!(order.len(), HELD + 5);
    assert!(order.iter().filter(|&&n| n < HELD).is_sorted(), "what was in the queue");
}

#[test]
fn what_is_taken_from_a_worker_is_counted() {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let metrics = runtime.metrics();
    runtime
        .block_on(runtime.spawn(async {
            let (sender, receiver) = std::sync::mpsc::channel();
            let stolen = trefoil::spawn(async move { sender.send(()).unwrap() });
            // Displaces the first one from the LIFO slot, so that others can steal it.
            let kept = trefoil::spawn(async {});
            receiver.recv().unwrap();
            stolen.await.unwrap();
            kept.await.unwrap();
        }))
        .unwrap();
    let steals = sum_of(&metrics, |worker| metrics.worker_steal_operations(worker));
    let stolen = sum_of(&metrics, |worker| metrics.worker_steal_count(worker));
    assert!(steals >= 1 && stolen >= steals, "{stolen} in {steals}");
}

/// A thief takes many at once: each of them counts, and the thief only once.
#[test]
fn tasks_that_are_taken_together_are_counted_one_by_one() {
    const TASKS: usize = 64;
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let metrics = runtime.metrics();
    // A thief that the system gives no time finds that the monitor has passed them on.
    for _ in 0..50 {
        let (inside, is_inside) = std::sync::mpsc::channel();
        let (go, may_go) = std::sync::mpsc::channel();
        // Until all are there, nobody takes them as they come.
        let thief = runtime.handle().spawn_pinned(1, async move {
            inside.send(()).unwrap();
            may_go.recv().unwrap();
        });
        is_inside.recv().unwrap();
        let owner = runtime.handle().spawn_pinned(0, async move {
            let (sender, receiver) = std::sync::mpsc::channel();
            // The last one is in the LIFO slot, and runs when it may.
            for _ in 0..=TASKS {
                let sender = sender.clone();
                drop(trefoil::spawn(async move { sender.send(()).unwrap_or(()) }));
            }
            go.send(()).unwrap();
            (0..TASKS).for_each(|_| receiver.recv().unwrap());
        });
        runtime.block_on(async { (thief.await.unwrap(), owner.await.unwrap()) });
        let steals = sum_of(&metrics, |worker| metrics.worker_steal_operations(worker));
        let stolen = sum_of(&metrics, |worker| metrics.worker_steal_count(worker));
        assert!(stolen >= steals, "{stolen} in {steals}");
        if stolen > steals {
            return;
        }
    }
    panic!("no two tasks were counted that were taken at once");
}

#[test]
#[should_panic]
fn a_worker_that_does_not_exist_has_no_numbers() {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.metrics().worker_poll_count(2);
}

/// How often all threads of that name have gone to sleep, ever.
#[cfg(target_os = "linux")]
fn sleeps(name: &str) -> (usize, u64) {
    let (mut threads, mut sum) = (0, 0);
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let Ok(status) = std::fs::read_to_string(thread.unwrap().path().join("status")) else {
            continue;
        };
        let field = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_once(':').unwrap().1.trim().to_owned()
        };
        if field("Name") == name {
            threads += 1;
            sum += field("voluntary_ctxt_switches").parse::<u64>().unwrap();
        }
    }
    (threads, sum)
}

/// A thread that was woken in vain has gone to sleep once more.
#[cfg(target_os = "linux")]
#[test]
fn nobody_wakes_in_an_idle_runtime() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(4)
        .thread_name("idle-workers")
        .enable_all()
        .build()
        .unwrap();
    // All of them have threads.
    for worker in 0..4 {
        runtime.block_on(runtime.spawn_pinned(worker, async {})).unwrap();
    }
    runtime.block_on(async {
        drop(trefoil::spawn(std::future::pending::<()>()));
        drop(trefoil::spawn(async { time::sleep(Duration::from_secs(3600)).await }));
        // After forks, there is a monitor.
        trefoil::spawn(async { trefoil::fork_join::join(|| (), || ()) }).await.unwrap();
        task::spawn_blocking(|| ()).await.unwrap();
    });
    let mut before = sleeps("idle-workers");
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(500));
        let now = sleeps("idle-workers");
        assert!(now.0 >= 4, "the workers are not found by their name");
        if now == before {
            return;
        }
        before = now;
    }
    panic!("an idle runtime goes on waking its threads: {before:?}");
}

#[test]
fn tasks_of_a_local_runtime_count() {
    let runtime = Builder::new_current_thread().build_local(Default::default()).unwrap();
    let metrics = runtime.metrics();
    let waits = runtime.spawn_local(std::future::pending::<()>());
    drop(runtime.spawn_local(async {}));
    assert_eq!((metrics.num_alive_tasks(), metrics.spawned_tasks_count()), (2, 2));
    runtime.block_on(task::yield_now());
    assert_eq!((metrics.num_alive_tasks(), metrics.spawned_tasks_count()), (1, 2));
    assert_eq!(metrics.global_queue_depth(), 0);
    waits.abort();
    runtime.block_on(task::yield_now());
    assert_eq!(metrics.num_alive_tasks(), 0);
    drop(runtime.spawn_local(std::future::pending::<()>()));
    drop(runtime);
    assert_eq!((metrics.num_alive_tasks(), metrics.spawned_tasks_count()), (0, 3));
}

#[test]
fn the_queue_of_a_current_thread_runtime_is_seen_by_its_thread() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let metrics = runtime.metrics();
    runtime.block_on(async {
        for _ in 0..3 {
            drop(trefoil::spawn(async {}));
        }
        assert_eq!(metrics.worker_local_queue_depth(0), 3);
        let elsewhere = std::thread::scope(|scope| {
            scope.spawn(|| metrics.worker_local_queue_depth(0)).join().unwrap()
        });
        assert_eq!(elsewhere, 0);
    });
    assert_eq!(metrics.worker_local_queue_depth(0), 0);
}
