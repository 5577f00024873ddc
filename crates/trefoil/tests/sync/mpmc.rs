//! `sync::mpmc`: who gets which item, in which order, and what cancellation leaves.

use crate::support::by_hand::{Polled, Record, Rng, by_hand, now, turns_of_others, waker};
use crate::support::watch::WATCHDOG;
use crate::support::{current_and_multi, current_thread};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use trefoil::sync::mpmc::error::{RecvError, SendError, TryRecvError, TrySendError};
use trefoil::sync::mpmc::{self, Receiver, Sender};
use trefoil::task::{JoinSet, yield_now};
use trefoil::time::timeout;

#[test]
fn items_come_out_in_the_order_in_which_they_went_in() {
    let (sender, receiver) = mpmc::bounded(3);
    assert_eq!((sender.capacity(), sender.is_empty(), receiver.is_full()), (Some(3), true, false));
    (0..3).for_each(|n| sender.try_send(n).unwrap());
    assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
    assert_eq!((sender.len(), receiver.len(), sender.is_full()), (3, 3, true));
    assert_eq!((now(receiver.recv()), receiver.try_recv()), (Ok(0), Ok(1)));
    now(sender.send(3)).unwrap();
    assert_eq!(Vec::from_iter(receiver.try_iter()), [2, 3]);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn an_unbounded_channel_is_never_full() {
    let (sender, receiver) = mpmc::unbounded();
    assert_eq!((sender.capacity(), sender.is_full()), (None, false));
    (0..100_000).for_each(|n| now(sender.send(n)).unwrap());
    assert!(receiver.try_iter().eq(0..100_000));
    // A capacity that no memory holds is as good as none.
    let (sender, _receiver) = mpmc::bounded(usize::MAX - 1);
    assert_eq!((sender.try_send(1), sender.capacity()), (Ok(()), Some(usize::MAX - 1)));
}

#[test]
fn at_a_rendezvous_both_sides_have_to_be_there() {
    let (sender, receiver) = mpmc::bounded(0);
    assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert!(sender.is_full() && sender.is_empty());
    // The sender waits.
    let mut send = by_hand(sender.send(2));
    assert!(send.is_pending() && sender.is_empty());
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!((send.wakes(), send.output()), (1, Ok(())));
    // The receiver waits.
    let mut recv = by_hand(receiver.recv());
    assert!(recv.is_pending());
    sender.try_send(3).unwrap();
    assert_eq!(sender.try_send(4), Err(TrySendError::Full(4)));
    assert_eq!((recv.wakes(), recv.output()), (1, Ok(3)));
}

#[test]
fn a_closed_channel_is_received_to_its_end() {
    let (sender, receiver) = mpmc::bounded(1);
    let mut closed = by_hand(sender.closed());
    sender.try_send(1).unwrap();
    let mut sends = [by_hand(sender.send(2)), by_hand(sender.send(3))];
    assert!(sends.iter_mut().all(Polled::is_pending) && closed.is_pending());
    assert!(receiver.close() && !receiver.close() && !sender.close());
    for (n, send) in (2..).zip(&mut sends) {
        assert_eq!((send.wakes(), send.output()), (1, Err(SendError(n))));
    }
    assert!(closed.is_woken() && sender.is_closed());
    closed.output();
    assert_eq!(sender.try_send(4), Err(TrySendError::Closed(4)));
    assert_eq!(now(receiver.recv()), Ok(1));
    assert_eq!(
        (now(receiver.recv()), receiver.try_recv()),
        (Err(RecvError), Err(TryRecvError::Closed))
    );
}

#[test]
fn the_last_of_a_side_closes_the_channel() {
    let (sender, receiver) = mpmc::bounded::<u8>(1);
    let (another, second) = (sender.clone(), receiver.clone());
    assert_eq!((sender.sender_count(), receiver.receiver_count()), (2, 2));
    assert!(sender.same_channel(&another) && receiver.same_channel(&second));
    let mut recv = by_hand(receiver.recv());
    assert!(recv.is_pending());
    drop(sender);
    assert!(!recv.is_woken());
    drop(another);
    assert!(recv.is_woken());
    assert_eq!(recv.output(), Err(RecvError));

    let (sender, receiver) = mpmc::bounded(2);
    let item = Arc::new(());
    sender.try_send(Arc::clone(&item)).unwrap();
    drop(receiver);
    // What nobody can receive is dropped at once.
    assert_eq!(Arc::strong_count(&item), 1);
    assert_eq!(
        sender.try_send(item).map_err(|error| error.into_inner().as_ref().to_owned()),
        Err(())
    );
}

/// Bound: those who wait are served in the order in which they began to wait.
#[test]
fn receivers_and_senders_are_served_in_order() {
    for capacity in [0, 1, 5] {
        let (sender, receiver) = mpmc::bounded(capacity);
        let record = Record::default();
        let mut recvs = Vec::from_iter((0..100).map(|_| by_hand(receiver.recv())));
        for (n, recv) in recvs.iter_mut().enumerate() {
            assert!(recv.poll_with(&record.waker(n)).is_pending());
        }
        recvs.remove(50);
        (0..99).for_each(|n| sender.try_send(n).unwrap());
        assert_eq!(record.take(), Vec::from_iter((0..100).filter(|&n| n != 50)));
        for (n, recv) in recvs.iter_mut().enumerate() {
            assert_eq!(recv.output(), Ok(n));
        }

        (0..capacity).for_each(|n| sender.try_send(n).unwrap());
        let mut sends = Vec::from_iter((capacity..100).map(|n| by_hand(sender.send(n))));
        for (n, send) in (capacity..).zip(&mut sends) {
            assert!(send.poll_with(&record.waker(n)).is_pending());
        }
        assert!((0..100).all(|n| receiver.try_recv() == Ok(n)));
        assert_eq!(record.take(), Vec::from_iter(capacity..100));
        assert!(sends.iter_mut().all(|send| send.output() == Ok(())));
    }
}

/// Bound: nobody overtakes who waits, not even between its wake-up and its poll.
#[test]
fn nobody_overtakes_who_waits() {
    let (sender, receiver) = mpmc::bounded(1);
    let mut recv = by_hand(receiver.recv());
    assert!(recv.is_pending());
    sender.try_send(1).unwrap();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(recv.output(), Ok(1));

    sender.try_send(2).unwrap();
    let mut send = by_hand(sender.send(3));
    assert!(send.is_pending());
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(sender.try_send(4), Err(TrySendError::Full(4)));
    assert_eq!(send.output(), Ok(()));
    assert_eq!(receiver.try_recv(), Ok(3));
}

#[test]
fn an_item_goes_on_from_a_receiver_that_is_dropped() {
    for capacity in [0, 1, 4] {
        let (sender, receiver) = mpmc::bounded(capacity);
        let mut recvs = [(); 3].map(|()| by_hand(receiver.recv()));
        assert!(recvs.iter_mut().all(Polled::is_pending));
        sender.try_send("a").unwrap();
        sender.try_send("b").unwrap();
        let [first, second, mut third] = recvs;
        // The one that waits gets it; when none does, the next that comes.
        drop(first);
        assert_eq!((third.wakes(), third.output()), (1, Ok("a")));
        drop(second);
        assert_eq!(receiver.len(), 1);
        assert_eq!(receiver.try_recv(), Ok("b"));
    }
}

#[test]
fn an_item_that_was_given_back_is_first_and_counts() {
    let (sender, receiver) = mpmc::bounded(1);
    let mut recv = by_hand(receiver.recv());
    assert!(recv.is_pending());
    sender.try_send(1).unwrap();
    sender.try_send(2).unwrap();
    let mut send = by_hand(sender.send(3));
    assert!(send.is_pending());
    drop(recv);
    assert_eq!(receiver.len(), 2);
    // There is no place before both are gone.
    assert_eq!(receiver.try_recv(), Ok(1));
    assert!(send.is_pending());
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(send.output(), Ok(()));
    // Also in a closed channel.
    let mut recvs = [by_hand(receiver.recv()), by_hand(receiver.recv())];
    assert_eq!(recvs[0].output(), Ok(3));
    assert!(recvs[1].is_pending());
    sender.try_send(4).unwrap();
    sender.close();
    drop(recvs);
    assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(4), Err(TryRecvError::Closed)));
}

