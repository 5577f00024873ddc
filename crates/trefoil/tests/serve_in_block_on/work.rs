//! What runs on a thread that stands in, and when.

use crate::rig::{OnDrop, builder, each, id, id_cell, in_vain, ms, on, serving, stand_in};
use crate::support::Hasty;
use crate::support::fib;
use crate::support::multi;
use crate::support::watch::Event;
use crate::support::watch::WATCHDOG;
use crate::support::watch::receive;
use crate::support::watch::workers_sleep;
use std::cell::Cell;
use std::future::pending;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;
use std::time::Instant;
use trefoil::fork_join::join;
use trefoil::runtime::Handle;
use trefoil::spawn;
use trefoil::sync::Notify;
use trefoil::sync::oneshot;
use trefoil::task::block_in_place;
use trefoil::task::spawn_blocking;
use trefoil::task::spawn_pinned;
use trefoil::task::unconstrained;
use trefoil::task::yield_now;
use trefoil::time::sleep;

#[test]
fn tasks_run_on_the_thread_in_block_on_which_need_not_be_send() {
    each(async |_| {
        let (asks, answers) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (asked, answer) = (asks.clone(), answers.clone());
        drop(spawn(async move {
            loop {
                asked.notified().await;
                answer.notify_one();
            }
        }));
        let count = Rc::new(Cell::new(0));
        for _ in 0..1000 {
            asks.notify_one();
            answers.notified().await;
            count.set(count.get() + 1);
        }
        assert_eq!(count.get(), 1000);
    });
}

#[test]
fn without_the_option_no_task_runs_there() {
    let runtime = multi(1);
    workers_sleep(&runtime.metrics());
    runtime.block_on(async {
        for _ in 0..100 {
            assert_ne!(spawn(async { id() }).await.unwrap(), id());
        }
    });
}

/// Messages between the root and a task of its worker wake no thread: the other threads do not run.
#[test]
fn messages_wake_no_worker() {
    let woken = Arc::new(AtomicUsize::new(0));
    let wakes = woken.clone();
    let root = id_cell();
    let its = root.clone();
    let hook = move || {
        if *its.lock() != Some(id()) {
            wakes.fetch_add(1, SeqCst);
        }
    };
    let runtime = Hasty(Some(builder(1).on_thread_unpark(hook).build().unwrap()));
    on(runtime, async move |_| {
        *root.lock() = Some(id());
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < WATCHDOG, "each message wakes a thread");
            stand_in().await;
            let before = woken.load(SeqCst);
            for n in 0..100 {
                assert_eq!(spawn(async move { n }).await.unwrap(), n);
            }
            // The place is lost if this thread is not given any time for two periods.
            if woken.load(SeqCst) == before {
                break;
            }
        }
    });
}

#[test]
fn what_a_root_wakes_runs_although_the_root_does_not_come_out_of_its_poll() {
    each(async |handle| {
        // A task in the slot, and others in the ring.
        for tasks in [1, 2, 10] {
            stand_in().await;
            let (tell, told) = mpsc::channel();
            for _ in 0..tasks {
                let tell = tell.clone();
                drop(spawn(async move { tell.send(()).unwrap() }));
            }
            (0..tasks).for_each(|_| receive("a task that the root has spawned", &told));
        }
        // What only one worker may run, from here and from elsewhere.
        for worker in 0..handle.metrics().num_workers() {
            stand_in().await;
            let (tell, told) = mpsc::channel();
            let (tells, its) = (tell.clone(), handle.clone());
            drop(spawn_pinned(worker, async move { tell.send(()).unwrap() }));
            receive("a pinned task that the root has spawned", &told);
            stand_in().await;
            thread::spawn(move || {
                drop(its.spawn_pinned(worker, async move { tells.send(()).unwrap() }));
            });
            receive("a pinned task from another thread", &told);
        }
        // A task that rested, and is woken from elsewhere; a timer; and a deferred waker.
        stand_in().await;
        let (tell, told) = mpsc::channel();
        let tells = tell.clone();
        let timer = spawn(async move {
            sleep(ms(5)).await;
            tells.send(()).unwrap();
        });
        yield_now().await;
        receive("a task that sleeps", &told);
        timer.await.unwrap();
        stand_in().await;
        drop(spawn(async move {
            let mut yields = pin!(yield_now());
            let mut combined = futures::stream::FuturesUnordered::from_iter([async {
                yields.as_mut().await;
            }]);
            futures::StreamExt::next(&mut combined).await;
            tell.send(()).unwrap();
        }));
        receive("a task that yields inside of a combinator", &told);
    });
}

