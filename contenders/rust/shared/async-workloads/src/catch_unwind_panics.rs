//! Many tasks, every second one panics.

use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt;
use task_work::{planned_panic, silence_planned_panics};

use crate::AsyncRuntime;
use crate::row::cold;

/// What a task returns, beside the salt; one that panicked adds 1 to the answer.
const RETURNED: u64 = 1_000_000;

async fn root<R: AsyncRuntime>(tasks: u64) -> Iteration {
    let spawn = |i| {
        R::spawn(async move {
            if i % 2 == 1 {
                planned_panic();
            }
            salt::of_process().wrapping_add(RETURNED)
        })
    };
    let joins: Vec<_> = (0..tasks).map(spawn).collect();
    let (mut answer, mut joined) = (0_u64, 0);
    for join in joins {
        answer = answer.wrapping_add(R::join_caught(join).await.unwrap_or(1));
        joined += 1;
    }
    Iteration { answer, ops: joined, work: Some(joined) }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let tasks = request.param("tasks")?;
    silence_planned_panics();
    Ok(cold::<R, _, _>(request.threads, move || root::<R>(tasks)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn both_kinds_are_counted() {
        silence_planned_panics();
        let done = TestRuntime::start(2).run(root::<TestRuntime>(101));
        assert_eq!(done, Iteration { answer: 51_000_050, ops: 101, work: Some(101) });
    }
}
