//! Programs that do something rare, and then wait for something that the runtime has to do.
//!
//! Each of them once waited for ever. No test passes or fails by a time, except by a watchdog,
//! which says what hangs.

use crate::support::watch::{
    Event, HappensOnDrop, drop_returns, is_parked, receive, wait_for, workers_sleep,
};
use crate::support::{Hasty, multi, start_workers};
use parking_lot::Mutex;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;
use trefoil::fork_join::join;
use trefoil::runtime::{Builder, Runtime, RuntimeMetrics};
use trefoil::task::{block_in_place, yield_now};

/// How often the workers go to sleep while there is a job that none of them can
/// take: a worker that may not take it does not look at it again and again.
fn assert_no_spin(metrics: &RuntimeMetrics) {
    let parks = || (0..metrics.num_workers()).map(|n| metrics.worker_park_count(n)).sum::<u64>();
    let before = parks();
    // A longer wait only makes the test harder to pass.
    thread::sleep(Duration::from_millis(20));
    let after = parks();
    assert!(after - before < 1_000, "a worker spins: {} parks", after - before);
}

/// The forks of a thread that computes in a worker's place, while that worker blocks in place.
#[derive(Clone, Default)]
struct Forks {
    may_begin: Event,
    is_taken: Event,
    may_end: Event,
}

impl Forks {
    /// Returns once another thread has run the job and `may_end` has happened.
    fn run(&self) {
        let first = || {
            self.is_taken.await_forking();
            // The other worker is busy with the second job, so no worker is free for what is forked
            // here.
            self.may_end.await_forking();
        };
        join(first, || {
            self.is_taken.happens();
            wait_for("the end of the test", || self.may_end.has_happened());
        });
    }

    /// Lets the forks begin, and waits until the job was stolen.
    fn is_served(&self, metrics: &RuntimeMetrics) {
        let end = HappensOnDrop(self.may_end.clone());
        // If this fails, the loop that waits for the job has to end, too.
        let taken = HappensOnDrop(self.is_taken.clone());
        self.may_begin.happens();
        wait_for("an idle worker takes the job", || self.is_taken.has_happened());
        assert_no_spin(metrics);
        drop((end, taken));
    }
}

/// Blocks in place on a worker, until the sender is dropped.
#[must_use]
fn block(runtime: &Runtime, worker: usize) -> mpsc::Sender<()> {
    let (release, wait) = mpsc::channel::<()>();
    let (start, started) = mpsc::channel();
    drop(runtime.spawn_pinned(worker, async move {
        block_in_place(|| {
            start.send(()).unwrap();
            let _ = wait.recv();
        });
    }));
    receive("a pinned task begins to block", &started);
    release
}

/// A guest forks in the place of one worker. That worker wakes for a pinned task, which blocks in
/// place. The other worker still steals the guest's job.
#[test]
fn a_worker_whose_place_a_guest_has_blocks() {
    // The guest is in the place of one of the two workers.
    for blocked in [0, 1] {
        let runtime = Hasty(Some(multi(2)));
        let metrics = runtime.metrics();
        workers_sleep(&metrics);
        let forks = Forks::default();
        let (its, handle) = (forks.clone(), runtime.handle().clone());
        let (enter, entered) = mpsc::channel();
        let guest = thread::spawn(move || {
            handle.install_here(|| {
                enter.send(()).unwrap();
                wait_for("the worker to block", || its.may_begin.has_happened());
                its.run();
            });
        });
        receive("a guest has a place", &entered);
        let release = block(&runtime, blocked);
        wait_for("the other worker sleeps", || is_parked(&metrics, 1 - blocked));
        forks.is_served(&metrics);
        guest.join().unwrap();
        drop(release);
        drop_returns("the drop of a runtime that had a guest", runtime);
    }
}

