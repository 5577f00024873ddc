//! Polls that do not end are reported: once for each place where such tasks are spawned.

mod support;

use parking_lot::Mutex;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use support::multi;
use trefoil::fork_join;
use trefoil::runtime::{Builder, Runtime, Stall};
use trefoil::task::{self, JoinHandle};

const BOUND: Duration = Duration::from_millis(4);

/// Where some poll must be no stall. The system may take the CPU away in any poll, but hardly for
/// so long in one that is short.
const LONG: Duration = Duration::from_millis(100);

/// What was reported, and the runtime.
struct Watched {
    stalls: Arc<Mutex<Vec<Stall>>>,
    runtime: Runtime,
}

impl Watched {
    fn new(workers: usize, bound: Duration) -> Self {
        let stalls = Arc::new(Mutex::new(Vec::new()));
        let its = stalls.clone();
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_all()
            .stall_bound(bound)
            .on_stall(move |stall| its.lock().push(*stall))
            .build()
            .unwrap();
        Self { stalls, runtime }
    }

    fn count(&self) -> u64 {
        self.runtime.metrics().stall_count()
    }

    /// A task whose poll does not end before it is a stall.
    #[track_caller]
    fn spawn_stall(&self) -> JoinHandle<()> {
        let stalls = stalls(&self.runtime);
        self.runtime.spawn(async move { stalls() })
    }
}

/// Computes until one more stall was counted.
fn stalls(runtime: &Runtime) -> impl FnOnce() + Send + use<> {
    let metrics = runtime.metrics();
    move || {
        let before = metrics.stall_count();
        while metrics.stall_count() == before {
            spin_loop();
        }
    }
}

#[test]
fn a_poll_that_does_not_end_is_reported_while_it_lasts() {
    for workers in [1, 2, 3] {
        let watched = Watched::new(workers, BOUND);
        let line = line!() + 1;
        let task = watched.spawn_stall();
        let id = task.id();
        watched.runtime.block_on(task).unwrap();
        // The report follows the count.
        let [stall] = watched.runtime.block_on(async {
            loop {
                let stalls = watched.stalls.lock().clone();
                match stalls.try_into() {
                    Ok(one) => break one,
                    Err(_) => task::yield_now().await,
                }
            }
        });
        assert_eq!(stall.id(), id);
        assert_eq!((stall.spawned_at().file(), stall.spawned_at().line()), (file!(), line));
        assert!(stall.duration() >= BOUND);
        assert!(stall.to_string().starts_with(&format!("task {id}, spawned at {}:", file!())));
    }
}

#[test]
fn a_place_is_reported_once_and_each_stall_is_counted() {
    let watched = Watched::new(2, BOUND);
    for _ in 0..3 {
        let task = watched.spawn_stall();
        watched.runtime.block_on(task).unwrap();
    }
    let task = watched.spawn_stall();
    watched.runtime.block_on(task).unwrap();
    assert_eq!(watched.count(), 4);
    // The last report follows the count.
    while watched.stalls.lock().len() < 2 {
        std::thread::yield_now();
    }
    let places = watched.stalls.lock().iter().map(Stall::spawned_at).collect::<Vec<_>>();
    assert_eq!(places.len(), 2);
    assert_ne!(places[0], places[1]);
}

#[test]
fn each_place_that_installs_is_reported() {
    let watched = Watched::new(2, BOUND);
    let line = line!() + 1;
    watched.runtime.install(stalls(&watched.runtime));
    watched.runtime.handle().install(stalls(&watched.runtime));
    assert_eq!(watched.count(), 2);
    // Reports follow their counts, in this order. The last is of another place in any case.
    let last = watched.spawn_stall();
    let id = last.id();
    watched.runtime.block_on(last).unwrap();
    while watched.stalls.lock().last().is_none_or(|stall| stall.id() != id) {
        std::thread::yield_now();
    }
    let stalls = watched.stalls.lock();
    let places = stalls.iter().map(|stall| (stall.spawned_at().file(), stall.spawned_at().line()));
    let lines = [line, line + 1, line + 4];
    assert_eq!(places.collect::<Vec<_>>(), lines.map(|line| (file!(), line)));
}

