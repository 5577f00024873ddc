//! Receivers that wait, lag and go while senders send, under loom.

use super::error::{RecvError, TryRecvError};
use super::*;
use loom::future::block_on;
use loom::thread;

#[test]
fn loom_broadcast_all_receive_all() {
    loom::model(|| {
        let (sender, mut first) = channel(2);
        let mut second = sender.subscribe();
        let other = thread::spawn(move || {
            assert_eq!(block_on(first.recv()), Ok("a"));
            assert_eq!(block_on(first.recv()), Err(RecvError::Closed));
        });
        sender.send("a").unwrap();
        drop(sender);
        assert_eq!(block_on(second.recv()), Ok("a"));
        assert_eq!(block_on(second.recv()), Err(RecvError::Closed));
        other.join().unwrap();
    });
}

#[test]
fn loom_broadcast_what_is_missed_is_counted() {
    loom::model(|| {
        let (sender, mut receiver) = channel(1);
        let sending = thread::spawn(move || {
            for n in 0..2u64 {
                sender.send(Arc::new(n)).unwrap();
            }
        });
        let mut next = 0;
        let mut count = |received: Result<Arc<u64>, RecvError>| match received {
            Ok(n) => {
                assert_eq!(*n, next);
                next += 1;
                true
            }
            Err(RecvError::Lagged(missed)) => {
                next += missed;
                true
            }
            Err(RecvError::Closed) => false,
        };
        // One call in the race, and the others after it.
        assert!(count(block_on(receiver.recv())));
        sending.join().unwrap();
        while count(block_on(receiver.recv())) {}
        assert_eq!(next, 2);
    });
}

#[test]
fn loom_broadcast_who_goes_takes_what_only_it_waits_for() {
    loom::model(|| {
        let (sender, mut first) = channel(2);
        let second = sender.subscribe();
        let value = Arc::new(());
        sender.send(Arc::clone(&value)).unwrap();
        let going = thread::spawn(move || drop(second));
        drop(first.try_recv().unwrap());
        going.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
        assert_eq!(sender.len(), 0);
    });
}

#[test]
fn loom_broadcast_the_last_receiver_wakes_who_waits_for_the_end() {
    loom::model(|| {
        let (sender, receiver) = channel::<u8>(1);
        let other = sender.subscribe();
        let going = thread::spawn(move || drop(other));
        drop(receiver);
        block_on(sender.closed());
        going.join().unwrap();
        assert!(sender.send(1).is_err());
    });
}

#[test]
fn loom_broadcast_a_weak_sender_opens_nothing() {
    loom::model(|| {
        let (sender, mut receiver) = channel(1);
        let weak = sender.downgrade();
        let upgrading = thread::spawn(move || match weak.upgrade() {
            Some(sender) => sender.send(1).is_ok(),
            None => false,
        });
        drop(sender);
        let received = block_on(receiver.recv());
        let was_sent = upgrading.join().unwrap();
        assert_eq!(received, if was_sent { Ok(1) } else { Err(RecvError::Closed) });
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    });
}
