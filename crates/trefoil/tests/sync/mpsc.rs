//! Channels of many senders and one receiver, bounded and unbounded.

use crate::polls::{Wakes, panic_of, poll_once, poll_with};
use crate::support::Alive;
use crate::support::by_hand::turns_of_others;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use trefoil::runtime::{Builder, Runtime};
use trefoil::sync::mpsc::error::{SendError, TryRecvError, TrySendError};
use trefoil::sync::mpsc::{self, UnboundedReceiver};
use trefoil::task;

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn messages_arrive_in_order_and_then_the_end() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    // More than fits into the blocks of any size.
    for n in 0..1000 {
        sender.send(n).unwrap();
        assert_eq!(receiver.len(), n + 1);
    }
    for n in 0..1000 {
        assert!(!receiver.is_empty());
        assert_eq!(receiver.try_recv(), Ok(n));
    }
    assert!(receiver.is_empty());
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    sender.send(7).unwrap();
    assert!(!receiver.is_closed());
    drop(sender);
    assert!(receiver.is_closed());
    assert_eq!(receiver.blocking_recv(), Some(7));
    assert_eq!(receiver.blocking_recv(), None);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn a_queue_that_is_emptied_now_and_then_loses_nothing() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let (mut sent, mut received) = (0u32, 0u32);
    for round in 0..2000u32 {
        for _ in 0..round % 97 {
            sender.send(sent).unwrap();
            sent += 1;
        }
        for _ in 0..(round * 7) % 101 {
            match receiver.try_recv() {
                Ok(n) => {
                    assert_eq!(n, received);
                    received += 1;
                }
                Err(_) => assert_eq!(sent, received),
            }
        }
        assert_eq!(receiver.len(), (sent - received) as usize);
    }
    assert!(received > 50_000);
}

#[test]
fn messages_of_all_sizes() {
    fn check<T: PartialEq + std::fmt::Debug>(make: impl Fn(u8) -> T) {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        for round in 0..3 {
            for n in 0..=255u8 {
                sender.send(make(n.wrapping_add(round))).unwrap();
            }
            for n in 0..=255u8 {
                assert_eq!(receiver.try_recv().unwrap(), make(n.wrapping_add(round)));
            }
        }
    }
    #[derive(Debug, PartialEq)]
    #[repr(align(256))]
    struct Aligned(u8);
    check(|_| ());
    check(|n| n);
    check(|n| [u64::from(n); 100]);
    check(Box::new);
    check(Aligned);
    check(|n| (n, u128::from(n)));
}

#[test]
fn a_closed_receiver_gets_what_was_sent_before() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    sender.send(1).unwrap();
    receiver.close();
    assert!(receiver.is_closed() && sender.is_closed());
    assert_eq!(sender.send(2), Err(SendError(2)));
    assert_eq!(receiver.len(), 1);
    assert_eq!(receiver.blocking_recv(), Some(1));
    assert_eq!(receiver.blocking_recv(), None);

    let (sender, mut receiver) = mpsc::channel(4);
    sender.try_send(1).unwrap();
    let permit = sender.try_reserve().unwrap();
    let unused = sender.try_reserve().unwrap();
    receiver.close();
    assert_eq!(sender.try_send(2), Err(TrySendError::Closed(2)));
    assert_eq!(receiver.try_recv(), Ok(1));
    // The permits may still be used.
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    permit.send(3);
    assert_eq!(receiver.try_recv(), Ok(3));
    let wakes = Arc::new(Wakes::default());
    {
        let mut recv = pin!(receiver.recv());
        assert!(poll_with(recv.as_mut(), &wakes).is_pending());
        drop(unused);
        assert_eq!(wakes.get(), 1);
        assert_eq!(poll_with(recv.as_mut(), &wakes), Poll::Ready(None));
    }
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn a_dropped_receiver_drops_its_messages_and_refuses_more() {
    let count = Arc::new(AtomicUsize::new(0));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    for _ in 0..100 {
        assert!(sender.send(Alive::new(&count)).is_ok());
    }
    for _ in 0..10 {
        drop(receiver.try_recv());
    }
    assert_eq!(count.load(SeqCst), 90);
    drop(receiver);
    assert_eq!(count.load(SeqCst), 0);
    assert!(sender.send(Alive::new(&count)).is_err());
    assert_eq!(count.load(SeqCst), 0);

    // A permit that is used too late: the message is dropped at once.
    let (sender, receiver) = mpsc::channel(1);
    let permit = sender.try_reserve().unwrap();
    drop(receiver);
    permit.send(Alive::new(&count));
    assert_eq!(count.load(SeqCst), 0);
}

