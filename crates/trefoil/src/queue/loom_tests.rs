//! Ring, injector, inbox and parker under loom.

use super::link::testing::Numbered;
use super::{Fifo, Inbox, Injector, Ring};
use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{AtomicBool, Relaxed, SeqCst, fence};
use crate::primitives::parker::Parker;
use loom::thread;
use std::sync::Arc;

/// Asserts that `got` has all numbers below `count`, each once.
fn all_once(mut got: Vec<usize>, count: usize) {
    got.sort_unstable();
    assert_eq!(got, Vec::from_iter(0..count));
}

/// A ring of the calling thread, with the numbers below `count`.
fn ring(count: usize) -> Arc<Ring<usize>> {
    let ring = Ring::new(false);
    for number in 0..count {
        // SAFETY: this thread owns the ring.
        assert!(unsafe { ring.push(number) }.is_ok());
    }
    Arc::new(ring)
}

/// # Safety
/// The calling thread owns the ring.
unsafe fn pop_all(ring: &Ring<usize>) -> impl Iterator<Item = usize> {
    // SAFETY: the caller's promise.
    std::iter::from_fn(|| unsafe { ring.pop() })
}

/// Starts a thread that steals once, into a ring of its own, and returns what it got.
fn thief(ring: &Arc<Ring<usize>>) -> thread::JoinHandle<Vec<usize>> {
    let theirs = Arc::clone(ring);
    thread::spawn(move || {
        let mine = Ring::new(false);
        let mut got = Vec::new();
        // SAFETY: this thread owns `mine`.
        got.extend(unsafe { theirs.steal_into(&mine) });
        // SAFETY: this thread owns `mine`.
        got.extend(unsafe { pop_all(&mine) });
        got
    })
}

fn numbers(mut list: Fifo<Numbered>) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || list.pop_front()).map(Numbered::number)
}

#[test]
fn loom_ring_gives_each_item_to_one() {
    loom::model(|| {
        let ring = ring(2);
        let thief = thief(&ring);
        let mut got = Vec::new();
        // SAFETY: this thread owns the ring.
        got.extend(unsafe { ring.pop() });
        // SAFETY: this thread owns the ring.
        assert!(unsafe { ring.push_fenced(2) }.is_ok());
        // The thief keeps from the owner only what it has claimed.
        // SAFETY: this thread owns the ring.
        got.extend(unsafe { pop_all(&ring) });
        got.extend(thief.join().unwrap());
        all_once(got, 3);
    });
}

/// The ring has room for four, and becomes one for eight.
#[test]
fn loom_ring_grows_beside_a_thief() {
    loom::model(|| {
        let ring = ring(4);
        let thief = thief(&ring);
        let mut got = Vec::new();
        // SAFETY: this thread owns the ring.
        assert!(unsafe { ring.push(4) }.is_ok());
        // SAFETY: this thread owns the ring.
        got.extend(unsafe { pop_all(&ring) });
        got.extend(thief.join().unwrap());
        all_once(got, 5);
    });
}

/// The same with a second thief, which may steal before, in and after the growth, and with more
/// that is pushed and popped in the larger array.
#[test]
fn loom_ring_grows_beside_two_thieves() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let ring = ring(4);
        let thieves = [thief(&ring), thief(&ring)];
        let mut got = Vec::new();
        for number in 4..6 {
            // SAFETY: this thread owns the ring.
            assert!(unsafe { ring.push_fenced(number) }.is_ok());
            // SAFETY: this thread owns the ring.
            got.extend(unsafe { ring.pop() });
        }
        got.extend(thieves.into_iter().flat_map(|thief| thief.join().unwrap()));
        // SAFETY: this thread owns the ring.
        got.extend(unsafe { pop_all(&ring) });
        all_once(got, 6);
    });
}

/// One of the thieves has no ring of its own.
#[test]
fn loom_ring_grows_beside_a_thief_without_a_ring() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let ring = ring(4);
        let other = thief(&ring);
        let theirs = Arc::clone(&ring);
        let thief = thread::spawn(move || {
            let mut got = Vec::new();
            assert_eq!(theirs.steal_each(|number| got.push(number)), got.len());
            assert!(got.is_sorted());
            got
        });
        let mut got = Vec::new();
        for number in 4..6 {
            // SAFETY: this thread owns the ring.
            assert!(unsafe { ring.push_fenced(number) }.is_ok());
            // SAFETY: this thread owns the ring.
            got.extend(unsafe { ring.pop() });
        }
        got.extend(other.join().unwrap());
        got.extend(thief.join().unwrap());
        // SAFETY: this thread owns the ring.
        got.extend(unsafe { pop_all(&ring) });
        all_once(got, 6);
    });
}