#[test]
fn a_new_waker_replaces_the_old_one() {
    let (sender, receiver) = mpmc::bounded(0);
    let record = Record::default();
    let mut recv = by_hand(receiver.recv());
    assert!(recv.poll_with(&record.waker("old")).is_pending());
    assert!(recv.poll_with(&record.waker("new")).is_pending());
    sender.try_send(1).unwrap();
    assert_eq!(record.take(), ["new"]);
}

/// Bound: closing releases the lock after every 32 of those who wait. The first one that is woken
/// can make the last one leave, among 10⁵.
#[test]
fn a_hundred_thousand_are_told_of_the_end_in_batches() {
    const MANY: usize = 100_000;
    let (sender, receiver) = mpmc::bounded::<u8>(0);
    let woken = Arc::new(AtomicUsize::new(0));
    let last = Arc::new(Mutex::new(None));
    let mut waiting = Vec::new();
    for n in 0..MANY {
        let (receiver, woken, last) = (receiver.clone(), Arc::clone(&woken), Arc::clone(&last));
        let mut recv = by_hand(async move { receiver.recv().await });
        let waker = waker(move || {
            woken.fetch_add(1, SeqCst);
            if n == 0 {
                // Leaving takes the lock of the channel.
                let last = last.lock().take();
                drop::<Option<Polled<'_, _>>>(last);
            }
        });
        assert!(recv.poll_with(&waker).is_pending());
        waiting.push(recv);
    }
    *last.lock() = waiting.pop();
    sender.close();
    assert!(last.lock().is_none());
    assert_eq!(woken.load(SeqCst), MANY - 1);
    assert!(waiting.iter_mut().all(|recv| recv.output() == Err(RecvError)));
}

