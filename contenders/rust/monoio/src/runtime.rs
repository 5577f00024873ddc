//! monoio on the thread that takes the sample, for the rows that one thread can run.

use std::cell::RefCell;
use std::time::Duration;

use async_workloads::{AsyncRuntime, TimedTask, wake_and_yield};
use monoio::task::JoinHandle;
use monoio::time::TimeDriver;
use monoio::{FusionDriver, FusionRuntime, IoUringDriver, LegacyDriver, RuntimeBuilder};

type Runtime = FusionRuntime<TimeDriver<IoUringDriver>, TimeDriver<LegacyDriver>>;

/// With the driver that monoio chooses: io_uring where the system allows it, else epoll.
pub(crate) fn start() -> Runtime {
    let builder = RuntimeBuilder::<FusionDriver>::new().enable_timer();
    builder.build().expect("the runtime starts")
}

/// Which driver [`start`] takes, as monoio finds out itself.
pub(crate) fn driver() -> &'static str {
    if monoio::utils::detect_uring() { "io_uring" } else { "epoll" }
}

/// Why the verbs for other threads are never called.
const NO_OUTSIDE: &str = "rows that spawn from outside are left out";

pub(crate) struct OneThread(RefCell<Runtime>);

impl AsyncRuntime for OneThread {
    const DRIVEN_BY_BLOCK_ON: bool = true;

    type Handle = ();
    type Join<T: Send + 'static> = JoinHandle<T>;

    fn start(_threads: usize) -> Self {
        Self(RefCell::new(start()))
    }

    fn handle(&self) {}

    fn spawn_from_outside<F>((): &(), _task: F) -> JoinHandle<F::Output>
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
        self.0.borrow_mut().block_on(future)
    }

    fn spawn<F>(task: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        monoio::spawn(task)
    }

    fn spawn_detached<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(monoio::spawn(task));
    }

    fn spawn_blocking<T, F>(_work: F) -> JoinHandle<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        unreachable!("monoio has no threads for what blocks unless a program brings them")
    }

    async fn join_caught<T: Send + 'static>(_join: JoinHandle<T>) -> Option<T> {
        unreachable!("monoio catches no panic of a task")
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        wake_and_yield()
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> {
        monoio::time::sleep(duration)
    }

    async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
        monoio::time::timeout(duration, future).await.ok()
    }

    fn spawn_timed(task: TimedTask) -> JoinHandle<u64> {
        monoio::spawn(task.run::<Self>())
    }

    fn run<F>(&self, root: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.block_on(async { Self::spawn(root).await })
    }
}
