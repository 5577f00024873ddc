//! Bounded channels: who gets room, and when.

use crate::polls::{Wakes, panic_of, poll_once, poll_with};
use crate::support::by_hand::turns_of_others;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use trefoil::runtime::Builder;
use trefoil::sync::Semaphore;
use trefoil::sync::mpsc;
use trefoil::sync::mpsc::error::{SendError, SendTimeoutError, TryRecvError, TrySendError};

#[test]
fn room_is_taken_and_given_back() {
    let (sender, mut receiver) = mpsc::channel(3);
    assert_eq!((sender.capacity(), sender.max_capacity()), (3, 3));
    let permit = sender.try_reserve().unwrap();
    assert_eq!((sender.capacity(), receiver.capacity(), receiver.len()), (2, 2, 0));
    sender.try_send(1).unwrap();
    sender.try_send(2).unwrap();
    assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
    assert!(matches!(sender.try_reserve(), Err(TrySendError::Full(()))));
    drop(permit);
    sender.try_send(3).unwrap();
    assert_eq!(receiver.len(), 3);
    for n in 1..=3 {
        assert_eq!(receiver.try_recv(), Ok(n));
        assert_eq!(receiver.capacity(), n as usize);
    }
    assert_eq!(receiver.max_capacity(), 3);
}

#[test]
fn many_permits_at_once() {
    let (sender, mut receiver) = mpsc::channel(4);
    let mut permits = sender.try_reserve_many(3).unwrap();
    assert_eq!(permits.len(), 3);
    assert!(matches!(sender.try_reserve_many(2), Err(TrySendError::Full(()))));
    assert!(matches!(sender.try_reserve_many(5), Err(TrySendError::Full(()))));
    permits.next().unwrap().send(1);
    drop(permits.next());
    assert_eq!(sender.capacity(), 2);
    drop(permits);
    assert_eq!(sender.capacity(), 3);
    assert_eq!(sender.try_reserve_many(0).unwrap().count(), 0);
    {
        let mut four = pin!(sender.reserve_many(4));
        assert!(poll_once(four.as_mut()).is_pending());
        assert_eq!(sender.capacity(), 0);
        assert_eq!(receiver.try_recv(), Ok(1));
        let Poll::Ready(Ok(permits)) = poll_once(four.as_mut()) else { panic!("there is room") };
        for (n, permit) in permits.enumerate() {
            permit.send(n);
        }
    }
    let mut buffer = Vec::new();
    assert_eq!(receiver.blocking_recv_many(&mut buffer, 10), 4);
    assert_eq!(buffer, [0, 1, 2, 3]);
    assert_eq!(
        poll_once(pin!(sender.reserve_many(5))).map(|r| r.err()),
        Poll::Ready(Some(SendError(())))
    );
    receiver.close();
    assert!(matches!(sender.try_reserve_many(4), Err(TrySendError::Closed(()))));
}