#[test]
fn a_waker_that_panics_harms_no_other() {
    let (sender, receiver) = mpmc::bounded(0);
    let record = Record::default();
    let mut recvs = Vec::from_iter((0..100).map(|_| by_hand(receiver.recv())));
    for (n, recv) in recvs.iter_mut().enumerate() {
        let waker = if n % 3 == 0 { waker(|| panic!("a waker")) } else { record.waker(n) };
        assert!(recv.poll_with(&waker).is_pending());
    }
    (0..10).for_each(|n| sender.try_send(n).unwrap());
    sender.close();
    assert_eq!(record.take(), Vec::from_iter((0..100).filter(|n| n % 3 != 0)));
    for (n, recv) in recvs.iter_mut().enumerate() {
        assert_eq!(recv.output(), if n < 10 { Ok(n) } else { Err(RecvError) });
    }
}

/// No destructor of an item runs under the lock.
#[test]
fn destructors_of_items_may_use_the_channel() {
    struct Nosy(Sender<Option<Nosy>>);
    impl Drop for Nosy {
        fn drop(&mut self) {
            assert!(self.0.len() <= 4);
            let _ = self.0.try_send(None);
        }
    }
    let (sender, receiver) = mpmc::bounded(4);
    let nosy = || Some(Nosy(sender.clone()));
    for _ in 0..4 {
        assert!(sender.try_send(nosy()).is_ok());
    }
    drop(receiver.try_recv());
    assert_eq!(receiver.len(), 4);
    let mut send = by_hand(sender.send(nosy()));
    assert!(send.is_pending());
    drop(send);
    drop(receiver);
    assert_eq!(sender.len(), 0);
}

#[test]
fn what_is_always_ready_spends_budget() {
    let items = turns_of_others(async {
        let (sender, receiver) = mpmc::unbounded();
        for n in 0..500 {
            sender.send(n).await.unwrap();
            receiver.recv().await.unwrap();
        }
    });
    let ends = turns_of_others(async {
        let (sender, receiver) = mpmc::bounded(0);
        sender.close();
        for n in 0..250 {
            sender.send(n).await.unwrap_err();
            receiver.recv().await.unwrap_err();
            sender.closed().await;
            trefoil::sync::mpmc::select! { recv(receiver) -> got => got.unwrap_err() };
        }
    });
    assert_eq!((items, ends), (7, 7));
}

