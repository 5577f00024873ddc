//! The time: that of the system's clock, or under `test-util`, what a test sets.

use std::time::{Duration, Instant};

#[cfg(feature = "test-util")]
use crate::primitives::Mutex;
#[cfg(feature = "test-util")]
use crate::scheduler::{Handle, Scheduler};
#[cfg(feature = "test-util")]
use std::sync::Arc;
#[cfg(feature = "test-util")]
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A runtime's clock.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    start: Instant,
    #[cfg(feature = "test-util")]
    control: Option<Arc<Mutex<Control>>>,
}

/// Time that can be stopped.
#[cfg(feature = "test-util")]
#[derive(Debug)]
struct Control {
    /// The time at which the clock was last started or stopped.
    base: Instant,
    /// When the clock was last started, by the system's clock; `None` while it is stopped.
    running_since: Option<Instant>,
}

/// Whether any clock was ever paused. Until then, every clock is the system's. It orders nothing,
/// so loom need not see it.
#[cfg(feature = "test-util")]
static EVER_PAUSED: AtomicBool = AtomicBool::new(false);

#[cfg(feature = "test-util")]
impl Control {
    fn now(&self) -> Instant {
        match self.running_since {
            None => self.base,
            Some(since) => self.base + since.elapsed(),
        }
    }
}

#[cfg(not(feature = "test-util"))]
impl Clock {
    pub(crate) fn new(_is_controllable: bool, _is_paused: bool) -> Self {
        Self { start: Instant::now() }
    }

    #[inline(always)]
    pub(crate) fn now(&self) -> Instant {
        Instant::now()
    }

    #[inline(always)]
    pub(crate) fn is_paused(&self) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn is_virtual(&self) -> bool {
        false
    }

    pub(crate) fn jump(&self, _duration: Duration) {}
}

impl Clock {
    /// The system's clock, as if it had been made so long ago.
    #[cfg(all(test, loom))]
    pub(super) fn aged(age: Duration) -> Self {
        Self { start: Instant::now() - age, ..Self::new(false, false) }
    }

    /// The time from the making of the clock to `instant`; zero for an earlier moment.
    #[inline]
    pub(crate) fn since_start(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.start)
    }
}

#[cfg(feature = "test-util")]
impl Clock {
    pub(crate) fn new(is_controllable: bool, is_paused: bool) -> Self {
        let start = Instant::now();
        if is_paused {
            // Relaxed: as in `now`. Another thread gets the clock by way of something that
            // synchronizes, and so sees this store.
            EVER_PAUSED.store(true, Relaxed);
        }
        let control = Control { base: start, running_since: (!is_paused).then_some(start) };
        Self { start, control: is_controllable.then(|| Arc::new(Mutex::new(control))) }
    }

    #[inline]
    pub(crate) fn now(&self) -> Instant {
        // Relaxed: a thread that paused a clock sees its own store.
        match &self.control {
            Some(control) if EVER_PAUSED.load(Relaxed) => control.lock().now(),
            _ => Instant::now(),
        }
    }

    #[inline]
    pub(crate) fn is_paused(&self) -> bool {
        // Relaxed: as in `now`.
        EVER_PAUSED.load(Relaxed)
            && self.control.as_ref().is_some_and(|control| control.lock().running_since.is_none())
    }

    /// Whether time may be stopped, or has been.
    pub(crate) fn is_virtual(&self) -> bool {
        self.is_paused()
    }

    #[track_caller]
    pub(crate) fn pause(&self) {
        let Some(control) = &self.control else {
            panic!("`time::pause()` requires the `current_thread` runtime");
        };
        // Relaxed: as in `now`.
        EVER_PAUSED.store(true, Relaxed);
        let mut control = control.lock();
        match control.running_since {
            None => {
                drop(control);
                panic!("time is already frozen");
            }
            Some(since) => {
                control.base += since.elapsed();
                control.running_since = None;
            }
        }
    }

    #[track_caller]
    fn resume(&self) {
        let Some(control) = &self.control else {
            panic!("`time::resume()` requires the `current_thread` runtime");
        };
        let mut control = control.lock();
        if control.running_since.is_some() {
            drop(control);
            panic!("time is not frozen");
        }
        control.running_since = Some(Instant::now());
    }

    /// Advances a stopped clock. False if the clock runs.
    #[track_caller]
    fn try_jump(&self, duration: Duration) -> bool {
        let Some(control) = &self.control else { return false };
        let mut control = control.lock();
        if control.running_since.is_some() {
            return false;
        }
        let Some(base) = control.base.checked_add(duration) else {
            // The hook of a panic is foreign code, and may ask for the time.
            drop(control);
            panic!("stopped time cannot be advanced by {duration:?}: there is no such time");
        };
        control.base = base;
        true
    }

    pub(crate) fn jump(&self, duration: Duration) {
        // A task of the same thread may have resumed the clock. Then the wait is repeated.
        let _ = self.try_jump(duration);
    }
}

/// The clock was stopped, started or set. The thread that drives may sleep for as long as its
/// timers asked for before.
#[cfg(feature = "test-util")]
fn have_timers_looked_at(handle: &Handle) {
    if let Scheduler::Current(shared) = &handle.scheduler {
        shared.unpark();
    }
}

/// Stops the clock of the current runtime, which must be a current-thread runtime.
///
/// From then on, [`Instant::now`](super::Instant::now) returns the same moment until the clock
/// jumps: whenever all tasks wait, it jumps to the deadline of the next timer. It does not jump
/// while there are blocking tasks.
///
/// Timers of other threads that are in `block_on`, and that do not drive the runtime, are fired by
/// the thread that drives it from then on. That holds after [`resume`] as well, for those that wait
/// already.
///
/// # Panics
/// If the clock is stopped already, in a multi-thread runtime, or outside of a runtime.
#[cfg(feature = "test-util")]
#[track_caller]
pub fn pause() {
    let handle = Handle::current();
    handle.clock().pause();
    // Other threads in `block_on` have timers that the driving thread does not know, and to which
    // time would not jump.
    handle.common().block_on_timers.release();
    have_timers_looked_at(&handle);
}

/// Starts the clock of the current runtime again.
///
/// # Panics
/// If the clock runs, or outside of a current-thread runtime.
#[cfg(feature = "test-util")]
#[track_caller]
pub fn resume() {
    let handle = Handle::current();
    handle.clock().resume();
    have_timers_looked_at(&handle);
}

/// Advances the stopped clock by `duration`, and yields, so that timers that are due then can fire.
/// It does not wait until their tasks have run.
///
/// # Panics
/// If the clock runs, outside of a current-thread runtime, and if there is no such time.
#[cfg(feature = "test-util")]
pub async fn advance(duration: Duration) {
    {
        let handle = Handle::current();
        assert!(handle.clock().try_jump(duration), "time is not frozen");
        have_timers_looked_at(&handle);
    }
    crate::task::yield_now().await;
}
