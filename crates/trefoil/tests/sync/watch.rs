//! `sync::watch`: what receivers see, when they are woken, and what cancellation leaves.

use crate::support::by_hand::{Polled, Record, Rng, by_hand, now, turns_of_others, waker};
use crate::support::watch::{WATCHDOG, wait_for};
use crate::support::{current_and_multi, multi};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::time::Duration;
use trefoil::sync::watch::error::{RecvError, SendError};
use trefoil::sync::watch::{self, Receiver, Ref, Sender};
use trefoil::task::{JoinSet, yield_now};
use trefoil::time::timeout;

#[test]
fn a_value_is_new_until_it_is_seen() {
    let (sender, mut receiver) = watch::channel(0);
    assert!(!receiver.has_changed().unwrap());
    assert!(by_hand(receiver.changed()).is_pending());
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    // `borrow` does not mark it as seen.
    for _ in 0..2 {
        let value = receiver.borrow();
        assert_eq!((*value, value.has_changed()), (2, true));
    }
    assert!(receiver.has_changed().unwrap());
    {
        let value = receiver.borrow_and_update();
        assert_eq!((*value, value.has_changed()), (2, true));
    }
    assert!(!receiver.has_changed().unwrap() && !receiver.borrow().has_changed());
    assert!(by_hand(receiver.changed()).is_pending());
    sender.send(2).unwrap();
    // An equal value is new, too. The future marks it as seen.
    now(receiver.changed()).unwrap();
    assert!(by_hand(receiver.changed()).is_pending());
    assert!(!sender.borrow().has_changed());
}

#[test]
fn a_closed_channel_shows_its_last_value_once() {
    let (sender, mut receiver) = watch::channel(0);
    let other = sender.clone();
    let mut seen = receiver.clone();
    other.send(1).unwrap();
    now(seen.changed()).unwrap();
    drop(sender);
    assert!(!receiver.is_closed() && receiver.has_changed().unwrap());
    drop(other);
    assert!(receiver.is_closed() && receiver.has_changed().is_err());
    now(receiver.changed()).unwrap();
    assert!(now(receiver.changed()).is_err() && now(seen.changed()).is_err());
    assert_eq!(*receiver.borrow(), 1);
}

#[test]
fn without_a_receiver_send_returns_the_value() {
    let (sender, receiver) = watch::channel(1);
    drop(receiver);
    assert!(sender.is_closed() && sender.receiver_count() == 0);
    assert_eq!(sender.send(2), Err(SendError(2)));
    assert_eq!(*sender.borrow(), 1);
    // The others need none.
    assert_eq!(sender.send_replace(3), 1);
    sender.send_modify(|n| *n += 1);
    let mut receiver = sender.subscribe();
    assert_eq!((*receiver.borrow(), receiver.has_changed().unwrap()), (4, false));
    sender.send(5).unwrap();
    now(receiver.changed()).unwrap();
    assert!(Sender::<u8>::default().is_closed());
}

#[test]
fn marks_can_be_set_by_hand() {
    let (sender, mut receiver) = watch::channel(0);
    receiver.mark_changed();
    assert!(receiver.has_changed().unwrap());
    receiver.mark_changed();
    now(receiver.changed()).unwrap();
    assert!(by_hand(receiver.changed()).is_pending());
    sender.send(1).unwrap();
    receiver.mark_unchanged();
    assert!(!receiver.has_changed().unwrap());
    receiver.mark_changed();
    drop(sender);
    // A closed channel's value that is marked as new is shown before the error.
    now(receiver.changed()).unwrap();
    assert!(now(receiver.changed()).is_err());
}

#[test]
fn counts_and_channels() {
    let (sender, receiver) = watch::channel(());
    let (another, _) = (sender.clone(), receiver.clone());
    let second = receiver.clone();
    assert_eq!((sender.sender_count(), sender.receiver_count()), (2, 2));
    assert!(sender.same_channel(&another) && receiver.same_channel(&second));
    let (foreign, stranger) = watch::channel(());
    assert!(!sender.same_channel(&foreign) && !receiver.same_channel(&stranger));
    drop(another);
    drop(second);
    assert_eq!((sender.sender_count(), sender.receiver_count()), (1, 1));
}

