//! A runtime under test, and how its polls are read.

use parking_lot::Mutex;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};
use trefoil::runtime::{Builder, Handle, Runtime, RuntimeMetrics};
use trefoil::task::{spawn_pinned, yield_now};
use trefoil::time::{Sleep, sleep};

/// How long a test waits at most: under a sanitizer, beside builds, a second becomes twenty.
/// No promise of the page depends on it.
pub(crate) const WATCHDOG: Duration = Duration::from_secs(60);

thread_local! {
    /// The worker that this thread started as. It is still that worker unless a state is retaken.
    static WORKER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The worker of this thread. `None` on a thread that is no worker.
pub(crate) fn worker() -> Option<usize> {
    WORKER.get()
}

/// Waits until `is_so`; panics if that takes for ever.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < WATCHDOG, "waited in vain: {what}");
        thread::sleep(Duration::from_micros(50));
    }
}

/// A timer whose first poll was pending, with this waker. It may be due by then, if the machine is
/// busy: then there is another one.
pub(crate) fn timer_that_waits(duration: Duration, waker: &Waker) -> Pin<Box<Sleep>> {
    let mut timer = Box::pin(sleep(duration));
    while timer.as_mut().poll(&mut Context::from_waker(waker)).is_ready() {
        timer.set(sleep(duration));
    }
    timer
}

/// An event that happens once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Event(Arc<AtomicBool>);

impl Event {
    pub(crate) fn happens(&self) {
        self.0.store(true, SeqCst);
    }

    pub(crate) fn has_happened(&self) -> bool {
        self.0.load(SeqCst)
    }

    #[track_caller]
    pub(crate) fn wait(&self, what: &str) {
        wait_for(what, || self.has_happened());
    }

    /// Occupies the thread until the event happens. This has a time limit, so that a failed test
    /// ends.
    pub(crate) fn hold(&self) {
        let start = Instant::now();
        while !self.has_happened() && start.elapsed() < 2 * WATCHDOG {
            thread::sleep(Duration::from_micros(50));
        }
    }
}

/// An event that happens when this is dropped, also by a panic. It ends a long poll.
pub(crate) struct OnDrop(pub(crate) Event);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.happens();
    }
}

/// A runtime with everything that loads it.
pub(crate) struct Rig {
    runtime: Option<Runtime>,
    pub(crate) metrics: RuntimeMetrics,
    pub(crate) workers: usize,
    /// The number of pinned tasks of each worker that are always ready.
    pub(crate) pinned: Arc<AtomicU64>,
    pub(crate) stop: Event,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
}

impl Rig {
    /// A runtime without any load.
    pub(crate) fn new(workers: usize) -> Self {
        Self::of(Builder::new_multi_thread().worker_threads(workers).enable_all())
    }

    pub(crate) fn of(builder: &mut Builder) -> Self {
        let runtime = builder.build().unwrap();
        let metrics = runtime.metrics();
        let rig = Self {
            workers: metrics.num_workers(),
            metrics,
            runtime: Some(runtime),
            pinned: Arc::default(),
            stop: Event::default(),
            threads: Mutex::default(),
        };
        rig.on_each(|worker| async move { WORKER.set(Some(worker)) });
        rig
    }

    /// A runtime in which, if there are several workers, each has a pinned task that yields for
    /// ever. So none of them ever searches, and tasks are polled by the worker that has them.
    /// Otherwise the count of its polls would not say how long a task has waited.
    pub(crate) fn kept_busy(workers: usize) -> Self {
        Self::new(workers).keep_busy()
    }

    pub(crate) fn keep_busy(self) -> Self {
        if self.workers > 1 {
            self.pinned.fetch_add(1, SeqCst);
            self.on_each(|worker| async move {
                drop(spawn_pinned(worker, async {
                    loop {
                        yield_now().await;
                    }
                }));
            });
        }
        self
    }

    /// As [`Rig::new`], after the runtime has become a period old, so that the monitor has started.
    pub(crate) fn monitored(workers: usize) -> Self {
        let rig = Self::new(workers);
        let start = Instant::now();
        // A worker looks every 8 polls whether it is time. At the last round it is.
        let mut is_time = false;
        while !is_time {
            is_time = start.elapsed() > Duration::from_millis(4);
            rig.on_each(|_| async {
                for _ in 0..10 {
                    yield_now().await;
                }
            });
        }
        rig
    }

