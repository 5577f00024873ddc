//! The receiver.

use super::arm::RecvArm;
use super::channel::{Channel, Refusal, UNBOUNDED};
use super::error::{RecvError, TryRecvError};
use super::operation::Operation;
use crate::scheduler::block_on;
use crate::task::wake_guarded;
use std::fmt;
use std::sync::Arc;

/// Receives items from the [`Sender`](super::Sender)s. Each item goes to one receiver.
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Receiver<T> {
    /// The one that is counted already.
    pub(super) fn first(channel: Arc<Channel<T>>) -> Self {
        Self { channel }
    }

    pub(super) fn channel(&self) -> &Channel<T> {
        &self.channel
    }

    /// Waits for an item.
    ///
    /// # Errors
    /// The channel is closed, and empty.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it has returned, it loses its place, and no item is lost:
    /// what it was given by then goes to the next receiver that waits, or back to the front of the
    /// channel.
    pub async fn recv(&self) -> Result<T, RecvError> {
        Operation::new(RecvArm::new(&self.channel)).await
    }

    /// Takes an item if that needs no wait.
    ///
    /// # Errors
    /// [`Empty`](TryRecvError::Empty) if there is none at the moment, and
    /// [`Closed`](TryRecvError::Closed) if there will be none any more.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match self.channel.locked(|state| state.receive()) {
            Ok((item, waker)) => {
                waker.into_iter().for_each(wake_guarded);
                Ok(item)
            }
            Err(Refusal::NotNow) => Err(TryRecvError::Empty),
            Err(Refusal::Closed) => Err(TryRecvError::Closed),
        }
    }

    /// Blocks the thread until there is an item.
    ///
    /// # Errors
    /// The channel is closed, and empty.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_recv(&self) -> Result<T, RecvError> {
        block_on::blocking(self.recv())
    }

    /// The items that can be taken without a wait.
    ///
    /// ```
    /// let (sender, receiver) = trefoil::sync::mpmc::unbounded();
    /// (0..3).for_each(|n| sender.try_send(n).unwrap());
    /// assert_eq!(Vec::from_iter(receiver.try_iter()), [0, 1, 2]);
    /// ```
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }

    /// All items until the channel is closed. [`next`](Iterator::next) blocks the thread, and
    /// panics, as [`blocking_recv`](Self::blocking_recv) does.
    pub fn blocking_iter(&self) -> BlockingIter<'_, T> {
        BlockingIter { receiver: self }
    }

    /// Closes the channel. Senders that wait get their items back. What the channel holds can still
    /// be received. Returns whether the channel was open.
    pub fn close(&self) -> bool {
        self.channel.close()
    }

    /// Whether the channel is closed. There may still be items to receive.
    pub fn is_closed(&self) -> bool {
        self.channel.locked(|state| state.is_closed())
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

    /// Whether both receivers are of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        let channel = Arc::clone(&self.channel);
        channel.add_receiver();
        Self { channel }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.channel.drop_receiver();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// The iterator of [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T> {
    receiver: &'a Receiver<T>,
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

/// The iterator of [`Receiver::blocking_iter`].
#[derive(Debug)]
pub struct BlockingIter<'a, T> {
    receiver: &'a Receiver<T>,
}

impl<T> Iterator for BlockingIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.blocking_recv().ok()
    }
}
