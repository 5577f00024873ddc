//! Actors: messages, and ends.

#![cfg(not(loom))]

use crate::support::actors::{SetOnDrop, assert_panic, each, idle, lent};
use crate::support::{current_thread, multi};
use std::error::Error;
use std::fmt;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::time::Duration;
use trefoil::actor::error::{Exited, LookupError, NoActor, TrySendError};
use trefoil::actor::{self, Builder, Context, Event, ExitReason, Pid};
use trefoil::sync::oneshot;
use trefoil::task;
use trefoil::time::timeout;

// Messages.

#[test]
fn a_selective_receive_leaves_the_others_in_order() {
    each(|| async {
        let actor = actor::spawn(async |mut own: Context<u32>| {
            assert_eq!(own.receive_where(|n| *n == 40).await, Ok(40));
            assert_eq!(own.receive_where(|n| *n > 10).await, Ok(20));
            for n in [1, 2, 30] {
                assert_eq!(own.receive().await, Ok(n));
            }
        });
        for n in [1, 2, 20, 30] {
            actor.send(n).await.unwrap();
        }
        // The actor may look at the others before, and goes on looking when this one comes.
        task::yield_now().await;
        actor.send(40).await.unwrap();
        assert!(actor.join().await.is_normal());
    });
}

#[test]
fn each_event_is_looked_at_once_by_a_receive() {
    current_thread().block_on(async {
        let mut own = lent::<u32>().await;
        let address = own.address();
        let looks = AtomicUsize::new(0);
        let mut receive = Box::pin(own.receive_where(|n| {
            looks.fetch_add(1, SeqCst);
            *n == 9
        }));
        for n in 0..9 {
            address.send(n).await.unwrap();
            poll_fn(|cx| {
                assert!(receive.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
        }
        address.send(9).await.unwrap();
        assert_eq!(receive.await, Ok(9));
        assert_eq!(looks.load(SeqCst), 10);
    });
}

#[test]
fn a_time_limit_of_zero_finds_what_is_there() {
    current_thread().block_on(async {
        let mut own = lent::<u32>().await;
        own.address().send(1).await.unwrap();
        assert!(timeout(Duration::ZERO, own.receive_where(|n| *n == 2)).await.is_err());
        assert_eq!(timeout(Duration::ZERO, own.receive()).await, Ok(Ok(1)));
        assert!(timeout(Duration::ZERO, own.receive()).await.is_err());
    });
}

#[test]
fn a_receive_that_is_dropped_has_taken_nothing() {
    each(|| async {
        let mut own = lent::<u32>().await;
        let address = own.address();
        for n in 0..100 {
            let _ = timeout(Duration::ZERO, own.receive_where(|_| false)).await;
            address.send(n).await.unwrap();
            let _ = timeout(Duration::ZERO, own.receive_where(|_| false)).await;
        }
        for n in 0..100 {
            assert_eq!(own.receive().await, Ok(n));
        }
    });
}

#[test]
fn receive_leaves_signals_and_next_takes_them() {
    each(|| async {
        let mut own = lent::<u32>().await;
        own.trap_exit(true);
        let address = own.address();
        assert!(address.exit(ExitReason::Normal));
        address.send(1).await.unwrap();
        assert_eq!(own.receive().await, Ok(1));
        let Ok(Event::Exit { from: None, reason: ExitReason::Normal }) = own.next().await else {
            panic!("the signal was lost");
        };
        assert!(own.try_next().unwrap().is_none());
    });
}

#[test]
fn a_message_to_the_dead_comes_back() {
    each(|| async {
        let actor = idle();
        actor.abort();
        actor.join().await;
        assert_eq!(actor.send(7).await.unwrap_err().0, 7);
        let Err(TrySendError::NoActor(8)) = actor.try_send(8) else { panic!("it was sent") };
        assert!(!actor.is_alive());
        assert!(!actor.exit(ExitReason::Shutdown));
        // Once more does nothing.
        actor.abort();

        let full = Builder::new().capacity(1).spawn(async |_own: Context<u32>| {
            pending::<()>().await;
        });
        full.try_send(1).unwrap();
        let waits = trefoil::spawn({
            let full = full.clone();
            async move { full.send(2).await.unwrap_err().0 }
        });
        task::yield_now().await;
        full.abort();
        assert_eq!(waits.await.unwrap(), 2);
        let Err(TrySendError::NoActor(3)) = full.try_send(3) else { panic!("it was sent") };
    });
}

#[test]
fn a_receive_of_the_dead_is_an_error() {
    each(|| async {
        let mut own = lent::<u32>().await;
        let address = own.address();
        address.send(1).await.unwrap();
        address.send(2).await.unwrap();
        // It has taken both over.
        assert_eq!(own.receive().await, Ok(1));
        address.abort();
        address.join().await;
        assert_eq!(own.receive().await, Err(Exited));
        assert!(matches!(own.next().await, Err(Exited)));
        assert!(matches!(own.try_next(), Err(Exited)));
        // None of these does anything.
        own.trap_exit(true);
        let other = idle();
        own.link(&other);
        let monitor = own.monitor(&other);
        own.demonitor(monitor);
        own.unlink(&other);
        other.abort();
        other.join().await;
    });
}

#[test]
fn a_receive_that_waits_ends_with_its_actor() {
    each(|| async {
        let mut own = lent::<u32>().await;
        let address = own.address();
        let receiving = trefoil::spawn(async move { own.receive().await });
        task::yield_now().await;
        address.abort();
        assert_eq!(receiving.await.unwrap(), Err(Exited));
    });
}

#[test]
fn a_bounded_mailbox_lets_senders_wait_in_order() {
    current_thread().block_on(async {
        let (lend, borrowed) = oneshot::channel();
        let actor = Builder::new().capacity(2).spawn(async |own: Context<u32>| {
            assert!(lend.send(own).is_ok());
            pending::<()>().await;
        });
        let mut own = borrowed.await.unwrap();
        actor.try_send(0).unwrap();
        actor.try_send(1).unwrap();
        let Err(TrySendError::Full(9)) = actor.try_send(9) else { panic!("it was sent") };
        let sent = Arc::new(AtomicUsize::new(0));
        for n in 2..6 {
            let (actor, sent) = (actor.clone(), sent.clone());
            trefoil::spawn(async move {
                actor.send(n).await.unwrap();
                sent.fetch_add(1, SeqCst);
            });
        }
        for _ in 0..10 {
            task::yield_now().await;
        }
        assert_eq!(sent.load(SeqCst), 0);
        // What was looked at and left keeps its room.
        assert!(timeout(Duration::ZERO, own.receive_where(|n| *n > 1)).await.is_err());
        for _ in 0..10 {
            task::yield_now().await;
        }
        assert_eq!(sent.load(SeqCst), 0);
        // Signals need no room.
        own.trap_exit(true);
        actor.exit(ExitReason::Normal);
        assert!(own.next_where(|event| !matches!(event, Event::Message(_))).await.is_ok());
        for n in 0..6 {
            assert_eq!(own.receive().await, Ok(n));
        }
        assert_eq!(sent.load(SeqCst), 4);
    });
}

#[test]
#[should_panic(expected = "needs room for a message")]
fn a_mailbox_without_room_is_refused() {
    let _ = Builder::new().capacity(0);
}

/// An actor whose mailbox is never empty leaves others their turn.
#[test]
fn receiving_spends_the_budget() {
    current_thread().block_on(async {
        let ran = Arc::new(AtomicBool::new(false));
        let its = ran.clone();
        let actor = actor::spawn(async move |mut own: Context<()>| {
            let address = own.address();
            address.send(()).await.unwrap();
            while !its.load(SeqCst) {
                own.receive().await.unwrap();
                address.send(()).await.unwrap();
            }
        });
        trefoil::spawn(async move { ran.store(true, SeqCst) });
        assert!(actor.join().await.is_normal());
    });
}

#[test]
fn an_actor_without_its_context_gets_nothing() {
    each(|| async {
        let (go, gone) = oneshot::channel::<()>();
        let actor = actor::spawn(async move |mut own: Context<u32>| {
            own.trap_exit(true);
            drop(own);
            gone.await.unwrap();
        });
        // It runs on, and says so by its reason.
        while actor.try_send(1).is_ok() {
            task::yield_now().await;
        }
        assert!(actor.is_alive());
        go.send(()).unwrap();
        assert!(actor.join().await.is_normal());

        // It traps no signals that nobody would receive.
        let (lend, borrowed) = oneshot::channel();
        let actor = actor::spawn(async move |mut own: Context<u32>| {
            own.trap_exit(true);
            assert!(lend.send(own).is_ok());
            pending::<()>().await;
        });
        drop(borrowed.await.unwrap());
        assert!(actor.exit(ExitReason::Shutdown));
        assert!(matches!(actor.join().await, ExitReason::Shutdown));
    });
}

// Ends.

#[test]
fn the_reason_says_how_an_actor_has_ended() {
    each(|| async {
        let normal = actor::spawn(async |_: Context<()>| ());
        assert!(normal.join().await.is_normal());
        let early = actor::spawn(|_: Context<()>| -> std::future::Ready<()> { panic!("at once") });
        assert_panic(&early.join().await, "at once");
        let late = actor::spawn(async |_: Context<()>| {
            task::yield_now().await;
            panic!("{} late", "too");
        });
        assert_panic(&late.join().await, "too late");
        let aborted = idle();
        aborted.abort();
        assert!(matches!(aborted.join().await, ExitReason::Aborted));
        let asked = idle();
        asked.exit(ExitReason::Shutdown);
        assert!(matches!(asked.join().await, ExitReason::Shutdown));
    });
}

#[derive(Debug, PartialEq)]
struct Broken(u32);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broken at {}", self.0)
    }
}

impl Error for Broken {}

#[test]
fn an_error_is_a_reason() {
    each(|| async {
        let actor = actor::spawn(async |_: Context<()>| Err::<(), _>(Broken(7)));
        let ExitReason::Error(error) = actor.join().await else { panic!("it is no error") };
        assert_eq!(error.downcast_ref(), Some(&Broken(7)));
        let actor = actor::spawn(async |_: Context<()>| Ok::<_, Broken>(ExitReason::Shutdown));
        assert!(matches!(actor.join().await, ExitReason::Shutdown));
    });
}

#[test]
fn all_who_join_get_the_same_reason() {
    each(|| async {
        let actor = actor::spawn(async |mut own: Context<()>| {
            own.receive().await.unwrap();
            panic!("all together");
        });
        let joining = |n: u32| {
            let actor = actor.clone();
            trefoil::spawn(async move {
                assert_panic(&actor.join().await, "all together");
                n
            })
        };
        let joined: Vec<_> = (0..5).map(joining).collect();
        actor.send(()).await.unwrap();
        for (n, joined) in (0..).zip(joined) {
            assert_eq!(joined.await.unwrap(), n);
        }
        // Twice, and after the end.
        assert_panic(&actor.join().await, "all together");
        assert_panic(&actor.join().await, "all together");
    });
    let runtime = multi(2);
    let actor = runtime.block_on(async { actor::spawn(async |_: Context<()>| ()) });
    assert!(actor.blocking_join().is_normal());
}

#[test]
fn a_panic_reaches_everybody() {
    each(|| async {
        let (mut linked, mut watching) = (lent::<()>().await, lent::<()>().await);
        linked.trap_exit(true);
        let actor = actor::spawn(async |mut own: Context<()>| {
            own.receive().await.unwrap();
            std::panic::panic_any(Broken(3));
        });
        linked.link(&actor);
        let monitor = watching.monitor(&actor);
        actor.send(()).await.unwrap();
        let joined = actor.join().await;
        let Ok(Event::Exit { from: Some(from), reason }) = linked.next().await else {
            panic!("no exit signal");
        };
        assert_eq!(from, actor.pid());
        let Ok(Event::Down { monitor: its, pid, reason: told }) = watching.next().await else {
            panic!("no event");
        };
        assert_eq!((its, pid), (monitor, actor.pid()));
        let panics = [&joined, &reason, &told].map(|reason| reason.as_panic().unwrap());
        assert!(panics.iter().all(|panic| panic.message().is_none()));
        // One payload for all.
        let payload = panics[1].take_payload().expect("nobody has taken it");
        assert_eq!(payload.downcast_ref(), Some(&Broken(3)));
        assert!(panics.iter().all(|panic| panic.take_payload().is_none()));
    });
}

/// A payload whose destructor panics harms nobody.
#[test]
fn a_payload_that_panics_is_survived() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a payload");
        }
    }
    each(|| async {
        let actor = actor::spawn(async |_: Context<()>| std::panic::panic_any(Bomb));
        assert!(actor.join().await.as_panic().is_some());
        drop(actor);
    });
}

