//! "Blocking."

use crate::floods::Flood;
use crate::rig::{Event, OnDrop, Rig, wait_for};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use trefoil::fork_join::join;
use trefoil::task::{block_in_place, spawn_blocking, spawn_pinned, yield_now};
use trefoil::time::{Duration, sleep};
use trefoil::{runtime::Builder, spawn};

const WORKERS: [usize; 3] = [1, 2, 8];

struct Tell(Event);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        self.0.happens();
    }
}

#[test]
fn tasks_of_a_worker_that_blocks_in_place() {
    for workers in WORKERS {
        let rig = Rig::new(workers);
        for _ in 0..5 {
            let events: Vec<_> = (0..7).map(|_| Event::default()).collect();
            let its = events.clone();
            let end = OnDrop(Event::default());
            let its_end = end.0.clone();
            let blocker = rig.handle().spawn_pinned(0, async move {
                let its: [Event; 7] = its.try_into().unwrap();
                let [slot, ring, pinned, timer, deferred, later, _] = its;
                drop(spawn(async move { ring.happens() }));
                drop(spawn(async move { slot.happens() }));
                drop(spawn_pinned(0, async move { pinned.happens() }));
                let mut sleeps = Box::pin(sleep(Duration::from_millis(2)));
                let waker = Waker::from(Arc::new(Tell(timer)));
                if sleeps.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                    waker.wake();
                }
                let waker = Waker::from(Arc::new(Tell(deferred)));
                let mut yields = pin!(yield_now());
                assert!(yields.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                block_in_place(|| {
                    drop(spawn(async move { later.happens() }));
                    its_end.hold();
                });
            });
            for (event, what) in
                events.iter().zip(["slot", "ring", "pinned", "timer", "deferred", "from within"])
            {
                event.wait(&format!("{what}, of a worker that blocks in place"));
            }
            let last = events[6].clone();
            drop(rig.handle().spawn_pinned(0, async move { last.happens() }));
            events[6].wait("pinned from outside, to a worker that blocks in place");
            assert!(!blocker.is_finished());
            drop(end);
            rig.handle().block_on(blocker).unwrap();
        }
    }
}

/// All workers but one, or all of them, block again and again.
#[test]
fn beside_loops_that_block_in_place() {
    for (workers, blockers) in [(1, 1), (2, 1), (2, 2), (8, 7), (8, 8)] {
        let rig = Rig::new(workers);
        for worker in 0..blockers {
            drop(rig.handle().spawn_pinned(worker, async {
                loop {
                    block_in_place(thread::yield_now);
                    yield_now().await;
                }
            }));
        }
        for worker in 0..workers {
            let events: Vec<_> = (0..3).map(|_| Event::default()).collect();
            let [one, two, three]: [Event; 3] = events.clone().try_into().unwrap();
            drop(rig.handle().spawn(async move {
                sleep(Duration::from_millis(1)).await;
                one.happens();
            }));
            drop(rig.handle().spawn_pinned(worker, async move { two.happens() }));
            drop(rig.handle().spawn_blocking(move || three.happens()));
            for event in events {
                event.wait("beside loops that block in place");
            }
        }
    }
}

#[test]
fn closures_beside_each_load() {
    for flood in Flood::ALL {
        for workers in [1, 2] {
            let rig = flood.rig(workers);
            let barrier = Arc::new(Barrier::new(10));
            let through = Arc::new(AtomicUsize::new(0));
            for _ in 0..10 {
                let (barrier, through) = (barrier.clone(), through.clone());
                drop(rig.handle().spawn_blocking(move || {
                    barrier.wait();
                    through.fetch_add(1, SeqCst);
                }));
            }
            wait_for("closures that wait for each other", || through.load(SeqCst) == 10);
        }
    }
}

/// A thread that is free becomes a worker before it runs closures that wait.
#[test]
fn a_worker_goes_before_closures() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let seen = Event::default();
    let end = OnDrop(Event::default());
    for _ in 0..3 {
        let end = end.0.clone();
        drop(runtime.spawn_blocking(move || end.hold()));
    }
    let its = seen.clone();
    drop(runtime.spawn(async move {
        for _ in 0..10 {
            block_in_place(|| ());
            yield_now().await;
        }
        its.happens();
    }));
    seen.wait("a worker beside closures that never end");
    drop(end);
}

