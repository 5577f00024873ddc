use super::Handle;
use super::Runtime;
use super::histogram::{HistogramConfiguration, Histograms};
use super::local::{LocalOptions, LocalRuntime};
use crate::scheduler::affinity;
use crate::scheduler::{Affinity, Common, Hook, Hooks, Knobs, Scheduler, blocking, current, multi};
use crate::task::discard;
use crate::time::Clock;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The name of all threads, unless the user has another.
const DEFAULT_NAME: &str = "trefoil-worker";

/// Configures and makes a [`Runtime`].
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// let runtime = trefoil::runtime::Builder::new_multi_thread()
///     .worker_threads(2)
///     .thread_name("kitchen")
///     .enable_all()
///     .build()?;
/// assert_eq!(runtime.block_on(async { 6 * 7 }), 42);
/// # Ok(())
/// # }
/// ```
pub struct Builder {
    is_multi: bool,
    worker_threads: Option<usize>,
    worker_affinity: Option<affinity::Request>,
    max_blocking_threads: usize,
    thread_keep_alive: Duration,
    thread_name: Arc<dyn Fn() -> String + Send + Sync>,
    thread_stack_bytes: Option<usize>,
    hooks: Hooks,
    knobs: Knobs,
    has_schedule_latency: bool,
    schedule_latency: HistogramConfiguration,
    has_poll_time: bool,
    poll_time: HistogramConfiguration,
    start_paused: bool,
    has_time: bool,
    name: Option<String>,
}

impl Builder {
    /// For a runtime whose tasks run on the thread that is in `block_on`.
    pub fn new_current_thread() -> Self {
        Self::new(false)
    }

    /// For a runtime with worker threads.
    pub fn new_multi_thread() -> Self {
        Self::new(true)
    }

    fn new(is_multi: bool) -> Self {
        Self {
            is_multi,
            worker_threads: None,
            worker_affinity: None,
            max_blocking_threads: 512,
            thread_keep_alive: Duration::from_secs(10),
            thread_name: Arc::new(|| DEFAULT_NAME.into()),
            thread_stack_bytes: None,
            hooks: Hooks::default(),
            knobs: Knobs {
                event_interval: 61,
                global_queue_interval: 61,
                search_rounds: multi::SEARCH_ROUNDS,
                hands_off_while_forking: true,
            },
            has_schedule_latency: false,
            schedule_latency: HistogramConfiguration::default(),
            has_poll_time: false,
            poll_time: HistogramConfiguration::default(),
            start_paused: false,
            has_time: false,
            name: None,
        }
    }

    /// Enables timers, and whatever else a runtime may have later.
    pub fn enable_all(&mut self) -> &mut Self {
        self.enable_time()
    }

    /// Enables timers: without this, making one panics. They cost nothing until
    /// they are used.
    pub fn enable_time(&mut self) -> &mut Self {
        self.has_time = true;
        self
    }

    /// How many workers a multi-thread runtime has: by default, one per core
    /// that the process may use.
    ///
    /// # Panics
    /// For 0.
    #[track_caller]
    pub fn worker_threads(&mut self, n: usize) -> &mut Self {
        assert!(n > 0, "`worker_threads` must be 1 or more");
        self.worker_threads = Some(n);
        self
    }

