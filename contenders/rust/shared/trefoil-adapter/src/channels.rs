//! Trefoil's own channels.

use async_workloads::Channels;
use trefoil::sync::mpsc;

/// `trefoil::sync::mpsc`.
#[derive(Debug)]
pub struct OwnChannels;

impl Channels for OwnChannels {
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