#[test]
fn only_what_counts_as_a_change_wakes() {
    let (sender, mut receiver) = watch::channel(0);
    let mut changed = by_hand(receiver.changed());
    assert!(changed.is_pending());
    assert!(!sender.send_if_modified(|n| {
        *n = 1;
        false
    }));
    assert!(!changed.is_woken());
    assert_eq!(*sender.borrow(), 1);
    assert!(sender.send_if_modified(|n| {
        *n = 2;
        true
    }));
    assert_eq!(changed.wakes(), 1);
    changed.output().unwrap();
}

#[test]
fn a_panic_in_a_closure_harms_no_one() {
    let (sender, mut receiver) = watch::channel(0);
    let mut changed = by_hand(receiver.changed());
    assert!(changed.is_pending());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        sender.send_modify(|n| {
            *n = 1;
            panic!("modify");
        })
    }));
    assert!(panicked.is_err() && !changed.is_woken() && changed.is_pending());
    drop(changed);
    assert_eq!(*receiver.borrow(), 1);
    let mut waiting = by_hand(receiver.wait_for(|_| panic!("condition")));
    assert!(catch_unwind(AssertUnwindSafe(|| waiting.poll())).is_err());
    drop(waiting);
    sender.send(2).unwrap();
    now(receiver.changed()).unwrap();
    assert_eq!(*receiver.borrow(), 2);
}

#[test]
fn wait_for_asks_about_the_present_value_first() {
    let (sender, mut receiver) = watch::channel(1);
    assert_eq!(
        now(receiver.wait_for(|&n| n == 1)).map(|n| (*n, n.has_changed())).ok(),
        Some((1, false))
    );
    let mut asked = Vec::new();
    {
        let mut waiting = by_hand(async {
            receiver
                .wait_for(|&n| {
                    asked.push(n);
                    n > 3
                })
                .await
                .map(|n| *n)
        });
        assert!(waiting.is_pending());
        sender.send(2).unwrap();
        sender.send(3).unwrap();
        assert!(waiting.is_pending());
        // A spurious poll does not ask again.
        assert!(waiting.is_pending());
        sender.send(4).unwrap();
        assert_eq!(waiting.output().unwrap(), 4);
    }
    assert_eq!(asked, [1, 3, 4]);
    assert!(!receiver.has_changed().unwrap());
}

#[test]
fn what_wait_for_has_shown_is_seen() {
    let (sender, mut receiver) = watch::channel(0);
    sender.send(1).unwrap();
    assert!(receiver.has_changed().unwrap());
    assert!(by_hand(receiver.wait_for(|&n| n == 2)).is_pending());
    assert!(!receiver.has_changed().unwrap(), "it was shown, and not what is waited for");
    sender.send(2).unwrap();
    assert!(now(receiver.wait_for(|&n| n == 2)).is_ok());
    assert!(!receiver.has_changed().unwrap());
    assert!(by_hand(receiver.changed()).is_pending());
}

#[test]
fn wait_for_asks_about_the_last_value_before_it_fails() {
    let (sender, mut receiver) = watch::channel(1);
    let mut asked = Vec::new();
    {
        let mut waiting = by_hand(async {
            receiver
                .wait_for(|&n| {
                    asked.push(n);
                    false
                })
                .await
                .map(|n| *n)
        });
        assert!(waiting.is_pending());
        sender.send(2).unwrap();
        drop(sender);
        assert!(waiting.output().is_err());
    }
    assert_eq!(asked, [1, 2]);
    // Of a closed channel, the present value will do.
    assert_eq!(now(receiver.wait_for(|&n| n == 2)).map(|n| *n).ok(), Some(2));
    assert!(now(receiver.wait_for(|&n| n == 1)).is_err());
}

