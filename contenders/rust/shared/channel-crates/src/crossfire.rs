//! `crossfire`: its channels of many senders and one receiver.

use ::crossfire::mpsc::{self, Array, List};
use ::crossfire::{AsyncRx, MAsyncTx, MTx};
use async_workloads::Channels;

#[derive(Debug)]
pub(crate) struct CrossfireChannels;

impl Channels for CrossfireChannels {
    type Sender<T: Send + 'static> = MAsyncTx<Array<T>>;
    type Receiver<T: Send + 'static> = AsyncRx<Array<T>>;
    type UnboundedSender<T: Send + 'static> = MTx<List<T>>;
    type UnboundedReceiver<T: Send + 'static> = AsyncRx<List<T>>;

    fn bounded<T: Send + 'static>(room: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
        mpsc::bounded_async(room)
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
        mpsc::unbounded_async()
    }

    fn send_unbounded<T: Send + 'static>(sender: &Self::UnboundedSender<T>, value: T) {
        assert!(sender.send(value).is_ok(), "the receiver is gone");
    }

    async fn receive_unbounded<T: Send + 'static>(
        receiver: &mut Self::UnboundedReceiver<T>,
    ) -> Option<T> {
        receiver.recv().await.ok()
    }
}
