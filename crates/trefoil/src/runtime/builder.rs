#[cfg(feature = "net")]
mod events;
#[cfg(all(feature = "fiber", unix, not(loom)))]
mod fibers;
mod stalls;
mod tasks;

use super::local::{LocalOptions, LocalRuntime};
use super::{Handle, RngSeed, Runtime};
#[cfg(feature = "net")]
use crate::reactor::EventLimits;
use crate::reactor::Reactor;
use crate::scheduler::affinity;
use crate::scheduler::histogram::{HistogramConfiguration, Histograms};
use crate::scheduler::{
    Affinity, Common, Hook, Hooks, Knobs, Scheduler, Seeds, blocking, current, multi,
};
use crate::task::{TaskHooks, discard};
use crate::time::{BlockOnTimers, Clock};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The name of all threads, unless the user has chosen another one.
const DEFAULT_NAME: &str = "trefoil-worker";

/// Configures and builds a [`Runtime`].
///
/// One builder can build several runtimes.
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
    task_hooks: TaskHooks,
    knobs: Knobs,
    has_schedule_latency: bool,
    schedule_latency: HistogramConfiguration,
    has_poll_time: bool,
    poll_time: HistogramConfiguration,
    start_paused: bool,
    has_time: bool,
    #[cfg(feature = "net")]
    has_io: bool,
    #[cfg(feature = "net")]
    event_limits: EventLimits,
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    slice: crate::fiber::Slice,
    stalls: stalls::StallOptions,
    name: Option<String>,
    rng_seed: Option<RngSeed>,
}

impl Builder {
    /// A builder for a runtime whose tasks run on the thread that is in
    /// [`block_on`](Runtime::block_on).
    pub fn new_current_thread() -> Self {
        Self::new(false)
    }

