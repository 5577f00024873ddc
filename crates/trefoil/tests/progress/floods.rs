//! The adversaries: loads without end.

use crate::rig::Rig;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use parking_lot::{Condvar, Mutex};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use trefoil::spawn;
use trefoil::sync::Notify;
use trefoil::task::{consume_budget, spawn_pinned, yield_now};
use trefoil::time::{Duration, sleep};

/// How an adversary loads each worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flood {
    /// A task that spawns 300 in each poll.
    Spawner,
    /// A thread that keeps a backlog of 600.
    Outside,
    /// Eight pinned tasks that yield.
    Pinned,
    /// 10,000 timers in all, due at once, again and again.
    Timers,
    /// Tasks that sleep for no time, again and again.
    ZeroSleeps,
    /// Sixteen loops that spawn a task and join it.
    Joiners,
    /// A task that joins fifty others through one `FuturesUnordered`, again and again.
    Unordered,
    /// Threads that join a stream of tasks.
    JoiningThreads,
    /// Eight pairs of tasks that wake each other.
    Pairs,
    /// Fifty tasks that yield.
    Yielders,
    /// A task that wakes itself, and a hundred tasks that yield.
    Streaks,
    /// Tasks in the ring, each of which starts a chain of three through the slot.
    Chains,
    /// Tasks whose operations are always ready.
    Budgets,
    /// Two hundred tasks that are woken at once.
    Broadcasts,
    /// Several of these at once, and tasks that come from outside one by one: each waits in its
    /// poll until the next one is there.
    Mixed,
}

impl Flood {
    pub(crate) const ALL: [Self; 15] = [
        Self::Spawner,
        Self::Outside,
        Self::Pinned,
        Self::Timers,
        Self::ZeroSleeps,
        Self::Joiners,
        Self::Unordered,
        Self::JoiningThreads,
        Self::Pairs,
        Self::Yielders,
        Self::Streaks,
        Self::Chains,
        Self::Budgets,
        Self::Broadcasts,
        Self::Mixed,
    ];

    /// Whether a task in the LIFO slot may be displaced by one that is woken later, and is then a
    /// task in the ring.
    ///
    /// The task that wakes itself is far behind in the ring while others go before the slot. With
    /// several workers, it may come from the shared queue.
    pub(crate) fn displaces(self, workers: usize) -> bool {
        (workers > 1 && self == Self::Streaks)
            || !matches!(
                self,
                Self::Outside
                    | Self::Pinned
                    | Self::Timers
                    | Self::ZeroSleeps
                    | Self::Yielders
                    | Self::Streaks
            )
    }

    /// How many timers of each worker may be due at once.
    pub(crate) fn timers(self, workers: usize) -> u64 {
        match self {
            Self::Timers => 10_000 / workers as u64,
            Self::ZeroSleeps => 64,
            Self::Mixed => 16,
            _ => 0,
        }
    }

    /// A busy runtime, under this load.
    pub(crate) fn rig(self, workers: usize) -> Rig {
        let rig = Rig::kept_busy(workers);
        self.start_threads(&rig);
        if matches!(self, Self::Pinned | Self::Mixed) {
            rig.pinned.fetch_add(8, SeqCst);
        }
        let workers = rig.workers;
        rig.on_each(|worker| async move { self.start(worker, workers) });
        rig
    }

    /// Starts the threads of the load.
    pub(crate) fn start_threads(self, rig: &Rig) {
        match self {
            Self::Outside => {
                let backlog = Arc::new(AtomicUsize::new(0));
                rig.thread(move |handle| {
                    if backlog.load(SeqCst) >= 600 {
                        return std::thread::yield_now();
                    }
                    backlog.fetch_add(1, SeqCst);
                    let its = backlog.clone();
                    drop(handle.spawn(async move {
                        its.fetch_sub(1, SeqCst);
                    }));
                });
            }
            Self::JoiningThreads => {
                for _ in 0..2 {
                    rig.thread(|handle| {
                        let handles: Vec<_> = (0..50).map(|_| handle.spawn(yield_now())).collect();
                        for join in handles {
                            let _ = handle.block_on(join);
                        }
                    });
                }
            }
            Self::Mixed => supply(rig, 1, 1),
            _ => {}
        }
    }

