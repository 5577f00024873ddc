//! What the Trefoil contenders share: everything but the builder, so that their only difference is the scheduler.
#![forbid(unsafe_code)]

use std::marker::PhantomData;
use std::ops::{Add, Range};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_workloads::{AsyncRuntime, TimedTask};
use fork_join_workloads::{ForkJoin, Tally};
pub use trefoil::runtime::Builder;
use trefoil::runtime::{Handle, Runtime};
use trefoil::task::JoinHandle;

/// One of Trefoil's schedulers.
pub trait Scheduler: 'static {
    /// Whether the thread in `block_on` is the only worker.
    const DRIVEN_BY_BLOCK_ON: bool;

    /// The builder of a runtime with `threads` workers and nothing else changed.
    fn builder(threads: usize) -> Builder;

    /// The same for the rows that fork.
    fn fork_builder(threads: usize) -> Builder {
        let mut builder = Self::builder(threads);
        builder.enable_all();
        builder
    }

    /// Whether the thread that forks takes a worker's place, instead of waiting for one.
    fn caller_works() -> bool {
        true
    }
}

/// A Trefoil runtime with the scheduler `S`.
#[derive(Debug)]
pub struct Trefoil<S> {
    runtime: Runtime,
    scheduler: PhantomData<S>,
}

/// A join handle whose output is the task's.
///
/// Trefoil's handle returns a `Result`, which every program takes apart at once; doing it here costs the same branch.
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

impl<S: Scheduler> AsyncRuntime for Trefoil<S> {
    const DRIVEN_BY_BLOCK_ON: bool = S::DRIVEN_BY_BLOCK_ON;
    // Neither has it where the only worker is the thread in `block_on`: nobody could take over.
    const HAS_BLOCK_IN_PLACE: bool = !S::DRIVEN_BY_BLOCK_ON;

    type Handle = Handle;
    type Join<T: Send + 'static> = Join<T>;

    fn start(threads: usize) -> Self {
        let runtime = S::builder(threads).enable_all().build().expect("the runtime starts");
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
        Join(trefoil::spawn(task))
    }

    fn spawn_detached<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(trefoil::spawn(task));
    }

    fn spawn_blocking<T, F>(work: F) -> Join<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        Join(trefoil::task::spawn_blocking(work))
    }

    fn block_in_place<T>(work: impl FnOnce() -> T) -> T {
        trefoil::task::block_in_place(work)
    }

    async fn join_caught<T: Send + 'static>(join: Join<T>) -> Option<T> {
        join.0.await.ok()
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        trefoil::task::yield_now()
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> {
        trefoil::time::sleep(duration)
    }

    async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
        trefoil::time::timeout(duration, future).await.ok()
    }

    fn spawn_timed(task: TimedTask) -> Join<u64> {
        Self::spawn(task.run::<Self>())
    }
}

/// Fork-join on the same workers: a closure that the sampling thread installs, and `join` inside of it.
impl<S: Scheduler> ForkJoin for Trefoil<S> {
    type Frame<'f> = ();

    fn start(threads: usize) -> Self {
        let runtime = S::fork_builder(threads).build().expect("the runtime starts");
        Self { runtime, scheduler: PhantomData }
    }

    fn install<R: Send>(&self, work: impl FnOnce(&mut ()) -> R + Send) -> R {
        let work = || work(&mut ());
        if S::caller_works() { self.runtime.install_here(work) } else { self.runtime.install(work) }
    }

    #[inline]
    fn join<RA: Send, RB: Send>(
        _: &mut (),
        a: impl FnOnce(&mut ()) -> RA + Send,
        b: impl FnOnce(&mut ()) -> RB + Send,
    ) -> (RA, RB) {
        trefoil::fork_join::join(|| a(&mut ()), || b(&mut ()))
    }

    /// All children from one frame, each a job of its own.
    #[inline]
    fn fork_each(
        _: &mut (),
        children: Range<usize>,
        child: &(impl Fn(&mut (), usize) -> Tally + Sync),
    ) -> Tally {
        let child = |i| child(&mut (), i);
        trefoil::fork_join::fork_reduce(children, child, Tally::add).unwrap_or_default()
    }
}