/// A worker waits in `join`, runs a job meanwhile, and blocks in place there. Such a closure once
/// kept the worker's state, so tasks that were pinned to the worker did not run.
#[test]
fn leapfrog_blocks() {
    for workers in [2, 8] {
        let mut leapfrogged = 0;
        let rig = Rig::monitored(workers);
        for _ in 0..10 {
            let (send, receive) = mpsc::channel();
            drop(rig.handle().spawn_pinned(0, async move {
                let me = thread::current().id();
                let (b_runs, c_runs) = (Event::default(), Event::default());
                let result = join(
                    || b_runs.hold(),
                    || {
                        b_runs.happens();
                        let c = || {
                            c_runs.happens();
                            let (pinned, timer) = (Event::default(), Event::default());
                            let (its_pinned, its_timer) = (pinned.clone(), timer.clone());
                            drop(spawn_pinned(0, async move { its_pinned.happens() }));
                            drop(spawn_pinned(0, async move {
                                sleep(Duration::from_millis(1)).await;
                                its_timer.happens();
                            }));
                            block_in_place(|| {
                                pinned.wait("a pinned task of the worker that blocks");
                                timer.wait("a timer of the worker that blocks");
                            });
                            thread::current().id() == me
                        };
                        join(|| c_runs.hold(), c).1
                    },
                );
                send.send(result.1).unwrap();
            }));
            leapfrogged += usize::from(receive.recv().expect("a panic: see above"));
        }
        println!("leapfrog: {leapfrogged} of 10, {workers} workers");
        if workers == 2 {
            assert_ne!(leapfrogged, 0, "nothing was tested");
        }
    }
}

thread_local! {
    static MARK: Cell<bool> = const { Cell::new(false) };
}

/// Each call once started or woke a thread, and the task went on elsewhere.
#[test]
fn bip() {
    for workers in WORKERS {
        let rig = Rig::new(workers);
        let metrics = rig.metrics.clone();
        let (done, most) = (Event::default(), Arc::new(AtomicUsize::new(0)));
        let (its_done, its_most) = (done.clone(), most.clone());
        let stays = Arc::new(AtomicBool::new(true));
        let its_stays = stays.clone();
        drop(rig.handle().spawn_pinned(0, async move {
            MARK.set(true);
            for _ in 0..2_000 {
                block_in_place(|| ());
                its_most.fetch_max(metrics.num_blocking_threads(), SeqCst);
                yield_now().await;
                its_stays.fetch_and(MARK.get(), SeqCst);
            }
            its_done.happens();
        }));
        done.wait("2,000 calls");
        assert_eq!(most.load(SeqCst), 0, "threads were started for nothing, {workers} workers");
        assert!(stays.load(SeqCst), "a thread-local of the worker's thread is gone");
    }
}

/// If there is work for the workers, one thread is started for each thread that blocks, and no
/// more.
#[test]
fn blocking_starts_no_more_threads_than_block() {
    for workers in WORKERS {
        let rig = Rig::new(workers);
        let done = Arc::new(AtomicUsize::new(0));
        for worker in 0..workers {
            let its = done.clone();
            drop(rig.handle().spawn_pinned(worker, async move {
                for _ in 0..200 {
                    drop(spawn(yield_now()));
                    block_in_place(thread::yield_now);
                    yield_now().await;
                }
                its.fetch_add(1, SeqCst);
            }));
        }
        wait_for("loops that block and spawn", || done.load(SeqCst) == workers);
        // One thread for each that blocks, and the threads that are about to return to the pool.
        let threads = rig.metrics.num_blocking_threads();
        println!("blocking: {threads} threads, {workers} workers");
        assert!(threads <= 4 * (workers + 1), "{threads} threads, {workers} workers");
        let inside = rig.handle().block_on(async { spawn_blocking(|| 5).await.unwrap() });
        assert_eq!(inside, 5);
    }
}