    /// Starts the load on a worker.
    pub(crate) fn start(self, worker: usize, workers: usize) {
        match self {
            Self::Outside | Self::JoiningThreads => {}
            Self::Spawner => drop(spawn(async {
                loop {
                    (0..300).for_each(|_| drop(spawn(async {})));
                    yield_now().await;
                }
            })),
            Self::Pinned => (0..8).for_each(|_| drop(spawn_pinned(worker, yield_for_ever()))),
            Self::Timers => (0..10_000 / workers)
                .for_each(|_| drop(spawn(sleep_for_ever(Duration::from_millis(1))))),
            Self::ZeroSleeps => {
                (0..64).for_each(|_| drop(spawn(sleep_for_ever(Duration::ZERO))));
            }
            Self::Joiners => (0..16).for_each(|_| drop(spawn(join_for_ever()))),
            Self::Unordered => drop(spawn(async {
                loop {
                    let mut all: FuturesUnordered<_> = (0..50).map(|_| spawn(async {})).collect();
                    while all.next().await.is_some() {}
                }
            })),
            Self::Pairs => (0..8).for_each(|_| {
                let (ping, pong) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
                ping.notify_one();
                for (mine, other) in [(ping.clone(), pong.clone()), (pong, ping)] {
                    drop(spawn(async move {
                        loop {
                            mine.notified().await;
                            other.notify_one();
                        }
                    }));
                }
            }),
            Self::Yielders => (0..50).for_each(|_| drop(spawn(yield_for_ever()))),
            Self::Streaks => {
                drop(spawn(wake_itself_for_ever()));
                (0..100).for_each(|_| drop(spawn(yield_for_ever())));
            }
            Self::Chains => (0..100).for_each(|_| drop(spawn(chains()))),
            Self::Mixed => {
                (0..8).for_each(|_| drop(spawn_pinned(worker, yield_for_ever())));
                (0..20).for_each(|_| drop(spawn(chains())));
                (0..16).for_each(|_| drop(spawn(sleep_for_ever(Duration::ZERO))));
                (0..4).for_each(|_| drop(spawn(join_for_ever())));
            }
            Self::Budgets => (0..8).for_each(|_| {
                drop(spawn(async {
                    loop {
                        consume_budget().await;
                    }
                }));
            }),
            Self::Broadcasts => {
                let all = Arc::new(Notify::new());
                for _ in 0..200 {
                    let all = all.clone();
                    drop(spawn(async move {
                        loop {
                            all.notified().await;
                        }
                    }));
                }
                drop(spawn(async move {
                    loop {
                        all.notify_waiters();
                        yield_now().await;
                    }
                }));
            }
        }
    }
}

/// A thread that fills up the shared queue to a backlog of so many tasks, again and again. Each
/// of them waits in its poll until there are `behind` others behind it.
///
/// Who waits here blocks, so that the thread has time also where there are fewer processors than
/// workers, and no longer than a period of the monitor, so that the flood goes on without it.
pub(crate) fn supply(rig: &Rig, backlog: usize, behind: usize) {
    const PERIOD: Duration = Duration::from_millis(2);
    let changes = Arc::new((Mutex::new(()), Condvar::new()));
    let metrics = rig.metrics.clone();
    rig.thread(move |handle| {
        let (lock, change) = &*changes;
        let mut locked = lock.lock();
        let missing = backlog.saturating_sub(metrics.global_queue_depth());
        if missing == 0 {
            change.wait_for(&mut locked, PERIOD);
        }
        for _ in 0..missing {
            let (changes, metrics) = (changes.clone(), metrics.clone());
            drop(handle.spawn(async move {
                let (lock, change) = &*changes;
                let mut locked = lock.lock();
                change.notify_all();
                let are_few = |_: &mut ()| metrics.global_queue_depth() < behind;
                change.wait_while_for(&mut locked, are_few, PERIOD);
            }));
        }
        change.notify_all();
    });
}

pub(crate) async fn yield_for_ever() {
    loop {
        yield_now().await;
    }
}

async fn sleep_for_ever(duration: Duration) {
    loop {
        sleep(duration).await;
    }
}

async fn join_for_ever() {
    loop {
        let _ = spawn(async {}).await;
    }
}

/// Starts chains of three tasks through the slot, one after another.
async fn chains() {
    loop {
        drop(spawn(async {
            drop(spawn(async {
                drop(spawn(async {}));
            }));
        }));
        yield_now().await;
    }
}

/// A future that wakes itself in each of its polls, for ever.
pub(crate) async fn wake_itself_for_ever() {
    poll_fn::<(), _>(|cx| {
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
