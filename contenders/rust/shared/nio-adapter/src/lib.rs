//! What the nio contenders share: everything but the start, so that their only difference is where
//! the workers are.
#![forbid(unsafe_code)]

mod tcp;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_workloads::{AsyncRuntime, Deferring, TimedTask};
use nio::{JoinHandle, spawn_pinned};
pub use nio::{LocalRuntime, Runtime, RuntimeBuilder, RuntimeContext};
use pin_project_lite::pin_project;
pub use tcp::tcp_rows;

/// The most workers that nio takes: it counts them in a byte.
pub const THREADS_MAX: usize = u8::MAX as usize;

/// One of nio's runtimes.
pub trait Flavour: 'static {
    /// Whether the thread in `block_on` is the only worker.
    const DRIVEN_BY_BLOCK_ON: bool;

    /// With exactly what `builder` says.
    fn start(builder: RuntimeBuilder) -> Self;

    /// What spawns from outside.
    fn context(&self) -> Arc<RuntimeContext>;

    /// In the runtime's way: nio runs the future as a task on a worker.
    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        self.block_on_pinned(|| future)
    }

    /// The same for a future that stays with the worker which makes it.
    fn block_on_pinned<M, F>(&self, make: M) -> F::Output
    where
        M: FnOnce() -> F + Send,
        F: Future<Output: Send>;
}

/// A nio runtime of the flavour `F`.
#[derive(Debug)]
pub struct Nio<F>(F);

pin_project! {
    /// A join handle whose output is the task's.
    ///
    /// nio's handle returns a `Result`, which every program takes apart at once; doing it here
    /// costs the same branch.
    #[derive(Debug)]
    pub struct Join<T> {
        #[pin]
        handle: JoinHandle<T>,
    }
}

impl<T> From<JoinHandle<T>> for Join<T> {
    fn from(handle: JoinHandle<T>) -> Self {
        Self { handle }
    }
}

impl<T> Future for Join<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Poll::Ready(match ready!(self.project().handle.poll(cx)) {
            Ok(output) => output,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(error) => panic!("nobody cancels a task here: {error}"),
            },
        })
    }
}

fn builder(threads: usize) -> RuntimeBuilder {
    let threads = threads.try_into().expect("the harness has refused more than 255");
    RuntimeBuilder::new().worker_threads(threads)
}

impl<R: Flavour> AsyncRuntime for Nio<R> {
    const DRIVEN_BY_BLOCK_ON: bool = R::DRIVEN_BY_BLOCK_ON;
    /// It runs the future as a task on a worker.
    const BLOCKS_ON_OUTSIDE: bool = false;
    /// The rendezvous of two closures hung in two of two tries with nio 0.1.4.
    const BLOCKING_CLOSURES_MEET: bool = false;

    type Handle = Arc<RuntimeContext>;
    type Join<T: Send + 'static> = Join<T>;

    fn start(threads: usize) -> Self {
        Self(R::start(builder(threads)))
    }

    /// Each task gets a worker of its own while there are some: by default nio gives a worker
    /// several before it wakes the next one.
    fn start_for_timers(threads: usize) -> Self {
        Self(R::start(builder(threads).min_tasks_per_worker(1)))
    }

    fn handle(&self) -> Self::Handle {
        self.0.context()
    }

    fn spawn_from_outside<F>(handle: &Self::Handle, task: F) -> Join<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        handle.spawn(task).into()
    }

    fn spawn_detached_from_outside<F>(handle: &Self::Handle, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(handle.spawn(task));
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
        nio::spawn(task).into()
    }

    fn spawn_pinned<F>(task: F) -> Join<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        spawn_pinned(|| task).into()
    }

    fn spawn_detached<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(nio::spawn(task));
    }

    fn spawn_blocking<T, F>(work: F) -> Join<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        nio::spawn_blocking(work).into()
    }

    async fn join_caught<T: Send + 'static>(join: Join<T>) -> Option<T> {
        join.handle.await.ok()
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        nio_future::yield_now()
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> {
        nio::sleep(duration)
    }

    fn timeout<F: Future>(
        duration: Duration,
        future: F,
    ) -> impl Future<Output = Option<F::Output>> {
        nio::timeout(duration, future)
    }

    /// Pinned: a timer belongs to the worker that made it, and a task that may move cannot hold
    /// one.
    fn spawn_timed(task: TimedTask) -> Join<u64> {
        spawn_pinned(move || task.run::<Self>()).into()
    }

    /// One task, not the default's two: nio's `block_on` makes a task of its future.
    fn run<F>(&self, root: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.block_on(root)
    }
}

impl<R: Flavour> Deferring for Nio<R> {
    fn start(threads: usize) -> Self {
        <Self as AsyncRuntime>::start(threads)
    }

    fn run<F>(&self, root: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.block_on(root)
    }

    fn defer<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(nio::spawn_local(task));
    }
}
