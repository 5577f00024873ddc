//! Races between two or three threads that are small enough for an interpreter: Miri looks at them
//! under the rules of memory, with many schedules and with what weak memory may show.
//!
//! What is asserted is only what every schedule has to end with. What Miri finds is the rest: that
//! nobody touches what another thread has freed, or what is another's alone.

mod support;

use parking_lot::Mutex;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Waker};
use std::thread;
use support::{Alive, current_thread, fib, multi};
use trefoil::fork_join::{join, scope};
use trefoil::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use trefoil::runtime::LocalRuntime;
use trefoil::sync::{Notify, RwLock, Semaphore, broadcast, mpmc, mpsc, oneshot, watch};
use trefoil::task::{JoinSet, LocalSet, block_in_place, spawn_blocking, yield_now};

/// Polls once, with a waker of no consequence.
fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Waits in all of these, gives up in the midst, then at the front, and waits in the rest again.
fn leave_in_disorder<F: Future>(futures: impl IntoIterator<Item = F>) {
    let mut waits: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let poll_all = |waits: &mut Vec<Pin<Box<F>>>| {
        waits.retain_mut(|wait| poll_once(wait.as_mut()).is_pending());
    };
    poll_all(&mut waits);
    drop((waits.len() > 1).then(|| waits.remove(1)));
    drop((!waits.is_empty()).then(|| waits.remove(0)));
    poll_all(&mut waits);
}

/// Runs closures on threads of their own, all at once.
fn at_once(closures: Vec<Box<dyn FnOnce() + Send + '_>>) {
    let barrier = Barrier::new(closures.len());
    thread::scope(|scope| {
        for closure in closures {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                closure();
            });
        }
    });
}

/// What counts itself, as the output of a task.
async fn lives_for(yields: u32, alive: Alive) -> Alive {
    for _ in 0..yields {
        yield_now().await;
    }
    alive
}

#[test]
fn a_task_is_joined_aborted_and_detached_while_it_ends() {
    let count = Arc::new(AtomicUsize::new(0));
    let runtime = multi(1);
    for yields in 0..3 {
        let [joined, detached] =
            [(); 2].map(|()| runtime.spawn(lives_for(yields, Alive::new(&count))));
        let (one, other) = (joined.abort_handle(), detached.abort_handle());
        at_once(vec![
            Box::new(|| drop(current_thread().block_on(joined))),
            Box::new(|| drop(detached)),
            Box::new(move || {
                one.abort();
                let _ = other.is_finished();
                other.abort();
            }),
        ]);
    }
    drop(runtime);
    assert_eq!(count.load(SeqCst), 0);
}

/// Waits for ever, and gives its waker away at each poll.
struct GivesWaker(std::sync::mpsc::Sender<Waker>);

impl Future for GivesWaker {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let _ = self.0.send(cx.waker().clone());
        Poll::Pending
    }
}

/// Wakes with what comes, and a last time when there is no more.
fn wake_all(wakers: std::sync::mpsc::Receiver<Waker>) {
    let mut kept = Vec::new();
    for waker in wakers.iter().take(5) {
        waker.wake_by_ref();
        kept.push(waker);
    }
    kept.extend(wakers.iter());
    for waker in kept {
        let last = waker.clone();
        waker.wake();
        drop(last);
    }
}

#[test]
fn wakers_outlive_their_tasks_and_their_runtime() {
    for runtime in support::current_and_multi([1, 2]) {
        let (sender, wakers) = std::sync::mpsc::channel();
        let task = runtime.spawn(GivesWaker(sender));
        at_once(vec![
            Box::new(move || {
                runtime.block_on(async {
                    for _ in 0..3 {
                        yield_now().await;
                    }
                });
                drop(runtime);
            }),
            Box::new(|| wake_all(wakers)),
            Box::new(|| drop(task)),
        ]);
    }
}