/// For each task, the root has the worker's state for a moment. It does not have it whenever the
/// monitor looks.
#[test]
fn a_root_that_spawns_without_end_in_one_poll_is_left_behind() {
    each(async |handle| {
        for pinned in [false, true] {
            stand_in().await;
            let (happens, start) = (Event::default(), Instant::now());
            while !happens.has_happened() {
                assert!(start.elapsed() < WATCHDOG, "the worker does not get its state");
                let its = happens.clone();
                let task = async move { its.happens() };
                drop(if pinned { spawn_pinned(0, task) } else { spawn(task) });
                if handle.metrics().spawned_tasks_count() % 64 == 0 {
                    thread::yield_now();
                }
            }
        }
    });
}

#[test]
fn a_root_that_blocks_in_place_gives_its_place_away_at_once() {
    each(async |handle| {
        for _ in 0..20 {
            stand_in().await;
            let (send, sent) = mpsc::channel();
            drop(spawn(async move { send.send(id()).unwrap() }));
            let other = block_in_place(|| receive("a task", &sent));
            assert_ne!(other, id());
            // What is spawned inside, too; and a nested wait, which has its own wake-ups.
            let other = block_in_place(|| {
                let (send, sent) = mpsc::channel();
                drop(spawn(async move { send.send(id()).unwrap() }));
                handle.block_on(async {
                    sleep(ms(1)).await;
                    spawn(async {}).await.unwrap();
                });
                receive("a task", &sent)
            });
            assert_ne!(other, id());
            // Nobody needs the place.
            block_in_place(|| ());
            spawn(async {}).await.unwrap();
        }
    });
}

#[test]
fn a_task_that_blocks_in_place_leaves_the_worker_to_its_own_thread() {
    each(async |_| {
        for _ in 0..20 {
            stand_in().await;
            let here = id();
            let is_here = spawn(async move {
                let (send, sent) = mpsc::channel();
                drop(spawn(async move { send.send(()).unwrap() }));
                block_in_place(|| receive("another task", &sent));
                id() == here
            });
            // It may have been stolen before it began.
            let _ = is_here.await.unwrap();
        }
    });
}

/// The worker's own thread sleeps, and goes on. No other is needed.
#[test]
fn a_task_that_blocks_in_place_needs_no_thread_of_the_pool() {
    let runtime = Hasty(Some(builder(1).max_blocking_threads(1).build().unwrap()));
    on(runtime, async |_| {
        let (end, is_over) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let blocking = spawn_blocking(move || {
            begin.send(()).unwrap();
            let _ = is_over.recv();
        });
        receive("a closure that blocks", &begun);
        for _ in 0..20 {
            stand_in().await;
            spawn(async {
                let (send, sent) = mpsc::channel();
                drop(spawn(async move { send.send(()).unwrap() }));
                block_in_place(|| receive("another task", &sent));
            })
            .await
            .unwrap();
        }
        drop(end);
        blocking.await.unwrap();
    });
}

#[test]
fn roots_and_tasks_fork() {
    each(async |_| {
        for _ in 0..10 {
            stand_in().await;
            assert_eq!(fib(12), 144);
            assert_eq!(spawn(async { fib(12) }).await.unwrap(), 144);
            // Asynchronous code between forks, in one poll.
            let (task, _) = join(|| spawn(async { fib(8) }), || fib(8));
            assert_eq!(task.await.unwrap(), 21);
        }
        // A fork that takes long, and what waits for its worker meanwhile.
        let happens = Event::default();
        let its = happens.clone();
        stand_in().await;
        drop(spawn(async move { its.happens() }));
        let start = Instant::now();
        while !happens.has_happened() {
            assert!(start.elapsed() < WATCHDOG, "a task waits for the root's fork");
            join(thread::yield_now, || ());
        }
        // The same in a task.
        stand_in().await;
        spawn(async {
            let happens = Event::default();
            let its = happens.clone();
            drop(spawn(async move { its.happens() }));
            let start = Instant::now();
            // With one worker, a fork does not hand anything off.
            while Handle::current().metrics().num_workers() > 1 && !happens.has_happened() {
                assert!(start.elapsed() < WATCHDOG, "a task waits for a fork");
                join(thread::yield_now, || ());
            }
        })
        .await
        .unwrap();
        stand_in().await;
        spawn(async {}).await.unwrap();
    });
}

#[test]
fn pinned_tasks_run_on_all_workers() {
    each(async |handle| {
        let workers = handle.metrics().num_workers();
        for round in 0..200 {
            let tasks = Vec::from_iter((0..workers).map(|n| spawn_pinned(n, async move { n })));
            for (n, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.await.unwrap(), n, "round {round}");
            }
        }
    });
}

