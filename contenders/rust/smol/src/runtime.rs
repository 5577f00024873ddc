//! N threads that run one executor.

use std::cell::OnceCell;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_workloads::{AsyncRuntime, TimedTask};
use smol::channel::{self, Receiver, Sender};
use smol::future::FutureExt;
use smol::{Executor, Task, Timer};

thread_local! {
    /// The executor that this thread works for, as smol's global executor is one static for all
    /// threads: a task spawns without carrying a reference to its executor (and without touching a
    /// shared reference count).
    static EXECUTOR: OnceCell<Arc<Executor<'static>>> = const { OnceCell::new() };
}

pub(crate) struct Smol {
    executor: Arc<Executor<'static>>,
    workers: Vec<JoinHandle<()>>,
    /// Never sent on; `None` closes the channel, and that stops the workers.
    running: Option<Sender<()>>,
}

/// What one thread of smol's global executor does, until it is told to stop. A panic of a task does
/// not end up here: it goes to whoever awaits the task.
fn work(executor: Arc<Executor<'static>>, stopped: &Receiver<()>) {
    EXECUTOR.with(|mine| mine.set(Arc::clone(&executor)).expect("a worker starts once"));
    let closed = smol::block_on(executor.run(stopped.recv()));
    assert!(closed.is_err(), "nobody sends on this channel");
}

fn with_executor<R>(f: impl FnOnce(&Executor<'static>) -> R) -> R {
    EXECUTOR
        .with(|mine| f(mine.get().expect("only tasks spawn like this, and they run on workers")))
}

impl AsyncRuntime for Smol {
    type Handle = Arc<Executor<'static>>;
    type Join<T: Send + 'static> = Task<T>;

    fn start(threads: usize) -> Self {
        let executor = Arc::new(Executor::new());
        let (running, stopped) = channel::unbounded();
        let start_worker = |i| {
            let (executor, stopped) = (Arc::clone(&executor), stopped.clone());
            let worker = thread::Builder::new().name(format!("smol-{i}"));
            worker.spawn(move || work(executor, &stopped)).expect("a thread starts")
        };
        let workers = (1..=threads).map(start_worker).collect();
        Self { executor, workers, running: Some(running) }
    }

    fn handle(&self) -> Self::Handle {
        Arc::clone(&self.executor)
    }

    fn spawn_from_outside<F>(handle: &Self::Handle, task: F) -> Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        handle.spawn(task)
    }

    fn spawn_detached_from_outside<F>(handle: &Self::Handle, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        handle.spawn(task).detach();
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        // Not `block_on(executor.run(future))`: then this thread would be one more worker.
        smol::block_on(future)
    }

    fn block_on_root<F>(&self, root: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        // What the root spawns goes to this executor; the thread has no other one.
        EXECUTOR.with(|mine| {
            let executor = mine.get_or_init(|| Arc::clone(&self.executor));
            assert!(Arc::ptr_eq(executor, &self.executor), "a process runs one row");
        });
        self.block_on(root)
    }

    fn spawn<F>(task: F) -> Task<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        with_executor(|executor| executor.spawn(task))
    }

    fn spawn_detached<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        with_executor(|executor| executor.spawn(task)).detach();
    }

    fn spawn_blocking<T, F>(work: F) -> Task<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        smol::unblock(work)
    }

    async fn join_caught<T: Send + 'static>(join: Task<T>) -> Option<T> {
        AssertUnwindSafe(join).catch_unwind().await.ok()
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        smol::future::yield_now()
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> {
        // Made here and not in the block, which is never polled where a sleep is made and dropped.
        let timer = Timer::after(duration);
        async move {
            timer.await;
        }
    }

    async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
        // Made here and not in the block, which is never polled if the future is ready: the
        // definition wants a time-out made, and counted from now.
        let timer = Timer::after(duration);
        let late = async {
            timer.await;
            None
        };
        async { Some(future.await) }.or(late).await
    }

    fn spawn_timed(task: TimedTask) -> Task<u64> {
        Self::spawn(task.run::<Self>())
    }
}

impl Drop for Smol {
    fn drop(&mut self) {
        drop(self.running.take());
        for worker in self.workers.drain(..) {
            // A worker that panicked has said so on standard error, and this may run while another
            // panic unwinds.
            drop(worker.join());
        }
    }
}