#[test]
fn a_local_set_is_dropped_while_its_tasks_are_woken() {
    let (sender, wakers) = std::sync::mpsc::channel();
    at_once(vec![
        Box::new(|| {
            let runtime = current_thread();
            let set = LocalSet::new();
            set.spawn_local(GivesWaker(sender.clone()));
            let joined = set.spawn_local(GivesWaker(sender));
            set.block_on(&runtime, yield_now());
            drop(set);
            assert!(runtime.block_on(joined).unwrap_err().is_cancelled());
        }),
        Box::new(|| wake_all(wakers)),
    ]);
}

#[test]
fn a_oneshot_is_sent_awaited_closed_and_dropped() {
    let count = Arc::new(AtomicUsize::new(0));
    for way in 0..4 {
        let (sender, mut receiver) = oneshot::channel();
        let alive = Alive::new(&count);
        at_once(vec![
            Box::new(move || match way {
                0 => drop(sender),
                _ => drop(sender.send(alive)),
            }),
            Box::new(move || match way {
                1 => drop(receiver),
                2 => {
                    let _ = poll_once(pin!(&mut receiver));
                    receiver.close();
                    drop(receiver.try_recv());
                }
                _ => assert_eq!(receiver.blocking_recv().is_ok(), way != 0),
            }),
        ]);
    }
    let (mut sender, receiver) = oneshot::channel::<()>();
    at_once(vec![
        Box::new(move || current_thread().block_on(sender.closed())),
        Box::new(move || drop(receiver)),
    ]);
    assert_eq!(count.load(SeqCst), 0);
}

#[test]
fn messages_and_their_blocks_go_round() {
    const MANY: usize = 40;
    let count = Arc::new(AtomicUsize::new(0));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let send = |sender: mpsc::UnboundedSender<Alive>| {
        let count = Arc::clone(&count);
        Box::new(move || {
            for _ in 0..MANY {
                drop(sender.send(Alive::new(&count)));
            }
        }) as Box<dyn FnOnce() + Send>
    };
    at_once(vec![
        send(sender.clone()),
        send(sender),
        // Leaves before the last, so that the others send to nobody, or leave messages behind.
        Box::new(move || {
            for _ in 0..MANY + MANY / 2 {
                assert!(receiver.blocking_recv().is_some());
            }
        }),
    ]);
    assert_eq!(count.load(SeqCst), 0);
}

#[test]
fn senders_that_wait_for_room_are_dropped_in_the_midst() {
    let (sender, mut receiver) = mpsc::channel(1);
    sender.try_send(0).unwrap();
    at_once(vec![
        Box::new(|| {
            leave_in_disorder((1..5).map(|n| sender.send(n)));
        }),
        Box::new(move || {
            while receiver.try_recv().is_ok() {}
            receiver.close();
            while receiver.blocking_recv().is_some() {}
        }),
    ]);
}

#[test]
fn a_broadcast_laps_its_receivers() {
    let count = Arc::new(AtomicUsize::new(0));
    let (sender, mut one) = broadcast::channel(2);
    let mut other = one.resubscribe();
    let alive = Arc::new(Alive::new(&count));
    at_once(vec![
        Box::new(move || {
            for _ in 0..8 {
                drop(sender.send(Arc::clone(&alive)));
            }
        }),
        Box::new(move || {
            let closed = broadcast::error::RecvError::Closed;
            while one.blocking_recv().err() != Some(closed.clone()) {}
        }),
        Box::new(move || {
            let _ = poll_once(pin!(other.recv()));
            let _ = other.try_recv();
        }),
    ]);
    assert_eq!(count.load(SeqCst), 0);
}

#[test]
fn waiters_of_a_notify_are_dropped_in_the_midst() {
    for all in [false, true] {
        let notify = Notify::new();
        at_once(vec![
            Box::new(|| leave_in_disorder((0..4).map(|_| notify.notified()))),
            Box::new(|| match all {
                true => notify.notify_waiters(),
                false => {
                    notify.notify_one();
                    notify.notify_last();
                }
            }),
            Box::new(|| notify.notify_waiters()),
        ]);
    }
}

