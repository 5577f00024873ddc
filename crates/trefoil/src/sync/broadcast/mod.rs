//! A channel whose every value goes to every receiver, for many senders and many receivers.
//!
//! The channel keeps the latest values, as many as its capacity, which is rounded up to a power of
//! two. A receiver gets, one by one and in order, the values that are sent after it was made.
//! Sending never waits: it replaces the oldest value, whoever has not received that one yet. Such a
//! receiver *lags*. Its next call returns the error [`Lagged`](error::RecvError::Lagged) with the
//! number of values that it has missed, and the one after that the oldest value that is kept.
//!
//! When all senders are dropped, the channel is closed: receivers get what is kept, and then the
//! error [`Closed`](error::RecvError::Closed). When all receivers are dropped,
//! [`send`](Sender::send) fails until there is a receiver again ([`subscribe`](Sender::subscribe)).
//!
//! ```
//! # #[trefoil::main(flavor = "current_thread")]
//! # async fn main() {
//! use trefoil::sync::broadcast::{self, error::RecvError};
//!
//! let (sender, mut fast) = broadcast::channel(2);
//! let mut slow = sender.subscribe();
//! for n in 1..=3 {
//!     sender.send(n).unwrap();
//!     assert_eq!(fast.recv().await, Ok(n));
//! }
//! drop(sender);
//! assert_eq!(slow.recv().await, Err(RecvError::Lagged(1)));
//! assert_eq!((slow.recv().await, slow.recv().await), (Ok(2), Ok(3)));
//! assert_eq!(slow.recv().await, Err(RecvError::Closed));
//! # }
//! ```
//!
//! # Values
//! Each receiver gets a clone of the value, which is dropped when all have theirs; a value that
//! nobody can receive any more is dropped at once. Values are cloned one at a time, so that they
//! need not be `Sync`: while `clone` runs for one receiver, others that come to this value wait for
//! it. So `clone` must be short, and must not use this channel.
//!
//! # Bounds
//! A sender wakes all receivers that wait, in the order in which they began to wait, and releases
//! the lock of the list after every 32 of them. Receivers that are always ready spend their task's
//! [budget](crate::task::coop). The number of values that can be sent, 2⁶⁴, takes 584 years at one
//! a nanosecond.

mod receiver;
mod ring;
mod sender;

#[cfg(all(test, loom))]
mod loom_tests;

pub use receiver::Receiver;
pub use sender::{Sender, WeakSender};

use ring::Ring;
use std::sync::Arc;

/// Makes a channel that keeps `capacity` values, or a little more: the next power of two. The
/// memory for them is allocated when the first one is sent.
///
/// # Panics
/// If `capacity` is zero or more than `usize::MAX / 2`, or so many values have more than
/// `isize::MAX` bytes. If they are fewer and there is no memory for them, the first `send` ends the
/// process, as any allocation does.
///
/// ```
/// let (sender, mut receiver) = trefoil::sync::broadcast::channel(16);
/// sender.send("to all").unwrap();
/// assert_eq!(receiver.try_recv(), Ok("to all"));
/// ```
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let ring = Arc::new(Ring::new(capacity, 1));
    (Sender::first(Arc::clone(&ring)), Receiver::first(ring))
}

pub mod error {
    //! The errors of a broadcast channel.

    use std::error::Error;
    use std::fmt;

    /// There is no receiver. The value comes back.
    #[derive(Debug)]
    pub struct SendError<T>(pub T);

    /// There is no value to receive.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum RecvError {
        /// All senders are dropped, and all values were received.
        Closed,
        /// The receiver was too slow, and has missed so many values. The next one that it gets is
        /// the oldest that the channel still keeps.
        Lagged(u64),
    }

    /// There is no value to take.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum TryRecvError {
        /// All values were received, and others may be sent.
        Empty,
        /// All senders are dropped, and all values were received.
        Closed,
        /// The receiver was too slow, and has missed so many values. The next one that it gets is
        /// the oldest that the channel still keeps.
        Lagged(u64),
    }

    const CLOSED: &str = "the channel is closed: all its senders were dropped";

    fn write_lag(f: &mut fmt::Formatter<'_>, missed: u64) -> fmt::Result {
        write!(f, "the receiver was too slow, and has missed {missed} values")
    }

    impl<T> fmt::Display for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the channel has no receiver")
        }
    }

    impl<T: fmt::Debug> Error for SendError<T> {}

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Closed => f.write_str(CLOSED),
                Self::Lagged(missed) => write_lag(f, *missed),
            }
        }
    }

    impl Error for RecvError {}

    impl fmt::Display for TryRecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Empty => f.write_str("no value was sent yet"),
                Self::Closed => f.write_str(CLOSED),
                Self::Lagged(missed) => write_lag(f, *missed),
            }
        }
    }

    impl Error for TryRecvError {}
}
