//! Timers made, fired, cancelled and polled at the same time, under loom.

use super::Clock;
use super::entry::{Entry, State};
use super::queue::{Refused, TimerQueue};
use crate::primitives::parker::Parker;
use crate::runtime::Id;
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use loom::thread;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// Ticks are past when the model begins.
const AGE: Duration = Duration::from_secs(3600);

/// A queue whose clock has run for `AGE`.
fn queue() -> Arc<TimerQueue> {
    queue_with(Arc::new(Parker::new()))
}

fn queue_with(parker: Arc<Parker>) -> Arc<TimerQueue> {
    Arc::new(TimerQueue::new(Clock::aged(AGE), parker, Id::next()))
}

/// Past, and yet ahead of a wheel that has never turned.
fn past() -> Instant {
    Instant::now() - AGE / 2
}

/// Counts how often it is woken.
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn bell() -> (Arc<Bell>, Waker) {
    let bell = Arc::new(Bell(AtomicUsize::new(0)));
    (Arc::clone(&bell), Waker::from(bell))
}

/// A timer in the hands of a holder on whatever thread.
struct Held(NonNull<Entry>);

// SAFETY: as for `Sleep`.
unsafe impl Send for Held {}

impl Held {
    /// Away from the owner; whether somebody still waited.
    fn cancel(self) -> bool {
        // SAFETY: the holder, once.
        unsafe { TimerQueue::cancel(self.0) }.is_some()
    }

    /// As the owner.
    fn cancel_here(self, queue: &TimerQueue) -> bool {
        // SAFETY: the holder, once; the models have one queue, which they keep.
        unsafe { queue.cancel_here(self.0) }.is_some()
    }
}

fn register(
    queue: &Arc<TimerQueue>,
    deadline: Instant,
    waker: &Waker,
    is_owner: bool,
) -> Result<Held, Refused> {
    queue.register(deadline, waker, &mut Some(waker.clone()), is_owner).map(Held)
}

/// Nothing is left over of what a model has made.
fn assert_freed(queue: &Arc<TimerQueue>, bell: &Arc<Bell>) {
    assert_eq!(Arc::strong_count(bell), 1, "a waker was lost");
    assert_eq!(Arc::strong_count(queue), 1, "an entry was lost");
}

#[test]
fn loom_timer_fires_or_is_cancelled_elsewhere() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let timer = register(&queue, past(), &waker, true).expect("the wheel has not turned");
        let cancelling = thread::spawn(move || timer.cancel());
        queue.fire(usize::MAX);
        let cancelled = cancelling.join().unwrap();
        assert_eq!(bell.0.load(SeqCst), usize::from(!cancelled));
        drop(waker);
        queue.close();
        assert_freed(&queue, &bell);
    });
}

/// The holder looks without the lock, and may have the entry for itself.
#[test]
fn loom_timer_is_seen_to_have_fired_elsewhere() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let timer = register(&queue, past(), &waker, true).expect("the wheel has not turned");
        let polling = thread::spawn(move || {
            // SAFETY: live while it is held.
            let entry = unsafe { timer.0.as_ref() };
            let fired = entry.state() == State::Fired;
            // SAFETY: the holder, which has registered it.
            let same = unsafe { entry.will_wake(&waker) };
            assert!(same);
            assert!(!(timer.cancel() && fired), "fired, and still waiting");
        });
        queue.fire(usize::MAX);
        polling.join().unwrap();
        queue.close();
        assert_freed(&queue, &bell);
    });
}

/// The waker is replaced while the timer fires: one of the two is woken, and if
/// it is the first, the second learns that it need not wait.
#[test]
fn loom_timer_gets_another_waker_while_it_fires() {
    loom::model(|| {
        let queue = queue();
        let ((first, waker), (second, other)) = (bell(), bell());
        let timer = register(&queue, past(), &waker, true).expect("the wheel has not turned");
        let polling = thread::spawn(move || {
            // SAFETY: the holder.
            let waits = unsafe { TimerQueue::replace_waker(timer.0, other) };
            (waits, timer)
        });
        queue.fire(usize::MAX);
        let (waits, timer) = polling.join().unwrap();
        assert!(!timer.cancel_here(&queue), "it has fired");
        assert_eq!(second.0.load(SeqCst), usize::from(waits));
        assert_eq!(first.0.load(SeqCst), usize::from(!waits));
        drop(waker);
        queue.close();
        assert_freed(&queue, &first);
        assert_freed(&queue, &second);
    });
}

