//! The global executor: a static of the process.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Once;
use std::task::Poll;
use std::time::Duration;

use async_std::future;
use async_std::task::{self, JoinHandle};
use async_workloads::{AsyncRuntime, TimedTask};

/// Nothing: there is one executor, it starts when it is first used, and it cannot be stopped.
pub(crate) struct AsyncStd;

impl AsyncRuntime for AsyncStd {
    /// `task::sleep` is an asynchronous function: it does nothing before it is polled.
    const MAKES_SLEEPS_AT_ONCE: bool = false;

    type Handle = ();
    type Join<T: Send + 'static> = JoinHandle<T>;

    fn start(_threads: usize) -> Self {
        // The first use, so that it is outside the clock in scope `steady`. `main` has seen to the
        // number of threads.
        static FIRST_USE: Once = Once::new();
        FIRST_USE.call_once(|| drop(task::spawn(async {})));
        Self
    }

    fn handle(&self) {}

    fn spawn_from_outside<F>((): &(), task: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        task::spawn(task)
    }

    fn spawn_detached_from_outside<F>((): &(), task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(task::spawn(task));
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        task::block_on(future)
    }

    fn spawn<F>(task: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        task::spawn(task)
    }

    fn spawn_detached<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(task::spawn(task));
    }

    fn spawn_blocking<T, F>(work: F) -> JoinHandle<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        task::spawn_blocking(work)
    }

    async fn join_caught<T: Send + 'static>(mut join: JoinHandle<T>) -> Option<T> {
        poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut join).poll(cx))) {
            Ok(poll) => poll.map(Some),
            Err(_) => Poll::Ready(None),
        })
        .await
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        task::yield_now()
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> {
        task::sleep(duration)
    }

    async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
        future::timeout(duration, future).await.ok()
    }

    fn spawn_timed(task: TimedTask) -> JoinHandle<u64> {
        task::spawn(task.run::<Self>())
    }
}
