//! Which workers sleep, which search, and which has to be woken for new work.
//!
//! The protocol and the proof that no work is left behind by sleepers stand in
//! `README.md` beside this file.

use crate::primitives::Mutex;
use crate::primitives::atomic::{AtomicU64, SeqCst};

#[cfg(all(test, loom))]
mod loom_tests;

/// One sleeper more.
const SLEEPING: u64 = 1 << 32;
/// One searcher more.
const SEARCHING: u64 = 1;

#[derive(Debug)]
pub(crate) struct Idle {
    /// Searching workers in the low half, sleeping ones in the high half.
    /// Written by any thread; RMW only, all `SeqCst`.
    counts: AtomicU64,
    sleepers: Mutex<Sleepers>,
    workers: u32,
}

#[derive(Debug)]
struct Sleepers {
    /// Those that can be chosen, the one that fell asleep last at the end. It
    /// is woken first: its caches are the warmest.
    asleep: Vec<u32>,
    /// Those that count as awake, because a guest works in their place.
    covered: Vec<u32>,
}

/// What a worker that went to sleep still has to do.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Asleep {
    /// Nobody searches any more: look into all queues once more.
    LookAgain,
    /// Others are searching.
    OthersSearch,
}

/// How a worker comes back from its sleep.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Awake {
    /// Somebody chose it: it counts as searching already.
    Searching,
    /// It woke by itself or for a message of its own.
    Plain,
}

/// Takes a worker off a list, on which it is likely to have come lately.
fn take_out(list: &mut Vec<u32>, worker: u32) -> bool {
    let index = list.iter().rposition(|&other| other == worker);
    index.map(|index| list.remove(index)).is_some()
}

fn searching(counts: u64) -> u32 {
    counts as u32
}

fn sleeping(counts: u64) -> u32 {
    (counts >> 32) as u32
}

impl Idle {
    pub(crate) fn new(workers: u32) -> Self {
        Self {
            counts: AtomicU64::new(0),
            sleepers: Mutex::new(Sleepers {
                asleep: Vec::with_capacity(workers as usize),
                covered: Vec::with_capacity(workers as usize),
            }),
            workers,
        }
    }

    /// Chooses a sleeper for work that was just made visible. The caller must
    /// unpark it.
    ///
    /// The caller has put a full fence between making the work visible and
    /// this call.
    #[inline]
    #[must_use]
    pub(crate) fn notify(&self) -> Option<u32> {
        if self.wants_searcher() { self.notify_slow() } else { None }
    }

    /// Whether somebody sleeps and nobody searches. The fence as for `notify`.
    #[inline]
    #[must_use]
    pub(crate) fn wants_searcher(&self) -> bool {
        // SeqCst: the waker's half of the store-buffering pattern with
        // `sleep` and `stop_searching`; see the README.
        let counts = self.counts.load(SeqCst);
        // That is: `sleeping` is not 0, and `searching` is.
        counts != 0 && searching(counts) == 0
    }

    #[cold]
    fn notify_slow(&self) -> Option<u32> {
        let mut sleepers = self.sleepers.lock();
        // Again, because another waker may have been faster. SeqCst: as above.
        if searching(self.counts.load(SeqCst)) != 0 {
            return None;
        }
        let worker = sleepers.asleep.pop()?;
        self.counts.fetch_add(SEARCHING.wrapping_sub(SLEEPING), SeqCst);
        Some(worker)
    }

    /// Asks to become a searcher. At most half of the workers search at a
    /// time: more only get into each other's way.
    #[must_use]
    pub(crate) fn start_searching(&self) -> bool {
        // SeqCst: part of the word's single order; the limit is soft.
        if 2 * searching(self.counts.load(SeqCst)) >= self.workers {
            return false;
        }
        self.counts.fetch_add(SEARCHING, SeqCst);
        true
    }

    /// A searcher has found work. True if it was the last one: then it must
    /// look whether there is more, and have somebody woken for it.
    #[must_use]
    pub(crate) fn stop_searching(&self) -> bool {
        // SeqCst: see the README.
        searching(self.counts.fetch_sub(SEARCHING, SeqCst)) == 1
    }

    /// Counts a worker as asleep. It must then do as told, and park. `prepare`
    /// is called before it can be chosen.
    pub(crate) fn sleep(&self, worker: u32, was_searching: bool, prepare: impl FnOnce()) -> Asleep {
        let mut sleepers = self.sleepers.lock();
        prepare();
        let change = if was_searching { SLEEPING.wrapping_sub(SEARCHING) } else { SLEEPING };
        // SeqCst: the sleeper's half of the store-buffering pattern with
        // `notify`.
        let before = self.counts.fetch_add(change, SeqCst);
        sleepers.asleep.push(worker);
        // Also for a worker that was not searching itself, because it was turned
        // down by `start_searching`: whoever was searching then may have found
        // work and looked around before this worker counted as a sleeper.
        if searching(before) == u32::from(was_searching) {
            Asleep::LookAgain
        } else {
            Asleep::OthersSearch
        }
    }

