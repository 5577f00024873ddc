//! The primitives on which tasks wait for each other, beside channels of many senders.
//!
//! A runtime that brings some races them in the suite `native-sync`. The rows of the document nio
//! have tokio's in every contender.

/// Channels for one value.
pub trait Oneshots: 'static {
    type OneshotSender<T: Send + 'static>: Send + Unpin + 'static;
    type OneshotReceiver<T: Send + 'static>: Send + 'static;

    fn oneshot<T: Send + 'static>() -> (Self::OneshotSender<T>, Self::OneshotReceiver<T>);

    /// Panics if the receiver is gone.
    fn reply<T: Send + 'static>(sender: Self::OneshotSender<T>, value: T);

    /// Panics if the sender is gone.
    fn replied<T: Send + 'static>(
        receiver: Self::OneshotReceiver<T>,
    ) -> impl Future<Output = T> + Send;
}

/// Wake-ups without a value.
pub trait Notifies: 'static {
    type Notify: Default + Send + Sync + 'static;

    fn notified(notify: &Self::Notify) -> impl Future<Output = ()> + Send;

    /// Wakes one who waits, or lets the next one through who would.
    fn notify_one(notify: &Self::Notify);

    /// Wakes all who wait.
    fn notify_waiters(notify: &Self::Notify);
}

/// Permits for which tasks wait in turn.
pub trait Semaphores: 'static {
    type Semaphore: Send + Sync + 'static;

    fn semaphore(permits: usize) -> Self::Semaphore;

    /// Waits for a permit, and gives it back.
    fn acquire_and_release(semaphore: &Self::Semaphore) -> impl Future<Output = ()> + Send;
}

/// Channels on which every receiver receives every number.
pub trait Broadcasts: 'static {
    type BroadcastSender: Clone + Send + Sync + 'static;
    type BroadcastReceiver: Send + 'static;

    /// The channel keeps the last `room` numbers.
    fn broadcast(room: usize) -> Self::BroadcastSender;

    fn subscribe(sender: &Self::BroadcastSender) -> Self::BroadcastReceiver;

    /// Panics if all receivers are gone.
    fn broadcast_number(sender: &Self::BroadcastSender, number: u64);

    /// `None` when all senders are gone. Panics if the channel did not keep what this receiver has
    /// not seen.
    fn next_broadcast(
        receiver: &mut Self::BroadcastReceiver,
    ) -> impl Future<Output = Option<u64>> + Send;
}

/// One number, and those who are told when it changes.
pub trait Watches: 'static {
    type WatchSender: Send + Sync + 'static;
    type WatchReceiver: Send + 'static;

    fn watch() -> Self::WatchSender;

    fn watcher(sender: &Self::WatchSender) -> Self::WatchReceiver;

    /// Panics if all watchers are gone.
    fn change(sender: &Self::WatchSender, number: u64);

    /// Waits for a number that this watcher has not seen; `None` when the sender is gone.
    fn changed(receiver: &mut Self::WatchReceiver) -> impl Future<Output = Option<u64>> + Send;
}
