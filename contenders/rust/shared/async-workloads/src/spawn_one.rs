//! The price of one spawn: the clock stops after the last call, whatever has run by then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use futures_channel::oneshot;
use palio_protocol::harness::{Iteration, Refusal, Request, Staged, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::{Root, run_on_one};

/// What the tasks of this iteration have added up, how many have ended, and how many are to end.
/// Statics, since the document's tasks carry nothing.
static SUM: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
static TASKS: AtomicU64 = AtomicU64::new(0);

/// What the last task rings.
static BELL: Mutex<Option<oneshot::Sender<()>>> = Mutex::new(None);

fn set_bell(bell: Option<oneshot::Sender<()>>) -> Option<oneshot::Sender<()>> {
    std::mem::replace(&mut BELL.lock().unwrap_or_else(PoisonError::into_inner), bell)
}

/// The tasks of one iteration, from before the first is spawned until all have ended.
pub(crate) struct Tasks {
    all_ended: oneshot::Receiver<()>,
}

impl Tasks {
    /// Relaxed: the spawns publish it.
    pub(crate) fn begin(tasks: u64) -> Self {
        SUM.store(0, Ordering::Relaxed);
        ENDED.store(0, Ordering::Relaxed);
        TASKS.store(tasks, Ordering::Relaxed);
        let (bell, all_ended) = oneshot::channel();
        set_bell(Some(bell));
        Self { all_ended }
    }

    pub(crate) async fn ended(self) -> Iteration {
        self.all_ended.await.expect("the last task rings");
        // Relaxed: whoever rang has ordered them.
        let ended = ENDED.load(Ordering::Relaxed);
        Iteration { answer: SUM.load(Ordering::Relaxed), ops: ended, work: Some(ended) }
    }
}

/// What each task does.
pub(crate) fn tiny() {
    SUM.fetch_add(salt::of_process().wrapping_add(1), Ordering::Relaxed);
    // AcqRel: the last task speaks for all that came before it.
    let before = ENDED.fetch_add(1, Ordering::AcqRel);
    if before + 1 == TASKS.load(Ordering::Relaxed) {
        let bell = set_bell(None).expect("one task is the last");
        // The next iteration waits for it, unless the process ends.
        bell.send(()).ok();
    }
}

/// # Errors
/// There is no last task to wait for.
pub(crate) fn some_tasks(request: &mut Request) -> Result<u64, Refusal> {
    match request.param("tasks")? {
        0 => Err(Refusal::Misuse("--set tasks=0: there is a last task to wait for".into())),
        tasks => Ok(tasks),
    }
}

struct Spawns<R> {
    runtime: R,
    from: Root,
    tasks: u64,
    running: Option<Tasks>,
}

impl<R: AsyncRuntime> Staged for Spawns<R> {
    fn prepare(&mut self) {
        self.running = Some(Tasks::begin(self.tasks));
    }

    fn run(&mut self) {
        let tasks = self.tasks;
        match self.from {
            Root::Worker => run_on_one(&self.runtime, async move {
                for _ in 0..tasks {
                    R::spawn_detached(async { tiny() });
                }
            }),
            Root::Outside => {
                let handle = self.runtime.handle();
                for _ in 0..tasks {
                    R::spawn_detached_from_outside(&handle, async { tiny() });
                }
            }
        }
    }

    fn finish(&mut self) -> Iteration {
        let running = self.running.take().expect("it was prepared");
        self.runtime.block_on(running.ended())
    }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let tasks = some_tasks(request)?;
    let from = request.param("from")?;
    if from == Root::Outside && R::DRIVEN_BY_BLOCK_ON {
        return Err(Refusal::Unsupported(
            "its only worker is the thread in block_on, which is outside while it spawns".into(),
        ));
    }
    let runtime = R::start(request.threads);
    Ok(Work::staged(Spawns { runtime, from, tasks, running: None }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn all_tasks_have_ended_before_the_next_iteration() {
        for from in [Root::Worker, Root::Outside] {
            for tasks in [1, 100] {
                let runtime = TestRuntime::start(2);
                let mut spawns = Spawns { runtime, from, tasks, running: None };
                for _ in 0..3 {
                    spawns.prepare();
                    spawns.run();
                    let all = Iteration { answer: tasks, ops: tasks, work: Some(tasks) };
                    assert_eq!(spawns.finish(), all, "{from:?}");
                }
            }
        }
    }
}
