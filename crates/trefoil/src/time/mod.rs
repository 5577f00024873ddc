//! Timers: sleeping, deadlines, intervals, and time that tests can control.
//!
//! Timers have a resolution of a sixteenth of a millisecond, and never fire early. A timer that is
//! never polled, or has ended before its first poll, costs one reading of the clock.
//! `src/time/README.md` says how timers work.

mod block_on;
mod clock;
mod entry;
mod instant;
mod interval;
mod queue;
mod refusal;
mod sleep;
mod timeout;
mod wheel;

#[cfg(all(test, loom))]
mod loom_tests;

#[cfg(feature = "test-util")]
pub use clock::{advance, pause, resume};
pub use instant::Instant;
pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
#[doc(no_inline)]
pub use std::time::Duration;
pub use timeout::{Timeout, timeout, timeout_at};

pub(crate) use block_on::BlockOnTimers;
pub(crate) use clock::Clock;
pub(crate) use queue::{FIRE_AT_MOST, Fired, TimerQueue};

pub mod error {
    //! What can go wrong with time.
    pub use super::refusal::Error;
    pub use super::timeout::Elapsed;
}
