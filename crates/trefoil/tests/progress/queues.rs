//! "Between the queues of one worker."

use crate::bounds;
use crate::floods::Flood;
use crate::rig::{Counts, Rig, WATCHDOG, Worst, wait_for, worker};
use parking_lot::Mutex;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::task::{Context, Wake, Waker};
use std::time::Instant;
use trefoil::runtime::RuntimeMetrics;
use trefoil::spawn;
use trefoil::task::{consume_budget, yield_now};
use trefoil::time::{Duration, sleep_until};

const WORKERS: [usize; 3] = [1, 2, 8];
const TRIALS: usize = 12;

/// A trial says nothing if the task may have been elsewhere, which is the rule beside some floods.
/// Then there are more, for so long at most.
const EFFORT: Duration = Duration::from_secs(1);

fn is_enough(seen: usize, attempts: usize, since: Instant) -> bool {
    seen == TRIALS || (attempts >= TRIALS && since.elapsed() > EFFORT)
}

/// What would not fit into a ring is queued in the shared queue.
const RING_LARGEST: u64 = 65_536;

/// With several workers, the monitor may pass on what a worker has kept for so
/// long, if the system gives that worker's thread no time. Then its polls say
/// nothing, and it only matters that it comes to its turn at all.
const MAY_BE_PASSED_ON: Duration = Duration::from_micros(500);

/// Each adversary with each number of workers.
fn against(floods: &[Flood], line: &str, mut attack: impl FnMut(&Rig, Flood, &mut Worst)) {
    let mut worst = Worst::default();
    for &flood in floods {
        for workers in WORKERS {
            let rig = flood.rig(workers);
            attack(&rig, flood, &mut worst);
        }
    }
    worst.report(line);
}

/// Runs a future on a worker, and returns its output.
pub(crate) fn run<T, F>(rig: &Rig, pinned: bool, future: F) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let result = Arc::new(Mutex::new(None));
    let its = result.clone();
    let body = async move {
        let output = future.await;
        *its.lock() = Some(output);
    };
    drop(if pinned { rig.handle().spawn_pinned(0, body) } else { rig.handle().spawn(body) });
    let mut output = None;
    wait_for("a task beside the flood", || {
        output = result.lock().take();
        output.is_some()
    });
    output.unwrap()
}

/// The poll in which a task was polled: the worker, and the number of the poll.
type Polled = Arc<Mutex<Option<(usize, u64)>>>;

async fn is_polled(metrics: RuntimeMetrics, polled: Polled) {
    let worker = worker().expect("a worker of the runtime");
    *polled.lock() = Some((worker, metrics.worker_poll_count(worker)));
}

async fn until_polled(polled: &Polled) -> (usize, u64) {
    let start = Instant::now();
    loop {
        if let Some(polled) = *polled.lock() {
            return polled;
        }
        assert!(start.elapsed() < WATCHDOG, "never polled");
        yield_now().await;
    }
}

#[test]
fn a_task_in_the_lifo_slot() {
    against(&Flood::ALL, "LIFO slot", |rig, flood, worst| {
        let metrics = rig.metrics.clone();
        let workers = rig.workers;
        let seen = run(rig, true, async move {
            let mut seen = Vec::new();
            for _ in 0..TRIALS {
                let polled = Polled::default();
                let (before, since) = (Counts::of(&metrics), Instant::now());
                let shared = bounds::shared(metrics.global_queue_depth() as u64);
                drop(spawn(is_polled(metrics.clone(), polled.clone())));
                yield_now().await;
                let (worker, at) = until_polled(&polled).await;
                let waited = before.until(worker, at);
                let bound = bounds::lifo() + if flood.displaces(workers) { shared } else { 0 };
                if worker == 0 && !(workers > 1 && since.elapsed() > MAY_BE_PASSED_ON) {
                    seen.push((waited, bound));
                }
            }
            seen
        });
        for (seen, bound) in seen {
            worst.add(seen, bound, (flood, rig.workers));
        }
    });
}

