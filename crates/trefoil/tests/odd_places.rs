//! Foreign code in odd places: destructors when a runtime ends, wakers, names of threads, and
//! code that blocks in the midst of forks.
//!
//! Nothing passes or fails by a time, but for a watchdog, which says what hangs.

mod support;

use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;
use support::watch::{
    Event, HappensOnDrop, drop_returns, is_parked, receive, wait_for, workers_sleep,
};
use support::{Hasty, fib, multi, that_waits};
use trefoil::fork_join::join;
use trefoil::runtime::{Builder, RuntimeMetrics};
use trefoil::spawn;
use trefoil::task::{block_in_place, spawn_pinned, yield_now};
use trefoil::time::sleep;

thread_local! {
    static IS_SPAWNING: Cell<bool> = const { Cell::new(false) };
    static WAS_REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Counts its drop, and does something in it.
struct OnDrop(Arc<AtomicUsize>, fn());

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        WAS_REFUSED.set(WAS_REFUSED.get() || IS_SPAWNING.get());
        self.1();
    }
}

/// Tasks whose destructors fork: each is dropped, and the worker's state is not lost among the
/// threads that are workers one after the other.
#[test]
fn destructors_fork_when_a_runtime_ends() {
    const TASKS: usize = 1_000;
    let runtime = Hasty(Some(multi(2)));
    let dropped = Arc::new(AtomicUsize::new(0));
    let (start, started) = mpsc::channel();
    for n in 0..TASKS {
        let (start, its) = (start.clone(), dropped.clone());
        drop(runtime.spawn_pinned(n % 2, async move {
            let _held = OnDrop(its, || assert_eq!(fib(10), 55));
            start.send(()).unwrap();
            pending::<()>().await;
        }));
    }
    for _ in 0..TASKS {
        receive("a task starts", &started);
    }
    drop_returns("the drop of a runtime whose tasks fork when they are dropped", runtime);
    assert_eq!(dropped.load(SeqCst), TASKS);
}

/// A runtime that ends refuses what its tasks spawn, and the future is dropped in the poll of
/// another task: what its destructor does there is not done by that future's task.
#[test]
fn destructors_of_refused_tasks_block_and_fork() {
    let block: fn() = || block_in_place(|| ());
    let fork: fn() = || assert_eq!(fib(10), 55);
    for (workers, what) in [(1, block), (2, block), (2, fork)] {
        let runtime = Hasty(Some(multi(workers)));
        let dropped = Arc::new(AtomicUsize::new(0));
        let (start, started) = mpsc::channel();
        let its = dropped.clone();
        drop(runtime.spawn(async move {
            start.send(()).unwrap();
            while !WAS_REFUSED.replace(false) {
                let held = OnDrop(its.clone(), what);
                IS_SPAWNING.set(true);
                drop(spawn(async move { drop(held) }));
                IS_SPAWNING.set(false);
                thread::yield_now();
            }
            // So that this task rests where it was polled.
            pending::<()>().await;
        }));
        receive("a task spawns", &started);
        drop_returns("the drop of a runtime that refuses tasks", runtime);
        assert_ne!(dropped.load(SeqCst), 0);
    }
}

/// A waker that blocks in place until `until` has happened.
struct Blocks {
    begins: Event,
    until: Event,
}

impl Wake for Blocks {
    fn wake(self: Arc<Self>) {
        block_in_place(|| {
            self.begins.happens();
            // As long as the worker may take. It does not if the waker cannot leave it.
            for _ in 0..1_000 {
                if self.until.has_happened() {
                    return;
                }
                thread::sleep(Duration::from_micros(50));
            }
        });
    }
}

/// A task blocks in place, for which a waker that it has deferred is woken first. That blocks in
/// place as well, and meanwhile there is work for the worker.
#[test]
fn a_deferred_waker_blocks_before_its_task_does() {
    for workers in [1, 2] {
        let runtime = Hasty(Some(multi(workers)));
        let (begins, first, second) = (Event::default(), Event::default(), Event::default());
        let (its_first, its_second) = (first.clone(), second.clone());
        let waker = Waker::from(Arc::new(Blocks { begins: begins.clone(), until: first.clone() }));
        let (done, is_done) = mpsc::channel();
        drop(runtime.spawn_pinned(0, async move {
            {
                let mut yields = pin!(yield_now());
                assert!(yields.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            }
            drop(waker);
            drop(spawn_pinned(0, async move { its_first.happens() }));
            block_in_place(|| wait_for("a task beside one that blocks", || second.has_happened()));
            done.send(()).unwrap();
        }));
        wait_for("a deferred waker is woken", || begins.has_happened());
        drop(runtime.spawn_pinned(0, async move { its_second.happens() }));
        receive("a task that blocks in place is through", &is_done);
        assert!(first.has_happened());
        drop_returns("the drop of a runtime whose deferred waker blocked", runtime);
    }
}

/// The system takes no name with a NUL in it.
#[test]
fn threads_have_odd_names() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("before\0after")
        .enable_all()
        .build()
        .unwrap();
    let runtime = Hasty(Some(runtime));
    let (tell, told) = mpsc::channel();
    drop(runtime.spawn_blocking(move || {
        tell.send(thread::current().name().map(str::to_owned)).unwrap();
    }));
    let name = receive("a closure runs on a thread with an odd name", &told);
    assert_eq!(name.as_deref(), Some("before"));
    drop_returns("the drop of a runtime whose threads have odd names", runtime);
}

