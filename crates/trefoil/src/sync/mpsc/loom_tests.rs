//! Senders and a receiver under loom. Blocks have one slot here, so that every message needs a
//! block, and blocks are retired and used again.

use super::error::TryRecvError;
use super::letter::Letter;
use super::*;
use crate::primitives::atomic::{AtomicBool, Relaxed};
use loom::future::block_on;
use loom::thread;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Counts what is alive.
type Alive = Arc<()>;

/// With up to two preemptions, which is what such errors need; without a bound, these models would
/// take hours.
fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(f);
}

/// A waker that stores whether it was woken. It orders nothing, so that only the channel does.
struct Woken(AtomicBool);

impl Woken {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(false)))
    }

    fn get(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn loom_mpsc_two_senders_and_a_receiver_that_waits() {
    model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let other = sender.clone();
        let first = thread::spawn(move || sender.send(1).unwrap());
        let second = thread::spawn(move || other.send(2).unwrap());
        // A lost wake-up is a deadlock, which loom reports.
        let a = block_on(receiver.recv()).unwrap();
        let b = block_on(receiver.recv()).unwrap();
        assert_eq!(a + b, 3);
        assert_eq!(block_on(receiver.recv()), None);
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn loom_mpsc_keeps_the_order_of_each_sender() {
    model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let other = sender.clone();
        let first = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        other.send(3).unwrap();
        drop(other);
        let mut last = 0;
        for _ in 0..3 {
            let n = block_on(receiver.recv()).unwrap();
            if n != 3 {
                assert_eq!(n, last + 1);
                last = n;
            }
        }
        assert_eq!(block_on(receiver.recv()), None);
        first.join().unwrap();
    });
}

#[test]
fn loom_mpsc_blocks_are_used_again() {
    model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let other = sender.clone();
        // Three blocks are there, and up to two of them can be used again.
        for n in 0..3 {
            sender.send(n).unwrap();
        }
        let sending = thread::spawn(move || {
            other.send(3).unwrap();
        });
        for n in 0..2 {
            assert_eq!(receiver.try_recv(), Ok(n));
        }
        sender.send(4).unwrap();
        drop(sender);
        sending.join().unwrap();
        let mut sum = 0;
        while let Ok(n) = receiver.try_recv() {
            sum += n;
        }
        assert_eq!(sum, 2 + 3 + 4);
    });
}

#[test]
fn loom_mpsc_sends_while_blocks_come_back() {
    model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let sending = thread::spawn(move || {
            for n in 0..3 {
                sender.send(n).unwrap();
            }
        });
        for n in 0..3 {
            assert_eq!(block_on(receiver.recv()), Some(n));
        }
        sending.join().unwrap();
    });
}

#[test]
fn loom_mpsc_close_against_send() {
    model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let value = Alive::new(());
        let its = Arc::clone(&value);
        let sending = thread::spawn(move || sender.send(its).is_ok());
        receiver.close();
        let received = block_on(receiver.recv()).is_some();
        assert_eq!(sending.join().unwrap(), received);
        drop(receiver);
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn loom_mpsc_a_dropped_receiver_drops_what_was_sent() {
    model(|| {
        let (sender, receiver) = unbounded_channel();
        let value = Alive::new(());
        let its = Arc::clone(&value);
        let sending = thread::spawn(move || {
            let _ = sender.send(Arc::clone(&its));
            let _ = sender.send(its);
            // Whatever the senders still hold, nothing is left in the channel.
            sender
        });
        drop(receiver);
        let sender = sending.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
        drop(sender);
    });
}

#[test]
fn loom_mpsc_wakes_by_the_last_waker() {
    model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let sending = thread::spawn(move || {
            sender.send(7).unwrap();
            sender
        });
        let (first, last) = (Woken::new(), Woken::new());
        let mut poll = |woken: &Arc<Woken>| {
            let waker = Waker::from(Arc::clone(woken));
            receiver.poll_recv(&mut Context::from_waker(&waker)).is_ready()
        };
        let ready = poll(&first) || poll(&last);
        let _sender = sending.join().unwrap();
        assert!(ready || last.get());
    });
}