/// Messages whose destructors panic do not keep others from being told.
#[test]
fn messages_that_panic_are_survived() {
    struct Bomb(Arc<AtomicUsize>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            panic!("in a message");
        }
    }
    each(|| async {
        let mut watching = lent::<()>().await;
        let dropped = Arc::new(AtomicUsize::new(0));
        let actor = actor::spawn(async |own: Context<Bomb>| {
            let _own = own;
            pending::<()>().await;
        });
        watching.monitor(&actor);
        for _ in 0..3 {
            actor.try_send(Bomb(dropped.clone())).unwrap();
        }
        actor.abort();
        assert!(matches!(actor.join().await, ExitReason::Aborted));
        assert!(matches!(watching.next().await, Ok(Event::Down { .. })));
        assert_eq!(dropped.load(SeqCst), 3);
    });
}

#[test]
fn state_is_dropped_before_the_end_is_told() {
    each(|| async {
        let mut watching = lent::<()>().await;
        let dropped = Arc::new(AtomicBool::new(false));
        let state = SetOnDrop(dropped.clone());
        let actor = actor::spawn(async move |own: Context<SetOnDrop>| {
            let _both = (own, state);
            pending::<()>().await;
        });
        let waits = Arc::new(AtomicBool::new(false));
        actor.try_send(SetOnDrop(waits.clone())).unwrap();
        watching.monitor(&actor);
        actor.abort();
        assert!(matches!(watching.next().await, Ok(Event::Down { .. })));
        assert!(dropped.load(SeqCst) && waits.load(SeqCst));
        let Err(TrySendError::NoActor(_)) = actor.try_send(SetOnDrop(waits)) else {
            panic!("it was sent");
        };
    });
}

