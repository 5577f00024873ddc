//! Room for messages that were not sent yet.

use super::bounded::{Bounded, Sender, wake_if_closed};
use super::channel::Tx;
use std::fmt;
use std::iter::FusedIterator;

/// Room for one message. Made by [`Sender::reserve`] and [`Sender::try_reserve`].
///
/// If it is dropped, the room goes to the next sender that waits.
#[must_use = "the room is given back if the permit is dropped"]
pub struct Permit<'a, T> {
    tx: &'a Tx<T, Bounded>,
}

/// Room for several messages: an iterator of [`Permit`]s. Made by [`Sender::reserve_many`] and
/// [`Sender::try_reserve_many`].
///
/// If it is dropped, what is left of the room goes to the next senders that wait.
#[must_use = "the room is given back if the permits are dropped"]
pub struct PermitIterator<'a, T> {
    tx: &'a Tx<T, Bounded>,
    left: usize,
}

/// Room for one message, and the sender for it. Made by [`Sender::reserve_owned`] and
/// [`Sender::try_reserve_owned`].
///
/// If it is dropped, the room goes to the next sender that waits.
#[must_use = "the room is given back if the permit is dropped"]
pub struct OwnedPermit<T> {
    /// None once the permit was used.
    sender: Option<Sender<T>>,
}

impl<'a, T> Permit<'a, T> {
    pub(super) fn new(tx: &'a Tx<T, Bounded>) -> Self {
        Self { tx }
    }

    /// Sends a message, without waiting. The receiver gets it even if it was closed in the
    /// meantime. If it was dropped, so is the message.
    #[inline]
    pub fn send(self, message: T) {
        // The room is given back when the message is received.
        let tx = self.tx;
        std::mem::forget(self);
        // The channel has no receiver any more if this fails.
        drop(tx.send(message));
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        give_back(self.tx, 1);
    }
}

fn give_back<T>(tx: &Tx<T, Bounded>, permits: usize) {
    tx.channel().limit.permits.release(permits);
    wake_if_closed(tx);
}

impl<'a, T> PermitIterator<'a, T> {
    pub(super) fn new(tx: &'a Tx<T, Bounded>, left: usize) -> Self {
        Self { tx, left }
    }
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.left = self.left.checked_sub(1)?;
        Some(Permit::new(self.tx))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        if self.left > 0 {
            give_back(self.tx, self.left);
        }
    }
}

impl<T> OwnedPermit<T> {
    pub(super) fn new(sender: Sender<T>) -> Self {
        Self { sender: Some(sender) }
    }

    /// Sends a message, as [`Permit::send`]. Returns the sender.
    pub fn send(mut self, message: T) -> Sender<T> {
        let sender = self.take();
        Permit::new(&sender.tx).send(message);
        sender
    }

    /// Gives the room back. Returns the sender.
    pub fn release(mut self) -> Sender<T> {
        let sender = self.take();
        drop(Permit::new(&sender.tx));
        sender
    }

    /// Whether both are for the same receiver.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.sender().same_channel(other.sender())
    }

    /// Whether the permit and the sender are for the same receiver.
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        self.sender().same_channel(sender)
    }

    fn sender(&self) -> &Sender<T> {
        self.sender.as_ref().expect("only what uses up the permit takes the sender")
    }

    fn take(&mut self) -> Sender<T> {
        self.sender.take().expect("only what uses up the permit takes the sender")
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(sender) = &self.sender {
            give_back(&sender.tx, 1);
        }
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitIterator").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").finish_non_exhaustive()
    }
}