/// What a stolen job, and a job that is taken back from its thief, do in a task that blocks in
/// place: they block in place as well. The task still does when they are through.
#[test]
fn a_job_blocks_in_place_on_top_of_a_task_that_does() {
    const WORKERS: usize = 4;
    let runtime = Hasty(Some(multi(WORKERS)));
    let metrics = runtime.metrics();
    let mut was_taken_back = false;
    for _ in 0..10_000 {
        workers_are_parked(&metrics);
        let (sender, receiver) = mpsc::channel();
        let its = metrics.clone();
        drop(runtime.spawn_pinned(0, async move {
            block_in_place(|| {
                // Others fall asleep after this one, and so are woken before it.
                for worker in 1..WORKERS {
                    let woken = Event::default();
                    let its = woken.clone();
                    drop(spawn_pinned(worker, async move { its.happens() }));
                    wait_for("a worker wakes", || woken.has_happened());
                }
                wait_for("the others sleep", || (1..WORKERS).all(|n| is_parked(&its, n)));
                let was_taken_back = jobs_that_block();
                let last = Event::default();
                let its = last.clone();
                drop(spawn_pinned(0, async move { its.happens() }));
                wait_for("a pinned task of a worker that blocks", || last.has_happened());
                sender.send(was_taken_back).unwrap();
            });
        }));
        was_taken_back |= receive("a task blocks and forks", &receiver);
        if was_taken_back {
            break;
        }
    }
    // Who takes a job is a race, which the waiting thread wins now and then.
    println!("a job was taken back: {was_taken_back}");
    drop_returns("the drop of a runtime whose jobs blocked", runtime);
}

fn workers_are_parked(metrics: &RuntimeMetrics) {
    wait_for("idle workers sleep", || (0..metrics.num_workers()).all(|n| is_parked(metrics, n)));
}

/// Returns whether the calling thread ran a job that its thief had forked.
fn jobs_that_block() -> bool {
    let me = thread::current().id();
    let (stolen, inner) = (Event::default(), Event::default());
    let b = || {
        stolen.happens();
        let c = || {
            inner.happens();
            block_in_place(|| ());
            thread::current().id()
        };
        join(|| inner.await_forking(), c).1
    };
    // Without giving the processor up, so that this thread is there when `c` is to be had.
    let a = || {
        while !stolen.has_happened() {
            join(std::hint::spin_loop, || ());
        }
    };
    join(a, b).1 == me
}

/// A task blocks in place in the midst of a fork. After that it forks on, and what is pinned to
/// its worker has another thread within two periods.
#[test]
fn a_fork_goes_on_after_it_has_blocked() {
    let runtime = Hasty(Some(multi(2)));
    for is_in_job in [false, true] {
        let (stolen, end) = (Event::default(), Event::default());
        let _ends = HappensOnDrop(end.clone());
        let (its_stolen, its_end) = (stolen.clone(), end.clone());
        let (sender, receiver) = mpsc::channel();
        drop(runtime.spawn_pinned(0, async move {
            let metrics = trefoil::runtime::Handle::current().metrics();
            let served = || {
                block_in_place(|| ());
                // Both workers: this thread is one of them, and the other thread computes.
                for worker in 0..metrics.num_workers() {
                    let event = Event::default();
                    let its = event.clone();
                    drop(spawn_pinned(worker, async move { its.happens() }));
                    wait_for("a pinned task, beside forks", || event.has_happened());
                }
                its_end.happens();
                sender.send(()).unwrap();
            };
            let waits = || {
                its_stolen.happens();
                wait_for("the end of the test", || its_end.has_happened());
            };
            if is_in_job {
                let b = || {
                    its_stolen.happens();
                    served();
                };
                join(|| join(|| its_stolen.await_forking(), || ()), b);
            } else {
                let a = || {
                    its_stolen.await_forking();
                    served();
                };
                join(a, waits);
            }
        }));
        receive("a fork blocks and goes on", &receiver);
    }
    drop_returns("the drop of a runtime whose forks blocked", runtime);
}

