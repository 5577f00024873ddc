//! Actors among code that does what it should not: destructors, selectors and wakers that panic or
//! come back, floods, and races for names.

#![cfg(not(loom))]

use crate::support::actors::{assert_panic, each, idle, lent};
use crate::support::watch::receive;
use crate::support::{self, current_thread, multi};
use futures::FutureExt;
use std::fmt;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context as TaskContext, Wake, Waker};
use std::thread;
use std::time::Duration;
use trefoil::actor::{self, Address, Builder, Context, Event, ExitReason, Registry};
use trefoil::sync::oneshot;
use trefoil::task::{self, LocalSet};
use trefoil::time::timeout;

/// Counts its drops, each of which panics.
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        resume_unwind(Box::new("in a message"));
    }
}

/// Messages that were taken over and not received: a second panic among them would end the process.
#[test]
fn messages_that_were_looked_at_may_panic() {
    each(|| async {
        let dropped = Arc::new(AtomicUsize::new(0));
        let (looked, told) = oneshot::channel();
        let mut looked = Some(looked);
        let actor = actor::spawn(async move |mut own: Context<Bomb>| {
            let mut looks = 0;
            let _ = own
                .receive_where(|_| {
                    looks += 1;
                    if looks == 3 {
                        looked.take().unwrap().send(()).unwrap();
                    }
                    false
                })
                .await;
        });
        for _ in 0..3 {
            actor.try_send(Bomb(dropped.clone())).unwrap();
        }
        told.await.unwrap();
        actor.abort();
        assert!(matches!(actor.join().await, ExitReason::Aborted));
        assert_eq!(dropped.load(SeqCst), 3);
    });
}

#[test]
fn a_selector_that_panics_loses_nothing() {
    each(|| async {
        let mut own = lent::<u32>().await;
        let address = own.address();
        for n in 0..3 {
            address.send(n).await.unwrap();
        }
        let panics = |n: &u32| -> bool {
            if *n == 1 {
                resume_unwind(Box::new("in a selector"));
            }
            false
        };
        assert!(AssertUnwindSafe(own.receive_where(panics)).catch_unwind().await.is_err());
        for n in 0..3 {
            assert_eq!(own.receive().await, Ok(n));
        }

        // One that is not caught ends its actor.
        let actor = actor::spawn(async |mut own: Context<u32>| {
            let _ = own.receive_where(|_| resume_unwind(Box::new("in a selector"))).await;
        });
        actor.send(1).await.unwrap();
        assert_panic(&actor.join().await, "in a selector");
    });
}

/// It is doomed by its own selector, and ends when it waits.
#[test]
fn an_actor_may_be_ended_while_it_looks() {
    each(|| async {
        let actor = actor::spawn(async |mut own: Context<u32>| {
            let address = own.address();
            let _ = own
                .receive_where(|_| {
                    address.abort();
                    false
                })
                .await;
        });
        actor.send(1).await.unwrap();
        assert!(matches!(actor.join().await, ExitReason::Aborted));
    });
}

#[test]
fn a_waker_that_panics_harms_no_sender() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            resume_unwind(Box::new("in a waker"));
        }
    }
    each(|| async {
        let mut own = lent::<u32>().await;
        own.trap_exit(true);
        let address = own.address();
        let waker = Waker::from(Arc::new(Panics));
        let mut cx = TaskContext::from_waker(&waker);
        assert!(pin!(own.receive()).poll(&mut cx).is_pending());
        address.send(1).await.unwrap();
        assert!(pin!(own.receive_where(|n| *n == 2)).poll(&mut cx).is_pending());
        assert!(address.exit(ExitReason::Shutdown));
        assert_eq!(own.receive().await, Ok(1));
        // The end, too, wakes whoever receives.
        assert!(pin!(own.receive()).poll(&mut cx).is_pending());
        address.abort();
        assert!(matches!(address.join().await, ExitReason::Aborted));
    });
}

/// An error whose destructor asks for the actor that it was sent to. Under a lock of that actor,
/// this would be a deadlock.
struct Looks(Address<u32>, mpsc::Sender<()>);

