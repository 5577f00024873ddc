//! Time is stopped while another thread is in the midst of registering a timer, when it allocates
//! the timer's memory. The allocator is the process's, so that this is a program of its own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;
use trefoil::runtime::{Builder, Handle};
use trefoil::time::{self, sleep};

struct Waiting;

thread_local! {
    /// The next allocation of this thread waits until time is stopped. The cell itself is neither
    /// allocated nor dropped.
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

static IS_WAITING: AtomicBool = AtomicBool::new(false);
static IS_STOPPED: AtomicBool = AtomicBool::new(false);

// SAFETY: `System` does everything, and keeps the contract. To wait before that allocates nothing,
// and does not unwind.
unsafe impl GlobalAlloc for Waiting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if WAITS.replace(false) {
            IS_WAITING.store(true, SeqCst);
            wait_for(&IS_STOPPED);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise: it came from `alloc`, and so from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static WAITING: Waiting = Waiting;

fn wait_for(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        thread::yield_now();
    }
}

/// The timer is registered too late for whoever stops time to find it, and found out too early that
/// time runs.
#[test]
fn a_timer_that_is_being_registered_when_time_is_stopped_is_not_overlooked() {
    const HOUR: Duration = Duration::from_secs(3600);
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let (send, sent) = trefoil::sync::oneshot::channel();
            let handle = Handle::current();
            thread::spawn(move || {
                handle.block_on(async {
                    // With the first timer, the thread gets a queue of its own.
                    let mut first = Box::pin(sleep(HOUR));
                    poll_fn(|cx| {
                        assert!(Pin::new(&mut first).poll(cx).is_pending());
                        Poll::Ready(())
                    })
                    .await;
                    let second = sleep(HOUR);
                    WAITS.set(true);
                    second.await;
                    send.send(()).unwrap();
                });
            });
            wait_for(&IS_WAITING);
            time::pause();
            IS_STOPPED.store(true, SeqCst);
            sent.await.unwrap();
        });
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(60)).expect("both wait for ever");
}
