//! Many detached spawns from outside; the last task rings.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;

fn spawn_and_wait<R: AsyncRuntime>(handle: &R::Handle, tasks: u64) -> Tally {
    let remaining = Arc::new(AtomicU64::new(tasks));
    let (ring, rung) = mpsc::sync_channel(1);
    for _ in 0..tasks {
        let (remaining, ring) = (Arc::clone(&remaining), ring.clone());
        R::spawn_detached_from_outside(handle, async move {
            // AcqRel: the last task speaks for all that came before it.
            let before = remaining.fetch_sub(1, Ordering::AcqRel);
            if before == 1 {
                let done = tasks - (before - 1);
                ring.send(done).expect("the outside thread waits");
            }
        });
    }
    let done = rung.recv().expect("the last task rings");
    Tally { answer: done, work: done }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let tasks = request.param("tasks")?;
    if tasks == 0 {
        return Err(Refusal::Misuse("--set tasks=0: there is a last task to wait for".into()));
    }
    let runtime = R::start(request.threads);
    Ok(Work::new(move || spawn_and_wait::<R>(&runtime.handle(), tasks).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn the_last_task_rings() {
        let tally = spawn_and_wait::<TestRuntime>(&(), 100);
        assert_eq!(tally, Tally { answer: 100, work: 100 });
    }
}
