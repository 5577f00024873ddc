//! `sync::broadcast`: who receives what, who lags, and when values are dropped.

use crate::support::by_hand::{Polled, Record, Rng, by_hand, now, turns_of_others, waker};
use crate::support::watch::WATCHDOG;
use crate::support::{current_and_multi, current_thread};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use trefoil::sync::broadcast::error::{RecvError, TryRecvError};
use trefoil::sync::broadcast::{self, Receiver, Sender};
use trefoil::task::{JoinSet, yield_now};
use trefoil::time::timeout;

#[test]
fn every_receiver_gets_what_is_sent_after_it_was_made() {
    let (sender, mut first) = broadcast::channel(4);
    assert_eq!(sender.send(1).unwrap(), 1);
    let mut second = sender.subscribe();
    assert_eq!(sender.send(2).unwrap(), 2);
    let mut third = second.resubscribe();
    assert_eq!(sender.send(3).unwrap(), 3);
    assert_eq!([first.try_recv(), first.try_recv(), first.try_recv()], [Ok(1), Ok(2), Ok(3)]);
    assert_eq!([second.try_recv(), second.try_recv()], [Ok(2), Ok(3)]);
    assert_eq!([third.try_recv(), third.try_recv()], [Ok(3), Err(TryRecvError::Empty)]);
}

#[test]
fn who_lags_is_told_and_goes_on_with_the_oldest() {
    // Three are rounded up to four.
    let (sender, mut receiver) = broadcast::channel(3);
    for n in 0..10 {
        sender.send(n).unwrap();
    }
    assert_eq!((receiver.len(), sender.len()), (10, 4));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Lagged(6)));
    sender.send(10).unwrap();
    assert_eq!(now(receiver.recv()), Err(RecvError::Lagged(1)));
    assert_eq!(Vec::from_iter(std::iter::from_fn(|| receiver.try_recv().ok())), [7, 8, 9, 10]);
    assert!(receiver.is_empty() && sender.is_empty());
}

#[test]
fn a_closed_channel_is_received_to_its_end() {
    let (sender, mut receiver) = broadcast::channel(4);
    let other = sender.clone();
    sender.send(1).unwrap();
    drop(sender);
    assert!(!receiver.is_closed());
    drop(other);
    assert!(receiver.is_closed());
    assert_eq!((now(receiver.recv()), now(receiver.recv())), (Ok(1), Err(RecvError::Closed)));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(receiver.resubscribe().try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn without_a_receiver_send_returns_the_value() {
    let sender = Sender::new(2);
    assert_eq!(sender.send("a").unwrap_err().0, "a");
    let receiver = sender.subscribe();
    assert_eq!(sender.receiver_count(), 1);
    drop(receiver);
    assert!(sender.send("b").is_err() && sender.is_empty());
    let mut receiver = sender.subscribe();
    sender.send("c").unwrap();
    assert_eq!(receiver.try_recv(), Ok("c"));
}

#[test]
fn the_capacity_has_bounds() {
    for capacity in [0, usize::MAX / 2 + 1, usize::MAX] {
        let refused = catch_unwind(|| broadcast::channel::<u8>(capacity));
        let payload = refused.map(drop).unwrap_err();
        let text = payload.downcast_ref::<&str>().unwrap();
        assert!(text.contains("capacity of a broadcast channel"), "{text}");
    }
    let (sender, mut receiver) = broadcast::channel(1);
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Lagged(1)));
    assert_eq!(receiver.try_recv(), Ok(2));
}

#[test]
fn weak_senders_keep_nothing_open() {
    let (sender, mut receiver) = broadcast::channel::<u8>(2);
    let weak = sender.downgrade();
    let again = weak.clone();
    assert_eq!((sender.strong_count(), sender.weak_count()), (1, 2));
    let strong = weak.upgrade().unwrap();
    assert!(strong.same_channel(&sender));
    assert_eq!((receiver.sender_strong_count(), receiver.sender_weak_count()), (2, 2));
    drop(sender);
    strong.send(1).unwrap();
    drop(strong);
    drop(again);
    assert!(weak.upgrade().is_none());
    assert_eq!((weak.strong_count(), weak.weak_count()), (0, 1));
    assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(1), Err(TryRecvError::Closed)));
}

