use std::error;
use std::fmt;

/// Why a timer could not be made.
///
/// Timers of this crate panic instead, or never fail: there is no limit to their number, and a
/// deadline beyond what can be represented is in the far future. The type is for code that has its
/// own timers and reports their errors in the same way.
#[derive(Clone, Copy, Debug)]
pub struct Error(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Shutdown,
    AtCapacity,
    Invalid,
}

impl Error {
    /// The runtime that would serve the timer has shut down.
    pub fn shutdown() -> Self {
        Self(Kind::Shutdown)
    }

    /// Whether the runtime has shut down.
    pub fn is_shutdown(&self) -> bool {
        matches!(self.0, Kind::Shutdown)
    }

    /// There are as many timers as there may be. Waiting for some of them may help.
    pub fn at_capacity() -> Self {
        Self(Kind::AtCapacity)
    }

    /// Whether there were too many timers.
    pub fn is_at_capacity(&self) -> bool {
        matches!(self.0, Kind::AtCapacity)
    }

    /// The duration is too long.
    pub fn invalid() -> Self {
        Self(Kind::Invalid)
    }

    /// Whether the duration was too long.
    pub fn is_invalid(&self) -> bool {
        matches!(self.0, Kind::Invalid)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Shutdown => "the runtime of the timer has shut down",
            Kind::AtCapacity => "there are as many timers as there may be",
            Kind::Invalid => "the duration is too long for a timer",
        })
    }
}

impl error::Error for Error {}