#[test]
fn loom_mpsc_the_last_sender_wakes_the_receiver() {
    model(|| {
        let (sender, mut receiver) = unbounded_channel::<u32>();
        let other = sender.clone();
        let weak = sender.downgrade();
        let first = thread::spawn(move || drop(sender));
        let second = thread::spawn(move || drop(other));
        assert_eq!(block_on(receiver.recv()), None);
        assert!(weak.upgrade().is_none());
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn loom_mpsc_upgrade_against_the_last_sender() {
    model(|| {
        let (sender, mut receiver) = unbounded_channel();
        let weak = sender.downgrade();
        let dropping = thread::spawn(move || drop(sender));
        let sent = weak.upgrade().is_some_and(|sender| sender.send(1).is_ok());
        assert_eq!(block_on(receiver.recv()).is_some(), sent);
        dropping.join().unwrap();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    });
}

#[test]
fn loom_mpsc_bounded_sender_waits_for_room() {
    model(|| {
        let (sender, mut receiver) = channel(1);
        let sending = thread::spawn(move || {
            block_on(sender.send(1)).unwrap();
            block_on(sender.send(2)).unwrap();
        });
        assert_eq!(block_on(receiver.recv()), Some(1));
        assert_eq!(block_on(receiver.recv()), Some(2));
        assert_eq!(block_on(receiver.recv()), None);
        sending.join().unwrap();
    });
}

#[test]
fn loom_mpsc_bounded_close_waits_for_permits() {
    model(|| {
        let (sender, mut receiver) = channel(2);
        let (used, unused) = (sender.clone(), sender.clone());
        let used = used.try_reserve_owned().unwrap();
        let unused = unused.try_reserve_owned().unwrap();
        receiver.close();
        let sending = thread::spawn(move || used.send(1));
        let dropping = thread::spawn(move || unused.release());
        assert_eq!(block_on(receiver.recv()), Some(1));
        assert_eq!(block_on(receiver.recv()), None);
        sending.join().unwrap();
        dropping.join().unwrap();
        drop(sender);
    });
}

#[test]
fn loom_mpsc_bounded_close_against_a_waiting_sender() {
    model(|| {
        let (sender, mut receiver) = channel(1);
        sender.try_send(1).unwrap();
        let sending = thread::spawn(move || {
            let sent = block_on(sender.send(2)).is_ok();
            (sent, sender)
        });
        assert_eq!(block_on(receiver.recv()), Some(1));
        receiver.close();
        let received = block_on(receiver.recv()).is_some();
        let (sent, _sender) = sending.join().unwrap();
        assert_eq!(sent, received);
    });
}

#[test]
fn loom_mpsc_bounded_reservation_given_up_after_close() {
    model(|| {
        let (sender, mut receiver) = channel::<u32>(2);
        let permit = sender.clone().try_reserve_owned().unwrap();
        let other = sender.clone();
        let giving_up = thread::spawn(move || {
            {
                // Holds one of two permits while it waits for the other.
                let mut both = pin!(other.reserve_many(2));
                let mut cx = Context::from_waker(Waker::noop());
                assert!(!matches!(both.as_mut().poll(&mut cx), Poll::Ready(Ok(_))));
            }
            other
        });
        receiver.close();
        drop(permit);
        assert_eq!(block_on(receiver.recv()), None);
        giving_up.join().unwrap();
        drop(sender);
    });
}

#[test]
fn loom_mpsc_bounded_permit_outlives_the_receiver() {
    model(|| {
        let (sender, receiver) = channel(1);
        let value = Alive::new(());
        let permit = sender.try_reserve_owned().unwrap();
        let its = Arc::clone(&value);
        let sending = thread::spawn(move || permit.send(its));
        drop(receiver);
        let _sender = sending.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn loom_mpsc_letter_against_a_receiver_that_closes() {
    model(|| {
        let (sender, mut receiver) = channel(1);
        sender.try_send(1).unwrap();
        let sending = thread::spawn(move || {
            let sent = block_on(Letter::new(&sender.tx, 2).send()).is_ok();
            (sent, sender)
        });
        assert_eq!(block_on(receiver.recv()), Some(1));
        receiver.close();
        let received = block_on(receiver.recv()).is_some();
        let (sent, sender) = sending.join().unwrap();
        assert_eq!(sent, received);
        assert_eq!(sender.capacity(), 1);
    });
}

#[test]
fn loom_mpsc_letter_that_a_third_sends_to_a_receiver_that_waits() {
    model(|| {
        let (sender, mut receiver) = channel(1);
        let permit = sender.clone().try_reserve_owned().unwrap();
        let sending = thread::spawn(move || block_on(Letter::new(&sender.tx, 1).send()).unwrap());
        let giving_up = thread::spawn(move || drop(permit));
        // A lost wake-up is a deadlock, which loom reports.
        assert_eq!(block_on(receiver.recv()), Some(1));
        sending.join().unwrap();
        giving_up.join().unwrap();
        assert_eq!(block_on(receiver.recv()), None);
    });
}

#[test]
fn loom_mpsc_letter_against_the_end_of_the_receiver() {
    model(|| {
        let (sender, mut receiver) = channel(1);
        let value = Alive::new(());
        sender.try_send(Arc::clone(&value)).unwrap();
        let its = Arc::clone(&value);
        let sending = thread::spawn(move || {
            let sent = block_on(Letter::new(&sender.tx, its).send());
            (sent, sender)
        });
        assert!(receiver.try_recv().is_ok());
        drop(receiver);
        let (sent, _sender) = sending.join().unwrap();
        // It was sent, and dropped with the channel, or it came back.
        assert_eq!(Arc::strong_count(&value), 1 + usize::from(sent.is_err()));
    });
}

#[test]
fn loom_mpsc_letter_that_is_given_up() {
    model(|| {
        let (sender, mut receiver) = channel(1);
        let value = Alive::new(());
        sender.try_send(Arc::clone(&value)).unwrap();
        let its = Arc::clone(&value);
        let sending = thread::spawn(move || {
            let letter = Letter::new(&sender.tx, its);
            let polled = pin!(letter.send()).poll(&mut Context::from_waker(Waker::noop()));
            assert!(!matches!(polled, Poll::Ready(Err(_))));
        });
        assert!(block_on(receiver.recv()).is_some());
        drop(block_on(receiver.recv()));
        sending.join().unwrap();
        assert_eq!(receiver.capacity(), 1);
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn loom_mpsc_closed_is_told() {
    model(|| {
        let (sender, receiver) = unbounded_channel::<u32>();
        let dropping = thread::spawn(move || drop(receiver));
        block_on(sender.closed());
        assert!(sender.is_closed());
        assert!(sender.send(1).is_err());
        dropping.join().unwrap();
    });
}