#[test]
fn closed_waits_for_the_last_receiver() {
    let (sender, receiver) = broadcast::channel::<u8>(2);
    let second = receiver.resubscribe();
    let mut closed = by_hand(sender.closed());
    assert!(closed.is_pending());
    drop(receiver);
    assert!(!closed.is_woken());
    drop(second);
    assert!(closed.is_woken());
    let third = sender.subscribe();
    assert!(closed.is_pending());
    drop(third);
    closed.output();
}

/// Counts the clones and the drops of a value.
#[derive(Debug)]
struct Counted(Arc<[AtomicUsize; 2]>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0[0].fetch_add(1, SeqCst);
        Self(Arc::clone(&self.0))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0[1].fetch_add(1, SeqCst);
    }
}

#[test]
fn each_receiver_gets_a_clone_and_the_last_one_drops_the_value() {
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let clones_and_drops = || counts.each_ref().map(|count| count.load(SeqCst));
    let (sender, mut first) = broadcast::channel(4);
    let mut second = sender.subscribe();
    let third = sender.subscribe();
    sender.send(Counted(Arc::clone(&counts))).unwrap();
    drop(first.try_recv().unwrap());
    assert_eq!(clones_and_drops(), [1, 1]);
    drop(third);
    drop(second.try_recv().unwrap());
    assert_eq!(clones_and_drops(), [2, 3]);
    assert_eq!(sender.len(), 0);
}

#[test]
fn a_value_that_nobody_can_receive_is_dropped_at_once() {
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let drops = || counts[1].load(SeqCst);
    let (sender, receiver) = broadcast::channel(2);
    let send = || sender.send(Counted(Arc::clone(&counts))).map(drop).unwrap();
    send();
    send();
    assert_eq!(drops(), 0);
    // The oldest is replaced.
    send();
    assert_eq!(drops(), 1);
    // Those that only this receiver waited for.
    let other = sender.subscribe();
    send();
    assert_eq!(drops(), 2);
    drop(receiver);
    assert_eq!((drops(), sender.len()), (3, 1));
    drop(other);
    assert_eq!((drops(), sender.len()), (4, 0));
}

/// A value whose destructor uses the channel: none runs under its locks.
#[test]
fn destructors_of_values_may_use_the_channel() {
    struct Nosy(Sender<Option<Arc<Self>>>);
    impl Drop for Nosy {
        fn drop(&mut self) {
            assert!(self.0.len() <= 2);
            let _ = self.0.send(None);
        }
    }
    let (sender, receiver) = broadcast::channel(2);
    let nosy = || Some(Arc::new(Nosy(sender.clone())));
    for _ in 0..5 {
        assert!(sender.send(nosy()).is_ok());
    }
    let mut other = sender.subscribe();
    assert!(sender.send(nosy()).is_ok());
    drop(receiver);
    while let Ok(value) = other.try_recv() {
        drop(value);
    }
    drop(other);
    assert!(sender.is_empty());
}

#[test]
fn a_destructor_that_panics_keeps_no_other_value() {
    #[derive(Clone)]
    struct Bad(#[expect(dead_code, reason = "it is there to be dropped")] Arc<()>, bool);
    impl Drop for Bad {
        fn drop(&mut self) {
            assert!(!self.1, "a destructor");
        }
    }
    let (sender, receiver) = broadcast::channel(4);
    let alive = Arc::new(());
    for n in 0..4 {
        assert!(sender.send(Bad(Arc::clone(&alive), n == 1)).is_ok());
    }
    let mut closed = by_hand(sender.closed());
    assert!(closed.is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(receiver))).is_err());
    assert_eq!((Arc::strong_count(&alive), sender.len()), (1, 0));
    closed.output();
}

