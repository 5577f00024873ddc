//! A channel that keeps only the latest value, for many senders and many receivers.
//!
//! A receiver sees the latest value at any time ([`borrow`](Receiver::borrow)), and can wait for a
//! newer one ([`changed`](Receiver::changed)). Each receiver remembers which value it has *seen*:
//! [`borrow_and_update`](Receiver::borrow_and_update), `changed` and
//! [`wait_for`](Receiver::wait_for) mark the latest value as seen, and `borrow` does not. A
//! receiver that is slow skips values. The first value counts as seen.
//!
//! When all senders are dropped, the channel is closed: the last value stays visible, and `changed`
//! returns an error once it is seen. When all receivers are dropped, [`send`](Sender::send) fails
//! until there is a receiver again ([`subscribe`](Sender::subscribe)).
//!
//! ```
//! # #[trefoil::main(flavor = "current_thread")]
//! # async fn main() {
//! use trefoil::sync::watch;
//!
//! let (sender, mut receiver) = watch::channel("slow");
//! let seen = trefoil::spawn(async move {
//!     let mut seen = vec![*receiver.borrow_and_update()];
//!     while receiver.changed().await.is_ok() {
//!         seen.push(*receiver.borrow_and_update());
//!     }
//!     seen
//! });
//! trefoil::task::yield_now().await;
//! sender.send("fast").unwrap();
//! drop(sender);
//! assert_eq!(seen.await.unwrap(), ["slow", "fast"]);
//! # }
//! ```
//!
//! # Bounds
//! A sender wakes all receivers that wait when it sends, in the order in which they began to wait,
//! and releases the lock of the list after every 32 of them. Receivers that are always ready spend
//! their task's [budget](crate::task::coop).

mod receiver;
mod sender;
mod shared;

#[cfg(all(test, loom))]
mod loom_tests;

pub use receiver::Receiver;
pub use sender::Sender;

use crate::primitives::RwLockReadGuard;
use shared::Shared;
use std::ops::Deref;
use std::sync::Arc;

/// Makes a channel whose latest value is `init`.
///
/// ```
/// use trefoil::sync::watch;
///
/// let (sender, receiver) = watch::channel(1);
/// sender.send(2).unwrap();
/// assert_eq!(*receiver.borrow(), 2);
/// ```
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared::new(init));
    (Sender::first(Arc::clone(&shared)), Receiver::first(shared))
}

/// The latest value, borrowed.
///
/// As long as it exists, senders block when they send: keep it for a moment only, and never across
/// an `.await`. A thread that has one must not ask for another one of the same channel: if a sender
/// waits in between, both may wait for ever.
#[derive(Debug)]
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, T>,
    has_changed: bool,
}

impl<T> Ref<'_, T> {
    /// Whether the receiver had not seen this value before. False for a sender's.
    ///
    /// ```
    /// let (sender, mut receiver) = trefoil::sync::watch::channel(1);
    /// sender.send(2).unwrap();
    /// assert!(receiver.borrow_and_update().has_changed());
    /// assert!(!receiver.borrow_and_update().has_changed());
    /// ```
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

pub mod error {
    //! The errors of a watch channel.

    use std::error::Error;
    use std::fmt;

    /// There is no receiver. The value comes back.
    #[derive(PartialEq, Eq, Clone, Copy)]
    pub struct SendError<T>(pub T);

    /// All senders are dropped, and so there will be no other value.
    #[derive(Debug, Clone)]
    pub struct RecvError(pub(super) ());

    impl<T> fmt::Debug for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("SendError").finish_non_exhaustive()
        }
    }

    impl<T> fmt::Display for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the channel has no receiver")
        }
    }

    impl<T> Error for SendError<T> {}

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the channel is closed: all its senders were dropped")
        }
    }

    impl Error for RecvError {}
}
