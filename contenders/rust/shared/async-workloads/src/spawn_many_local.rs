//! Many detached spawns from outside; the last task rings.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::row::ROOM_OUTSIDE;

/// The tasks of this iteration that have not ended. A static, as in the document: a task that held
/// a counted reference would pay for it.
static REMAINING: AtomicU64 = AtomicU64::new(0);

/// A runtime, and a channel to the thread outside that lives from the first iteration to the last.
struct Outside<R> {
    ring: mpsc::SyncSender<u64>,
    rung: mpsc::Receiver<u64>,
    runtime: R,
}

impl<R: AsyncRuntime> Outside<R> {
    fn start(threads: usize) -> Self {
        let (ring, rung) = mpsc::sync_channel(ROOM_OUTSIDE);
        Self { ring, rung, runtime: R::start(threads) }
    }

    fn spawn_and_wait(&self, tasks: u64) -> Tally {
        // Relaxed: the spawns below publish it.
        REMAINING.store(tasks, Ordering::Relaxed);
        let handle = self.runtime.handle();
        for _ in 0..tasks {
            let ring = self.ring.clone();
            R::spawn_detached_from_outside(&handle, async move {
                // AcqRel: the last task speaks for all that came before it.
                let before = REMAINING.fetch_sub(1, Ordering::AcqRel);
                if before == 1 {
                    // Not how many have ended: a task that held their number would be larger than
                    // the document's.
                    ring.send(before - 1).expect("the outside thread waits");
                }
            });
        }
        let left = self.rung.recv().expect("the last task rings");
        let done = tasks - left;
        Tally { answer: done, work: done }
    }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let tasks = request.param("tasks")?;
    if tasks == 0 {
        return Err(Refusal::Misuse("--set tasks=0: there is a last task to wait for".into()));
    }
    let outside = Outside::<R>::start(request.threads);
    Ok(Work::new(move || outside.spawn_and_wait(tasks).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn the_last_task_rings() {
        let outside = Outside::<TestRuntime>::start(2);
        for _ in 0..3 {
            assert_eq!(outside.spawn_and_wait(100), Tally { answer: 100, work: 100 });
        }
    }
}
