//! `mpmc::select!`: one arm, exactly once.

use crate::support::by_hand::{Polled, Record, Rng, by_hand, now};
use crate::support::watch::WATCHDOG;
use crate::support::{current_and_multi, current_thread};
use std::collections::HashMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use trefoil::sync::mpmc::error::{RecvError, SendError, TryRecvError, TrySendError};
use trefoil::sync::mpmc::{self, Receiver, Sender, select};
use trefoil::task::{JoinSet, yield_now};
use trefoil::time::{Duration, Instant, timeout};

#[test]
fn the_arm_that_is_ready_is_chosen() {
    let (sender, receiver) = mpmc::bounded(1);
    let (full, its) = mpmc::bounded(1);
    full.try_send(1).unwrap();
    let choose = || {
        now(async {
            select! {
                recv(receiver) -> got => format!("got {got:?}"),
                send(full, 2) -> sent => format!("sent {sent:?}"),
                default => "nothing".to_owned(),
            }
        })
    };
    assert_eq!(choose(), "nothing");
    sender.try_send('a').unwrap();
    assert_eq!(choose(), "got Ok('a')");
    assert_eq!(its.try_recv(), Ok(1));
    assert_eq!(choose(), "sent Ok(())");
    drop(its);
    assert_eq!(choose(), "sent Err(SendError { .. })");
    full.close();
    drop(sender);
    let mut seen = Vec::from_iter((0..100).map(|_| choose()));
    seen.sort();
    seen.dedup();
    assert_eq!(seen, ["got Err(RecvError)", "sent Err(SendError { .. })"]);
}

#[test]
fn the_first_is_chosen_if_biased() {
    let channels = [(); 3].map(|()| mpmc::unbounded());
    for (n, (sender, _)) in channels.iter().enumerate() {
        (0..100).for_each(|_| sender.try_send(n).unwrap());
    }
    let [(_, a), (_, b), (_, c)] = &channels;
    for n in [0, 1, 2] {
        for _ in 0..100 {
            let got = now(async {
                select! {
                    biased;
                    recv(a) -> got => got,
                    recv(b) -> got => got,
                    recv(c) -> got => got,
                }
            });
            assert_eq!(got, Ok(n));
        }
    }
}

/// Also among those that are ready beside some that are not.
#[test]
fn each_that_is_ready_is_chosen_equally_often() {
    let channels = [(); 4].map(|()| mpmc::unbounded());
    for n in [0, 2, 3] {
        (0..9000).for_each(|_| channels[n].0.try_send(n).unwrap());
    }
    let [(_, a), (_, b), (_, c), (_, d)] = &channels;
    let mut counts = [0; 4];
    for _ in 0..9000 {
        let got = now(async {
            select! {
                recv(a) -> got => got,
                recv(b) -> got => got,
                recv(c) -> got => got,
                recv(d) -> got => got,
            }
        });
        counts[got.unwrap()] += 1;
    }
    // The standard deviation is 45.
    assert!(
        counts[1] == 0 && [0, 2, 3].iter().all(|&n| (2600..3400).contains(&counts[n])),
        "{counts:?}"
    );
}

#[test]
fn a_time_out_ends_the_wait_and_no_sooner() {
    let runtime = trefoil::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (sender, receiver) = mpmc::bounded::<u8>(0);
        let start = Instant::now();
        let choose = || async {
            select! {
                recv(receiver) -> got => got.ok(),
                default(Duration::from_secs(10)) => None,
            }
        };
        assert_eq!(choose().await, None);
        assert!(start.elapsed() >= Duration::from_secs(10));
        // Nothing is left at the channel.
        assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
        let start = Instant::now();
        let (chosen, sent) = trefoil::join!(choose(), async {
            trefoil::time::sleep(Duration::from_secs(9)).await;
            sender.try_send(2)
        });
        assert_eq!((chosen, sent), (Some(2), Ok(())));
        assert!(start.elapsed() < Duration::from_secs(10));
    });
}

