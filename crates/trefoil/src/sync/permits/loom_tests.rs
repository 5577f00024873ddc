//! Permits that are taken, given, waited for, given up and closed, under loom.

use super::*;
use crate::primitives::UnsafeCell;
use crate::primitives::atomic::AtomicBool;
use loom::thread;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

fn poll(future: Pin<&mut impl Future<Output = Result<(), Closed>>>) -> Poll<Result<(), Closed>> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Three that wait for one permit each: more than one batch.
fn three_wait(permits: &Permits) -> Vec<Pin<Box<Acquiring<'_>>>> {
    let mut waits = Vec::from_iter((0..3).map(|_| Box::pin(permits.acquire(1))));
    waits.iter_mut().for_each(|wait| assert!(poll(wait.as_mut()).is_pending()));
    waits
}

#[test]
fn loom_permits_one_at_a_time() {
    loom::model(|| {
        let shared = Arc::new((Permits::new(1), UnsafeCell::new(0)));
        let add = |(permits, sum): &(Permits, UnsafeCell<u32>)| {
            loom::future::block_on(permits.acquire(1)).unwrap();
            // Loom reports accesses that overlap, or of which one does not see the other.
            // SAFETY: there is one permit, and this thread has it.
            sum.with_mut(|sum| unsafe { *sum += 1 });
            permits.release(1);
        };
        let theirs = Arc::clone(&shared);
        let other = thread::spawn(move || add(&theirs));
        add(&shared);
        other.join().unwrap();
        assert_eq!(shared.0.available(), 1);
        // SAFETY: the other thread has ended.
        shared.1.with(|sum| assert_eq!(unsafe { *sum }, 2));
    });
}

#[test]
fn loom_permits_of_two_givers_are_gathered() {
    loom::model(|| {
        let shared = Arc::new((Permits::new(0), AtomicBool::new(false)));
        let theirs = Arc::clone(&shared);
        let other = thread::spawn(move || {
            // Relaxed: the permits have to publish it.
            theirs.1.store(true, Relaxed);
            theirs.0.release(1);
        });
        let mut both = Box::pin(shared.0.acquire(2));
        let early = poll(both.as_mut()).is_ready();
        assert!(!early);
        shared.0.release(1);
        // A lost wake-up is a deadlock, which loom reports.
        loom::future::block_on(both).unwrap();
        assert!(shared.1.load(Relaxed));
        other.join().unwrap();
        assert_eq!(shared.0.available(), 0);
    });
}

#[test]
fn loom_permits_begin_to_wait_beside_a_giver() {
    loom::model(|| {
        let permits = Arc::new(Permits::new(0));
        let theirs = Arc::clone(&permits);
        let other = thread::spawn(move || theirs.release(3));
        loom::future::block_on(permits.acquire(2)).unwrap();
        other.join().unwrap();
        assert_eq!(permits.try_acquire(1), Ok(()));
        assert_eq!(permits.try_acquire(1), Err(TryError::TooFew));
    });
}

#[test]
fn loom_permits_pass_on_from_one_that_gives_up() {
    loom::model(|| {
        let permits = Arc::new(Permits::new(0));
        let (mut first, mut second) = (Box::pin(permits.acquire(1)), Box::pin(permits.acquire(1)));
        assert!(poll(first.as_mut()).is_pending());
        assert!(poll(second.as_mut()).is_pending());
        let theirs = Arc::clone(&permits);
        let other = thread::spawn(move || theirs.release(1));
        drop(first);
        loom::future::block_on(second).unwrap();
        other.join().unwrap();
        assert_eq!(permits.available(), 0);
    });
}

#[test]
fn loom_permits_stay_when_the_last_waiter_gives_up() {
    loom::model(|| {
        let permits = Arc::new(Permits::new(1));
        let mut both = Box::pin(permits.acquire(2));
        assert!(poll(both.as_mut()).is_pending());
        let theirs = Arc::clone(&permits);
        let other = thread::spawn(move || theirs.release(1));
        let ready = poll(both.as_mut()).is_ready();
        drop(both);
        other.join().unwrap();
        assert_eq!(permits.available(), if ready { 0 } else { 2 });
        assert_eq!(permits.try_acquire(1).is_ok(), !ready);
    });
}

#[test]
fn loom_permits_let_nobody_overtake() {
    loom::model(|| {
        let permits = Arc::new(Permits::new(1));
        let mut both = Box::pin(permits.acquire(2));
        assert!(poll(both.as_mut()).is_pending());
        let theirs = Arc::clone(&permits);
        // One permit is there at any moment, and is the waiter's.
        let other = thread::spawn(move || theirs.try_acquire(1));
        permits.release(1);
        assert_eq!(other.join().unwrap(), Err(TryError::TooFew));
        assert_eq!(poll(both.as_mut()), Poll::Ready(Ok(())));
    });
}

