//! Senders, strong and weak.

use super::Receiver;
use super::error::SendError;
use super::ring::Ring;
use crate::task::coop::cooperative;
use std::fmt;
use std::sync::Arc;

/// Sends values to all [`Receiver`]s.
pub struct Sender<T> {
    ring: Arc<Ring<T>>,
}

/// A sender that does not keep the channel open.
///
/// It cannot send itself: see [`upgrade`](Self::upgrade).
pub struct WeakSender<T> {
    ring: Arc<Ring<T>>,
}

impl<T> Sender<T> {
    /// A channel without a receiver: see [`subscribe`](Self::subscribe). The capacity is that of
    /// [`channel`](super::channel).
    ///
    /// # Panics
    /// As [`channel`](super::channel).
    ///
    /// ```
    /// let sender = trefoil::sync::broadcast::Sender::new(4);
    /// assert!(sender.send(1).is_err());
    /// let mut receiver = sender.subscribe();
    /// sender.send(2).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(2));
    /// ```
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Self { ring: Arc::new(Ring::new(capacity, 0)) }
    }

    /// The one that is counted already.
    pub(super) fn first(ring: Arc<Ring<T>>) -> Self {
        Self { ring }
    }

    /// Sends a value to all receivers, without waiting, and returns how many there are. Not all of
    /// them need receive it: a receiver may be dropped, or be too slow.
    ///
    /// # Errors
    /// Returns the value if there is no receiver. Later calls may succeed.
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        self.ring.send(value).map_err(SendError)
    }

    /// A new receiver, for what is sent from now on.
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::another(&self.ring)
    }

    /// A sender that does not keep the channel open.
    #[must_use = "this makes a weak sender, and keeps the strong one"]
    pub fn downgrade(&self) -> WeakSender<T> {
        self.ring.add_weak_sender();
        WeakSender { ring: Arc::clone(&self.ring) }
    }

    /// How many values the channel keeps that not all receivers have received.
    ///
    /// ```
    /// let (sender, mut receiver) = trefoil::sync::broadcast::channel(4);
    /// let other = sender.subscribe();
    /// (1..=3).for_each(|n| drop(sender.send(n)));
    /// receiver.try_recv().unwrap();
    /// assert_eq!((sender.len(), receiver.len(), other.len()), (3, 2, 3));
    /// ```
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether all receivers have received all values.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// How many receivers there are.
    pub fn receiver_count(&self) -> usize {
        self.ring.receiver_count()
    }

    /// Whether both senders are of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ring, &other.ring)
    }

    /// Waits until there is no receiver.
    ///
    /// If the last receiver is dropped and then another one is made, this may miss it.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn closed(&self) {
        cooperative(self.ring.deserted()).await;
    }

    /// How many senders there are, without the weak ones.
    pub fn strong_count(&self) -> usize {
        self.ring.sender_count()
    }

    /// How many weak senders there are.
    pub fn weak_count(&self) -> usize {
        self.ring.weak_sender_count()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        let ring = Arc::clone(&self.ring);
        ring.add_sender();
        Self { ring }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.ring.drop_sender();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> WeakSender<T> {
    /// A sender, unless all are dropped: then the channel stays closed.
    ///
    /// ```
    /// let (sender, _receiver) = trefoil::sync::broadcast::channel::<u32>(4);
    /// let weak = sender.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(sender);
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.ring.add_sender_if_any().then(|| Sender { ring: Arc::clone(&self.ring) })
    }

    /// How many senders there are, without the weak ones.
    pub fn strong_count(&self) -> usize {
        self.ring.sender_count()
    }

    /// How many weak senders there are.
    pub fn weak_count(&self) -> usize {
        self.ring.weak_sender_count()
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        let ring = Arc::clone(&self.ring);
        ring.add_weak_sender();
        Self { ring }
    }
}

impl<T> Drop for WeakSender<T> {
    fn drop(&mut self) {
        self.ring.drop_weak_sender();
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender").finish_non_exhaustive()
    }
}