#[test]
fn an_actor_that_is_doomed_runs_to_its_next_wait() {
    each(|| async {
        let (reached, told) = oneshot::channel();
        let mut tell = Some(reached);
        let actor = actor::spawn(async move |own: Context<()>| {
            own.address().abort();
            own.address().exit(ExitReason::Shutdown);
            tell.take().unwrap().send(()).unwrap();
            pending::<()>().await;
        });
        assert_eq!(told.await, Ok(()));
        assert!(matches!(actor.join().await, ExitReason::Aborted));

        // The first one decides, also if the function returns or panics.
        let actor = actor::spawn(async |own: Context<()>| {
            own.address().exit(ExitReason::Shutdown);
            own.address().abort();
            panic!("too late");
        });
        assert!(matches!(actor.join().await, ExitReason::Shutdown));
    });
}

#[test]
fn a_normal_exit_signal_is_ignored() {
    each(|| async {
        let actor = idle();
        assert!(actor.exit(ExitReason::Normal));
        assert!(actor.is_alive());
        actor.send(1).await.unwrap();
        let own = lent::<()>().await;
        assert!(own.send_exit(own.pid(), ExitReason::Normal));
        assert!(own.address().is_alive());
        assert!(own.send_exit(&actor, ExitReason::Shutdown));
        assert!(matches!(actor.join().await, ExitReason::Shutdown));
        assert!(!own.send_exit(&actor, ExitReason::Shutdown));
    });
}