/// A root that yields, or is always ready, lets tasks run; with one worker, there is nobody else.
#[test]
fn a_root_lets_tasks_run() {
    each(async |_| {
        stand_in().await;
        let happens = Event::default();
        let its = happens.clone();
        drop(spawn(async move { its.happens() }));
        while !happens.has_happened() {
            yield_now().await;
        }
        // It wakes itself.
        let happens = Event::default();
        let its = happens.clone();
        drop(spawn(async move { its.happens() }));
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            if happens.has_happened() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        // Its operations are always ready.
        let happens = Event::default();
        let its = happens.clone();
        drop(spawn(async move { its.happens() }));
        while !happens.has_happened() {
            trefoil::task::consume_budget().await;
        }
        // A combinator in which something yields.
        let (a, b) = trefoil::join!(yield_now(), unconstrained(yield_now()));
        let ((), ()) = (a, b);
    });
}

#[test]
fn timers_of_the_root() {
    each(async |_| {
        let start = Instant::now();
        sleep(ms(3)).await;
        assert!(start.elapsed() >= ms(3));
        // Beside timers of tasks, and while another thread moves it.
        let tasks = Vec::from_iter((0..20).map(|n| spawn(sleep(ms(n % 4)))));
        for n in 0..10 {
            sleep(Duration::from_micros(300 * n)).await;
        }
        for task in tasks {
            task.await.unwrap();
        }
        let mut timer = in_vain(|| Box::pin(sleep(ms(2)))).await;
        // It moves to a task, and back.
        let (send, sent) = oneshot::channel();
        drop(spawn(async move {
            poll_fn(|cx| {
                let _ = timer.as_mut().poll(cx);
                Poll::Ready(())
            })
            .await;
            drop(send.send(timer));
        }));
        sent.await.unwrap().await;
        // A timer of the root that others wait for, while the root blocks.
        use futures::FutureExt;
        stand_in().await;
        let shared = in_vain(|| sleep(ms(2)).shared()).await;
        let (send, sent) = mpsc::channel();
        let its = shared.clone();
        drop(spawn(async move {
            its.await;
            send.send(()).unwrap();
        }));
        receive("a task that waits for the root's timer", &sent);
        shared.await;
    });
}

/// One that was registered before the thread stood in.
#[test]
fn a_timer_goes_with_the_root_to_its_place() {
    let runtime = serving(1);
    let (tell, told) = mpsc::channel();
    let (end, is_over) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    // The worker is busy, so there is no place.
    drop(runtime.spawn(async move {
        begin.send(()).unwrap();
        let _ = is_over.recv();
    }));
    receive("a task", &begun);
    let handle = runtime.handle().clone();
    let body = thread::spawn(move || {
        handle.block_on(async {
            let timer = in_vain(|| Box::pin(sleep(ms(20)))).await;
            drop(end);
            stand_in().await;
            timer.await;
            tell.send(()).unwrap();
        });
    });
    receive("a timer", &told);
    body.join().unwrap();
    workers_sleep(&runtime.metrics());
}

/// A task is aborted on the thread that stands in, and dropped there, or where it rests.
#[test]
fn aborted_tasks_are_dropped() {
    each(async |_| {
        for _ in 0..50 {
            let dropped = Arc::new(AtomicBool::new(false));
            let its = dropped.clone();
            // It may be aborted before its first poll, and is dropped then as well.
            let kept = OnDrop(move || {
                drop(spawn(async {}));
                its.store(true, SeqCst);
            });
            let task = spawn(async move {
                let _kept = kept;
                pending::<()>().await;
            });
            yield_now().await;
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
            assert!(dropped.load(SeqCst));
        }
    });
}

/// Whatever the root's poll spawns or wakes while others may have its place.
#[test]
fn what_the_root_spawns_and_wakes_is_counted_once() {
    each(async |handle| {
        let metrics = handle.metrics();
        let before = (metrics.spawned_tasks_count(), metrics.num_alive_tasks());
        let (asks, answers) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (asked, answer) = (asks.clone(), answers.clone());
        let echo = spawn(async move {
            for _ in 0..100 {
                asked.notified().await;
                answer.notify_one();
            }
        });
        for _ in 0..100 {
            asks.notify_one();
            answers.notified().await;
        }
        echo.await.unwrap();
        for _ in 0..100 {
            spawn(async {}).await.unwrap();
        }
        assert_eq!(metrics.spawned_tasks_count() - before.0, 101);
        assert_eq!(metrics.num_alive_tasks(), before.1);
    });
}