/// The next task displaces the task from the slot.
#[test]
fn a_task_in_the_ring() {
    against(&Flood::ALL, "ring", |rig, flood, worst| {
        let metrics = rig.metrics.clone();
        let solo = rig.workers == 1;
        let seen = run(rig, true, async move {
            let mut seen = Vec::new();
            let (mut attempts, since) = (0, Instant::now());
            while !is_enough(seen.len(), attempts, since) {
                attempts += 1;
                let polled = Polled::default();
                drop(spawn(is_polled(metrics.clone(), polled.clone())));
                let p = metrics.worker_local_queue_depth(0) as u64;
                let before = Counts::of(&metrics);
                drop(spawn(async {}));
                let outside = metrics.global_queue_depth() as u64;
                yield_now().await;
                let (worker, at) = until_polled(&polled).await;
                let waited = before.until(worker, at);
                let is_at_home = worker == 0 && !before.may_have_been_elsewhere();
                if p < RING_LARGEST && is_at_home {
                    seen.push((waited, bounds::ring(p), p));
                } else if solo {
                    seen.push((waited, bounds::shared(outside), outside));
                }
            }
            seen
        });
        for (seen, bound, p) in seen {
            worst.add(seen, bound, (flood, rig.workers, p));
        }
    });
}

#[test]
fn a_task_that_yields() {
    against(&Flood::ALL, "yields", |rig, flood, worst| {
        let metrics = rig.metrics.clone();
        let seen = run(rig, false, async move {
            let mut seen = Vec::new();
            let (mut attempts, since) = (0, Instant::now());
            while !is_enough(seen.len(), attempts, since) {
                attempts += 1;
                let home = worker().unwrap();
                let p = metrics.worker_local_queue_depth(home) as u64;
                let before = Counts::of(&metrics);
                yield_now().await;
                let is_at_home = worker() == Some(home) && !before.may_have_been_elsewhere();
                if p < RING_LARGEST && is_at_home {
                    seen.push((before.between(home), bounds::ring(p), p));
                }
            }
            seen
        });
        for (seen, bound, p) in seen {
            worst.add(seen, bound, (flood, rig.workers, p));
        }
    });
}

/// A task that yielded was once never polled again for as long as the shared queue was not empty.
#[test]
fn flood_from_outside() {
    against(&[Flood::Outside], "beside a flood from outside", |rig, flood, worst| {
        let metrics = rig.metrics.clone();
        let seen = run(rig, false, async move {
            let mut seen = Vec::new();
            for _ in 0..20 * TRIALS {
                let (home, before) = (worker().unwrap(), Counts::of(&metrics));
                yield_now().await;
                if worker() == Some(home) && !before.may_have_been_elsewhere() {
                    seen.push(before.between(home));
                }
            }
            seen
        });
        for seen in seen {
            worst.add(seen, bounds::beside_injected(), (flood, rig.workers));
        }
    });
}

/// A pinned task behind all other pinned tasks.
#[test]
fn a_pinned_task() {
    against(&Flood::ALL, "pinned", |rig, flood, worst| {
        let metrics = rig.metrics.clone();
        let seen = run(rig, true, async move {
            let mut seen = Vec::new();
            for _ in 0..TRIALS {
                let before = Counts::of(&metrics);
                yield_now().await;
                seen.push(before.between(0));
            }
            seen
        });
        for seen in seen {
            let p = rig.pinned.load(SeqCst);
            worst.add(seen, bounds::pinned(p), (flood, rig.workers));
        }
    });
}

/// Spawns from outside, and compares with what the workers polled since.
fn from_outside(rig: &Rig, pinned: Option<usize>) -> (u64, u64) {
    let polled = Polled::default();
    let victim = is_polled(rig.metrics.clone(), polled.clone());
    drop(match pinned {
        Some(worker) => rig.handle().spawn_pinned(worker, victim),
        None => rig.handle().spawn(victim),
    });
    // The order matters: this thread's own delays must not count.
    let p = rig.metrics.global_queue_depth() as u64;
    let before = rig.polls();
    wait_for("a task from outside", || polled.lock().is_some());
    let (worker, at) = polled.lock().unwrap();
    (before.until(worker, at), p)
}

#[test]
fn a_task_in_the_shared_queue() {
    against(&Flood::ALL, "shared queue", |rig, flood, worst| {
        for _ in 0..TRIALS {
            let (seen, p) = from_outside(rig, None);
            worst.add(seen, bounds::shared(p), (flood, rig.workers, p));
        }
    });
}

/// Because of sixteen loops that spawn and join, pinned tasks and tasks from outside were once
/// never polled.
#[test]
fn pinned() {
    against(&Flood::ALL, "pinned, from outside", |rig, flood, worst| {
        for trial in 0..TRIALS {
            let (seen, _) = from_outside(rig, Some(trial % rig.workers));
            let p = rig.pinned.load(SeqCst);
            worst.add(seen, bounds::pinned(p), (flood, rig.workers));
        }
    });
}

