//! Actors: links, monitors and names.

#![cfg(not(loom))]

use crate::support::actors::{assert_panic, each, idle, lent};
use crate::support::{current_and_multi, current_thread};
use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;
use trefoil::actor::error::{Exited, LookupError, RegisterError};
use trefoil::actor::{self, Context, Event, ExitReason, Registry};
use trefoil::sync::Barrier;

// Links and monitors.

#[test]
fn a_failure_goes_along_links() {
    each(|| async {
        let members = {
            let mut members = Vec::new();
            for _ in 0..10 {
                members.push(lent::<()>().await);
            }
            members
        };
        for pair in members.windows(2) {
            pair[0].link(pair[1].pid());
        }
        let addresses: Vec<_> = members.iter().map(Context::address).collect();
        let bystander = idle();
        let culprit = members[4].spawn_link(async |_: Context<()>| panic!("it spreads"));
        assert_panic(&culprit.join().await, "it spreads");
        for address in &addresses {
            assert_panic(&address.join().await, "it spreads");
        }
        assert!(bystander.is_alive());
        bystander.abort();
    });
}

#[test]
fn a_normal_end_harms_nobody() {
    each(|| async {
        let mut traps = lent::<()>().await;
        traps.trap_exit(true);
        let other = lent::<()>().await;
        let barrier = Arc::new(Barrier::new(2));
        let its = barrier.clone();
        let actor = actor::spawn(async move |_: Context<()>| {
            its.wait().await;
        });
        traps.link(&actor);
        other.link(&actor);
        barrier.wait().await;
        let Ok(Event::Exit { from, reason: ExitReason::Normal }) = traps.next().await else {
            panic!("no signal");
        };
        assert_eq!(from, Some(actor.pid()));
        actor.join().await;
        assert!(other.address().is_alive());
    });
}

/// Calls a closure when it is dropped.
struct Last<F: FnMut()>(F);

impl<F: FnMut()> Drop for Last<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Its context is dropped before other things that it has, whose destructors bring signals about.
#[test]
fn an_actor_that_traps_exits_ends_for_its_own_reason() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum End {
        Returns,
        Panics,
        Waits,
        IsAborted,
    }
    each(|| async {
        for traps in [true, false] {
            for end in [End::Returns, End::Panics, End::Waits, End::IsAborted] {
                let actor = actor::spawn(async move |mut own: Context<()>| {
                    own.trap_exit(traps);
                    let pid = own.pid();
                    let last = Last(move || {
                        assert!(pid.exit(ExitReason::error("a peer has failed")).is_ok());
                        if end == End::IsAborted {
                            assert!(pid.abort().is_ok());
                        }
                    });
                    drop(own);
                    match end {
                        End::Returns | End::IsAborted => {}
                        // Without the message of a panic in the output of the test.
                        End::Panics => resume_unwind(Box::new("its own")),
                        End::Waits => {
                            drop(last);
                            pending().await
                        }
                    }
                });
                let reason = actor.join().await;
                match end {
                    End::Returns if traps => assert!(reason.is_normal(), "{reason}"),
                    End::Panics if traps => assert_panic(&reason, "its own"),
                    _ => assert_eq!(reason.to_string(), "a peer has failed", "{end:?} {traps}"),
                }
            }
        }
    });
}

#[test]
fn a_link_to_the_dead_is_a_signal_at_once() {
    each(|| async {
        let dead = idle();
        dead.abort();
        dead.join().await;
        let mut traps = lent::<()>().await;
        traps.trap_exit(true);
        traps.link(&dead);
        let Ok(Some(Event::Exit { from, reason: ExitReason::NoActor })) = traps.try_next() else {
            panic!("no signal");
        };
        assert_eq!(from, Some(dead.pid()));
        let other = lent::<()>().await;
        other.link(&dead);
        assert!(matches!(other.address().join().await, ExitReason::NoActor));
    });
}

