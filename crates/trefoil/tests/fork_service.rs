//! Which tasks are served, and which threads sleep, while workers fork for long.

mod support;

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use support::{fib, multi, start_workers};
use trefoil::fork_join::{fork_all, join};
use trefoil::runtime::{Builder, Runtime};

/// A test that waits in vain fails after this time, instead of hanging.
const GIVE_UP: Duration = Duration::from_secs(60);

/// Keeps the thread busy, with forks all the time or without any.
fn burn_while(forks: bool, goes_on: impl Fn() -> bool) {
    while goes_on() {
        if forks {
            join(|| fib(10), || fib(10));
        }
        std::hint::spin_loop();
    }
}

fn burn(until: Instant, forks: bool) {
    burn_while(forks, || Instant::now() < until);
}

/// Counts of progress. For each worker, there is the count of a task that is pinned to it and waits
/// for a timer again and again. The last count is that of tasks that are spawned from outside, one
/// after the other.
struct Pulse {
    counts: Vec<AtomicUsize>,
    is_over: AtomicBool,
}

impl Pulse {
    fn start(runtime: &Runtime) -> (Arc<Self>, thread::JoinHandle<()>) {
        let workers = runtime.metrics().num_workers();
        let pulse = Arc::new(Self {
            counts: (0..=workers).map(|_| AtomicUsize::new(0)).collect(),
            is_over: AtomicBool::new(false),
        });
        for worker in 0..workers {
            let pulse = Arc::clone(&pulse);
            drop(runtime.handle().spawn_pinned(worker, async move {
                while !pulse.is_over.load(SeqCst) {
                    trefoil::time::sleep(Duration::from_millis(1)).await;
                    pulse.counts[worker].fetch_add(1, SeqCst);
                }
            }));
        }
        let (its, handle) = (Arc::clone(&pulse), runtime.handle().clone());
        let outside = thread::spawn(move || {
            while !its.is_over.load(SeqCst) {
                handle.block_on(handle.spawn(async {})).unwrap();
                its.counts[workers].fetch_add(1, SeqCst);
            }
        });
        (pulse, outside)
    }

    fn counts(&self) -> Vec<usize> {
        self.counts.iter().map(|count| count.load(SeqCst)).collect()
    }

    fn has_made(&self, beats: usize, since: &[usize]) -> bool {
        self.counts().iter().zip(since).all(|(now, since)| now - since >= beats)
    }

    /// Forks legs that occupy the threads of all workers, until each count has grown by `beats`. If
    /// no other thread serves the workers meanwhile, this never ends.
    fn region<const WORKERS: usize>(&self, beats: usize, forks: bool) {
        let all_held = Barrier::new(WORKERS);
        let give_up = Instant::now() + GIVE_UP;
        let lives = fork_all([(); WORKERS].map(|()| {
            || {
                all_held.wait();
                let since = self.counts();
                burn_while(forks, || !self.has_made(beats, &since) && Instant::now() < give_up);
                self.has_made(beats, &since)
            }
        }));
        assert_eq!(lives, [true; WORKERS], "{:?}", self.counts());
    }
}

/// The number of threads of this process with the given name, on systems that tell it.
fn threads_named(name: &str) -> Option<usize> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let names = threads.flatten().map(|thread| std::fs::read_to_string(thread.path().join("comm")));
    Some(names.flatten().filter(|comm| comm.trim_end() == name).count())
}

/// Waits until so many threads have the given name. Threads of an earlier region or runtime may
/// still be about to end, and a new thread has the name of the one that started it, until it has
/// time to take its own.
fn await_threads_named(name: &str, expected: RangeInclusive<usize>) {
    let give_up = Instant::now() + GIVE_UP;
    while let Some(threads) = threads_named(name)
        && !expected.contains(&threads)
    {
        assert!(Instant::now() < give_up, "{threads} threads");
        thread::sleep(Duration::from_millis(1));
    }
}

fn beats_in_regions<const WORKERS: usize>() {
    let name = format!("pulse-{WORKERS}");
    for forks in [true, false] {
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name(&name)
            .enable_all()
            .build()
            .unwrap();
        let (pulse, outside) = Pulse::start(&runtime);
        for _ in 0..3 {
            let pulse = Arc::clone(&pulse);
            runtime
                .block_on(runtime.spawn(async move { pulse.region::<WORKERS>(20, forks) }))
                .unwrap();
            // The threads that forked, and the threads that have taken their places.
            await_threads_named(&name, WORKERS..=2 * WORKERS);
        }
        pulse.is_over.store(true, SeqCst);
        outside.join().unwrap();
    }
}

#[test]
fn two_workers_are_served_while_both_fork() {
    beats_in_regions::<2>();
}

#[test]
fn three_workers_are_served_while_all_fork() {
    beats_in_regions::<3>();
}

