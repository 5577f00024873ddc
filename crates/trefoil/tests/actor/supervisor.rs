//! Supervisors: who is started again, in which order, and when they give up.

#![cfg(not(loom))]

use crate::support::{self, current_and_multi, current_thread};
use parking_lot::Mutex;
use std::future::{Future, pending};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use trefoil::actor::supervisor::{
    Child, Handle, Restart, StartError, Starter, Strategy, Supervisor, TooManyRestarts,
};
use trefoil::actor::{self, Address, Context, Event, ExitReason, Pid, Registry};
use trefoil::sync::oneshot;
use trefoil::task;

const HOUR: Duration = Duration::from_secs(3600);

/// Runs a test on each kind of runtime.
fn each<F: Future<Output = ()>>(test: impl Fn() -> F) {
    for runtime in current_and_multi([1, 3]) {
        runtime.block_on(test());
    }
}

/// What has happened, in its order, and who is there.
#[derive(Clone, Default)]
struct World {
    log: Arc<Mutex<Vec<String>>>,
    names: Registry,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Fail,
    Return,
}

/// Says in the log when an actor's state is dropped.
struct Stops(World, &'static str);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.log.lock().push(format!("-{}", self.1));
    }
}

impl World {
    /// What has happened since the last call.
    fn log(&self) -> String {
        self.log.lock().drain(..).collect::<Vec<_>>().join(" ")
    }

    fn find(&self, name: &str) -> Address<Order> {
        self.names.find(name).unwrap()
    }

    /// Starts a child that does what it is told.
    fn start(&self, starter: Starter<'_>, name: &'static str) {
        let stops = Stops(self.clone(), name);
        let address = starter.spawn(async move |mut own: Context<Order>| {
            let _stops = stops;
            match own.receive().await.unwrap() {
                Order::Fail => panic!("as told"),
                Order::Return => {}
            }
        });
        self.log.lock().push(format!("+{name}"));
        // Last: whoever finds the name finds the line in the log.
        self.names.register(name, &address).unwrap();
    }

    fn child(&self, name: &'static str) -> Child {
        let world = self.clone();
        Child::new(name, move |starter| {
            world.start(starter, name);
            Ok(())
        })
    }

    fn abc(&self, strategy: Strategy) -> Supervisor {
        let supervisor = Supervisor::new(strategy).intensity(10, HOUR);
        ["a", "b", "c"]
            .into_iter()
            .fold(supervisor, |supervisor, name| supervisor.child(self.child(name)))
    }

    /// Has a child end, and waits until its supervisor has dealt with it.
    async fn tell(&self, supervisor: &Handle, name: &str, order: Order) {
        let child = self.find(name);
        child.send(order).await.unwrap();
        child.join().await;
        supervisor.children().await.unwrap();
    }
}

#[test]
fn one_for_one_restarts_that_child() {
    each(|| async {
        let world = World::default();
        let supervisor = world.abc(Strategy::OneForOne).start().await.unwrap();
        assert_eq!(world.log(), "+a +b +c");
        let before = world.find("a");
        world.tell(&supervisor, "b", Order::Fail).await;
        assert_eq!(world.log(), "-b +b");
        assert_eq!(world.find("a"), before);
        // A permanent child is restarted whatever the reason.
        world.tell(&supervisor, "b", Order::Return).await;
        assert_eq!(world.log(), "-b +b");
        let status = supervisor.children().await.unwrap();
        let restarts: Vec<_> =
            status.iter().map(|status| (&*status.name, status.restarts)).collect();
        assert_eq!(restarts, [("a", 0), ("b", 2), ("c", 0)]);
        assert_eq!(status[1].pid, Some(world.find("b").pid()));
        assert!(matches!(supervisor.stop().await, ExitReason::Shutdown));
    });
}

#[test]
fn one_for_all_restarts_all_in_order() {
    each(|| async {
        let world = World::default();
        let supervisor = world.abc(Strategy::OneForAll).start().await.unwrap();
        world.log();
        world.tell(&supervisor, "b", Order::Fail).await;
        assert_eq!(world.log(), "-b -c -a +a +b +c");
        supervisor.stop().await;
    });
}

#[test]
fn rest_for_one_restarts_those_after() {
    each(|| async {
        let world = World::default();
        let supervisor = world.abc(Strategy::RestForOne).start().await.unwrap();
        world.log();
        world.tell(&supervisor, "b", Order::Fail).await;
        assert_eq!(world.log(), "-b -c +b +c");
        world.tell(&supervisor, "c", Order::Fail).await;
        assert_eq!(world.log(), "-c +c");
        supervisor.stop().await;
    });
}

