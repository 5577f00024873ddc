//! The sender.

use super::arm::SendArm;
use super::channel::{Channel, Refusal, UNBOUNDED};
use super::error::{SendError, TrySendError};
use super::operation::Operation;
use crate::scheduler::block_on;
use crate::task::coop::cooperative;
use crate::task::wake_guarded;
use std::fmt;
use std::sync::Arc;

/// Sends items to the [`Receiver`](super::Receiver)s, each to one of them.
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Sender<T> {
    /// The one that is counted already.
    pub(super) fn first(channel: Arc<Channel<T>>) -> Self {
        Self { channel }
    }

    pub(super) fn channel(&self) -> &Channel<T> {
        &self.channel
    }

    /// Sends an item, and waits while the channel is full. With a capacity of zero, waits until a
    /// receiver takes it.
    ///
    /// # Errors
    /// Returns the item if the channel is closed, also if that happens during the wait.
    ///
    /// # Cancellation safety
    /// If the future is dropped while it waits, it loses its place. The item is dropped with it, or
    /// was received by then: receivers take it from those who wait. Whoever must know uses
    /// [`select!`](super::select!), or [`try_send`](Self::try_send).
    pub async fn send(&self, item: T) -> Result<(), SendError<T>> {
        Operation::new(SendArm::new(&self.channel, item)).await
    }

    /// Sends an item if that needs no wait.
    ///
    /// # Errors
    /// Returns the item if the channel is full, or closed. With a capacity of zero, it is full
    /// unless a receiver waits.
    pub fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        match self.channel.locked(|state| state.send(item)) {
            Ok(waker) => {
                waker.into_iter().for_each(wake_guarded);
                Ok(())
            }
            Err((item, Refusal::NotNow)) => Err(TrySendError::Full(item)),
            Err((item, Refusal::Closed)) => Err(TrySendError::Closed(item)),
        }
    }

    /// Sends an item, and blocks the thread while the channel is full.
    ///
    /// # Errors
    /// Returns the item if the channel is closed.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_send(&self, item: T) -> Result<(), SendError<T>> {
        block_on::blocking(self.send(item))
    }

    /// Closes the channel. Senders that wait get their items back. What the channel holds can still
    /// be received. Returns whether the channel was open.
    pub fn close(&self) -> bool {
        self.channel.close()
    }

    /// Whether the channel is closed.
    pub fn is_closed(&self) -> bool {
        self.channel.locked(|state| state.is_closed())
    }

    /// Waits until the channel is closed.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn closed(&self) {
        cooperative(self.channel.closed()).await;
    }

    /// How many items the channel holds. Those of senders that wait do not count.
    pub fn len(&self) -> usize {
        self.channel.locked(|state| state.len())
    }

    /// Whether the channel holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the channel holds as many items as it can. With a capacity of zero, it always does.
    pub fn is_full(&self) -> bool {
        self.channel.locked(|state| state.len() >= state.capacity())
    }

    /// How many items the channel can hold; `None` if any number.
    pub fn capacity(&self) -> Option<usize> {
        let capacity = self.channel.locked(|state| state.capacity());
        (capacity != UNBOUNDED).then_some(capacity)
    }

    /// How many senders there are.
    pub fn sender_count(&self) -> usize {
        self.channel.sender_count()
    }

    /// How many receivers there are.
    pub fn receiver_count(&self) -> usize {
        self.channel.receiver_count()
    }

    /// Whether both senders are of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        let channel = Arc::clone(&self.channel);
        channel.add_sender();
        Self { channel }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.channel.drop_sender();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("len", &self.len()).finish_non_exhaustive()
    }
}
