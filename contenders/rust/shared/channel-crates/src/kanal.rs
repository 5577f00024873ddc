//! `kanal`: the asynchronous ends of its channels.

use ::kanal::{AsyncReceiver, AsyncSender};
use async_workloads::Channels;

#[derive(Debug)]
pub(crate) struct KanalChannels;

impl Channels for KanalChannels {
    type Sender<T: Send + 'static> = AsyncSender<T>;
    type Receiver<T: Send + 'static> = AsyncReceiver<T>;
    type UnboundedSender<T: Send + 'static> = AsyncSender<T>;
    type UnboundedReceiver<T: Send + 'static> = AsyncReceiver<T>;

    fn bounded<T: Send + 'static>(room: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
        ::kanal::bounded_async(room)
    }

    async fn send<T: Send + Unpin + 'static>(sender: &Self::Sender<T>, value: T) {
        assert!(sender.send(value).await.is_ok(), "the receiver is gone");
    }

    async fn next<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> Option<T> {
        receiver.recv().await.ok()
    }

    async fn receive<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> T {
        receiver.recv().await.expect("a sender is left")
    }

    fn unbounded<T: Send + 'static>() -> (Self::UnboundedSender<T>, Self::UnboundedReceiver<T>) {
        ::kanal::unbounded_async()
    }

    fn send_unbounded<T: Send + 'static>(sender: &Self::UnboundedSender<T>, value: T) {
        assert!(sender.try_send(value).is_ok(), "the receiver is gone");
    }

    async fn receive_unbounded<T: Send + 'static>(
        receiver: &mut Self::UnboundedReceiver<T>,
    ) -> Option<T> {
        receiver.recv().await.ok()
    }
}
