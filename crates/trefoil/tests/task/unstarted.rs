//! With three workers or more, all but the first have no thread until they are needed.

use crate::support::Hasty;
use crate::support::watch::{WATCHDOG, drop_returns, is_parked, receive, wait_for};
use parking_lot::Mutex;
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashSet;
use std::future::pending;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use trefoil::runtime::{Builder, Handle, Runtime, RuntimeMetrics};
use trefoil::task;

/// A runtime with so many workers, and how often it was asked for the name of a new thread of the
/// pool. (The monitor has a name of its own.)
fn build(workers: usize) -> (Hasty, Arc<AtomicUsize>) {
    build_with(Builder::new_multi_thread().worker_threads(workers))
}

fn build_with(builder: &mut Builder) -> (Hasty, Arc<AtomicUsize>) {
    let threads = Arc::new(AtomicUsize::new(0));
    let its = Arc::clone(&threads);
    let name = move || {
        its.fetch_add(1, SeqCst);
        "unstarted".to_owned()
    };
    let runtime = builder.thread_name_fn(name).enable_all().build().unwrap();
    (Hasty(Some(runtime)), threads)
}

fn started(metrics: &RuntimeMetrics) -> usize {
    let workers = 0..metrics.num_workers();
    workers.filter(|&worker| metrics.worker_thread_id(worker).is_some()).count()
}

#[test]
fn a_runtime_that_is_not_used_has_one_thread_or_two() {
    for (workers, expected) in [(1, 1), (2, 2), (3, 1), (8, 1)] {
        let (runtime, threads) = build(workers);
        drop_returns("the drop of an unused runtime", runtime);
        assert_eq!(threads.load(SeqCst), expected);
    }
}

/// Whether the first worker looks for it, sleeps, or has not begun.
#[test]
fn one_task_needs_one_thread() {
    for round in 0..200 {
        let (runtime, threads) = build(3 + round % 6);
        if round % 2 == 1 {
            std::thread::yield_now();
        }
        let metrics = runtime.metrics();
        assert_eq!(runtime.block_on(runtime.spawn(async { 7 })).unwrap(), 7);
        assert_eq!((threads.load(SeqCst), started(&metrics)), (1, 1));
        drop_returns("the drop of a short runtime", runtime);
        assert_eq!((threads.load(SeqCst), started(&metrics)), (1, 1));
    }
}

#[test]
fn tasks_that_need_each_other_get_a_thread_each() {
    for workers in [2, 3, 8] {
        let (runtime, threads) = build(workers);
        let meet = Arc::new(Barrier::new(workers));
        let tasks = Vec::from_iter((0..workers).map(|_| {
            let meet = Arc::clone(&meet);
            runtime.spawn(async move {
                meet.wait();
            })
        }));
        wait_for("tasks that meet", || tasks.iter().all(|task| task.is_finished()));
        assert_eq!((threads.load(SeqCst), started(&runtime.metrics())), (workers, workers));
    }
}

/// The slack of a thread's timers is that of the thread which started it.
#[cfg(target_os = "linux")]
#[test]
fn the_monitor_starts_the_threads_of_workers_while_it_sleeps() {
    const SLACK: libc::c_int = 12_345;
    // SAFETY: this sets a number of the calling thread, which is the test's own.
    let set =
        |slack: libc::c_int| assert_eq!(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) }, 0);
    let is_by_monitor = || {
        let (tell, told) = mpsc::channel();
        let slack = move || {
            // SAFETY: this reads a number of the calling thread.
            tell.send(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }).unwrap();
        };
        // The usual one.
        set(0);
        let (runtime, _) =
            build_with(Builder::new_multi_thread().worker_threads(3).on_thread_start(slack));
        assert_ne!(receive("the first worker", &told), SLACK);
        set(SLACK);
        runtime.block_on(runtime.spawn_pinned(2, async {})).unwrap();
        receive("another worker", &told) != SLACK
    };
    // It is awake for a moment every now and then.
    assert!((0..100).any(|_| is_by_monitor()));
}

