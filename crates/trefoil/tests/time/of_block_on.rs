//! Timers of a thread that is in `block_on`, which others wait for.

use crate::support::{current_thread, multi};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::thread;
use trefoil::runtime::{Builder, Handle};
use trefoil::task;
use trefoil::time::{self, Duration, sleep};

const HOUR: Duration = Duration::from_secs(3600);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// One thread drives a runtime whose time is stopped, and waits for another one, which waits for a
/// timer of that runtime.
#[test]
fn stopped_time_jumps_to_the_timer_of_a_thread_that_does_not_drive() {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let runtime = Arc::new(runtime);
    let (send, sent) = trefoil::sync::oneshot::channel();
    let (is_driving, drives) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    let driver = Arc::clone(&runtime);
    thread::spawn(move || {
        driver.block_on(async {
            is_driving.send(()).unwrap();
            sent.await.unwrap();
        });
        done.send(()).unwrap();
    });
    drives.recv().unwrap();
    thread::spawn(move || {
        runtime.block_on(async {
            sleep(Duration::from_secs(3600)).await;
            send.send(()).unwrap();
        });
    });
    is_done.recv_timeout(Duration::from_secs(20)).expect("both wait for ever");
}

/// Polls a future once, which is not ready.
async fn poll_in_vain<F: Future + Unpin>(future: &mut F) {
    poll_fn(|cx| {
        assert!(Pin::new(&mut *future).poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// A timer of a `block_on` wakes others, too, and that thread blocks until they have been woken.
#[test]
fn a_timer_of_a_block_on_that_blocks_in_place_is_fired() {
    use futures::FutureExt;
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        let runtime = multi(2);
        runtime.block_on(async {
            let mut shared = sleep(ms(2)).shared();
            poll_in_vain(&mut shared).await;
            let waits = task::spawn(shared.clone());
            task::block_in_place(|| runtime.handle().block_on(waits)).unwrap();
            shared.await;
        });
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(20)).expect("both wait for ever");
}

/// A timer was first polled in a `block_on`, and is then polled by another executor.
#[test]
fn a_timer_leaves_the_block_on_it_was_first_polled_in() {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        let runtime = multi(1);
        runtime.block_on(async {
            let mut timer = Box::pin(sleep(ms(2)));
            poll_in_vain(&mut timer).await;
            let elsewhere = thread::spawn(|| futures::executor::block_on(timer));
            elsewhere.join().unwrap();
        });
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(20)).expect("both wait for ever");
}

#[test]
fn a_timer_fires_although_nobody_drives() {
    let runtime = trefoil::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    handle.block_on(async { trefoil::time::sleep(ms(2)).await });
    let late = async { trefoil::time::timeout(ms(2), std::future::pending::<()>()).await };
    assert!(handle.block_on(late).is_err());
}

/// Time is stopped when a thread that does not drive waits for a timer already.
#[test]
fn time_that_is_stopped_later_jumps_to_the_timer_of_a_thread_that_does_not_drive() {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        current_thread().block_on(async {
            let (send, sent) = trefoil::sync::oneshot::channel();
            let (waits, is_waiting) = mpsc::channel();
            let handle = Handle::current();
            thread::spawn(move || {
                handle.block_on(async {
                    let mut timer = Box::pin(sleep(HOUR));
                    poll_in_vain(&mut timer).await;
                    waits.send(()).unwrap();
                    timer.await;
                    send.send(()).unwrap();
                });
            });
            is_waiting.recv().unwrap();
            time::pause();
            sent.await.unwrap();
        });
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(60)).expect("both wait for ever");
}

/// The driving thread sleeps for as long as its timers ask for, or, while a closure runs and time
/// is stopped, until it is woken. Another one changes the time.
#[test]
fn whoever_changes_the_time_has_the_driving_thread_look_at_its_timers() {
    fn drives_while(change: impl FnOnce(Handle) + Send + 'static, is_paused: bool) {
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            let (rests, is_resting) = mpsc::channel();
            let runtime = Builder::new_current_thread()
                .enable_all()
                .start_paused(is_paused)
                .on_thread_park(move || {
                    let _ = rests.send(());
                })
                .build()
                .unwrap();
            let (end, ends) = mpsc::channel::<()>();
            // Time that is stopped jumps to no timer while this runs.
            let closure = is_paused.then(|| runtime.spawn_blocking(move || ends.recv()));
            let handle = runtime.handle().clone();
            let changes = thread::spawn(move || {
                is_resting.recv().unwrap();
                while !handle.dump().to_string().contains("parked true") {
                    thread::yield_now();
                }
                change(handle);
            });
            let wait = if is_paused { Duration::from_millis(2) } else { HOUR };
            runtime.block_on(async { sleep(wait).await });
            changes.join().unwrap();
            drop((end, closure));
            done.send(()).unwrap();
        });
        is_done.recv_timeout(Duration::from_secs(60)).expect("nobody looks at the timers");
    }
    drives_while(|handle| handle.block_on(async { time::pause() }), false);
    drives_while(|handle| handle.block_on(async { time::resume() }), true);
    drives_while(|handle| handle.block_on(time::advance(HOUR)), true);
}