#[test]
fn closed_waits_for_the_last_receiver() {
    let (sender, receiver) = watch::channel(());
    let second = receiver.clone();
    let mut closed = by_hand(sender.closed());
    assert!(closed.is_pending());
    drop(receiver);
    assert!(!closed.is_woken());
    drop(second);
    assert!(closed.is_woken());
    // The channel is open again before anybody has looked.
    let third = sender.subscribe();
    assert!(closed.is_pending());
    drop(third);
    closed.output();
    now(sender.closed());
}

#[test]
fn a_new_waker_replaces_the_old_one() {
    let (sender, mut receiver) = watch::channel(0);
    let record = Record::default();
    let mut changed = by_hand(receiver.changed());
    assert!(changed.poll_with(&record.waker("old")).is_pending());
    assert!(changed.poll_with(&record.waker("new")).is_pending());
    sender.send(1).unwrap();
    assert_eq!(record.take(), ["new"]);
}

/// Bound: receivers are woken in the order in which they began to wait, each once.
#[test]
fn receivers_are_woken_in_order() {
    let (sender, receiver) = watch::channel(0);
    let record = Record::default();
    let mut receivers = vec![receiver; 1000];
    let mut waiting = Vec::new();
    for (n, receiver) in receivers.iter_mut().enumerate() {
        let mut changed = by_hand(receiver.changed());
        assert!(changed.poll_with(&record.waker(n)).is_pending());
        waiting.push(changed);
    }
    // Some leave.
    let left: Vec<usize> = (0..1000).filter(|n| n % 7 != 3).collect();
    for n in (0..1000).rev().filter(|n| n % 7 == 3) {
        drop(waiting.remove(n));
    }
    sender.send(1).unwrap();
    assert_eq!(record.take(), left);
    sender.send(2).unwrap();
    assert_eq!(record.take(), []);
}

/// Bound: the lock is released after every 32 receivers. The first one that is woken can make the
/// last one leave, among 10⁵.
#[test]
fn a_hundred_thousand_receivers_are_woken_in_batches() {
    const MANY: usize = 100_000;
    let (sender, receiver) = watch::channel(0);
    let woken = Arc::new(AtomicUsize::new(0));
    let last = Arc::new(Mutex::new(None));
    let mut waiting = Vec::new();
    for n in 0..MANY {
        let (mut receiver, woken, last) = (receiver.clone(), Arc::clone(&woken), Arc::clone(&last));
        let mut changed = by_hand(async move { receiver.changed().await });
        let waker = waker(move || {
            woken.fetch_add(1, SeqCst);
            if n == 0 {
                // Leaving takes the lock of the list.
                let last = last.lock().take();
                drop::<Option<Polled<'_, _>>>(last);
            }
        });
        assert!(changed.poll_with(&waker).is_pending());
        waiting.push(changed);
    }
    *last.lock() = waiting.pop();
    sender.send(1).unwrap();
    assert!(last.lock().is_none());
    assert_eq!(woken.load(SeqCst), MANY - 1);
    assert!(waiting.iter_mut().all(|changed| changed.output().is_ok()));
}

#[test]
fn a_waker_that_panics_harms_no_other() {
    let (sender, receiver) = watch::channel(0);
    let mut receivers = vec![receiver; 100];
    let record = Record::default();
    let mut waiting = Vec::new();
    for (n, receiver) in receivers.iter_mut().enumerate() {
        let mut changed = by_hand(receiver.changed());
        let waker = if n % 3 == 0 { waker(|| panic!("a waker")) } else { record.waker(n) };
        assert!(changed.poll_with(&waker).is_pending());
        waiting.push(changed);
    }
    sender.send(1).unwrap();
    assert_eq!(record.take(), Vec::from_iter((0..100).filter(|n| n % 3 != 0)));
    assert!(waiting.iter_mut().all(|changed| changed.output().is_ok()));
}