#[test]
fn a_clone_that_panics_harms_no_one() {
    struct Fragile(Arc<AtomicUsize>);
    impl Clone for Fragile {
        fn clone(&self) -> Self {
            assert!(self.0.fetch_add(1, SeqCst) > 0, "the first clone");
            Self(Arc::clone(&self.0))
        }
    }
    let (sender, mut first) = broadcast::channel(2);
    let (mut second, mut third) = (sender.subscribe(), sender.subscribe());
    assert!(sender.send(Fragile(Arc::default())).is_ok());
    assert!(catch_unwind(AssertUnwindSafe(|| first.try_recv())).is_err());
    // This one has had its turn. The others still get the value.
    assert!(matches!(first.try_recv(), Err(TryRecvError::Empty)));
    assert!(second.try_recv().is_ok() && third.try_recv().is_ok());
    assert!(sender.is_empty());
}

/// Bound: receivers are woken in the order in which they began to wait, each once.
#[test]
fn receivers_are_woken_in_order() {
    let (sender, _keep) = broadcast::channel(4);
    let record = Record::default();
    let mut receivers = Vec::from_iter((0..1000).map(|_| sender.subscribe()));
    let mut waiting = Vec::new();
    for (n, receiver) in receivers.iter_mut().enumerate() {
        let mut recv = by_hand(receiver.recv());
        assert!(recv.poll_with(&record.waker(n + 10_000)).is_pending());
        assert!(recv.poll_with(&record.waker(n)).is_pending());
        waiting.push(recv);
    }
    for n in (0..1000).rev().filter(|n| n % 5 == 2) {
        drop(waiting.remove(n));
    }
    sender.send(1).unwrap();
    assert_eq!(record.take(), Vec::from_iter((0..1000).filter(|n| n % 5 != 2)));
    sender.send(2).unwrap();
    assert_eq!(record.take(), []);
    assert!(waiting.iter_mut().all(|recv| recv.output() == Ok(1)));
}

/// Bound: the lock is released after every 32 receivers. The first one that is woken can make the
/// last one leave, among 10⁵.
#[test]
fn a_hundred_thousand_receivers_are_woken_in_batches() {
    const MANY: usize = 100_000;
    let (sender, _keep) = broadcast::channel(4);
    let woken = Arc::new(AtomicUsize::new(0));
    let last = Arc::new(Mutex::new(None));
    let mut waiting = Vec::new();
    for n in 0..MANY {
        let (mut receiver, woken, last) =
            (sender.subscribe(), Arc::clone(&woken), Arc::clone(&last));
        let mut recv = by_hand(async move { receiver.recv().await });
        let waker = waker(move || {
            woken.fetch_add(1, SeqCst);
            if n == 0 {
                // Leaving takes the lock of the list.
                let last = last.lock().take();
                drop::<Option<Polled<'_, _>>>(last);
            }
        });
        assert!(recv.poll_with(&waker).is_pending());
        waiting.push(recv);
    }
    *last.lock() = waiting.pop();
    sender.send(1).unwrap();
    assert!(last.lock().is_none());
    assert_eq!(woken.load(SeqCst), MANY - 1);
    assert!(waiting.iter_mut().all(|recv| recv.output() == Ok(1)));
}

#[test]
fn a_waker_that_panics_harms_no_other() {
    let (sender, _keep) = broadcast::channel(4);
    let mut receivers = Vec::from_iter((0..100).map(|_| sender.subscribe()));
    let record = Record::default();
    let mut waiting = Vec::new();
    for (n, receiver) in receivers.iter_mut().enumerate() {
        let mut recv = by_hand(receiver.recv());
        let waker = if n % 3 == 0 { waker(|| panic!("a waker")) } else { record.waker(n) };
        assert!(recv.poll_with(&waker).is_pending());
        waiting.push(recv);
    }
    assert_eq!(sender.send(1).unwrap(), 101);
    assert_eq!(record.take(), Vec::from_iter((0..100).filter(|n| n % 3 != 0)));
    assert!(waiting.iter_mut().all(|recv| recv.output() == Ok(1)));
}