#[test]
fn a_link_to_oneself_does_nothing() {
    each(|| async {
        let mut own = lent::<()>().await;
        own.trap_exit(true);
        own.link(own.pid());
        assert!(own.try_next().unwrap().is_none());
        own.unlink(own.pid());
        own.address().abort();
        assert!(matches!(own.address().join().await, ExitReason::Aborted));
    });
}

#[test]
fn two_links_are_one() {
    each(|| async {
        let (mut a, b) = (lent::<()>().await, lent::<()>().await);
        a.trap_exit(true);
        a.link(b.pid());
        b.link(a.pid());
        a.link(b.pid());
        b.address().abort();
        b.address().join().await;
        assert!(matches!(a.try_next(), Ok(Some(Event::Exit { .. }))));
        assert!(a.try_next().unwrap().is_none());
    });
}

#[test]
fn after_unlink_no_signal_comes() {
    each(|| async {
        let (mut a, b, c) = (lent::<()>().await, lent::<()>().await, lent::<()>().await);
        a.trap_exit(true);
        a.link(b.pid());
        a.unlink(b.pid());
        // Whoever has made the link, the other one may take it away.
        a.link(c.pid());
        c.unlink(a.pid());
        for other in [b, c] {
            other.address().abort();
            other.address().join().await;
        }
        assert!(a.try_next().unwrap().is_none());
    });
}

#[test]
fn a_monitor_of_the_dead_tells_at_once() {
    each(|| async {
        let dead = idle();
        dead.abort();
        dead.join().await;
        let mut own = lent::<()>().await;
        let monitor = own.monitor(&dead);
        let Ok(Some(Event::Down { monitor: its, pid, reason: ExitReason::NoActor })) =
            own.try_next()
        else {
            panic!("no event");
        };
        assert_eq!((its, pid), (monitor, dead.pid()));
        // Of itself, it never tells.
        own.monitor(own.pid());
        own.address().abort();
        own.address().join().await;
        assert!(matches!(own.try_next(), Err(Exited)));
    });
}

#[test]
fn each_monitor_tells_once() {
    each(|| async {
        let mut own = lent::<()>().await;
        let actor = idle();
        let monitors = [own.monitor(&actor), own.monitor(&actor), own.monitor(&actor)];
        own.demonitor(monitors[1]);
        // Another actor's is left alone.
        lent::<()>().await.demonitor(monitors[0]);
        actor.abort();
        actor.join().await;
        for monitor in [monitors[0], monitors[2]] {
            let Ok(Some(Event::Down { monitor: its, .. })) = own.try_next() else {
                panic!("no event");
            };
            assert_eq!(its, monitor);
        }
        assert!(own.try_next().unwrap().is_none());
    });
}

#[test]
fn after_demonitor_no_event_comes() {
    each(|| async {
        let mut own = lent::<u32>().await;
        let actor = idle();
        let (first, second) = (own.monitor(&actor), own.monitor(&actor));
        own.address().send(1).await.unwrap();
        actor.abort();
        actor.join().await;
        // One is taken away before the actor has looked at it, and one afterwards.
        own.demonitor(first);
        assert_eq!(own.receive().await, Ok(1));
        own.demonitor(second);
        assert!(own.try_next().unwrap().is_none());
    });
}

#[test]
fn messages_come_before_the_exit_signal_of_their_sender() {
    each(|| async {
        for _ in 0..50 {
            let mut own = lent::<u32>().await;
            own.trap_exit(true);
            let to = own.address();
            let sender = own.spawn_link(async move |_: Context<()>| {
                for n in 0..20 {
                    to.send(n).await.unwrap();
                }
                panic!("and then");
            });
            for n in 0..20 {
                let event = own.next().await;
                assert!(matches!(event, Ok(Event::Message(its)) if its == n), "{event:?}");
            }
            let Ok(Event::Exit { from, reason }) = own.next().await else { panic!("no signal") };
            assert_eq!(from, Some(sender.pid()));
            assert_panic(&reason, "and then");
        }
    });
}

