//! The system cannot start threads, because their stacks would be larger than any memory.

use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use trefoil::runtime::{Builder, Handle};
use trefoil::task;

/// Of an address space of 4 GiB, there is never so much in one piece.
const TOO_MUCH: usize = 7 << if usize::BITS < 64 { 29 } else { 47 };

#[test]
fn a_runtime_without_workers_is_an_error() {
    // From three workers on, there is a monitor from the start.
    for (workers, whose) in [(1, "a worker"), (2, "a worker"), (8, "the monitor")] {
        let built = Builder::new_multi_thread()
            .worker_threads(workers)
            .thread_stack_size(TOO_MUCH)
            .enable_all()
            .build();
        let message = built.unwrap_err().to_string();
        assert!(message.contains(&format!("no thread for {whose} of the runtime")), "{message}");
    }
}

#[test]
fn a_closure_that_no_thread_can_run_is_a_panic_for_its_spawner() {
    let runtime =
        Builder::new_current_thread().thread_stack_size(TOO_MUCH).enable_all().build().unwrap();
    let dropped = std::sync::Arc::new(());
    for _ in 0..3 {
        let its = dropped.clone();
        let spawned = catch_unwind(AssertUnwindSafe(|| runtime.spawn_blocking(move || drop(its))));
        let message = *spawned.unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains("the blocking pool needs a thread"), "{message}");
        assert_eq!(runtime.metrics().num_blocking_threads(), 0);
    }
    assert_eq!(std::sync::Arc::strong_count(&dropped), 1);
    // Everything else still works.
    let task = runtime.spawn(async {
        task::yield_now().await;
        5
    });
    assert_eq!(runtime.block_on(task).unwrap(), 5);
}

/// Stopped time waits for a closure, which then finds no thread.
#[test]
fn stopped_time_goes_on_after_a_closure_was_refused() {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        let parks = Arc::new(AtomicUsize::new(0));
        let its_parks = Arc::clone(&parks);
        let driver = Arc::new(Mutex::<Option<Handle>>::default());
        let its_driver = Arc::clone(&driver);
        let is_refused = Arc::new(AtomicBool::new(false));
        let runtime = Builder::new_current_thread()
            .thread_stack_size(TOO_MUCH)
            .enable_all()
            .start_paused(true)
            .on_thread_park(move || {
                parks.fetch_add(1, SeqCst);
            })
            // It is called when the closure is queued, and before the system is asked for a thread.
            .thread_name_fn(move || {
                // While the closure is queued, the driving thread goes to sleep until it is woken,
                // or has done so already; otherwise it rests for no time, again and again.
                let driver = its_driver.lock().take().expect("there is one closure");
                let sleeps = || {
                    let before = its_parks.load(SeqCst);
                    thread::sleep(Duration::from_millis(1));
                    its_parks.load(SeqCst) == before
                        && driver.dump().to_string().contains("parked true")
                };
                while !sleeps() {}
                "none".into()
            })
            .build()
            .unwrap();
        let handle = runtime.handle().clone();
        driver.lock().replace(handle.clone());
        let refused = Arc::clone(&is_refused);
        let other = thread::spawn(move || {
            catch_unwind(|| handle.spawn_blocking(|| ())).unwrap_err();
            refused.store(true, SeqCst);
        });
        runtime.block_on(async {
            // It is always time for the next one.
            while !is_refused.load(SeqCst) {
                trefoil::time::sleep(Duration::from_secs(1)).await;
            }
        });
        other.join().unwrap();
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(60)).expect("time stands still");
}
