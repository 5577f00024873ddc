//! What one waits for.

use super::Ready;
use std::fmt;
use std::ops;

const READABLE: u8 = 1;
const WRITABLE: u8 = 1 << 1;
const PRIORITY: u8 = 1 << 2;
const ERROR: u8 = 1 << 3;

/// Which readiness of a source is waited for. Interests are joined with `|`.
///
/// ```
/// use trefoil::io::Interest;
///
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.is_readable() && both.is_writable());
/// assert_eq!(both.remove(Interest::WRITABLE), Some(Interest::READABLE));
/// assert_eq!(Interest::READABLE.remove(Interest::READABLE), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Interest(u8);

impl Interest {
    /// Something to read, or that the other side writes no more.
    pub const READABLE: Self = Self(READABLE);
    /// Room to write, or that the other side reads no more.
    pub const WRITABLE: Self = Self(WRITABLE);
    /// Something urgent to read.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Self = Self(PRIORITY);
    /// An error to fetch. Systems report errors whether one waits for them or not.
    pub const ERROR: Self = Self(ERROR);

    /// Whether something to read is waited for.
    pub const fn is_readable(self) -> bool {
        self.0 & READABLE != 0
    }

    /// Whether room to write is waited for.
    pub const fn is_writable(self) -> bool {
        self.0 & WRITABLE != 0
    }

    /// Whether something urgent is waited for.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const fn is_priority(self) -> bool {
        self.is_urgent()
    }

    /// Whether an error is waited for.
    pub const fn is_error(self) -> bool {
        self.0 & ERROR != 0
    }

    /// Both interests.
    #[must_use = "this returns the union, and changes neither"]
    pub const fn add(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This interest without the other one; none if nothing is left.
    #[must_use = "this returns what is left, and changes nothing"]
    pub fn remove(self, other: Self) -> Option<Self> {
        let left = Self(self.0 & !other.0);
        (left.0 != 0).then_some(left)
    }

    pub(crate) const fn is_urgent(self) -> bool {
        self.0 & PRIORITY != 0
    }

    /// The readiness that answers this.
    pub(crate) fn mask(self) -> Ready {
        Ready::of_interest(self)
    }

    /// What the system is asked for. Errors alone cannot be asked for, since they are always told.
    pub(crate) fn to_mio(self) -> mio::Interest {
        let mut asked = None;
        let mut ask = |interest: mio::Interest| {
            asked = Some(asked.map_or(interest, |asked: mio::Interest| asked.add(interest)));
        };
        if self.is_readable() {
            ask(mio::Interest::READABLE);
        }
        if self.is_writable() {
            ask(mio::Interest::WRITABLE);
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.is_priority() {
            ask(mio::Interest::PRIORITY);
        }
        asked.unwrap_or(mio::Interest::READABLE)
    }
}

impl ops::BitOr for Interest {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.add(other)
    }
}

impl ops::BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.add(other);
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (READABLE, "READABLE"),
            (WRITABLE, "WRITABLE"),
            (PRIORITY, "PRIORITY"),
            (ERROR, "ERROR"),
        ];
        let mut is_first = true;
        for (_, name) in names.iter().filter(|(bit, _)| self.0 & bit != 0) {
            if !is_first {
                f.write_str(" | ")?;
            }
            is_first = false;
            f.write_str(name)?;
        }
        Ok(())
    }
}