/// A thief's claim keeps slots in use until it has ended: what there is room for fits, and the ring
/// refuses no sooner.
#[test]
fn loom_ring_has_the_room_that_it_says() {
    loom::model(|| {
        let ring = ring(4);
        let thief = thief(&ring);
        let mut got = Vec::new();
        // SAFETY: this thread owns the ring.
        got.extend(unsafe { ring.pop() });
        // SAFETY: this thread owns the ring.
        let room = unsafe { ring.room() };
        for number in 4..4 + room {
            // SAFETY: this thread owns the ring.
            assert!(unsafe { ring.push(number) }.is_ok());
        }
        got.extend(thief.join().unwrap());
        // SAFETY: this thread owns the ring.
        got.extend(unsafe { pop_all(&ring) });
        all_once(got, 4 + room);
    });
}

#[test]
fn loom_two_thieves_share() {
    loom::model(|| {
        let ring = ring(3);
        let thieves = [thief(&ring), thief(&ring)];
        let mut got: Vec<_> = thieves.into_iter().flat_map(|thief| thief.join().unwrap()).collect();
        // SAFETY: this thread owns the ring.
        got.extend(unsafe { pop_all(&ring) });
        all_once(got, 3);
    });
}

#[test]
fn loom_injector_gives_each_item_to_one_beside_its_end() {
    loom::model(|| {
        let injector = Arc::new(Injector::new());
        assert!(injector.push(Numbered::new(0)).is_ok());
        let items = [1, 2, 3].map(|index| Numbered::new(index));
        let theirs = Arc::clone(&injector);
        let pushing = thread::spawn(move || -> Vec<_> {
            items
                .into_iter()
                .filter_map(|item| theirs.push(item).err())
                .map(Numbered::number)
                .collect()
        });
        let theirs = Arc::clone(&injector);
        let popping = thread::spawn(move || {
            let mut got = Vec::new();
            let first = theirs.pop_batch(1, 2, |item| got.push(item.number()));
            got.extend(first.map(Numbered::number));
            got
        });
        let mut got: Vec<_> = numbers(injector.close()).collect();
        got.extend(pushing.join().unwrap());
        got.extend(popping.join().unwrap());
        assert!(injector.is_empty());
        all_once(got, 4);
    });
}

#[test]
fn loom_injector_takes_all_of_a_list_or_none() {
    loom::model(|| {
        let injector = Arc::new(Injector::new());
        assert!(injector.push(Numbered::new(0)).is_ok());
        let mut list = Fifo::new();
        list.push_back(Numbered::new(1));
        list.push_back(Numbered::new(2));
        let theirs = Arc::clone(&injector);
        let pushing = thread::spawn(move || -> Vec<_> {
            theirs.push_all(list).err().into_iter().flat_map(numbers).collect()
        });
        let theirs = Arc::clone(&injector);
        let popping = thread::spawn(move || {
            let mut got = Vec::new();
            let first = theirs.pop_batch(1, 2, |item| got.push(item.number()));
            got.extend(first.map(Numbered::number));
            got
        });
        let mut got: Vec<_> = numbers(injector.close()).collect();
        let refused = pushing.join().unwrap();
        assert!(refused.is_empty() || refused == [1, 2]);
        got.extend(refused);
        got.extend(popping.join().unwrap());
        assert!(injector.is_empty());
        all_once(got, 3);
    });
}

