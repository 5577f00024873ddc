//! A task is one allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use trefoil::runtime::{Builder, Runtime};
use trefoil::task;

struct Counting;

thread_local! {
    /// The allocations of this thread. The counter itself is neither allocated nor dropped.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: `System` does everything, and keeps the contract. The counter is a plain cell, which
// allocating code may access at any time.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise: it came from `alloc`, and so from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The number of allocations of this thread while `tasks` tasks are spawned, run and joined.
async fn allocations(tasks: usize, is_local: bool) -> usize {
    let mut handles = Vec::with_capacity(tasks);
    let before = ALLOCATIONS.get();
    for n in 0..tasks {
        let future = async move {
            task::yield_now().await;
            n
        };
        handles.push(if is_local { task::spawn_local(future) } else { trefoil::spawn(future) });
    }
    for (n, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.await.unwrap(), n);
    }
    ALLOCATIONS.get() - before
}

/// How many allocations tasks make, without those that the runtime makes only once, for example for
/// its first wake-ups.
async fn per_task(is_local: bool) -> (usize, usize) {
    const TASKS: usize = 100;
    allocations(TASKS, is_local).await;
    let few = allocations(TASKS, is_local).await;
    let many = allocations(2 * TASKS, is_local).await;
    (few / TASKS, (many - few) / TASKS)
}

fn with_and_without_histograms(mut builder: Builder) -> [Runtime; 2] {
    let plain = builder.build().unwrap();
    [plain, builder.enable_metrics_schedule_latency_histogram().build().unwrap()]
}

#[test]
fn a_task_of_a_current_thread_runtime_is_one_allocation() {
    for runtime in with_and_without_histograms(Builder::new_current_thread()) {
        assert_eq!(runtime.block_on(per_task(false)), (1, 1));
    }
}

#[test]
fn a_local_task_is_one_allocation() {
    let runtime = Builder::new_current_thread().build_local(Default::default()).unwrap();
    assert_eq!(runtime.block_on(per_task(true)), (1, 1));
}

/// Workers keep the memory of tasks that have ended. There is one worker, so that everything
/// happens on one thread.
#[test]
fn a_task_of_a_multi_thread_runtime_is_one_allocation_or_none() {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1);
    for runtime in with_and_without_histograms(builder) {
        let spawned = runtime.spawn(async {
            // Each round has twice as many tasks at a time. The memory of half of them is kept.
            let mut counts = Vec::new();
            for tasks in [100, 200, 400, 400] {
                counts.push(allocations(tasks, false).await);
            }
            counts
        });
        let counts = runtime.block_on(spawned).unwrap();
        let (first, same_again) = (counts[0], counts[3]);
        assert_eq!(first / 100, 1, "{counts:?}");
        assert_eq!((counts[2] - same_again) / 200, 1, "{counts:?}");
        assert_eq!(same_again / 100, 0, "{counts:?}");
    }
}
