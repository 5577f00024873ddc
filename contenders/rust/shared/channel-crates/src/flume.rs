//! `flume`.

use ::flume::{Receiver, Sender};
use async_workloads::Channels;

#[derive(Debug)]
pub(crate) struct FlumeChannels;

impl Channels for FlumeChannels {
    type Sender<T: Send + 'static> = Sender<T>;
    type Receiver<T: Send + 'static> = Receiver<T>;
    type UnboundedSender<T: Send + 'static> = Sender<T>;
    type UnboundedReceiver<T: Send + 'static> = Receiver<T>;

    fn bounded<T: Send + 'static>(room: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
        ::flume::bounded(room)
    }

    async fn send<T: Send + Unpin + 'static>(sender: &Self::Sender<T>, value: T) {
        assert!(sender.send_async(value).await.is_ok(), "the receiver is gone");
    }

    async fn next<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> Option<T> {
        receiver.recv_async().await.ok()
    }

    async fn receive<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> T {
        receiver.recv_async().await.expect("a sender is left")
    }

    fn unbounded<T: Send + 'static>() -> (Self::UnboundedSender<T>, Self::UnboundedReceiver<T>) {
        ::flume::unbounded()
    }

    fn send_unbounded<T: Send + 'static>(sender: &Self::UnboundedSender<T>, value: T) {
        assert!(sender.send(value).is_ok(), "the receiver is gone");
    }

    async fn receive_unbounded<T: Send + 'static>(
        receiver: &mut Self::UnboundedReceiver<T>,
    ) -> Option<T> {
        receiver.recv_async().await.ok()
    }
}
