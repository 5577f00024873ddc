//! The price of putting a task off to later, on the same worker; and of a spawn, where a runtime
//! has no more than its document's rows need.

use palio_protocol::harness::{Iteration, Refusal, Request, Staged, Work};

use crate::spawn_one::{Tasks, some_tasks, tiny};

/// A runtime with a call that queues a task behind the worker that makes the call, and tells no
/// other worker of it.
pub trait Deferring: 'static {
    fn start(threads: usize) -> Self;

    /// Runs `root` on a worker, and waits for it here.
    fn run<F>(&self, root: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static;

    /// From a task: runs `task` later on this worker, and nobody awaits it.
    fn defer<F>(task: F)
    where
        F: Future<Output = ()> + Send + 'static;

    /// Waits here for what the last task rings: as a task, unless the runtime has none that another
    /// task can wake.
    fn wait<F>(&self, ended: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.run(ended)
    }
}

struct Defers<D> {
    runtime: D,
    tasks: u64,
    running: Option<Tasks>,
}

impl<D: Deferring> Staged for Defers<D> {
    fn prepare(&mut self) {
        self.running = Some(Tasks::begin(self.tasks));
    }

    fn run(&mut self) {
        let tasks = self.tasks;
        self.runtime.run(async move {
            for _ in 0..tasks {
                D::defer(async { tiny() });
            }
        });
    }

    fn finish(&mut self) -> Iteration {
        let running = self.running.take().expect("it was prepared");
        self.runtime.wait(running.ended())
    }
}

/// The row `defer_one`; also `spawn_one` from a worker, if [`Deferring::defer`] is a spawn.
///
/// # Errors
/// A parameter is wrong.
pub fn prepare_defer_one<D: Deferring>(request: &mut Request) -> Result<Work, Refusal> {
    let tasks = some_tasks(request)?;
    let runtime = D::start(request.threads);
    Ok(Work::staged(Defers { runtime, tasks, running: None }))
}