#[test]
fn a_child_is_linked_or_monitored_before_it_begins() {
    each(|| async {
        for _ in 0..50 {
            let mut own = lent::<()>().await;
            own.trap_exit(true);
            let linked = own.spawn_link(async |_: Context<()>| panic!("at once"));
            let Ok(Event::Exit { from, reason }) = own.next().await else { panic!("no signal") };
            assert_eq!(from, Some(linked.pid()));
            assert_panic(&reason, "at once");
            let (watched, monitor) = own.spawn_monitor(async |_: Context<()>| panic!("at once"));
            let Ok(Event::Down { monitor: its, pid, reason }) = own.next().await else {
                panic!("no event");
            };
            assert_eq!((its, pid), (monitor, watched.pid()));
            assert_panic(&reason, "at once");
        }
    });
}

/// The end of a long chain is no deep recursion, neither by a failure nor at the end of a runtime.
#[test]
fn a_long_chain_of_links_ends() {
    const LENGTH: usize = 20_000;
    for fails in [true, false] {
        for runtime in current_and_multi([1, 2]) {
            let (first, last) = runtime.block_on(async {
                let mut chain: Vec<Context<()>> = Vec::new();
                for _ in 0..LENGTH {
                    let own = lent::<()>().await;
                    if let Some(before) = chain.last() {
                        own.link(before.pid());
                    }
                    chain.push(own);
                }
                (chain[0].address(), chain[LENGTH - 1].address())
            });
            if fails {
                first.exit(ExitReason::Shutdown);
                let reason = runtime.block_on(last.join());
                assert!(matches!(reason, ExitReason::Shutdown), "{reason:?}");
            }
            drop(runtime);
            assert!(!last.blocking_join().is_normal());
        }
    }
}

// Names.

#[test]
fn names_belong_to_registries() {
    each(|| async {
        let (one, two) = (Registry::new(), Registry::new());
        let (a, b) = (idle(), idle());
        assert_eq!(one.register("x", &a), Ok(()));
        assert_eq!(one.register("x", &b), Err(RegisterError::Taken(a.pid())));
        assert_eq!(one.register("x", &a), Err(RegisterError::Taken(a.pid())));
        assert_eq!(one.register("y", &a), Ok(()));
        assert_eq!(two.register("x", &b), Ok(()));
        assert_eq!(one.find::<u32>("x"), Ok(a.clone()));
        assert_eq!(two.find::<u32>("x"), Ok(b.clone()));
        assert_eq!(one.find::<u64>("x"), Err(LookupError::OtherType));
        assert_eq!(two.find::<u32>("y"), Err(LookupError::NoActor));
        assert_eq!(one.names(), [("x".to_owned(), a.pid()), ("y".to_owned(), a.pid())]);
        assert!(one.unregister("x"));
        assert!(!one.unregister("x"));
        assert_eq!(one.register("x", &b), Ok(()));
        a.abort();
        a.join().await;
        // The name that was another actor's before is not taken away.
        assert_eq!(one.names(), [("x".to_owned(), b.pid())]);
        assert_eq!(one.register("z", &a), Err(RegisterError::NoActor));
        drop(two);
        b.abort();
        b.join().await;
        assert_eq!(one.pid("x"), None);
    });
}

#[test]
fn a_name_is_free_when_the_end_is_known() {
    each(|| async {
        let registry = Registry::new();
        let mut own = lent::<u32>().await;
        own.trap_exit(true);
        for round in 0..100 {
            let actor = idle();
            registry.register("the one", &actor).unwrap();
            if round % 2 == 0 {
                own.link(&actor);
            } else {
                own.monitor(&actor);
            }
            actor.abort();
            own.next().await.unwrap();
            assert_eq!(registry.find::<u32>("the one"), Err(LookupError::NoActor));
        }
    });
}

#[test]
fn the_registry_of_the_process_is_one() {
    current_thread().block_on(async {
        let actor = idle();
        Registry::global().register("a name of this test", &actor).unwrap();
        assert_eq!(Registry::global().find("a name of this test"), Ok(actor.clone()));
        actor.abort();
        actor.join().await;
        assert_eq!(Registry::global().pid("a name of this test"), None);
    });
}
