//! Numbers about a runtime's life.

use super::handle::Handle;
use super::histogram::{Histogram, HistogramConfiguration};
use crate::scheduler::{TaskCounters, WorkerCounters};
use std::ops::Range;
use std::time::Duration;

/// A view of a runtime's counters.
///
/// All numbers are read while the workers go on, so those of different calls
/// need not fit together.
#[derive(Clone, Debug)]
pub struct RuntimeMetrics {
    handle: Handle,
}

impl RuntimeMetrics {
    pub(crate) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    fn worker(&self, worker: usize) -> &WorkerCounters {
        self.handle.counters(worker)
    }

    /// Worker threads of the runtime; 1 for a single-threaded one.
    pub fn num_workers(&self) -> usize {
        self.handle.workers()
    }

    /// Threads of the blocking pool, idle ones included, and the workers not.
    pub fn num_blocking_threads(&self) -> usize {
        let threads = self.handle.common().blocking.threads();
        threads.saturating_sub(self.handle.worker_threads())
    }

    /// Idle threads of the blocking pool.
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.handle.common().blocking.idle_threads()
    }

    /// Blocking tasks that wait for a thread.
    pub fn blocking_queue_depth(&self) -> usize {
        self.handle.common().blocking.queued()
    }

    /// Tasks that were spawned and have not ended. Those of a
    /// [`LocalSet`](crate::task::LocalSet), and closures of the blocking pool, do
    /// not count.
    pub fn num_alive_tasks(&self) -> usize {
        // In this order, so that no task is seen to have ended that was not seen
        // to be spawned, save for one that ends while it is being counted.
        let ended = self.sum(|tasks| tasks.ended.get());
        self.spawned_tasks_count().saturating_sub(ended) as usize
    }

    /// Tasks that were ever spawned; the same do not count.
    pub fn spawned_tasks_count(&self) -> u64 {
        self.sum(|tasks| tasks.spawned.get())
    }

    fn sum(&self, f: impl Fn(&TaskCounters) -> u64) -> u64 {
        let workers = (0..self.num_workers()).map(|worker| f(&self.worker(worker).tasks));
        workers.sum::<u64>() + f(&self.handle.common().tasks_elsewhere)
    }

    /// Tasks that wait in the queue shared by all workers. A current-thread
    /// runtime has none, and says 0.
    pub fn global_queue_depth(&self) -> usize {
        self.handle.global_queue_depth()
    }

    /// Tasks that wait in a worker's own queue. That of a current-thread runtime
    /// belongs to the thread in `block_on`: all others are told 0.
    ///
    /// # Panics
    /// If there is no such worker; so do all methods that name one.
    pub fn worker_local_queue_depth(&self, worker: usize) -> usize {
        self.handle.local_queue_depth(worker)
    }

    /// How often a worker has polled tasks, those of a
    /// [`LocalSet`](crate::task::LocalSet) that a current-thread runtime drives
    /// included.
    pub fn worker_poll_count(&self, worker: usize) -> u64 {
        self.worker(worker).polls.get()
    }

    /// How often a worker went to sleep.
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.worker(worker).parks.get()
    }

    /// How often a worker went to sleep and was woken, together: odd while it
    /// sleeps.
    pub fn worker_park_unpark_count(&self, worker: usize) -> u64 {
        let counters = self.worker(worker);
        counters.parks.get() + counters.unparks.get()
    }

    /// For how long a worker was awake, up to when it last went to sleep. For a
    /// current-thread runtime, only the time in `block_on` counts.
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        Duration::from_nanos(self.worker(worker).busy_ns.get())
    }

    /// How many tasks a worker has taken from others.
    pub fn worker_steal_count(&self, worker: usize) -> u64 {
        self.worker(worker).stolen.get()
    }

    /// How often a worker has taken tasks from another.
    pub fn worker_steal_operations(&self, worker: usize) -> u64 {
        self.worker(worker).steals.get()
    }

    /// How often a worker's own queue was full.
    pub fn worker_overflow_count(&self, worker: usize) -> u64 {
        self.worker(worker).overflows.get()
    }

    /// How often a worker has had another one woken.
    pub fn worker_wake_count(&self, worker: usize) -> u64 {
        self.worker(worker).wakes.get()
    }

    /// Whether the runtime measures for how long tasks that could run wait:
    /// see [`Builder::enable_metrics_schedule_latency_histogram`].
    ///
    /// [`Builder::enable_metrics_schedule_latency_histogram`]: super::Builder::enable_metrics_schedule_latency_histogram
    pub fn schedule_latency_histogram_enabled(&self) -> bool {
        self.handle.common().histograms.schedule_latency.is_some()
    }

    /// Buckets of the histogram of schedule latencies; 0 without one.
    pub fn schedule_latency_histogram_num_buckets(&self) -> usize {
        let configuration = &self.handle.common().histograms.schedule_latency;
        configuration.as_ref().map_or(0, HistogramConfiguration::buckets)
    }

    /// Which latencies a bucket counts.
    ///
    /// # Panics
    /// If there is no such bucket, as when there is no histogram.
    #[track_caller]
    pub fn schedule_latency_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        range(self.handle.common().histograms.schedule_latency.as_ref(), bucket)
    }

    /// How many of the tasks that a worker polled had waited for so long since
    /// they could run: since they were spawned or woken, or, if that was in the
    /// middle of a poll of theirs, since the end of that poll.
    ///
    /// # Panics
    /// If there is no such worker or bucket, as when there is no histogram.
    #[track_caller]
    pub fn schedule_latency_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        let times = self.worker(worker).times.as_deref();
        count(times.and_then(|times| times.schedule_latency.as_ref()), bucket)
    }

    /// Whether the runtime measures how long polls take: see
    /// [`Builder::enable_metrics_poll_time_histogram`].
    ///
    /// [`Builder::enable_metrics_poll_time_histogram`]: super::Builder::enable_metrics_poll_time_histogram
    pub fn poll_time_histogram_enabled(&self) -> bool {
        self.handle.common().histograms.poll_time.is_some()
    }

    /// Buckets of the histogram of poll times; 0 without one.
    pub fn poll_time_histogram_num_buckets(&self) -> usize {
        let configuration = &self.handle.common().histograms.poll_time;
        configuration.as_ref().map_or(0, HistogramConfiguration::buckets)
    }

    /// Which times a bucket counts.
    ///
    /// # Panics
    /// If there is no such bucket, as when there is no histogram.
    #[track_caller]
    pub fn poll_time_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        range(self.handle.common().histograms.poll_time.as_ref(), bucket)
    }

    /// How many of a worker's polls took that long. A poll counts when it is
    /// over, for the worker that began it.
    ///
    /// # Panics
    /// If there is no such worker or bucket, as when there is no histogram.
    #[track_caller]
    pub fn poll_time_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        let times = self.worker(worker).times.as_deref();
        count(times.and_then(|times| times.poll_time.as_ref()), bucket)
    }
}

#[track_caller]
fn range(configuration: Option<&HistogramConfiguration>, bucket: usize) -> Range<Duration> {
    configuration.expect("the runtime does not keep this histogram").range(bucket)
}

#[track_caller]
fn count(histogram: Option<&Histogram>, bucket: usize) -> u64 {
    histogram.expect("the runtime does not keep this histogram").count(bucket)
}