/// After a region in which worker states were retaken, there are as many workers as before. Each
/// still serves its tasks, and they can fork again.
#[test]
fn workers_are_whole_after_a_take_over() {
    let runtime = multi(2);
    let (pulse, outside) = Pulse::start(&runtime);
    for _ in 0..3 {
        let its = Arc::clone(&pulse);
        runtime.block_on(runtime.spawn(async move { its.region::<2>(5, true) })).unwrap();
        let pinned = [0, 1].map(|worker| runtime.handle().spawn_pinned(worker, async { fib(12) }));
        for task in pinned {
            assert_eq!(runtime.block_on(task).unwrap(), 144);
        }
        let barrier = Barrier::new(2);
        let meet = || {
            barrier.wait();
            thread::current().id()
        };
        let (a, b) = runtime.install(|| join(meet, meet));
        assert_ne!(a, b);
    }
    pulse.is_over.store(true, SeqCst);
    outside.join().unwrap();
}

#[test]
fn the_runtime_ends_in_the_middle_of_a_long_fork() {
    for _ in 0..5 {
        let runtime = multi(2);
        let until = Instant::now() + Duration::from_millis(50);
        let (begin, begun) = mpsc::channel();
        let task = runtime.spawn(async move {
            // One that has not begun would be cancelled.
            begin.send(()).unwrap();
            let legs: [_; 3] = std::array::from_fn(|_| move || burn(until, true));
            fork_all(legs);
        });
        begun.recv().unwrap();
        thread::sleep(Duration::from_millis(10));
        let pinned = runtime.handle().spawn_pinned(0, async {});
        drop(runtime);
        let other = Builder::new_current_thread().build().unwrap();
        // Whether the task ran or was cancelled, it has ended.
        let _ = other.block_on(pinned);
        other.block_on(task).unwrap();
    }
}

/// Without the hand-off, a forking worker's state is not retaken. Tasks that are pinned to the
/// worker run after the fork, and all others run during it.
#[test]
fn workers_that_hand_nothing_off_keep_their_tasks() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("keeps-its-own")
        .thread_keep_alive(2 * GIVE_UP)
        .handoff_while_forking(false)
        .build()
        .unwrap();
    for _ in 0..5 {
        let (held, is_over) = (Barrier::new(2), Arc::new(AtomicBool::new(false)));
        let handle = runtime.handle().clone();
        let pinned = runtime.install(|| {
            let leg = || {
                held.wait();
                // This lasts for many of the periods after which a state on offer is retaken.
                burn(Instant::now() + Duration::from_millis(30), true);
                held.wait();
            };
            let pinned = [0, 1].map(|worker| {
                let is_over = Arc::clone(&is_over);
                handle.spawn_pinned(worker, async move { is_over.load(SeqCst) })
            });
            join(leg, leg);
            // A third one would stay, because idle threads are kept.
            await_threads_named("keeps-its-own", 2..=2);
            is_over.store(true, SeqCst);
            pinned
        });
        // One of the tasks is pinned to the worker that forked. The other worker was free before
        // and after its leg.
        let [a, b] = pinned.map(|task| runtime.block_on(task).unwrap());
        assert!(a || b);
        assert_eq!(runtime.install(|| fib(15)), 610);
        assert_eq!(runtime.block_on(runtime.spawn(async { fib(10) })).unwrap(), 55);
    }
}

/// The threads of this process, as procfs shows them.
#[cfg(target_os = "linux")]
mod system {
    use std::path::{Path, PathBuf};

    pub(crate) fn this_thread() -> PathBuf {
        Path::new("/proc").join(std::fs::read_link("/proc/thread-self").unwrap())
    }

    /// How often the thread has gone to sleep, if it sleeps now.
    ///
    /// If the number is the same later on, the thread has slept all the time.
    pub(crate) fn sleeps(thread: &Path) -> Option<u64> {
        let status = std::fs::read_to_string(thread.join("status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len()..].trim().to_owned()
        };
        field("State:").starts_with('S').then(|| field("voluntary_ctxt_switches:").parse().unwrap())
    }
}

#[cfg(target_os = "linux")]
#[test]
fn workers_without_work_sleep_while_a_leaf_runs() {
    use parking_lot::Mutex;

    let workers = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&workers);
    let runtime = Builder::new_multi_thread()
        .worker_threads(4)
        // The workers call the hook, and the monitor does not.
        .on_thread_start(move || list.lock().push(system::this_thread()))
        .build()
        .unwrap();
    start_workers(&runtime);
    runtime.install(|| {
        let leaf = || {
            let own = system::this_thread();
            let give_up = Instant::now() + GIVE_UP;
            let mut others = loop {
                let started = workers.lock().clone();
                if started.len() == 4 {
                    break started;
                }
                assert!(Instant::now() < give_up, "the workers do not start");
                thread::yield_now();
            };
            others.retain(|thread| *thread != own);
            let look =
                || -> Vec<_> { others.iter().map(|thread| system::sleeps(thread)).collect() };
            // The workers search once more, and then go to sleep.
            let mut before = look();
            loop {
                burn(Instant::now() + Duration::from_millis(20), false);
                let now = look();
                if now == before && now.iter().all(Option::is_some) {
                    break;
                }
                assert!(Instant::now() < give_up, "they do not sleep: {now:?}");
                before = now;
            }
            for _ in 0..20 {
                burn(Instant::now() + Duration::from_millis(10), false);
                assert_eq!(look(), before, "somebody was up while a leaf ran");
            }
        };
        join(leaf, || ());
    });
}