#[test]
fn what_is_always_ready_spends_budget() {
    let changes = turns_of_others(async {
        let (_sender, mut receiver) = watch::channel(0);
        for _ in 0..1000 {
            receiver.mark_changed();
            receiver.changed().await.unwrap();
        }
    });
    let conditions = turns_of_others(async {
        let (_sender, mut receiver) = watch::channel(0);
        for _ in 0..1000 {
            receiver.wait_for(|_| true).await.unwrap();
        }
    });
    let ends = turns_of_others(async {
        let sender = Sender::new(0);
        for _ in 0..1000 {
            sender.closed().await;
        }
    });
    assert_eq!((changes, conditions, ends), (7, 7, 7));
}

#[test]
fn a_future_dropped_at_any_poll_has_seen_nothing() {
    for polls in 0..4 {
        for sends in 0..4 {
            let (sender, mut receiver) = watch::channel(0);
            let mut changed = by_hand(receiver.changed());
            for _ in 0..polls {
                assert!(changed.is_pending());
            }
            for n in 0..sends {
                sender.send(n).unwrap();
            }
            drop(changed);
            assert_eq!(receiver.has_changed().unwrap(), sends > 0);
            sender.send(9).unwrap();
            now(receiver.changed()).unwrap();
            assert_eq!(*receiver.borrow(), 9);
        }
    }
}

type Waiting = Polled<'static, (Receiver<u64>, Result<(), RecvError>)>;

/// One receiver, and what a plain model knows of it.
enum Party {
    Idle(Receiver<u64>, usize),
    Waits(Waiting, usize),
}

/// Random calls, and the same calls on a list of all values.
#[test]
fn a_plain_model_agrees() {
    for seed in 0..200 {
        let mut rng = Rng(seed);
        let (sender, receiver) = watch::channel(0);
        let mut senders = vec![sender];
        let mut values = vec![0];
        let mut parties = HashMap::from([(0, Party::Idle(receiver, 0))]);
        let mut made = 1;
        for step in 1..300 {
            let latest = values.len() - 1;
            match rng.below(12) {
                0..=2 if !senders.is_empty() => {
                    let sender = &senders[rng.below(senders.len())];
                    let sent = sender.send(step);
                    assert_eq!(sent.is_ok(), !parties.is_empty());
                    if sent.is_ok() {
                        values.push(step);
                    }
                }
                3 if !senders.is_empty() => {
                    let sender = &senders[rng.below(senders.len())];
                    assert_eq!(sender.send_replace(step), values[latest]);
                    values.push(step);
                }
                4 if !senders.is_empty() => {
                    let sender = &senders[rng.below(senders.len())];
                    let receiver = sender.subscribe();
                    parties.insert(made, Party::Idle(receiver, latest));
                    made += 1;
                }
                5 if !senders.is_empty() && senders.len() < 4 => {
                    senders.push(senders[0].clone());
                }
                6 if senders.len() > 1 || rng.once_in(20) && !senders.is_empty() => {
                    let gone = rng.below(senders.len());
                    drop(senders.swap_remove(gone));
                }
                _ => {
                    let Some(&key) = parties.keys().nth(rng.below(parties.len().max(1))) else {
                        continue;
                    };
                    let party = match parties.remove(&key).unwrap() {
                        Party::Idle(mut receiver, seen) => match rng.below(6) {
                            0 => continue,
                            1 => {
                                let value = receiver.borrow_and_update();
                                assert_eq!(
                                    (*value, value.has_changed()),
                                    (values[latest], seen != latest)
                                );
                                drop(value);
                                Party::Idle(receiver, latest)
                            }
                            2 => {
                                let other = receiver.clone();
                                parties.insert(made, Party::Idle(other, seen));
                                made += 1;
                                Party::Idle(receiver, seen)
                            }
                            3 => {
                                match receiver.has_changed() {
                                    Ok(changed) => assert_eq!(changed, seen != latest),
                                    Err(_) => assert!(senders.is_empty()),
                                }
                                Party::Idle(receiver, seen)
                            }
                            _ => Party::Waits(
                                by_hand(async move {
                                    let changed = receiver.changed().await;
                                    (receiver, changed)
                                }),
                                seen,
                            ),
                        },
                        Party::Waits(mut waiting, seen) => match rng.below(8) {
                            0 => continue,
                            _ => match waiting.poll() {
                                Poll::Pending => {
                                    assert!(seen == latest && !senders.is_empty());
                                    Party::Waits(waiting, seen)
                                }
                                Poll::Ready((receiver, Ok(()))) => {
                                    assert_ne!(seen, latest);
                                    Party::Idle(receiver, latest)
                                }
                                Poll::Ready((receiver, Err(_))) => {
                                    assert!(seen == latest && senders.is_empty());
                                    Party::Idle(receiver, seen)
                                }
                            },
                        },
                    };
                    parties.insert(key, party);
                }
            }
            if let Some(sender) = senders.first() {
                assert_eq!(sender.receiver_count(), parties.len());
                assert_eq!(sender.sender_count(), senders.len());
            }
        }
    }
}

