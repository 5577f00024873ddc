//! Sender and receiver under loom, which sees every access to the cells.

use super::*;
use crate::primitives::atomic::{AtomicBool, Relaxed};
use loom::thread;
use std::task::Wake;

/// Counts what is alive.
type Alive = Arc<()>;

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

fn poll_with(receiver: &mut Receiver<Alive>, woken: &Arc<Woken>) -> bool {
    let waker = Waker::from(Arc::clone(woken));
    Pin::new(receiver).poll(&mut Context::from_waker(&waker)).is_ready()
}

#[test]
fn loom_oneshot_wakes_the_receiver_that_waits() {
    loom::model(|| {
        let (sender, receiver) = channel();
        let sending = thread::spawn(move || sender.send(7).unwrap());
        // A lost wake-up is a deadlock, which loom reports.
        assert_eq!(loom::future::block_on(receiver), Ok(7));
        sending.join().unwrap();
    });
}

#[test]
fn loom_oneshot_wakes_by_the_last_waker() {
    loom::model(|| {
        let (sender, mut receiver) = channel();
        let value = Alive::new(());
        let its = Arc::clone(&value);
        let sending = thread::spawn(move || sender.send(its).unwrap());
        let (first, last) = (Woken::new(), Woken::new());
        let ready = poll_with(&mut receiver, &first) || poll_with(&mut receiver, &last);
        sending.join().unwrap();
        assert!(ready || last.get());
        drop(receiver);
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn loom_oneshot_value_is_had_by_one_side() {
    loom::model(|| {
        let (sender, mut receiver) = channel();
        let value = Alive::new(());
        let its = Arc::clone(&value);
        let sending = thread::spawn(move || sender.send(its).err());
        receiver.close();
        let received = receiver.try_recv().ok();
        drop(receiver);
        let returned = sending.join().unwrap();
        assert_ne!(received.is_some(), returned.is_some());
        drop((received, returned));
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

#[test]
fn loom_oneshot_drops_what_nobody_takes() {
    loom::model(|| {
        let (sender, mut receiver) = channel();
        let value = Alive::new(());
        let its = Arc::clone(&value);
        let sending = thread::spawn(move || drop(sender.send(its)));
        let received = poll_with(&mut receiver, &Woken::new());
        drop(receiver);
        sending.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
        let _ = received;
    });
}

#[test]
fn loom_oneshot_tells_the_sender_that_the_receiver_goes() {
    loom::model(|| {
        let (mut sender, receiver) = channel::<Alive>();
        let dropping = thread::spawn(move || drop(receiver));
        loom::future::block_on(sender.closed());
        assert!(sender.is_closed());
        dropping.join().unwrap();
        assert!(sender.send(Alive::new(())).is_err());
    });
}
