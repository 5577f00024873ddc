//! The counters of schedulers. One thread writes each of them, and all may read them.

use super::histogram::TaskTimes;
use crate::primitives::Mutex;
use crate::primitives::atomic::{AtomicU64, Relaxed};
use crate::primitives::thread::{ThreadId, own_id};
use std::cell::Cell;

/// A number that one thread writes and all may read.
#[derive(Debug)]
pub(crate) struct Counter(AtomicU64);

impl Default for Counter {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl Counter {
    /// Only the counter's one writer may call this, or a thread under a lock.
    #[inline(always)]
    pub(crate) fn add(&self, n: u64) {
        // Relaxed, and not an RMW: statistics of a single writer.
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// For counters with many writers.
    pub(crate) fn add_shared(&self, n: u64) {
        // Relaxed: statistics.
        self.0.fetch_add(n, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        // Relaxed: statistics.
        self.0.load(Relaxed)
    }
}

/// The number of tasks, as a sum over many counters.
#[derive(Debug, Default)]
pub(crate) struct TaskCounters {
    pub(crate) spawned: Counter,
    pub(crate) ended: Counter,
}

/// The counters of one worker.
#[derive(Debug, Default)]
pub(crate) struct WorkerCounters {
    pub(crate) polls: Counter,
    pub(crate) parks: Counter,
    pub(crate) unparks: Counter,
    /// The time between two parks, added up.
    pub(crate) busy_ns: Counter,
    /// The tasks that were spawned on the worker, and that ended on it.
    pub(crate) tasks: TaskCounters,
    pub(crate) steals: Counter,
    pub(crate) stolen: Counter,
    pub(crate) overflows: Counter,
    pub(crate) wakes: Counter,
    /// The tasks that were woken on the worker; those that were spawned there are in `tasks`.
    pub(crate) woken: Counter,
    /// Parks before which no task was polled since the last one.
    pub(crate) noops: Counter,
    /// The thread that is the worker, or was the last to be it.
    pub(crate) thread: Mutex<Option<ThreadId>>,
    /// The worker's histograms, if the runtime keeps any.
    pub(crate) times: Option<Box<TaskTimes>>,
}

impl WorkerCounters {
    /// The calling thread is the worker from now on.
    pub(crate) fn note_thread(&self) {
        *self.thread.lock() = Some(own_id());
    }

    /// The worker goes to sleep, or ends. `before` is what it polled up to the last call of this.
    pub(crate) fn count_noop(&self, before: &Cell<u64>) {
        let polls = self.polls.get();
        if before.replace(polls) == polls {
            self.noops.add(1);
        }
    }

    pub(crate) fn new(times: Option<Box<TaskTimes>>) -> Self {
        Self { times, ..Self::default() }
    }
}
