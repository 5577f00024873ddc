//! Which operations of a source may go ahead.

use super::Interest;
use std::fmt;
use std::ops;

const READABLE: u8 = 1;
const WRITABLE: u8 = 1 << 1;
const READ_CLOSED: u8 = 1 << 2;
const WRITE_CLOSED: u8 = 1 << 3;
const PRIORITY: u8 = 1 << 4;
const ERROR: u8 = 1 << 5;
const UNTRIED: u8 = 1 << 6;
const UNFETCHED: u8 = 1 << 7;

/// The readiness of a source: which operations may succeed without waiting.
///
/// Readiness is a hint. An operation that was announced as ready may still find that it would have
/// to wait, because another task was faster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ready(u8);

impl Ready {
    /// No readiness.
    pub const EMPTY: Self = Self(0);
    /// There may be something to read.
    pub const READABLE: Self = Self(READABLE);
    /// There may be room to write.
    pub const WRITABLE: Self = Self(WRITABLE);
    /// The other side writes no more: all reads end at once from here on.
    pub const READ_CLOSED: Self = Self(READ_CLOSED);
    /// The other side reads no more: all writes fail at once from here on. Linux reports an error
    /// that waits to be fetched in the same way, after which a write may still succeed, or wait.
    pub const WRITE_CLOSED: Self = Self(WRITE_CLOSED);
    /// There is something urgent to read.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Self = Self(PRIORITY);
    /// There is an error to fetch.
    pub const ERROR: Self = Self(ERROR);
    /// All of them.
    pub const ALL: Self = Self(READABLE | WRITABLE | READ_CLOSED | WRITE_CLOSED | PRIORITY | ERROR);

    /// What never ends once it was there.
    const FINAL: Self = Self(READ_CLOSED | WRITE_CLOSED);
    const URGENT: Self = Self(PRIORITY);
    /// The source is new, and the first read is worth a try although nothing was reported yet. It
    /// lets calls go ahead, and is no readiness: who waits for that never sees it.
    pub(crate) const UNTRIED: Self = Self(UNTRIED);
    /// An error has come since a call was last turned down. It lets all calls go ahead, as the next
    /// one fetches the error if that is the socket's own; one that would block says that it is not.
    /// The error itself stays for those who ask for errors, whose calls fetch others as well.
    pub(crate) const UNFETCHED: Self = Self(UNFETCHED);

    /// Whether nothing is ready.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Whether there may be something to read. This is also so when the other side writes no more,
    /// because a read then says so.
    pub fn is_readable(self) -> bool {
        self.intersects(Self(READABLE | READ_CLOSED))
    }

    /// Whether there may be room to write. This is also so when the other side reads no more,
    /// because a write then says so.
    pub fn is_writable(self) -> bool {
        self.intersects(Self(WRITABLE | WRITE_CLOSED))
    }

    /// Whether the other side writes no more.
    pub fn is_read_closed(self) -> bool {
        self.intersects(Self::READ_CLOSED)
    }

    /// Whether the other side reads no more.
    pub fn is_write_closed(self) -> bool {
        self.intersects(Self::WRITE_CLOSED)
    }

    /// Whether there is something urgent to read.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn is_priority(self) -> bool {
        self.is_urgent()
    }

    /// Whether there is an error to fetch.
    pub fn is_error(self) -> bool {
        self.intersects(Self::ERROR)
    }

    /// Whether either side of it is closed.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn is_closed(self) -> bool {
        self.intersects(Self::FINAL)
    }

    pub(crate) fn is_urgent(self) -> bool {
        self.intersects(Self::URGENT)
    }

    pub(crate) fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// What a failed operation may clear. That the other side has closed stays true, but for
    /// sources that may be opened again.
    pub(crate) fn clearable(self) -> Self {
        self - Self::FINAL
    }

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(bits & (Self::ALL.0 | UNTRIED | UNFETCHED))
    }

    /// What the system has reported.
    pub(crate) fn of_event(event: &mio::event::Event) -> Self {
        let bit = |is_so: bool, bit: u8| if is_so { bit } else { 0 };
        Self(
            bit(event.is_readable(), READABLE)
                | bit(event.is_writable(), WRITABLE)
                | bit(event.is_read_closed(), READ_CLOSED)
                | bit(event.is_write_closed(), WRITE_CLOSED)
                | bit(event.is_priority(), PRIORITY)
                | bit(event.is_error(), ERROR),
        )
    }

    /// What answers an interest.
    pub(crate) fn of_interest(interest: Interest) -> Self {
        let bit = |is_so: bool, bit: u8| if is_so { bit } else { 0 };
        Self(
            bit(interest.is_readable(), READABLE | READ_CLOSED)
                | bit(interest.is_writable(), WRITABLE | WRITE_CLOSED)
                | bit(interest.is_urgent(), PRIORITY | READ_CLOSED)
                | bit(interest.is_error(), ERROR),
        )
    }

    /// What lets the calls of an interest go ahead. An error does so for all, because the next call
    /// fetches it.
    pub(crate) fn of_calls(interest: Interest) -> Self {
        let untried = if interest.is_readable() { Self::UNTRIED } else { Self::EMPTY };
        Self::of_interest(interest) | Self::UNFETCHED | untried
    }
}

impl ops::BitOr for Ready {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl ops::BitOrAssign for Ready {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl ops::BitAnd for Ready {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl ops::Sub for Ready {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready")
            .field("is_readable", &self.is_readable())
            .field("is_writable", &self.is_writable())
            .field("is_read_closed", &self.is_read_closed())
            .field("is_write_closed", &self.is_write_closed())
            .field("is_priority", &self.is_urgent())
            .field("is_error", &self.is_error())
            .finish()
    }
}
