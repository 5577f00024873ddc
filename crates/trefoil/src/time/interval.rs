use super::{Duration, Instant, Sleep, sleep_until};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How late a tick may be polled without counting as missed: a timer is never
/// exactly on time.
const GRACE: Duration = Duration::from_millis(5);

/// Ticks every `period`, the first time at once.
///
/// # Panics
/// For a period of zero, outside of a runtime, and in one without `enable_time`.
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Ticks every `period`, the first time at `start`.
///
/// # Panics
/// For a period of zero, outside of a runtime, and in one without `enable_time`.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(period > Duration::ZERO, "`period` must be non-zero.");
    Interval {
        delay: Box::pin(sleep_until(start)),
        period,
        missed_tick_behavior: MissedTickBehavior::default(),
    }
}

/// What an [`Interval`] does after it was not polled in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTickBehavior {
    /// Ticks as often as it takes to catch up.
    #[default]
    Burst,
    /// Ticks once, and counts the periods from then on.
    Delay,
    /// Ticks once, and continues at the next multiple of the period.
    Skip,
}

impl MissedTickBehavior {
    /// When to tick after the tick that was due at `due` came at `now`.
    fn next(self, due: Instant, now: Instant, period: Duration) -> Instant {
        match self {
            Self::Burst => due + period,
            Self::Delay => now + period,
            Self::Skip => {
                let late = (now - due).as_nanos() % period.as_nanos();
                // The remainder is below the period, which may be centuries.
                let late =
                    Duration::new((late / 1_000_000_000) as u64, (late % 1_000_000_000) as u32);
                now + (period - late)
            }
        }
    }
}

/// A stream of ticks: see [`interval`].
#[derive(Debug)]
pub struct Interval {
    /// Boxed, so that an interval may move.
    delay: Pin<Box<Sleep>>,
    period: Duration,
    missed_tick_behavior: MissedTickBehavior,
}

impl Interval {
    /// Waits for the next tick, and returns when it was due.
    ///
    /// # Cancellation safety
    /// Yes: if another branch of a `select!` comes first, no tick is lost.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// As [`Interval::tick`]. Only the last waker that it was polled with is
    /// woken.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.delay.as_mut().poll(cx));
        let due = self.delay.deadline();
        let now = Instant::now();
        let next = if now > due + GRACE {
            self.missed_tick_behavior.next(due, now, self.period)
        } else {
            due.checked_add(self.period).unwrap_or_else(Instant::far_future)
        };
        self.delay.as_mut().reset(next);
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

    /// What it does after missed ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed_tick_behavior
    }

    /// Sets what it does after missed ticks.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed_tick_behavior = behavior;
    }

    /// From tick to tick.
    pub fn period(&self) -> Duration {
        self.period
    }
}