#[test]
fn waiters_that_are_never_dropped_stay_on_their_lists() {
    type Kept = Pin<Box<dyn Future<Output = ()> + Send>>;
    static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());
    let (notify, semaphore) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let mut notified: Kept = Box::pin(Arc::clone(&notify).notified_owned());
    let acquire = Arc::clone(&semaphore).acquire_owned();
    let mut acquire: Kept = Box::pin(async { drop(acquire.await) });
    assert!(poll_once(notified.as_mut()).is_pending());
    assert!(poll_once(acquire.as_mut()).is_pending());
    KEPT.lock().extend([notified, acquire]);
    at_once(vec![Box::new(|| notify.notify_waiters()), Box::new(|| semaphore.add_permits(1))]);
}

#[test]
fn permits_are_given_while_their_waiters_leave() {
    let semaphore = Semaphore::new(0);
    at_once(vec![
        Box::new(|| leave_in_disorder([2, 1, 1, 2].map(|n| semaphore.acquire_many(n)))),
        Box::new(|| {
            semaphore.add_permits(1);
            semaphore.add_permits(2);
        }),
        Box::new(|| {
            let _ = semaphore.try_acquire();
        }),
    ]);
    assert_eq!(semaphore.available_permits(), 3);
}

#[test]
fn a_lock_passes_between_readers_and_a_writer() {
    let lock = RwLock::new(0);
    at_once(vec![
        Box::new(|| (0..3).for_each(|_| *lock.blocking_write() += 1)),
        Box::new(|| (0..3).for_each(|_| assert!(*lock.blocking_read() <= 3))),
        Box::new(|| {
            let mut write = Box::pin(lock.write());
            let _ = poll_once(write.as_mut()).map(|guard| assert!(*guard <= 3));
        }),
    ]);
    assert_eq!(*lock.try_read().unwrap(), 3);
}

#[test]
fn a_watched_value_changes_while_it_is_read() {
    let (sender, mut receiver) = watch::channel(Arc::new(0));
    let mut other = receiver.clone();
    at_once(vec![
        Box::new(move || (1..4).for_each(|n| drop(sender.send(Arc::new(n))))),
        Box::new(move || {
            current_thread().block_on(async {
                while receiver.changed().await.is_ok() {
                    assert!(**receiver.borrow_and_update() < 4);
                }
            });
        }),
        Box::new(move || {
            let _ = poll_once(pin!(other.changed()));
        }),
    ]);
}

#[test]
fn a_rendezvous_is_left_by_either_side() {
    let count = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpmc::bounded(0);
    let other = receiver.clone();
    let alive = [(); 2].map(|()| Alive::new(&count));
    at_once(vec![
        Box::new(move || {
            let [one, other] = alive;
            let mut first = Box::pin(sender.send(one));
            let _ = poll_once(first.as_mut());
            drop(first);
            drop(sender.blocking_send(other));
        }),
        Box::new(move || {
            let mut first = Box::pin(receiver.recv());
            let _ = poll_once(first.as_mut());
            drop(first);
            let _ = receiver.try_recv();
        }),
        Box::new(move || {
            let _ = other.blocking_recv();
        }),
    ]);
    assert_eq!(count.load(SeqCst), 0);
}

#[test]
fn jobs_are_stolen_and_claimed_back() {
    let runtime = multi(2);
    assert_eq!(runtime.install(|| fib(9)), 34);
}

#[test]
fn panics_of_forks_come_back_with_their_frames_intact() {
    let runtime = multi(2);
    let result = std::panic::catch_unwind(|| {
        runtime.install(|| {
            let text = String::from("of the frame");
            join(
                || join(|| fib(4), || panic!("{text}")),
                || {
                    let _ = fib(4);
                    text.len()
                },
            )
        })
    });
    assert!(result.is_err());
    let sum = AtomicUsize::new(0);
    let result = std::panic::catch_unwind(|| {
        runtime.install(|| {
            scope(|scope| {
                for n in 0..4 {
                    let sum = &sum;
                    scope.spawn(move |scope| {
                        scope.spawn(move |_| {
                            sum.fetch_add(n, SeqCst);
                        });
                        assert!(n != 2, "one panics");
                    });
                }
            });
        });
    });
    assert!(result.is_err());
    assert_eq!(sum.load(SeqCst), 6);
}

