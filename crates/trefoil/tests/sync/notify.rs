//! `Notify`: places, budget, and many who wait.

use crate::polls::{Wakes, poll_once, poll_with};
use crate::support::{current_and_multi, current_thread};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use trefoil::sync::Notify;
use trefoil::task::{consume_budget, yield_now};

/// Spends what the poll of a task may do.
async fn spend_budget() {
    for _ in 0..128 {
        consume_budget().await;
    }
}

#[test]
fn a_place_is_taken_without_budget() {
    for runtime in current_and_multi([2]) {
        let both = runtime.spawn(async {
            let notify = Notify::new();
            let (mut first, mut second) = (pin!(notify.notified()), pin!(notify.notified()));
            spend_budget().await;
            poll_fn(|cx| {
                assert!(first.as_mut().poll(cx).is_pending());
                assert!(second.as_mut().poll(cx).is_pending());
                // With one waiter on the list, the second of these would be a permit.
                notify.notify_one();
                notify.notify_one();
                Poll::Ready(())
            })
            .await;
            first.await;
            second.await;
            assert!(poll_once(pin!(notify.notified())).is_pending(), "no permit is left");
        });
        runtime.block_on(both).unwrap();
    }
}

#[test]
fn a_permit_that_is_taken_without_budget_is_kept_or_passed_on() {
    for is_kept in [true, false] {
        for runtime in current_and_multi([2]) {
            let task = runtime.spawn(async move {
                let notify = Notify::new();
                notify.notify_one();
                spend_budget().await;
                {
                    let mut takes = pin!(notify.notified());
                    let early = poll_fn(|cx| Poll::Ready(takes.as_mut().poll(cx))).await;
                    assert!(early.is_pending(), "there is no budget");
                    assert!(poll_once(pin!(notify.notified())).is_pending(), "it is taken");
                    if is_kept {
                        takes.await;
                    }
                }
                yield_now().await;
                poll_once(pin!(notify.notified())).is_ready()
            });
            assert_eq!(runtime.block_on(task).unwrap(), !is_kept);
        }
    }
}

#[test]
fn a_call_that_is_seen_without_budget_is_seen_later() {
    for runtime in current_and_multi([2]) {
        let task = runtime.spawn(async {
            let notify = Notify::new();
            let mut made_before = pin!(notify.notified());
            notify.notify_waiters();
            spend_budget().await;
            let early = poll_fn(|cx| Poll::Ready(made_before.as_mut().poll(cx))).await;
            assert!(early.is_pending(), "there is no budget");
            made_before.await;
        });
        runtime.block_on(task).unwrap();
    }
}

/// More than one critical section notifies them, and all are notified.
#[test]
fn many_who_wait_are_notified_once() {
    let notify = Notify::new();
    let wakes = Arc::new(Wakes::default());
    let mut waits: Vec<_> = (0..100).map(|_| Box::pin(notify.notified())).collect();
    for wait in &mut waits {
        assert!(poll_with(wait.as_mut(), &wakes).is_pending());
    }
    // Those who leave before, from either end and from between.
    for index in [99, 50, 0] {
        drop(waits.remove(index));
    }
    notify.notify_waiters();
    assert_eq!(wakes.get(), 97);
    for wait in &mut waits {
        assert!(poll_with(wait.as_mut(), &wakes).is_ready());
    }
    assert!(poll_once(pin!(notify.notified())).is_pending(), "no permit is stored");
}

/// Which of three that wait, in the order in which they began to, are notified.
#[test]
fn the_last_one_is_the_newest_and_passes_it_on_to_the_next_newest() {
    for is_last in [true, false] {
        let notify = Notify::new();
        let notify_one = || if is_last { notify.notify_last() } else { notify.notify_one() };
        let wakes: Vec<_> = (0..3).map(|_| Arc::new(Wakes::default())).collect();
        let mut waits: Vec<_> = wakes
            .iter()
            .map(|wakes| {
                let mut wait = Box::pin(notify.notified());
                assert!(poll_with(wait.as_mut(), wakes).is_pending());
                wait
            })
            .collect();
        let woken = || wakes.iter().map(|wakes| wakes.get()).collect::<Vec<_>>();
        notify_one();
        assert_eq!(woken(), if is_last { [0, 0, 1] } else { [1, 0, 0] });
        // One that has been notified and goes without having seen it.
        drop(waits.remove(if is_last { 2 } else { 0 }));
        assert_eq!(woken(), if is_last { [0, 1, 1] } else { [1, 1, 0] });
        notify_one();
        assert_eq!(woken(), [1, 1, 1]);
    }
}

#[test]
fn notify_hands_permits_on() {
    let runtime = current_thread();
    runtime.block_on(async {
        let notify = Notify::new();
        notify.notify_one();
        notify.notify_one();
        notify.notified().await;
        let (mut one, mut two) = (Box::pin(notify.notified()), Box::pin(notify.notified()));
        assert!(!one.as_mut().enable());
        assert!(!two.as_mut().enable());
        notify.notify_one();
        // The first waiter got the permit, and is dropped without using it.
        drop(one);
        two.await;
        let before = notify.notified();
        notify.notify_waiters();
        before.await;
        let mut after = Box::pin(notify.notified());
        assert!(!after.as_mut().enable());
        let (mut first, mut last) = (Box::pin(notify.notified()), Box::pin(notify.notified()));
        first.as_mut().enable();
        last.as_mut().enable();
        notify.notify_last();
        assert!(last.as_mut().enable());
        assert!(!first.as_mut().enable());
        notify.notify_waiters();
        first.await;
        after.await;
    });
}

/// All who wait are notified, although the waker of one panics.
#[test]
fn a_waker_that_panics_keeps_nobody_from_being_notified() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("from a waker, on purpose");
        }
    }
    let notify = Notify::new();
    let mut waits: Vec<_> = (0..3).map(|_| Box::pin(notify.notified())).collect();
    let wakes = [Arc::new(Wakes::default()), Arc::new(Wakes::default())];
    assert!(poll_with(waits[0].as_mut(), &wakes[0]).is_pending());
    let panics = Waker::from(Arc::new(Panics));
    assert!(waits[1].as_mut().poll(&mut Context::from_waker(&panics)).is_pending());
    assert!(poll_with(waits[2].as_mut(), &wakes[1]).is_pending());
    let notified = std::panic::catch_unwind(|| notify.notify_waiters());
    assert!(notified.is_err());
    assert!(wakes.iter().all(|wakes| wakes.get() > 0));
    assert!(poll_with(waits[2].as_mut(), &wakes[1]).is_ready());
}