/// The monitor calls a foreign waker, which does not return.
#[test]
fn a_worker_gets_its_thread_while_the_monitor_is_held() {
    struct Held(mpsc::Sender<()>, Mutex<mpsc::Receiver<()>>);
    impl Wake for Held {
        fn wake(self: Arc<Self>) {
            // The first worker may have fired the timer.
            let _ = self.0.send(());
            let _ = self.1.lock().recv();
        }
    }
    let (runtime, _) = build(3);
    let (busy, is_busy) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    drop(runtime.spawn_pinned(0, async move {
        busy.send(()).unwrap();
        let _ = may_go.recv();
    }));
    receive("the first worker is in a long poll", &is_busy);
    let (held, is_held) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let waker = Waker::from(Arc::new(Held(held, Mutex::new(released))));
    let guard = runtime.enter();
    let mut sleep = Box::pin(trefoil::time::sleep(Duration::from_millis(1)));
    assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    receive("the monitor fires the timer", &is_held);
    let (served, is_served) = mpsc::channel();
    drop(runtime.spawn_pinned(2, async move { served.send(()).unwrap() }));
    receive("another worker", &is_served);
    drop((guard, go, release));
}

#[test]
fn a_pinned_task_starts_its_worker() {
    for first in 0..4 {
        let (runtime, _) = build(4);
        let indices = (0..4).map(|n| {
            let worker = (first + n) % 4;
            let task = runtime.spawn_pinned(worker, async { trefoil::runtime::worker_index() });
            assert_eq!(runtime.block_on(task).unwrap(), Some(worker));
            assert!(runtime.metrics().worker_thread_id(worker).is_some());
            worker
        });
        assert_eq!(indices.collect::<HashSet<_>>().len(), 4);
    }
}

#[test]
fn a_worker_without_a_thread_counts_as_parked() {
    let (runtime, _) = build(3);
    let metrics = runtime.metrics();
    assert_eq!((metrics.worker_park_count(2), metrics.worker_park_unpark_count(2)), (1, 1));
    let (tell, told) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    drop(runtime.spawn_pinned(2, async move {
        tell.send(()).unwrap();
        let _ = may_go.recv();
    }));
    receive("a pinned task", &told);
    assert_eq!((metrics.worker_park_count(2), metrics.worker_park_unpark_count(2)), (1, 2));
    drop(go);
}

#[test]
fn hooks_come_in_pairs_for_the_threads_that_there_are() {
    for (workers, pinned) in [(8, None), (8, Some(5))] {
        let counters: [Arc<AtomicUsize>; 4] = Default::default();
        let count = |n: usize| {
            let counter = Arc::clone(&counters[n]);
            move || {
                counter.fetch_add(1, SeqCst);
            }
        };
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(workers).on_thread_start(count(0)).on_thread_stop(count(1));
        builder.on_thread_park(count(2)).on_thread_unpark(count(3));
        let (runtime, threads) = build_with(&mut builder);
        let task = match pinned {
            None => runtime.spawn(async {}),
            Some(worker) => runtime.spawn_pinned(worker, async {}),
        };
        runtime.block_on(task).unwrap();
        drop_returns("the drop of a runtime", runtime);
        let [starts, stops, parks, unparks] = counters.map(|counter| counter.load(SeqCst));
        let threads = threads.load(SeqCst);
        assert_eq!((starts, stops, parks), (threads, threads, unparks));
        assert!(threads < workers, "{threads}");
    }
}

/// Closures do not take the room that is kept for workers.
#[test]
fn closures_keep_their_limit_beside_workers_without_threads() {
    let (runtime, _) =
        build_with(Builder::new_multi_thread().worker_threads(8).max_blocking_threads(1));
    let metrics = runtime.metrics();
    assert_eq!(metrics.num_blocking_threads(), 0);
    let (begin, begun) = mpsc::channel();
    let (end, is_over) = mpsc::channel::<()>();
    drop(runtime.spawn_blocking(move || {
        begin.send(()).unwrap();
        let _ = is_over.recv();
    }));
    receive("a closure", &begun);
    let second = runtime.spawn_blocking(|| ());
    assert_eq!((metrics.num_blocking_threads(), metrics.blocking_queue_depth()), (1, 1));
    // Nor do closures keep workers from their threads.
    let meet = Arc::new(Barrier::new(8));
    let tasks = Vec::from_iter((0..8).map(|worker| {
        let meet = Arc::clone(&meet);
        runtime.spawn_pinned(worker, async move {
            meet.wait();
        })
    }));
    wait_for("all workers", || tasks.iter().all(|task| task.is_finished()));
    assert_eq!((metrics.num_blocking_threads(), metrics.blocking_queue_depth()), (1, 1));
    drop(end);
    runtime.block_on(second).unwrap();
}

