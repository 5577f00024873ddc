//! Sleeping and deadlines.

use crate::support::{current_and_multi, current_thread, multi, that_waits};
use parking_lot::Mutex;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use trefoil::runtime::{Builder, Runtime};
use trefoil::task;
use trefoil::time::{self, Duration, Instant, sleep, timeout};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn runtimes() -> Vec<Runtime> {
    current_and_multi([1, 3])
}

#[test]
fn sleeps_last_and_end() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let start = Instant::now();
            let handles: Vec<_> = (0..200u64)
                .map(|n| {
                    trefoil::spawn(async move {
                        let start = Instant::now();
                        sleep(ms(n % 20)).await;
                        assert!(start.elapsed() >= ms(n % 20));
                    })
                })
                .collect();
            sleep(ms(10)).await;
            assert!(start.elapsed() >= ms(10));
            for handle in handles {
                handle.await.unwrap();
            }
        });
    }
}

#[test]
fn a_timer_survives_the_block_on_it_was_polled_in() {
    for runtime in runtimes() {
        let later = || Box::pin(sleep_in(&runtime, ms(5)));
        let later = runtime.block_on(poll_fn(|cx| Poll::Ready(that_waits(cx.waker(), later))));
        let handle = runtime.spawn(later);
        runtime.block_on(handle).unwrap();
    }
}

fn sleep_in(runtime: &Runtime, duration: Duration) -> time::Sleep {
    let _guard = runtime.enter();
    sleep(duration)
}

#[test]
fn timers_move_between_threads() {
    let runtime = multi(4);
    runtime.block_on(async {
        let handles: Vec<_> = (0..100u64)
            .map(|n| {
                trefoil::spawn(async move {
                    let [late, soon] = poll_fn(|cx| {
                        let timer = |n| that_waits(cx.waker(), || Box::pin(sleep(ms(n))));
                        Poll::Ready([3_600_000, 3 + n % 5].map(timer))
                    })
                    .await;
                    // On another worker, one timer is dropped, and the other one is polled.
                    let dropper = trefoil::spawn(async move { drop(late) });
                    trefoil::spawn(soon).await.unwrap();
                    dropper.await.unwrap();
                })
            })
            .collect();
        for handle in handles {
            handle.await.unwrap();
        }
    });
}

/// Arms a timer on one of the runtime's own threads, and returns it.
fn armed(runtime: &Runtime, duration: Duration) -> Pin<Box<time::Sleep>> {
    let arm = async move {
        let timer = || Box::pin(sleep(duration));
        Some(poll_fn(|cx| Poll::Ready(that_waits(cx.waker(), timer))).await)
    };
    runtime.block_on(async { trefoil::spawn(arm).await.unwrap() }).expect("always there")
}

#[test]
fn a_timer_outlives_its_runtime() {
    for (runtime, other) in runtimes().into_iter().zip(runtimes()) {
        let (dropped, awaited) = (armed(&runtime, ms(3_600_000)), armed(&runtime, ms(5)));
        drop(runtime);
        // Of the other, the time may be over by now.
        assert!(!dropped.is_elapsed());
        drop(dropped);
        let start = Instant::now();
        other.block_on(awaited);
        assert!(start.elapsed() < ms(3_600_000));
    }
}

#[test]
fn a_timer_is_dropped_where_there_is_no_runtime() {
    for runtime in runtimes() {
        let timer = armed(&runtime, ms(3_600_000));
        std::thread::spawn(move || drop(timer)).join().unwrap();
        // The entry is returned, and the next timer still works.
        runtime.block_on(async { trefoil::spawn(sleep(ms(2))).await.unwrap() });
        drop(armed(&runtime, ms(3_600_000)));
    }
}

#[test]
fn a_timer_is_reset_elsewhere_and_wakes_who_waits_there() {
    for runtime in runtimes() {
        let mut timer = armed(&runtime, ms(3_600_000));
        runtime.block_on(async move {
            timer.as_mut().reset(Instant::now() + ms(3));
            timer.as_mut().await;
            assert!(timer.is_elapsed());
            timer.as_mut().reset(Instant::now() + ms(3_600_000));
            assert!(!timer.is_elapsed());
            timer.as_mut().reset(Instant::now() + ms(3));
            trefoil::spawn(timer).await.unwrap();
        });
    }
}