impl fmt::Debug for Looks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Looks")
    }
}

impl fmt::Display for Looks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it looks")
    }
}

impl std::error::Error for Looks {}

impl Drop for Looks {
    fn drop(&mut self) {
        self.0.is_alive();
        self.0.exit(ExitReason::Normal);
        let _ = self.0.try_send(1);
        self.1.send(()).unwrap();
    }
}

#[test]
fn a_reason_is_dropped_without_locks() {
    // By itself: who waits for a lock for ever cannot fail.
    let (sender, dropped) = mpsc::channel();
    thread::spawn(move || {
        current_thread().block_on(async move {
            let doomed = idle();
            doomed.abort();
            doomed.exit(ExitReason::error(Looks(doomed.clone(), sender.clone())));
            doomed.join().await;
            let dead = doomed;
            dead.exit(ExitReason::error(Looks(dead.clone(), sender.clone())));
            let mut own = lent::<u32>().await;
            let address = own.address();
            address.abort();
            address.join().await;
            // Nobody receives what it traps.
            own.trap_exit(true);
            address.exit(ExitReason::error(Looks(address.clone(), sender.clone())));
            // One that is received, and dropped with its mailbox.
            let mut own = lent::<u32>().await;
            own.trap_exit(true);
            let address = own.address();
            address.exit(ExitReason::error(Looks(address.clone(), sender.clone())));
            drop(own);
            address.abort();
        });
    });
    for what in ["doomed", "dead", "dead and traps", "traps"] {
        receive(what, &dropped);
    }
}

/// A message whose destructor does things to the actor whose mailbox it is in.
struct ComesBack(Address<ComesBack>, Registry, Arc<AtomicUsize>);

impl Drop for ComesBack {
    fn drop(&mut self) {
        let Self(address, registry, dropped) = self;
        // It is not sent, so what comes back is dropped, which would come back for ever.
        if dropped.fetch_add(1, SeqCst) < 10 {
            let again = ComesBack(address.clone(), registry.clone(), dropped.clone());
            let _ = address.try_send(again);
        }
        let _ = registry.register("late", address);
        address.exit(ExitReason::Shutdown);
        address.abort();
    }
}

#[test]
fn a_message_may_come_back_when_it_is_dropped() {
    each(|| async {
        let dropped = Arc::new(AtomicUsize::new(0));
        let registry = Registry::new();
        let actor = actor::spawn(async |own: Context<ComesBack>| {
            let _own = own;
            pending::<()>().await;
        });
        for _ in 0..2 {
            let message = ComesBack(actor.clone(), registry.clone(), dropped.clone());
            assert!(actor.try_send(message).is_ok());
        }
        actor.abort();
        assert!(matches!(actor.join().await, ExitReason::Aborted));
        assert_eq!(dropped.load(SeqCst), 12);
        assert_eq!(registry.names(), []);
    });
}

/// What a receive costs is counted in looks, and not in time.
#[test]
fn a_million_messages_that_are_not_wanted() {
    const MANY: u32 = 1_000_000;
    current_thread().block_on(async {
        let mut own = lent::<u32>().await;
        let address = own.address();
        for n in 0..MANY {
            address.try_send(n).unwrap();
        }
        let mut looks = 0;
        let wanted = own.receive_where(|n| {
            looks += 1;
            *n == MANY - 1
        });
        assert_eq!(wanted.await, Ok(MANY - 1));
        assert_eq!(looks, MANY);
        for expected in 0..MANY - 1 {
            let mut looks = 0;
            let next = own.receive_where(|_| {
                looks += 1;
                true
            });
            assert_eq!((next.await, looks), (Ok(expected), 1));
        }
        assert!(own.try_next().unwrap().is_none());
    });
}

