//! What the monitor and the workers see of each other.

use super::*;
use crate::idle::Idle;
use crate::primitives::Mutex;
use crate::primitives::atomic::AtomicBool;
use crate::scheduler::multi::Kind;
use std::ptr;

/// The store-buffering pattern of `ensure` and `rest`: `make` makes something visible with a
/// full fence, and `see` looks for it.
fn one_sees_the_other(make: fn(&Handoff), see: fn(&Handoff) -> bool) {
    loom::model(move || {
        let handoff = Arc::new(Handoff::new());
        let monitor = Arc::new(Monitor::new());
        monitor.state.store(AWAKE, Relaxed);
        let maker = {
            let (handoff, monitor) = (Arc::clone(&handoff), Arc::clone(&monitor));
            loom::thread::spawn(move || {
                make(&handoff);
                // As in `ensure`.
                monitor.state.load(Relaxed) != AWAKE
            })
        };
        // As in `rest`.
        monitor.state.store(ASLEEP, Relaxed);
        fence(SeqCst);
        let is_seen = see(&handoff);
        let is_woken = maker.join().unwrap();
        assert!(is_seen || is_woken);
    });
}

#[test]
fn loom_a_guest_is_not_slept_through() {
    one_sees_the_other(|handoff| handoff.guest_enters(), Handoff::has_guest);
}

#[test]
fn loom_an_offer_is_not_slept_through() {
    let offer = |handoff: &Handoff| {
        // SAFETY: a state that does not exist has no other owner.
        let _ = unsafe { handoff.offer(ptr::null_mut(), false, Kind::Forks) };
    };
    one_sees_the_other(offer, |handoff| handoff.available().is_some());
}

/// A worker comes to count as awake, and runs, while the monitor begins to rest.
fn a_worker_is_not_slept_through(wakes: fn(&Idle)) {
    loom::model(move || {
        let idle = Arc::new(Idle::new(1));
        let monitor = Arc::new(Monitor::new());
        monitor.state.store(AWAKE, Relaxed);
        let _ = idle.sleep(0, false, || ());
        let worker = {
            let (idle, monitor) = (Arc::clone(&idle), Arc::clone(&monitor));
            loom::thread::spawn(move || {
                wakes(&idle);
                monitor.is_to_ensure_for_woken(|| false)
            })
        };
        // As in `rest`.
        monitor.state.store(ASLEEP, Relaxed);
        fence(SeqCst);
        let is_seen = !idle.is_all_asleep();
        let is_woken = worker.join().unwrap();
        assert!(is_seen || is_woken);
    });
}

#[test]
fn loom_a_worker_that_wakes_is_not_slept_through() {
    a_worker_is_not_slept_through(|idle| _ = idle.wake(0));
}

/// Its state is no longer on offer, so that only the count tells the monitor of it.
#[test]
fn loom_a_worker_that_is_back_from_blocking_is_not_slept_through() {
    a_worker_is_not_slept_through(|idle| _ = idle.wake_if(0, || true));
}

/// A worker wakes before there is a monitor, and looks for it when there is one, which begins to
/// rest.
#[test]
fn loom_a_worker_that_wakes_early_is_not_slept_through() {
    loom::model(|| {
        let idle = Arc::new(Idle::new(1));
        let monitor = Arc::new(Monitor::new());
        let _ = idle.sleep(0, false, || ());
        let worker = {
            let (idle, monitor) = (Arc::clone(&idle), Arc::clone(&monitor));
            loom::thread::spawn(move || {
                let _ = idle.wake(0);
                let is_early = || monitor.state.load(Relaxed) == ABSENT;
                let is_due = monitor.is_to_ensure_for_woken(is_early);
                // As in `ensure_for_busy`.
                is_due || monitor.state.load(Relaxed) != AWAKE
            })
        };
        // As in `start_first`, for another worker.
        monitor.state.store(AWAKE, Relaxed);
        // As in `rest`.
        monitor.state.store(ASLEEP, Relaxed);
        fence(SeqCst);
        let is_seen = !idle.is_all_asleep();
        let is_woken = worker.join().unwrap();
        assert!(is_seen || is_woken);
    });
}

/// The parts of `Shared` that the end of a runtime and `empty_slot_of` both use, for one task.
struct End {
    threads: AtomicUsize,
    slot: AtomicBool,
    /// Whether the task is in the injector; `None` once the injector is closed.
    injector: Mutex<Option<bool>>,
    cancelled: AtomicUsize,
}

impl End {
    /// As in `LifoSlot::take`.
    fn take(&self) -> bool {
        self.slot.load(Relaxed) && self.slot.swap(false, AcqRel)
    }

    /// As in `Shared::retire` and `cancel_tasks`.
    fn retire(&self) {
        if self.threads.fetch_sub(1, AcqRel) == 1 {
            let is_queued = self.injector.lock().take().expect("only one is the last");
            let found = usize::from(is_queued) + usize::from(self.take());
            self.cancelled.fetch_add(found, Relaxed);
        }
    }

    /// As in `Shared::empty_slot_of`.
    fn empty_slot(&self) {
        let join = |threads: usize| (threads > 0).then(|| threads + 1);
        if self.threads.fetch_update(SeqCst, SeqCst, join).is_err() {
            return;
        }
        if self.take() {
            let mut injector = self.injector.lock();
            *injector.as_mut().expect("closed before this thread has left") = true;
        }
        self.retire();
    }
}

/// The monitor takes the task from a worker's slot while the workers leave. The last thread to
/// leave finds the task.
#[test]
fn loom_a_task_that_the_monitor_holds_is_found_at_the_end() {
    loom::model(|| {
        let end = Arc::new(End {
            threads: AtomicUsize::new(2),
            slot: AtomicBool::new(true),
            injector: Mutex::new(Some(false)),
            cancelled: AtomicUsize::new(0),
        });
        let [worker, monitor] = [End::retire as fn(&End), End::empty_slot].map(|body| {
            let end = Arc::clone(&end);
            loom::thread::spawn(move || body(&end))
        });
        end.retire();
        worker.join().unwrap();
        monitor.join().unwrap();
        assert_eq!(end.cancelled.load(Relaxed), 1);
    });
}
