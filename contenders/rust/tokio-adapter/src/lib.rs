//! What the tokio contenders share: everything but the builder, so that their only difference is the scheduler.
#![forbid(unsafe_code)]

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_workloads::{AsyncRuntime, TimedTask, TokioChannels};
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
pub use tokio::runtime::Builder;
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;

/// What `--set` accepts beside the parameters.
pub const KNOBS: &[(&str, &str)] = &[("io", "on")];

/// Whether the I/O driver is on.
static HAS_IO: OnceLock<bool> = OnceLock::new();

/// All rows, on tokio with the scheduler `S`.
pub fn rows<S: Scheduler>() -> Vec<(&'static str, Prepare)> {
    let mut rows = async_workloads::rows::<Tokio<S>, TokioChannels>();
    for (_, prepare) in &mut rows {
        *prepare = prepare_any::<S>;
    }
    rows
}

/// Any row, after its knob was read.
fn prepare_any<S: Scheduler>(request: &mut Request) -> Result<Work, Refusal> {
    let has_io = !request.is_turned("io", ["on", "off"])?;
    HAS_IO.set(has_io).expect("a process prepares one row");
    let rows = async_workloads::rows::<Tokio<S>, TokioChannels>();
    let row = rows.iter().find(|(name, _)| *name == request.workload);
    let (_, prepare) = row.expect("only these rows come here");
    prepare(request)
}

/// One of tokio's schedulers.
pub trait Scheduler: 'static {
    /// Whether the thread in `block_on` is the only worker.
    const DRIVEN_BY_BLOCK_ON: bool;

    /// The builder of a runtime with `threads` workers and nothing else changed.
    fn builder(threads: usize) -> Builder;
}

/// A tokio runtime with the scheduler `S`.
#[derive(Debug)]
pub struct Tokio<S> {
    runtime: Runtime,
    scheduler: PhantomData<S>,
}

/// A join handle whose output is the task's.
///
/// tokio's handle returns a `Result`, which every program takes apart at once; doing it here costs the same branch.
#[derive(Debug)]
pub struct Join<T>(JoinHandle<T>);

impl<T> Future for Join<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Poll::Ready(match ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(output) => output,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(error) => panic!("nobody cancels a task here: {error}"),
            },
        })
    }
}

impl<S: Scheduler> AsyncRuntime for Tokio<S> {
    const DRIVEN_BY_BLOCK_ON: bool = S::DRIVEN_BY_BLOCK_ON;
    // Neither has it where the only worker is the thread in `block_on`: nobody could take over.
    const HAS_BLOCK_IN_PLACE: bool = !S::DRIVEN_BY_BLOCK_ON;

    type Handle = Handle;
    type Join<T: Send + 'static> = Join<T>;

    fn start(threads: usize) -> Self {
        let mut builder = S::builder(threads);
        builder.enable_time();
        // All drivers, as `#[tokio::main]` has them: with the I/O driver, idle workers park in epoll.
        if HAS_IO.get() != Some(&false) {
            builder.enable_all();
        }
        let runtime = builder.build().expect("the runtime starts");
        Self { runtime, scheduler: PhantomData }
    }

    fn handle(&self) -> Handle {
        self.runtime.handle().clone()
    }

    fn spawn_from_outside<F>(handle: &Handle, task: F) -> Join<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        Join(handle.spawn(task))
    }

    fn spawn_detached_from_outside<F>(handle: &Handle, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(handle.spawn(task));
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        self.runtime.block_on(future)
    }

    fn spawn<F>(task: F) -> Join<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        Join(tokio::spawn(task))
    }

    fn spawn_detached<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(tokio::spawn(task));
    }

    fn spawn_blocking<T, F>(work: F) -> Join<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        Join(tokio::task::spawn_blocking(work))
    }

    fn block_in_place<T>(work: impl FnOnce() -> T) -> T {
        tokio::task::block_in_place(work)
    }

    async fn join_caught<T: Send + 'static>(join: Join<T>) -> Option<T> {
        join.0.await.ok()
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> {
        tokio::time::sleep(duration)
    }

    async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
        tokio::time::timeout(duration, future).await.ok()
    }

    fn spawn_timed(task: TimedTask) -> Join<u64> {
        Self::spawn(task.run::<Self>())
    }
}
