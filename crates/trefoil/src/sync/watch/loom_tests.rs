//! Receivers that wait, give up and are woken while senders send and go, under loom.

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
fn loom_watch_no_change_is_lost() {
    loom::model(|| {
        let (sender, mut receiver) = channel(0);
        let sending = thread::spawn(move || {
            sender.send(1).unwrap();
        });
        // A lost change, or a lost end, is a deadlock, which loom reports.
        block_on(receiver.changed()).unwrap();
        assert_eq!(*receiver.borrow(), 1);
        assert!(block_on(receiver.changed()).is_err());
        sending.join().unwrap();
    });
}

#[test]
fn loom_watch_closing_wakes() {
    loom::model(|| {
        let (sender, mut receiver) = channel(());
        let other = sender.clone();
        let dropping = thread::spawn(move || drop(other));
        drop(sender);
        assert!(block_on(receiver.changed()).is_err());
        dropping.join().unwrap();
    });
}

#[test]
fn loom_watch_one_gives_up_while_others_are_woken() {
    loom::model(|| {
        let (sender, receiver) = channel(0);
        let mut receivers = [receiver.clone(), receiver.clone(), receiver];
        let [first, second, third] = &mut receivers;
        // Two batches: of two, and of one.
        let mut first = Box::pin(first.changed());
        let mut second = Box::pin(second.changed());
        let mut third = Box::pin(third.changed());
        assert!(!poll(first.as_mut()) && !poll(second.as_mut()) && !poll(third.as_mut()));
        let sending = thread::spawn(move || {
            sender.send(1).unwrap();
            sender
        });
        drop(second);
        block_on(first).unwrap();
        block_on(third).unwrap();
        drop(sending.join().unwrap());
    });
}

#[test]
fn loom_watch_the_last_receiver_wakes_who_waits_for_the_end() {
    loom::model(|| {
        let (sender, receiver) = channel(());
        let other = receiver.clone();
        let dropping = thread::spawn(move || drop(other));
        drop(receiver);
        block_on(sender.closed());
        assert!(sender.is_closed());
        dropping.join().unwrap();
    });
}

#[test]
fn loom_watch_values_and_versions_agree() {
    loom::model(|| {
        let (sender, mut receiver) = channel(0);
        let sending = thread::spawn(move || {
            sender.send_modify(|n| *n += 1);
            sender.send_modify(|n| *n += 1);
        });
        let mut last = 0;
        for _ in 0..2 {
            let value = receiver.borrow_and_update();
            assert_eq!(value.has_changed(), *value != last);
            last = *value;
        }
        sending.join().unwrap();
    });
}