#[test]
fn children_stop_in_reverse() {
    current_thread_paused(async {
        let world = World::default();
        let its = world.clone();
        let stubborn = Child::new("stubborn", move |starter: Starter<'_>| {
            let stops = Stops(its.clone(), "stubborn");
            starter.spawn(async move |mut own: Context<()>| {
                let _stops = stops;
                own.trap_exit(true);
                pending::<()>().await;
            });
            Ok(())
        });
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .child(world.child("a"))
            .child(stubborn.grace(Duration::from_secs(60)))
            .child(world.child("c"));
        let supervisor = supervisor.start().await.unwrap();
        world.log();
        let start = trefoil::time::Instant::now();
        assert!(matches!(supervisor.stop().await, ExitReason::Shutdown));
        assert_eq!(world.log(), "-c -stubborn -a");
        // It had its time, and no more. (Time is virtual here.)
        let took = start.elapsed();
        assert!(took >= Duration::from_secs(60) && took < Duration::from_secs(61), "{took:?}");
    });
}

/// Runs a test in virtual time.
fn current_thread_paused(test: impl Future<Output = ()>) {
    let runtime = trefoil::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(test);
}

#[test]
fn a_child_without_grace_is_aborted_at_once() {
    // Without timers, too.
    let runtime = trefoil::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (tell, told) = oneshot::channel();
        let mut tell = Some(tell);
        let child = Child::new("deaf", move |starter: Starter<'_>| {
            let deaf = starter.spawn(async |mut own: Context<()>| {
                own.trap_exit(true);
                own.receive().await.unwrap();
            });
            tell.take().unwrap().send(deaf).unwrap();
            Ok(())
        });
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child.grace(Duration::ZERO));
        let supervisor = supervisor.start().await.unwrap();
        let deaf = told.await.unwrap();
        supervisor.stop().await;
        assert!(matches!(deaf.join().await, ExitReason::Aborted));
    });
}

#[test]
fn transient_and_temporary_children() {
    each(|| async {
        let world = World::default();
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .intensity(10, HOUR)
            .child(world.child("transient").restart(Restart::Transient))
            .child(world.child("temporary").restart(Restart::Temporary))
            .start()
            .await
            .unwrap();
        world.log();
        world.tell(&supervisor, "transient", Order::Fail).await;
        assert_eq!(world.log(), "-transient +transient");
        world.tell(&supervisor, "temporary", Order::Fail).await;
        assert_eq!(world.log(), "-temporary");
        world.tell(&supervisor, "transient", Order::Return).await;
        assert_eq!(world.log(), "-transient");
        // The one is remembered, and the other is not.
        let status = supervisor.children().await.unwrap();
        assert_eq!(status.len(), 1);
        assert_eq!((&*status[0].name, status[0].pid), ("transient", None));
        supervisor.stop().await;
        assert!(supervisor.children().await.is_err());
    });
}

#[test]
fn a_transient_child_that_has_returned_is_restarted_with_others() {
    each(|| async {
        let world = World::default();
        let supervisor = Supervisor::new(Strategy::OneForAll)
            .intensity(10, HOUR)
            .child(world.child("transient").restart(Restart::Transient))
            .child(world.child("b"))
            .start()
            .await
            .unwrap();
        world.log();
        world.tell(&supervisor, "transient", Order::Return).await;
        assert_eq!(world.log(), "-transient");
        assert_eq!(supervisor.children().await.unwrap()[0].pid, None);
        world.tell(&supervisor, "b", Order::Fail).await;
        assert_eq!(world.log(), "-b +transient +b");
        let status = supervisor.children().await.unwrap();
        assert!(status[0].pid.is_some());
        assert_eq!(status[0].restarts, 1);
        supervisor.stop().await;
    });
}

/// Otherwise this would wait for ever.
#[test]
fn a_start_does_not_wait_for_what_a_child_does_first() {
    let runtime = support::multi(2);
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let child = Child::task("child", move |_: Context<()>| {
        let released = Arc::clone(&released);
        async move { task::block_in_place(|| released.lock().recv().unwrap()) }
    });
    let supervisor = Supervisor::new(Strategy::OneForOne).child(child.restart(Restart::Temporary));
    let supervisor = runtime.block_on(supervisor.start()).unwrap();
    release.send(()).unwrap();
    runtime.block_on(supervisor.stop());
}

