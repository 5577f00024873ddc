//! When stopped time jumps, and when it must not.

use crate::panic_hook::with_hook;
use futures::poll;
use parking_lot::Mutex;
use std::hint::spin_loop;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread;
use trefoil::runtime::Builder;
use trefoil::task;
use trefoil::time::{Duration, Instant, advance, sleep, sleep_until, timeout};

/// The closure ends at any moment of the thread's way to sleep, and wakes the future of `block_on`.
/// Whoever finds the pool idle has to find that future woken as well.
#[test]
fn it_does_not_jump_past_a_closure_that_the_future_of_block_on_waits_for() {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    for round in 0..50_000 {
        let elapsed = runtime.block_on(async move {
            let start = Instant::now();
            let closure = task::spawn_blocking(move || (0..round % 600).for_each(|_| spin_loop()));
            timeout(Duration::from_secs(3600), closure).await.expect("it has ended").unwrap();
            start.elapsed()
        });
        assert_eq!(elapsed, Duration::ZERO, "in round {round}");
    }
}

/// Nobody is woken by its end: it is the pool that has time go on.
#[test]
fn it_jumps_when_a_closure_has_ended_that_nobody_waits_for() {
    let (ended, has_ended) = mpsc::channel();
    let thread = thread::spawn(move || {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build().unwrap();
        for _ in 0..100 {
            let metrics = runtime.metrics();
            let elapsed = runtime.block_on(async move {
                let parks = metrics.worker_park_count(0);
                // It ends when the thread is about to sleep, or sleeps.
                drop(task::spawn_blocking(move || {
                    while metrics.worker_park_count(0) == parks {
                        thread::yield_now();
                    }
                }));
                let start = Instant::now();
                sleep(Duration::from_secs(3600)).await;
                start.elapsed()
            });
            assert_eq!(elapsed, Duration::from_secs(3600));
        }
        ended.send(()).unwrap();
    });
    let outcome = has_ended.recv_timeout(Duration::from_secs(60));
    assert_ne!(outcome, Err(mpsc::RecvTimeoutError::Timeout), "time stands still");
    thread.join().unwrap();
}

#[test]
fn the_hook_of_a_panic_may_ask_for_the_time() {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let handle = runtime.handle().clone();
    let hook = move || {
        let _runtime = handle.enter();
        Instant::now();
    };
    with_hook(hook, move || {
        runtime.block_on(async {
            let before = Instant::now();
            advance(Duration::from_secs(1)).await;
            assert_eq!(before.elapsed(), Duration::from_secs(1));
            advance(Duration::MAX).await;
        });
    });
}

/// The timer is far away, and so in a slot of the wheel that begins earlier; and the wheel is
/// asked, because an earlier one has fired since it was set.
#[test]
fn it_jumps_to_the_timer_at_once() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let note = move || notes.lock().push(Instant::now());
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(true).on_thread_park(note.clone()).on_thread_unpark(note);
    builder.build().unwrap().block_on(async move {
        for n in [77, 5_001, 1_000_001, 1_000_000_001] {
            let end = Instant::now() + Duration::from_millis(n);
            let mut timer = pin!(sleep_until(end));
            assert!(poll!(timer.as_mut()).is_pending());
            sleep(Duration::from_millis(1)).await;
            let start = Instant::now();
            seen.lock().clear();
            timer.await;
            assert_eq!(Instant::now(), end);
            let seen = seen.lock();
            assert!(!seen.is_empty(), "time jumps when the thread is about to sleep");
            assert!(seen.iter().all(|now| [start, end].contains(now)), "{n} ms");
        }
    });
}