    pub(crate) fn handle(&self) -> &Handle {
        self.runtime.as_ref().expect("until it is dropped").handle()
    }

    /// Runs a pinned task on each worker, to its end.
    pub(crate) fn on_each<F>(&self, mut make: impl FnMut(usize) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let handles: Vec<_> = (0..self.workers)
            .map(|worker| self.handle().spawn_pinned(worker, make(worker)))
            .collect();
        for handle in handles {
            self.handle().block_on(handle).unwrap();
        }
    }

    /// Starts a thread of the adversary, which runs until it is told to stop.
    pub(crate) fn thread(&self, body: impl Fn(&Handle) + Send + 'static) {
        let (handle, stop) = (self.handle().clone(), self.stop.clone());
        let thread = thread::spawn(move || {
            while !stop.has_happened() {
                body(&handle);
            }
        });
        self.threads.lock().push(thread);
    }

    /// The polls of all workers, as they are now.
    pub(crate) fn polls(&self) -> Counts {
        Counts::of(&self.metrics)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stop.happens();
        // This comes first, so that threads that wait for tasks are woken.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(WATCHDOG);
        }
        for thread in self.threads.lock().drain(..) {
            let _ = thread.join();
        }
    }
}

/// The number of polls that each worker had made at some moment.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    metrics: RuntimeMetrics,
    polls: Vec<u64>,
    stolen: u64,
    since: Instant,
}

/// How many tasks workers have stolen from each other.
fn stolen(metrics: &RuntimeMetrics) -> u64 {
    (0..metrics.num_workers()).map(|n| metrics.worker_steal_count(n)).sum()
}

impl Counts {
    pub(crate) fn of(metrics: &RuntimeMetrics) -> Self {
        let polls = (0..metrics.num_workers()).map(|n| metrics.worker_poll_count(n)).collect();
        Self { metrics: metrics.clone(), polls, stolen: stolen(metrics), since: Instant::now() }
    }

    /// Whether a task may have been in the ring of another worker since then, or in the shared
    /// queue, and be back: then it has waited for more polls than its worker's. The monitor passes
    /// on what has been in a ring for 33 periods of 2 ms; half of that is no doubt.
    pub(crate) fn may_have_been_elsewhere(&self) -> bool {
        let may_be_passed_on = self.since.elapsed() > Duration::from_millis(33);
        self.polls.len() > 1 && (may_be_passed_on || stolen(&self.metrics) != self.stolen)
    }

    /// How many polls the worker has made since then. Called in a poll, which does not count.
    pub(crate) fn between(&self, worker: usize) -> u64 {
        self.until(worker, self.metrics.worker_poll_count(worker))
    }

    /// As `between`, for the poll with the given number.
    pub(crate) fn until(&self, worker: usize, poll: u64) -> u64 {
        poll.saturating_sub(self.polls[worker] + 1)
    }
}

/// The measurements for one line of the page.
#[derive(Debug, Default)]
pub(crate) struct Worst {
    /// The bound and the measurement, where the two are nearest.
    nearest: Option<(u64, u64)>,
    seen: usize,
}

impl Worst {
    #[track_caller]
    pub(crate) fn add(&mut self, seen: u64, bound: u64, about: impl std::fmt::Debug) {
        assert!(seen <= bound, "{seen} polls, and the page promises {bound}: {about:?}");
        self.seen += 1;
        let is_nearer = |(old, old_bound): (u64, u64)| seen * old_bound > old * bound;
        if self.nearest.is_none_or(is_nearer) {
            self.nearest = Some((seen, bound));
        }
    }

    /// Prints the result, for `--nocapture`. Panics if nothing was measured.
    pub(crate) fn report(&self, line: &str) {
        let (seen, bound) = self.nearest.unwrap_or_else(|| panic!("{line}: nothing was measured"));
        println!("{line}: worst {seen} of {bound} polls, in {} measured", self.seen);
    }
}
