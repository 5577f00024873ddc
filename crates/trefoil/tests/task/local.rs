//! Tasks that are not `Send`.

use crate::support::current_and_multi;
use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use trefoil::runtime::Builder;
use trefoil::runtime::{LocalRuntime, Runtime};
use trefoil::sync::oneshot;
use trefoil::task::{self, LocalSet};

fn runtimes() -> Vec<Runtime> {
    current_and_multi([1, 2])
}

#[test]
fn local_tasks_share_what_is_not_send() {
    for runtime in runtimes() {
        let set = LocalSet::new();
        let log = Rc::new(RefCell::new(Vec::new()));
        let sum = set.block_on(&runtime, async {
            let handles: Vec<_> = (0..100u32)
                .map(|n| {
                    let log = log.clone();
                    task::spawn_local(async move {
                        task::yield_now().await;
                        log.borrow_mut().push(n);
                        Rc::new(n)
                    })
                })
                .collect();
            let mut sum = 0;
            for handle in handles {
                sum += *handle.await.unwrap();
            }
            sum
        });
        assert_eq!((sum, log.borrow().len()), (4950, 100));
    }
}

#[test]
fn a_set_resolves_when_its_tasks_are_done() {
    for runtime in runtimes() {
        let set = LocalSet::new();
        let count = Rc::new(Cell::new(0));
        for n in 0..200u64 {
            let count = count.clone();
            set.spawn_local(async move {
                if n % 3 == 0 {
                    trefoil::time::sleep(Duration::from_micros(n)).await;
                }
                let its = count.clone();
                task::spawn_local(async move { its.set(its.get() + 1) });
                count.set(count.get() + 1);
            });
        }
        runtime.block_on(set);
        assert_eq!(count.get(), 400);
    }
}

#[test]
fn local_tasks_are_woken_from_anywhere() {
    for runtime in runtimes() {
        let set = LocalSet::new();
        for _ in 0..50 {
            let (sender, receiver) = oneshot::channel();
            let alone = Rc::new(1);
            set.spawn_local(async move {
                assert_eq!(receiver.await.unwrap() + *alone, 3);
            });
            runtime.spawn_blocking(move || sender.send(2).unwrap());
        }
        runtime.block_on(set);
    }
}

#[test]
fn a_task_that_awaits_a_set_and_yields_is_not_forgotten() {
    for runtime in runtimes() {
        let set = LocalSet::new();
        set.spawn_local(async {
            for _ in 0..10 {
                task::yield_now().await;
            }
        });
        let set = set.run_until(async {
            for _ in 0..100 {
                task::yield_now().await;
            }
        });
        runtime.block_on(async { trefoil::join!(set, task::yield_now()) });
    }
}

#[test]
fn dropping_a_set_drops_its_tasks_even_when_wakers_remain() {
    for runtime in runtimes() {
        let dropped = Rc::new(Cell::new(0));
        struct Count(Rc<Cell<u32>>);
        impl Drop for Count {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let (sender, receiver) = oneshot::channel::<()>();
        let set = LocalSet::new();
        let (one, two, three) =
            (Count(dropped.clone()), Count(dropped.clone()), Count(dropped.clone()));
        set.spawn_local(async move {
            let _one = one;
            let _ = receiver.await;
        });
        let aborted = set.spawn_local(async move {
            let _two = two;
            pending::<()>().await;
        });
        set.block_on(&runtime, async {
            for _ in 0..5 {
                task::yield_now().await;
            }
        });
        set.spawn_local(async move {
            let _three = three;
        });
        drop(set);
        assert_eq!(dropped.get(), 3);
        assert!(sender.send(()).is_err());
        aborted.abort();
    }
}

#[test]
fn a_local_runtime_spawns_local_tasks_everywhere() {
    let runtime = trefoil::runtime::LocalRuntime::new().unwrap();
    let dropped = Rc::new(Cell::new(false));
    struct OnDrop(Rc<Cell<bool>>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            // The runtime still exists.
            drop(trefoil::spawn(async {}));
            self.0.set(true);
        }
    }
    let on_drop = OnDrop(dropped.clone());
    drop(runtime.spawn_local(async move {
        let _on_drop = on_drop;
        pending::<()>().await;
    }));
    let got = runtime.block_on(async {
        let shared = Rc::new(20);
        let inner = shared.clone();
        let local = task::spawn_local(async move {
            trefoil::time::sleep(Duration::from_millis(1)).await;
            *task::spawn_local(async move { inner }).await.unwrap() + 1
        });
        let sent = trefoil::spawn(async {
            task::yield_now().await;
            1
        });
        *shared + local.await.unwrap() + sent.await.unwrap()
    });
    assert_eq!(got, 42);
    drop(runtime);
    assert!(dropped.get());
}

/// Spawns a local task when it is dropped, and stores whether that was cancelled.
struct SpawnsOnDrop(Arc<AtomicBool>);