/// The idle protocol relies on this: with a fence on each side, items that were pushed before are
/// seen.
#[test]
fn loom_injector_shows_what_it_has() {
    loom::model(|| {
        let injector = Arc::new(Injector::new());
        let told = Arc::new(AtomicBool::new(false));
        let (first, second) = (Numbered::new(0), Numbered::new(1));
        let (theirs, tells) = (Arc::clone(&injector), Arc::clone(&told));
        let pushing = thread::spawn(move || {
            assert!(theirs.push(first).is_ok());
            fence(SeqCst);
            tells.store(true, Relaxed);
            assert!(theirs.push(second).is_ok());
        });
        let mut got = Vec::new();
        if told.load(Relaxed) {
            fence(SeqCst);
            assert!(!injector.is_empty());
            let first = injector.pop_batch(2, 2, |item| got.push(item.number()));
            got.extend(Some(Numbered::number(first.expect("it was pushed before"))));
        }
        pushing.join().unwrap();
        assert_eq!(injector.len(), 2 - got.len());
        while let Some(item) = injector.pop_batch(1, 1, |_| unreachable!("one at a time")) {
            got.push(item.number());
        }
        all_once(got, 2);
    });
}

#[test]
fn loom_inbox_keeps_order_and_closes_once() {
    loom::model(|| {
        let inbox = Arc::new(Inbox::new());
        let (a, b, c) = (Numbered::new(0), Numbered::new(1), Numbered::new(2));
        let theirs = Arc::clone(&inbox);
        let one = thread::spawn(move || {
            let mut back = Vec::new();
            back.extend(theirs.push(a).err().map(Numbered::number));
            back.extend(theirs.push(b).err().map(Numbered::number));
            back
        });
        let theirs = Arc::clone(&inbox);
        let other = thread::spawn(move || theirs.push(c).err().map(Numbered::number));
        let mut got: Vec<_> = numbers(inbox.take()).collect();
        got.extend(numbers(inbox.close()));
        let position = |number| got.iter().position(|&got| got == number);
        if let (Some(first), Some(second)) = (position(0), position(1)) {
            assert!(first < second);
        }
        got.extend(one.join().unwrap());
        got.extend(other.join().unwrap());
        all_once(got, 3);
    });
}

/// A sender that is refused sees everything that the closer did before.
#[test]
fn loom_inbox_refuses_after_what_came_before_its_end() {
    struct Shared(Inbox<Numbered>, UnsafeCell<u32>);
    // SAFETY: the model tests whether accesses to the cell race, and loom reports it if they do.
    unsafe impl Sync for Shared {}
    loom::model(|| {
        let shared = Arc::new(Shared(Inbox::new(), UnsafeCell::new(0)));
        let items = [Numbered::new(0), Numbered::new(1)];
        let theirs = Arc::clone(&shared);
        let pushing = thread::spawn(move || {
            let mut back = Vec::new();
            for item in items {
                if let Err(item) = theirs.0.push(item) {
                    // SAFETY: the closer wrote the cell before it closed the inbox.
                    assert_eq!(theirs.1.with(|cell| unsafe { *cell }), 1);
                    back.push(item.number());
                }
            }
            back
        });
        // SAFETY: the other thread reads the cell only after the inbox is closed.
        shared.1.with_mut(|cell| unsafe { *cell = 1 });
        let mut got: Vec<_> = numbers(shared.0.close()).collect();
        got.extend(pushing.join().unwrap());
        all_once(got, 2);
    });
}

#[test]
fn loom_unpark_before_or_after_park() {
    loom::model(|| {
        let parker = Arc::new(Parker::new());
        parker.adopt();
        let theirs = Arc::clone(&parker);
        let unparking = thread::spawn(move || theirs.unpark());
        // A lost token is a deadlock, which loom reports.
        parker.park();
        unparking.join().unwrap();
    });
}

/// A wait within a wait, as in `block_on`: each has a parker of its own. The outer one may be woken
/// before, during or after the inner wait. A lost wake-up is a deadlock, which loom reports.
#[test]
fn loom_a_wait_within_a_wait_leaves_the_outer_one_its_wakeup() {
    loom::model(|| {
        let waits: Arc<[(Parker, AtomicBool); 2]> =
            Arc::new([(); 2].map(|()| (Parker::new(), AtomicBool::new(false))));
        for (parker, _) in &*waits {
            parker.adopt();
        }
        let its = Arc::clone(&waits);
        let waker = thread::spawn(move || {
            for (parker, is_ready) in &*its {
                // Relaxed: the wake-up has to publish it.
                is_ready.store(true, Relaxed);
                parker.unpark();
            }
        });
        // The inner wait comes first, and its wake-up last.
        for (parker, is_ready) in waits.iter().rev() {
            while !is_ready.load(Relaxed) {
                parker.park();
            }
        }
        waker.join().unwrap();
    });
}