/// The duration counts from the call, even if the poll has lasted for long.
#[test]
fn a_sleep_made_late_in_a_poll_is_not_shorter() {
    for runtime in runtimes() {
        let late = || async {
            let begun = Instant::now();
            while begun.elapsed() < ms(20) {}
            let start = Instant::now();
            sleep(ms(10)).await;
            assert!(start.elapsed() >= ms(10));
            // A deadline that has passed already does not wait.
            let overdue = sleep(ms(1));
            while start.elapsed() < ms(15) {}
            overdue.await;
        };
        runtime.block_on(late());
        runtime.block_on(async { trefoil::spawn(late()).await.unwrap() });
    }
}

#[test]
fn timeouts_elapse_or_not() {
    for runtime in runtimes() {
        runtime.block_on(async {
            assert_eq!(timeout(ms(0), async { 1 }).await, Ok(1));
            assert!(timeout(ms(2), pending::<()>()).await.is_err());
            let slow = trefoil::spawn(async { timeout(ms(2), pending::<()>()).await.is_err() });
            assert!(slow.await.unwrap());
            // A future whose operations are always ready cannot keep the timer from firing.
            let busy = timeout(ms(5), async {
                loop {
                    task::consume_budget().await;
                }
            });
            assert!(trefoil::spawn(busy).await.unwrap().is_err());
        });
    }
}