/// The same without a guest: a worker forks, another thread becomes the worker for a pinned task,
/// and the task blocks in place.
#[test]
fn a_worker_that_was_replaced_while_it_forks_blocks() {
    let runtime = Hasty(Some(multi(2)));
    let metrics = runtime.metrics();
    let forks = Forks::default();
    let its = forks.clone();
    let (start, started) = mpsc::channel();
    drop(runtime.spawn_pinned(0, async move {
        let outer = || {
            start.send(()).unwrap();
            its.may_begin.await_forking();
            its.run();
        };
        join(outer, || ());
    }));
    // Ends the fork if this fails.
    let begins = HappensOnDrop(forks.may_begin.clone());
    receive("a pinned task forks", &started);
    let release = block(&runtime, 0);
    forks.is_served(&metrics);
    drop((begins, release));
    drop_returns("the drop of a runtime whose worker was replaced", runtime);
}

/// A worker that was replaced while it forks blocks in place. When it goes on with the fork, the
/// worker that is there instead sleeps, and may not take the fork's jobs. The other worker, which
/// sleeps as well and for longer, takes them.
#[test]
fn a_fork_goes_on_beside_a_sleeper_that_may_not_help() {
    let runtime = Hasty(Some(multi(2)));
    let metrics = runtime.metrics();
    workers_sleep(&metrics);
    let (forks, replaced) = (Forks::default(), Event::default());
    let (its, is_replaced) = (forks.clone(), replaced.clone());
    let (start, started) = mpsc::channel();
    let (release, wait) = mpsc::channel::<()>();
    drop(runtime.spawn_pinned(0, async move {
        let outer = move || {
            is_replaced.await_forking();
            block_in_place(|| {
                start.send(()).unwrap();
                let _ = wait.recv();
            });
            its.run();
        };
        join(outer, || ());
    }));
    drop(runtime.spawn_pinned(0, async move { replaced.happens() }));
    receive("a fork blocks", &started);
    workers_sleep(&metrics);
    // The last to sleep is woken first.
    runtime.block_on(runtime.spawn_pinned(0, async {})).unwrap();
    workers_sleep(&metrics);
    drop(release);
    forks.is_served(&metrics);
    drop_returns("the drop of a runtime whose fork blocked", runtime);
}

/// The drop of a runtime returns although other threads spawn without end.
#[test]
fn a_runtime_ends_in_a_flood_of_spawns() {
    let runtime = Hasty(Some(multi(2)));
    let end = Event::default();
    let ends = HappensOnDrop(end.clone());
    let (flow, flows) = mpsc::channel();
    let flooders: Vec<_> = (0..8)
        .map(|_| {
            let (handle, end, flow) = (runtime.handle().clone(), end.clone(), flow.clone());
            thread::spawn(move || {
                let mut flow = Some(flow);
                while !end.has_happened() {
                    for _ in 0..64 {
                        drop(handle.spawn(async {}));
                    }
                    if let Some(flow) = flow.take() {
                        flow.send(()).unwrap();
                    }
                }
            })
        })
        .collect();
    for _ in 0..8 {
        receive("a thread floods the runtime", &flows);
    }
    drop_returns("the drop of a runtime, beside threads that spawn", runtime);
    drop(ends);
    for flooder in flooders {
        flooder.join().unwrap();
    }
}

/// A fork waits until a pinned task is dropped, which was never polled. No other worker may drop
/// the task.
#[test]
fn a_fork_waits_for_what_a_pinned_task_holds_when_the_runtime_ends() {
    for _ in 0..20 {
        let runtime = Hasty(Some(multi(2)));
        let (sender, receiver) = mpsc::channel::<()>();
        let receiver = Mutex::new(receiver);
        let (start, started) = mpsc::channel();
        drop(runtime.spawn_pinned(0, async move {
            let waits = || {
                start.send(()).unwrap();
                receiver.lock().recv().unwrap_err();
            };
            join(|| join(waits, || ()), || ());
        }));
        receive("a pinned task forks", &started);
        drop(runtime.spawn_pinned(0, async move {
            let _held = sender;
            pending::<()>().await;
        }));
        drop_returns("the drop of a runtime whose fork waits for a pinned task", runtime);
    }
}

