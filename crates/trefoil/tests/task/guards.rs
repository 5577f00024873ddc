//! Guards of the thread's context that are dropped late, early, in the wrong order, by unrelated
//! code, or never. With AddressSanitizer, this is also a test that nothing is used after it was
//! freed. (Three of the tests leak on purpose, by `forget` and `Box::leak`, which needs
//! `ASAN_OPTIONS=detect_leaks=0`.)

use crate::support::current_thread;
use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use trefoil::runtime::{EnterGuard, Handle, LocalRuntime, Runtime};
use trefoil::task::{self, LocalEnterGuard, LocalSet, spawn_local, yield_now};

/// Runs `f` on a thread of its own, so that its context is used for nothing else.
fn apart(f: impl FnOnce() + Send + 'static) {
    thread::spawn(f).join().unwrap();
}

fn single() -> Runtime {
    current_thread()
}

/// Overwrites memory that was just freed.
fn fill() {
    drop((0..64).map(|n| vec![0x41u8; 64 + n * 8]).collect::<Vec<_>>());
}

/// Whether `spawn_local` finds a set.
fn is_in_a_set() -> bool {
    fill();
    let spawned = catch_unwind(|| drop(spawn_local(async {})));
    if let Err(payload) = &spawned {
        let text = payload.downcast_ref::<&str>().unwrap();
        assert!(text.contains("outside of a `task::LocalSet`"), "{text}");
    }
    spawned.is_ok()
}

/// Stores on which thread it was dropped.
struct Told(mpsc::Sender<thread::ThreadId>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send(thread::current().id());
    }
}

#[test]
fn sets_left_in_the_order_of_their_entering() {
    apart(|| {
        let (a, b) = (LocalSet::new(), LocalSet::new());
        let of_a = a.enter();
        let of_b = b.enter();
        drop(of_a);
        drop(a);
        drop(of_b);
        assert!(!is_in_a_set());
        drop(b);
    });
}

#[test]
fn the_newest_guard_that_is_left_decides() {
    apart(|| {
        let sets: Vec<LocalSet> = (0..3).map(|_| LocalSet::new()).collect();
        let runtime = single();
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut guards: Vec<_> = sets.iter().map(|set| Some(set.enter())).collect();
            for left in order {
                let newest = guards.iter().rposition(Option::is_some).unwrap();
                let spawned = spawn_local(async {});
                assert!(!spawned.is_finished());
                // Only its own set runs the task.
                sets[newest].block_on(&runtime, spawned).unwrap();
                guards[left] = None;
            }
            assert!(!is_in_a_set());
        }
    });
}

#[test]
fn a_guard_held_across_an_await_in_another_set() {
    apart(|| {
        let runtime = single();
        let (a, b) = (LocalSet::new(), LocalSet::new());
        let kept = RefCell::new(None);
        b.block_on(&runtime, async {
            let of_a = a.enter();
            yield_now().await;
            // The set that is being polled is the newest again.
            spawn_local(async {}).await.unwrap();
            *kept.borrow_mut() = Some(of_a);
        });
        drop(b);
        // The set `b` was dropped. Only the guard of `a` is left.
        let spawned = spawn_local(async {});
        a.block_on(&runtime, spawned).unwrap();
        drop(kept);
        drop(a);
        assert!(!is_in_a_set());
    });
}

#[test]
fn a_guard_that_outlives_the_poll_it_was_made_in_and_its_set() {
    apart(|| {
        let (a, b) = (LocalSet::new(), LocalSet::new());
        let mut cx = Context::from_waker(Waker::noop());
        let of_b = {
            let mut in_a = Box::pin(a.run_until(async {
                let of_b = b.enter();
                yield_now().await;
                of_b
            }));
            assert!(in_a.as_mut().poll(&mut cx).is_pending());
            let Poll::Ready(of_b) = in_a.as_mut().poll(&mut cx) else { panic!("it has yielded") };
            of_b
        };
        drop(a);
        drop(of_b);
        assert!(!is_in_a_set());
        drop(b);
    });
}

#[test]
fn local_runtimes_left_in_the_order_of_their_entering() {
    apart(|| {
        let (a, b) = (LocalRuntime::new().unwrap(), LocalRuntime::new().unwrap());
        let of_a = a.enter();
        let of_b = b.enter();
        catch_unwind(AssertUnwindSafe(|| drop(of_a))).unwrap_err();
        drop(a);
        assert_eq!(Handle::current().id(), b.handle().id());
        assert!(is_in_a_set());
        drop(of_b);
        fill();
        assert!(Handle::try_current().is_err());
        assert!(!is_in_a_set());
    });
}

