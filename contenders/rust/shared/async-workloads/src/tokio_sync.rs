//! The channels and primitives of tokio, and of whoever has them under its names.

/// Adapts the module `sync` of a crate with tokio's names: a type that stands for its channels and
/// its primitives.
///
/// A macro for the reason that [`adapt_tokio_api`](crate::adapt_tokio_api) is one.
#[macro_export]
macro_rules! adapt_tokio_sync {
    ($api:ident as $name:ident) => {
        #[doc = concat!("`", stringify!($api), "::sync`.")]
        #[derive(Debug)]
        pub struct $name;

        impl $crate::Channels for $name {
            type Sender<T: Send + 'static> = $api::sync::mpsc::Sender<T>;
            type Receiver<T: Send + 'static> = $api::sync::mpsc::Receiver<T>;
            type UnboundedSender<T: Send + 'static> = $api::sync::mpsc::UnboundedSender<T>;
            type UnboundedReceiver<T: Send + 'static> = $api::sync::mpsc::UnboundedReceiver<T>;

            fn bounded<T: Send + 'static>(room: usize) -> (Self::Sender<T>, Self::Receiver<T>) {
                $api::sync::mpsc::channel(room)
            }

            async fn send<T: Send + Unpin + 'static>(sender: &Self::Sender<T>, value: T) {
                // No `expect`: it would ask for a `T` that can be printed.
                assert!(sender.send(value).await.is_ok(), "the receiver is gone");
            }

            async fn next<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> Option<T> {
                receiver.recv().await
            }

            async fn receive<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> T {
                receiver.recv().await.expect("a sender is left")
            }

            fn unbounded<T: Send + 'static>()
            -> (Self::UnboundedSender<T>, Self::UnboundedReceiver<T>) {
                $api::sync::mpsc::unbounded_channel()
            }

            fn send_unbounded<T: Send + 'static>(sender: &Self::UnboundedSender<T>, value: T) {
                assert!(sender.send(value).is_ok(), "the receiver is gone");
            }

            async fn receive_unbounded<T: Send + 'static>(
                receiver: &mut Self::UnboundedReceiver<T>,
            ) -> Option<T> {
                receiver.recv().await
            }
        }

        impl $crate::Oneshots for $name {
            type OneshotSender<T: Send + 'static> = $api::sync::oneshot::Sender<T>;
            type OneshotReceiver<T: Send + 'static> = $api::sync::oneshot::Receiver<T>;

            fn oneshot<T: Send + 'static>() -> (Self::OneshotSender<T>, Self::OneshotReceiver<T>) {
                $api::sync::oneshot::channel()
            }

            fn reply<T: Send + 'static>(sender: Self::OneshotSender<T>, value: T) {
                assert!(sender.send(value).is_ok(), "the receiver is gone");
            }

            async fn replied<T: Send + 'static>(receiver: Self::OneshotReceiver<T>) -> T {
                receiver.await.expect("the sender replies")
            }
        }

        impl $crate::Notifies for $name {
            type Notify = $api::sync::Notify;

            fn notified(notify: &Self::Notify) -> impl Future<Output = ()> + Send {
                notify.notified()
            }

            fn notify_one(notify: &Self::Notify) {
                notify.notify_one();
            }

            fn notify_waiters(notify: &Self::Notify) {
                notify.notify_waiters();
            }
        }

        impl $crate::Semaphores for $name {
            type Semaphore = $api::sync::Semaphore;

            fn semaphore(permits: usize) -> Self::Semaphore {
                $api::sync::Semaphore::new(permits)
            }

            async fn acquire_and_release(semaphore: &Self::Semaphore) {
                drop(semaphore.acquire().await.expect("nobody closes it"));
            }
        }

        impl $crate::Broadcasts for $name {
            type BroadcastSender = $api::sync::broadcast::Sender<u64>;
            type BroadcastReceiver = $api::sync::broadcast::Receiver<u64>;

            fn broadcast(room: usize) -> Self::BroadcastSender {
                $api::sync::broadcast::Sender::new(room)
            }

            fn subscribe(sender: &Self::BroadcastSender) -> Self::BroadcastReceiver {
                sender.subscribe()
            }

            fn broadcast_number(sender: &Self::BroadcastSender, number: u64) {
                sender.send(number).expect("a receiver is left");
            }

            async fn next_broadcast(receiver: &mut Self::BroadcastReceiver) -> Option<u64> {
                match receiver.recv().await {
                    Ok(number) => Some(number),
                    Err($api::sync::broadcast::error::RecvError::Closed) => None,
                    Err(error) => panic!("a receiver was overtaken: {error}"),
                }
            }
        }

        impl $crate::Watches for $name {
            type WatchSender = $api::sync::watch::Sender<u64>;
            type WatchReceiver = $api::sync::watch::Receiver<u64>;

            fn watch() -> Self::WatchSender {
                $api::sync::watch::Sender::new(0)
            }

            fn watcher(sender: &Self::WatchSender) -> Self::WatchReceiver {
                sender.subscribe()
            }

            fn change(sender: &Self::WatchSender, number: u64) {
                sender.send(number).expect("a watcher is left");
            }

            async fn changed(receiver: &mut Self::WatchReceiver) -> Option<u64> {
                receiver.changed().await.ok()?;
                Some(*receiver.borrow())
            }
        }
    };
}

// `tokio::sync` works on any runtime: it is tokio's own, and that of runtimes without channels,
// whose users write as they would for tokio.
adapt_tokio_sync!(tokio as TokioSync);