#[test]
fn an_idle_thread_becomes_a_worker() {
    let (runtime, threads) = build(4);
    let metrics = runtime.metrics();
    runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
    wait_for("the thread is idle", || metrics.num_idle_blocking_threads() == 1);
    runtime.block_on(runtime.spawn_pinned(3, async {})).unwrap();
    assert_eq!(threads.load(SeqCst), 2);
    assert_eq!((metrics.num_blocking_threads(), metrics.num_idle_blocking_threads()), (0, 0));
    // There is room for another closure's thread.
    runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
    assert_eq!((threads.load(SeqCst), metrics.num_blocking_threads()), (3, 1));
}

/// All that is sent to workers without threads is dropped, whoever comes first.
#[test]
fn tasks_for_workers_without_threads_race_with_the_end() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    for round in 0..300 {
        let (mut runtime, _) = build(4);
        let count = Arc::new(AtomicUsize::new(0));
        let (handle, its) = (runtime.handle().clone(), Arc::clone(&count));
        let start = Arc::new(Barrier::new(2));
        let its_start = Arc::clone(&start);
        let sending = std::thread::spawn(move || {
            its_start.wait();
            let task = |handle: &Handle, worker| {
                let dropped = Dropped(Arc::clone(&its));
                let future = async move {
                    let _dropped = dropped;
                    pending::<()>().await;
                };
                match worker {
                    Some(worker) => handle.spawn_pinned(worker, future),
                    None => handle.spawn(future),
                }
            };
            [Some(3), None, Some(1), None, Some(2)].map(|worker| task(&handle, worker))
        });
        start.wait();
        for _ in 0..round % 10 * 100 {
            std::hint::spin_loop();
        }
        match round % 3 {
            0 => drop_returns("the drop", runtime),
            1 => runtime.0.take().unwrap().shutdown_timeout(Duration::from_secs(20)),
            _ => runtime.0.take().unwrap().shutdown_background(),
        }
        let tasks = sending.join().unwrap();
        wait_for("all tasks are dropped", || count.load(SeqCst) == 5);
        wait_for("all tasks are over", || tasks.iter().all(|task| task.is_finished()));
    }
}

/// The first worker's thread blocks in place, and its state is on offer as well.
#[test]
fn a_worker_blocks_beside_workers_without_threads() {
    let (runtime, threads) = build(3);
    let (tell, told) = mpsc::channel();
    drop(runtime.spawn(async move {
        // Its place, or the other worker's.
        let inner = trefoil::spawn(async move { tell.send(()).unwrap() });
        task::block_in_place(|| futures::executor::block_on(inner)).unwrap();
    }));
    receive("a task for which another one blocks", &told);
    drop_returns("the drop", runtime);
    assert!(threads.load(SeqCst) <= 3);
}

/// Who wakes a worker for the first time has little stack left.
#[cfg(unix)]
#[test]
fn a_fiber_with_the_smallest_stack_starts_workers() {
    use trefoil::fiber;
    let (runtime, _) = build(3);
    let smallest = || fiber::Builder::new().stack_size(16 * 1024);
    let starter = smallest().spawn_on(runtime.handle(), || {
        let tasks = [1, 2].map(|worker| task::spawn_pinned(worker, async {}));
        tasks.map(|task| fiber::wait(task).is_ok())
    });
    assert_eq!(runtime.block_on(starter.unwrap()).unwrap(), [true; 2]);
}

/// Tasks that rest on the only worker with a thread wake each other when they are dropped. Where
/// the machine has held that worker up before, another one may have been started for what was in
/// its slot; then all of them rest anew on other workers.
#[test]
fn the_end_starts_no_threads() {
    let only_one = |_: &usize| {
        let (runtime, threads) = build(8);
        let spawned = runtime.spawn(rest_one_after_the_other(50));
        wait_for("tasks rest", || runtime.metrics().num_alive_tasks() == 51);
        wait_for("a worker sleeps", || is_parked(&runtime.metrics(), 0));
        let before = threads.load(SeqCst);
        drop_returns("the drop", runtime);
        assert!(spawned.is_finished());
        assert!(before > 1 || threads.load(SeqCst) == 1, "the end has started a thread");
        before == 1
    };
    assert!((0..100).find(only_one).is_some(), "there is always a second thread");
}

