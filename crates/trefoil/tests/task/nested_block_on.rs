//! Nested waits: each has wake-ups of its own.

use crate::support::multi;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;
use trefoil::runtime::Handle;
use trefoil::sync::oneshot;
use trefoil::task::block_in_place;

/// Fails instead of hanging.
fn within_a_minute(f: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let body = thread::spawn(move || {
        f();
        let _ = done.send(());
    });
    if is_done.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("a wake-up was lost");
    }
    body.join().unwrap();
}

/// Waits for an event, and in the first poll waits for another one, down to `levels` levels. The
/// event of an inner level comes only after those of all outer levels.
fn wait_within_wait(handle: &Handle, levels: usize, mut outer: Vec<oneshot::Sender<usize>>) {
    let (sender, receiver) = oneshot::channel();
    outer.push(sender);
    let mut inner = Some(outer);
    let output = handle.block_on(async {
        let mut receiver = pin!(receiver);
        poll_fn(|cx| {
            let polled = receiver.as_mut().poll(cx);
            if let Some(outer) = inner.take() {
                assert!(polled.is_pending());
                if levels > 0 {
                    block_in_place(|| wait_within_wait(handle, levels - 1, outer));
                } else {
                    // The outermost level is woken first. All others were woken before the
                    // innermost.
                    thread::spawn(|| {
                        for (n, sender) in outer.into_iter().enumerate() {
                            sender.send(n).unwrap();
                        }
                    });
                }
                return Poll::Pending;
            }
            polled
        })
        .await
    });
    assert!(output.unwrap() < 5);
}

#[test]
fn the_wakeups_of_the_outer_waits_are_not_lost() {
    within_a_minute(|| {
        let runtime = multi(1);
        for levels in 0..5 {
            for _ in 0..20 {
                wait_within_wait(runtime.handle(), levels, Vec::new());
            }
        }
    });
}

#[test]
fn nor_in_a_channel_that_blocks() {
    within_a_minute(|| {
        let runtime = multi(1);
        let (outer, outers) = oneshot::channel::<()>();
        let (inner, inners) = oneshot::channel::<()>();
        let mut once = Some((outer, inner, inners));
        runtime.block_on(async {
            let mut outers = pin!(outers);
            poll_fn(|cx| {
                let polled = outers.as_mut().poll(cx);
                if let Some((outer, inner, inners)) = once.take() {
                    assert!(polled.is_pending());
                    thread::spawn(move || {
                        outer.send(()).unwrap();
                        inner.send(()).unwrap();
                    });
                    block_in_place(|| inners.blocking_recv().unwrap());
                    return Poll::Pending;
                }
                polled
            })
            .await
            .unwrap();
        });
    });
}
