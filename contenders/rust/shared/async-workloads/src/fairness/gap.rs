//! The longest gap between two polls of one task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::background::stopped;
use super::ns;
use crate::AsyncRuntime;

/// A gap that is longer is counted as so long: a task that is starved for ever must not stop the
/// clock.
const GAP_MAX: Duration = Duration::from_secs(1);

/// When the victim was polled last, and its longest gap since the round began.
///
/// Relaxed throughout: each number stands for itself. A poll that races with the begin of a round
/// is counted in the round before or in this one.
#[derive(Debug)]
pub(super) struct Gap {
    epoch: Instant,
    last_ns: AtomicU64,
    longest_ns: AtomicU64,
}

impl Gap {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            epoch: Instant::now(),
            last_ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
        })
    }

    fn now_ns(&self) -> u64 {
        ns(self.epoch.elapsed())
    }

    fn polled(&self) {
        let now_ns = self.now_ns();
        let last_ns = self.last_ns.swap(now_ns, Ordering::Relaxed);
        self.longest_ns.fetch_max(now_ns.saturating_sub(last_ns), Ordering::Relaxed);
    }

    /// Starts a round: the gap that is open now counts from here.
    pub(super) fn begin(&self) {
        self.last_ns.store(self.now_ns(), Ordering::Relaxed);
        self.longest_ns.store(0, Ordering::Relaxed);
    }

    /// The longest gap of the round, the one that is still open included.
    pub(super) fn end(&self) -> u64 {
        let open_ns = self.now_ns().saturating_sub(self.last_ns.load(Ordering::Relaxed));
        self.longest_ns.load(Ordering::Relaxed).max(open_ns).max(1)
    }

    /// The same from a thread that can wait for the open gap to close, a second at most.
    pub(super) fn end_when_polled(&self) -> u64 {
        let ended_ns = self.now_ns();
        while self.last_ns.load(Ordering::Relaxed) < ended_ns
            && self.now_ns() - ended_ns < ns(GAP_MAX)
        {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.end().min(ns(GAP_MAX))
    }
}

/// The victim: yields until told to stop, and writes down when.
pub(super) async fn victim<R: AsyncRuntime>(flag: Arc<AtomicBool>, gap: Arc<Gap>) {
    while !stopped(&flag) {
        gap.polled();
        R::yield_now().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_kept_and_the_open_one_counts() {
        let gap = Gap::new();
        gap.begin();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(2) {}
        assert!(gap.end() >= 2_000_000, "the open gap");
        gap.polled();
        gap.polled();
        assert!(gap.end() >= 2_000_000, "the closed gap");
        gap.begin();
        assert!(gap.longest_ns.load(Ordering::Relaxed) == 0, "a round forgets the one before");
    }
}