#[test]
fn a_poll_that_has_offered_its_place_is_no_stall() {
    // One of them waits beside one that stalls: if it was a stall itself, it was one before.
    for forks in [false, true] {
        let watched = Watched::new(2, LONG);
        let stalls = stalls(&watched.runtime);
        let (begin, begins) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let waits = move || {
            begin.send(()).unwrap();
            // Until the other one, which begins later, has been a stall.
            let _ = ends.recv();
        };
        let waiter = watched.runtime.spawn(async move {
            if forks {
                fork_join::join(waits, || ());
            } else {
                task::block_in_place(waits);
            }
        });
        begins.recv().unwrap();
        let other = watched.runtime.spawn(async move {
            stalls();
            drop(end);
        });
        let id = other.id();
        watched.runtime.block_on(async {
            other.await.unwrap();
            waiter.await.unwrap();
        });
        assert_eq!(watched.count(), 1);
        while watched.stalls.lock().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(watched.stalls.lock()[0].id(), id);
    }
}

#[test]
fn tasks_that_wait_are_no_stalls() {
    let watched = Watched::new(2, LONG);
    watched.runtime.block_on(async {
        let waiters: Vec<_> = (0..100).map(|_| task::spawn(std::future::pending::<()>())).collect();
        watched.spawn_stall().await.unwrap();
        waiters.iter().for_each(JoinHandle::abort);
    });
    assert_eq!(watched.count(), 1);
}

