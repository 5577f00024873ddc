//! "With the scheduler of a current-thread runtime": one queue, first in, first out.

use crate::floods::{Flood, yield_for_ever};
use crate::rig::{Event, OnDrop, WATCHDOG, Worst};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Instant;
use trefoil::net::UdpSocket;
use trefoil::runtime::{Builder, Handle, LocalRuntime, Runtime};
use trefoil::spawn;
use trefoil::task::{spawn_local, yield_now};
use trefoil::time::{Duration, sleep_until};

/// The loads whose queue has an end. The spawner's queue grows for ever.
const FLOODS: [Flood; 10] = [
    Flood::Pinned,
    Flood::Timers,
    Flood::ZeroSleeps,
    Flood::Joiners,
    Flood::Unordered,
    Flood::Pairs,
    Flood::Yielders,
    Flood::Streaks,
    Flood::Budgets,
    Flood::Broadcasts,
];

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The number of polls of all other tasks, which they count themselves.
#[derive(Clone, Default)]
struct Polls(Arc<AtomicU64>);

impl Polls {
    fn now(&self) -> u64 {
        self.0.load(SeqCst)
    }

    /// Spawns tasks that yield for ever and count their polls.
    fn yielders(&self, count: u64) {
        for _ in 0..count {
            let polls = self.clone();
            drop(spawn(async move {
                loop {
                    polls.0.fetch_add(1, SeqCst);
                    yield_now().await;
                }
            }));
        }
    }
}

#[test]
fn first_in_first_out() {
    runtime().block_on(async {
        let order = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let handles: Vec<_> = (0..100)
            .map(|n| {
                let order = order.clone();
                spawn(async move {
                    for round in 0..3 {
                        order.lock().push((round, n));
                        yield_now().await;
                    }
                })
            })
            .collect();
        for handle in handles {
            handle.await.unwrap();
        }
        let order = order.lock();
        assert!(order.is_sorted(), "{order:?}");
    });
}

/// Between two polls of a task, each task before it is polled once.
#[test]
fn a_task_that_yields() {
    let mut worst = Worst::default();
    runtime().block_on(async {
        let polls = Polls::default();
        polls.yielders(100);
        let victim = spawn(async move {
            let mut seen = Vec::new();
            for _ in 0..100 {
                let before = polls.now();
                yield_now().await;
                seen.push(polls.now() - before);
            }
            seen
        });
        victim.await.unwrap().into_iter().for_each(|seen| worst.add(seen, 100, "yielders"));
    });
    worst.report("current thread, yields");
}

/// The scheduler publishes its count of polls every 61 polls, so a reading may be late by so many.
#[test]
fn beside_each_load() {
    let mut worst = Worst::default();
    for flood in FLOODS {
        let runtime = runtime();
        runtime.block_on(async {
            spawn(async move { flood.start(0, 1) }).await.unwrap();
            let victim = spawn(async move {
                let metrics = Handle::current().metrics();
                let mut seen = Vec::new();
                for _ in 0..50 {
                    let p = metrics.worker_local_queue_depth(0) as u64;
                    let before = metrics.worker_poll_count(0);
                    yield_now().await;
                    seen.push((metrics.worker_poll_count(0) - before, p + 61));
                }
                seen
            });
            for (seen, bound) in victim.await.unwrap() {
                worst.add(seen, bound, flood);
            }
        });
    }
    worst.report("current thread, beside each load");
}

/// "What comes from other threads is taken every 61 polls."
#[test]
fn from_other_threads() {
    const YIELDERS: u64 = 100;
    let mut worst = Worst::default();
    let runtime = Arc::new(runtime());
    let (polls, end) = (Polls::default(), OnDrop(Event::default()));
    let (its, drives, is_over) = (polls.clone(), runtime.clone(), end.0.clone());
    let driver = thread::spawn(move || {
        drives.block_on(async {
            its.yielders(YIELDERS);
            // This future is polled with each round of the loop. It is no task.
            while !is_over.has_happened() {
                yield_now().await;
            }
        });
    });
    for _ in 0..50 {
        let (polled, its) = (Arc::new(AtomicU64::new(u64::MAX)), polls.clone());
        let its_polled = polled.clone();
        drop(runtime.spawn(async move { its_polled.store(its.now(), SeqCst) }));
        let before = polls.now();
        crate::rig::wait_for("a task from another thread", || polled.load(SeqCst) != u64::MAX);
        worst.add(polled.load(SeqCst).saturating_sub(before), 61 + YIELDERS, "from outside");
    }
    drop(end);
    driver.join().unwrap();
    worst.report("current thread, from other threads");
}