#[test]
fn a_message_that_holds_its_own_channel_is_no_cycle() {
    let count = Arc::new(AtomicUsize::new(0));
    struct Cycle {
        _content: Box<dyn std::any::Any + Send>,
    }
    let (sender, receiver) = mpsc::unbounded_channel::<Cycle>();
    sender.send(Cycle { _content: Box::new((sender.clone(), Alive::new(&count))) }).ok().unwrap();
    drop(sender);
    assert_eq!(count.load(SeqCst), 1);
    drop(receiver);
    assert_eq!(count.load(SeqCst), 0);
}

#[test]
fn a_destructor_that_panics_does_not_keep_the_other_messages() {
    struct Bomb {
        goes_off: bool,
        _alive: Alive,
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.goes_off, "the bomb");
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::unbounded_channel();
    for n in 0..100 {
        let bomb = Bomb { goes_off: n == 50, _alive: Alive::new(&count) };
        assert!(sender.send(bomb).is_ok());
    }
    assert_eq!(panic_of(|| drop(receiver)), "the bomb");
    assert_eq!(count.load(SeqCst), 0);
    assert!(sender.is_closed());
}

#[test]
fn a_receive_that_is_dropped_at_any_poll_loses_nothing() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let wakes = Arc::new(Wakes::default());
    let mut expected = 0;
    for polls in 0..200 {
        {
            let mut recv = pin!(receiver.recv());
            for _ in 0..polls % 4 {
                assert!(poll_with(recv.as_mut(), &wakes).is_pending());
            }
            sender.send(polls).unwrap();
            // Woken, and dropped without a further poll.
        }
        if polls % 3 == 0 {
            while let Ok(n) = receiver.try_recv() {
                assert_eq!(n, expected);
                expected += 1;
            }
        } else {
            let mut buffer = Vec::new();
            assert_eq!(poll_once(pin!(receiver.recv_many(&mut buffer, 0))), Poll::Ready(0));
            assert_eq!(poll_once(pin!(receiver.recv_many(&mut buffer, 100))), Poll::Ready(1));
            assert_eq!(buffer, [expected]);
            expected += 1;
        }
    }
    assert_eq!(expected, 200);
}

#[test]
fn only_the_last_waker_is_woken_and_only_if_it_waits() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let (first, last) = (Arc::new(Wakes::default()), Arc::new(Wakes::default()));
    {
        let mut recv = pin!(receiver.recv());
        assert!(poll_with(recv.as_mut(), &first).is_pending());
        assert!(poll_with(recv.as_mut(), &last).is_pending());
        sender.send(1).unwrap();
        assert_eq!((first.get(), last.get()), (0, 1));
        sender.send(2).unwrap();
        assert_eq!((first.get(), last.get()), (0, 1));
        assert_eq!(poll_with(recv.as_mut(), &last), Poll::Ready(Some(1)));
    }
    assert_eq!(receiver.try_recv(), Ok(2));
    sender.send(3).unwrap();
    assert_eq!((first.get(), last.get()), (0, 1));
}

