//! The channels of the rows that leave the choice to the contender.

/// The channels that a runtime's users reach for, with many senders and one receiver: its own if it
/// has some.
pub trait Channels: 'static {
    type Sender<T: Send + 'static>: Clone + Send + Sync + 'static;
    type Receiver<T: Send + 'static>: Send + 'static;
    type UnboundedSender<T: Send + 'static>: Clone + Send + Sync + 'static;
    type UnboundedReceiver<T: Send + 'static>: Send + 'static;

    /// With room for `room` values, however many senders there are.
    fn bounded<T: Send + 'static>(room: usize) -> (Self::Sender<T>, Self::Receiver<T>);

    /// Waits for room. Panics if the receiver is gone. (`Unpin` is what crossfire asks for.)
    fn send<T: Send + Unpin + 'static>(
        sender: &Self::Sender<T>,
        value: T,
    ) -> impl Future<Output = ()> + Send;

    /// Waits for a value; `None` when the channel is empty and every sender is gone.
    fn next<T: Send + 'static>(
        receiver: &mut Self::Receiver<T>,
    ) -> impl Future<Output = Option<T>> + Send;

    /// As `next`, where a sender is left: panics if every sender is gone. A method of its own, so
    /// that no future is wrapped around another one.
    fn receive<T: Send + 'static>(
        receiver: &mut Self::Receiver<T>,
    ) -> impl Future<Output = T> + Send;

    fn unbounded<T: Send + 'static>() -> (Self::UnboundedSender<T>, Self::UnboundedReceiver<T>);

    /// Panics if the receiver is gone.
    fn send_unbounded<T: Send + 'static>(sender: &Self::UnboundedSender<T>, value: T);

    /// Waits for a value; `None` when the channel is empty and every sender is gone.
    fn receive_unbounded<T: Send + 'static>(
        receiver: &mut Self::UnboundedReceiver<T>,
    ) -> impl Future<Output = Option<T>> + Send;
}
