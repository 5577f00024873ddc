//! What threads in `block_on` leave in a current-thread runtime that another thread drives.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use trefoil::runtime::Builder;
use trefoil::sync::oneshot;
use trefoil::task::yield_now;

struct Counting;

/// How many bytes are allocated, by all threads.
static LIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: `System` does everything, and keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, SeqCst);
        // SAFETY: the caller's promise: it came from `alloc`, and so from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_thread_that_has_waited_beside_the_driver_leaves_nothing() {
    const THREADS: isize = 200;
    let runtime = Arc::new(Builder::new_current_thread().build().unwrap());
    let (stop, stopped) = oneshot::channel::<()>();
    let (tell, is_driving) = mpsc::channel();
    let drives = Arc::clone(&runtime);
    let driver = thread::spawn(move || {
        drives.block_on(async move {
            tell.send(()).unwrap();
            stopped.await.unwrap();
        });
    });
    is_driving.recv().unwrap();
    let wait_once_each = || {
        for _ in 0..THREADS {
            let runtime = Arc::clone(&runtime);
            // One after another. Each has a parker of its own.
            thread::spawn(move || runtime.block_on(yield_now())).join().unwrap();
        }
    };
    wait_once_each();
    let before = LIVE.load(SeqCst);
    wait_once_each();
    let grown = LIVE.load(SeqCst) - before;
    assert!(grown < 16 * THREADS, "{grown} bytes for {THREADS} threads");
    stop.send(()).unwrap();
    driver.join().unwrap();
}
