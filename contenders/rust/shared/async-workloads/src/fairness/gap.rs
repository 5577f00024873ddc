//! The longest gap between two polls of one task.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::background::stopped;
use super::ns;
use crate::AsyncRuntime;

/// A gap that is longer is counted as so long: a task that is starved for ever must not stop the
/// clock.
const GAP_MAX: Duration = Duration::from_secs(1);

/// What a gap is counted in.
#[derive(Debug)]
enum Ruler {
    /// In ns since then.
    Time(Instant),
    /// In polls of others, of which there were so many.
    Polls(AtomicU64),
}

/// When the victim was polled last, and its longest gap since the round began.
///
/// Relaxed throughout: each number stands for itself. A poll that races with the begin of a round
/// is counted in the round before or in this one.
#[derive(Debug)]
pub(super) struct Gap {
    ruler: Ruler,
    last: AtomicU64,
    longest: AtomicU64,
}

impl Gap {
    /// Counted in ns.
    pub(super) fn in_time() -> Arc<Self> {
        Self::by(Ruler::Time(Instant::now()))
    }

    /// Counted in polls of the tasks that call [`other_polled`](Self::other_polled).
    pub(super) fn in_polls() -> Arc<Self> {
        Self::by(Ruler::Polls(AtomicU64::new(0)))
    }

    fn by(ruler: Ruler) -> Arc<Self> {
        Arc::new(Self { ruler, last: AtomicU64::new(0), longest: AtomicU64::new(0) })
    }

    fn now(&self) -> u64 {
        match &self.ruler {
            Ruler::Time(epoch) => ns(epoch.elapsed()),
            Ruler::Polls(polls) => polls.load(Ordering::Relaxed),
        }
    }

    pub(super) fn counts_polls(&self) -> bool {
        matches!(self.ruler, Ruler::Polls(_))
    }

    /// A task that is not the victim was polled.
    pub(super) fn other_polled(&self) {
        if let Ruler::Polls(polls) = &self.ruler {
            polls.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn polled(&self) {
        let now = self.now();
        let last = self.last.swap(now, Ordering::Relaxed);
        self.longest.fetch_max(now.saturating_sub(last), Ordering::Relaxed);
    }

    /// Starts a round: the gap that is open now counts from here.
    pub(super) fn begin(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
        self.longest.store(0, Ordering::Relaxed);
    }

    /// The longest gap of the round, the one that is still open included.
    pub(super) fn end(&self) -> u64 {
        let open = self.now().saturating_sub(self.last.load(Ordering::Relaxed));
        self.longest.load(Ordering::Relaxed).max(open).max(1)
    }

    /// The same from a thread that can wait for the open gap to close, a second at most.
    pub(super) fn end_when_polled(&self) -> u64 {
        let (ended, waiting) = (self.now(), Instant::now());
        while self.last.load(Ordering::Relaxed) < ended && waiting.elapsed() < GAP_MAX {
            std::thread::sleep(Duration::from_micros(200));
        }
        match self.ruler {
            Ruler::Time(_) => self.end().min(ns(GAP_MAX)),
            Ruler::Polls(_) => self.end(),
        }
    }
}

/// A task of which each poll is counted.
pub(super) async fn seen<F: Future>(gap: Arc<Gap>, task: F) -> F::Output {
    let mut task = pin!(task);
    poll_fn(|cx| {
        gap.other_polled();
        task.as_mut().poll(cx)
    })
    .await
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
        let gap = Gap::in_time();
        gap.begin();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(2) {}
        assert!(gap.end() >= 2_000_000, "the open gap");
        gap.polled();
        gap.polled();
        assert!(gap.end() >= 2_000_000, "the closed gap");
        gap.begin();
        assert!(gap.longest.load(Ordering::Relaxed) == 0, "a round forgets the one before");
    }

    #[test]
    fn polls_of_others_are_a_gap_too() {
        let gap = Gap::in_polls();
        for _ in 0..3 {
            gap.other_polled();
        }
        gap.begin();
        for _ in 0..7 {
            gap.other_polled();
        }
        gap.polled();
        gap.other_polled();
        gap.polled();
        assert_eq!(gap.end(), 7);
    }
}