#[test]
fn handlers_belong_to_the_code_around_them() {
    async fn sum(receiver: &Receiver<u32>, stop: &Receiver<()>) -> Result<u32, RecvError> {
        let mut sum = 0;
        loop {
            select! {
                biased;
                recv(receiver) -> got => {
                    let got = got?;
                    if got == 0 {
                        continue;
                    }
                    yield_now().await;
                    sum += got;
                }
                recv(stop) -> _ => break,
            }
        }
        Ok(sum)
    }
    current_thread().block_on(async {
        let (sender, receiver) = mpmc::unbounded();
        let (stop, stopped) = mpmc::bounded(1);
        for n in [1, 0, 2] {
            sender.try_send(n).unwrap();
        }
        stop.try_send(()).unwrap();
        assert_eq!(sum(&receiver, &stopped).await, Ok(3));
        drop(sender);
        assert_eq!(sum(&receiver, &stopped).await, Err(RecvError));
        // A handler may have the channel to itself; and a channel may be any expression.
        let mut receiver = Some(receiver);
        select! {
            recv(receiver.as_ref().unwrap()) -> got => {
                assert!(got.is_err());
                drop(receiver.take());
            }
        }
        assert!(receiver.is_none());
        let (sender, receiver) = mpmc::bounded(1);
        let item = String::from("moved");
        select! { send(sender.clone(), item) -> sent => sent.unwrap() }
        assert_eq!(receiver.try_recv().unwrap(), "moved");
    });
}