#[test]
fn others_go_on_beside_a_stall() {
    let watched = Watched::new(2, BOUND);
    let steps = Arc::new(AtomicU64::new(0));
    watched.runtime.block_on(async {
        let (its, stop) = (steps.clone(), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        // Woken by the task that stalls, and queued at its worker.
        let notify = Arc::new(trefoil::sync::Notify::new());
        let woken = notify.clone();
        let other = task::spawn(async move {
            woken.notified().await;
            its.fetch_add(1, SeqCst);
            stopped.store(true, SeqCst);
        });
        task::yield_now().await;
        let stalls = task::spawn(async move {
            notify.notify_one();
            while !stop.load(SeqCst) {
                spin_loop();
            }
        });
        other.await.unwrap();
        stalls.await.unwrap();
    });
    assert_eq!(steps.load(SeqCst), 1);
}

#[test]
fn a_hook_that_panics_is_called_again() {
    let calls = Arc::new(AtomicU64::new(0));
    let its = calls.clone();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .stall_bound(BOUND)
        .on_stall(move |_| {
            its.fetch_add(1, SeqCst);
            std::panic::resume_unwind(Box::new("a hook"));
        })
        .build()
        .unwrap();
    let (one, other) = (stalls(&runtime), stalls(&runtime));
    runtime.block_on(runtime.spawn(async move { one() })).unwrap();
    runtime.block_on(runtime.spawn(async move { other() })).unwrap();
    while calls.load(SeqCst) < 2 {
        std::thread::yield_now();
    }
}

#[test]
fn without_a_bound_nothing_is_looked_for() {
    assert_eq!(multi(2).metrics().stall_count(), 0);
    let refused = |f: fn()| {
        let payload = std::panic::catch_unwind(f).unwrap_err();
        payload.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let single = refused(|| drop(Builder::new_current_thread().stall_bound(BOUND).build()));
    assert!(single.contains("`stall_bound` needs `Builder::new_multi_thread`"), "{single}");
    let single = refused(|| drop(Builder::new_current_thread().on_stall(|_| ()).build()));
    assert!(single.contains("`on_stall` needs `Builder::new_multi_thread`"), "{single}");
    refused(|| drop(Builder::new_multi_thread().stall_bound(Duration::ZERO).build()));
}

#[test]
#[ignore = "prints what `a_stall_is_printed` looks at"]
fn prints_a_stall() {
    let runtime = Builder::new_multi_thread().worker_threads(1).stall_bound(BOUND).build().unwrap();
    // The first may be counted before it is printed, and the second comes after that.
    for _ in 0..2 {
        let stalls = stalls(&runtime);
        runtime.block_on(runtime.spawn(async move { stalls() })).unwrap();
    }
}

#[test]
fn a_stall_is_printed() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "prints_a_stall", "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("trefoil: task ").count(), 1, "{said}");
    assert!(said.contains(&format!("spawned at {}:", file!())), "{said}");
    assert!(said.contains("has kept its worker for "), "{said}");
}

#[cfg(all(unix, not(trefoil_tsan)))]
mod fibers {
    use super::*;
    use trefoil::fiber;

    #[test]
    fn a_fiber_that_computes_is_a_stall_and_one_that_waits_is_none() {
        let watched = Watched::new(1, LONG);
        let stalls = stalls(&watched.runtime);
        let line = AtomicU64::new(0);
        let id = watched.runtime.block_on(async {
            let waiter = fiber::spawn(|| fiber::wait(std::future::pending::<()>()));
            line.store(u64::from(line!()) + 1, SeqCst);
            let fiber = fiber::spawn(move || {
                fiber::yield_now();
                stalls();
            });
            let id = fiber.id();
            fiber.await.unwrap();
            waiter.abort();
            id
        });
        assert_eq!(watched.count(), 1);
        while watched.stalls.lock().is_empty() {
            std::thread::yield_now();
        }
        let stall = watched.stalls.lock()[0];
        assert_eq!(stall.id(), id);
        assert_eq!(u64::from(stall.spawned_at().line()), line.into_inner());
    }

    /// A thread that has lost its worker's place in a long poll serves its fibers alone.
    #[test]
    fn a_fiber_on_a_thread_that_is_no_worker_is_a_stall() {
        let watched = Watched::new(1, LONG);
        let stalls = stalls(&watched.runtime);
        watched.runtime.block_on(async {
            let fiber = fiber::spawn(move || {
                task::block_in_place(|| {
                    // Another thread runs this, and is the worker from then on.
                    fiber::wait(task::spawn(async {})).unwrap();
                });
                // Until here, it was the poll that has given its place away.
                fiber::yield_now();
                stalls();
            });
            fiber.await.unwrap();
        });
        assert_eq!(watched.count(), 1);
    }

    #[test]
    fn a_fiber_that_blocks_in_place_on_a_thread_that_is_no_worker_is_no_stall() {
        let watched = Watched::new(1, LONG);
        let (first, second) = (stalls(&watched.runtime), stalls(&watched.runtime));
        let id = watched.runtime.block_on(async {
            let fiber = fiber::spawn(move || {
                task::block_in_place(|| {
                    fiber::wait(task::spawn(async {})).unwrap();
                });
                fiber::yield_now();
                // Until the other poll was found to be one, which began later.
                task::block_in_place(|| {
                    let other = task::spawn(async move { first() });
                    let id = other.id();
                    fiber::wait(other).unwrap();
                    id
                })
            });
            fiber.await.unwrap()
        });
        assert_eq!(watched.count(), 1);
        while watched.stalls.lock().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(watched.stalls.lock()[0].id(), id);
        // When it has blocked, it is looked at again.
        watched.runtime.block_on(async {
            let fiber = fiber::spawn(move || {
                task::block_in_place(|| {
                    fiber::wait(task::spawn(async {})).unwrap();
                });
                fiber::yield_now();
                task::block_in_place(|| ());
                second();
            });
            fiber.await.unwrap();
        });
        assert_eq!(watched.count(), 2);
    }
}

/// Nobody is at the other end of its standard error.
#[test]
#[ignore = "closes its standard error; `a_report_that_nobody_can_read_ends_nothing` runs it"]
fn reports_to_nobody() {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).stall_bound(BOUND).build().unwrap();
    // The monitor is alive after the report of the first.
    for _ in 0..2 {
        let stalls = stalls(&runtime);
        runtime.block_on(runtime.spawn(async move { stalls() })).unwrap();
    }
}

#[test]
fn a_report_that_nobody_can_read_ends_nothing() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "reports_to_nobody", "--ignored", "--nocapture", "--test-threads=1"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
}

/// What keeps the worker is no poll: the future of an aborted task is dropped.
#[test]
fn a_destructor_that_does_not_end_is_a_stall() {
    struct Ends<F: FnOnce()>(Option<F>);
    impl<F: FnOnce()> Drop for Ends<F> {
        fn drop(&mut self) {
            self.0.take().unwrap()();
        }
    }
    let watched = Watched::new(2, BOUND);
    let ends = Ends(Some(stalls(&watched.runtime)));
    let (begins, begun) = mpsc::channel();
    let task = watched.runtime.spawn(async move {
        let _ends = ends;
        begins.send(()).unwrap();
        std::future::pending::<()>().await;
    });
    begun.recv().unwrap();
    task.abort();
    assert!(watched.runtime.block_on(task).unwrap_err().is_cancelled());
}
