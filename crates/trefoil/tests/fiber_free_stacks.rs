//! What the stacks of fibers keep of the system's memory when nobody needs them.

// It is about the whole process, and so alone in its file.
#![cfg(all(target_os = "linux", not(trefoil_tsan)))]

mod support;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::page_size;
use trefoil::fiber;
use trefoil::runtime::Builder;
use trefoil::sync::{Barrier, Semaphore};

const FIBERS: usize = 500;
const TOUCHED: usize = 100 * 1024;
const WATCHDOG: Duration = Duration::from_secs(60);

/// The bytes that the system backs.
fn resident() -> usize {
    let numbers = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = numbers.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * page_size()
}

#[inline(never)]
fn touch() {
    black_box([1_u8; TOUCHED]);
}

/// What goes on in the runtime when the stacks are free.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Beside {
    Nothing,
    /// Another thread has become the worker before the fibers end.
    NewWorker,
    /// The workers are woken more often than they would be quiet.
    Heartbeat,
    /// The workers do not sleep, and fibers come and go one by one.
    Fibers,
    /// The workers lend their places while they sleep.
    Lent,
}

/// However many workers there are, and whatever they do: the free stacks give their memory back
/// within a time that only a watchdog bounds.
#[test]
fn the_stacks_of_fibers_that_were_alive_at_once_give_their_memory_back() {
    for beside in
        [Beside::Nothing, Beside::NewWorker, Beside::Heartbeat, Beside::Fibers, Beside::Lent]
    {
        give_their_memory_back(1, beside);
        give_their_memory_back(2, beside);
    }
}

/// The caller's place is free. Returns when another thread has each place, and sleeps there, before
/// there are free stacks.
fn have_other_threads_serve(workers: usize) {
    // All are served at once: a worker that has run one would run the next as well, and nobody
    // would take the place that is free.
    let at_once = Arc::new(std::sync::Barrier::new(workers));
    let (there, here) = std::sync::mpsc::channel();
    for _ in 0..workers {
        let (at_once, there) = (at_once.clone(), there.clone());
        trefoil::spawn(async move {
            at_once.wait();
            there.send(()).unwrap();
        });
    }
    for _ in 0..workers {
        here.recv_timeout(WATCHDOG).expect("a worker for each place");
    }
    let metrics = trefoil::runtime::Handle::current().metrics();
    let is_awake = |worker| metrics.worker_park_unpark_count(worker).is_multiple_of(2);
    let since = Instant::now();
    while (0..workers).any(is_awake) {
        assert!(since.elapsed() < WATCHDOG, "a worker does not sleep");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn give_their_memory_back(workers: usize, beside: Beside) {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).serve_in_block_on(beside == Beside::Lent);
    let runtime = builder.enable_time().build().unwrap();
    let _guard = runtime.enter();
    let before = resident();
    let peak = fiber::spawn(move || {
        let (begun, released) = (Arc::new(Barrier::new(FIBERS + 1)), Semaphore::new(0));
        let released = Arc::new(released);
        let fibers: Vec<_> = (0..FIBERS)
            .map(|_| {
                let (begun, released) = (begun.clone(), released.clone());
                fiber::spawn(move || {
                    touch();
                    fiber::wait(begun.wait());
                    fiber::wait(released.acquire()).unwrap().forget();
                })
            })
            .collect();
        fiber::wait(begun.wait());
        let peak = resident();
        if beside == Beside::NewWorker {
            trefoil::task::block_in_place(|| have_other_threads_serve(workers));
        }
        released.add_permits(FIBERS);
        fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
        peak
    });
    let peak = peak.join().unwrap();
    assert!(peak - before > FIBERS * TOUCHED / 2, "{before} {peak}");
    if beside == Beside::Heartbeat {
        trefoil::spawn(async {
            loop {
                trefoil::time::sleep(Duration::from_millis(10)).await;
            }
        });
    }
    if beside == Beside::Fibers {
        for _ in 0..workers {
            trefoil::spawn(async {
                loop {
                    trefoil::task::yield_now().await;
                }
            });
        }
    }
    let since = Instant::now();
    while resident() > peak - FIBERS * TOUCHED / 2 {
        let now = resident();
        assert!(since.elapsed() < WATCHDOG, "{workers} {beside:?}: {now} {peak}");
        if beside == Beside::Fibers {
            (0..100).for_each(|_| fiber::spawn(|| ()).join().unwrap());
        } else {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