/// An executor that polls its future inside of the wake-up.
struct Inline(Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(self.clone());
        if let Some(mut future) = self.0.try_lock() {
            let _ = future.as_mut().poll(&mut Context::from_waker(&waker));
        }
    }
}

/// A waker that defers itself again whenever it is woken.
#[test]
fn a_runtime_ends_although_a_waker_defers_itself_again() {
    let runtime = Hasty(Some(multi(1)));
    let (sender, polled) = mpsc::channel();
    drop(runtime.spawn(async move {
        let yields = async {
            loop {
                yield_now().await;
            }
        };
        Arc::new(Inline(Mutex::new(Box::pin(yields)))).wake();
        sender.send(()).unwrap();
    }));
    receive("a task wakes the executor", &polled);
    let (sender, polled) = mpsc::channel();
    drop(runtime.spawn(async move { sender.send(()).unwrap() }));
    receive("another task is polled", &polled);
    drop_returns("the drop of a runtime with a waker that defers itself", runtime);
}

/// The thread that replaces a blocked worker waits in `on_thread_start` for another task. The
/// worker that sleeps runs that task.
#[test]
fn a_hook_of_a_new_thread_is_no_search() {
    for _ in 0..10 {
        let (event, started) = (Event::default(), AtomicUsize::new(0));
        let awaited = event.clone();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .on_thread_start(move || {
                if started.fetch_add(1, SeqCst) >= 2 {
                    wait_for("what the hook waits for", || awaited.has_happened());
                }
            })
            .build()
            .unwrap();
        let runtime = Hasty(Some(runtime));
        start_workers(&runtime);
        workers_sleep(&runtime.metrics());
        // The other worker has slept for longer, so this one is chosen first.
        let release = block(&runtime, 0);
        let its = event.clone();
        let _happens = HappensOnDrop(event.clone());
        drop(runtime.spawn(async move { its.happens() }));
        wait_for("the worker that sleeps runs a task", || event.has_happened());
        drop(release);
        drop_returns("the drop of a runtime whose hook waited", runtime);
    }
}

/// A runtime with one worker. The other threads call `hook` when they start, with the number of
/// threads that called it before.
fn with_hook(hook: impl Fn(usize) + Send + Sync + 'static) -> Hasty {
    let started = AtomicUsize::new(0);
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .on_thread_start(move || {
            if let Some(before) = started.fetch_add(1, SeqCst).checked_sub(1) {
                hook(before);
            }
        })
        .build()
        .unwrap();
    // The worker was the first thread to start.
    workers_sleep(&runtime.metrics());
    Hasty(Some(runtime))
}

/// Two closures need two threads. The hooks of these threads wait for each other.
#[test]
fn hooks_of_new_threads_meet() {
    let barrier = Barrier::new(2);
    let runtime = with_hook(move |before| {
        if before < 2 {
            barrier.wait();
        }
    });
    let (sender, ran) = mpsc::channel();
    for _ in 0..2 {
        let sender = sender.clone();
        drop(runtime.spawn_blocking(move || sender.send(()).unwrap()));
    }
    for _ in 0..2 {
        receive("a closure runs on a new thread", &ran);
    }
    drop_returns("the drop of a runtime whose hooks met", runtime);
}

/// While the hooks of two new threads take long, no third thread starts for the two closures that
/// wait.
#[test]
fn slow_hooks_make_no_more_threads_than_closures() {
    let (end, in_hook) = (Event::default(), Arc::new(AtomicUsize::new(0)));
    let (its_end, its) = (end.clone(), in_hook.clone());
    let runtime = with_hook(move |_| {
        its.fetch_add(1, SeqCst);
        wait_for("the end of the test", || its_end.has_happened());
    });
    let ends = HappensOnDrop(end);
    for _ in 0..2 {
        drop(runtime.spawn_blocking(|| ()));
    }
    wait_for("two threads start", || in_hook.load(SeqCst) >= 2);
    // A longer wait only makes the test harder to pass.
    thread::sleep(Duration::from_millis(20));
    assert_eq!(in_hook.load(SeqCst), 2);
    drop(ends);
    drop_returns("the drop of a runtime whose hooks took long", runtime);
}