/// Receivers that give up at random miss no change all the same.
#[test]
fn a_storm_of_cancellations_loses_no_change() {
    const LAST: u64 = 3000;
    for runtime in current_and_multi([2, 4]) {
        let (sender, receiver) = watch::channel(0u64);
        runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for seed in 0..16 {
                let mut receiver = receiver.clone();
                tasks.spawn(async move {
                    let mut rng = Rng(seed);
                    let mut last = 0;
                    while last < LAST {
                        let patience = rng.below(3);
                        let changed = trefoil::select! {
                            biased;
                            changed = receiver.changed() => { changed.unwrap(); true }
                            () = async { for _ in 0..patience { yield_now().await } } => false,
                        };
                        let value = receiver.borrow_and_update();
                        assert!(*value >= last, "the values go forward");
                        if changed {
                            assert!(*value > last, "{} after {last}", *value);
                        }
                        last = *value;
                    }
                });
            }
            drop(receiver);
            tasks.spawn(async move {
                for n in 1..=LAST {
                    sender.send(n).unwrap();
                    if n % 8 == 0 {
                        yield_now().await;
                    }
                }
                sender.closed().await;
            });
            while let Some(done) = timeout(WATCHDOG, tasks.join_next()).await.expect("no hang") {
                done.unwrap();
            }
        });
    }
}

/// All receivers wait when the value comes; none of them is polled for another reason.
#[test]
fn every_change_reaches_every_task_that_waits() {
    let runtime = multi(4);
    let (sender, receiver) = watch::channel(0);
    let seen = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let (mut receiver, seen) = (receiver.clone(), Arc::clone(&seen));
        runtime.spawn(async move {
            while receiver.changed().await.is_ok() {
                seen.fetch_add(1, SeqCst);
            }
        });
    }
    drop(receiver);
    for round in 1..=200 {
        sender.send(round).unwrap();
        wait_for("all see the change", || seen.load(SeqCst) == 50 * round);
    }
    drop(sender);
    runtime.shutdown_timeout(Duration::from_secs(20));
}

#[test]
fn futures_and_handles_are_as_send_as_they_should_be() {
    fn send<T: Send>(_: &T) {}
    fn sync<T: Sync>(_: &T) {}
    fn ref_is_sync<T: Sync>(_: fn() -> Ref<'static, T>) {}
    let (sender, mut receiver) = watch::channel(String::new());
    send(&sender);
    sync(&sender);
    send(&receiver);
    sync(&receiver);
    send(&sender.closed());
    send(&receiver.changed());
    sync(&receiver.changed());
    send(&receiver.wait_for(|_| true));
    ref_is_sync::<String>(|| unreachable!());
    assert_eq!(format!("{:?}", SendError(1)), "SendError { .. }");
}