#[test]
fn a_receiver_dropped_at_any_poll_loses_nothing() {
    for capacity in [0, 1, 8] {
        for polls in 0..4 {
            for sends in 0..2 {
                let (sender, receiver) = mpmc::bounded(capacity);
                let mut recv = by_hand(receiver.recv());
                for _ in 0..polls {
                    assert!(recv.is_pending());
                }
                let sent = Vec::from_iter((0..sends).filter(|&n| sender.try_send(n).is_ok()));
                assert_eq!(sent.len(), if capacity > 0 || polls > 0 { sends } else { 0 });
                drop(recv);
                assert_eq!(Vec::from_iter(receiver.try_iter()), sent);
            }
        }
    }
}

#[test]
fn a_sender_dropped_at_any_poll_has_sent_or_not() {
    for capacity in [0, 1] {
        for polls in 0..4 {
            for receives in 0..3 {
                let (sender, receiver) = mpmc::bounded(capacity);
                (0..capacity).for_each(|n| sender.try_send(n).unwrap());
                let item = Arc::new(9);
                let (other, its) = mpmc::bounded(capacity);
                (0..capacity).for_each(|_| other.try_send(Arc::default()).unwrap());
                let mut send = by_hand(other.send(Arc::clone(&item)));
                for _ in 0..polls {
                    assert!(send.is_pending());
                }
                let got = Vec::from_iter((0..receives).filter_map(|_| its.try_recv().ok()));
                drop(send);
                let left = Vec::from_iter(its.try_iter());
                let times = got.iter().chain(&left).filter(|item| ***item == 9).count();
                assert_eq!(
                    times,
                    usize::from(polls > 0 && receives > 0),
                    "{capacity} {polls} {receives}"
                );
                assert_eq!(Arc::strong_count(&item), 1 + times);
                drop(receiver);
            }
        }
    }
}

#[test]
fn blocking_calls_block_a_thread_and_refuse_a_worker() {
    let (sender, receiver) = mpmc::bounded(0);
    let its = receiver.clone();
    let thread = std::thread::spawn(move || Vec::from_iter(its.blocking_iter()));
    (0..100).for_each(|n| sender.blocking_send(n).unwrap());
    current_thread().block_on(async {
        assert!(catch_unwind(|| sender.blocking_send(1)).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| receiver.blocking_recv())).is_err());
    });
    sender.close();
    assert_eq!(thread.join().unwrap(), Vec::from_iter(0..100));
    assert_eq!(receiver.blocking_recv(), Err(RecvError));
    assert_eq!(sender.blocking_send(1), Err(SendError(1)));
}

/// A plain model: what the channel holds, and who waits at it, by number.
#[derive(Default)]
struct Model {
    capacity: usize,
    buffer: VecDeque<usize>,
    receiving: VecDeque<usize>,
    sending: VecDeque<(usize, usize)>,
    /// What those who have waited got: for senders, whether the item was taken.
    received: Vec<(usize, usize)>,
    sent: Vec<usize>,
    is_closed: bool,
}

