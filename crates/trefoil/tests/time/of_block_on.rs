//! Timers of a thread that is in `block_on`, which others wait for.

use crate::support::multi;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use trefoil::runtime::Builder;
use trefoil::task;
use trefoil::time::{Duration, sleep};

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
    let (is_driving, drives) = std::sync::mpsc::channel();
    let (done, is_done) = std::sync::mpsc::channel();
    let driver = Arc::clone(&runtime);
    std::thread::spawn(move || {
        driver.block_on(async {
            is_driving.send(()).unwrap();
            sent.await.unwrap();
        });
        done.send(()).unwrap();
    });
    drives.recv().unwrap();
    std::thread::spawn(move || {
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
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
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
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = multi(1);
        runtime.block_on(async {
            let mut timer = Box::pin(sleep(ms(2)));
            poll_in_vain(&mut timer).await;
            let elsewhere = std::thread::spawn(|| futures::executor::block_on(timer));
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