/// A waker that records when and where it was woken.
#[derive(Debug)]
pub(crate) struct Noted {
    metrics: RuntimeMetrics,
    /// The worker that made it.
    home: Option<usize>,
    /// The polls of that worker when it woke it last; `ELSEWHERE` for other threads, among them
    /// workers that fire its timers because they are late.
    polls: AtomicU64,
    woken: AtomicU64,
}

const ELSEWHERE: u64 = u64::MAX;

impl Noted {
    pub(crate) fn new(metrics: &RuntimeMetrics) -> Arc<Self> {
        let (polls, woken) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { metrics: metrics.clone(), home: worker(), polls, woken })
    }

    pub(crate) async fn until_woken(&self, times: u64) -> Option<u64> {
        let start = Instant::now();
        while self.woken.load(SeqCst) < times {
            assert!(start.elapsed() < WATCHDOG, "woken {:?} times of {times}", self.woken);
            yield_now().await;
        }
        Some(self.polls.load(SeqCst)).filter(|&polls| polls != ELSEWHERE)
    }
}

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        let home = worker().filter(|_| worker() == self.home);
        let polls = home.map_or(ELSEWHERE, |home| self.metrics.worker_poll_count(home));
        self.polls.fetch_max(polls, SeqCst);
        self.woken.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_timer() {
    against(&Flood::ALL, "timers", |rig, flood, worst| {
        for k in [1_u64, 64, 2_000] {
            let metrics = rig.metrics.clone();
            let workers = rig.workers;
            let seen = run(rig, true, async move {
                let noted = Noted::new(&metrics);
                let waker = Waker::from(noted.clone());
                let due = trefoil::time::Instant::now() + Duration::from_millis(5);
                let mut timers: Vec<_> = (0..k).map(|_| Box::pin(sleep_until(due))).collect();
                let mut waiting = 0;
                for timer in &mut timers {
                    let polled = timer.as_mut().poll(&mut Context::from_waker(&waker));
                    waiting += u64::from(polled.is_pending());
                }
                // All of these timers become due in this poll, with those of the flood, and not by
                // so much that another worker would fire them.
                while trefoil::time::Instant::now() < due + Duration::from_micros(100) {
                    std::hint::spin_loop();
                }
                let before = Counts::of(&metrics);
                let woken = noted.until_woken(waiting).await;
                woken.map(|polls| before.until(0, polls))
            });
            if let Some(seen) = seen {
                let bound = bounds::timer(k + flood.timers(workers));
                worst.add(seen, bound, (flood, rig.workers, k));
            }
        }
    });
}

#[test]
fn a_deferred_waker() {
    against(&Flood::ALL, "deferred", |rig, flood, worst| {
        let metrics = rig.metrics.clone();
        let seen = run(rig, true, async move {
            let mut seen = Vec::new();
            for _ in 0..TRIALS {
                let noted = Noted::new(&metrics);
                let waker = Waker::from(noted.clone());
                let mut yields = pin!(yield_now());
                assert!(yields.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                let before = Counts::of(&metrics);
                let woken = noted.until_woken(1).await;
                seen.extend(woken.map(|polls| before.until(0, polls)));
            }
            seen
        });
        for seen in seen {
            worst.add(seen, bounds::deferred(), (flood, rig.workers));
        }
    });
}

/// "Made to yield after 128 operations of this crate": what it does, in
/// operations, between two polls of a task that yields.
#[test]
fn a_task_that_is_always_ready() {
    for workers in WORKERS {
        let rig = Rig::kept_busy(workers);
        let operations = Arc::new(AtomicU64::new(0));
        let its = operations.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let most = run(&rig, false, async move {
            let spender = spawn(async move {
                while !stopped.load(SeqCst) {
                    consume_budget().await;
                    its.fetch_add(1, SeqCst);
                }
            });
            let mut most = 0;
            for _ in 0..200 {
                let (home, before) = (worker(), operations.load(SeqCst));
                yield_now().await;
                if worker() == home {
                    most = most.max(operations.load(SeqCst) - before);
                }
            }
            stop.store(true, SeqCst);
            let _ = spender.await;
            most
        });
        println!("budget: {most} operations between two polls, {workers} workers");
        assert_ne!(most, 0);
        // With several workers, the two tasks may be on different ones.
        if workers == 1 {
            assert!(most <= bounds::operations(), "{most} operations in a row");
        }
    }
}
