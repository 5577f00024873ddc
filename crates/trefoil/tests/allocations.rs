//! A task is one allocation, or has the memory of one that has ended.

use std::alloc::{GlobalAlloc, Layout, System};
use std::array;
use std::cell::Cell;
use std::sync::mpsc;
use std::thread;
use trefoil::runtime::{Builder, Runtime};
use trefoil::task;

struct Counting;

thread_local! {
    /// The allocations of this thread. The counter itself is neither allocated nor dropped.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// The bytes that this thread has allocated, less those that it has freed.
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: `System` does everything, and keeps the contract. The counters are plain cells, which
// allocating code may access at any time.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        BYTES.set(BYTES.get() + layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.set(BYTES.get() - layout.size() as isize);
        // SAFETY: the caller's promise: it came from `alloc`, and so from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

async fn work(n: usize) -> usize {
    task::yield_now().await;
    n
}

/// The number of allocations of this thread while `tasks` tasks are spawned, run and joined.
async fn allocations(tasks: usize, is_local: bool) -> usize {
    let mut handles = Vec::with_capacity(tasks);
    let before = ALLOCATIONS.get();
    for n in 0..tasks {
        handles.push(if is_local { task::spawn_local(work(n)) } else { trefoil::spawn(work(n)) });
    }
    for (n, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.await.unwrap(), n);
    }
    ALLOCATIONS.get() - before
}

/// How many allocations rounds make that have twice as many tasks at a time, and the last one as
/// many as the one before.
async fn rounds(is_local: bool) -> Vec<usize> {
    let mut counts = Vec::new();
    for tasks in [100, 200, 400, 400] {
        counts.push(allocations(tasks, is_local).await);
    }
    counts
}

/// The memory of tasks that have ended is kept: the tasks of each round that had no counterpart in
/// the one before are an allocation each, without those that the runtime makes only once, for
/// example for its first wake-ups.
#[track_caller]
fn check(counts: &[usize]) {
    let (first, same_again) = (counts[0], counts[3]);
    assert_eq!(first / 100, 1, "{counts:?}");
    assert_eq!((counts[2] - same_again) / 200, 1, "{counts:?}");
    assert_eq!(same_again / 100, 0, "{counts:?}");
}

fn with_and_without_histograms(mut builder: Builder) -> [Runtime; 2] {
    let plain = builder.build().unwrap();
    [plain, builder.enable_metrics_schedule_latency_histogram().build().unwrap()]
}

#[test]
fn a_task_of_a_current_thread_runtime_is_one_allocation_or_none() {
    for runtime in with_and_without_histograms(Builder::new_current_thread()) {
        check(&runtime.block_on(rounds(false)));
        // The memory stays with the runtime, whichever thread drives it.
        let again = thread::scope(|scope| {
            scope.spawn(|| runtime.block_on(allocations(400, false))).join().unwrap()
        });
        assert_eq!(again / 100, 0, "{again}");
    }
}

#[test]
fn a_local_task_is_one_allocation_or_none() {
    let runtime = Builder::new_current_thread().build_local(Default::default()).unwrap();
    check(&runtime.block_on(rounds(true)));
}

/// There is one worker, so that everything happens on one thread.
#[test]
fn a_task_of_a_multi_thread_runtime_is_one_allocation_or_none() {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1);
    for runtime in with_and_without_histograms(builder) {
        let spawned = runtime.spawn(rounds(false));
        check(&runtime.block_on(spawned).unwrap());
    }
}

/// What the tasks of a current-thread runtime have left behind, a thread that spawns on it from
/// outside may use.
#[test]
fn memory_that_is_kept_serves_threads_outside() {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(allocations(400, false));
    let before = ALLOCATIONS.get();
    let tasks: [_; 100] = array::from_fn(|n| runtime.spawn(work(n)));
    assert_eq!(ALLOCATIONS.get() - before, 0);
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(runtime.block_on(task).unwrap(), n);
    }
}

/// Whoever leaves work to another runtime and does not wait for it never gets that memory back: it
/// is with the threads of the other one.
#[test]
fn a_thread_that_drives_uses_the_memory_of_the_runtime_that_it_spawns_on() {
    let other = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let here = Builder::new_current_thread().build().unwrap();
    let round = || {
        here.block_on(async {
            // The only worker waits until all handles are gone, so that it frees all tasks.
            let (go, gone) = mpsc::channel::<()>();
            drop(other.spawn(async move { gone.recv().unwrap() }));
            let before = ALLOCATIONS.get();
            for n in 0..400 {
                drop(other.spawn(work(n)));
            }
            let spawned = ALLOCATIONS.get() - before;
            go.send(()).unwrap();
            // Behind all of them, and after their second polls.
            for n in 0..10 {
                other.spawn(work(n)).await.unwrap();
            }
            spawned
        })
    };
    let first = round();
    let again = round();
    assert!(first >= 300, "{first}");
    // Two magazines stay with the worker.
    assert!(again < 200, "{again}");
}

#[test]
fn a_current_thread_runtime_that_is_over_keeps_no_memory_for_tasks() {
    let before = BYTES.get();
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(allocations(5_000, false));
    let handle = runtime.handle().clone();
    drop(runtime);
    let kept = BYTES.get() - before;
    drop(handle);
    // More than half a megabyte were those of the tasks.
    assert!(kept < 100_000, "{kept}");
}