#[trefoil::test(start_paused = true)]
async fn reset_moves_the_deadline_both_ways() {
    let start = Instant::now();
    let mut later = pin!(sleep(ms(100)));
    assert!(!later.is_elapsed());
    poll_fn(|cx| {
        assert!(later.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    later.as_mut().reset(start + ms(50));
    later.as_mut().await;
    assert_eq!(start.elapsed(), ms(50));
    assert!(later.is_elapsed());
    later.as_mut().reset(start + ms(200));
    assert!(!later.is_elapsed());
    later.as_mut().await;
    assert_eq!(start.elapsed(), ms(200));
}

#[trefoil::test(start_paused = true)]
async fn sleeping_tasks_wake_in_order() {
    let (sender, receiver) = std::sync::mpsc::channel();
    for n in [5u64, 1, 70, 4100, 3, 300_000, 64, 63, 65] {
        let sender = sender.clone();
        trefoil::spawn(async move {
            sleep(ms(n)).await;
            sender.send(n).unwrap();
        });
    }
    drop(sender);
    sleep(ms(300_001)).await;
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 3, 5, 63, 64, 65, 70, 4100, 300_000]);
}

#[trefoil::test(start_paused = true)]
async fn advance_fires_what_came_due() {
    let start = Instant::now();
    let task = trefoil::spawn(async move {
        sleep(ms(10)).await;
        start.elapsed()
    });
    task::yield_now().await;
    time::advance(ms(9)).await;
    assert!(!task.is_finished());
    time::advance(ms(1)).await;
    assert_eq!(task.await.unwrap(), ms(10));
    time::resume();
    let real = std::time::Instant::now();
    sleep(ms(2)).await;
    assert!(real.elapsed() >= ms(2));
    time::pause();
    assert_eq!(Instant::now(), Instant::now());
}

#[trefoil::test(start_paused = true)]
async fn time_waits_for_blocking_tasks() {
    let start = Instant::now();
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let blocking = task::spawn_blocking(move || wait.recv());
    let sleeper = trefoil::spawn(async move {
        sleep(ms(10)).await;
    });
    for _ in 0..10 {
        task::yield_now().await;
    }
    assert_eq!(start.elapsed(), ms(0));
    drop(release);
    blocking.await.unwrap().unwrap_err();
    sleeper.await.unwrap();
    assert_eq!(start.elapsed(), ms(10));
}

#[trefoil::test(start_paused = true)]
async fn far_deadlines_neither_overflow_nor_fire() {
    let mut never = pin!(sleep(Duration::MAX));
    assert!(timeout(Duration::from_secs(86400 * 365), never.as_mut()).await.is_err());
    assert!(timeout(Duration::MAX, async {}).await.is_ok());
}

#[test]
#[should_panic(expected = "this thread is in no Trefoil runtime")]
fn sleeping_outside_of_a_runtime_panics() {
    drop(sleep(ms(1)));
}

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Even if many timers are due at once, other tasks are polled in between. The clock is stopped, so
/// every run is the same.
#[trefoil::test(start_paused = true)]
async fn many_timers_due_at_once_do_not_hold_up_tasks() {
    const TIMERS: usize = 100_000;
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut timers: Vec<_> = (0..TIMERS).map(|_| Box::pin(sleep(ms(5_000)))).collect();
    for timer in &mut timers {
        assert!(poll_once(timer, &waker).is_pending());
    }
    time::advance(ms(5_000)).await;
    let mut before = bell.0.load(Relaxed);
    let (mut most, mut polls) = (before, 0);
    while before < TIMERS {
        task::yield_now().await;
        let now = bell.0.load(Relaxed);
        most = most.max(now - before);
        before = now;
        polls += 1;
    }
    assert!(timers.iter().all(|timer| timer.is_elapsed()));
    assert!(most <= 64, "{most} were woken between two polls, of {polls}");
}

/// The same if timers come up that are not due, and move to a lower level: before the one that is,
/// which was the first to be made.
#[trefoil::test(start_paused = true)]
async fn many_timers_that_move_do_not_hold_up_tasks() {
    const TIMERS: usize = 100_000;
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut timer = Box::pin(sleep(ms(5_000)));
    assert!(poll_once(&mut timer, &waker).is_pending());
    let mut others: Vec<_> = (0..TIMERS).map(|_| Box::pin(sleep(ms(5_010)))).collect();
    for other in &mut others {
        assert!(poll_once(other, Waker::noop()).is_pending());
    }
    time::advance(ms(5_000)).await;
    let mut polls = 0;
    while bell.0.load(Relaxed) == 0 {
        task::yield_now().await;
        polls += 1;
    }
    assert!(polls >= TIMERS / 256, "{polls} polls beside {TIMERS} timers");
    assert!(others.iter().all(|other| !other.is_elapsed()));
}

#[trefoil::test]
async fn a_sleep_that_is_over_spends_the_budget() {
    task::yield_now().await;
    for _ in 0..128 {
        assert!(task::coop::has_budget_remaining());
        sleep(ms(0)).await;
    }
    assert!(!task::coop::has_budget_remaining());
}

/// The holders are on another thread, and need no lock once they see that the queue is closed. A
/// sanitizer tells if they see it too early.
#[test]
fn timers_are_dropped_elsewhere_while_their_runtime_ends() {
    for round in 0..30 {
        for runtime in runtimes() {
            let arm = async {
                let mut timers: Vec<_> = (0..100).map(|_| Box::pin(sleep(ms(3_600_000)))).collect();
                poll_fn(|cx| {
                    for timer in &mut timers {
                        assert!(poll_once(timer, cx.waker()).is_pending());
                    }
                    Poll::Ready(())
                })
                .await;
                timers
            };
            let timers = runtime.block_on(async { trefoil::spawn(arm).await.unwrap() });
            let barrier = Arc::new(Barrier::new(2));
            let theirs = Arc::clone(&barrier);
            let dropper = std::thread::spawn(move || {
                theirs.wait();
                for timer in timers.into_iter().skip(round % 3) {
                    drop(timer);
                }
            });
            barrier.wait();
            drop(runtime);
            dropper.join().unwrap();
        }
    }
}

/// A waker that runs foreign code whenever it is cloned or dropped.
struct Hostile {
    on_clone: fn(&Hostile),
    on_drop: fn(&Hostile),
    woken: AtomicUsize,
    victims: Mutex<Vec<Pin<Box<time::Sleep>>>>,
    done: Mutex<Option<trefoil::sync::oneshot::Sender<()>>>,
}

static HOSTILE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: every waker has a count of its own.
        let hostile = unsafe { &*data.cast::<Hostile>() };
        (hostile.on_clone)(hostile);
        // SAFETY: the pointer came from `Arc::into_raw`, and this waker's count keeps it alive.
        unsafe { Arc::increment_strong_count(hostile) };
        RawWaker::new(data, &HOSTILE)
    },
    |data| {
        // SAFETY: this waker's count, which it gives up.
        let hostile = unsafe { Arc::from_raw(data.cast::<Hostile>()) };
        hostile.wake();
        (hostile.on_drop)(&hostile);
    },
    // SAFETY: every waker has a count of its own.
    |data| Hostile::wake(unsafe { &*data.cast::<Hostile>() }),
    |data| {
        // SAFETY: this waker's count, which it gives up.
        let hostile = unsafe { Arc::from_raw(data.cast::<Hostile>()) };
        (hostile.on_drop)(&hostile);
    },
);

