//! compio on the thread that takes the sample, for the rows that one thread can run.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_workloads::{AsyncRuntime, TimedTask, wake_and_yield};
use compio::driver::DriverType;
use compio::runtime::{JoinHandle, ResumeUnwind, Runtime};

/// With the driver that compio chooses: io_uring where the system allows it, else epoll.
pub(crate) fn start() -> Runtime {
    Runtime::new().expect("the runtime starts")
}

/// Which driver [`start`] has taken.
pub(crate) fn driver() -> &'static str {
    match start().driver_type() {
        DriverType::IoUring => "io_uring",
        DriverType::Poll => "epoll",
        DriverType::IOCP => "IOCP",
    }
}

/// Why the verbs for other threads are never called.
const NO_OUTSIDE: &str = "rows that spawn from outside are left out";

pub(crate) struct OneThread(Runtime);

/// A join handle whose output is the task's.
#[derive(Debug)]
pub(crate) struct Join<T>(JoinHandle<T>);

impl<T> Future for Join<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let ended = ready!(Pin::new(&mut self.0).poll(cx));
        Poll::Ready(ended.resume_unwind().expect("nobody cancels a task here"))
    }
}

impl AsyncRuntime for OneThread {
    const DRIVEN_BY_BLOCK_ON: bool = true;

    /// `time::sleep` is an asynchronous function: it does nothing before it is polled.
    const MAKES_SLEEPS_AT_ONCE: bool = false;

    type Handle = ();
    type Join<T: Send + 'static> = Join<T>;

    fn start(_threads: usize) -> Self {
        Self(start())
    }

    fn handle(&self) {}

    fn spawn_from_outside<F>((): &(), _task: F) -> Join<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        unreachable!("{NO_OUTSIDE}")
    }

    fn spawn_detached_from_outside<F>((): &(), _task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        unreachable!("{NO_OUTSIDE}")
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        self.0.block_on(future)
    }

    fn spawn<F>(task: F) -> Join<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        Join(compio::runtime::spawn(task))
    }

    fn spawn_detached<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        compio::runtime::spawn(task).detach();
    }

    fn spawn_blocking<T, F>(_work: F) -> Join<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        unreachable!("rows with a pool for what blocks are left out")
    }

    async fn join_caught<T: Send + 'static>(join: Join<T>) -> Option<T> {
        join.0.await.ok()
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        wake_and_yield()
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> {
        compio::time::sleep(duration)
    }

    async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
        compio::time::timeout(duration, future).await.ok()
    }

    fn spawn_timed(task: TimedTask) -> Join<u64> {
        Join(compio::runtime::spawn(task.run::<Self>()))
    }

    fn run<F>(&self, root: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.block_on(async { Self::spawn(root).await })
    }
}