#[test]
fn an_abort_cannot_be_trapped() {
    each(|| async {
        let mut own = lent::<()>().await;
        own.trap_exit(true);
        let mut linked = lent::<()>().await;
        linked.trap_exit(true);
        linked.link(own.pid());
        assert!(own.pid().abort().is_ok());
        assert!(matches!(own.address().join().await, ExitReason::Aborted));
        let Ok(Event::Exit { reason: ExitReason::Aborted, .. }) = linked.next().await else {
            panic!("no signal");
        };
    });
}

#[test]
fn a_stale_pid_names_nobody() {
    current_thread().block_on(async {
        let mut seen = std::collections::HashSet::new();
        let mut last: Option<Pid> = None;
        for _ in 0..100 {
            let actor = idle();
            let pid = actor.pid();
            assert!(seen.insert(pid), "{pid} was given twice");
            if let Some(stale) = last {
                assert!(!stale.is_alive());
                assert_eq!(stale.abort(), Err(NoActor(stale)));
                assert_eq!(stale.exit(ExitReason::Shutdown), Err(NoActor(stale)));
                assert_eq!(stale.address::<u32>().unwrap_err(), LookupError::NoActor);
            }
            assert_eq!(pid.address::<u32>().unwrap(), actor);
            assert_eq!(pid.address::<u64>().unwrap_err(), LookupError::OtherType);
            actor.abort();
            actor.join().await;
            last = Some(pid);
        }
    });
}

#[test]
fn actors_end_with_their_runtime() {
    for workers in [1, 3] {
        let runtime = multi(workers);
        let actor = runtime.block_on(async {
            let actor = idle();
            task::yield_now().await;
            actor
        });
        drop(runtime);
        assert!(matches!(actor.blocking_join(), ExitReason::Aborted));
        assert!(!actor.pid().is_alive());
    }
    // One that is spawned too late has ended at once.
    let runtime = multi(1);
    let handle = runtime.handle().clone();
    drop(runtime);
    let _guard = handle.enter();
    assert!(matches!(idle().blocking_join(), ExitReason::Aborted));
}

#[test]
fn spawning_outside_of_a_runtime_panics() {
    let dropped = Arc::new(AtomicBool::new(false));
    let state = SetOnDrop(dropped.clone());
    let spawned = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        actor::spawn(async move |_: Context<()>| drop(state))
    }));
    assert!(spawned.is_err());
    assert!(dropped.load(SeqCst));
}