impl Hostile {
    fn new(
        on_clone: fn(&Hostile),
        on_drop: fn(&Hostile),
    ) -> (Arc<Self>, trefoil::sync::oneshot::Receiver<()>) {
        let (sender, receiver) = trefoil::sync::oneshot::channel();
        let hostile = Arc::new(Self {
            on_clone,
            on_drop,
            woken: AtomicUsize::new(0),
            victims: Mutex::default(),
            done: Mutex::new(Some(sender)),
        });
        (hostile, receiver)
    }

    fn waker(self: &Arc<Self>) -> Waker {
        let data = Arc::into_raw(Arc::clone(self)).cast();
        // SAFETY: the functions of the table expect such an `Arc`, and its content is `Send` and
        // `Sync`.
        unsafe { Waker::from_raw(RawWaker::new(data, &HOSTILE)) }
    }

    fn wake(&self) {
        self.woken.fetch_add(1, Relaxed);
        if let Some(done) = self.done.lock().take() {
            let _ = done.send(());
        }
    }
}

/// Arms a timer with the given waker.
fn poll_once(timer: &mut Pin<Box<time::Sleep>>, waker: &Waker) -> Poll<()> {
    timer.as_mut().poll(&mut Context::from_waker(waker))
}

#[test]
fn a_wakers_clone_may_give_the_worker_away_and_drop_timers() {
    fn attack(hostile: &Hostile) {
        task::block_in_place(|| ());
        drop(trefoil::spawn(async {}));
        let victim = hostile.victims.lock().pop();
        drop(victim);
    }
    for workers in [1, 3] {
        let runtime = Builder::new_multi_thread().worker_threads(workers).enable_all().build();
        let runtime = runtime.unwrap();
        let attacked = async {
            for _ in 0..5 {
                let (first, never) = Hostile::new(attack, |_| ());
                let (second, woken) = Hostile::new(attack, |_| ());
                let mut timer = Box::pin(sleep(ms(3)));
                {
                    // In this poll, this thread's worker state is retaken, twice.
                    let victims: Vec<_> = (0..4)
                        .map(|_| {
                            let mut victim = Box::pin(sleep(ms(3_600_000)));
                            assert!(poll_once(&mut victim, Waker::noop()).is_pending());
                            victim
                        })
                        .collect();
                    *first.victims.lock() = victims;
                    let is_pending = poll_once(&mut timer, &first.waker()).is_pending();
                    // On a busy machine, the timer may have fired already.
                    if is_pending && poll_once(&mut timer, &second.waker()).is_pending() {
                        woken.await.unwrap();
                        assert!(timer.is_elapsed());
                        assert_eq!(second.woken.load(Relaxed), 1);
                    }
                }
                timer.await;
                drop(never);
            }
        };
        runtime.block_on(async { trefoil::spawn(attacked).await.unwrap() });
    }
}

/// If a waker were dropped or woken under a queue's lock, this would deadlock.
#[test]
fn a_wakers_drop_may_make_and_drop_timers() {
    fn attack(hostile: &Hostile) {
        if trefoil::runtime::Handle::try_current().is_err() {
            return;
        }
        let mut timer = Box::pin(sleep(ms(3_600_000)));
        assert!(poll_once(&mut timer, Waker::noop()).is_pending());
        timer.as_mut().reset(Instant::now() + ms(1_800_000));
        let before = hostile.victims.lock().pop();
        hostile.victims.lock().push(timer);
        drop(before);
    }
    for runtime in runtimes() {
        let attacked = async {
            let (hostile, woken) = Hostile::new(attack, attack);
            let waker = hostile.waker();
            // A waker is dropped while the timer waits, and when another waker replaces it.
            let mut timer = Box::pin(sleep(ms(3_600_000)));
            assert!(poll_once(&mut timer, &waker).is_pending());
            assert!(poll_once(&mut timer, Waker::noop()).is_pending());
            assert!(poll_once(&mut timer, &waker).is_pending());
            // The timer is reset to a deadline that is due at once.
            timer.as_mut().reset(Instant::now());
            assert_eq!(hostile.woken.load(Relaxed), 1);
            drop(timer);
            drop(woken);
            // The timer is dropped on another thread.
            let mut timer = Box::pin(sleep(ms(3_600_000)));
            assert!(poll_once(&mut timer, &waker).is_pending());
            task::spawn_blocking(move || drop(timer)).await.unwrap();
            // The scheduler wakes it.
            let (hostile, woken) = Hostile::new(attack, attack);
            let mut timer = Box::pin(sleep(ms(2)));
            if poll_once(&mut timer, &hostile.waker()).is_pending() {
                woken.await.unwrap();
            }
            timer.await;
            drop(waker);
            hostile.victims.lock().clear();
        };
        runtime.block_on(async { trefoil::spawn(attacked).await.unwrap() });
    }
}

