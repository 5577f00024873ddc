//! The sender.

use super::error::SendError;
use super::shared::Shared;
use super::{Receiver, Ref};
use crate::task::coop::cooperative;
use std::sync::Arc;

/// Sends values to the [`Receiver`]s, each of which sees the latest one.
///
/// Sending never waits for receivers, but blocks for as long as a [`Ref`] is held.
#[derive(Debug)]
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// A channel without a receiver: see [`subscribe`](Self::subscribe).
    ///
    /// ```
    /// let sender = trefoil::sync::watch::Sender::new(1);
    /// assert!(sender.send(2).is_err());
    /// let receiver = sender.subscribe();
    /// sender.send(3).unwrap();
    /// assert_eq!(*receiver.borrow(), 3);
    /// ```
    pub fn new(init: T) -> Self {
        let shared = Shared::new(init);
        shared.drop_receiver();
        Self { shared: Arc::new(shared) }
    }

    /// The one that is counted already.
    pub(super) fn first(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    /// Replaces the value, and wakes all receivers that wait.
    ///
    /// # Errors
    /// Returns the new value if there is no receiver, and keeps the old one. (The other ways to
    /// send need no receiver.)
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.is_closed() {
            return Err(SendError(value));
        }
        // The old value is dropped outside of the lock.
        drop(self.send_replace(value));
        Ok(())
    }

    /// Modifies the value in place, and wakes all receivers that wait.
    ///
    /// `modify` must not use this channel: the value is locked.
    ///
    /// # Panics
    /// If `modify` does. What it has modified by then is kept, and no receiver is told of it.
    ///
    /// ```
    /// let (sender, receiver) = trefoil::sync::watch::channel(vec![1]);
    /// sender.send_modify(|list| list.push(2));
    /// assert_eq!(*receiver.borrow(), [1, 2]);
    /// ```
    pub fn send_modify<F>(&self, modify: F)
    where
        F: FnOnce(&mut T),
    {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Lets `modify` see and modify the value in place. If it returns true, this is a new value,
    /// and all receivers that wait are woken. Returns what `modify` returned.
    ///
    /// If `modify` changes the value and returns false, the change is visible, but no receiver is
    /// told of it. `modify` must not use this channel: the value is locked.
    ///
    /// # Panics
    /// If `modify` does. What it has modified by then is kept, and no receiver is told of it.
    ///
    /// ```
    /// let (sender, receiver) = trefoil::sync::watch::channel(4);
    /// let mut halve = |n: &mut u32| {
    ///     let is_even = *n % 2 == 0;
    ///     *n >>= u32::from(is_even);
    ///     is_even
    /// };
    /// assert!(sender.send_if_modified(&mut halve) && sender.send_if_modified(&mut halve));
    /// assert!(!sender.send_if_modified(&mut halve));
    /// assert_eq!(*receiver.borrow(), 1);
    /// ```
    pub fn send_if_modified<F>(&self, modify: F) -> bool
    where
        F: FnOnce(&mut T) -> bool,
    {
        let mut value = self.shared.value.write();
        if !modify(&mut value) {
            return false;
        }
        let is_awaited = self.shared.change();
        drop(value);
        if is_awaited {
            self.shared.wake();
        }
        true
    }

    /// Replaces the value, also if there is no receiver, and wakes all receivers that wait. Returns
    /// the old value.
    ///
    /// ```
    /// let (sender, _receiver) = trefoil::sync::watch::channel("old");
    /// assert_eq!(sender.send_replace("new"), "old");
    /// ```
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|old| std::mem::swap(old, &mut value));
        value
    }

    /// The latest value. See [`Ref`] for what it keeps from others.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref { value: self.shared.value.read(), has_changed: false }
    }

    /// Whether there is no receiver at the moment.
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until there is no receiver.
    ///
    /// If the last receiver is dropped and then another one is made, this may miss it.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (sender, receiver) = trefoil::sync::watch::channel(());
    /// trefoil::spawn(async move { drop(receiver) });
    /// sender.closed().await;
    /// # }
    /// ```
    pub async fn closed(&self) {
        cooperative(async {
            loop {
                let deserted = self.shared.deserted.notified();
                if self.is_closed() {
                    return;
                }
                deserted.await;
            }
        })
        .await;
    }

    /// A new receiver, for which the present value is seen.
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::another(&self.shared, self.shared.look().version())
    }

    /// How many receivers there are.
    pub fn receiver_count(&self) -> usize {
        self.shared.receiver_count()
    }

    /// How many senders there are.
    pub fn sender_count(&self) -> usize {
        self.shared.sender_count()
    }

    /// Whether both senders are of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        let shared = Arc::clone(&self.shared);
        shared.add_sender();
        Self { shared }
    }
}

impl<T: Default> Default for Sender<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.drop_sender();
    }
}
