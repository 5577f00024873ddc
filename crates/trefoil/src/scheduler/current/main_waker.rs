//! How the future that is given to `block_on` is woken.

use super::Shared;
use crate::context;
use crate::primitives::atomic::{Acquire, AtomicBool, Relaxed, Release};
use crate::primitives::parker::Parker;
use std::cell::Cell;
use std::sync::Arc;
use std::task::Wake;

/// Wakes the future given to `block_on`.
pub(super) struct MainWaker {
    /// Another thread has woken the future, which was not polled since. Only RMWs change this: a
    /// plain store would break the release sequence from an earlier wake-up to the poll.
    woken: AtomicBool,
    /// The same for wake-ups by the driving thread itself, which need no RMW. Only the driving
    /// thread accesses this. The driver passes to another thread under the lock of `Shared::slot`.
    woken_here: Cell<bool>,
    shared: *const Shared,
    parker: Arc<Parker>,
}

// SAFETY: the pointer is only compared, and the comment at the cell says which thread may access
// it.
unsafe impl Send for MainWaker {}
// SAFETY: the pointer is only compared, and only the driving thread accesses the cell.
unsafe impl Sync for MainWaker {}

impl MainWaker {
    /// For a future that was not polled yet.
    pub(super) fn new(shared: *const Shared, parker: Arc<Parker>) -> Self {
        Self { woken: AtomicBool::new(false), woken_here: Cell::new(true), shared, parker }
    }

    /// Whether the future was woken and not polled since. Only the driving thread calls this.
    pub(super) fn is_woken(&self) -> bool {
        // Relaxed: the poll relies on `take`. If this misses a wake-up, the parker's token comes
        // later.
        self.woken_here.get() || self.woken.load(Relaxed)
    }

    /// As `is_woken`, and resets it. The poll that follows sees what the wakers did before.
    pub(super) fn take(&self) -> bool {
        let woken_here = self.woken_here.replace(false);
        // Relaxed: as in `is_woken`. Acquire: pairs with the Release in `wake_by_ref`. A plain
        // store could overwrite a wake-up, and the poll would not see what that wake-up was for.
        let woken = self.woken.load(Relaxed) && self.woken.swap(false, Acquire);
        woken_here || woken
    }
}

impl Wake for MainWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let is_driving = context::with(|context| {
            context.current().is_some_and(|driver| std::ptr::eq(driver.shared, self.shared))
        });
        if is_driving {
            // This thread checks before it parks.
            self.woken_here.set(true);
        } else {
            // Release: pairs with the Acquire in `take`.
            self.woken.swap(true, Release);
            self.parker.unpark();
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::primitives::atomic::AtomicU32;
    use loom::thread;

    /// Two threads each write something for the future and wake it. The future parks until it has
    /// seen both. A lost wake-up is a deadlock, which loom reports.
    #[test]
    fn loom_the_future_of_block_on_sees_what_it_was_woken_for() {
        let mut model = loom::model::Builder::new();
        // With a higher bound, loom's own `park` fails if two threads unpark.
        model.preemption_bound = Some(2);
        model.check(|| {
            let parker = Arc::new(Parker::new());
            parker.adopt();
            let main = Arc::new(MainWaker::new(std::ptr::null(), parker));
            let left: Arc<[AtomicU32; 2]> = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
            let wakers: Vec<_> = (0..2)
                .map(|index| {
                    let (main, left) = (Arc::clone(&main), Arc::clone(&left));
                    thread::spawn(move || {
                        // Relaxed: the wake-up has to publish it.
                        left[index].store(1, Relaxed);
                        main.wake();
                    })
                })
                .collect();
            loop {
                if main.take() && left.iter().all(|left| left.load(Relaxed) == 1) {
                    break;
                }
                if !main.is_woken() {
                    main.parker.park();
                }
            }
            for waker in wakers {
                waker.join().unwrap();
            }
        });
    }
}
