//! Timers fired, cancelled and polled at the same time, under loom.

use super::Clock;
use super::entry::{Entry, State};
use super::queue::{Owner, TimerQueue};
use crate::runtime::parker::Parker;
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use loom::thread;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

fn queue() -> Arc<TimerQueue> {
    Arc::new(TimerQueue::new(Clock::new(false, false), Arc::new(Parker::new())))
}

/// # Safety
/// As for `TimerQueue::owner`.
unsafe fn owner(queue: &Arc<TimerQueue>) -> Owner<'_> {
    // SAFETY: the caller's promise.
    unsafe { queue.owner() }
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

/// Due as soon as the clock has moved.
fn soon() -> Instant {
    Instant::now() + Duration::from_nanos(1)
}

fn until_due() {
    std::thread::sleep(Duration::from_micros(600));
}

/// A timer in the hands of a holder on whatever thread.
struct Held(NonNull<Entry>);

// SAFETY: as for `Sleep`.
unsafe impl Send for Held {}

impl Held {
    /// Whether somebody still waited.
    fn cancel(self) -> bool {
        // SAFETY: the holder, once.
        unsafe { TimerQueue::cancel(self.0) }.is_some()
    }
}

fn register(queue: &Arc<TimerQueue>, waker: &Waker) -> Held {
    // SAFETY: the model's first thread is the owner.
    Held(unsafe { owner(queue) }.register(soon(), waker).expect("nothing is due yet"))
}

#[test]
fn loom_timer_fires_or_is_cancelled_elsewhere() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let timer = register(&queue, &waker);
        until_due();
        let cancelling = thread::spawn(move || timer.cancel());
        // SAFETY: the model's first thread is the owner.
        let own = unsafe { owner(&queue) };
        own.fire();
        let cancelled = cancelling.join().unwrap();
        assert_eq!(bell.0.load(SeqCst), usize::from(!cancelled));
        own.close();
        drop(waker);
        assert_eq!(Arc::strong_count(&bell), 1, "a waker was lost");
        assert_eq!(Arc::strong_count(&queue), 1, "an entry was lost");
    });
}

#[test]
fn loom_timer_is_seen_to_have_fired_elsewhere() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let timer = register(&queue, &waker);
        until_due();
        let polling = thread::spawn(move || {
            // SAFETY: live while it is held.
            let entry = unsafe { timer.0.as_ref() };
            let fired = entry.state() == State::Fired;
            // SAFETY: the holder, who has put a waker there.
            let same = unsafe { entry.will_wake(&waker) };
            assert!(same);
            assert!(!(timer.cancel() && fired), "fired, and still waiting");
        });
        // SAFETY: the model's first thread is the owner.
        let own = unsafe { owner(&queue) };
        own.fire();
        polling.join().unwrap();
        own.close();
        assert_eq!(Arc::strong_count(&bell), 1, "a waker was lost");
    });
}

/// Made elsewhere, and cancelled there before or after the mail was read.
#[test]
fn loom_timer_sent_and_cancelled_again() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let its = Arc::clone(&queue);
        let sending = thread::spawn(move || {
            let timer = Held(its.send(soon(), &waker).expect("not closed yet"));
            timer.cancel()
        });
        // SAFETY: the model's first thread is the owner.
        let own = unsafe { owner(&queue) };
        own.fire();
        until_due();
        own.fire();
        let cancelled = sending.join().unwrap();
        assert_eq!(bell.0.load(SeqCst), usize::from(!cancelled));
        own.close();
        assert_eq!(Arc::strong_count(&bell), 1, "a waker was lost");
        assert_eq!(Arc::strong_count(&queue), 1, "an entry was lost");
    });
}

/// The owner that sleeps learns of a timer made elsewhere.
#[test]
fn loom_timer_sent_to_a_sleeper() {
    loom::model(|| {
        let parker = Arc::new(Parker::new());
        parker.adopt();
        let queue = Arc::new(TimerQueue::new(Clock::new(false, false), Arc::clone(&parker)));
        let (bell, waker) = bell();
        let its = Arc::clone(&queue);
        let sending = thread::spawn(move || {
            let timer = Held(its.send(soon(), &waker).expect("not closed yet"));
            thread::yield_now();
            timer
        });
        // SAFETY: the model's first thread is the owner.
        let own = unsafe { owner(&queue) };
        if own.until_next().is_none() {
            parker.park();
        }
        assert!(own.until_next().is_some(), "slept through");
        assert!(sending.join().unwrap().cancel());
        own.close();
        assert_eq!(Arc::strong_count(&bell), 1, "a waker was lost");
        assert_eq!(Arc::strong_count(&queue), 1, "an entry was lost");
    });
}

#[test]
fn loom_timer_queue_closes_while_timers_come_and_go() {
    loom::model(|| {
        let queue = queue();
        let (bell, waker) = bell();
        let one = register(&queue, &waker);
        let other = register(&queue, &waker);
        let its = Arc::clone(&queue);
        let elsewhere = thread::spawn(move || {
            let cancelled = one.cancel();
            let sent = its.send(soon(), &waker).ok().map(Held);
            (cancelled, sent)
        });
        // SAFETY: the model's first thread is the owner.
        unsafe { owner(&queue) }.close();
        let (cancelled, sent) = elsewhere.join().unwrap();
        let woken = 1 + usize::from(!cancelled) + usize::from(sent.is_some());
        assert_eq!(bell.0.load(SeqCst), woken);
        assert!(!other.cancel());
        assert!(!sent.is_some_and(Held::cancel));
        assert_eq!(Arc::strong_count(&bell), 1, "a waker was lost");
        assert_eq!(Arc::strong_count(&queue), 1, "an entry was lost");
    });
}
