//! The runtime does what its builder was told.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use trefoil::runtime::{Builder, Handle, RuntimeFlavor};
use trefoil::{task, time};

fn count(counter: &Arc<AtomicUsize>) -> impl Fn() + Send + Sync + 'static {
    let counter = Arc::clone(counter);
    move || {
        counter.fetch_add(1, SeqCst);
    }
}

#[test]
fn hooks_frame_every_sleep_and_every_thread() {
    for workers in [None, Some(1), Some(3)] {
        let counters: [Arc<AtomicUsize>; 4] = Default::default();
        let [starts, stops, parks, unparks] = &counters;
        let mut builder = match workers {
            None => Builder::new_current_thread(),
            Some(_) => Builder::new_multi_thread(),
        };
        let runtime = builder
            .worker_threads(workers.unwrap_or(1))
            .on_thread_start(count(starts))
            .on_thread_stop(count(stops))
            .on_thread_park(count(parks))
            .on_thread_unpark(count(unparks))
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            trefoil::spawn(async { time::sleep(Duration::from_millis(5)).await }).await.unwrap();
            task::spawn_blocking(|| ()).await.unwrap();
        });
        drop(runtime);
        let counts = counters.map(|counter| counter.load(SeqCst));
        let [starts, stops, parks, unparks] = counts;
        // The thread of the blocking pool calls the hook, too, or becomes a worker. The thread in
        // `block_on` does not, because the runtime has not started it. Nor has it started threads
        // of workers that were not needed.
        let expected = workers.map_or(1..=1, |workers| 2..=workers + 1);
        assert!(starts == stops && expected.contains(&starts), "{counts:?}");
        assert!(parks >= 1 && parks == unparks, "{counts:?}");
    }
}

/// What the hook leaves keeps the worker from its sleep, and the other hook comes all the same.
#[test]
fn hooks_frame_a_sleep_that_the_first_one_prevents() {
    for workers in [1, 2] {
        let counters: [Arc<AtomicUsize>; 2] = Default::default();
        let [parks, unparks] = counters.clone();
        let (spawned, ran) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let its = Arc::clone(&ran);
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .on_thread_park(move || {
                parks.fetch_add(1, SeqCst);
                if spawned.fetch_add(1, SeqCst) < 10 {
                    let ran = Arc::clone(&its);
                    drop(trefoil::spawn(async move { ran.fetch_add(1, SeqCst) }));
                }
            })
            .on_thread_unpark(count(&unparks))
            .build()
            .unwrap();
        let start = Instant::now();
        while ran.load(SeqCst) < 10 {
            assert!(start.elapsed() < Duration::from_secs(60), "a task was left");
            std::thread::yield_now();
        }
        drop(runtime);
        let [parks, unparks] = counters.map(|counter| counter.load(SeqCst));
        assert!(parks > 10 && parks == unparks, "{parks} and {unparks}");
    }
}

#[test]
fn each_thread_may_have_its_own_name() {
    let next = AtomicUsize::new(0);
    let runtime = Builder::new_multi_thread()
        .worker_threads(3)
        .thread_name_fn(move || format!("miller-{}", next.fetch_add(1, SeqCst)))
        .build()
        .unwrap();
    let names: HashSet<_> = (0..3)
        .map(|worker| {
            let name = async { std::thread::current().name().map(String::from) };
            runtime.block_on(runtime.spawn_pinned(worker, name)).unwrap().unwrap()
        })
        .collect();
    assert_eq!(names, ["miller-0", "miller-1", "miller-2"].map(String::from).into());
}