/// A timer belongs to the runtime in which it was made, wherever it is polled.
#[test]
fn a_sleep_is_polled_outside_of_its_runtime() {
    let driven = current_thread();
    let (stop, stopped) = trefoil::sync::oneshot::channel::<()>();
    let timer = sleep_in(&driven, ms(3));
    let driver = std::thread::spawn(move || {
        let _ = driven.block_on(stopped);
    });
    futures::executor::block_on(timer);
    drop(stop);
    driver.join().unwrap();

    let local = trefoil::runtime::LocalRuntime::new().unwrap();
    let timer = {
        let _guard = local.enter();
        sleep(ms(3))
    };
    let (stop, stopped) = trefoil::sync::oneshot::channel::<()>();
    let poller = std::thread::spawn(move || {
        futures::executor::block_on(timer);
        drop(stop);
    });
    local.block_on(stopped).unwrap_err();
    poller.join().unwrap();

    for workers in [1, 3] {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(workers).enable_all().build().unwrap();
        futures::executor::block_on(sleep_in(&runtime, ms(3)));
        // It is polled in another runtime, whose own timers it does not need.
        let other = Builder::new_current_thread().build().unwrap();
        other.block_on(sleep_in(&runtime, ms(3)));
        // This deadline is earlier than the one that the worker sleeps for.
        let late = armed(&runtime, ms(3_600_000));
        futures::executor::block_on(sleep_in(&runtime, ms(3)));
        drop(late);
    }
}

#[test]
#[should_panic(expected = "it is being shutdown. A timer cannot fire any more")]
fn a_sleep_whose_runtime_is_gone_panics_outside_of_any() {
    let runtime = multi(1);
    let timer = sleep_in(&runtime, ms(3));
    drop(runtime);
    futures::executor::block_on(timer);
}

#[test]
fn an_error_of_timers_says_what_it_is() {
    use time::error::Error;
    let is = |error: &Error| (error.is_shutdown(), error.is_at_capacity(), error.is_invalid());
    let all = [Error::shutdown(), Error::at_capacity(), Error::invalid()];
    let expected = [(true, false, false), (false, true, false), (false, false, true)];
    assert_eq!(all.each_ref().map(is), expected);
    let texts: std::collections::HashSet<_> = all.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 3);
}

#[trefoil::test(start_paused = true)]
async fn deadlines_are_rounded_up_to_a_sixteenth_of_a_millisecond() {
    let ns = Duration::from_nanos;
    let rounded = [(1, 62_500), (62_500, 62_500), (62_501, 125_000), (999_999, 1_000_000)];
    for (asked, expected) in rounded {
        let start = Instant::now();
        sleep(ns(asked)).await;
        assert_eq!(start.elapsed(), ns(expected));
    }
}

/// A deadline that was set anew counts without another poll.
#[trefoil::test(start_paused = true)]
async fn a_sleep_that_was_reset_elapses_without_a_poll() {
    for is_polled in [false, true] {
        for ahead in [ms(0), ms(5)] {
            let mut timer = pin!(sleep(ms(1)));
            if is_polled {
                timer.as_mut().await;
            }
            assert_eq!(timer.is_elapsed(), is_polled);
            timer.as_mut().reset(Instant::now() + ahead);
            assert_eq!(timer.is_elapsed(), ahead.is_zero());
            time::advance(ms(6)).await;
            assert!(timer.is_elapsed());
        }
    }
    let unpolled = sleep(ms(1));
    time::advance(ms(6)).await;
    assert!(!unpolled.is_elapsed());
}
