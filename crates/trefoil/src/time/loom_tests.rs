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

/// How long the clock has run when the model begins, so that ticks have passed.
const AGE: Duration = Duration::from_secs(3600);

/// A queue whose clock has run for `AGE`.
fn queue() -> Arc<TimerQueue> {
    queue_with(Arc::new(Parker::new()))
}

fn queue_with(parker: Arc<Parker>) -> Arc<TimerQueue> {
    Arc::new(TimerQueue::new(Clock::aged(AGE), parker, Id::next()))
}

/// A moment in the past, and yet ahead of a wheel that has never turned.
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

/// A timer, and with it the role of its holder, on any thread.
struct Held(NonNull<Entry>);

// SAFETY: for the reason given for `Sleep`: the holder of an entry may use it on any thread.
unsafe impl Send for Held {}

impl Held {
    /// Cancels the timer on a thread that does not own the queue. True if the timer still waited.
    fn cancel(self) -> bool {
        // SAFETY: this is the holder, and it is consumed.
        unsafe { TimerQueue::cancel(self.0) }.is_some()
    }

    /// Cancels the timer on the thread that owns the queue.
    fn cancel_here(self, queue: &TimerQueue) -> bool {
        // SAFETY: this is the holder, and it is consumed. The models have one queue, and keep it.
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

/// Registers a timer that is due, in a queue that this thread owns and that has never fired.
fn register_due(queue: &Arc<TimerQueue>, waker: &Waker) -> Held {
    register(queue, past(), waker, true).expect("the wheel has not turned")
}

/// Asserts that all wakers and entries of a model were freed.
fn assert_freed(queue: &Arc<TimerQueue>, bell: &Arc<Bell>) {
    assert_eq!(Arc::strong_count(bell), 1, "a waker was lost");
    assert_eq!(Arc::strong_count(queue), 1, "an entry was lost");
}

#[test]
fn loom_timer_fires_or_is_cancelled_elsewhere() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let timer = register_due(&queue, &waker);
        let cancelling = thread::spawn(move || timer.cancel());
        queue.fire(usize::MAX);
        let cancelled = cancelling.join().unwrap();
        assert_eq!(bell.0.load(SeqCst), usize::from(!cancelled));
        drop(waker);
        queue.close();
        assert_freed(&queue, &bell);
    });
}

/// The holder reads the state without the lock, and may have the entry for itself.
#[test]
fn loom_timer_is_seen_to_have_fired_elsewhere() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let timer = register_due(&queue, &waker);
        let polling = thread::spawn(move || {
            // SAFETY: the entry is live while it is held.
            let entry = unsafe { timer.0.as_ref() };
            let fired = entry.state() == State::Fired;
            // SAFETY: this is the holder, and the entry is registered.
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

/// The waker is replaced while the timer fires. One of the two is woken. If it is the old one, the
/// holder learns that the new one does not wait.
#[test]
fn loom_timer_gets_another_waker_while_it_fires() {
    loom::model(|| {
        let queue = queue();
        let ((first, waker), (second, other)) = (bell(), bell());
        let timer = register_due(&queue, &waker);
        let polling = thread::spawn(move || {
            // SAFETY: this is the holder.
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
        let timers: Vec<_> = bells.iter().map(|(_, waker)| register_due(&queue, waker)).collect();
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

#[test]
fn loom_timer_made_elsewhere_wakes_the_owner() {
    loom::model(|| an_earlier_timer_wakes_the_owner(false));
}

/// The same, while a third thread takes the owner's timer off: `next` rises and falls.
#[test]
fn loom_timer_made_elsewhere_wakes_the_owner_while_others_cancel() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| an_earlier_timer_wakes_the_owner(true));
}

/// The owner sleeps until its own timer, while another thread makes an earlier one. Loom's sleep
/// does not end by itself: if the owner is not woken, this is a deadlock.
fn an_earlier_timer_wakes_the_owner(is_cancelled_elsewhere: bool) {
    let parker = Arc::new(Parker::new());
    parker.adopt();
    let queue = queue_with(Arc::clone(&parker));
    let (bell, waker) = bell();
    let own = register(&queue, Instant::now() + AGE, &waker, true).expect("it is ahead");
    let cancel: Box<dyn FnOnce() -> bool> = if is_cancelled_elsewhere {
        let cancelling = thread::spawn(move || own.cancel());
        Box::new(move || cancelling.join().unwrap())
    } else {
        let queue = Arc::clone(&queue);
        Box::new(move || own.cancel_here(&queue))
    };
    let its = Arc::clone(&queue);
    let making = thread::spawn(move || register(&its, past(), &waker, false));
    // The owner's timer is not due yet, and the other one is.
    while queue.until_next() != Some(Duration::ZERO) {
        parker.park();
    }
    queue.fire(usize::MAX);
    assert_eq!(bell.0.load(SeqCst), 1);
    let made = making.join().unwrap().expect("nothing has fired before");
    assert!(!made.cancel_here(&queue));
    assert!(cancel());
    queue.close();
    assert_freed(&queue, &bell);
}

/// A timer that is reset while it fires is fired once, for one of the two deadlines.
#[test]
fn loom_timer_is_reset_while_it_fires() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let timer = register_due(&queue, &waker);
        let late = Instant::now() + AGE;
        let resetting = thread::spawn(move || {
            // SAFETY: this is the holder.
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
        let one = register_due(&queue, &waker);
        let other = register_due(&queue, &waker);
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

/// The holder has the last reference to the queue.
#[test]
fn loom_timer_is_cancelled_while_its_queue_goes() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let timer = register_due(&queue, &waker);
        drop(waker);
        let elsewhere = thread::spawn(move || timer.cancel());
        queue.close();
        drop(queue);
        let cancelled = elsewhere.join().unwrap();
        assert_eq!(bell.0.load(SeqCst), usize::from(!cancelled));
        assert_eq!(Arc::strong_count(&bell), 1, "a waker was lost");
    });
}