#[test]
fn intervals_of_one_still_serve_everyone() {
    let mut builders = [Builder::new_current_thread(), Builder::new_multi_thread()];
    for builder in &mut builders {
        builder.worker_threads(2).event_interval(1).global_queue_interval(1).search_rounds(0);
        let runtime = builder.enable_all().build().unwrap();
        let tasks: Vec<_> = (0..500u64)
            .map(|n| {
                runtime.spawn(async move {
                    time::sleep(Duration::from_micros(n)).await;
                    task::yield_now().await;
                    n
                })
            })
            .collect();
        let sum = runtime.block_on(async {
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 124_750);
    }
}

#[test]
fn a_runtime_says_what_it_is() {
    let current = Builder::new_current_thread().name("one").build().unwrap();
    let multi = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    assert_eq!(current.handle().runtime_flavor(), RuntimeFlavor::CurrentThread);
    assert_eq!(multi.handle().runtime_flavor(), RuntimeFlavor::MultiThread);
    assert_eq!((current.handle().name(), multi.handle().name()), (Some("one"), None));
    assert_ne!(current.handle().id(), multi.handle().id());
    assert!(multi.handle().dump().to_string().contains("worker 1: "));
    assert!(current.handle().dump().to_string().starts_with("current thread: "));
    assert!(Handle::try_current().unwrap_err().is_missing_context());
    let _inside = current.enter();
    assert_eq!(Handle::current().id(), current.handle().id());
}

#[test]
fn the_blocking_pool_is_counted() {
    let runtime =
        Builder::new_multi_thread().worker_threads(1).max_blocking_threads(1).build().unwrap();
    let metrics = runtime.metrics();
    assert_eq!((metrics.num_blocking_threads(), metrics.blocking_queue_depth()), (0, 0));
    let meet = Arc::new(Barrier::new(2));
    let its = Arc::clone(&meet);
    let first = runtime.spawn_blocking(move || {
        its.wait();
        its.wait();
    });
    meet.wait();
    let second = runtime.spawn_blocking(|| ());
    assert_eq!((metrics.num_blocking_threads(), metrics.num_idle_blocking_threads()), (1, 0));
    assert_eq!(metrics.blocking_queue_depth(), 1);
    meet.wait();
    runtime.block_on(async { trefoil::try_join!(first, second).unwrap() });
    while metrics.num_idle_blocking_threads() == 0 {
        std::thread::yield_now();
    }
    assert_eq!((metrics.num_blocking_threads(), metrics.blocking_queue_depth()), (1, 0));
}

#[test]
fn a_blank_name_is_refused() {
    for name in ["", " ", "\t\n"] {
        let name = move || Builder::new_multi_thread().name(name).build().is_ok();
        assert!(std::panic::catch_unwind(name).is_err());
    }
    let runtime = Builder::new_current_thread().name(" mill ").build().unwrap();
    assert_eq!(runtime.handle().name(), Some(" mill "));
}

/// In which order the tasks run that one task spawns.
fn order(builder: &mut Builder) -> Vec<usize> {
    let runtime = builder.worker_threads(1).build().unwrap();
    let spawned = runtime.spawn(async {
        let (sender, order) = std::sync::mpsc::channel();
        for n in 0..4 {
            let sender = sender.clone();
            trefoil::spawn(async move { sender.send(n).unwrap() });
        }
        drop(sender);
        task::yield_now().await;
        order.into_iter().collect()
    });
    runtime.block_on(spawned).unwrap()
}

#[test]
fn without_the_lifo_slot_the_last_task_is_not_first() {
    assert_eq!(order(&mut Builder::new_multi_thread()), [3, 0, 1, 2]);
    assert_eq!(order(Builder::new_multi_thread().disable_lifo_slot()), [0, 1, 2, 3]);
}

/// The same after the worker's state has been away.
#[test]
fn a_fork_and_a_blocking_call_bring_no_lifo_slot_back() {
    let runtime =
        Builder::new_multi_thread().worker_threads(1).disable_lifo_slot().build().unwrap();
    let spawned = runtime.spawn(async {
        let mut orders = Vec::new();
        for _ in 0..3 {
            task::block_in_place(|| ());
            trefoil::fork_join::join(|| (), || ());
            let (sender, order) = std::sync::mpsc::channel();
            for n in 0..3 {
                let sender = sender.clone();
                trefoil::spawn(async move { sender.send(n).unwrap() });
            }
            drop(sender);
            task::yield_now().await;
            orders.push(order.into_iter().collect::<Vec<_>>());
        }
        orders
    });
    for order in runtime.block_on(spawned).unwrap() {
        assert_eq!(order, [0, 1, 2]);
    }
}

#[test]
fn more_workers_than_can_be_counted_are_an_error() {
    let error = Builder::new_multi_thread().worker_threads(usize::MAX).build().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains(&usize::MAX.to_string()), "{error}");
}