/// Everybody is linked to one.
#[test]
fn a_storm_of_links() {
    const MANY: usize = 20_000;
    each(|| async {
        let hub = lent::<()>().await;
        let spokes: Vec<_> = (0..MANY).map(|_| idle()).collect();
        for spoke in &spokes {
            hub.link(spoke);
            hub.monitor(spoke);
        }
        hub.address().exit(ExitReason::Shutdown);
        for spoke in &spokes {
            assert!(matches!(spoke.join().await, ExitReason::Shutdown));
        }
        assert!(matches!(hub.address().join().await, ExitReason::Shutdown));

        // And the other way round.
        let mut hub = lent::<()>().await;
        hub.trap_exit(true);
        let spokes: Vec<_> = (0..MANY).map(|_| idle()).collect();
        spokes.iter().for_each(|spoke| hub.link(spoke));
        spokes.iter().for_each(Address::abort);
        let mut told = std::collections::HashSet::new();
        for _ in 0..MANY {
            let Ok(Event::Exit { from: Some(from), reason: ExitReason::Aborted }) =
                hub.next().await
            else {
                panic!("no signal");
            };
            assert!(told.insert(from));
        }
        assert!(hub.try_next().unwrap().is_none());
    });
}

/// A name has one owner at a time, however many want it and end.
#[test]
fn a_race_for_a_name() {
    let runtime = multi(4);
    let (registry, owners, turns) =
        (Registry::new(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    runtime.block_on(async {
        let racing = |n: usize| {
            let (registry, owners, turns) = (registry.clone(), owners.clone(), turns.clone());
            trefoil::spawn(async move {
                let mut own = 0;
                while own < 50 {
                    let actor = idle();
                    if registry.register("the one", &actor).is_ok() {
                        assert_eq!(owners.fetch_add(1, SeqCst), 0);
                        assert_eq!(registry.find("the one"), Ok(actor.clone()));
                        own += 1;
                        turns.fetch_add(1, SeqCst);
                        task::yield_now().await;
                        owners.fetch_sub(1, SeqCst);
                        if n.is_multiple_of(2) {
                            assert!(registry.unregister("the one"));
                        }
                    }
                    actor.abort();
                    actor.join().await;
                    task::yield_now().await;
                }
            })
        };
        let racers: Vec<_> = (0..8).map(racing).collect();
        for racer in racers {
            racer.await.unwrap();
        }
    });
    assert_eq!(turns.load(SeqCst), 400);
    assert_eq!(registry.names(), []);
}

/// Many wait for room in the mailbox of an actor that ends, or loses its context.
#[test]
fn senders_do_not_outwait_an_actor() {
    each(|| async {
        for by_context in [false, true] {
            let (lend, borrowed) = oneshot::channel();
            let actor = Builder::new().capacity(1).spawn(async |own: Context<usize>| {
                assert!(lend.send(own).is_ok());
                pending::<()>().await;
            });
            let own = borrowed.await.unwrap();
            actor.try_send(0).unwrap();
            let sending = |n| {
                let actor = actor.clone();
                trefoil::spawn(async move { actor.send(n).await.unwrap_err().0 })
            };
            let senders: Vec<_> = (0..100).map(sending).collect();
            task::yield_now().await;
            if by_context {
                drop(own);
            } else {
                actor.abort();
            }
            for (n, sender) in senders.into_iter().enumerate() {
                assert_eq!(sender.await.unwrap(), n);
            }
            actor.abort();
        }
    });
}

/// An actor is spawned into the runtime, also from a set of local tasks, and they talk.
#[test]
fn actors_and_local_tasks() {
    for runtime in support::current_and_multi([2]) {
        let set = LocalSet::new();
        let answer = set.block_on(&runtime, async {
            let doubler = actor::spawn(async |mut own: Context<(u32, oneshot::Sender<u32>)>| {
                while let Ok((n, answer)) = own.receive().await {
                    let _ = answer.send(2 * n);
                }
            });
            let asks = task::spawn_local({
                let doubler = doubler.clone();
                async move {
                    let (answer, answered) = oneshot::channel();
                    doubler.send((21, answer)).await.unwrap();
                    answered.await.unwrap()
                }
            });
            // A mailbox may be read in a local task.
            let mut own = lent::<u32>().await;
            let address = own.address();
            let reads = task::spawn_local(async move { own.receive().await.unwrap() });
            address.send(1).await.unwrap();
            let answer = asks.await.unwrap() * reads.await.unwrap();
            doubler.abort();
            doubler.join().await;
            answer
        });
        assert_eq!(answer, 42);
        // It has not ended with the set, but with the runtime.
        let actor = set.block_on(&runtime, async { idle() });
        drop(set);
        assert!(actor.is_alive());
        drop(runtime);
        assert!(matches!(actor.blocking_join(), ExitReason::Aborted));
    }
}

/// Actors of two runtimes, one of which ends.
#[test]
fn a_link_between_runtimes() {
    let (one, two) = (multi(1), multi(2));
    let mut own = two.block_on(lent::<()>());
    own.trap_exit(true);
    let traps_not = two.block_on(lent::<()>());
    let actor = one.block_on(async { idle() });
    own.link(&actor);
    traps_not.link(&actor);
    drop(one);
    let Ok(Event::Exit { from, reason: ExitReason::Aborted }) = two.block_on(own.next()) else {
        panic!("no signal");
    };
    assert_eq!(from, Some(actor.pid()));
    assert!(matches!(traps_not.address().blocking_join(), ExitReason::Aborted));
}

/// The state of an actor that is aborted does all that its function may do.
#[test]
fn a_destructor_spawns_links_and_sends() {
    struct Acts {
        own: Option<Context<u32>>,
        other: Address<u32>,
        child: mpsc::Sender<Address<()>>,
    }
    impl Drop for Acts {
        fn drop(&mut self) {
            let own = self.own.take().unwrap();
            let child = own.spawn_link(async |own: Context<()>| {
                let _own = own;
                pending::<()>().await;
            });
            own.link(&self.other);
            own.monitor(&self.other);
            let _ = own.address().try_send(2);
            self.other.try_send(1).unwrap();
            self.child.send(child).unwrap();
        }
    }
    each(|| async {
        let mut other = lent::<u32>().await;
        other.trap_exit(true);
        let (child, children) = mpsc::channel();
        let its = other.address();
        let (begin, begun) = oneshot::channel();
        let actor = actor::spawn(async move |own: Context<u32>| {
            let _acts = Acts { own: Some(own), other: its, child };
            begin.send(()).unwrap();
            pending::<()>().await;
        });
        begun.await.unwrap();
        actor.abort();
        actor.join().await;
        assert_eq!(other.receive().await, Ok(1));
        let Ok(Event::Exit { from, reason: ExitReason::Aborted }) = other.next().await else {
            panic!("no signal");
        };
        assert_eq!(from, Some(actor.pid()));
        let child = children.recv().unwrap();
        assert!(matches!(child.join().await, ExitReason::Aborted));
    });
}

/// A child of somebody who has ended is not left alone.
#[test]
fn a_link_of_the_dead_ends_the_new_one() {
    each(|| async {
        let parent = lent::<()>().await;
        parent.address().abort();
        parent.address().join().await;
        let child = parent.spawn_link(async |mut own: Context<()>| {
            let _ = own.next().await;
        });
        assert!(matches!(child.join().await, ExitReason::NoActor));
    });
}

/// A time limit beside messages that come and go.
#[test]
fn a_limit_and_a_message_at_the_same_time() {
    each(|| async {
        let mut own = lent::<u32>().await;
        let address = own.address();
        let sending = trefoil::spawn(async move {
            for n in 0..1_000 {
                address.send(n).await.unwrap();
                if n % 7 == 0 {
                    task::yield_now().await;
                }
            }
        });
        let mut next = 0;
        while next < 1_000 {
            match timeout(Duration::from_micros(10), own.receive()).await {
                Ok(Ok(n)) => {
                    assert_eq!(n, next);
                    next += 1;
                }
                Ok(Err(exited)) => panic!("{exited}"),
                Err(_late) => {}
            }
        }
        sending.await.unwrap();
    });
}