#[test]
fn two_arms_never_both_happen() {
    let (to_a, a) = mpmc::bounded(0);
    let (to_b, b) = mpmc::bounded(0);
    let (c, from_c) = mpmc::bounded(0);
    let choose = || async {
        select! {
            recv(a) -> got => got.unwrap(),
            recv(b) -> got => got.unwrap(),
            send(c, "unsent") -> sent => { sent.unwrap(); "sent" }
        }
    };
    let mut chosen = by_hand(choose());
    assert!(chosen.is_pending());
    to_b.try_send("b").unwrap();
    // It is claimed, and nobody else finds it.
    assert_eq!(to_a.try_send("a"), Err(TrySendError::Full("a")));
    assert_eq!(from_c.try_recv(), Err(TryRecvError::Empty));
    assert_eq!((chosen.wakes(), chosen.output()), (1, "b"));

    let mut chosen = by_hand(choose());
    assert!(chosen.is_pending());
    assert_eq!(from_c.try_recv(), Ok("unsent"));
    assert_eq!(to_b.try_send("b"), Err(TrySendError::Full("b")));
    assert_eq!(chosen.output(), "sent");
    // After the choice, nothing is left at any channel.
    assert_eq!(to_a.try_send("a"), Err(TrySendError::Full("a")));
    assert_eq!(from_c.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn a_stale_arm_keeps_nobody_waiting() {
    let (to_a, a) = mpmc::bounded(0);
    let (to_b, b) = mpmc::bounded(0);
    let mut selecting = by_hand(async {
        select! { recv(a) -> got => got, recv(b) -> got => got }
    });
    assert!(selecting.is_pending());
    // Behind the selector, at both channels.
    let (mut at_a, mut at_b) = (by_hand(a.recv()), by_hand(b.recv()));
    assert!(at_a.is_pending() && at_b.is_pending());
    to_a.try_send(1).unwrap();
    to_b.try_send(2).unwrap();
    assert_eq!(at_b.output(), Ok(2));
    to_a.try_send(3).unwrap();
    assert_eq!(at_a.output(), Ok(3));
    assert_eq!(selecting.output(), Ok(1));
}

/// Bound: selectors wait in the same line as all others.
#[test]
fn selectors_are_served_in_order() {
    let (sender, receiver) = mpmc::bounded(0);
    let (_idle, never) = mpmc::bounded::<usize>(0);
    let record = Record::default();
    let mut waiting: Vec<Polled<'_, Result<usize, RecvError>>> = Vec::new();
    for n in 0..100 {
        let (receiver, never) = (&receiver, &never);
        let mut future = if n % 2 == 0 {
            by_hand(receiver.recv())
        } else {
            by_hand(async move {
                select! { recv(never) -> got => got, recv(receiver) -> got => got }
            })
        };
        assert!(future.poll_with(&record.waker(n)).is_pending());
        waiting.push(future);
    }
    (0..100).for_each(|n| sender.try_send(n).unwrap());
    assert_eq!(record.take(), Vec::from_iter(0..100));
    for (n, future) in waiting.iter_mut().enumerate() {
        assert_eq!(future.output(), Ok(n));
    }
}

#[test]
fn two_arms_may_be_at_one_channel() {
    let (sender, receiver) = mpmc::bounded(0);
    // A selector does not meet itself.
    let mut selecting = by_hand(async {
        select! {
            send(sender, 1) -> sent => { sent.unwrap(); 0 }
            recv(receiver) -> got => got.unwrap(),
            recv(receiver) -> got => got.unwrap(),
        }
    });
    assert!(selecting.is_pending() && selecting.is_pending());
    sender.try_send(2).unwrap();
    assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(selecting.output(), 2);
}

#[test]
fn two_selectors_meet_at_one_channel() {
    for first in 0..2 {
        let (a, from_a) = mpmc::bounded(0);
        let (b, from_b) = mpmc::bounded(0);
        let mut sides = [
            by_hand(async {
                select! { send(a, 'a') -> sent => { sent.unwrap(); 'a' } recv(from_b) -> got => got.unwrap() }
            }),
            by_hand(async {
                select! { send(b, 'b') -> sent => { sent.unwrap(); 'b' } recv(from_a) -> got => got.unwrap() }
            }),
        ];
        assert!(sides[first].is_pending());
        let second = sides[1 - first].output();
        assert_eq!((sides[first].wakes(), sides[first].output()), (1, second));
    }
}

#[test]
fn a_selector_that_is_dropped_gives_back_what_it_was_given() {
    for polls in 0..3 {
        let (sender, receiver) = mpmc::bounded(1);
        let (other, never) = mpmc::bounded(0);
        let mut selecting = by_hand(async {
            select! { recv(never) -> got => got, recv(receiver) -> got => got, send(other, 5) -> _ => Ok(0) }
        });
        for _ in 0..polls {
            assert!(selecting.is_pending());
        }
        sender.try_send(1).unwrap();
        drop(selecting);
        assert_eq!((receiver.try_recv(), never.try_recv()), (Ok(1), Err(TryRecvError::Empty)));
        assert_eq!(other.try_send(2), Err(TrySendError::Full(2)));
    }
}

#[test]
fn a_new_waker_replaces_the_old_one() {
    let (sender, receiver) = mpmc::bounded(0);
    let (_idle, never) = mpmc::bounded::<u8>(0);
    let record = Record::default();
    let mut selecting = by_hand(async {
        select! { recv(never) -> got => got, recv(receiver) -> got => got }
    });
    assert!(selecting.poll_with(&record.waker("old")).is_pending());
    assert!(selecting.poll_with(&record.waker("new")).is_pending());
    sender.try_send(1).unwrap();
    assert_eq!(record.take(), ["new"]);
}

/// What a selector has done.
#[derive(Debug)]
enum Deed {
    Got(usize),
    GotNothing,
    Sent,
    NotSent,
}

type Channels = Arc<Vec<(Sender<usize>, Receiver<usize>)>>;

/// Whether an arm sends, and at which channel.
type Arms = [(bool, usize); 3];

fn selector(channels: Channels, arms: Arms, item: usize) -> Polled<'static, Deed> {
    by_hand(async move {
        let places = arms.map(|(_, n)| &channels[n]);
        let got = |got: Result<usize, RecvError>| got.map_or(Deed::GotNothing, Deed::Got);
        let sent = |sent: Result<(), SendError<usize>>| sent.map_or(Deed::NotSent, |()| Deed::Sent);
        match arms.map(|(is_send, _)| is_send) {
            [true, true, _] => select! {
                send(places[0].0, item) -> it => sent(it),
                send(places[1].0, item) -> it => sent(it),
                recv(places[2].1) -> it => got(it),
            },
            [true, false, _] => select! {
                send(places[0].0, item) -> it => sent(it),
                recv(places[1].1) -> it => got(it),
                recv(places[2].1) -> it => got(it),
            },
            [false, true, _] => select! {
                recv(places[0].1) -> it => got(it),
                send(places[1].0, item) -> it => sent(it),
                recv(places[2].1) -> it => got(it),
            },
            [false, false, _] => select! {
                recv(places[0].1) -> it => got(it),
                recv(places[1].1) -> it => got(it),
                recv(places[2].1) -> it => got(it),
            },
        }
    })
}

/// Random selectors at few channels, some of which are dropped. After each step: items that were
/// sent are received once or still there, and no two wait that could meet.
#[test]
fn what_is_sent_is_received_once_and_nobody_waits_in_vain() {
    for seed in 0..300 {
        let mut rng = Rng(seed);
        let capacities = [0, 1, 2, 0].map(|capacity| capacity * rng.below(2));
        let channels: Channels = Arc::new(capacities.map(mpmc::bounded).into());
        // For each item that was sent: where, and whether it was received.
        let mut fates: HashMap<usize, bool> = HashMap::new();
        let mut waiting: Vec<(Arms, usize, Polled<'static, Deed>)> = Vec::new();
        let mut note = |deed: Deed, item: usize| match deed {
            Deed::Got(item) => {
                let was_received = fates.insert(item, true).unwrap_or(false);
                assert!(!was_received, "{item} was received twice");
            }
            Deed::Sent => {
                fates.entry(item).or_insert(false);
            }
            Deed::GotNothing | Deed::NotSent => panic!("no channel is closed"),
        };
        for step in 0..150 {
            let channel = rng.below(4);
            match rng.below(6) {
                0 if channels[channel].0.try_send(step).is_ok() => note(Deed::Sent, step),
                1 => {
                    if let Ok(item) = channels[channel].1.try_recv() {
                        note(Deed::Got(item), step);
                    }
                }
                2 | 3 => {
                    let arms = [0, 1, 2].map(|n| (n < 2 && rng.once_in(2), rng.below(4)));
                    let mut selecting = selector(Arc::clone(&channels), arms, step);
                    match selecting.poll() {
                        Poll::Ready(deed) => note(deed, step),
                        Poll::Pending => waiting.push((arms, step, selecting)),
                    }
                }
                4 if !waiting.is_empty() => {
                    let (arms, item, mut selecting) = waiting.swap_remove(rng.below(waiting.len()));
                    let is_woken = selecting.is_woken();
                    let polled = selecting.poll();
                    assert_eq!(polled.is_ready(), is_woken);
                    match polled {
                        Poll::Ready(deed) => note(deed, item),
                        Poll::Pending => waiting.push((arms, item, selecting)),
                    }
                }
                5 if rng.once_in(3) && !waiting.is_empty() => {
                    drop(waiting.swap_remove(rng.below(waiting.len())));
                }
                _ => {}
            }
        }
        // The rest is polled to its end, or waits with nobody to meet.
        let mut left = Vec::new();
        for (arms, item, mut selecting) in waiting {
            match selecting.poll() {
                Poll::Ready(deed) => note(deed, item),
                Poll::Pending => left.push((arms, selecting)),
            }
        }
        for (n, (arms, _)) in left.iter().enumerate() {
            for &(is_send, channel) in arms {
                let others = left.iter().enumerate().filter(|&(other, _)| other != n);
                let could_meet = others
                    .flat_map(|(_, (arms, _))| arms)
                    .any(|&(sends, there)| there == channel && sends != is_send);
                assert!(!could_meet, "seed {seed}: two wait for each other at {channel}");
                if !is_send {
                    assert!(
                        channels[channel].1.is_empty(),
                        "seed {seed}: an item waits for one that waits"
                    );
                }
            }
        }
        drop(left);
        for (_, receiver) in channels.iter() {
            for item in receiver.try_iter() {
                note(Deed::Got(item), 0);
            }
        }
        // An item of a selector that was dropped may have been sent before.
        assert!(
            fates.iter().all(|(_, was_received)| *was_received),
            "seed {seed}: an item is lost"
        );
    }
}

/// Selectors on several threads, which give up at random.
#[test]
fn a_storm_of_selectors_loses_no_item() {
    const EACH: u64 = 1500;
    for capacity in [0, 2] {
        for runtime in current_and_multi([2, 4]) {
            let channels = [(); 3].map(|()| mpmc::bounded::<u64>(capacity));
            let (sent, received) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
            runtime.block_on(async {
                let mut tasks = JoinSet::new();
                for seed in 0..4 {
                    let [(a, _), (b, _), (c, _)] = channels.clone();
                    let sent = Arc::clone(&sent);
                    tasks.spawn(async move {
                        for n in seed * EACH..(seed + 1) * EACH {
                            select! {
                                send(a, n) -> it => it.unwrap(),
                                send(b, n) -> it => it.unwrap(),
                                send(c, n) -> it => it.unwrap(),
                            }
                            sent.fetch_add(n, SeqCst);
                        }
                    });
                    let [(_, a), (_, b), (_, c)] = channels.clone();
                    let received = Arc::clone(&received);
                    tasks.spawn(async move {
                        let mut rng = Rng(seed);
                        loop {
                            let patience = rng.below(4);
                            let got = trefoil::select! {
                                biased;
                                got = async {
                                    select! {
                                        recv(a) -> got => got,
                                        recv(b) -> got => got,
                                        recv(c) -> got => got,
                                        default(Duration::from_secs(60)) => panic!("a minute"),
                                    }
                                } => got,
                                () = async { for _ in 0..patience { yield_now().await } } => continue,
                            };
                            let Ok(n) = got else { break };
                            received.fetch_add(n, SeqCst);
                        }
                        // What the other channels still hold.
                        for receiver in [a, b, c] {
                            while let Ok(n) = receiver.recv().await {
                                received.fetch_add(n, SeqCst);
                            }
                        }
                    });
                }
                drop(channels);
                while let Some(done) = timeout(WATCHDOG, tasks.join_next()).await.expect("no hang")
                {
                    done.unwrap();
                }
            });
            let all = (0..4 * EACH).sum::<u64>();
            assert_eq!((sent.load(SeqCst), received.load(SeqCst)), (all, all));
        }
    }
}

#[test]
fn selectors_are_send() {
    fn send<T: Send>(value: T) -> T {
        value
    }
    let (sender, receiver) = mpmc::bounded(1);
    now(send(async {
        select! {
            send(sender, std::cell::Cell::new(1)) -> sent => sent.unwrap(),
            recv(receiver) -> _ => unreachable!(),
        }
    }));
    assert_eq!(receiver.try_recv().unwrap().get(), 1);
}

/// By parts of the macro's expansion, which are not public API, and yet must not be unsound.
#[test]
fn an_arm_is_for_one_selector() {
    use mpmc::support::{AnyArm, Patience, recv, select};
    let (sender, receiver) = mpmc::bounded(1);
    {
        let mut arm = pin!(recv(&receiver));
        let mut first = Box::pin(select([arm.as_mut().arm()], true, Patience::Endless));
        assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        std::mem::forget(first);
        // The arm still waits.
        let second = || drop(select([arm.as_mut().arm()], true, Patience::Endless));
        assert!(catch_unwind(AssertUnwindSafe(second)).is_err());
    }
    sender.try_send(1).unwrap();
    assert_eq!(receiver.try_recv(), Ok(1));
}