    /// A builder for a runtime with worker threads.
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
            task_hooks: TaskHooks::default(),
            knobs: Knobs {
                event_interval: 61,
                global_queue_interval: 61,
                search_rounds: multi::SEARCH_ROUNDS,
                hands_off_while_forking: true,
                serves_in_block_on: false,
                has_lifo_slot: true,
            },
            has_schedule_latency: false,
            schedule_latency: HistogramConfiguration::of_metrics(),
            has_poll_time: false,
            poll_time: HistogramConfiguration::of_metrics(),
            start_paused: false,
            has_time: false,
            #[cfg(feature = "net")]
            has_io: false,
            #[cfg(feature = "net")]
            event_limits: EventLimits::default(),
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            slice: crate::fiber::Slice::DEFAULT,
            stalls: Default::default(),
            name: None,
            rng_seed: None,
        }
    }

    /// Enables timers and, with the feature `net`, I/O, and all that later versions may have.
    pub fn enable_all(&mut self) -> &mut Self {
        #[cfg(feature = "net")]
        self.enable_io();
        self.enable_time()
    }

    /// Enables timers: without this, [`sleep`](crate::time::sleep) and its like panic. Timers cost
    /// nothing until they are used.
    pub fn enable_time(&mut self) -> &mut Self {
        self.has_time = true;
        self
    }

    /// The number of workers of a multi-thread runtime. It has no effect on a current-thread
    /// runtime.
    ///
    /// With three workers or more, only the first one has a thread from the beginning (and the
    /// monitor of [`progress`](crate::progress)). Each other worker gets its thread when it is
    /// woken for the first time, because there is more to do than the others can begin with, or
    /// something that is [pinned](super::Handle::spawn_pinned) to it. That costs whoever wakes it
    /// some 15 µs, once. The new thread may use the same CPUs as the one that has built the
    /// runtime; its signal mask, priority and the like come from the thread that wakes it. If the
    /// system gives no thread then, the others do what is not pinned to that worker, and the system
    /// is asked again. (A task pinned to each worker, and awaited, has all threads started; so has
    /// [`serve_in_block_on`](Builder::serve_in_block_on).)
    ///
    /// The default is the environment variable `TREFOIL_WORKER_THREADS`, if that is a number
    /// greater than 0, or else the number of CPUs that the process may use.
    ///
    /// # Panics
    /// If `n` is 0.
    #[track_caller]
    pub fn worker_threads(&mut self, n: usize) -> &mut Self {
        assert!(n > 0, "`worker_threads` must be 1 or more");
        self.worker_threads = Some(n);
        self
    }

    /// Pins each worker of a multi-thread runtime to the CPUs that `cpus` returns for it. Workers
    /// are counted from 0, and the numbers of the CPUs are the system's. By default, workers are
    /// not pinned.
    ///
    /// A thread that becomes a worker later is pinned like the thread before it: this happens when
    /// a task [blocks in place](crate::task::block_in_place), for example. The thread that was the
    /// worker before is unpinned. Unpinned threads of the runtime may use the same CPUs as the
    /// thread that has built the runtime. A thread that is started by a task inherits the CPUs of
    /// the task's worker.
    ///
    /// # Errors
    /// [`build`](Builder::build) then returns an error
    /// - of kind `InvalidInput` if the calling thread may not use one of the CPUs, if a worker has
    ///   no CPU, or if the runtime is a current-thread one, which has no workers of its own,
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

    /// The greatest number of threads that run blocking tasks at the same time: 512 by default.
    /// Workers do not count. Further blocking tasks wait in a queue without limit. While the
    /// runtime ends, the threads of its workers take of that queue, too.
    ///
    /// # Panics
    /// If `n` is 0.
    #[track_caller]
    pub fn max_blocking_threads(&mut self, n: usize) -> &mut Self {
        assert!(n > 0, "`max_blocking_threads` must be 1 or more");
        self.max_blocking_threads = n;
        self
    }

    /// How long an idle thread of the blocking pool waits for another closure before it ends: ten
    /// seconds by default.
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.thread_keep_alive = duration;
        self
    }

    /// The name of the runtime itself, which [`Handle::name`] returns. By default, it has none.
    ///
    /// # Panics
    /// If nothing but white space is in the name.
    #[track_caller]
    pub fn name(&mut self, name: impl Into<String>) -> &mut Self {
        let name = name.into();
        assert!(!name.trim().is_empty(), "the name of a runtime must not be empty");
        self.name = Some(name);
        self
    }

    /// The name of the runtime's threads: `trefoil-worker` by default. The thread that watches busy
    /// workers is always called `trefoil-monitor`. If there is a NUL in the name, it ends there.
    pub fn thread_name(&mut self, name: impl Into<String>) -> &mut Self {
        let name = name.into();
        self.thread_name_fn(move || name.clone())
    }

    /// A function that is called for the name of each new thread. If it panics, the thread gets the
    /// default name.
    pub fn thread_name_fn<F>(&mut self, f: F) -> &mut Self
    where
        F: Fn() -> String + Send + Sync + 'static,
    {
        // It is called where a thread has to be started to keep a promise. A panic would lose a
        // worker's state there, or an entry in the count of threads.
        self.thread_name = Arc::new(move || {
            catch_unwind(AssertUnwindSafe(&f)).unwrap_or_else(|payload| {
                discard(payload);
                DEFAULT_NAME.into()
            })
        });
        self
    }

    /// The size of the threads' stacks in bytes. The default is that of `std`: 2 MiB, unless the
    /// environment variable `RUST_MIN_STACK` says otherwise.
    pub fn thread_stack_size(&mut self, bytes: usize) -> &mut Self {
        self.thread_stack_bytes = Some(bytes);
        self
    }

    /// Calls `f` on each new thread of the runtime, before the thread's first task.
    pub fn on_thread_start<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.hooks.thread_start = hook(f);
        self
    }

    /// Calls `f` on each thread of the runtime that ends, after the thread's last task and before
    /// the drop of the runtime returns. Tasks that are left when the runtime shuts down may be
    /// dropped later than this call.
    pub fn on_thread_stop<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.hooks.thread_stop = hook(f);
        self
    }

    /// Calls `f` on a worker just before the worker goes to sleep.
    pub fn on_thread_park<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.hooks.thread_park = hook(f);
        self
    }

    /// Calls `f` on a worker just after the worker has woken.
    pub fn on_thread_unpark<F: Fn() + Send + Sync + 'static>(&mut self, f: F) -> &mut Self {
        self.hooks.thread_unpark = hook(f);
        self
    }

    /// The seed of the random numbers by which [`select!`](macro@crate::select) chooses its first
    /// branch, and [`mpmc::select!`](macro@crate::sync::mpmc::select) the order of its arms, so
    /// that a run can be repeated. By default, each thread has another one.
    ///
    /// The numbers of a worker depend on the seed and on the worker; those of the future of a
    /// `block_on` on how many there were before. In a current-thread runtime, its tasks have the
    /// same.
    ///
    /// ```
    /// use trefoil::runtime::{Builder, RngSeed};
    ///
    /// fn chosen() -> Vec<u32> {
    ///     let seed = RngSeed::from_bytes(b"of this test");
    ///     let runtime = Builder::new_current_thread().rng_seed(seed).build().unwrap();
    ///     runtime.block_on(async {
    ///         let mut chosen = Vec::new();
    ///         for _ in 0..10 {
    ///             chosen.push(trefoil::select! { n = async { 1 } => n, n = async { 2 } => n });
    ///         }
    ///         chosen
    ///     })
    /// }
    /// assert_eq!(chosen(), chosen());
    /// ```
    pub fn rng_seed(&mut self, seed: RngSeed) -> &mut Self {
        self.rng_seed = Some(seed);
        self
    }

    /// The number of polls after which a worker does its periodic work, such as waking what was
    /// deferred: 61 by default. A current-thread runtime looks at its timers then; a worker looks
    /// at them, and at whether its runtime has ended, every 8 polls.
    ///
    /// # Panics
    /// If `polls` is 0.
    #[track_caller]
    pub fn event_interval(&mut self, polls: u32) -> &mut Self {
        assert!(polls > 0, "`event_interval` must be 1 or more");
        self.knobs.event_interval = polls;
        self
    }

    /// The greatest number of polls after which a busy worker takes tasks from the shared queue: 61
    /// by default. A worker whose polls are long does so more often. With a small number, too, a
    /// poll of the worker's own tasks goes between two of these, so that they are not held up for
    /// ever.
    ///
    /// # Panics
    /// If `polls` is 0.
    #[track_caller]
    pub fn global_queue_interval(&mut self, polls: u32) -> &mut Self {
        assert!(polls > 0, "`global_queue_interval` must be 1 or more");
        self.knobs.global_queue_interval = polls;
        self
    }

    /// Has tasks that a worker wakes go to the back of its queue, and not to its LIFO slot.
    ///
    /// By default, the task that was woken last runs next, up to three times in a row, while what
    /// it was woken for is in the cache. It has no effect on a current-thread runtime, which has no
    /// such slot.
    pub fn disable_lifo_slot(&mut self) -> &mut Self {
        self.knobs.has_lifo_slot = false;
        self
    }

    /// How often a worker without work searches the queues of all other workers before it sleeps.
    /// More rounds find work sooner, and use more CPU time in vain.
    ///
    /// A worker on whose thread fibers wait looks as often, at most, for wake-ups of these by other
    /// threads. In either case, it makes fewer rounds where that has found nothing lately.
    pub fn search_rounds(&mut self, rounds: u32) -> &mut Self {
        self.knobs.search_rounds = rounds;
        self
    }

    /// Makes every worker measure how long a task that is ready waits for its poll: see
    /// [`RuntimeMetrics::schedule_latency_histogram_bucket_count`][count].
    ///
    /// Each poll then reads the clock twice, each wake-up reads it once, and each task takes eight
    /// more words of memory. A runtime that measures nothing pays nothing. The time is the
    /// system's, even if the runtime's clock is paused.
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
    ///     trefoil::spawn(async { std::thread::sleep(Duration::from_millis(1)) });
    ///     trefoil::spawn(async { "waits for the first one" }).await.unwrap();
    /// });
    /// let metrics = runtime.metrics();
    /// let late: u64 = (0..metrics.schedule_latency_histogram_num_buckets())
    ///     .filter(|&n| {
    ///         let range = metrics.schedule_latency_histogram_bucket_range(n);
    ///         range.start >= Duration::from_micros(900)
    ///     })
    ///     .map(|n| metrics.schedule_latency_histogram_bucket_count(0, n))
    ///     .sum();
    /// assert!(late >= 1);
    /// ```
    ///
    /// [count]: super::RuntimeMetrics::schedule_latency_histogram_bucket_count
    pub fn enable_metrics_schedule_latency_histogram(&mut self) -> &mut Self {
        self.has_schedule_latency = true;
        self
    }

    /// The buckets of the histogram of schedule latencies, if there is one. By default, ten
    /// of 100 µs each, the last of which counts all that is longer.
    pub fn metrics_schedule_latency_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.schedule_latency = configuration;
        self
    }

    /// Makes every worker measure how long its polls take: see
    /// [`RuntimeMetrics::poll_time_histogram_bucket_count`][count]. This costs as much as schedule
    /// latencies do, and both together cost no more than one of them.
    ///
    /// [count]: super::RuntimeMetrics::poll_time_histogram_bucket_count
    pub fn enable_metrics_poll_time_histogram(&mut self) -> &mut Self {
        self.has_poll_time = true;
        self
    }

    /// The buckets of the histogram of poll times, if there is one. By default, ten
    /// of 100 µs each, the last of which counts all that is longer.
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
    /// fork has ended. Other tasks wait until then, too, unless another worker has time for them.
    /// In return, forking starts no threads. This is meant for runtimes that do nothing but fork.
    /// It saves one atomic exchange for each task that forks and for each stolen closure, but
    /// nothing for the forks inside of them, and it saves the monitor's wake-ups.
    ///
    /// It has no effect on a current-thread runtime, whose forks are plain calls, or on a runtime
    /// with one worker.
    pub fn handoff_while_forking(&mut self, hands_off: bool) -> &mut Self {
        self.knobs.hands_off_while_forking = hands_off;
        self
    }

    /// Whether a thread in [`block_on`](Runtime::block_on) serves tasks while its future waits, in
    /// the place of a worker that sleeps: `false` by default.
    ///
    /// The future of `block_on` stays on the thread that calls it. That thread is no worker, so
    /// each message between the future and a task wakes a thread. With `true`, the calling thread
    /// takes the place of a sleeping worker, if there is one, and is that worker until the future
    /// has ended. A message between the future and a task of that worker then wakes no thread. As
    /// many threads compute as before. The worker's own thread sleeps meanwhile, and is the worker
    /// again when `block_on` returns. All workers have threads of their own from the beginning.
    ///
    /// What this changes for the future:
    /// - It waits while a task is being polled on its thread, for as long as that takes, also while
    ///   the task blocks there. Three more polls of tasks may go before it
    ///   ([`progress`](crate::progress)). So a task that blocks until the future does something may
    ///   wait for ever.
    /// - Tasks run on top of what the thread was doing when it called `block_on`. If it holds a
    ///   lock, a task that takes this lock waits for ever.
    ///
    /// And for the tasks:
    /// - What the future wakes or spawns runs when the future waits. If the future goes on for
    ///   long, other workers run it, and the worker's own thread becomes the worker again: within
    ///   two periods, and at once if the future [blocks in place](crate::task::block_in_place).
    /// - The thread has its own stack, name and thread-locals.
    ///   [`thread_stack_size`](Builder::thread_stack_size) and
    ///   [`on_thread_start`](Builder::on_thread_start) do not apply to it; the hooks around a
    ///   worker's sleep and [`worker_affinity`](Builder::worker_affinity) do.
    ///
    /// The future gets no place if no worker sleeps but one that waits for the system's events, if
    /// the thread runs or drives other tasks already (as in a `block_on` inside of
    /// `block_in_place`), or inside of a [`LocalSet`](crate::task::LocalSet). Then `block_on` is
    /// what it is without this, until it waits the next time: before each wait it asks again. So
    /// with one worker and sockets, a future that has lost its place does not get it back; and one
    /// that has it waits for the events itself.
    ///
    /// It has no effect on a current-thread runtime, where `block_on` serves all tasks.
    ///
    /// ```
    /// use trefoil::runtime::Builder;
    ///
    /// let runtime =
    ///     Builder::new_multi_thread().worker_threads(2).serve_in_block_on(true).build().unwrap();
    /// let sum = runtime.block_on(async {
    ///     let tasks: Vec<_> = (1..=10).map(|n| trefoil::spawn(async move { n })).collect();
    ///     let mut sum = 0;
    ///     for task in tasks {
    ///         sum += task.await.unwrap();
    ///     }
    ///     sum
    /// });
    /// assert_eq!(sum, 55);
    /// ```
    pub fn serve_in_block_on(&mut self, serves: bool) -> &mut Self {
        self.knobs.serves_in_block_on = serves;
        self
    }

    /// Starts the runtime with a paused clock: see [`time::pause`](crate::time::pause). Only a
    /// current-thread runtime can do so.
    #[cfg(feature = "test-util")]
    pub fn start_paused(&mut self, start_paused: bool) -> &mut Self {
        self.start_paused = start_paused;
        self
    }

    /// Builds a runtime whose tasks need not be `Send`: see [`LocalRuntime`].
    ///
    /// # Errors
    /// Those of [`build`](Builder::build).
    ///
    /// # Panics
    /// If the builder is for a multi-thread runtime.
    #[track_caller]
    pub fn build_local(&mut self, _options: LocalOptions) -> io::Result<LocalRuntime> {
        assert!(!self.is_multi, "`build_local` needs `Builder::new_current_thread`");
        self.build().map(LocalRuntime::from_runtime)
    }

    /// Builds the runtime, and starts the thread of its first worker: see
    /// [`worker_threads`](Builder::worker_threads).
    ///
    /// # Errors
    /// If the system cannot start that thread (or all of them, with
    /// [`serve_in_block_on`](Builder::serve_in_block_on)), or if workers cannot be pinned as
    /// [`worker_affinity`](Builder::worker_affinity) asks, or are a billion or more.
    ///
    /// # Panics
    /// If a multi-thread runtime is to start with a paused clock. Paused time jumps when nothing
    /// else is left to do, and only a single thread knows that.
    #[track_caller]
    pub fn build(&mut self) -> io::Result<Runtime> {
        assert!(
            !(self.is_multi && self.start_paused),
            "`start_paused` needs `Builder::new_current_thread`: only a single thread knows when \
             nothing else is left to do"
        );
        let histograms = Histograms {
            schedule_latency: self.has_schedule_latency.then_some(self.schedule_latency),
            poll_time: self.has_poll_time.then_some(self.poll_time),
        };
        let task_hooks = self.task_hooks.for_another();
        let workers =
            if self.is_multi { self.worker_threads.unwrap_or_else(default_workers) } else { 1 };
        let own_threads = if self.is_multi { workers } else { 0 };
        let affinity = match &self.worker_affinity {
            None => None,
            Some(request) if self.is_multi => Some(Affinity::new(request, workers)?),
            Some(_) => {
                let text = "a current-thread runtime has no workers to pin: pin the thread that \
                            calls `block_on`";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        };
        let stalls = self.stalls.stalls();
        let clock = Clock::new(!self.is_multi, self.start_paused);
        let common = Common {
            blocking: blocking::Pool::new(blocking::Config {
                max_threads: self.max_blocking_threads.saturating_add(own_threads),
                keep_alive: self.thread_keep_alive,
                hooks: self.hooks.clone(),
                thread_name: Arc::clone(&self.thread_name),
                thread_stack_bytes: self.thread_stack_bytes,
            }),
            clock,
            hooks: self.hooks.clone(),
            thread_stack_bytes: self.thread_stack_bytes,
            has_time: self.has_time,
            block_on_timers: BlockOnTimers::default(),
            reactor: self.reactor(),
            #[cfg(all(feature = "signal", unix, not(loom)))]
            signals: Default::default(),
            tasks_elsewhere: Default::default(),
            woken_elsewhere: Default::default(),
            forced_yields: Default::default(),
            affinity,
            histograms,
            local: Default::default(),
            is_measured: histograms.any(),
            seeds: self.rng_seed.as_ref().map(Seeds::new),
            is_observed: histograms.any() || task_hooks.is_some() || stalls.is_some(),
            task_hooks,
            stalls,
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            slice: self.slice,
            id: super::Id::next(),
            name: self.name.clone(),
            process: std::process::id(),
        };
        let scheduler = if self.is_multi {
            Scheduler::Multi(multi::Shared::start(common, self.knobs, workers)?)
        } else {
            let mut knobs = self.knobs;
            if self.task_hooks.ends_with_panic {
                // The end comes after the poll that has panicked.
                knobs.event_interval = 1;
            }
            Scheduler::Current(current::Shared::new(common, knobs))
        };
        Ok(Runtime::from_handle(Handle { scheduler }))
    }
}

impl Builder {
    #[cfg(not(feature = "net"))]
    #[expect(clippy::unused_self, reason = "as with I/O")]
    fn reactor(&self) -> Option<Reactor> {
        None
    }
}

/// One worker per CPU that the process may use, unless `TREFOIL_WORKER_THREADS` says otherwise.
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