/// Each of so many tasks holds what wakes the next one when it is dropped. They come to rest one
/// after the other, each in the slot, so that nobody else is woken.
async fn rest_one_after_the_other(tasks: usize) {
    use trefoil::sync::oneshot;
    let (first, mut before) = oneshot::channel::<()>();
    for _ in 0..tasks {
        let (wake, next) = oneshot::channel::<()>();
        let (rest, rests) = oneshot::channel::<()>();
        let dropped = std::mem::replace(&mut before, next);
        drop(trefoil::spawn(async move {
            rest.send(()).unwrap();
            let _ = dropped.await;
            pending::<()>().await;
            drop(wake);
        }));
        rests.await.unwrap();
    }
    pending::<()>().await;
    drop(first);
}

/// The last that a thread does is to wake a worker, in the destructor of a thread-local.
#[test]
fn a_thread_that_ends_starts_a_worker() {
    struct Sends(Handle, mpsc::Sender<()>);
    impl Drop for Sends {
        fn drop(&mut self) {
            let tell = self.1.clone();
            drop(self.0.spawn_pinned(1, async move { tell.send(()).unwrap() }));
        }
    }
    thread_local!(static LAST: RefCell<Option<Sends>> = const { RefCell::new(None) });

    let (runtime, _) = build(3);
    let (tell, told) = mpsc::channel();
    let sends = Sends(runtime.handle().clone(), tell);
    std::thread::spawn(move || LAST.set(Some(sends))).join().unwrap();
    receive("a pinned task", &told);
}

/// Rings when it is woken.
struct Bell(mpsc::Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // The test may have given up.
        let _ = self.0.send(());
    }
}

/// Polls a future once, which rings when it may go on.
fn poll_once(future: impl Future, ring: mpsc::Sender<()>) -> impl Future {
    let mut future = Box::pin(future);
    let bell = Waker::from(Arc::new(Bell(ring)));
    assert!(future.as_mut().poll(&mut Context::from_waker(&bell)).is_pending());
    future
}

/// A poll of a young runtime does not end before what it has left behind is served: whoever keeps
/// it is the only worker that has a thread, or one of two. Often, because the machine may take its
/// time, until the runtime is not young any more.
fn is_served_beside(workers: usize, leave: fn(mpsc::Sender<()>) -> Box<dyn Any>) {
    for _ in 0..50 {
        let (runtime, _) = build(workers);
        let (end, has_ended) = mpsc::channel();
        drop(runtime.spawn(async move {
            let (served, is_served) = mpsc::channel();
            let _left = leave(served);
            end.send(is_served.recv_timeout(WATCHDOG)).unwrap();
        }));
        assert_eq!(has_ended.recv(), Ok(Ok(())), "nobody serves it");
    }
}

#[test]
fn a_first_poll_that_does_not_end_leaves_a_task_in_the_slot() {
    for workers in [2, 3, 8] {
        is_served_beside(workers, |served| {
            Box::new(trefoil::spawn(async move { served.send(()).unwrap() }))
        });
    }
}

#[test]
fn a_first_poll_that_does_not_end_leaves_a_timer() {
    is_served_beside(3, |served| {
        let sleep = trefoil::time::sleep(Duration::from_millis(1));
        Box::new(Box::pin(poll_once(sleep, served)) as Pin<Box<dyn Future<Output = _>>>)
    });
}

#[test]
fn a_first_poll_that_does_not_end_leaves_a_deferred_waker() {
    is_served_beside(3, |served| {
        drop(poll_once(task::yield_now(), served));
        Box::new(())
    });
}

/// The second worker takes one of two tasks, which does not end either. The third is there for the
/// other one.
#[test]
fn two_first_polls_that_do_not_end_leave_a_task_in_the_slot() {
    for _ in 0..50 {
        let (runtime, _) = build(3);
        let (end, has_ended) = mpsc::channel();
        drop(runtime.spawn(async move {
            let (held, is_held) = mpsc::channel();
            let (served, is_served) = mpsc::channel();
            let (go, may_go) = mpsc::channel::<()>();
            drop(trefoil::spawn(async move {
                held.send(()).unwrap();
                let _ = may_go.recv();
            }));
            // It takes the place of the other one, which the second worker takes from the ring.
            drop(trefoil::spawn(async move { served.send(()).unwrap() }));
            let holds = is_held.recv_timeout(WATCHDOG);
            end.send((holds, is_served.recv_timeout(WATCHDOG))).unwrap();
            drop(go);
        }));
        assert_eq!(has_ended.recv(), Ok((Ok(()), Ok(()))), "nobody serves it");
    }
}

