//! Many spawns from outside: into an idle runtime, and beside busy chains.
//!
//! The thread that takes the sample does the spawning here: it is no worker.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::background::{Busy, busy_chain};

fn spawn_and_join<R: AsyncRuntime>(runtime: &R, tasks: usize) -> Tally {
    let handle = runtime.handle();
    let joins: Vec<_> = (0..tasks).map(|_| R::spawn_from_outside(&handle, async {})).collect();
    let joined = runtime.block_on(async move {
        let mut joined = 0;
        for join in joins {
            join.await;
            joined += 1;
        }
        joined
    });
    Tally { answer: joined, work: joined }
}

pub(crate) fn prepare_idle<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let tasks = request.param("tasks")?;
    let runtime = R::start(request.threads);
    Ok(Work::new(move || spawn_and_join(&runtime, tasks).into()))
}

pub(crate) fn prepare_busy2<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (tasks, chains) = (request.param("tasks")?, request.param("busy")?);
    let busy = Busy::<R>::start(request.threads, chains, busy_chain::<R>);
    Ok(Work::new(move || spawn_and_join(busy.runtime(), tasks).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_handle_is_joined() {
        let tally = Tally { answer: 100, work: 100 };
        assert_eq!(spawn_and_join(&TestRuntime::start(2), 100), tally);
        let busy = Busy::<TestRuntime>::start(2, 2, busy_chain::<TestRuntime>);
        assert_eq!(spawn_and_join(busy.runtime(), 100), tally);
    }
}