#[test]
fn what_is_always_ready_spends_budget() {
    let values = turns_of_others(async {
        let (sender, mut receiver) = broadcast::channel(1024);
        (0..1000).for_each(|n| drop(sender.send(n)));
        for n in 0..1000 {
            assert_eq!(receiver.recv().await, Ok(n));
        }
    });
    let lags = turns_of_others(async {
        let (sender, mut receiver) = broadcast::channel(1);
        for n in 0..500 {
            sender.send(n).unwrap();
            sender.send(n).unwrap();
            receiver.recv().await.unwrap_err();
            receiver.recv().await.unwrap();
        }
    });
    let ends = turns_of_others(async {
        let (sender, mut receiver) = broadcast::channel::<u8>(1);
        drop(sender);
        for _ in 0..1000 {
            receiver.recv().await.unwrap_err();
        }
    });
    assert_eq!((values, lags, ends), (7, 7, 7));
}

#[test]
fn a_future_dropped_at_any_poll_has_received_nothing() {
    for polls in 0..4 {
        for sends in 0..4 {
            let (sender, mut receiver) = broadcast::channel(8);
            let mut recv = by_hand(receiver.recv());
            for _ in 0..polls {
                assert!(recv.is_pending());
            }
            for n in 0..sends {
                sender.send(n).unwrap();
            }
            drop(recv);
            sender.send(sends).unwrap();
            for n in 0..=sends {
                assert_eq!(now(receiver.recv()), Ok(n));
            }
        }
    }
}

#[test]
fn blocking_recv_blocks_a_thread_and_refuses_a_worker() {
    let (sender, mut receiver) = broadcast::channel(2);
    let mut second = sender.subscribe();
    let thread = std::thread::spawn(move || {
        let first = receiver.blocking_recv();
        (first, receiver.blocking_recv())
    });
    sender.send(1).unwrap();
    current_thread().block_on(async {
        let refused = catch_unwind(AssertUnwindSafe(|| second.blocking_recv()));
        assert!(refused.is_err());
    });
    drop(sender);
    assert_eq!(thread.join().unwrap(), (Ok(1), Err(RecvError::Closed)));
    assert_eq!(second.blocking_recv(), Ok(1));
}

/// What a plain model knows of a channel: all values, and where each receiver is.
struct Model {
    capacity: usize,
    values: Vec<usize>,
    is_closed: bool,
}

