//! The channel and the semaphore that smol re-exports: async-channel and async-lock.

use async_workloads::{Channels, Oneshots, Semaphores};
use smol::channel::{Receiver, Sender, bounded, unbounded};
use smol::lock::Semaphore;

pub(crate) struct SmolSync;

impl Channels for SmolSync {
    type Sender<T: Send + 'static> = Sender<T>;
    type Receiver<T: Send + 'static> = Receiver<T>;
    type UnboundedSender<T: Send + 'static> = Sender<T>;
    type UnboundedReceiver<T: Send + 'static> = Receiver<T>;

    fn bounded<T: Send + 'static>(room: usize) -> (Sender<T>, Receiver<T>) {
        bounded(room)
    }

    async fn send<T: Send + Unpin + 'static>(sender: &Sender<T>, value: T) {
        // No `expect`: it would ask for a `T` that can be printed.
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
        // Not `send`: nobody ever waits for room here, and its future would be made and dropped for
        // nothing.
        assert!(sender.try_send(value).is_ok(), "the receiver is gone");
    }

    async fn receive_unbounded<T: Send + 'static>(receiver: &mut Receiver<T>) -> Option<T> {
        receiver.recv().await.ok()
    }
}

/// A channel with room for one: there is none for one value.
impl Oneshots for SmolSync {
    type OneshotSender<T: Send + 'static> = Sender<T>;
    type OneshotReceiver<T: Send + 'static> = Receiver<T>;

    fn oneshot<T: Send + 'static>() -> (Sender<T>, Receiver<T>) {
        bounded(1)
    }

    fn reply<T: Send + 'static>(sender: Sender<T>, value: T) {
        assert!(sender.try_send(value).is_ok(), "the receiver is gone");
    }

    async fn replied<T: Send + 'static>(receiver: Receiver<T>) -> T {
        receiver.recv().await.expect("the sender replies")
    }
}

impl Semaphores for SmolSync {
    type Semaphore = Semaphore;

    fn semaphore(permits: usize) -> Semaphore {
        Semaphore::new(permits)
    }

    async fn acquire_and_release(semaphore: &Semaphore) {
        drop(semaphore.acquire().await);
    }
}
