//! Trefoil and tokio, as the rows see them.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// What the rows need of a runtime.
pub(crate) trait Rt: Send + Sync + 'static {
    type Handle<T: Send + 'static>: Future<Output = T> + Send + 'static;
    fn make(workers: usize) -> Self;
    fn block_on<F: Future>(&self, future: F) -> F::Output;
    fn spawn_outside<F>(&self, future: F) -> Self::Handle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;
    fn spawn<F>(future: F) -> Self::Handle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;
    fn spawn_blocking<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static)
    -> Self::Handle<R>;
    fn yield_now() -> impl Future<Output = ()> + Send;
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send;
    fn timeout_ready() -> impl Future<Output = ()> + Send;
}

macro_rules! rt {
    ($name:ident, $krate:ident) => {
        pub(crate) struct $name($krate::runtime::Runtime);

        impl Rt for $name {
            type Handle<T: Send + 'static> = Unwrap<$krate::task::JoinHandle<T>>;
            fn make(workers: usize) -> Self {
                use $krate::runtime::Builder;
                Self(if workers == 0 {
                    Builder::new_current_thread().enable_all().build().unwrap()
                } else {
                    Builder::new_multi_thread()
                        .worker_threads(workers)
                        .enable_all()
                        .build()
                        .unwrap()
                })
            }
            fn block_on<F: Future>(&self, future: F) -> F::Output {
                self.0.block_on(future)
            }
            fn spawn_outside<F>(&self, future: F) -> Self::Handle<F::Output>
            where
                F: Future + Send + 'static,
                F::Output: Send + 'static,
            {
                Unwrap(self.0.spawn(future))
            }
            fn spawn<F>(future: F) -> Self::Handle<F::Output>
            where
                F: Future + Send + 'static,
                F::Output: Send + 'static,
            {
                Unwrap($krate::spawn(future))
            }
            fn spawn_blocking<R: Send + 'static>(
                f: impl FnOnce() -> R + Send + 'static,
            ) -> Self::Handle<R> {
                Unwrap($krate::task::spawn_blocking(f))
            }
            fn yield_now() -> impl Future<Output = ()> + Send {
                $krate::task::yield_now()
            }
            fn sleep(duration: Duration) -> impl Future<Output = ()> + Send {
                $krate::time::sleep(duration)
            }
            async fn timeout_ready() {
                let _ = $krate::time::timeout(Duration::from_secs(1), async {}).await;
            }
        }
    };
}

rt!(Trefoil, trefoil);
rt!(Tokio, tokio);

/// A join handle whose task is expected to succeed.
pub(crate) struct Unwrap<H>(H);

impl<T, E: std::fmt::Debug, H: Future<Output = Result<T, E>> + Unpin> Future for Unwrap<H> {
    type Output = T;
    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<T> {
        Pin::new(&mut self.0).poll(cx).map(Result::unwrap)
    }
}
