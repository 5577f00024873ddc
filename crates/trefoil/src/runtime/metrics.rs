//! The counters of a runtime.

use crate::primitives::thread::ThreadId;
#[cfg(feature = "net")]
use crate::reactor::Reactor;
use crate::scheduler::histogram::{Histogram, HistogramConfiguration, TaskTimes};
use crate::scheduler::{Handle, TaskCounters, WorkerCounters};
use std::ops::Range;
use std::time::Duration;

/// A view of a runtime's counters.
///
/// The workers go on while a counter is read, so the numbers of different calls are not of the same
/// moment. Workers are counted from 0.
///
/// # Panics
/// All methods that name a worker panic if there is no such worker.
#[derive(Clone, Debug)]
pub struct RuntimeMetrics {
    handle: Handle,
}

impl Handle {
    /// A view of the runtime's counters.
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(self.clone())
    }
}

impl RuntimeMetrics {
    pub(crate) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    #[track_caller]
    fn worker(&self, worker: usize) -> &WorkerCounters {
        self.handle.counters(worker)
    }

    /// The number of workers; 1 for a current-thread runtime.
    pub fn num_workers(&self) -> usize {
        self.handle.workers()
    }

    /// The number of threads of the blocking pool. Idle threads count, and workers do not.
    pub fn num_blocking_threads(&self) -> usize {
        let threads = self.handle.common().blocking.threads();
        threads.saturating_sub(self.handle.worker_threads())
    }