    /// Counts a worker that left its parker as awake.
    pub(crate) fn wake(&self, worker: u32) -> Awake {
        self.end_sleep(&mut self.sleepers.lock(), worker)
    }

    fn end_sleep(&self, sleepers: &mut Sleepers, worker: u32) -> Awake {
        if take_out(&mut sleepers.covered, worker) {
            // It already counted as awake. From here on the guest works beside it,
            // and not in its place.
            return Awake::Plain;
        }
        if !take_out(&mut sleepers.asleep, worker) {
            return Awake::Searching;
        }
        self.counts.fetch_sub(SLEEPING, SeqCst);
        Awake::Plain
    }

    /// As `wake`, if `is_ours` says that the sleep is still one that the caller may end. It
    /// is asked under the lock, so that the worker cannot wake and sleep anew in between.
    #[must_use]
    pub(crate) fn wake_if(&self, worker: u32, is_ours: impl FnOnce() -> bool) -> Option<Awake> {
        let mut sleepers = self.sleepers.lock();
        is_ours().then(|| self.end_sleep(&mut sleepers, worker))
    }

    /// Counts a sleeper as awake and busy, as if it had woken by itself: the one that fell asleep
    /// last of those of which `take` gets something. For a thread that goes on as that worker.
    #[must_use]
    pub(crate) fn wake_any<T>(&self, mut take: impl FnMut(u32) -> Option<T>) -> Option<T> {
        // A glance at the word, as in `cover`. SeqCst: as everywhere; nothing depends on it.
        if sleeping(self.counts.load(SeqCst)) == 0 {
            return None;
        }
        let mut sleepers = self.sleepers.lock();
        let asleep = sleepers.asleep.iter().enumerate().rev();
        let (index, taken) =
            { asleep }.find_map(|(index, &worker)| Some((index, take(worker)?)))?;
        sleepers.asleep.remove(index);
        self.counts.fetch_sub(SLEEPING, SeqCst);
        Some(taken)
    }

    /// Takes a sleeper's place: it stays asleep, but counts as awake and busy.
    /// `before_wake` is told which, before the sleeper can wake.
    #[must_use]
    pub(crate) fn cover(&self, before_wake: impl FnOnce(u32)) -> Option<u32> {
        // A glance at the word, whose lock it need not take in vain. SeqCst:
        // as everywhere; nothing depends on it.
        if sleeping(self.counts.load(SeqCst)) == 0 {
            return None;
        }
        let mut sleepers = self.sleepers.lock();
        if sleepers.asleep.is_empty() {
            return None;
        }
        // The one that has slept for longest, or has no thread yet: it is not needed, and those
        // that would be woken first are left for whoever has work for them.
        let worker = sleepers.asleep.remove(0);
        sleepers.covered.push(worker);
        before_wake(worker);
        // To all others, this is a sleeper that woke by itself.
        self.counts.fetch_sub(SLEEPING, SeqCst);
        Some(worker)
    }

    /// Gives a sleeper its place back; none if it has woken meanwhile. Otherwise the
    /// caller must look again in the worker's stead if the result says so.
    /// `before_sleep` is called before the sleeper can sleep anew.
    #[must_use]
    pub(crate) fn uncover(&self, worker: u32, before_sleep: impl FnOnce()) -> Option<Asleep> {
        let mut sleepers = self.sleepers.lock();
        before_sleep();
        if !take_out(&mut sleepers.covered, worker) {
            return None;
        }
        // Where `cover` has found it: it has slept all the while.
        sleepers.asleep.insert(0, worker);
        // SeqCst: as in `sleep`.
        let before = self.counts.fetch_add(SLEEPING, SeqCst);
        Some(if searching(before) == 0 { Asleep::LookAgain } else { Asleep::OthersSearch })
    }

    /// Whether all workers sleep. The fence as for `notify`.
    pub(crate) fn is_all_asleep(&self) -> bool {
        // SeqCst: as everywhere.
        sleeping(self.counts.load(SeqCst)) == self.workers
    }

    /// Workers that search and that sleep, at some moment.
    pub(crate) fn counts(&self) -> (u32, u32) {
        let counts = self.counts.load(SeqCst);
        (searching(counts), sleeping(counts))
    }
}
