//! Requests, each of which fans out into tasks that compute, yield and send.

use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt::{self, mix};

use super::grind;
use crate::row::steady;
use crate::{AsyncRuntime, Channels};

/// Tasks of a request that compute.
const COMPUTE: u64 = 2;
/// How often a request's third task yields.
const YIELDS: u64 = 4;

/// One request: the sum of its four tasks, and the tasks, its own included.
async fn request<R: AsyncRuntime, C: Channels>(value: u64, steps: u32) -> (u64, u64) {
    let (sender, mut receiver) = C::bounded::<u64>(1);
    let compute = |key| R::spawn(async move { grind(value.wrapping_add(key), key, steps) });
    let mut joins: Vec<_> = (1..=COMPUTE).map(compute).collect();
    joins.push(R::spawn(async move {
        for _ in 0..YIELDS {
            R::yield_now().await;
        }
        mix(value, COMPUTE + 1)
    }));
    let send = R::spawn(async move { C::send(&sender, mix(value, COMPUTE + 2)).await });
    let (mut sum, mut tasks) = (C::receive(&mut receiver).await, 1);
    for join in joins {
        sum = sum.wrapping_add(join.await);
        tasks += 1;
    }
    send.await;
    (sum, tasks + 1)
}

async fn root<R: AsyncRuntime, C: Channels>(requests: u64, steps: u32) -> Iteration {
    let spawn = |i| R::spawn(request::<R, C>(mix(salt::of_process(), i), steps));
    let joins: Vec<_> = (0..requests).map(spawn).collect();
    let (mut answer, mut ops, mut work) = (0_u64, 0, 0);
    for join in joins {
        let (sum, tasks) = join.await;
        answer = answer.wrapping_add(sum);
        ops += 1;
        work += tasks;
    }
    Iteration { answer, ops, work: Some(work) }
}

pub(crate) fn prepare<R: AsyncRuntime, C: Channels>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let (requests, steps) = (request.param("requests")?, request.param("steps")?);
    Ok(steady::<R, _, _>(request.threads, move || root::<R, C>(requests, steps)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokioSync;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn the_sums_are_those_of_another_program() {
        let done = TestRuntime::start(2).run(root::<TestRuntime, TokioSync>(3, 10));
        assert_eq!(done, Iteration { answer: 6_787_954_630_031_498_193, ops: 3, work: Some(15) });
    }
}