struct Note {
    polls: Polls,
    woken: AtomicU64,
    last: AtomicU64,
}

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        self.last.store(self.polls.now(), SeqCst);
        self.woken.fetch_add(1, SeqCst);
    }
}

/// "Timers are looked at as often", and so are deferred wakers.
#[test]
fn timers_and_deferred_wakers() {
    let mut worst = Worst::default();
    for k in [1_u64, 64, 1_000] {
        let seen = runtime().block_on(async {
            let polls = Polls::default();
            polls.yielders(100);
            let victim = async move {
                let zero = AtomicU64::new;
                let note = Arc::new(Note { polls: polls.clone(), woken: zero(0), last: zero(0) });
                let waker = Waker::from(note.clone());
                let due = trefoil::time::Instant::now() + Duration::from_millis(5);
                let mut timers: Vec<_> = (0..k).map(|_| Box::pin(sleep_until(due))).collect();
                let mut waiting = 0;
                for timer in &mut timers {
                    let polled = timer.as_mut().poll(&mut Context::from_waker(&waker));
                    waiting += u64::from(polled.is_pending());
                }
                let mut deferred = pin!(yield_now());
                let polled = deferred.as_mut().poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
                while trefoil::time::Instant::now() < due + Duration::from_millis(1) {
                    std::hint::spin_loop();
                }
                let (before, start) = (polls.now(), Instant::now());
                while note.woken.load(SeqCst) <= waiting {
                    assert!(start.elapsed() < WATCHDOG, "never woken");
                    yield_now().await;
                }
                note.last.load(SeqCst) - before
            };
            spawn(victim).await.unwrap()
        });
        worst.add(seen, crate::bounds::timer_of_current_thread(k), k);
    }
    worst.report("current thread, timers");
}

/// The future is polled between two rounds of the tasks, which never end.
#[test]
fn the_future_of_block_on() {
    let runtime = runtime();
    runtime.block_on(async {
        (0..50).for_each(|_| drop(spawn(yield_for_ever())));
        let metrics = Handle::current().metrics();
        for _ in 0..100 {
            let before = metrics.worker_poll_count(0);
            yield_now().await;
            let seen = metrics.worker_poll_count(0) - before;
            assert!(seen <= 61, "{seen} polls of tasks between two of the future");
        }
    });
}

/// "Events are looked at as often", and polls of local tasks count.
#[test]
fn events_beside_local_tasks() {
    const YIELDERS: u64 = 10;
    let mut worst = Worst::default();
    let runtime = LocalRuntime::new().unwrap();
    runtime.block_on(async {
        let polls = Polls::default();
        let is_over = OnDrop(Event::default());
        for _ in 0..YIELDERS {
            let (polls, is_over) = (polls.clone(), is_over.0.clone());
            drop(spawn_local(async move {
                while !is_over.has_happened() {
                    polls.0.fetch_add(1, SeqCst);
                    yield_now().await;
                }
            }));
        }
        let victim = spawn_local(async move {
            let mut seen = Vec::new();
            for _ in 0..50 {
                let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
                let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
                other.connect(socket.local_addr().unwrap()).unwrap();
                let mut readable = Box::pin(socket.readable());
                let polled = readable.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending());
                // The event is there when this returns.
                other.send(b"x").unwrap();
                let before = polls.now();
                readable.await.unwrap();
                seen.push(polls.now() - before);
            }
            seen
        });
        for seen in victim.await.unwrap() {
            // A look comes after the 61 polls of the set, and then the yielders go first.
            worst.add(seen, 61 + YIELDERS, "local tasks");
        }
    });
    worst.report("current thread, events beside local tasks");
}
