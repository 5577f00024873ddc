//! Supervisors whose children never stop failing, or turn against them.

#![cfg(not(loom))]

use crate::support::actors::each;
use crate::support::{Alive, current_thread};
use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use trefoil::actor::supervisor::{Child, Restart, Strategy, Supervisor};
use trefoil::actor::{Context, ExitReason, Pid, Registry};
use trefoil::sync::oneshot;
use trefoil::task;
use trefoil::time::timeout;

/// It is started again and again, and its supervisor goes on listening.
#[test]
fn a_child_that_never_stops_failing() {
    const MANY: usize = 5_000;
    each(|| async {
        let alive = Arc::new(AtomicUsize::new(0));
        let starts = Arc::new(AtomicUsize::new(0));
        let registry = Registry::new();
        let (its, counted, names) = (alive.clone(), starts.clone(), registry.clone());
        let child = Child::new("hasty", move |starter| {
            let n = counted.fetch_add(1, SeqCst);
            let alive = Alive::new(&its);
            let address = starter.spawn(async move |mut own: Context<()>| {
                let _alive = alive;
                if n < MANY {
                    resume_unwind(Box::new("once more"));
                }
                let _ = own.next().await;
            });
            // It may have ended.
            let _ = names.register("hasty", &address);
            Ok(())
        });
        let supervisor = Supervisor::new(Strategy::OneForAll)
            .intensity(u32::MAX, Duration::from_secs(3600))
            .child(child)
            .start()
            .await
            .unwrap();
        while starts.load(SeqCst) <= MANY {
            // The supervisor answers in between.
            supervisor.children().await.unwrap();
            task::yield_now().await;
        }
        let status = supervisor.children().await.unwrap();
        assert_eq!(status[0].restarts, MANY as u64);
        assert_eq!(status[0].pid, registry.pid("hasty"));
        assert_eq!(alive.load(SeqCst), 1);
        supervisor.stop().await;
        assert_eq!(alive.load(SeqCst), 0);
        assert_eq!(registry.names(), []);
    });
}

/// A child that is told whom to send an exit signal; once it has, it ends, or waits. Those that
/// follow it wait.
fn rebel(ends: bool, starts: &Arc<AtomicUsize>) -> (Child, oneshot::Sender<Pid>) {
    let (tell, told) = oneshot::channel::<Pid>();
    let (mut told, starts) = (Some(told), starts.clone());
    let child = Child::new("rebel", move |starter| {
        starts.fetch_add(1, SeqCst);
        let told = told.take();
        starter.spawn(async move |own: Context<()>| {
            if let Some(told) = told {
                assert!(own.send_exit(told.await.unwrap(), ExitReason::error("enough")));
                if ends {
                    return;
                }
            }
            pending::<()>().await;
        });
        Ok(())
    });
    (child, tell)
}

/// An exit signal that a child sends by itself stops its supervisor, as anybody else's.
#[test]
fn a_child_that_lives_stops_its_supervisor() {
    each(|| async {
        let starts = Arc::new(AtomicUsize::new(0));
        let (child, tell) = rebel(false, &starts);
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start().await.unwrap();
        let rebel = supervisor.children().await.unwrap()[0].pid.unwrap();
        tell.send(supervisor.pid()).unwrap();
        let ExitReason::Error(error) = supervisor.join().await else { panic!("another reason") };
        assert_eq!(error.to_string(), "enough");
        assert!(!rebel.is_alive());
        assert_eq!(starts.load(SeqCst), 1);
    });
}

/// A signal and an end are one end, and not a stranger's signal besides.
#[test]
fn a_child_that_sends_a_signal_and_ends_is_restarted_once() {
    // It sends and ends in one poll, in which nobody else runs.
    current_thread().block_on(async {
        let starts = Arc::new(AtomicUsize::new(0));
        let (child, tell) = rebel(true, &starts);
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start().await.unwrap();
        let rebel = supervisor.children().await.unwrap()[0].pid.unwrap();
        tell.send(supervisor.pid()).unwrap();
        while rebel.is_alive() {
            task::yield_now().await;
        }
        for _ in 0..3 {
            assert_eq!(supervisor.children().await.unwrap()[0].restarts, 1);
        }
        assert_eq!(starts.load(SeqCst), 2);
        assert!(matches!(supervisor.stop().await, ExitReason::Shutdown));
    });
}

/// Without timers there is no grace, which is said at the start and not at the end.
#[test]
fn a_grace_needs_timers() {
    fn waits() -> Child {
        Child::task("waits", async |own: Context<()>| {
            let _own = own;
            pending::<()>().await;
        })
    }
    let below = || Supervisor::new(Strategy::OneForOne).child(waits());
    trefoil::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        for child in [waits(), Child::supervisor("below", below)] {
            let supervisor = Supervisor::new(Strategy::OneForOne).child(child);
            let error = supervisor.start().await.unwrap_err().to_string();
            assert!(error.contains("\"waits\"") && error.contains("enable_time"), "{error}");
        }
        for grace in [Duration::ZERO, Duration::MAX] {
            let supervisor = Supervisor::new(Strategy::OneForOne).child(waits().grace(grace));
            let supervisor = supervisor.start().await.unwrap();
            let child = supervisor.children().await.unwrap()[0].pid.unwrap();
            // A restart needs none.
            child.abort().unwrap();
            while supervisor.children().await.unwrap()[0].restarts == 0 {
                task::yield_now().await;
            }
            assert!(matches!(supervisor.stop().await, ExitReason::Shutdown));
        }
    });
}

/// What decides is the reason of a child's end, and not that of a signal that it has sent before.
/// On one thread, the supervisor looks when both have happened.
#[test]
fn a_child_that_signals_and_then_panics_has_panicked() {
    current_thread().block_on(async {
        let (again, is_again) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel::<Pid>();
        let (mut told, mut again) = (Some(told), Some(again));
        let child = Child::new("rebel", move |starter| {
            let told = told.take();
            let again = if told.is_none() { again.take() } else { None };
            starter.spawn(async move |own: Context<()>| {
                if let Some(told) = told {
                    assert!(own.send_exit(told.await.unwrap(), ExitReason::Shutdown));
                    resume_unwind(Box::new("after its signal"));
                }
                again.map(|again| again.send(()));
                pending::<()>().await;
            });
            Ok(())
        });
        let child = child.restart(Restart::Transient);
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start().await.unwrap();
        tell.send(supervisor.pid()).unwrap();
        // By the reason of its signal, it would not be started again.
        timeout(Duration::from_secs(60), is_again).await.unwrap().unwrap();
        supervisor.stop().await;
    });
}