#[test]
fn a_worker_state_changes_hands_while_its_thread_blocks() {
    let runtime = multi(2);
    let sum = runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for n in 0..4 {
            tasks.spawn(async move {
                yield_now().await;
                let it = block_in_place(move || spawn_blocking(move || n));
                it.await.unwrap()
            });
        }
        let mut sum = 0;
        while let Some(n) = tasks.join_next().await {
            sum += n.unwrap();
        }
        sum
    });
    assert_eq!(sum, 6);
}

#[test]
fn timers_are_dropped_and_reset_on_other_threads_while_they_fire() {
    use std::time::Duration;
    use trefoil::time::{Instant, sleep, timeout};
    let runtime = multi(2);
    runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for n in 0..4 {
            let mut timer = Box::pin({
                let _entered = trefoil::runtime::Handle::current().enter();
                sleep(Duration::from_micros(n * 70))
            });
            let _ = poll_once(timer.as_mut());
            tasks.spawn(async move {
                if n == 1 {
                    timer.as_mut().reset(Instant::now() + Duration::from_micros(50));
                }
                if n == 2 {
                    return drop(timer);
                }
                let _ = timeout(Duration::from_micros(100 * n), timer).await;
            });
        }
        while tasks.join_next().await.is_some() {}
    });
}

#[test]
fn a_local_runtime_is_dropped_while_others_spawn_on_it() {
    let count = Arc::new(AtomicUsize::new(0));
    let its = Arc::clone(&count);
    let (sender, handles) = std::sync::mpsc::channel();
    let (waker_sender, wakers) = std::sync::mpsc::channel();
    at_once(vec![
        Box::new(|| {
            let runtime = LocalRuntime::new().unwrap();
            sender.send(runtime.handle().clone()).unwrap();
            let local = runtime.spawn_local(GivesWaker(waker_sender));
            runtime.block_on(yield_now());
            drop(runtime);
            drop(local);
        }),
        Box::new(move || {
            let handle = handles.recv().unwrap();
            for yields in 0..3 {
                drop(handle.spawn(lives_for(yields, Alive::new(&its))));
            }
        }),
        Box::new(|| wake_all(wakers)),
    ]);
    assert_eq!(count.load(SeqCst), 0);
}

#[test]
fn the_halves_of_a_stream_are_used_and_dropped_on_two_threads() {
    let (one, other) = duplex(3);
    let (mut read, mut write) = split(other);
    at_once(vec![
        Box::new(move || {
            let mut one = one;
            current_thread().block_on(async {
                one.write_all(b"one and more").await.unwrap();
                let mut back = [0; 4];
                one.read_exact(&mut back).await.unwrap();
                assert_eq!(&back, b"back");
            });
        }),
        Box::new(move || {
            let mut all = Vec::new();
            current_thread().block_on(read.read_to_end(&mut all)).unwrap();
            assert_eq!(all, b"one and more");
        }),
        Box::new(move || current_thread().block_on(write.write_all(b"back")).unwrap()),
    ]);
}

#[test]
fn an_actor_ends_while_others_send_to_it_and_watch_it() {
    use trefoil::actor::{Context, spawn};
    let runtime = multi(2);
    runtime.block_on(async {
        let address = spawn(|mut own: Context<u32>| async move {
            while own.receive().await.is_ok_and(|n| n < 3) {}
        });
        let (other, joined) = (address.clone(), address.clone());
        let sends = trefoil::spawn(async move {
            for n in 0..6 {
                let _ = other.send(n).await;
            }
        });
        let monitor = spawn(move |mut own: Context<()>| async move {
            own.monitor(&address);
            own.next().await.unwrap();
        });
        sends.await.unwrap();
        joined.join().await;
        monitor.join().await;
    });
}
