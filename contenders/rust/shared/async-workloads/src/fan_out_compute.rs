//! Primes in many tasks.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;
use task_work::primes_of;

use crate::AsyncRuntime;
use crate::row::cold;

async fn root<R: AsyncRuntime>(limit: u64, tasks: u64) -> Tally {
    let spawn = |task| R::spawn(async move { primes_of(task, tasks, limit, salt::of_process()) });
    let joins: Vec<_> = (0..tasks).map(spawn).collect();
    let mut tally = Tally::default();
    for join in joins {
        tally += Tally { answer: join.await, work: 1 };
    }
    tally
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (limit, tasks) = (request.param("limit")?, request.param("tasks")?);
    Ok(cold::<R, _, _>(request.threads, move || root::<R>(limit, tasks)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn the_primes_below_ten() {
        let tally = TestRuntime::start(2).run(root::<TestRuntime>(10, 7));
        let weighed = [2, 3, 5, 7].map(|prime| salt::mix(0, prime));
        let answer = weighed.into_iter().fold(0, u64::wrapping_add);
        assert_eq!(tally, Tally { answer, work: 7 });
    }
}
