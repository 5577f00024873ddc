//! A pipeline of bounded channels whose stages cost differently.

use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt;

use super::grind;
use crate::row::steady;
use crate::{AsyncRuntime, Channels};

/// Steps that each stage takes for a value.
const STEPS: [u32; 5] = [1, 32, 4, 128, 8];

async fn root<R: AsyncRuntime, C: Channels>(values: u64, room: usize) -> Iteration {
    let (source, mut receiver) = C::bounded::<u64>(room);
    let mut joins = vec![R::spawn(async move {
        for i in 0..values {
            C::send(&source, salt::of_process().wrapping_add(i)).await;
        }
        0_u64
    })];
    for (stage, steps) in (0..).zip(STEPS) {
        let (sender, next) = C::bounded::<u64>(room);
        let mut inbox = std::mem::replace(&mut receiver, next);
        joins.push(R::spawn(async move {
            let mut received = 0_u64;
            for _ in 0..values {
                let value = C::receive(&mut inbox).await;
                received += 1;
                C::send(&sender, grind(value, stage, steps)).await;
            }
            received
        }));
    }
    let (mut answer, mut ops) = (0_u64, 0);
    for _ in 0..values {
        answer = answer.wrapping_add(C::receive(&mut receiver).await);
        ops += 1;
    }
    let mut work = ops;
    for join in joins {
        work += join.await;
    }
    Iteration { answer, ops, work: Some(work) }
}

pub(crate) fn prepare<R: AsyncRuntime, C: Channels>(
    request: &mut Request,
) -> Result<Work, Refusal> {
    let (values, room) = (request.param("values")?, request.param("room")?);
    if room == 0 {
        return Err(Refusal::Misuse("--set room=0: a bounded channel has room for one".into()));
    }
    Ok(steady::<R, _, _>(request.threads, move || root::<R, C>(values, room)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokioSync;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_value_comes_through_as_in_another_program() {
        let runtime = TestRuntime::start(2);
        for room in [1, 3, 100] {
            let done = runtime.run(root::<TestRuntime, TokioSync>(10, room));
            assert_eq!(
                done,
                Iteration { answer: 10_777_562_070_624_587_306, ops: 10, work: Some(60) }
            );
        }
    }
}