#[test]
fn loom_permits_change_the_waker_beside_a_giver() {
    loom::model(|| {
        let permits = Arc::new(Permits::new(0));
        let mut one = Box::pin(permits.acquire(1));
        assert!(poll(one.as_mut()).is_pending());
        let theirs = Arc::clone(&permits);
        let other = thread::spawn(move || theirs.release(1));
        // Polled by another waker than before.
        loom::future::block_on(one).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn loom_permits_close_beside_a_waiter() {
    loom::model(|| {
        let shared = Arc::new((Permits::new(1), AtomicBool::new(false)));
        let theirs = Arc::clone(&shared);
        let other = thread::spawn(move || {
            // Relaxed: `close` has to publish it.
            theirs.1.store(true, Relaxed);
            theirs.0.close();
        });
        let both = loom::future::block_on(shared.0.acquire(2));
        assert_eq!(both, Err(Closed));
        assert!(shared.1.load(Relaxed));
        other.join().unwrap();
        // What it had gathered is there.
        assert_eq!(shared.0.available(), 1);
    });
}

#[test]
fn loom_permits_close_beside_a_giver() {
    loom::model(|| {
        let permits = Arc::new(Permits::new(0));
        let mut one = pin!(permits.acquire(1));
        assert!(poll(one.as_mut()).is_pending());
        let theirs = Arc::clone(&permits);
        let other = thread::spawn(move || theirs.close());
        permits.release(1);
        let ended = poll(one.as_mut());
        other.join().unwrap();
        let taken = match ended {
            // It was granted the permit before the end.
            Poll::Ready(Ok(())) => 1,
            Poll::Ready(Err(Closed)) => 0,
            Poll::Pending => unreachable!("it has an outcome as soon as the permit is given"),
        };
        assert_eq!(permits.available(), 1 - taken);
        assert!(permits.is_closed());
    });
}

#[test]
fn loom_permits_close_beside_one_that_gives_up() {
    loom::model(|| {
        let permits = Arc::new(Permits::new(1));
        let (mut first, mut second) = (Box::pin(permits.acquire(2)), Box::pin(permits.acquire(1)));
        assert!(poll(first.as_mut()).is_pending());
        assert!(poll(second.as_mut()).is_pending());
        let theirs = Arc::clone(&permits);
        let other = thread::spawn(move || theirs.close());
        drop(first);
        other.join().unwrap();
        assert_eq!(poll(second.as_mut()), Poll::Ready(Err(Closed)));
        assert_eq!(permits.available(), 1);
    });
}

/// One critical section serves one waiter here. What is left is with the next one meanwhile.
#[test]
fn loom_permits_are_handed_out_in_batches_beside_one_that_gives_up() {
    loom::model(|| {
        let permits = Arc::new(Permits::new(0));
        let mut waits = three_wait(&permits);
        let theirs = Arc::clone(&permits);
        let other = thread::spawn(move || theirs.release(3));
        drop(waits.remove(1));
        other.join().unwrap();
        for wait in &mut waits {
            assert_eq!(poll(wait.as_mut()), Poll::Ready(Ok(())));
        }
        assert_eq!(permits.available(), 1);
    });
}

#[test]
fn loom_permits_of_two_givers_are_handed_out_in_batches() {
    loom::model(|| {
        let permits = Arc::new(Permits::new(0));
        let mut waits = three_wait(&permits);
        let theirs = Arc::clone(&permits);
        let other = thread::spawn(move || theirs.release(2));
        permits.release(2);
        other.join().unwrap();
        for wait in &mut waits {
            assert_eq!(poll(wait.as_mut()), Poll::Ready(Ok(())));
        }
        assert_eq!(permits.available(), 1);
    });
}

#[test]
fn loom_permits_close_on_batches_beside_a_giver() {
    loom::model(|| {
        let permits = Arc::new(Permits::new(0));
        let mut waits = three_wait(&permits);
        let theirs = Arc::clone(&permits);
        let other = thread::spawn(move || theirs.close());
        permits.release(2);
        let last = poll(waits.pop().unwrap().as_mut());
        assert_ne!(last, Poll::Ready(Ok(())));
        other.join().unwrap();
        drop(waits);
        assert_eq!(permits.available(), 2);
        assert!(permits.is_closed());
    });
}