    /// Pins each worker of a multi-thread runtime to the CPUs that `cpus` names
    /// for it: workers are counted from 0, and CPUs are the system's. By
    /// default, the system moves workers as it likes.
    ///
    /// A thread that takes over a worker's place, as when a task
    /// [blocks in place](crate::task::block_in_place), is pinned like the one
    /// before. All other threads of the runtime may run wherever the thread
    /// that builds it may, and so may the one that gave its place away. But a
    /// thread that a task starts by itself inherits the CPUs of the task's
    /// worker.
    ///
    /// `build` returns an error
    /// - of kind `InvalidInput` for a CPU that the calling thread may not use,
    ///   for a worker without any CPU, and for a current-thread runtime, which
    ///   has no workers of its own,
    /// - of kind `Unsupported` on systems other than Linux.
    ///
    /// ```no_run
    /// # fn main() -> std::io::Result<()> {
    /// use trefoil::runtime::Builder;
    ///
    /// // Four workers, each with a CPU of its own, from CPU 4 on.
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(4)
    ///     .worker_affinity(|worker| [4 + worker])
    ///     .build()?;
    /// # drop(runtime);
    /// // Two of them on each half of eight CPUs.
    /// let runtime = Builder::new_multi_thread()
    ///     .worker_threads(4)
    ///     .worker_affinity(|worker| if worker < 2 { 0..4 } else { 4..8 })
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn worker_affinity<F, C>(&mut self, cpus: F) -> &mut Self
    where
        F: Fn(usize) -> C + Send + Sync + 'static,
        C: IntoIterator<Item = usize>,
    {
        self.worker_affinity = Some(Arc::new(move |worker| cpus(worker).into_iter().collect()));
        self
    }

    /// How many threads blocking tasks may have at a time: 512 by default.
    /// More tasks than that wait.
    ///
    /// # Panics
    /// For 0.
    #[track_caller]
    pub fn max_blocking_threads(&mut self, n: usize) -> &mut Self {
        assert!(n > 0, "`max_blocking_threads` must be 1 or more");
        self.max_blocking_threads = n;
        self
    }