impl Drop for SpawnsOnDrop {
    fn drop(&mut self) {
        // Had it waited for a turn, it would not have ended here.
        let spawned = task::spawn_local(pending::<()>());
        self.0.store(spawned.is_finished(), Relaxed);
    }
}

/// A future that waits for ever, and how it was dropped.
fn spawns_on_drop() -> (Arc<AtomicBool>, impl Future<Output = ()> + Send) {
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let value = SpawnsOnDrop(Arc::clone(&is_cancelled));
    let future = async move {
        let _value = value;
        pending::<()>().await;
    };
    (is_cancelled, future)
}

/// As with tokio: a destructor is code of the set whose task it belongs to, and what it spawns into
/// a set that is being dropped is cancelled.
#[test]
fn destructors_may_spawn_into_the_set_that_is_dropped() {
    let set = LocalSet::new();
    let (polled, future) = spawns_on_drop();
    drop(set.spawn_local(future));
    assert!(
        pin!(set.run_until(pending::<()>()))
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    let (fresh, future) = spawns_on_drop();
    drop(set.spawn_local(future));
    // Around the drop, another set is the current one.
    let around = LocalSet::new();
    let _around = around.enter();
    drop(set);
    assert!(polled.load(Relaxed) && fresh.load(Relaxed));
}

#[test]
fn destructors_may_spawn_into_the_local_runtime_that_is_dropped() {
    for in_background in [false, true] {
        let runtime = LocalRuntime::new().unwrap();
        let (local, future) = spawns_on_drop();
        drop(runtime.spawn_local(future));
        let (sent, future) = spawns_on_drop();
        drop(runtime.handle().spawn(future));
        runtime.block_on(task::yield_now());
        if in_background {
            runtime.shutdown_background()
        } else {
            drop(runtime)
        }
        assert!(local.load(Relaxed), "{in_background}");
        assert!(sent.load(Relaxed), "{in_background}");
        // Nothing is left of the runtime's context.
        assert!(std::panic::catch_unwind(|| drop(task::spawn_local(async {}))).is_err());
    }
}

#[trefoil::test(flavor = "local")]
async fn tests_may_be_local() {
    let alone = Rc::new(3);
    assert_eq!(*task::spawn_local(async move { alone }).await.unwrap(), 3);
}

#[test]
#[should_panic(expected = "`spawn_local` called from outside of a `task::LocalSet`")]
fn spawn_local_needs_a_set() {
    drop(task::spawn_local(async {}));
}

#[test]
fn the_context_of_a_local_runtime_takes_local_tasks() {
    let runtime = LocalRuntime::new().unwrap();
    let task = {
        let _context = runtime.enter();
        let value = Rc::new(3);
        task::spawn_local(async move {
            task::yield_now().await;
            *value
        })
    };
    assert_eq!(runtime.block_on(task).unwrap(), 3);
}

#[test]
fn a_handle_to_a_local_runtime_takes_local_tasks_on_its_thread() {
    let runtime = LocalRuntime::new().unwrap();
    let handle = runtime.handle().clone();
    let spawn = |value: i32| {
        let value = Rc::new(value);
        task::spawn_local(async move { *value })
    };
    let entered = {
        let _context = handle.enter();
        spawn(1)
    };
    let blocked = handle.block_on(poll_fn(|_| Poll::Ready(spawn(2))));
    let both = async { (entered.await.unwrap(), blocked.await.unwrap()) };
    assert_eq!(runtime.block_on(both), (1, 2));

    // They are over with the runtime, although there is a handle.
    drop(runtime);
    let late = handle.block_on(poll_fn(|_| Poll::Ready(spawn(3))));
    let other = LocalRuntime::new().unwrap();
    assert!(other.block_on(late).unwrap_err().is_cancelled());

    // On other threads, it takes none, its own blocking ones included.
    let is_refused = || {
        let payload = std::panic::catch_unwind(|| drop(task::spawn_local(async {}))).unwrap_err();
        let text = payload.downcast_ref::<&str>().unwrap();
        assert!(text.contains("only be spawned on a LocalRuntime from the thread"), "{text}");
    };
    let blocking = other.spawn_blocking(is_refused);
    other.block_on(blocking).unwrap();
    let handle = other.handle().clone();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _context = handle.enter();
            is_refused();
        });
    });
}

/// The clone of the waker that a set is polled with is foreign code. Here it wakes a task of the
/// same set.
#[test]
fn the_clone_of_a_sets_waker_wakes_one_of_its_tasks() {
    use std::cell::RefCell;
    use std::task::{Context, RawWaker, RawWakerVTable, Waker};

    thread_local!(static LOCAL_TASK: RefCell<Option<Waker>> = const { RefCell::new(None) });
    const VTABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| (), |_| (), |_| ());
    fn clone(data: *const ()) -> RawWaker {
        LOCAL_TASK.with(|waker| waker.borrow().as_ref().map(Waker::wake_by_ref));
        RawWaker::new(data, &VTABLE)
    }

    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let _context = runtime.enter();
        let mut set = std::pin::pin!(LocalSet::new());
        set.spawn_local(std::future::poll_fn(|cx| {
            LOCAL_TASK.with(|waker| *waker.borrow_mut() = Some(cx.waker().clone()));
            std::task::Poll::<()>::Pending
        }));
        assert!(set.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        // SAFETY: the functions touch no data.
        let hostile = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &VTABLE)) };
        assert!(set.as_mut().poll(&mut Context::from_waker(&hostile)).is_pending());
        LOCAL_TASK.with(|waker| waker.borrow_mut().take());
        sender.send(()).unwrap();
    });
    let watchdog = std::time::Duration::from_secs(20);
    receiver.recv_timeout(watchdog).expect("it waits for its own lock");
}

