//! Trefoil's channels of many receivers, with one: what that choice costs.

use async_workloads::Channels;
use trefoil::sync::mpmc::{Receiver, Sender, bounded, unbounded};

#[derive(Debug)]
pub(crate) struct MpmcChannels;

impl Channels for MpmcChannels {
    type Sender<T: Send + 'static> = Sender<T>;
    type Receiver<T: Send + 'static> = Receiver<T>;
    type UnboundedSender<T: Send + 'static> = Sender<T>;
    type UnboundedReceiver<T: Send + 'static> = Receiver<T>;

    fn bounded<T: Send + 'static>(room: usize) -> (Sender<T>, Receiver<T>) {
        bounded(room)
    }

    async fn send<T: Send + Unpin + 'static>(sender: &Sender<T>, value: T) {
        assert!(sender.send(value).await.is_ok(), "the receiver is gone");
    }

    async fn next<T: Send + 'static>(receiver: &mut Receiver<T>) -> Option<T> {
        receiver.recv().await.ok()
    }

    async fn receive<T: Send + 'static>(receiver: &mut Receiver<T>) -> T {
        receiver.recv().await.expect("a sender is left")
    }

    fn unbounded<T: Send + 'static>() -> (Sender<T>, Receiver<T>) {
        unbounded()
    }

    fn send_unbounded<T: Send + 'static>(sender: &Sender<T>, value: T) {
        assert!(sender.try_send(value).is_ok(), "the receiver is gone");
    }

    async fn receive_unbounded<T: Send + 'static>(receiver: &mut Receiver<T>) -> Option<T> {
        receiver.recv().await.ok()
    }
}
