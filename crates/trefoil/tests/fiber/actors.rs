//! Actors that are fibers. ThreadSanitizer does not know of switches between stacks.

#![cfg(all(unix, not(loom), not(trefoil_tsan)))]

use crate::support::actors::{SetOnDrop, lent};
use crate::support::multi;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use trefoil::actor::error::Exited;
use trefoil::actor::{self, Builder, Context, Event, ExitReason};
use trefoil::fiber;
use trefoil::sync::{Mutex, oneshot};
use trefoil::time::timeout;

#[test]
fn a_fiber_that_receives_for_the_dead_is_told_so() {
    each(|| async {
        for waits_before in [false, true] {
            let mut own = lent::<u32>().await;
            let address = own.address();
            if !waits_before {
                address.abort();
                address.join().await;
            }
            let (began, has_begun) = oneshot::channel();
            let receives = fiber::spawn(move || {
                began.send(()).unwrap();
                let received = own.blocking_receive();
                (received, own.blocking_next().map(drop))
            });
            has_begun.await.unwrap();
            address.abort();
            assert_eq!(receives.await.unwrap(), (Err(Exited), Err(Exited)));
            assert!(address.try_send(1).is_err());
        }
    });
}

#[test]
fn a_fiber_links_and_monitors_itself_in_vain() {
    each(|| async {
        let actor = actor::spawn_fiber(|mut own: Context<u32>| {
            own.trap_exit(true);
            own.link(own.pid());
            own.monitor(own.pid());
            own.unlink(own.pid());
            assert!(own.try_next().unwrap().is_none());
            own.link(own.pid());
        });
        assert!(actor.unwrap().join().await.is_normal());
    });
}

/// Runs a test on each kind of runtime that has fibers.
fn each<F: Future<Output = ()>>(test: impl Fn() -> F) {
    for runtime in [1, 3].map(multi) {
        runtime.block_on(test());
    }
}

#[test]
fn tasks_and_fibers_are_alike() {
    each(|| async {
        let mut own = lent::<u32>().await;
        own.trap_exit(true);
        let to = own.address();
        let fiber = Builder::new()
            .name("doubler")
            .capacity(1)
            .link(&own)
            .spawn_fiber(move |mut own: Context<u32>| {
                while let Ok(n) = own.blocking_receive() {
                    assert_ne!(n, 13, "it brings bad luck");
                    to.blocking_send(2 * n).unwrap();
                }
            })
            .unwrap();
        assert_eq!(fiber.name(), Some("doubler"));
        for n in 0..10 {
            fiber.send(n).await.unwrap();
            assert_eq!(own.receive().await, Ok(2 * n));
        }
        fiber.send(13).await.unwrap();
        let reason = fiber.join().await;
        let message = reason.as_panic().unwrap().message().unwrap();
        assert!(message.contains("it brings bad luck"), "{message}");
        let Ok(Event::Exit { from, .. }) = own.next().await else { panic!("no signal") };
        assert_eq!(from, Some(fiber.pid()));
    });
}

#[test]
fn a_fiber_is_unwound_where_it_waits() {
    each(|| async {
        let dropped = Arc::new(AtomicBool::new(false));
        let its = dropped.clone();
        let (begin, begun) = oneshot::channel();
        let actor = actor::spawn_fiber(move |mut own: Context<u32>| {
            let _on_the_stack = SetOnDrop(its);
            begin.send(()).unwrap();
            let _ = own.blocking_next();
        });
        let actor = actor.unwrap();
        begun.await.unwrap();
        assert!(actor.exit(ExitReason::Shutdown));
        assert!(matches!(actor.join().await, ExitReason::Shutdown));
        assert!(dropped.load(SeqCst));
        // Before it begins, its function is dropped.
        let dropped = Arc::new(AtomicBool::new(false));
        let state = SetOnDrop(dropped.clone());
        let actor = actor::spawn_fiber(move |_: Context<u32>| drop(state)).unwrap();
        actor.abort();
        actor.join().await;
        assert!(dropped.load(SeqCst));
    });
}

#[test]
fn a_fiber_receives_selectively_with_a_time_limit() {
    let runtime = multi(2);
    let _guard = runtime.enter();
    let actor = actor::spawn_fiber(|mut own: Context<u32>| {
        let even = own.receive_where(|n| n % 2 == 0);
        assert_eq!(fiber::wait(timeout(Duration::from_secs(3600), even)), Ok(Ok(2)));
        let even = own.receive_where(|n| n % 2 == 0);
        assert!(fiber::wait(timeout(Duration::from_millis(1), even)).is_err());
        assert_eq!(own.blocking_receive(), Ok(1));
    });
    let actor = actor.unwrap();
    actor.blocking_send(1).unwrap();
    actor.blocking_send(2).unwrap();
    assert!(actor.blocking_join().is_normal());
}

#[test]
fn a_fiber_waits_for_a_lock_with_a_time_limit() {
    let runtime = multi(1);
    let _guard = runtime.enter();
    let lock = Arc::new(Mutex::new(()));
    let held = lock.clone().try_lock_owned().unwrap();
    let its = lock.clone();
    let fiber =
        fiber::spawn(move || fiber::wait(timeout(Duration::from_millis(1), its.lock())).is_err());
    assert!(fiber.join().unwrap());
    drop(held);
}

/// Nobody is told of an actor that was never there.
#[test]
fn a_stack_that_is_refused_is_an_error() {
    each(|| async {
        let mut own = lent::<()>().await;
        own.trap_exit(true);
        let refused = Builder::new().stack_size(1).link(&own).spawn_fiber(|_: Context<()>| ());
        assert!(refused.is_err());
        assert!(own.try_next().unwrap().is_none());
    });
}