impl Model {
    /// What a receiver at this place gets, and where it is then.
    fn receive(&self, next: &mut usize) -> Result<usize, TryRecvError> {
        let oldest = self.values.len().saturating_sub(self.capacity);
        if *next < oldest {
            let missed = oldest - std::mem::replace(next, oldest);
            return Err(TryRecvError::Lagged(missed as u64));
        }
        match self.values.get(*next) {
            Some(&value) => {
                *next += 1;
                Ok(value)
            }
            None if self.is_closed => Err(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }
}

type Waiting = Polled<'static, (Receiver<usize>, Result<usize, RecvError>)>;

enum Party {
    Idle(Receiver<usize>, usize),
    Waits(Waiting, usize),
}

/// Random calls, and the same calls on a plain model.
#[test]
fn a_plain_model_agrees() {
    for seed in 0..300 {
        let mut rng = Rng(seed);
        let capacity = 1 << rng.below(4);
        let (sender, receiver) = broadcast::channel(capacity);
        let mut senders = vec![sender];
        let mut model = Model { capacity, values: Vec::new(), is_closed: false };
        let mut parties = VecDeque::from([Party::Idle(receiver, 0)]);
        for step in 0..300 {
            model.is_closed = senders.is_empty();
            let end = model.values.len();
            if let (Some(sender), 0..6) = (senders.first(), rng.below(12)) {
                match rng.below(10) {
                    0 if senders.len() < 3 => senders.push(sender.clone()),
                    1 if senders.len() > 1 || rng.once_in(10) => drop(senders.pop()),
                    2 if parties.len() < 8 => {
                        parties.push_back(Party::Idle(sender.subscribe(), end));
                    }
                    _ => match sender.send(step) {
                        Ok(receivers) => {
                            assert_eq!(receivers, parties.len());
                            model.values.push(step);
                        }
                        Err(_) => assert!(parties.is_empty()),
                    },
                }
                continue;
            }
            let Some(party) = parties.pop_front() else { continue };
            let party = match party {
                Party::Idle(mut receiver, mut next) => match rng.below(5) {
                    0 if rng.once_in(3) => continue,
                    1 => Party::Waits(
                        by_hand(async move {
                            let received = receiver.recv().await;
                            (receiver, received)
                        }),
                        next,
                    ),
                    _ => {
                        assert_eq!(receiver.len(), end - next);
                        assert_eq!(receiver.try_recv(), model.receive(&mut next));
                        Party::Idle(receiver, next)
                    }
                },
                Party::Waits(_, _) if rng.once_in(20) => continue,
                Party::Waits(mut waiting, mut next) => match waiting.poll() {
                    Poll::Pending => {
                        assert_eq!(model.receive(&mut next), Err(TryRecvError::Empty));
                        Party::Waits(waiting, next)
                    }
                    Poll::Ready((receiver, received)) => {
                        let received = received.map_err(|error| match error {
                            RecvError::Closed => TryRecvError::Closed,
                            RecvError::Lagged(missed) => TryRecvError::Lagged(missed),
                        });
                        assert_eq!(received, model.receive(&mut next));
                        Party::Idle(receiver, next)
                    }
                },
            };
            parties.push_back(party);
            if let Some(sender) = senders.first() {
                let slowest = parties.iter().map(|party| match party {
                    Party::Idle(_, next) | Party::Waits(_, next) => *next,
                });
                let kept = slowest.min().map_or(0, |next| end - next).min(capacity);
                assert_eq!((sender.len(), sender.is_empty()), (kept, kept == 0));
            }
        }
    }
}

/// Receivers that give up at random, and are dropped and made anew, receive or miss each value
/// exactly once.
#[test]
fn a_storm_of_cancellations_loses_no_value() {
    const LAST: u64 = 5000;
    for runtime in current_and_multi([2, 4]) {
        let (sender, receiver) = broadcast::channel(64);
        runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for seed in 0..12 {
                let mut receiver = sender.subscribe();
                tasks.spawn(async move {
                    let mut rng = Rng(seed);
                    let mut next = 0;
                    loop {
                        let patience = rng.below(3);
                        let received = trefoil::select! {
                            biased;
                            received = receiver.recv() => received,
                            () = async { for _ in 0..patience { yield_now().await } } => continue,
                        };
                        match received {
                            Ok(n) => {
                                assert_eq!(n, next);
                                next += 1;
                            }
                            Err(RecvError::Lagged(missed)) => next += missed,
                            Err(RecvError::Closed) => break,
                        }
                    }
                    assert_eq!(next, LAST);
                });
            }
            drop(receiver);
            tasks.spawn(async move {
                for n in 0..LAST {
                    sender.send(n).unwrap();
                    if n % 16 == 0 {
                        yield_now().await;
                        drop(sender.subscribe());
                    }
                }
            });
            while let Some(done) = timeout(WATCHDOG, tasks.join_next()).await.expect("no hang") {
                done.unwrap();
            }
        });
    }
}

#[test]
fn values_need_not_be_sync() {
    fn send<T: Send>(_: &T) {}
    fn sync<T: Sync>(_: &T) {}
    let (sender, mut receiver) = broadcast::channel(2);
    send(&sender);
    sync(&sender);
    send(&sender.downgrade());
    sync(&receiver);
    send(&receiver.recv());
    sync(&receiver.recv());
    sender.send(std::cell::Cell::new(1)).unwrap();
    assert_eq!(receiver.try_recv().unwrap().get(), 1);
}

/// A channel may be used on both sides of a `catch_unwind`, whatever its values are.
#[test]
fn channels_are_unwind_safe() {
    fn unwind_safe<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>(_: &T) {}
    let (sender, receiver) = broadcast::channel::<std::rc::Rc<std::cell::Cell<u8>>>(2);
    unwind_safe(&sender);
    unwind_safe(&receiver);
}

#[test]
#[should_panic = "must fit into memory"]
fn a_capacity_that_no_memory_has_is_refused_at_once() {
    drop(broadcast::channel::<[u64; 100]>(usize::MAX / 2));
}