#[test]
fn a_waker_that_panics_harms_nobody_else() {
    struct Angry;
    impl Wake for Angry {
        fn wake(self: Arc<Self>) {
            panic!("angry");
        }
    }
    let (sender, mut receiver) = mpsc::unbounded_channel();
    {
        let waker = Waker::from(Arc::new(Angry));
        let mut recv = pin!(receiver.recv());
        assert!(recv.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        // The message is sent all the same.
        assert_eq!(panic_of(|| _ = sender.send(1)), "angry");
        assert!(recv.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }
    {
        let waker = Waker::from(Arc::new(Angry));
        let mut recv = pin!(receiver.recv());
        assert!(recv.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        // A drop does not panic.
        drop(sender);
    }
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn weak_senders_do_not_keep_the_channel_open() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let weak = sender.downgrade();
    let also = weak.clone();
    assert_eq!((sender.strong_count(), sender.weak_count()), (1, 2));
    let upgraded = weak.upgrade().unwrap();
    assert!(upgraded.same_channel(&sender));
    assert_eq!((receiver.sender_strong_count(), receiver.sender_weak_count()), (2, 2));
    drop(sender);
    upgraded.send(1).unwrap();
    drop((upgraded, also));
    assert!(weak.upgrade().is_none());
    assert_eq!((weak.strong_count(), weak.weak_count()), (0, 1));
    assert_eq!(receiver.blocking_recv(), Some(1));
    assert_eq!(receiver.blocking_recv(), None);

    let (sender, receiver) = mpsc::channel::<()>(1);
    let weak = sender.downgrade();
    assert!(weak.upgrade().unwrap().same_channel(&sender));
    assert_eq!((receiver.sender_strong_count(), receiver.sender_weak_count()), (1, 1));
    drop(sender);
    assert!(weak.clone().upgrade().is_none() && receiver.is_closed());
}

#[test]
fn threads_that_block() {
    let (sender, mut receiver) = mpsc::channel(1);
    let sending = std::thread::spawn(move || {
        for n in 0..1000 {
            sender.blocking_send(n).unwrap();
        }
    });
    for n in 0..1000 {
        assert_eq!(receiver.blocking_recv(), Some(n));
    }
    sending.join().unwrap();
    assert_eq!(receiver.blocking_recv(), None);
}

#[test]
fn blocking_in_asynchronous_code_panics() {
    let (sender, mut receiver) = mpsc::channel(1);
    let (_unbounded, mut other) = mpsc::unbounded_channel::<u32>();
    current_thread().block_on(async {
        let text = "Cannot block the current thread";
        assert!(panic_of(|| _ = sender.blocking_send(1)).contains(text));
        assert!(panic_of(|| _ = receiver.blocking_recv()).contains(text));
        assert!(panic_of(|| _ = receiver.blocking_recv_many(&mut vec![], 1)).contains(text));
        assert!(panic_of(|| _ = other.blocking_recv()).contains(text));
        assert!(panic_of(|| _ = other.blocking_recv_many(&mut vec![], 1)).contains(text));
    });
    // Nothing was sent or received.
    assert_eq!(sender.capacity(), 1);
}

/// The largest number of messages that a task received or sent while a task beside it had no turn.
fn longest_run(runtime: Runtime, messages: usize, bounded: bool) -> usize {
    let (turns, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (its, end) = (Arc::clone(&turns), Arc::clone(&done));
    runtime.block_on(async move {
        let sibling = trefoil::spawn(async move {
            while end.load(SeqCst) == 0 {
                its.fetch_add(1, SeqCst);
                task::yield_now().await;
            }
        });
        let worker = trefoil::spawn(async move {
            // The sibling is queued by now, or runs.
            while turns.load(SeqCst) == 0 {
                task::yield_now().await;
            }
            let (mut longest, mut run, mut before) = (0, 0, turns.load(SeqCst));
            let mut count = || {
                let now = turns.load(SeqCst);
                run = if now == before { run + 1 } else { 1 };
                before = now;
                longest = longest.max(run);
            };
            if bounded {
                let (sender, _receiver) = mpsc::channel(messages);
                for n in 0..messages {
                    sender.send(n).await.unwrap();
                    count();
                }
            } else {
                let (sender, mut receiver) = mpsc::unbounded_channel();
                for n in 0..messages {
                    sender.send(n).unwrap();
                }
                for _ in 0..messages {
                    receiver.recv().await.unwrap();
                    count();
                }
            }
            done.store(1, SeqCst);
            longest
        });
        let longest = worker.await.unwrap();
        sibling.await.unwrap();
        longest
    })
}

#[test]
fn a_task_that_drains_a_million_messages_lets_a_sibling_run() {
    // The budget of one poll.
    assert!(longest_run(current_thread(), 1_000_000, false) <= 128);
    assert!(longest_run(current_thread(), 10_000, true) <= 128);
    // A worker may poll a task that has spent its budget up to three times more.
    let one_worker = || Builder::new_multi_thread().worker_threads(1).build().unwrap();
    assert!(longest_run(one_worker(), 1_000_000, false) <= 4 * 128);
    assert!(longest_run(one_worker(), 10_000, true) <= 4 * 128);
}

async fn receive_in_order(
    mut receiver: UnboundedReceiver<(usize, usize)>,
    senders: usize,
) -> usize {
    let (mut next, mut received) = (vec![0; senders], 0);
    while let Some((sender, n)) = receiver.recv().await {
        assert_eq!(n, next[sender]);
        next[sender] += 1;
        received += 1;
    }
    received
}

#[test]
fn many_senders_on_all_workers() {
    const SENDERS: usize = 8;
    const MESSAGES: usize = 20_000;
    let runtime = Builder::new_multi_thread().worker_threads(4).build().unwrap();
    let received = runtime.block_on(async {
        let (sender, receiver) = mpsc::unbounded_channel();
        for id in 0..SENDERS {
            let sender = sender.clone();
            trefoil::spawn(async move {
                for n in 0..MESSAGES {
                    sender.send((id, n)).unwrap();
                    if n % 1000 == 0 {
                        task::yield_now().await;
                    }
                }
            });
        }
        drop(sender);
        trefoil::spawn(receive_in_order(receiver, SENDERS)).await.unwrap()
    });
    assert_eq!(received, SENDERS * MESSAGES);
}

/// Receivers come and go while senders send: every message is received, returned or dropped.
#[test]
fn closing_against_many_senders_loses_no_message() {
    const SENDERS: usize = 3;
    let count = Arc::new(AtomicUsize::new(0));
    for round in 0..60 {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let threads: Vec<_> = (0..SENDERS)
            .map(|_| {
                let (sender, count) = (sender.clone(), Arc::clone(&count));
                std::thread::spawn(move || {
                    let mut sent = 0;
                    while sender.send(Alive::new(&count)).is_ok() {
                        sent += 1;
                    }
                    sent
                })
            })
            .collect();
        let mut received = 0;
        for _ in 0..round {
            received += usize::from(receiver.blocking_recv().is_some());
        }
        receiver.close();
        if round % 2 == 0 {
            while receiver.blocking_recv().is_some() {
                received += 1;
            }
            let sent: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!(sent, received);
        } else {
            drop(receiver);
            threads.into_iter().for_each(|thread| _ = thread.join().unwrap());
        }
        assert_eq!(count.load(SeqCst), 0);
    }
}

#[test]
fn the_types_are_as_free_as_their_messages() {
    fn free<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    // A cell is neither `Sync` nor safe to look at after a panic; a channel is.
    type Cell = std::cell::Cell<u32>;
    free::<mpsc::UnboundedSender<Cell>>();
    free::<mpsc::UnboundedReceiver<Cell>>();
    free::<mpsc::WeakUnboundedSender<Cell>>();
    free::<mpsc::Sender<Cell>>();
    free::<mpsc::Receiver<Cell>>();
    free::<mpsc::WeakSender<Cell>>();
    free::<mpsc::OwnedPermit<Cell>>();
}

/// Two implementations fit a type that is `Unpin`, and the call of `check` does not compile then.
trait MustNotBeUnpin<A> {
    fn check(&self) {}
}

impl<T> MustNotBeUnpin<()> for T {}
impl<T: Unpin> MustNotBeUnpin<u8> for T {}

/// As with tokio, so that nobody relies on more than an `async fn` has.
#[test]
fn futures_that_receive_are_to_be_pinned() {
    let (_sender, mut receiver) = mpsc::channel::<u8>(1);
    receiver.recv().check();
    receiver.recv_many(&mut Vec::new(), 1).check();
    let (_sender, mut receiver) = mpsc::unbounded_channel::<u8>();
    receiver.recv().check();
    receiver.recv_many(&mut Vec::new(), 1).check();
}

#[test]
fn polls_of_many() {
    let (sender, mut receiver) = mpsc::channel(8);
    for n in 0..5 {
        sender.try_send(n).unwrap();
    }
    let mut buffer = vec![9];
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(receiver.poll_recv_many(&mut cx, &mut buffer, 3), Poll::Ready(3));
    assert_eq!(sender.capacity(), 6);
    assert_eq!(receiver.poll_recv_many(&mut cx, &mut buffer, 3), Poll::Ready(2));
    assert_eq!(buffer, [9, 0, 1, 2, 3, 4]);
    assert!(receiver.poll_recv_many(&mut cx, &mut buffer, 3).is_pending());
    assert!(poll_once(pin!(poll_fn(|cx| receiver.poll_recv(cx)))).is_pending());
    drop(sender);
    assert_eq!(receiver.poll_recv_many(&mut cx, &mut buffer, 3), Poll::Ready(0));
}

#[test]
fn debug_output_and_errors_do_not_need_the_message_to_have_any() {
    struct Mute;
    let (sender, receiver) = mpsc::channel::<Mute>(2);
    assert_eq!(format!("{receiver:?}"), "Receiver { len: 0, closed: false, .. }");
    assert!(format!("{sender:?}").starts_with("Sender { capacity: 2"));
    assert_eq!(format!("{:?}", sender.try_reserve().unwrap()), "Permit { .. }");
    drop(receiver);
    let error = sender.try_send(Mute).unwrap_err();
    assert_eq!(
        (format!("{error:?}"), error.to_string().as_str()),
        ("Closed(..)".into(), "the channel is closed")
    );
    assert!(matches!(TrySendError::from(SendError(1)).into_inner(), 1));
    assert_eq!(format!("{:?}", SendError(Mute)), "SendError { .. }");
}

#[test]
fn what_is_always_there_leaves_others_their_turn() {
    let many = turns_of_others(async {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        (0..1000).for_each(|n| sender.send(n).unwrap());
        for n in 0..1000 {
            let mut messages = Vec::new();
            assert_eq!(receiver.recv_many(&mut messages, 1).await, 1);
            assert_eq!(messages, [n]);
        }
    });
    let none = turns_of_others(async {
        let (_sender, mut receiver) = mpsc::channel::<()>(1);
        for _ in 0..1000 {
            assert_eq!(receiver.recv_many(&mut Vec::new(), 0).await, 0);
        }
    });
    let ends = turns_of_others(async {
        let (_, mut receiver) = mpsc::channel::<()>(1);
        for _ in 0..1000 {
            assert_eq!(receiver.recv().await, None);
        }
    });
    let closed = turns_of_others(async {
        let (sender, _) = mpsc::channel::<()>(1);
        for _ in 0..1000 {
            sender.closed().await;
        }
    });
    assert_eq!((many, none, ends, closed), (7, 7, 7, 7));
}
