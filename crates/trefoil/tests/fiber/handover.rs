//! Two fibers that hand over to each other for ever keep nobody waiting for longer than
//! `src/progress.md` says. Turns of the fibers are counted, and no time.
//!
//! What waits comes while one of the fibers keeps the thread, so that no turn is missed between the
//! count and what waits.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use trefoil::io::AsyncReadExt;
use trefoil::runtime::{Builder, Handle, Runtime};
use trefoil::sync::{mpsc, oneshot};
use trefoil::{fiber, spawn};

fn one_worker() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// How many turns the fibers have had.
#[derive(Clone, Default)]
struct Turns(Arc<AtomicU64>);

impl Turns {
    fn count(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    fn now(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// After so many turns, whoever waits was forgotten.
const FOR_EVER: u64 = 10_000;

/// Has `make` make something that waits, in the turn of one of two fibers that yield to each other
/// for ever. It returns what tells by how many turns that had waited when it was served.
fn beside_yields(
    make: impl Fn(&Turns) -> oneshot::Receiver<u64> + Send + 'static,
) -> Vec<Option<u64>> {
    let runtime = one_worker();
    let _guard = runtime.enter();
    let root = fiber::spawn(move || {
        let (turns, is_over) = (Turns::default(), Arc::new(AtomicBool::new(false)));
        let (counted, ends) = (turns.clone(), is_over.clone());
        let other = fiber::spawn(move || {
            while !ends.load(Relaxed) {
                counted.count();
                fiber::yield_now();
            }
        });
        let waited = (0..20).map(|round| {
            // The scheduler is in another of its turns in each round.
            for _ in 0..100 + 7 * round {
                turns.count();
                fiber::yield_now();
            }
            let start = turns.now();
            let mut served = make(&turns);
            loop {
                if let Ok(waited) = served.try_recv() {
                    return Some(waited);
                }
                if turns.now() - start > FOR_EVER {
                    return None;
                }
                turns.count();
                fiber::yield_now();
            }
        });
        let waited: Vec<_> = waited.collect();
        is_over.store(true, Relaxed);
        other.join().unwrap();
        waited
    });
    root.join().unwrap()
}

/// The same with two fibers that wake each other.
fn beside_wakes(
    make: impl Fn(&Turns) -> oneshot::Receiver<u64> + Send + 'static,
) -> Vec<Option<u64>> {
    let runtime = one_worker();
    let _guard = runtime.enter();
    let root = fiber::spawn(move || {
        let turns = Turns::default();
        let (there, mut here) = mpsc::unbounded_channel();
        let (back, mut again) = mpsc::unbounded_channel();
        let counted = turns.clone();
        let other = fiber::spawn(move || {
            while let Some(()) = here.blocking_recv() {
                counted.count();
                back.send(()).unwrap();
            }
        });
        let mut turn = |turns: &Turns| {
            turns.count();
            there.send(()).unwrap();
            again.blocking_recv().unwrap();
        };
        let mut all = Vec::new();
        for round in 0..20 {
            for _ in 0..50 + 7 * round {
                turn(&turns);
            }
            let start = turns.now();
            let mut served = make(&turns);
            let waited = loop {
                if let Ok(waited) = served.try_recv() {
                    break Some(waited);
                }
                if turns.now() - start > FOR_EVER {
                    break None;
                }
                turn(&turns);
            };
            all.push(waited);
        }
        drop(there);
        other.join().unwrap();
        all
    });
    root.join().unwrap()
}

#[track_caller]
fn check(bound: u64, make: impl Fn(&Turns) -> oneshot::Receiver<u64> + Clone + Send + 'static) {
    for (what, waited) in [("yields", beside_yields(make.clone())), ("wakes", beside_wakes(make))] {
        let is_served = waited.iter().all(|waited| waited.is_some_and(|waited| waited <= bound));
        assert!(is_served, "beside {what}, turns waited: {waited:?}, and not {bound}");
    }
}

/// Tells how many turns it took until this was called.
fn teller(turns: &Turns) -> (impl FnOnce() + Send + 'static, oneshot::Receiver<u64>) {
    let (sender, receiver) = oneshot::channel();
    let (turns, start) = (turns.clone(), turns.now());
    let tell = move || {
        let _ = sender.send(turns.now() - start);
    };
    (tell, receiver)
}

/// It is in the LIFO slot, or in the ring with nothing before it.
#[test]
fn a_task_that_one_of_them_spawns() {
    check(8, |turns| {
        let (tell, told) = teller(turns);
        spawn(async move { tell() });
        told
    });
}

/// It has three turns, each behind whatever is queued.
#[test]
fn a_task_in_the_ring() {
    check(16, |turns| {
        let (tell, told) = teller(turns);
        spawn(async move {
            for _ in 0..2 {
                trefoil::task::yield_now().await;
            }
            tell();
        });
        told
    });
}

#[test]
fn a_task_from_another_thread() {
    check(62, |turns| {
        let (handle, (tell, told)) = (Handle::current(), teller(turns));
        thread::scope(|scope| {
            scope.spawn(|| drop(handle.spawn(async move { tell() })));
        });
        told
    });
}

#[test]
fn a_fiber_from_another_thread() {
    check(62, |turns| {
        let (handle, (tell, told)) = (Handle::current(), teller(turns));
        thread::scope(|scope| {
            scope.spawn(|| {
                let _guard = handle.enter();
                drop(fiber::spawn(tell));
            });
        });
        told
    });
}

/// From the inbox, and then twice from the worker's own queue.
#[test]
fn a_pinned_task() {
    check(8 + 2 * 8, |turns| {
        let (handle, (tell, told)) = (Handle::current(), teller(turns));
        thread::scope(|scope| {
            scope.spawn(|| {
                drop(handle.spawn_pinned(0, async move {
                    trefoil::task::yield_now().await;
                    trefoil::task::yield_now().await;
                    tell();
                }))
            });
        });
        told
    });
}

/// A fiber that has begun, and that another thread wakes.
#[test]
fn a_fiber_that_waits() {
    check(16, |turns| {
        let (begins, begun) = oneshot::channel();
        let (wakes, woken) = oneshot::channel::<()>();
        let (sender, receiver) = oneshot::channel();
        let ready = Arc::new(AtomicU64::new(0));
        let (start, counted) = (ready.clone(), turns.clone());
        drop(fiber::spawn(move || {
            begins.send(()).unwrap();
            woken.blocking_recv().unwrap();
            let _ = sender.send(counted.now() - start.load(Relaxed));
        }));
        begun.blocking_recv().unwrap();
        // It waits by then.
        (0..4).for_each(|_| fiber::yield_now());
        ready.store(turns.now(), Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| wakes.send(()).unwrap());
        });
        receiver
    });
}

/// It is due when the count begins.
#[test]
fn a_timer() {
    check(24, |turns| {
        let turns = turns.clone();
        let (sender, receiver) = oneshot::channel();
        let (waits, waited) = oneshot::channel();
        let due = Arc::new(AtomicU64::new(0));
        let start = due.clone();
        let counted = turns.clone();
        spawn(async move {
            let sleep = trefoil::time::sleep(Duration::from_millis(3));
            let mut sleep = std::pin::pin!(sleep);
            let mut waits = Some(waits);
            std::future::poll_fn(|cx| {
                let polled = std::future::Future::poll(sleep.as_mut(), cx);
                if let Some(waits) = waits.take() {
                    waits.send(()).unwrap();
                }
                polled
            })
            .await;
            let _ = sender.send(counted.now().saturating_sub(start.load(Relaxed)));
        });
        waited.blocking_recv().unwrap();
        thread::sleep(Duration::from_millis(5));
        due.store(turns.now(), Relaxed);
        receiver
    });
}

#[test]
fn a_socket() {
    check(61 + 8, |turns| {
        let (mut here, there) = std::os::unix::net::UnixStream::pair().unwrap();
        there.set_nonblocking(true).unwrap();
        let (sender, receiver) = oneshot::channel();
        let (waits, waited) = oneshot::channel();
        let ready = Arc::new(AtomicU64::new(0));
        let (start, counted) = (ready.clone(), turns.clone());
        spawn(async move {
            let mut there = trefoil::net::UnixStream::from_std(there).unwrap();
            waits.send(()).unwrap();
            assert_eq!(there.read_u8().await.unwrap(), 7);
            let _ = sender.send(counted.now() - start.load(Relaxed));
        });
        waited.blocking_recv().unwrap();
        // It waits for its byte by then.
        (0..4).for_each(|_| fiber::yield_now());
        ready.store(turns.now(), Relaxed);
        here.write_all(&[7]).unwrap();
        receiver
    });
}

/// One that somebody else aborts ends where it next leaves its stack.
#[test]
fn an_abort() {
    let runtime = one_worker();
    let _guard = runtime.enter();
    let fibers = [(); 2].map(|()| {
        fiber::spawn(|| {
            loop {
                fiber::yield_now();
            }
        })
    });
    for fiber in fibers {
        fiber.abort();
        let error = fiber.join().map(|never: std::convert::Infallible| match never {});
        assert!(error.unwrap_err().is_cancelled());
    }
}

#[test]
fn the_end_of_the_runtime() {
    let runtime = one_worker();
    let guard = runtime.enter();
    let turns = Turns::default();
    for _ in 0..2 {
        let turns = turns.clone();
        drop(fiber::spawn(move || -> std::convert::Infallible {
            loop {
                turns.count();
                fiber::yield_now();
            }
        }));
    }
    while turns.now() < 100 {
        thread::yield_now();
    }
    drop(guard);
    drop(runtime);
}

/// Each turn is a poll, for those who count them and for those who are called for them.
#[test]
fn each_turn_is_counted_as_a_poll() {
    const TURNS: u64 = 1000;
    let run = |runtime: &Runtime| {
        let metrics = runtime.metrics();
        let _guard = runtime.enter();
        let root = fiber::spawn(move || {
            let before = metrics.worker_poll_count(0);
            let fibers =
                [(); 2].map(|()| fiber::spawn(|| (0..TURNS).for_each(|_| fiber::yield_now())));
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
            metrics.worker_poll_count(0) - before
        });
        root.join().unwrap()
    };
    let counted = run(&one_worker());
    assert!((2 * TURNS..2 * TURNS + 20).contains(&counted), "{counted}");

    let hooked = Arc::new(AtomicU64::new(0));
    let counts = hooked.clone();
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .on_before_task_poll(move |_| {
            counts.fetch_add(1, Relaxed);
        })
        .build()
        .unwrap();
    let counted = run(&runtime);
    assert!((2 * TURNS..2 * TURNS + 20).contains(&counted), "{counted}");
    let hooked = hooked.load(Relaxed);
    assert!((counted..counted + 20).contains(&hooked), "{hooked} calls for {counted} polls");
}