impl Model {
    fn send(&mut self, item: usize) -> Result<(), TrySendError<usize>> {
        if self.is_closed {
            return Err(TrySendError::Closed(item));
        }
        if let Some(receiver) = self.receiving.pop_front() {
            self.received.push((receiver, item));
        } else if self.buffer.len() < self.capacity {
            self.buffer.push_back(item);
        } else {
            return Err(TrySendError::Full(item));
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<usize, TryRecvError> {
        let item = self.buffer.pop_front();
        let has_place = item.is_none() || self.buffer.len() < self.capacity;
        if has_place && let Some((sender, next)) = self.sending.pop_front() {
            self.sent.push(sender);
            self.buffer.push_back(next);
        }
        let empty = if self.is_closed { TryRecvError::Closed } else { TryRecvError::Empty };
        item.or_else(|| self.buffer.pop_front()).ok_or(empty)
    }

    fn give_back(&mut self, item: usize) {
        match self.receiving.pop_front() {
            Some(receiver) => self.received.push((receiver, item)),
            None => self.buffer.push_front(item),
        }
    }
}

/// Random calls, and the same calls on the model.
#[test]
fn a_plain_model_agrees() {
    for seed in 0..400 {
        let mut rng = Rng(seed);
        let capacity = [0, 1, 2, 5, usize::MAX][rng.below(5)];
        let (sender, receiver) = mpmc::bounded(capacity);
        let mut model = Model { capacity, ..Model::default() };
        let mut recvs: Vec<(usize, Polled<'_, _>)> = Vec::new();
        let mut sends: Vec<(usize, Polled<'_, _>)> = Vec::new();
        for step in 0..200 {
            match rng.below(10) {
                0..2 => assert_eq!(sender.try_send(step), model.send(step)),
                2..4 => assert_eq!(receiver.try_recv(), model.receive()),
                4 => {
                    let mut recv = by_hand(receiver.recv());
                    match (recv.poll(), model.receive()) {
                        (Poll::Pending, Err(TryRecvError::Empty)) => {
                            model.receiving.push_back(step);
                            recvs.push((step, recv));
                        }
                        (Poll::Ready(Ok(item)), expected) => assert_eq!(Ok(item), expected),
                        (Poll::Ready(Err(_)), Err(TryRecvError::Closed)) => {}
                        (polled, expected) => panic!("{polled:?}, and not {expected:?}"),
                    }
                }
                5 => {
                    let mut send = by_hand(sender.send(step));
                    match (send.poll(), model.send(step)) {
                        (Poll::Pending, Err(TrySendError::Full(_))) => {
                            model.sending.push_back((step, step));
                            sends.push((step, send));
                        }
                        (Poll::Ready(Ok(())), Ok(())) => {}
                        (Poll::Ready(Err(_)), Err(TrySendError::Closed(_))) => {}
                        (polled, expected) => panic!("{polled:?}, and not {expected:?}"),
                    }
                }
                6..8 if !recvs.is_empty() => {
                    let (id, mut recv) = recvs.remove(rng.below(recvs.len()));
                    let got = model.received.iter().position(|&(receiver, _)| receiver == id);
                    let got = got.map(|n| model.received.remove(n).1);
                    assert_eq!(recv.is_woken(), got.is_some() || model.is_closed);
                    if rng.once_in(2) {
                        // It gives up.
                        model.receiving.retain(|&receiver| receiver != id);
                        if let Some(item) = got {
                            model.give_back(item);
                        }
                        continue;
                    }
                    match recv.poll() {
                        Poll::Ready(received) => {
                            assert_eq!(received.ok(), got);
                            assert!(got.is_some() || model.is_closed);
                        }
                        Poll::Pending => {
                            assert!(got.is_none() && !model.is_closed);
                            recvs.push((id, recv));
                        }
                    }
                }
                8 if !sends.is_empty() => {
                    let (id, mut send) = sends.remove(rng.below(sends.len()));
                    let was_sent = model.sent.contains(&id);
                    if rng.once_in(2) {
                        model.sending.retain(|&(sender, _)| sender != id);
                        continue;
                    }
                    match send.poll() {
                        Poll::Ready(sent) => {
                            assert_eq!(sent.is_ok(), was_sent);
                            assert!(was_sent || model.is_closed);
                        }
                        Poll::Pending => {
                            assert!(!was_sent && !model.is_closed);
                            sends.push((id, send));
                        }
                    }
                }
                9 if rng.once_in(30) => {
                    assert_eq!(sender.close(), !model.is_closed);
                    model.is_closed = true;
                    model.receiving.clear();
                    model.sending.clear();
                }
                _ => {}
            }
            assert_eq!(sender.len(), model.buffer.len());
        }
    }
}

/// Receivers and senders on several threads, all of which give up at random: each item is received
/// once, or was never sent.
#[test]
fn a_storm_of_cancellations_loses_no_item() {
    const EACH: u64 = 2000;
    for capacity in [0, 1, 7, usize::MAX] {
        for runtime in current_and_multi([2, 4]) {
            let (sender, receiver) = mpmc::bounded::<Arc<AtomicU64>>(capacity);
            let items = Vec::from_iter((0..6 * EACH).map(|_| Arc::new(AtomicU64::new(0))));
            let items = Arc::new(items);
            runtime.block_on(async {
                let mut tasks = JoinSet::new();
                for seed in 0..6u64 {
                    let (sender, items) = (sender.clone(), Arc::clone(&items));
                    tasks.spawn(async move {
                        let mut rng = Rng(seed);
                        for n in seed * EACH..(seed + 1) * EACH {
                            let item = &items[n as usize];
                            let patience = rng.below(4);
                            trefoil::select! {
                                biased;
                                sent = sender.send(Arc::clone(item)) => sent.unwrap(),
                                () = async { for _ in 0..patience { yield_now().await } } => {}
                            }
                        }
                    });
                    let receiver = receiver.clone();
                    tasks.spawn(async move {
                        let mut rng = Rng(seed + 100);
                        loop {
                            let patience = rng.below(4);
                            let got = trefoil::select! {
                                biased;
                                got = receiver.recv() => got,
                                () = async { for _ in 0..patience { yield_now().await } } => continue,
                            };
                            let Ok(item) = got else { break };
                            item.fetch_add(1, SeqCst);
                        }
                    });
                }
                drop((sender, receiver));
                while let Some(done) = timeout(WATCHDOG, tasks.join_next()).await.expect("no hang")
                {
                    done.unwrap();
                }
            });
            let received = items.iter().map(|item| item.load(SeqCst));
            assert!(received.clone().all(|times| times <= 1));
            // A sender that gives up takes its item with it, which then was not received.
            assert!(items.iter().all(|item| Arc::strong_count(item) == 1));
            assert!(received.sum::<u64>() > 0);
        }
    }
}

/// Of each sender, a receiver gets the items in order, if nobody gives up.
#[test]
fn each_sender_s_items_stay_in_order() {
    for capacity in [0, 1, 16] {
        for runtime in current_and_multi([4]) {
            let (sender, receiver) = mpmc::bounded(capacity);
            runtime.block_on(async {
                let mut tasks = JoinSet::new();
                for source in 0..4 {
                    let sender = sender.clone();
                    tasks.spawn(async move {
                        for n in 0..3000 {
                            sender.send((source, n)).await.unwrap();
                        }
                        0
                    });
                    let receiver: Receiver<(usize, u32)> = receiver.clone();
                    tasks.spawn(async move {
                        let mut next = [0; 4];
                        let mut count = 0;
                        while let Ok((source, n)) = receiver.recv().await {
                            assert!(n >= next[source]);
                            next[source] = n + 1;
                            count += 1;
                        }
                        count
                    });
                }
                drop((sender, receiver));
                let mut count = 0;
                while let Some(done) = timeout(WATCHDOG, tasks.join_next()).await.expect("no hang")
                {
                    count += done.unwrap();
                }
                assert_eq!(count, 12_000);
            });
        }
    }
}

#[test]
fn futures_and_handles_are_as_send_as_they_should_be() {
    fn send<T: Send>(_: &T) {}
    fn sync<T: Sync>(_: &T) {}
    let (sender, receiver) = mpmc::bounded::<std::cell::Cell<u8>>(2);
    send(&sender);
    sync(&sender);
    send(&receiver);
    sync(&receiver);
    send(&sender.closed());
    send(&sender.send(std::cell::Cell::new(1)));
    send(&receiver.recv());
    // Without `select!`, items need not be `Send`.
    let (sender, receiver) = mpmc::bounded(1);
    sender.try_send(std::rc::Rc::new(1)).unwrap();
    assert_eq!(*now(receiver.recv()).unwrap(), 1);
}
