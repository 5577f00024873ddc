//! The channels of the rows that leave the choice to the contender.

use tokio::sync::mpsc;

/// The channels that a runtime's users reach for, with many senders and one receiver: its own if it
/// has some.
pub trait Channels: 'static {
    type Sender<T: Send + 'static>: Clone + Send + Sync + 'static;
    type Receiver<T: Send + 'static>: Send + 'static;
    type UnboundedSender<T: Send + 'static>: Clone + Send + Sync + 'static;
    type UnboundedReceiver<T: Send + 'static>: Send + 'static;

    /// With room for `room` values, however many senders there are.
    fn bounded<T: Send + 'static>(room: usize) -> (Self::Sender<T>, Self::Receiver<T>);

    /// Waits for room. Panics if the receiver is gone.
    fn send<T: Send + 'static>(
        sender: &Self::Sender<T>,
        value: T,
    ) -> impl Future<Output = ()> + Send;

    /// Waits for a value. Panics if the channel is empty and every sender is gone.
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

/// `tokio::sync::mpsc`, which works on any runtime: for tokio itself, and for runtimes without
/// channels whose users write as they would for tokio.
#[derive(Debug)]
pub struct TokioChannels;

impl Channels for TokioChannels {
    type Sender<T: Send + 'static> = mpsc::Sender<T>;
    type Receiver<T: Send + 'static> = mpsc::Receiver<T>;
    type UnboundedSender<T: Send + 'static> = mpsc::UnboundedSender<T>;
    type UnboundedReceiver<T: Send + 'static> = mpsc::UnboundedReceiver<T>;

    fn bounded<T: Send + 'static>(room: usize) -> (mpsc::Sender<T>, mpsc::Receiver<T>) {
        mpsc::channel(room)
    }

    async fn send<T: Send + 'static>(sender: &mpsc::Sender<T>, value: T) {
        // No `expect`: it would ask for a `T` that can be printed.
        assert!(sender.send(value).await.is_ok(), "the receiver is gone");
    }

    async fn receive<T: Send + 'static>(receiver: &mut mpsc::Receiver<T>) -> T {
        receiver.recv().await.expect("a sender is left")
    }

    fn unbounded<T: Send + 'static>() -> (mpsc::UnboundedSender<T>, mpsc::UnboundedReceiver<T>) {
        mpsc::unbounded_channel()
    }

    fn send_unbounded<T: Send + 'static>(sender: &mpsc::UnboundedSender<T>, value: T) {
        assert!(sender.send(value).is_ok(), "the receiver is gone");
    }

    async fn receive_unbounded<T: Send + 'static>(
        receiver: &mut mpsc::UnboundedReceiver<T>,
    ) -> Option<T> {
        receiver.recv().await
    }
}
