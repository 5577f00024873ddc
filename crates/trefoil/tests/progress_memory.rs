//! When the memory of tasks that completed elsewhere is freed: see the page `trefoil::progress`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};
use trefoil::runtime::{Builder, Runtime};
use trefoil::spawn;
use trefoil::sync::Notify;
use trefoil::task::yield_now;

struct Counting;

/// The size of the tasks of this test. Nothing else has this size.
const LARGE: usize = 100_000;

/// How many allocations of this size there are.
static ALIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: `System` does everything, and keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE {
            ALIVE.fetch_add(1, SeqCst);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if layout.size() >= LARGE {
            ALIVE.fetch_sub(1, SeqCst);
        }
        // SAFETY: the caller's promise: it came from `alloc`, and so from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[track_caller]
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited in vain: {what}");
        thread::sleep(Duration::from_micros(50));
    }
}

/// Lets ten large tasks rest on worker 0, and then end on worker 1. Returns how many have ended.
/// Their futures are dropped by then.
fn ten_that_end_elsewhere(runtime: &Runtime) -> (Arc<Notify>, Arc<AtomicUsize>) {
    let (notify, rest) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let ended = Arc::new(AtomicUsize::new(0));
    let (notifies, rests, ends) = (notify.clone(), rest.clone(), ended.clone());
    let make = async move {
        for n in 0..10 {
            let (notify, rest, ended) = (notifies.clone(), rests.clone(), ends.clone());
            let large = [n as u8; LARGE];
            drop(spawn(async move {
                rest.fetch_add(1, SeqCst);
                notify.notified().await;
                std::hint::black_box(&large);
                ended.fetch_add(1, SeqCst);
            }));
            // It goes to the LIFO slot, and so runs here, while no other worker searches.
            yield_now().await;
        }
    };
    runtime.block_on(runtime.spawn_pinned(0, make)).unwrap();
    wait_for("ten tasks at rest", || rest.load(SeqCst) == 10);
    (notify, ended)
}

fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for worker in 0..2 {
        let warm_up = async {
            for _ in 0..130 {
                yield_now().await;
            }
        };
        runtime.block_on(runtime.spawn_pinned(worker, warm_up)).unwrap();
    }
    runtime
}

fn wake_on_1(runtime: &Runtime, notify: Arc<Notify>, ended: &AtomicUsize) {
    let wake = async move { notify.notify_waiters() };
    runtime.block_on(runtime.spawn_pinned(1, wake)).unwrap();
    wait_for("their end", || ended.load(SeqCst) == 10);
}

/// This is only one test, because there is only one count.
#[test]
fn memory_of_tasks_that_ended_elsewhere() {
    for _ in 0..5 {
        // Their home sleeps.
        let runtime = runtime();
        let (notify, ended) = ten_that_end_elsewhere(&runtime);
        assert_eq!(ALIVE.load(SeqCst), 10);
        wake_on_1(&runtime, notify, &ended);
        wait_for("the memory of tasks whose home sleeps", || ALIVE.load(SeqCst) == 0);

        // Their home polls without end.
        let stop = Arc::new(AtomicBool::new(false));
        let stops = stop.clone();
        let busy = runtime.spawn_pinned(0, async move {
            while !stops.load(SeqCst) {
                yield_now().await;
            }
        });
        let (notify, ended) = ten_that_end_elsewhere(&runtime);
        wake_on_1(&runtime, notify, &ended);
        wait_for("the memory of tasks whose home is busy", || ALIVE.load(SeqCst) == 0);
        stop.store(true, SeqCst);
        runtime.block_on(busy).unwrap();

        // Their home is in one poll.
        let (notify, ended) = ten_that_end_elsewhere(&runtime);
        let end = Arc::new(AtomicBool::new(false));
        let (inside, ends) = (Arc::new(AtomicBool::new(false)), end.clone());
        let is_inside = inside.clone();
        let holder = runtime.spawn_pinned(0, async move {
            is_inside.store(true, SeqCst);
            let start = Instant::now();
            while !ends.load(SeqCst) && start.elapsed() < Duration::from_secs(40) {
                thread::sleep(Duration::from_micros(50));
            }
        });
        wait_for("the long poll", || inside.load(SeqCst));
        wake_on_1(&runtime, notify, &ended);
        end.store(true, SeqCst);
        wait_for("the memory of tasks whose home was in one poll", || ALIVE.load(SeqCst) == 0);
        runtime.block_on(holder).unwrap();
    }
}