#[test]
fn owned_permits() {
    let (sender, mut receiver) = mpsc::channel(1);
    let (other, _other_receiver) = mpsc::channel::<u32>(1);
    let permit = sender.clone().try_reserve_owned().unwrap();
    assert_eq!(sender.strong_count(), 2);
    assert!(permit.same_channel_as_sender(&sender) && !permit.same_channel_as_sender(&other));
    let other = other.try_reserve_owned().unwrap();
    assert!(permit.same_channel(&permit) && !permit.same_channel(&other));
    let Err(TrySendError::Full(again)) = sender.try_reserve_owned() else { panic!("it is full") };
    let sender = permit.release();
    assert_eq!((sender.capacity(), sender.strong_count()), (1, 2));
    drop(sender);
    let permit = poll_once(pin!(again.reserve_owned()));
    let Poll::Ready(Ok(permit)) = permit else { panic!("there is room") };
    let sender = permit.send(5);
    assert_eq!(receiver.try_recv(), Ok(5));
    // A permit that is dropped with the last sender gives its room back, and ends the channel.
    let permit = sender.try_reserve_owned().unwrap();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    drop(permit);
    assert_eq!(receiver.capacity(), 1);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn senders_get_room_in_the_order_in_which_they_asked() {
    let (sender, mut receiver) = mpsc::channel(1);
    sender.try_send(0).unwrap();
    let mut waiting: Vec<_> = (1..=5).map(|n| Box::pin(sender.send(n))).collect();
    for send in &mut waiting {
        assert!(poll_once(send.as_mut()).is_pending());
    }
    // One gives up, and its place is lost.
    drop(waiting.remove(2));
    for expected in [0, 1, 2, 4, 5] {
        assert_eq!(receiver.try_recv(), Ok(expected));
        // Nobody overtakes those who wait, whoever is polled first.
        let left = waiting.len();
        if left > 0 {
            assert_eq!(sender.try_send(9), Err(TrySendError::Full(9)));
        }
        for place in (0..left).rev() {
            if poll_once(waiting[place].as_mut()).is_ready() {
                assert_eq!(place, 0);
                drop(waiting.remove(place));
            }
        }
        assert_eq!(waiting.len(), left.saturating_sub(1));
    }
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn a_permit_passes_a_sender_that_is_not_polled_again() {
    let (sender, mut receiver) = mpsc::channel(1);
    sender.try_send(0).unwrap();
    let wakes = Arc::new(Wakes::default());
    let mut first = Box::pin(sender.reserve());
    let mut second = Box::pin(sender.send(2));
    assert!(poll_once(first.as_mut()).is_pending());
    assert!(poll_with(second.as_mut(), &wakes).is_pending());
    // The first one is given the room, and never looks.
    assert_eq!(receiver.try_recv(), Ok(0));
    assert_eq!(wakes.get(), 0);
    drop(first);
    assert_eq!(wakes.get(), 1);
    assert!(poll_once(second.as_mut()).is_ready());
    assert_eq!(receiver.try_recv(), Ok(2));
}

#[test]
fn all_waiting_senders_learn_that_the_receiver_is_gone() {
    let (sender, receiver) = mpsc::channel(1);
    sender.try_send(0).unwrap();
    let wakes = Arc::new(Wakes::default());
    let mut waiting: Vec<_> = (0..100).map(|n| Box::pin(sender.send(n))).collect();
    for send in &mut waiting {
        assert!(poll_with(send.as_mut(), &wakes).is_pending());
    }
    let mut closed = pin!(sender.closed());
    assert!(poll_with(closed.as_mut(), &wakes).is_pending());
    drop(receiver);
    assert_eq!(wakes.get(), 101);
    for (n, send) in waiting.iter_mut().enumerate() {
        assert_eq!(poll_once(send.as_mut()), Poll::Ready(Err(SendError(n))));
    }
    assert!(poll_once(closed).is_ready());
    assert!(poll_once(pin!(sender.closed())).is_ready());
}

#[test]
fn send_timeout_returns_the_message() {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (sender, mut receiver) = mpsc::channel(1);
        let second = Duration::from_secs(1);
        sender.send_timeout(1, second).await.unwrap();
        let late = sender.send_timeout(2, second).await;
        assert_eq!(late, Err(SendTimeoutError::Timeout(2)));
        assert_eq!(late.unwrap_err().into_inner(), 2);
        assert_eq!(receiver.recv().await, Some(1));
        assert_eq!(sender.capacity(), 1);
        receiver.close();
        assert_eq!(sender.send_timeout(3, second).await, Err(SendTimeoutError::Closed(3)));
    });
}

#[test]
fn many_senders_on_threads_and_a_small_channel() {
    const SENDERS: usize = 4;
    const MESSAGES: usize = 5_000;
    for capacity in [1, 3, 100] {
        let (sender, mut receiver) = mpsc::channel(capacity);
        let threads: Vec<_> = (0..SENDERS)
            .map(|id| {
                let sender = sender.clone();
                std::thread::spawn(move || {
                    for n in 0..MESSAGES {
                        sender.blocking_send((id, n)).unwrap();
                    }
                })
            })
            .collect();
        drop(sender);
        let mut next = [0; SENDERS];
        while let Some((id, n)) = receiver.blocking_recv() {
            assert!(receiver.len() <= capacity);
            assert_eq!(n, next[id]);
            next[id] += 1;
        }
        assert_eq!(next, [MESSAGES; SENDERS]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn capacities_out_of_range_panic() {
    assert!(panic_of(|| drop(mpsc::channel::<()>(0))).contains("at least one"));
    for capacity in [usize::MAX, Semaphore::MAX_PERMITS + 1] {
        let text = panic_of(|| drop(mpsc::channel::<()>(capacity)));
        assert!(text.contains("MAX_PERMITS"), "{text}");
    }
    let (sender, mut receiver) = mpsc::channel(Semaphore::MAX_PERMITS);
    sender.try_send(1).unwrap();
    assert_eq!(sender.capacity(), Semaphore::MAX_PERMITS - 1);
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(receiver.capacity(), Semaphore::MAX_PERMITS);
}

#[test]
fn the_room_of_messages_that_the_receiver_has_dropped_is_there_again() {
    let (sender, receiver) = mpsc::channel(4);
    sender.try_send(1).unwrap();
    sender.try_send(2).unwrap();
    let permit = sender.try_reserve().unwrap();
    assert_eq!(sender.capacity(), 1);
    drop(receiver);
    assert_eq!(sender.capacity(), 3);
    drop(permit);
    assert_eq!(sender.capacity(), 4);
}

#[test]
fn asking_for_more_room_than_there_is_spends_budget() {
    let turns = turns_of_others(async {
        let (sender, _receiver) = mpsc::channel::<u8>(1);
        for _ in 0..1000 {
            assert!(sender.reserve_many(2).await.is_err());
        }
    });
    assert_eq!(turns, 7);
}
