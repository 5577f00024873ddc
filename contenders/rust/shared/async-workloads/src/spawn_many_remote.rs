//! A few tasks that spawn many each.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;

async fn spawner<R: AsyncRuntime>(tasks: usize) -> Tally {
    let spawn = |_| R::spawn(async { salt::of_process().wrapping_add(1) });
    let joins: Vec<_> = (0..tasks).map(spawn).collect();
    let mut tally = Tally::default();
    for join in joins {
        tally += Tally { answer: join.await, work: 1 };
    }
    tally
}

fn spawn_and_join<R: AsyncRuntime>(runtime: &R, spawners: usize, each: usize) -> Tally {
    let handle = runtime.handle();
    let joins: Vec<_> =
        (0..spawners).map(|_| R::spawn_from_outside(&handle, spawner::<R>(each))).collect();
    runtime.block_on(async move {
        let mut tally = Tally::default();
        for join in joins {
            tally += join.await;
        }
        tally
    })
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (spawners, tasks): (usize, usize) = (request.param("spawners")?, request.param("tasks")?);
    if spawners == 0 || tasks % spawners != 0 {
        return Err(Refusal::Misuse(format!(
            "--set spawners={spawners} does not divide --set tasks={tasks}"
        )));
    }
    let runtime = R::start(request.threads);
    Ok(Work::new(move || spawn_and_join(&runtime, spawners, tasks / spawners).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_task_returns() {
        let tally = spawn_and_join(&TestRuntime::start(2), 3, 7);
        assert_eq!(tally, Tally { answer: 21, work: 21 });
    }
}