    /// The number of idle threads of the blocking pool.
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.handle.common().blocking.idle_threads()
    }

    /// The number of blocking tasks that wait for a thread.
    pub fn blocking_queue_depth(&self) -> usize {
        self.handle.common().blocking.queued()
    }

    /// The number of tasks that were spawned and have not ended. Tasks of a
    /// [`LocalSet`](crate::task::LocalSet) and closures of the blocking pool do not count.
    pub fn num_alive_tasks(&self) -> usize {
        // The ends are read first. Otherwise a task that is spawned and ends between the two reads
        // would count as ended only.
        let ended = self.sum(|tasks| tasks.ended.get());
        self.spawned_tasks_count().saturating_sub(ended) as usize
    }

    /// The number of tasks that were ever spawned. Those of a
    /// [`LocalRuntime`](super::LocalRuntime) count, and those of a
    /// [`LocalSet`](crate::task::LocalSet) and closures of the blocking pool do not.
    pub fn spawned_tasks_count(&self) -> u64 {
        self.sum(|tasks| tasks.spawned.get())
    }

    fn sum(&self, f: impl Fn(&TaskCounters) -> u64) -> u64 {
        let workers = (0..self.num_workers()).map(|worker| f(&self.worker(worker).tasks));
        let local = self.handle.common().local.get().map_or(0, |set| f(set.counters()));
        workers.sum::<u64>() + f(&self.handle.common().tasks_elsewhere) + local
    }

    /// The number of tasks in the queue that all workers share. For a current-thread runtime, the
    /// number of tasks that other threads have spawned or woken and that its thread has not taken
    /// over.
    pub fn global_queue_depth(&self) -> usize {
        self.handle.global_queue_depth()
    }

    /// The number of tasks in a worker's own queue. The queue of a current-thread runtime belongs
    /// to the thread in `block_on`: on all other threads, this returns 0.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_local_queue_depth(&self, worker: usize) -> usize {
        self.handle.local_queue_depth(worker)
    }

    /// How often tasks were queued from outside: spawned or woken by a thread that is no worker of
    /// this runtime. Tasks that were spawned when the runtime had shut down count, too.
    pub fn remote_schedule_count(&self) -> u64 {
        self.handle.common().scheduled_elsewhere()
    }

    /// How often a worker has queued tasks: those that were spawned or woken on it, by others or by
    /// themselves. Tasks of a [`LocalSet`](crate::task::LocalSet) do not count.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_local_schedule_count(&self, worker: usize) -> u64 {
        let counters = self.worker(worker);
        counters.tasks.spawned.get() + counters.woken.get()
    }

    /// How many polls had to yield because the budget of their task was spent: see
    /// [`task::coop`](crate::task::coop). The future of a `block_on` counts like a task.
    pub fn budget_forced_yield_count(&self) -> u64 {
        self.handle.common().forced_yields.get()
    }

    /// How many polls have kept their worker for too long: see
    /// [`Builder::stall_bound`](crate::runtime::Builder::stall_bound). 0 if nobody looks for them.
    pub fn stall_count(&self) -> u64 {
        self.handle.common().stalls.as_ref().map_or(0, |stalls| stalls.count.get())
    }

    /// The thread that is a worker, or was the last to be it: another thread may become the worker
    /// when a task blocks in place. None if no thread was the worker so far.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_thread_id(&self, worker: usize) -> Option<ThreadId> {
        *self.worker(worker).thread.lock()
    }

    /// How often a worker went to sleep without having polled a task since it last woke: it was
    /// woken in vain, or for something else than tasks.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_noop_count(&self, worker: usize) -> u64 {
        self.worker(worker).noops.get()
    }

    /// The mean duration of a worker's polls, in which each poll counts a tenth less than the next
    /// one. It is zero unless the runtime measures its tasks: see
    /// [`Builder::enable_metrics_poll_time_histogram`][enable].
    ///
    /// # Panics
    /// If there is no such worker.
    ///
    /// [enable]: super::Builder::enable_metrics_poll_time_histogram
    #[track_caller]
    pub fn worker_mean_poll_time(&self, worker: usize) -> Duration {
        let times = self.worker(worker).times.as_deref();
        times.map_or(Duration::ZERO, TaskTimes::mean_poll_time)
    }

    /// The number of a worker's polls of tasks. In a current-thread runtime, polls of a
    /// [`LocalSet`](crate::task::LocalSet)'s tasks count, too.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_poll_count(&self, worker: usize) -> u64 {
        self.worker(worker).polls.get()
    }

    /// How often a worker went to sleep.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.worker(worker).parks.get()
    }

    /// How often a worker went to sleep plus how often it woke. The number is odd while it sleeps.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_park_unpark_count(&self, worker: usize) -> u64 {
        let counters = self.worker(worker);
        counters.parks.get() + counters.unparks.get()
    }

    /// How long a worker was awake, up to the moment when it last went to sleep. In a
    /// current-thread runtime, only the time in `block_on` counts.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        Duration::from_nanos(self.worker(worker).busy_ns.get())
    }

    /// How many tasks a worker has stolen from others.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_steal_count(&self, worker: usize) -> u64 {
        self.worker(worker).stolen.get()
    }

    /// How often a worker has stolen from another. Each time may have moved several tasks.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_steal_operations(&self, worker: usize) -> u64 {
        self.worker(worker).steals.get()
    }

    /// How often a worker's own queue was full.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_overflow_count(&self, worker: usize) -> u64 {
        self.worker(worker).overflows.get()
    }

    /// How often a worker has woken another one.
    ///
    /// # Panics
    /// If there is no such worker.
    #[track_caller]
    pub fn worker_wake_count(&self, worker: usize) -> u64 {
        self.worker(worker).wakes.get()
    }

    /// Whether the runtime measures how long ready tasks wait for their polls: see
    /// [`Builder::enable_metrics_schedule_latency_histogram`][enable].
    ///
    /// [enable]: super::Builder::enable_metrics_schedule_latency_histogram
    pub fn schedule_latency_histogram_enabled(&self) -> bool {
        self.handle.common().histograms.schedule_latency.is_some()
    }

    /// The number of buckets of the histogram of schedule latencies; 0 if there is none.
    pub fn schedule_latency_histogram_num_buckets(&self) -> usize {
        let configuration = &self.handle.common().histograms.schedule_latency;
        configuration.as_ref().map_or(0, HistogramConfiguration::buckets)
    }

    /// The range of latencies that a bucket counts.
    ///
    /// # Panics
    /// If there is no such bucket. Without a histogram, all ranges are empty.
    #[track_caller]
    pub fn schedule_latency_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        range(self.handle.common().histograms.schedule_latency.as_ref(), bucket)
    }

    /// How many polls of a worker came after a wait within the bucket's range. A task waits from
    /// the moment when it was spawned or woken. A task that was woken during its own poll waits
    /// from the end of that poll.
    ///
    /// # Panics
    /// If there is no such worker or no such bucket. Without a histogram, all counts are 0.
    #[track_caller]
    pub fn schedule_latency_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        let times = self.worker(worker).times.as_deref();
        count(times.and_then(|times| times.schedule_latency.as_ref()), bucket)
    }

    /// Whether the runtime measures how long polls take: see
    /// [`Builder::enable_metrics_poll_time_histogram`][enable].
    ///
    /// [enable]: super::Builder::enable_metrics_poll_time_histogram
    pub fn poll_time_histogram_enabled(&self) -> bool {
        self.handle.common().histograms.poll_time.is_some()
    }

    /// The number of buckets of the histogram of poll times; 0 if there is none.
    pub fn poll_time_histogram_num_buckets(&self) -> usize {
        let configuration = &self.handle.common().histograms.poll_time;
        configuration.as_ref().map_or(0, HistogramConfiguration::buckets)
    }

    /// The range of durations that a bucket counts.
    ///
    /// # Panics
    /// If there is no such bucket. Without a histogram, all ranges are empty.
    #[track_caller]
    pub fn poll_time_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        range(self.handle.common().histograms.poll_time.as_ref(), bucket)
    }

    /// How many polls of a worker took a time within the bucket's range. A poll counts when it has
    /// ended, for the worker that began it.
    ///
    /// # Panics
    /// If there is no such worker or no such bucket. Without a histogram, all counts are 0.
    #[track_caller]
    pub fn poll_time_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        let times = self.worker(worker).times.as_deref();
        count(times.and_then(|times| times.poll_time.as_ref()), bucket)
    }

    /// How many sources of events (sockets, signals, children) were registered; 0 without I/O.
    #[cfg(feature = "net")]
    pub fn io_driver_fd_registered_count(&self) -> u64 {
        self.handle.common().reactor.as_ref().map_or(0, Reactor::registered)
    }

    /// How many of these sources have gone.
    #[cfg(feature = "net")]
    pub fn io_driver_fd_deregistered_count(&self) -> u64 {
        self.handle.common().reactor.as_ref().map_or(0, Reactor::gone)
    }

    /// How many events of sources the system has reported.
    #[cfg(feature = "net")]
    pub fn io_driver_ready_count(&self) -> u64 {
        self.handle.common().reactor.as_ref().map_or(0, Reactor::events)
    }
}

#[track_caller]
fn range(configuration: Option<&HistogramConfiguration>, bucket: usize) -> Range<Duration> {
    // No closures: the panics name the caller's line.
    match configuration {
        Some(configuration) => configuration.range(bucket),
        None => Range::default(),
    }
}

#[track_caller]
fn count(histogram: Option<&Histogram>, bucket: usize) -> u64 {
    match histogram {
        Some(histogram) => histogram.count(bucket),
        None => 0,
    }
}