#[test]
fn loom_timer_two_threads_fire_each_once() {
    loom::model(|| {
        let queue = queue();
        let bells: Vec<_> = (0..2).map(|_| bell()).collect();
        let timers: Vec<_> = bells
            .iter()
            .map(|(_, waker)| register(&queue, past(), waker, true).expect("not turned yet"))
            .collect();
        let its = Arc::clone(&queue);
        let firing = thread::spawn(move || while its.fire(1) {});
        while queue.fire(1) {}
        firing.join().unwrap();
        for ((bell, waker), timer) in bells.into_iter().zip(timers) {
            assert_eq!(bell.0.load(SeqCst), 1);
            assert!(!timer.cancel_here(&queue));
            drop(waker);
            assert_eq!(Arc::strong_count(&bell), 1, "a waker was lost");
        }
        queue.close();
        assert_eq!(Arc::strong_count(&queue), 1, "an entry was lost");
    });
}

/// The owner sleeps until its own timer, while an earlier one is made
/// elsewhere. Loom's sleep does not end by itself: were the owner not woken, it
/// would be a deadlock.
#[test]
fn loom_timer_made_elsewhere_wakes_the_owner() {
    loom::model(|| {
        let parker = Arc::new(Parker::new());
        parker.adopt();
        let queue = queue_with(Arc::clone(&parker));
        let (bell, waker) = bell();
        let late = Instant::now() + AGE;
        let own = register(&queue, late, &waker, true).expect("it is ahead");
        let its = Arc::clone(&queue);
        let making = thread::spawn(move || register(&its, past(), &waker, false));
        // The first one is not yet due; the other one is.
        while queue.until_next() != Some(Duration::ZERO) {
            parker.park();
        }
        queue.fire(usize::MAX);
        assert_eq!(bell.0.load(SeqCst), 1);
        let made = making.join().unwrap().expect("nothing has fired before");
        assert!(!made.cancel_here(&queue));
        assert!(own.cancel_here(&queue));
        queue.close();
        assert_freed(&queue, &bell);
    });
}

/// As above, while a third thread empties the queue: `next` rises and falls.
#[test]
fn loom_timer_made_elsewhere_wakes_the_owner_while_others_fire() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let parker = Arc::new(Parker::new());
        parker.adopt();
        let queue = queue_with(Arc::clone(&parker));
        let (bell, waker) = bell();
        let own = register(&queue, Instant::now() + AGE, &waker, true).expect("it is ahead");
        let elsewhere = thread::spawn(move || own.cancel());
        let its = Arc::clone(&queue);
        let making = thread::spawn(move || register(&its, past(), &waker, false));
        while queue.until_next() != Some(Duration::ZERO) {
            parker.park();
        }
        queue.fire(usize::MAX);
        assert_eq!(bell.0.load(SeqCst), 1);
        let made = making.join().unwrap().expect("nothing has fired before");
        assert!(!made.cancel_here(&queue));
        assert!(elsewhere.join().unwrap());
        queue.close();
        assert_freed(&queue, &bell);
    });
}

/// A timer that is put off while it fires is fired once, for one of the two.
#[test]
fn loom_timer_is_reset_while_it_fires() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let timer = register(&queue, past(), &waker, true).expect("the wheel has not turned");
        let late = Instant::now() + AGE;
        let resetting = thread::spawn(move || {
            // SAFETY: the holder.
            let is_moved = unsafe { TimerQueue::reset(timer.0, late, false) };
            (is_moved, timer)
        });
        queue.fire(usize::MAX);
        let (is_moved, timer) = resetting.join().unwrap();
        assert_eq!(bell.0.load(SeqCst), usize::from(!is_moved));
        assert_eq!(timer.cancel(), is_moved);
        drop(waker);
        queue.close();
        assert_freed(&queue, &bell);
    });
}

#[test]
fn loom_timer_queue_closes_while_timers_come_and_go() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let one = register(&queue, past(), &waker, true).expect("the wheel has not turned");
        let other = register(&queue, past(), &waker, true).expect("the wheel has not turned");
        let its = Arc::clone(&queue);
        let elsewhere = thread::spawn(move || {
            let cancelled = one.cancel();
            let made = register(&its, past(), &waker, false).ok();
            (cancelled, made)
        });
        queue.close();
        let (cancelled, made) = elsewhere.join().unwrap();
        let woken = 1 + usize::from(!cancelled) + usize::from(made.is_some());
        assert_eq!(bell.0.load(SeqCst), woken);
        assert!(!other.cancel());
        assert!(!made.is_some_and(Held::cancel));
        assert_freed(&queue, &bell);
    });
}

/// The holder is the last to know the queue.
#[test]
fn loom_timer_is_cancelled_while_its_queue_goes() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let timer = register(&queue, past(), &waker, true).expect("the wheel has not turned");
        drop(waker);
        let elsewhere = thread::spawn(move || timer.cancel());
        queue.close();
        drop(queue);
        let cancelled = elsewhere.join().unwrap();
        assert_eq!(bell.0.load(SeqCst), usize::from(!cancelled));
        assert_eq!(Arc::strong_count(&bell), 1, "a waker was lost");
    });
}