/// Notes that it was woken.
struct Flag(AtomicBool);

impl Flag {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(false)))
    }

    /// Polls for as long as the polls wake it.
    fn poll<F: Future>(self: &Arc<Self>, mut future: Pin<&mut F>) -> Poll<F::Output> {
        loop {
            self.0.store(false, Relaxed);
            let waker = Waker::from(Arc::clone(self));
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            if polled.is_ready() || !self.is_woken() {
                return polled;
            }
        }
    }

    fn is_woken(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// A task of the set, which waits until the sender is used.
fn task_that_waits(set: &LocalSet) -> (oneshot::Sender<()>, task::JoinHandle<()>) {
    let (release, released) = oneshot::channel();
    (release, set.spawn_local(async { released.await.unwrap() }))
}

/// Sends on another thread.
fn send_elsewhere(release: oneshot::Sender<()>) {
    std::thread::spawn(|| release.send(()).unwrap()).join().unwrap();
}

/// Two tasks wait in `run_until` of one set. The one that polled last is through. The other one is
/// woken for the set's tasks all the same, or nobody would ever poll them.
#[test]
fn each_of_two_tasks_that_poll_a_set_is_woken_for_it() {
    for is_dropped in [false, true] {
        let set = LocalSet::new();
        let (release, work) = task_that_waits(&set);
        let (finish, finished) = oneshot::channel();
        let mut stays = pin!(set.run_until(work));
        let mut goes = Box::pin(set.run_until(finished));
        let [first, second] = [Flag::new(), Flag::new()];
        assert!(first.poll(stays.as_mut()).is_pending());
        assert!(second.poll(goes.as_mut()).is_pending());
        if is_dropped {
            drop((goes, finish));
        } else {
            finish.send(()).unwrap();
            assert!(second.poll(goes.as_mut()).is_ready());
        }
        assert_eq!(Arc::strong_count(&second), 1, "its waker is kept");
        send_elsewhere(release);
        assert!(first.is_woken());
        assert!(first.poll(stays.as_mut()).is_ready());
    }
}

/// A task of a set polls the same set, and whoever polls the set from outside is woken for what
/// another thread wakes.
#[test]
fn a_set_that_one_of_its_tasks_polls_is_polled_from_outside() {
    let set = Rc::new(LocalSet::new());
    let its = set.clone();
    let nested = set.spawn_local(async move { its.run_until(pending::<()>()).await });
    let (release, work) = task_that_waits(&set);
    let mut outside = pin!(set.run_until(work));
    let flag = Flag::new();
    assert!(flag.poll(outside.as_mut()).is_pending());
    send_elsewhere(release);
    assert!(flag.is_woken());
    assert!(flag.poll(outside.as_mut()).is_ready());
    // The task has a reference to its set.
    nested.abort();
    assert!(flag.poll(pin!(set.run_until(nested))).is_ready());
}

/// More tasks are ready than one poll of the set runs. Nothing else would have it polled again.
#[test]
fn what_a_poll_leaves_wakes_whoever_polls_the_set() {
    for tasks in [60, 62] {
        let is_left = tasks > 61;
        let (set, told) = (LocalSet::new(), Flag::new());
        (0..tasks).for_each(|_| drop(set.spawn_local(async {})));
        let waker = Waker::from(Arc::clone(&told));
        let polled = pin!(set.run_until(pending::<()>())).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        assert_eq!(told.is_woken(), is_left, "{tasks}");
    }
}

/// What another thread wakes has its turn beside a task that is always ready.
#[test]
fn what_comes_from_other_threads_is_taken_beside_a_flood() {
    let set = LocalSet::new();
    set.spawn_local(poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::<()>::Pending
    }));
    let (sender, wakers) = std::sync::mpsc::channel();
    let polls = Rc::new(Cell::new(0));
    let its = polls.clone();
    set.spawn_local(poll_fn(move |cx| {
        its.set(its.get() + 1);
        sender.send(cx.waker().clone()).unwrap();
        Poll::<()>::Pending
    }));
    let mut waits = pin!(set.run_until(pending::<()>()));
    let mut poll = || waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
    assert!(poll() && polls.get() == 1);
    let waker: Waker = wakers.recv().unwrap();
    std::thread::spawn(move || waker.wake()).join().unwrap();
    // 61 tasks are polled each time, and others are looked for as often.
    assert!(poll() && poll() && polls.get() == 2);
}
