//! A few tasks that spawn many each.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::Root;

async fn spawner<R: AsyncRuntime>(tasks: usize) -> Tally {
    let spawn = |_| R::spawn(async { salt::of_process().wrapping_add(1) });
    let joins: Vec<_> = (0..tasks).map(spawn).collect();
    let mut tally = Tally::default();
    for join in joins {
        tally += Tally { answer: join.await, work: 1 };
    }
    tally
}

async fn root<R: AsyncRuntime>(spawners: usize, each: usize) -> Tally {
    let joins: Vec<_> = (0..spawners).map(|_| R::spawn_pinned(spawner::<R>(each))).collect();
    let mut tally = Tally::default();
    for join in joins {
        tally += join.await;
    }
    tally
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let place = Root::of::<R>(request)?;
    let (spawners, tasks): (usize, usize) = (request.param("spawners")?, request.param("tasks")?);
    if spawners == 0 || tasks % spawners != 0 {
        return Err(Refusal::Misuse(format!(
            "--set spawners={spawners} does not divide --set tasks={tasks}"
        )));
    }
    let each = tasks / spawners;
    Ok(place.steady::<R, _, _>(request.threads, move || root::<R>(spawners, each)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_task_returns() {
        for place in [Root::Worker, Root::Outside] {
            let tally = place.run(&TestRuntime::start(2), root::<TestRuntime>(3, 7));
            assert_eq!(tally, Tally { answer: 21, work: 21 });
        }
    }
}