/// A task whose first poll goes on until the result is dropped.
fn hold_a_worker(runtime: &Runtime) -> mpsc::Sender<()> {
    let (held, is_held) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    drop(runtime.spawn(async move {
        held.send(()).unwrap();
        let _ = may_go.recv();
    }));
    receive("a worker that is held", &is_held);
    go
}

/// It is the second worker that leaves something in its slot; the third is there for it.
#[test]
fn the_second_first_poll_that_does_not_end_leaves_a_task_in_the_slot() {
    for _ in 0..50 {
        let (runtime, _) = build(3);
        let _held = hold_a_worker(&runtime);
        let (end, has_ended) = mpsc::channel();
        drop(runtime.spawn(async move {
            let (served, is_served) = mpsc::channel();
            drop(trefoil::spawn(async move { served.send(()).unwrap() }));
            end.send(is_served.recv_timeout(WATCHDOG)).unwrap();
        }));
        assert_eq!(has_ended.recv(), Ok(Ok(())), "nobody serves it");
    }
}

#[test]
fn another_thread_makes_a_timer_beside_a_first_poll_that_does_not_end() {
    for _ in 0..50 {
        let (runtime, _) = build(3);
        let _held = hold_a_worker(&runtime);
        let (ring, has_rung) = mpsc::channel();
        let _entered = runtime.enter();
        let _sleep = poll_once(trefoil::time::sleep(Duration::from_millis(1)), ring);
        receive("the end of a sleep", &has_rung);
    }
}

/// The only worker with a thread may wait for the events when its task comes.
#[test]
fn a_source_is_looked_after_beside_a_first_poll_that_does_not_end() {
    for round in 0..50 {
        let (runtime, _) = build(3);
        let _entered = runtime.enter();
        let before = (round % 2 == 0).then(|| hold_a_worker(&runtime));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let listener = trefoil::net::TcpListener::from_std(listener).unwrap();
        let (ring, has_rung) = mpsc::channel();
        let _accept = poll_once(async move { listener.accept().await.is_ok() }, ring);
        let after = before.is_none().then(|| hold_a_worker(&runtime));
        let _peer = std::net::TcpStream::connect(address).unwrap();
        receive("a connection", &has_rung);
        drop((before, after));
    }
}

/// A guest has the place of a worker without a thread.
#[test]
fn a_guest_beside_a_first_poll_that_does_not_end_waits_for_a_task() {
    for hands_off in [true, false] {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(3).handoff_while_forking(hands_off);
        let (runtime, _) = build_with(&mut builder);
        let _held = hold_a_worker(&runtime);
        let handle = runtime.handle().clone();
        let is_served = runtime.install_here(move || {
            let (served, is_served) = mpsc::channel();
            drop(handle.spawn(async move { served.send(()).unwrap() }));
            is_served.recv_timeout(WATCHDOG)
        });
        assert_eq!(is_served, Ok(()), "nobody serves it; hands off: {hands_off}");
    }
}

/// Threads that block in place have what room there is, but not that of the other workers, which
/// nobody else takes in the moment when one of these is woken.
#[test]
fn the_first_worker_does_not_take_the_room_of_the_others() {
    let (runtime, threads) =
        build_with(Builder::new_multi_thread().worker_threads(3).max_blocking_threads(1));
    let blocked = [(); 2].map(|()| {
        let (block, blocks) = mpsc::channel();
        let (go, may_go) = mpsc::channel::<()>();
        drop(runtime.spawn_pinned(0, async move {
            task::block_in_place(|| {
                block.send(()).unwrap();
                let _ = may_go.recv();
            });
        }));
        receive("a task that blocks", &blocks);
        go
    });
    for worker in [None, Some(1), Some(2)] {
        let (serve, served) = mpsc::channel();
        let task = async move { serve.send(()).unwrap() };
        drop(match worker {
            None => runtime.spawn(task),
            Some(worker) => runtime.spawn_pinned(worker, task),
        });
        receive("a task beside threads that block", &served);
    }
    assert_eq!(threads.load(SeqCst), 4);
    drop(blocked);
}