    /// How long a thread of the blocking pool waits for more before it ends:
    /// ten seconds by default.
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.thread_keep_alive = duration;
        self
    }

    /// The name of the runtime itself.
    pub fn name(&mut self, name: impl Into<String>) -> &mut Self {
        self.name = Some(name.into());
        self
    }

    /// The name of all threads, but for the one that looks after busy workers,
    /// which is `trefoil-monitor`.
    pub fn thread_name(&mut self, name: impl Into<String>) -> &mut Self {
        let name = name.into();
        self.thread_name_fn(move || name.clone())
    }

    /// A function for the names of threads. Where it panics, the thread gets
    /// the default name.
    pub fn thread_name_fn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() -> String + Send + Sync + 'static,
    {
        // It is called where a thread has to be started to keep a promise, and
        // a core, or an entry in somebody's count, would be lost on the way.
        self.thread_name = Arc::new(move || {
            catch_unwind(AssertUnwindSafe(&f)).unwrap_or_else(|payload| {
                discard(payload);
                DEFAULT_NAME.into()
            })
        });
        self
    }

    /// The size of the threads' stacks, in bytes.
    pub fn thread_stack_size(&mut self, bytes: usize) -> &mut Self {
        self.thread_stack_bytes = Some(bytes);
        self
    }

    /// Runs `f` on each new thread, before its first task.
    pub fn on_thread_start<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.hooks.thread_start = hook(f);
        self
    }

    /// Runs `f` on each thread that ends, after its last task, and before the
    /// drop of the runtime returns. Tasks that are left at the runtime's end may
    /// be dropped after it.
    pub fn on_thread_stop<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.hooks.thread_stop = hook(f);
        self
    }

    /// Runs `f` on a worker just before it goes to sleep.
    pub fn on_thread_park<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.hooks.thread_park = hook(f);
        self
    }

    /// Runs `f` on a worker just after it has woken.
    pub fn on_thread_unpark<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.hooks.thread_unpark = hook(f);
        self
    }

    /// Polls between two looks at timers and messages from other threads.
    ///
    /// # Panics
    /// For 0.
    #[track_caller]
    pub fn event_interval(&mut self, polls: u32) -> &mut Self {
        assert!(polls > 0, "`event_interval` must be 1 or more");
        self.knobs.event_interval = polls;
        self
    }

    /// Polls between two looks at the shared queue, at most, while a worker has
    /// other work. Long polls make it look more often.
    ///
    /// # Panics
    /// For 0.
    #[track_caller]
    pub fn global_queue_interval(&mut self, polls: u32) -> &mut Self {
        assert!(polls > 0, "`global_queue_interval` must be 1 or more");
        self.knobs.global_queue_interval = polls;
        self
    }

    /// How long a worker without work goes on looking for some before it
    /// sleeps, in rounds through the other workers' queues. More rounds find
    /// work sooner, and burn more of the processor for nothing.
    pub fn search_rounds(&mut self, rounds: u32) -> &mut Self {
        self.knobs.search_rounds = rounds;
        self
    }

    /// Has every worker measure for how long the tasks that it polls have waited
    /// since they could run: see
    /// [`RuntimeMetrics::schedule_latency_histogram_bucket_count`].
    ///
    /// Each poll then reads the clock twice, each wake-up once, and tasks are
    /// three words longer. Runtimes that measure nothing pay nothing for it. The
    /// time is the system's, even in a runtime whose clock is paused.
    ///
    /// ```
    /// use std::time::Duration;
    /// use trefoil::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread()
    ///     .enable_metrics_schedule_latency_histogram()
    ///     .build()
    ///     .unwrap();
    /// runtime.block_on(async {
    ///     trefoil::spawn(async { std::thread::sleep(Duration::from_millis(3)) });
    ///     trefoil::spawn(async { "waits for the first one" }).await.unwrap();
    /// });
    /// let metrics = runtime.metrics();
    /// let late: u64 = (0..metrics.schedule_latency_histogram_num_buckets())
    ///     .filter(|&n| {
    ///         let range = metrics.schedule_latency_histogram_bucket_range(n);
    ///         range.end > Duration::from_millis(3)
    ///     })
    ///     .map(|n| metrics.schedule_latency_histogram_bucket_count(0, n))
    ///     .sum();
    /// assert!(late >= 1);
    /// ```
    ///
    /// [`RuntimeMetrics::schedule_latency_histogram_bucket_count`]: super::RuntimeMetrics::schedule_latency_histogram_bucket_count
    pub fn enable_metrics_schedule_latency_histogram(&mut self) -> &mut Self {
        self.has_schedule_latency = true;
        self
    }

    /// How the histogram of schedule latencies is divided, if there is one. By
    /// default, it is a [`LogHistogram`](super::LogHistogram) with its defaults.
    pub fn metrics_schedule_latency_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.schedule_latency = configuration;
        self
    }

    /// Has every worker measure how long its polls take: see
    /// [`RuntimeMetrics::poll_time_histogram_bucket_count`]. It costs what
    /// schedule latencies do, and both together cost no more.
    ///
    /// [`RuntimeMetrics::poll_time_histogram_bucket_count`]: super::RuntimeMetrics::poll_time_histogram_bucket_count
    pub fn enable_metrics_poll_time_histogram(&mut self) -> &mut Self {
        self.has_poll_time = true;
        self
    }

    /// How the histogram of poll times is divided, if there is one. By default,
    /// it is a [`LogHistogram`](super::LogHistogram) with its defaults.
    pub fn metrics_poll_time_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.poll_time = configuration;
        self
    }

    /// Whether a worker that [forks](crate::fork_join) for long hands its state off: `true` by
    /// default.
    ///
    /// A worker's state is its queue, its timers and the tasks that are pinned to it. A worker that
    /// forks offers its state to other threads, and reclaims it when the fork has ended. A monitor
    /// thread looks at the workers every 2 ms. If a worker has been forking since the last look, if
    /// work waits in its state, and if no other worker has time for that work, then the monitor
    /// retakes the state and hands it off to another thread, which is the worker from then on.
    ///
    /// With `false`, a worker keeps its state. Its pinned tasks and its timers then wait until the
    /// fork has ended. Other tasks wait until then, too, unless another worker has time for them. In
    /// return, forking starts no threads. This is meant for runtimes that do nothing but fork. It
    /// saves one atomic exchange for each task that forks and for each stolen closure, but nothing
    /// for the forks inside of them, and it saves the monitor's wake-ups.
    ///
    /// It has no effect on a current-thread runtime, whose forks are plain calls, or on a runtime
    /// with one worker.
    pub fn handoff_while_forking(&mut self, hands_off: bool) -> &mut Self {
        self.knobs.hands_off_while_forking = hands_off;
        self
    }

    /// Starts the runtime's clock paused: see [`time::pause`](crate::time::pause).
    #[cfg(feature = "test-util")]
    pub fn start_paused(&mut self, start_paused: bool) -> &mut Self {
        self.start_paused = start_paused;
        self
    }

    /// Makes a runtime whose tasks need not be `Send`: see [`LocalRuntime`].
    ///
    /// # Errors
    /// As [`build`](Builder::build).
    ///
    /// # Panics
    /// For a multi-thread runtime.
    #[track_caller]
    pub fn build_local(&mut self, _options: LocalOptions) -> io::Result<LocalRuntime> {
        assert!(!self.is_multi, "`build_local` needs `Builder::new_current_thread`");
        self.build().map(LocalRuntime::from_runtime)
    }

    /// Makes the runtime, and starts its workers.
    ///
    /// # Errors
    /// The system had no threads to give, or does not let them be pinned as
    /// [`worker_affinity`](Builder::worker_affinity) asks.
    ///
    /// # Panics
    /// For a multi-thread runtime with a paused clock: time can only jump when
    /// a single thread knows that nothing else is going on.
    #[track_caller]
    pub fn build(&mut self) -> io::Result<Runtime> {
        assert!(
            !(self.is_multi && self.start_paused),
            "`start_paused` needs `Builder::new_current_thread`: several workers do not know that \
             nothing but time can go on"
        );
        let histograms = Histograms {
            schedule_latency: self.has_schedule_latency.then_some(self.schedule_latency),
            poll_time: self.has_poll_time.then_some(self.poll_time),
        };
        let workers =
            if self.is_multi { self.worker_threads.unwrap_or_else(default_workers) } else { 1 };
        let affinity = match &self.worker_affinity {
            None => None,
            Some(request) if self.is_multi => Some(Affinity::new(request, workers)?),
            Some(_) => {
                let text = "a current-thread runtime has no workers to pin: pin the thread that \
                            calls `block_on`";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        };
        let clock = Clock::new(!self.is_multi, self.start_paused);
        let common = Common {
            blocking: blocking::Pool::new(blocking::Config {
                max_threads: self.max_blocking_threads + if self.is_multi { workers } else { 0 },
                keep_alive: self.thread_keep_alive,
                hooks: self.hooks.clone(),
                thread_name: Arc::clone(&self.thread_name),
                thread_stack_bytes: self.thread_stack_bytes,
            }),
            clock,
            hooks: self.hooks.clone(),
            thread_stack_bytes: self.thread_stack_bytes,
            has_time: self.has_time,
            tasks_elsewhere: Default::default(),
            affinity,
            histograms,
            is_measured: histograms.any(),
            id: super::Id::next(),
            name: self.name.clone(),
        };
        let scheduler = if self.is_multi {
            Scheduler::Multi(multi::Shared::start(common, self.knobs, workers)?)
        } else {
            Scheduler::Current(current::Shared::new(common, self.knobs))
        };
        Ok(Runtime::from_handle(Handle { scheduler }))
    }
}

/// One per core that the process may use, unless `TREFOIL_WORKER_THREADS` says
/// otherwise.
fn default_workers() -> usize {
    let asked = std::env::var("TREFOIL_WORKER_THREADS").ok().and_then(|n| n.parse().ok());
    asked
        .filter(|&n| n > 0)
        .or_else(|| std::thread::available_parallelism().ok().map(usize::from))
        .unwrap_or(1)
}

fn hook(f: impl Fn() + Send + Sync + 'static) -> Hook {
    Some(Arc::new(f))
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("is_multi", &self.is_multi)
            .field("worker_threads", &self.worker_threads)
            .field("max_blocking_threads", &self.max_blocking_threads)
            .field("thread_keep_alive", &self.thread_keep_alive)
            .field("knobs", &self.knobs)
            .finish_non_exhaustive()
    }
}
