//! A channel of many senders and many receivers, each of whose items goes to one receiver; and
//! [`select!`], which waits at several channels at once.
//!
//! [`bounded`] channels hold a limited number of items; a sender waits while the channel is full.
//! With a capacity of zero, the channel holds none (*rendezvous*): a sender waits until a receiver
//! takes its item. [`unbounded`] channels hold any number, and senders never wait.
//!
//! Senders and receivers can be cloned. When all senders are dropped, or all receivers, or one of
//! them calls `close`, the channel is closed: sending fails, and receivers get what is left, and
//! then an error.
//!
//! ```
//! # #[trefoil::main(flavor = "current_thread")]
//! # async fn main() {
//! use trefoil::sync::mpmc;
//!
//! let (sender, receiver) = mpmc::bounded(4);
//! let workers = Vec::from_iter((0..3).map(|_| {
//!     let receiver = receiver.clone();
//!     trefoil::spawn(async move {
//!         let mut sum = 0;
//!         while let Ok(n) = receiver.recv().await {
//!             sum += n;
//!         }
//!         sum
//!     })
//! }));
//! for n in 1..=100 {
//!     sender.send(n).await.unwrap();
//! }
//! drop(sender);
//! let mut sum = 0;
//! for worker in workers {
//!     sum += worker.await.unwrap();
//! }
//! assert_eq!(sum, 5050);
//! # }
//! ```
//!
//! # Order and fairness
//! Items of one sender are received in the order in which they were sent. Those who wait are served
//! in the order in which they began to wait, receivers and senders alike, and nobody overtakes
//! them: an item goes straight to the receiver that has waited the longest, and a place that
//! becomes free to the sender that has. There is one exception: an item that was given to a future
//! that is dropped before it has returned it goes to the receiver that has waited the longest by
//! then, or else to the front of the channel, which may then hold more than its capacity. (If the
//! channel was closed in between, those who waited were told so by then. The item is for the next
//! call.)
//!
//! A future that was given an item, and is neither polled nor dropped, keeps it from others.
//!
//! # Bounds
//! Futures that are always ready spend their task's [budget](crate::task::coop). Closing a channel
//! wakes all who wait, and releases the lock after every 32 of them. No other call does more than
//! to serve one who waits, and to remove from the list before it what a `select!` has left there.

mod arm;
mod channel;
mod macros;
mod operation;
mod receiver;
mod select;
mod selector;
mod sender;

#[cfg(all(test, loom))]
mod loom_tests;

#[doc(inline)]
pub use crate::__mpmc_select as select;
#[doc(hidden)]
pub use macros::support;
pub use receiver::{BlockingIter, Receiver, TryIter};
pub use sender::Sender;

use channel::{Channel, UNBOUNDED};
use std::sync::Arc;

/// Makes a channel that holds up to `capacity` items; with zero, each item passes from a sender
/// that waits to a receiver, or the other way round. Memory is allocated as it is needed.
///
/// ```
/// use trefoil::sync::mpmc::{self, error::TrySendError};
///
/// let (sender, receiver) = mpmc::bounded(1);
/// sender.try_send("a").unwrap();
/// assert_eq!(sender.try_send("b"), Err(TrySendError::Full("b")));
/// assert_eq!(receiver.try_recv(), Ok("a"));
/// ```
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(capacity));
    (Sender::first(Arc::clone(&channel)), Receiver::first(channel))
}

/// Makes a channel that holds any number of items.
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    bounded(UNBOUNDED)
}

pub mod error {
    //! The errors of a channel of many senders and receivers.

    use std::error::Error;
    use std::fmt;

    /// The channel is closed. The item comes back.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct SendError<T>(pub T);

    /// The item was not sent, and comes back.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub enum TrySendError<T> {
        /// The channel is full; or it holds nothing, and no receiver waits.
        Full(T),
        /// The channel is closed.
        Closed(T),
    }

    /// The channel is closed, and empty.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RecvError;

    /// There is no item to take.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TryRecvError {
        /// The channel is empty, and no sender waits.
        Empty,
        /// The channel is closed, and empty.
        Closed,
    }

    impl<T> SendError<T> {
        /// The item.
        pub fn into_inner(self) -> T {
            self.0
        }
    }

    impl<T> TrySendError<T> {
        /// The item.
        pub fn into_inner(self) -> T {
            match self {
                Self::Full(item) | Self::Closed(item) => item,
            }
        }
    }

    const CLOSED: &str = "the channel is closed";
    const FULL: &str = "the channel is full";
    const EMPTY: &str = "the channel is empty";

    impl<T> fmt::Debug for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("SendError").finish_non_exhaustive()
        }
    }

    impl<T> fmt::Debug for TrySendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(match self {
                Self::Full(_) => "Full(..)",
                Self::Closed(_) => "Closed(..)",
            })
        }
    }

    impl<T> fmt::Display for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(CLOSED)
        }
    }

    impl<T> fmt::Display for TrySendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(match self {
                Self::Full(_) => FULL,
                Self::Closed(_) => CLOSED,
            })
        }
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(CLOSED)
        }
    }

    impl fmt::Display for TryRecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(match self {
                Self::Empty => EMPTY,
                Self::Closed => CLOSED,
            })
        }
    }

    impl<T> Error for SendError<T> {}
    impl<T> Error for TrySendError<T> {}
    impl Error for RecvError {}
    impl Error for TryRecvError {}
}