#[test]
fn a_temporary_child_is_not_restarted_with_others() {
    each(|| async {
        let world = World::default();
        let supervisor = Supervisor::new(Strategy::OneForAll)
            .intensity(10, HOUR)
            .child(world.child("temporary").restart(Restart::Temporary))
            .child(world.child("b"))
            .start()
            .await
            .unwrap();
        world.log();
        world.tell(&supervisor, "b", Order::Fail).await;
        assert_eq!(world.log(), "-b -temporary +b");
        supervisor.stop().await;
    });
}

#[test]
fn too_many_restarts_are_an_error() {
    each(|| async {
        let world = World::default();
        let supervisor = world.abc(Strategy::OneForOne).intensity(2, HOUR);
        let supervisor = supervisor.start().await.unwrap();
        world.log();
        world.tell(&supervisor, "a", Order::Fail).await;
        world.tell(&supervisor, "b", Order::Fail).await;
        world.log();
        let last = world.find("c");
        last.send(Order::Fail).await.unwrap();
        let ExitReason::Error(error) = supervisor.join().await else { panic!("it goes on") };
        assert_eq!(world.log(), "-c -b -a");
        let error: &TooManyRestarts = error.downcast_ref().unwrap();
        assert_eq!((&*error.child, error.max_restarts), ("c", 2));
    });
}

#[test]
fn restarts_are_forgotten_after_their_period() {
    current_thread_paused(async {
        let world = World::default();
        let supervisor = world.abc(Strategy::OneForOne).intensity(1, HOUR);
        let supervisor = supervisor.start().await.unwrap();
        for _ in 0..5 {
            world.tell(&supervisor, "a", Order::Fail).await;
            trefoil::time::sleep(HOUR + Duration::from_secs(1)).await;
        }
        world.tell(&supervisor, "a", Order::Fail).await;
        world.find("b").send(Order::Fail).await.unwrap();
        assert!(matches!(supervisor.join().await, ExitReason::Error(_)));
    });
}

fn failing(text: &'static str) -> Child {
    Child::new("bad", move |_| Err(text.into()))
}

#[test]
fn a_child_that_fails_to_start_stops_those_before() {
    type Bad = fn() -> Child;
    let starts: [(Bad, &str); 4] = [
        (|| failing("no luck"), "no luck"),
        (|| Child::new("bad", |_| panic!("much worse")), "much worse"),
        (|| Child::new("bad", |_| Ok(())), "spawned no actor"),
        (
            || {
                Child::supervisor("bad", || {
                    Supervisor::new(Strategy::OneForOne).child(failing("deep down"))
                })
            },
            "deep down",
        ),
    ];
    for (bad, text) in starts {
        each(|| async {
            let world = World::default();
            let supervisor = Supervisor::new(Strategy::OneForOne)
                .child(world.child("a"))
                .child(world.child("b"))
                .child(bad())
                .child(world.child("never"));
            let error: StartError = supervisor.start().await.unwrap_err();
            assert_eq!(error.child(), Some("bad"));
            assert!(error.to_string().contains(text), "{error}");
            assert_eq!(world.log(), "+a +b -b -a");
        });
    }
}

#[test]
fn what_a_failed_start_has_spawned_is_aborted() {
    each(|| async {
        let world = World::default();
        let its = world.clone();
        let child = Child::new("half", move |starter| {
            its.start(starter, "half");
            Err("and then".into())
        });
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child);
        assert!(supervisor.start().await.is_err());
        assert_eq!(world.log(), "+half -half");
    });
}

