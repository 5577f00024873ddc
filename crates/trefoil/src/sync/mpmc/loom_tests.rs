//! Senders, receivers and selectors that meet, give up and are claimed, under loom.

use super::*;
use loom::future::block_on;
use loom::thread;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

fn poll(future: Pin<&mut impl Future>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn loom_mpmc_a_rendezvous() {
    loom::model(|| {
        let (sender, receiver) = bounded(0);
        let sending = thread::spawn(move || block_on(sender.send(1)).unwrap());
        // An item that is lost is a deadlock, which loom reports.
        assert_eq!(block_on(receiver.recv()), Ok(1));
        sending.join().unwrap();
        assert!(block_on(receiver.recv()).is_err());
    });
}

#[test]
fn loom_mpmc_a_place_that_becomes_free() {
    loom::model(|| {
        let (sender, receiver) = bounded(1);
        sender.try_send(1).unwrap();
        let sending = thread::spawn(move || block_on(sender.send(2)).unwrap());
        assert_eq!(block_on(receiver.recv()), Ok(1));
        assert_eq!(block_on(receiver.recv()), Ok(2));
        sending.join().unwrap();
    });
}

#[test]
fn loom_mpmc_the_item_of_one_that_gives_up() {
    loom::model(|| {
        let (sender, receiver) = bounded(0);
        let second = receiver.clone();
        let mut first = Box::pin(receiver.recv());
        assert!(!poll(first.as_mut()));
        let waiting = thread::spawn(move || block_on(second.recv()));
        // The channel stays open: if it is closed before the item comes back, who waits is told so.
        block_on(sender.send(1)).unwrap();
        drop(first);
        assert_eq!(waiting.join().unwrap(), Ok(1));
    });
}

#[test]
fn loom_mpmc_closing_wakes_both_sides() {
    loom::model(|| {
        let (sender, receiver) = bounded(0);
        let another = sender.clone();
        let closing = thread::spawn(move || another.close());
        let sent = block_on(sender.send(Arc::new(())));
        assert!(sent.is_err());
        assert!(closing.join().unwrap());
        assert!(block_on(receiver.recv()).is_err());
    });
}

#[test]
fn loom_mpmc_a_selector_is_claimed_once() {
    loom::model(|| {
        let (to_first, first) = bounded(0);
        let (to_second, second) = bounded(0);
        let mut selecting = Box::pin(async {
            crate::sync::mpmc::select! {
                biased;
                recv(first) -> got => got,
                recv(second) -> got => got,
            }
        });
        assert!(!poll(selecting.as_mut()));
        let its = to_first.clone();
        let one = thread::spawn(move || its.try_send(1).is_ok());
        let other = to_second.try_send(2).is_ok();
        let got = block_on(selecting).unwrap();
        // Exactly one was sent, and it was received.
        assert_eq!((one.join().unwrap(), other), (got == 1, got == 2));
    });
}

#[test]
fn loom_mpmc_two_selectors_meet() {
    loom::model(|| {
        let (a, from_a) = bounded(0);
        let (b, from_b) = bounded(0);
        let other = thread::spawn({
            let (b, from_a) = (b.clone(), from_a.clone());
            move || {
                block_on(async {
                    crate::sync::mpmc::select! {
                        biased;
                        send(b, 2) -> sent => { sent.unwrap(); 2 }
                        recv(from_a) -> got => got.unwrap(),
                    }
                })
            }
        });
        let here = block_on(async {
            crate::sync::mpmc::select! {
                biased;
                send(a, 1) -> sent => { sent.unwrap(); 1 }
                recv(from_b) -> got => got.unwrap(),
            }
        });
        // Both have chosen the same channel.
        assert_eq!(here, other.join().unwrap());
    });
}

#[test]
fn loom_mpmc_a_selector_that_gives_up_loses_nothing() {
    loom::model(|| {
        let (sender, receiver) = bounded(0);
        let (_idle, never) = bounded::<u8>(0);
        let its = receiver.clone();
        let mut selecting = Box::pin(async move {
            crate::sync::mpmc::select! {
                biased;
                recv(never) -> got => got.is_ok(),
                recv(its) -> got => got.is_ok(),
            }
        });
        assert!(!poll(selecting.as_mut()));
        let sending = thread::spawn(move || sender.try_send(1).is_ok());
        drop(selecting);
        let was_sent = sending.join().unwrap();
        assert_eq!(receiver.try_recv().is_ok(), was_sent);
    });
}