#[test]
fn tasks_for_a_set_that_is_gone_are_cancelled_where_they_are_spawned() {
    apart(|| {
        let set = LocalSet::new();
        let guard = set.enter();
        drop(set);
        let (told, dropped) = mpsc::channel();
        let (told, alone) = (Told(told), Rc::new(()));
        let join = spawn_local(async move {
            let _its = (told, alone);
            pending::<()>().await;
        });
        assert_eq!(dropped.try_recv(), Ok(thread::current().id()));
        drop(guard);
        assert!(single().block_on(join).unwrap_err().is_cancelled());
    });
}

#[test]
fn a_guard_that_is_leaked_stays_in_force_and_keeps_no_tasks() {
    apart(|| {
        let set = LocalSet::new();
        forget(set.enter());
        let other = LocalSet::new();
        drop(other.enter());
        other.block_on(&single(), async { spawn_local(async {}).await.unwrap() });
        drop((set, other));
        let join = spawn_local(async {});
        assert!(join.is_finished());
        assert!(single().block_on(join).unwrap_err().is_cancelled());
    });
    // The same with runtimes.
    apart(|| {
        let (leaked, other) = (single(), single());
        forget(leaked.enter());
        let (id, its) = other.block_on(async { (Handle::current().id(), other.handle().id()) });
        assert_eq!(id, its);
        drop(other.enter());
        let id = leaked.handle().id();
        drop((leaked, other));
        fill();
        assert_eq!(Handle::current().id(), id);
    });
}

#[test]
fn a_runtime_guard_leaked_in_block_on_does_not_make_it_panic() {
    apart(|| {
        let (outer, inner) = (single(), single());
        outer.block_on(async { forget(inner.enter()) });
        assert_eq!(Handle::current().id(), inner.handle().id());
    });
}

#[test]
fn a_runtime_guard_leaked_by_a_local_task_does_not_make_the_end_panic() {
    struct Leaks(Handle);
    impl Drop for Leaks {
        fn drop(&mut self) {
            assert!(Handle::try_current().is_ok(), "destructors may use the runtime");
            forget(self.0.enter());
        }
    }
    for shuts_down in [false, true] {
        apart(move || {
            let (outer, inner) = (LocalRuntime::new().unwrap(), single());
            let leaks = Leaks(inner.handle().clone());
            outer.spawn_local(async move {
                let _leaks = leaks;
                pending::<()>().await;
            });
            outer.block_on(yield_now());
            if shuts_down {
                outer.shutdown_timeout(Duration::from_secs(600));
            } else {
                drop(outer);
            }
            assert_eq!(Handle::current().id(), inner.handle().id());
        });
    }
}

#[test]
fn runtimes_left_in_the_wrong_order_are_a_panic_and_left_all_the_same() {
    apart(|| {
        let runtimes: Vec<Runtime> = (0..3).map(|_| single()).collect();
        let mut guards: Vec<_> = runtimes.iter().map(|runtime| Some(runtime.enter())).collect();
        let wrong = catch_unwind(AssertUnwindSafe(|| guards[1] = None)).unwrap_err();
        let text = wrong.downcast_ref::<&str>().unwrap();
        assert!(text.contains("in the reverse order of their making"), "{text}");
        assert_eq!(Handle::current().id(), runtimes[2].handle().id());
        guards[2] = None;
        fill();
        // It is not the runtime in the middle, whose guard was dropped.
        assert_eq!(Handle::current().id(), runtimes[0].handle().id());
        guards[0] = None;
        assert!(Handle::try_current().is_err());
    });
}

#[test]
fn guards_dropped_while_a_panic_is_under_way() {
    apart(|| {
        let (a, b) = (single(), single());
        let (set, other) = (LocalSet::new(), LocalSet::new());
        catch_unwind(AssertUnwindSafe(|| {
            // Fields are dropped in the order of their declaration, which is the wrong one here.
            let _guards = (a.enter(), b.enter(), set.enter(), other.enter());
            panic!("on purpose");
        }))
        .unwrap_err();
        drop((a, b, set, other));
        fill();
        assert!(Handle::try_current().is_err());
        assert!(!is_in_a_set());
    });
}

