//! Spawn, yield once, join.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::{Root, one_thread, run_on_one};
use crate::self_wake::wake_and_yield;

/// Returns 2 and the salt.
async fn two() -> u64 {
    wake_and_yield().await;
    salt::of_process().wrapping_add(2)
}

async fn root<R: AsyncRuntime>(tasks: usize) -> Tally {
    let joins: Vec<_> = (0..tasks).map(|_| R::spawn(two())).collect();
    let mut tally = Tally::default();
    for join in joins {
        tally += Tally { answer: join.await, work: 1 };
    }
    tally
}

pub(crate) fn prepare_basic<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    one_thread(request)?;
    let tasks = request.param("tasks")?;
    let runtime = R::start(request.threads);
    Ok(Work::new(move || run_on_one(&runtime, root::<R>(tasks)).into()))
}

pub(crate) fn prepare_threaded<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (place, tasks) = (Root::of::<R>(request)?, request.param("tasks")?);
    Ok(place.steady::<R, _, _>(request.threads, move || root::<R>(tasks)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_task_returns_two() {
        let tally = TestRuntime::start(2).run(root::<TestRuntime>(50));
        assert_eq!(tally, Tally { answer: 100, work: 50 });
    }
}
