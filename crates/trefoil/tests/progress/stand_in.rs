//! The future of a `block_on` that serves tasks, beside floods of them.

use crate::bounds;
use crate::floods::Flood;
use crate::rig::{Rig, WATCHDOG, Worst};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::task::Poll;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use trefoil::runtime::{Builder, RuntimeMetrics};
use trefoil::sync::Notify;
use trefoil::task::yield_now;
use trefoil::time::sleep;
use trefoil::{spawn, task};

fn rig() -> Rig {
    Rig::of(Builder::new_multi_thread().worker_threads(1).enable_all().serve_in_block_on(true))
}

/// Waits until the calling future's thread is the worker.
async fn stand_in(root: ThreadId) {
    let start = Instant::now();
    while spawn(async { thread::current().id() }).await.unwrap() != root {
        assert!(start.elapsed() < WATCHDOG, "no place for the future of `block_on`");
        sleep(Duration::from_micros(200)).await;
    }
}

/// A task that is polled again and again, and says on which thread.
struct Witness {
    metrics: RuntimeMetrics,
    root: ThreadId,
    polls: AtomicU64,
    /// It was polled elsewhere. The place was lost, because the root was held up for long, and
    /// does not come back while the worker is busy.
    was_elsewhere: AtomicBool,
    is_asked: AtomicBool,
    woken_at: AtomicU64,
    wakes: Notify,
}

impl Witness {
    fn new(metrics: RuntimeMetrics) -> Arc<Self> {
        Arc::new(Self {
            metrics,
            root: thread::current().id(),
            polls: AtomicU64::new(0),
            was_elsewhere: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
            woken_at: AtomicU64::new(0),
            wakes: Notify::new(),
        })
    }

    /// A poll of the task: wakes the root if it asks for that.
    fn look(&self) {
        self.polls.fetch_add(1, SeqCst);
        if thread::current().id() != self.root {
            self.was_elsewhere.store(true, SeqCst);
        }
        if self.is_asked.swap(false, SeqCst) {
            self.woken_at.store(self.metrics.worker_poll_count(0), SeqCst);
            self.wakes.notify_one();
        }
    }

    async fn looks(self: Arc<Self>) {
        loop {
            self.look();
            yield_now().await;
        }
    }

    /// How many polls went before the root's, since it was woken.
    async fn measure(&self) -> u64 {
        self.is_asked.store(true, SeqCst);
        self.wakes.notified().await;
        // The witness's poll was the last one that had been counted. That of a root is no task's.
        self.metrics.worker_poll_count(0) - self.woken_at.load(SeqCst)
    }
}

/// "The future of `block_on`, in the place of a worker: three polls of tasks."
#[test]
fn the_root_waits_for_three_polls_at_most() {
    for flood in Flood::ALL {
        let mut worst = Worst::default();
        let start = Instant::now();
        let mut measured = 0;
        while measured < 100 {
            assert!(start.elapsed() < 4 * WATCHDOG, "the place is lost again and again: {flood:?}");
            let rig = rig();
            rig.handle().block_on(async {
                let witness = Witness::new(rig.metrics.clone());
                stand_in(witness.root).await;
                flood.start_threads(&rig);
                drop(spawn(async move { flood.start(0, 1) }));
                drop(spawn(witness.clone().looks()));
                let mut last = None;
                while measured < 100 {
                    let polls = witness.measure().await;
                    // The witness was polled here before, so the last poll of the root was, too.
                    if witness.was_elsewhere.load(SeqCst) {
                        break;
                    }
                    if let Some(last) = last.replace(polls) {
                        worst.add(last, bounds::root(), flood);
                        measured += 1;
                    }
                }
            });
        }
        worst.report(&format!("the root, beside {flood:?}"));
    }
}

/// The other way round: a root that is always ready has one poll in four.
#[test]
fn a_root_that_is_always_ready_leaves_three_of_four_polls_to_tasks() {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < WATCHDOG, "the place is lost again and again");
        let rig = rig();
        let is_measured = rig.handle().block_on(async {
            let witness = Witness::new(rig.metrics.clone());
            stand_in(witness.root).await;
            drop(spawn(witness.clone().looks()));
            let pinned = Witness::new(rig.metrics.clone());
            drop(task::spawn_pinned(0, pinned.clone().looks()));
            let mut root_polls = 0;
            let before = witness.polls.load(SeqCst) + pinned.polls.load(SeqCst);
            poll_fn(|cx| {
                root_polls += 1;
                cx.waker().wake_by_ref();
                if root_polls < 1000 { Poll::Pending } else { Poll::Ready(()) }
            })
            .await;
            let (free, pinned_polls) = (witness.polls.load(SeqCst), pinned.polls.load(SeqCst));
            // If the place was lost, they may not have been polled there yet.
            while witness.polls.load(SeqCst) == free || pinned.polls.load(SeqCst) == pinned_polls {
                yield_now().await;
            }
            if witness.was_elsewhere.load(SeqCst) || pinned.was_elsewhere.load(SeqCst) {
                return false;
            }
            let tasks = free + pinned_polls - before;
            assert!(tasks >= 3 * (root_polls - 1), "{tasks} polls beside {root_polls}");
            // "Every fourth turn is for pinned tasks."
            assert!(4 * (pinned_polls + 1) >= tasks, "{pinned_polls} of {tasks} are pinned");
            true
        });
        if is_measured {
            return;
        }
    }
}