thread_local! {
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
    static GUARD: RefCell<Option<EnterGuard<'static>>> = const { RefCell::new(None) };
    static SET: RefCell<Option<(LocalSet, LocalEnterGuard)>> = const { RefCell::new(None) };
}

/// Dropped when the thread ends.
struct Late {
    guards: Option<(LocalEnterGuard, LocalEnterGuard)>,
    sets: Option<(LocalSet, LocalSet)>,
    told: mpsc::Sender<bool>,
}

impl Drop for Late {
    fn drop(&mut self) {
        let spawned = spawn_local(async {});
        self.sets = None;
        assert!(spawned.is_finished());
        self.guards = None;
        let _ = self.told.send(is_in_a_set());
    }
}

#[test]
fn guards_and_sets_that_go_when_the_thread_does() {
    let (told, is_in_a_set) = mpsc::channel();
    apart(move || {
        let (a, b) = (LocalSet::new(), LocalSet::new());
        let guards = Some((a.enter(), b.enter()));
        LATE.with(|late| *late.borrow_mut() = Some(Late { guards, sets: Some((a, b)), told }));
    });
    assert_eq!(is_in_a_set.recv(), Ok(false));
}

/// Drops the current set and its guard.
struct DropsTheSet;

impl Wake for DropsTheSet {
    fn wake(self: Arc<Self>) {
        drop(SET.with(|set| set.borrow_mut().take()));
        fill();
    }
}

#[test]
fn the_current_set_goes_while_a_task_is_spawned_into_it() {
    apart(|| {
        let mut set = LocalSet::new();
        drop(set.spawn_local(pending::<()>()));
        // A spawn into the set wakes the task that polls the set.
        let waker = Waker::from(Arc::new(DropsTheSet));
        assert!(pin!(&mut set).poll(&mut Context::from_waker(&waker)).is_pending());
        let guard = set.enter();
        SET.with(|cell| *cell.borrow_mut() = Some((set, guard)));
        let join = spawn_local(pending::<()>());
        assert!(join.is_finished());
        assert!(!is_in_a_set());
    });
}

#[test]
fn the_current_set_goes_while_a_task_of_it_is_woken() {
    apart(|| {
        let mut set = LocalSet::new();
        let waker = Waker::from(Arc::new(DropsTheSet));
        let (sender, receiver) = trefoil::sync::oneshot::channel::<()>();
        let join = set.spawn_local(receiver);
        assert!(pin!(&mut set).poll(&mut Context::from_waker(&waker)).is_pending());
        let guard = set.enter();
        SET.with(|cell| *cell.borrow_mut() = Some((set, guard)));
        sender.send(()).unwrap();
        assert!(join.is_finished());
        assert!(!is_in_a_set());
    });
}

/// Leaves the current runtime.
struct Leaves;

impl Drop for Leaves {
    fn drop(&mut self) {
        drop(GUARD.with(|guard| guard.borrow_mut().take()));
        fill();
    }
}

#[test]
fn the_current_runtime_is_left_while_a_task_is_spawned_into_it() {
    for multi in [false, true] {
        apart(move || {
            let runtime = if multi { Runtime::new().unwrap() } else { single() };
            let handle: &'static Handle = Box::leak(Box::new(runtime.handle().clone()));
            GUARD.with(|guard| *guard.borrow_mut() = Some(handle.enter()));
            // A task that is spawned now is dropped at once.
            runtime.shutdown_timeout(Duration::from_secs(600));
            let leaves = Leaves;
            let join = task::spawn(async move {
                let _leaves = leaves;
                pending::<()>().await;
            });
            assert!(join.is_finished());
            assert!(Handle::try_current().is_err());
        });
    }
}

#[test]
fn guards_in_tasks_that_go_with_their_set() {
    apart(|| {
        let runtime = single();
        let (a, b) = (Rc::new(LocalSet::new()), Rc::new(LocalSet::new()));
        let polled = Rc::new(Cell::new(0));
        for (set, entered) in [(&a, &b), (&b, &a), (&a, &a)] {
            let (entered, polled) = (Rc::downgrade(entered), polled.clone());
            set.spawn_local(async move {
                let _guard = entered.upgrade().unwrap().enter();
                polled.set(polled.get() + 1);
                pending::<()>().await;
            });
        }
        a.block_on(&runtime, yield_now());
        b.block_on(&runtime, yield_now());
        assert_eq!(polled.get(), 3);
        assert!(is_in_a_set());
        drop(a);
        assert!(is_in_a_set());
        drop(b);
        assert!(!is_in_a_set());
    });
}
