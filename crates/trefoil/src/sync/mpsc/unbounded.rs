//! Channels without a limit.

use super::channel::{Channel, Limit, Rx, Tx, WeakTx, channel};
use super::error::{SendError, TryRecvError};
use super::receiver;
use std::fmt;

/// No limit at all. Whether the channel is closed is the queue's affair.
struct Unlimited;

impl Limit for Unlimited {
    const CLOSES_QUEUE: bool = true;

    fn received(&self, _messages: usize) {}

    fn close(&self) {}

    fn is_idle(&self) -> bool {
        false
    }
}

/// Sends messages to an [`UnboundedReceiver`], without waiting. Made by [`unbounded_channel`].
///
/// When the last clone is dropped, the receiver gets the messages that were sent, and then `None`.
pub struct UnboundedSender<T> {
    tx: Tx<T, Unlimited>,
}

/// An [`UnboundedSender`] that does not keep the channel open. Made by
/// [`UnboundedSender::downgrade`].
pub struct WeakUnboundedSender<T> {
    tx: WeakTx<T, Unlimited>,
}

/// Receives what the [`UnboundedSender`]s send. Made by [`unbounded_channel`].
///
/// Messages that were not received are dropped with it, by the thread that drops it.
pub struct UnboundedReceiver<T> {
    rx: Rx<T, Unlimited>,
}

/// Makes a channel that takes any number of messages.
///
/// A receiver that is slower than its senders lets the channel grow until there is no memory left.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() {
/// let (sender, mut receiver) = trefoil::sync::mpsc::unbounded_channel();
/// trefoil::spawn(async move {
///     for n in 0..3 {
///         sender.send(n).unwrap();
///     }
/// });
/// let mut sum = 0;
/// while let Some(n) = receiver.recv().await {
///     sum += n;
/// }
/// assert_eq!(sum, 3);
/// # }
/// ```
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (tx, rx) = channel(Unlimited);
    (UnboundedSender { tx }, UnboundedReceiver { rx })
}

impl<T> UnboundedSender<T> {
    /// Sends a message, without waiting.
    ///
    /// # Errors
    /// Returns the message if the receiver was dropped or closed.
    #[inline]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.tx.send(message).map_err(SendError)
    }

    /// Waits until the receiver is dropped or closed.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped: it can be made again.
    pub async fn closed(&self) {
        self.tx.closed(Channel::is_queue_closed).await;
    }

    /// Whether the receiver was dropped or closed.
    pub fn is_closed(&self) -> bool {
        self.tx.channel().is_queue_closed()
    }

    /// Whether both send to the same receiver.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.tx.is_same(&other.tx)
    }

    /// A sender that does not keep the channel open. This one stays.
    #[must_use = "this sender stays, and so does the channel"]
    pub fn downgrade(&self) -> WeakUnboundedSender<T> {
        WeakUnboundedSender { tx: self.tx.downgrade() }
    }

    /// The number of [`UnboundedSender`]s.
    pub fn strong_count(&self) -> usize {
        self.tx.channel().strong_count()
    }

    /// The number of [`WeakUnboundedSender`]s.
    pub fn weak_count(&self) -> usize {
        self.tx.channel().weak_count()
    }
}

impl<T> Clone for UnboundedSender<T> {
    fn clone(&self) -> Self {
        Self { tx: self.tx.clone() }
    }
}

impl<T> fmt::Debug for UnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedSender").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}

impl<T> WeakUnboundedSender<T> {
    /// A sender, if there is still one.
    pub fn upgrade(&self) -> Option<UnboundedSender<T>> {
        self.tx.upgrade().map(|tx| UnboundedSender { tx })
    }

    /// The number of [`UnboundedSender`]s.
    pub fn strong_count(&self) -> usize {
        self.tx.channel().strong_count()
    }

    /// The number of [`WeakUnboundedSender`]s.
    pub fn weak_count(&self) -> usize {
        self.tx.channel().weak_count()
    }
}

impl<T> Clone for WeakUnboundedSender<T> {
    fn clone(&self) -> Self {
        Self { tx: self.tx.clone() }
    }
}

impl<T> fmt::Debug for WeakUnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakUnboundedSender").finish_non_exhaustive()
    }
}

receiver!(UnboundedReceiver, "UnboundedSender", "WeakUnboundedSender");