#[test]
fn a_start_that_fails_is_tried_again() {
    each(|| async {
        let world = World::default();
        let attempts = Arc::new(AtomicUsize::new(0));
        let (its, counted) = (world.clone(), attempts.clone());
        let child = Child::new("c", move |starter| {
            // The first one succeeds, and then the fourth.
            if (1..3).contains(&counted.fetch_add(1, SeqCst)) {
                return Err("not yet".into());
            }
            its.start(starter, "c");
            Ok(())
        });
        let supervisor = Supervisor::new(Strategy::OneForAll)
            .intensity(10, HOUR)
            .child(world.child("a"))
            .child(child)
            .child(world.child("d"))
            .start()
            .await
            .unwrap();
        world.log();
        world.find("d").send(Order::Fail).await.unwrap();
        while attempts.load(SeqCst) < 4 || supervisor.children().await.unwrap()[2].pid.is_none() {
            task::yield_now().await;
        }
        // Three restarts, each of which starts from the beginning.
        assert_eq!(world.log(), "-d -c -a +a -a +a -a +a +c +d");
        supervisor.stop().await;

        // For ever, it is too often; and it can be stopped in between.
        for stop in [false, true] {
            let attempts = Arc::new(AtomicUsize::new(0));
            let (its, counted) = (world.clone(), attempts.clone());
            let child = Child::new("c", move |starter| {
                if counted.fetch_add(1, SeqCst) > 0 {
                    return Err("never again".into());
                }
                its.start(starter, "c");
                Ok(())
            });
            let most = if stop { u32::MAX } else { 5 };
            let supervisor = Supervisor::new(Strategy::OneForOne).intensity(most, HOUR);
            let supervisor = supervisor.child(child).start().await.unwrap();
            world.find("c").send(Order::Fail).await.unwrap();
            if stop {
                while attempts.load(SeqCst) < 100 {
                    task::yield_now().await;
                }
                assert!(matches!(supervisor.stop().await, ExitReason::Shutdown));
            } else {
                assert!(matches!(supervisor.join().await, ExitReason::Error(_)));
                assert_eq!(attempts.load(SeqCst), 6);
            }
        }
    });
}

#[test]
fn an_exit_signal_stops_a_supervisor() {
    each(|| async {
        let world = World::default();
        let supervisor = world.abc(Strategy::OneForOne).start().await.unwrap();
        world.log();
        let pid = supervisor.pid();
        pid.exit(ExitReason::error("enough")).unwrap();
        let ExitReason::Error(error) = supervisor.join().await else { panic!("another reason") };
        assert_eq!(error.to_string(), "enough");
        assert_eq!(world.log(), "-c -b -a");
    });
}

/// Its mailbox is gone when the recipes of its children are dropped.
#[test]
fn a_supervisor_ends_for_its_own_reason() {
    struct Fails(Arc<OnceLock<Pid>>);
    impl Drop for Fails {
        fn drop(&mut self) {
            let supervisor = self.0.get().expect("it has begun");
            assert!(supervisor.exit(ExitReason::error("too late")).is_ok());
        }
    }
    each(|| async {
        let pid = Arc::new(OnceLock::new());
        let fails = Fails(Arc::clone(&pid));
        let child = Child::new("with a destructor", move |starter| {
            let _ = &fails;
            starter.spawn(async |mut own: Context<()>| assert!(own.receive().await.is_err()));
            Ok(())
        });
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start().await.unwrap();
        pid.set(supervisor.pid()).unwrap();
        assert!(matches!(supervisor.stop().await, ExitReason::Shutdown));
    });
}

#[test]
fn a_supervisor_that_is_aborted_takes_its_children_along() {
    each(|| async {
        let world = World::default();
        let supervisor = world.abc(Strategy::OneForOne).start().await.unwrap();
        let children = ["a", "b", "c"].map(|name| world.find(name));
        supervisor.abort();
        for child in children {
            assert!(matches!(child.join().await, ExitReason::Aborted));
        }
        assert!(matches!(supervisor.join().await, ExitReason::Aborted));
    });
}

#[test]
fn a_supervisor_is_linked_to_who_starts_it() {
    each(|| async {
        let world = World::default();
        let its = world.clone();
        let (tell, told) = oneshot::channel();
        let parent = actor::spawn(async move |mut own: Context<()>| {
            let supervisor = its.abc(Strategy::OneForOne).start_link(&own).await.unwrap();
            tell.send(supervisor).unwrap();
            own.receive().await.unwrap();
            panic!("the parent fails");
        });
        let supervisor = told.await.unwrap();
        world.log();
        parent.send(()).await.unwrap();
        assert!(supervisor.join().await.as_panic().is_some());
        assert_eq!(world.log(), "-c -b -a");

        // If it does not start, its starter is told twice.
        let parent = actor::spawn(async |mut own: Context<()>| {
            own.trap_exit(true);
            let supervisor = Supervisor::new(Strategy::OneForOne).child(failing("no luck"));
            assert!(supervisor.start_link(&own).await.is_err());
            assert!(matches!(own.next().await, Ok(Event::Exit { from: Some(_), .. })));
        });
        assert!(parent.join().await.is_normal());
    });
}