/// So many threads block in place at the same time that a worker finds no deque. When they are
/// through, a worker that forks has company again.
#[test]
fn workers_fork_after_many_have_blocked() {
    const TASKS: usize = 80;
    let runtime = Hasty(Some(multi(2)));
    let metrics = runtime.metrics();
    let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let end = HappensOnDrop(Event::default());
    for _ in 0..TASKS {
        let (begun, ended, end) = (begun.clone(), ended.clone(), end.0.clone());
        drop(runtime.spawn_pinned(0, async move {
            block_in_place(|| {
                begun.fetch_add(1, SeqCst);
                wait_for("the end of the test", || end.has_happened());
            });
            ended.fetch_add(1, SeqCst);
        }));
    }
    wait_for("many tasks block", || begun.load(SeqCst) == TASKS);
    drop(end);
    wait_for("they block no more", || ended.load(SeqCst) == TASKS);
    workers_sleep(&metrics);
    let (sender, receiver) = mpsc::channel();
    drop(runtime.spawn_pinned(0, async move {
        let stolen = Event::default();
        let its = stolen.clone();
        let result = join(
            || {
                wait_for("another worker takes a job", || {
                    join(|| (), || ());
                    stolen.has_happened()
                });
            },
            || its.happens(),
        );
        sender.send(result).unwrap();
    }));
    receive("a worker takes another one's job", &receiver);
    drop_returns("the drop of a runtime whose tasks blocked", runtime);
}

/// The hooks that a worker calls around its sleep take long: here, they wait for a task. It is no
/// searcher meanwhile, so another worker wakes for the task.
#[test]
fn hooks_around_a_sleep_wait_for_a_task() {
    for before_sleep in [true, false] {
        let is_armed = Arc::new(AtomicBool::new(false));
        let (event, (enter, entered)) = (Event::default(), mpsc::channel());
        let (its_arms, its) = (is_armed.clone(), event.clone());
        let hook = move || {
            if its_arms.swap(false, SeqCst) {
                enter.send(()).unwrap();
                wait_for("what a hook waits for", || its.has_happened());
            }
        };
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).enable_all();
        if before_sleep {
            builder.on_thread_park(hook)
        } else {
            builder.on_thread_unpark(hook)
        };
        let runtime = Hasty(Some(builder.build().unwrap()));
        workers_sleep(&runtime.metrics());
        is_armed.store(true, SeqCst);
        drop(runtime.spawn(async {}));
        receive("a worker calls a hook", &entered);
        let its = event.clone();
        drop(runtime.spawn(async move { its.happens() }));
        wait_for("the other worker runs a task", || event.has_happened());
        drop_returns("the drop of a runtime whose hook waited", runtime);
    }
}

/// Waits in its wake-up until something has happened.
struct Waits {
    enter: Event,
    until: Event,
}

impl Wake for Waits {
    fn wake(self: Arc<Self>) {
        self.enter.happens();
        wait_for("what a waker waits for", || self.until.has_happened());
    }
}

/// As above, for the waker of a timer, which a worker wakes that was chosen to search.
#[test]
fn a_timer_s_waker_waits_for_a_task() {
    let runtime = Hasty(Some(multi(2)));
    for _ in 0..20 {
        workers_sleep(&runtime.metrics());
        let (enter, until) = (Event::default(), Event::default());
        let waker = Waker::from(Arc::new(Waits { enter: enter.clone(), until: until.clone() }));
        let (sender, receiver) = mpsc::channel();
        drop(runtime.spawn(async move {
            let soon = Duration::from_micros(600);
            sender.send(that_waits(&waker, || Box::pin(sleep(soon)))).unwrap();
        }));
        let _sleep = receive("a timer is set", &receiver);
        // So that a worker is chosen about when the timer is due.
        while !enter.has_happened() {
            drop(runtime.spawn(async {}));
            thread::sleep(Duration::from_micros(50));
        }
        let its = until.clone();
        drop(runtime.spawn(async move { its.happens() }));
        wait_for("another worker runs a task", || until.has_happened());
    }
    drop_returns("the drop of a runtime whose waker waited", runtime);
}

/// Tasks fork, are replaced, block for a moment, and go on with the fork: then they compute again,
/// and there are no more of them than there may be.
#[test]
fn forks_that_have_blocked_count_among_those_that_compute() {
    const WORKERS: usize = 2;
    let runtime = Hasty(Some(multi(WORKERS)));
    let end = HappensOnDrop(Event::default());
    let computing = Arc::new(AtomicUsize::new(0));
    for _ in 0..4 * WORKERS {
        let replaced = Event::default();
        let (end, computing, its) = (end.0.clone(), computing.clone(), replaced.clone());
        drop(runtime.spawn_pinned(0, async move {
            let forks = || {
                while !its.has_happened() && !end.has_happened() {
                    join(thread::yield_now, || ());
                }
                block_in_place(|| ());
                computing.fetch_add(1, SeqCst);
                end.await_forking();
            };
            join(forks, || ());
        }));
        drop(runtime.spawn_pinned(0, async move { replaced.happens() }));
        // Many periods; longer only makes it harder to pass.
        thread::sleep(Duration::from_millis(30));
    }
    wait_for("a fork goes on", || computing.load(SeqCst) > 0);
    let most = computing.load(SeqCst);
    drop(end);
    assert!(most <= 2 * WORKERS, "{most} threads compute");
    drop_returns("the drop of a runtime whose forks blocked", runtime);
}
