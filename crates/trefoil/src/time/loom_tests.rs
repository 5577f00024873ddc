//! Timers fired, dropped and polled at the same time, under loom.

use super::Clock;
use super::queue::TimerQueue;
use super::wheel::Entry;
use crate::runtime::parker::Parker;
use loom::thread;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

fn queue() -> Arc<TimerQueue> {
    Arc::new(TimerQueue::new(Clock::new(false, false), Arc::new(Parker::new())))
}

/// A timer's owner, on its own thread.
struct Timer {
    entry: Box<Entry>,
    queue: Arc<TimerQueue>,
}

impl Timer {
    fn register(queue: &Arc<TimerQueue>) -> Self {
        let entry = Box::new(Entry::new());
        let due = queue.clock().now() - Duration::from_secs(1);
        // SAFETY: on no queue, and `drop` removes it.
        let registered =
            unsafe { queue.register(NonNull::from(&*entry), due, Waker::noop().clone()) };
        assert!(registered.is_ok());
        Self { entry, queue: Arc::clone(queue) }
    }
}

// SAFETY: as for `Sleep`.
unsafe impl Send for Timer {}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: it was registered there.
        drop(unsafe { self.queue.remove(NonNull::from(&*self.entry)) });
    }
}

#[test]
fn loom_timer_fires_while_it_is_dropped() {
    loom::model(|| {
        let queue = queue();
        let timer = Timer::register(&queue);
        let dropping = thread::spawn(move || drop(timer));
        queue.fire();
        dropping.join().unwrap();
    });
}

#[test]
fn loom_timer_fires_while_it_is_polled() {
    loom::model(|| {
        let queue = queue();
        let timer = Timer::register(&queue);
        let polling = thread::spawn(move || {
            let entry = NonNull::from(&*timer.entry);
            // SAFETY: it was registered there.
            let ready = unsafe { timer.queue.poll(entry, Waker::noop()) }.is_ready();
            assert!(!ready || timer.entry.state.has_fired());
        });
        queue.fire();
        polling.join().unwrap();
    });
}

#[test]
fn loom_timer_queue_closes_while_timers_go() {
    loom::model(|| {
        let queue = queue();
        let (one, other) = (Timer::register(&queue), Timer::register(&queue));
        let dropping = thread::spawn(move || drop(one));
        queue.close();
        assert!(!other.entry.state.is_registered());
        dropping.join().unwrap();
    });
}
