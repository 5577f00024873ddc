//! What most rows have in common.

use std::str::FromStr;

use palio_protocol::harness::{Iteration, Iterations, Refusal, Request, TimedIterations, Work};

use crate::AsyncRuntime;

/// Scope `steady`: one runtime for all samples; every iteration runs the task that `root` makes.
pub(crate) fn steady<R, F, T>(threads: usize, root: impl Fn() -> F + 'static) -> Work
where
    R: AsyncRuntime,
    F: Future<Output = T> + Send + 'static,
    T: Into<Iteration> + Send + 'static,
{
    let runtime = R::start(threads);
    Work::new(move || runtime.run(root()).into())
}

/// Room of the channel on which a thread that is no worker waits.
pub(crate) const ROOM_OUTSIDE: usize = 1000;

/// For rows that are about one thread: on more they would be other rows.
pub(crate) fn one_thread(request: &Request) -> Result<(), Refusal> {
    if request.threads == 1 {
        return Ok(());
    }
    let Request { workload, threads, .. } = request;
    Err(Refusal::Unsupported(format!("{workload} is about one thread, not {threads}")))
}

/// Runs `root` on a runtime with one thread: as a task of the worker, or as the future of
/// `block_on` where the thread in `block_on` is the worker.
pub(crate) fn run_on_one<R, F>(runtime: &R, root: F) -> F::Output
where
    R: AsyncRuntime,
    F: Future<Output: Send + 'static> + Send + 'static,
{
    if R::DRIVEN_BY_BLOCK_ON { runtime.block_on(root) } else { runtime.run(root) }
}

/// So many iterations, one after the other, within one task, where the clock runs.
pub(crate) async fn one_after_the_other<F, T>(
    batch: u32,
    iteration: impl Fn() -> F,
) -> TimedIterations
where
    F: Future<Output = T>,
    T: Into<Iteration>,
{
    let mut done = Iterations::start();
    for _ in 0..batch {
        done.add(iteration().await.into());
    }
    done.stop()
}

/// Where the root future of a row runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// On a worker, as a task; where the thread in `block_on` is the worker, there.
    Worker,
    /// In `block_on`, on a thread that is no worker.
    Outside,
}

impl FromStr for Root {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "worker" => Ok(Self::Worker),
            "outside" => Ok(Self::Outside),
            _ => Err(()),
        }
    }
}

impl Root {
    /// # Errors
    /// The runtime has no place of that kind.
    pub(crate) fn of<R: AsyncRuntime>(request: &mut Request) -> Result<Self, Refusal> {
        let root = request.param("root")?;
        if root == Self::Outside && !R::BLOCKS_ON_OUTSIDE {
            return Err(Refusal::Unsupported(
                "its block_on runs the future on a worker, and so has no root outside".into(),
            ));
        }
        Ok(root)
    }

    /// Runs a root future there, and waits for it here.
    pub(crate) fn run<R, F>(self, runtime: &R, root: F) -> F::Output
    where
        R: AsyncRuntime,
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        match self {
            Self::Worker => run_on_one(runtime, root),
            Self::Outside => runtime.block_on_root(root),
        }
    }

    /// As [`steady`], with the root future there.
    pub(crate) fn steady<R, F, T>(self, threads: usize, root: impl Fn() -> F + 'static) -> Work
    where
        R: AsyncRuntime,
        F: Future<Output = T> + Send + 'static,
        T: Into<Iteration> + Send + 'static,
    {
        let runtime = R::start(threads);
        Work::new(move || self.run(&runtime, root()).into())
    }

    /// As [`run`](Self::run), of one root future that does all iterations of a sample, one after
    /// the other: so none of them pays for the way into the runtime and back.
    pub(crate) fn run_in_one<R, F, T>(
        self,
        runtime: &R,
        batch: u32,
        root: impl Fn() -> F + Send + 'static,
    ) -> TimedIterations
    where
        R: AsyncRuntime,
        F: Future<Output = T> + Send + 'static,
        T: Into<Iteration> + Send + 'static,
    {
        self.run(runtime, one_after_the_other(batch, root))
    }

    /// As [`steady`](Self::steady), with [all iterations of a sample in one](Self::run_in_one).
    pub(crate) fn steady_in_one<R, F, T>(
        self,
        threads: usize,
        root: impl Fn() -> F + Clone + Send + 'static,
    ) -> Work
    where
        R: AsyncRuntime,
        F: Future<Output = T> + Send + 'static,
        T: Into<Iteration> + Send + 'static,
    {
        let runtime = R::start(threads);
        Work::batched(move |batch| self.run_in_one(&runtime, batch, root.clone()))
    }
}

/// Scope `cold`: every iteration starts a runtime, runs the task that `root` makes, and stops the
/// runtime.
pub(crate) fn cold<R, F, T>(threads: usize, root: impl Fn() -> F + 'static) -> Work
where
    R: AsyncRuntime,
    F: Future<Output = T> + Send + 'static,
    T: Into<Iteration> + Send + 'static,
{
    Work::new(move || {
        let runtime = R::start(threads);
        let done = runtime.run(root());
        drop(runtime);
        done.into()
    })
}