#[test]
fn supervisors_supervise_supervisors() {
    each(|| async {
        let world = World::default();
        let its = world.clone();
        let below = Child::supervisor("below", move || {
            Supervisor::new(Strategy::OneForOne)
                .intensity(1, HOUR)
                .child(its.child("b"))
                .child(its.child("c"))
        });
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .intensity(1, HOUR)
            .child(world.child("a"))
            .child(below)
            .start()
            .await
            .unwrap();
        assert_eq!(world.log(), "+a +b +c");
        // The second failure is too much for the one below, and is the first one above.
        for log in ["-c +c", "-c -b +b +c"] {
            let (child, restarts) = (world.find("c"), world.names.clone());
            child.send(Order::Fail).await.unwrap();
            child.join().await;
            while !matches!(restarts.find::<Order>("c"), Ok(next) if next != child) {
                task::yield_now().await;
            }
            supervisor.children().await.unwrap();
            assert_eq!(world.log(), log);
        }
        assert_eq!(supervisor.children().await.unwrap()[1].restarts, 1);
        supervisor.stop().await;
        assert_eq!(world.log(), "-c -b -a");
    });
}

/// A child that ends before its supervisor listens is restarted all the same.
#[test]
fn a_child_that_ends_at_once_is_too_much() {
    each(|| async {
        let starts = Arc::new(AtomicUsize::new(0));
        let counted = starts.clone();
        let hasty = Child::task("hasty", async move |_: Context<()>| {
            counted.fetch_add(1, SeqCst);
        });
        let supervisor = Supervisor::new(Strategy::OneForOne).intensity(20, HOUR).child(hasty);
        let reason = supervisor.start().await.unwrap().join().await;
        assert!(matches!(reason, ExitReason::Error(_)), "{reason:?}");
        assert_eq!(starts.load(SeqCst), 21);
    });
}

#[cfg(all(unix, not(trefoil_tsan)))]
#[test]
fn a_child_may_be_a_fiber() {
    let runtime = support::multi(2);
    runtime.block_on(async {
        let registry = Registry::new();
        let names = registry.clone();
        let child = Child::new("fiber", move |starter: Starter<'_>| {
            let fiber = starter.capacity(1).stack_size(1 << 16).spawn_fiber(
                |mut own: Context<Order>| {
                    let order = own.blocking_receive().unwrap();
                    assert_eq!(order, Order::Return, "as told");
                },
            )?;
            names.register("fiber", &fiber)?;
            Ok(())
        });
        let supervisor = Supervisor::new(Strategy::OneForOne).child(child).start().await.unwrap();
        let first = registry.find::<Order>("fiber").unwrap();
        first.send(Order::Fail).await.unwrap();
        assert!(first.join().await.as_panic().is_some());
        assert_eq!(supervisor.children().await.unwrap()[0].restarts, 1);
        let second = registry.find::<Order>("fiber").unwrap();
        assert_ne!(first, second);
        supervisor.stop().await;
        assert!(matches!(second.join().await, ExitReason::Shutdown));
    });
}

#[test]
fn a_supervisor_without_children_waits() {
    current_thread().block_on(async {
        let supervisor = Supervisor::new(Strategy::OneForAll).start().await.unwrap();
        assert_eq!(supervisor.children().await.unwrap(), []);
        assert!(matches!(supervisor.stop().await, ExitReason::Shutdown));
        assert!(matches!(supervisor.stop().await, ExitReason::Shutdown));
    });
}

/// Reports of stalls are made once for each such place.
#[test]
fn a_child_that_is_a_task_comes_from_where_it_was_declared() {
    async fn waits(own: Context<()>) {
        let _own = own;
        std::future::pending::<()>().await;
    }
    let places = Arc::new(Mutex::new(Vec::new()));
    let its = places.clone();
    let runtime = trefoil::runtime::Builder::new_current_thread()
        .enable_all()
        .on_task_spawn(move |task| {
            if task.name().is_some() {
                its.lock().push(task.spawned_at());
            }
        })
        .build()
        .unwrap();
    runtime.block_on(async {
        let supervisor = Supervisor::new(Strategy::OneForOne)
            .name("supervisor")
            .child(Child::task("one", waits))
            .child(Child::task("other", waits));
        supervisor.start().await.unwrap().stop().await;
    });
    let places = places.lock();
    assert_eq!(places.len(), 3);
    assert!(places.iter().all(|place| place.file() == file!()), "{places:?}");
    assert_ne!(places[1], places[2]);
}
