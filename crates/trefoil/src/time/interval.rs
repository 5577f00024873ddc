use super::{Duration, Instant, Sleep, sleep_until};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How late a tick may be polled without counting as missed. Timers always fire a little late.
const GRACE: Duration = Duration::from_millis(5);

/// A stream of ticks, one every `period`. The first tick comes at once.
///
/// # Panics
/// If the period is zero, outside of a runtime, and in a runtime without `enable_time`.
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// A stream of ticks, one every `period`. The first tick comes at `start`.
///
/// # Panics
/// If the period is zero, outside of a runtime, and in a runtime without `enable_time`.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(period > Duration::ZERO, "`period` must be non-zero.");
    Interval {
        delay: Box::pin(sleep_until(start)),
        period,
        missed_tick_behavior: MissedTickBehavior::default(),
    }
}

/// What an [`Interval`] does after ticks that nobody polled in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTickBehavior {
    /// Every missed tick comes late, without a pause, until the interval has caught up.
    #[default]
    Burst,
    /// One tick comes late. The next one comes a period after it.
    Delay,
    /// One tick comes late. The next one comes at the next multiple of the period.
    Skip,
}

impl MissedTickBehavior {
    /// When the next tick is due, after a tick that was due at `due` came at `now`; `None` if
    /// that cannot be represented.
    fn next(self, due: Instant, now: Instant, period: Duration) -> Option<Instant> {
        match self {
            Self::Burst => due.checked_add(period),
            Self::Delay => now.checked_add(period),
            Self::Skip => {
                let late = (now - due).as_nanos() % period.as_nanos();
                // The remainder is shorter than the period, which may be centuries.
                let late =
                    Duration::new((late / 1_000_000_000) as u64, (late % 1_000_000_000) as u32);
                now.checked_add(period - late)
            }
        }
    }
}

/// A stream of ticks: see [`interval`].
#[derive(Debug)]
pub struct Interval {
    /// Boxed, so that an interval can be moved.
    delay: Pin<Box<Sleep>>,
    period: Duration,
    missed_tick_behavior: MissedTickBehavior,
}

impl Interval {
    /// Waits for the next tick, and returns the moment at which it was due.
    ///
    /// # Cancellation safety
    /// Yes: if another branch of a `select!` is taken, no tick is lost.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// As [`Interval::tick`]. Only the waker of the last poll is woken.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.delay.as_mut().poll(cx));
        let due = self.delay.deadline();
        let now = Instant::now();
        let next = if now > due + GRACE {
            self.missed_tick_behavior.next(due, now, self.period)
        } else {
            due.checked_add(self.period)
        };
        self.delay.as_mut().reset(next.unwrap_or_else(Instant::far_future));
        Poll::Ready(due)
    }

    /// The next tick comes one period from now.
    pub fn reset(&mut self) {
        self.reset_at(Instant::after(self.period));
    }

    /// The next tick comes at once.
    pub fn reset_immediately(&mut self) {
        self.reset_at(Instant::now());
    }

    /// The next tick comes after `after`.
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(Instant::after(after));
    }

    /// The next tick comes at `deadline`.
    pub fn reset_at(&mut self, deadline: Instant) {
        self.delay.as_mut().reset(deadline);
    }

    /// What the interval does after missed ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed_tick_behavior
    }

    /// Sets what the interval does after missed ticks.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed_tick_behavior = behavior;
    }

    /// The time from tick to tick.
    pub fn period(&self) -> Duration {
        self.period
    }
}
