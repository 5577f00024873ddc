use std::fmt;
use std::ops;
use std::time::Duration;

/// A moment of a monotonic clock: of `std`'s clock, or under `test-util`, of the current runtime's,
/// which can be paused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    std: std::time::Instant,
}

impl Instant {
    /// The current moment.
    #[inline]
    pub fn now() -> Instant {
        #[cfg(feature = "test-util")]
        return crate::context::with(|context| Instant {
            std: match context.handle() {
                Some(handle) => handle.common().clock.now(),
                None => std::time::Instant::now(),
            },
        });
        #[cfg(not(feature = "test-util"))]
        Instant { std: std::time::Instant::now() }
    }

    /// Converts from an `Instant` of `std`.
    pub fn from_std(std: std::time::Instant) -> Instant {
        Instant { std }
    }

    /// Converts to an `Instant` of `std`.
    pub fn into_std(self) -> std::time::Instant {
        self.std
    }

    /// A moment in some decades: nobody waits that long, and sums with it do not overflow.
    pub(crate) fn far_future() -> Instant {
        Instant::now() + Duration::from_secs(86400 * 365 * 30)
    }

    /// The moment that is `duration` from now. The far future, if that cannot be represented.
    #[inline]
    pub(crate) fn after(duration: Duration) -> Instant {
        Instant::now().checked_add(duration).unwrap_or_else(Instant::far_future)
    }

    /// How long after `earlier` this is; zero if it is not.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// How long after `earlier` this is; `None` if it is not.
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.std.checked_duration_since(earlier.std)
    }

    /// How long after `earlier` this is; zero if it is not.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// How long ago this was; zero if it is yet to come.
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// The moment later by `duration`, if it can be represented.
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.std.checked_add(duration).map(Instant::from_std)
    }

    /// The moment earlier by `duration`, if it can be represented.
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.std.checked_sub(duration).map(Instant::from_std)
    }
}

impl From<std::time::Instant> for Instant {
    fn from(std: std::time::Instant) -> Instant {
        Instant { std }
    }
}

impl From<Instant> for std::time::Instant {
    fn from(instant: Instant) -> std::time::Instant {
        instant.std
    }
}

impl ops::Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        Instant { std: self.std + duration }
    }
}

impl ops::AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        self.std += duration;
    }
}

impl ops::Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }
}

impl ops::Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, duration: Duration) -> Instant {
        Instant { std: self.std - duration }
    }
}

impl ops::SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        self.std -= duration;
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.std.fmt(f)
    }
}
