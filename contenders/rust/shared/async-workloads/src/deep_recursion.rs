//! One task recurses.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::cold;

/// Calls itself until it is `depth` deep, and counts the calls from the salt on the way back. Boxed
/// at each level: a future cannot contain itself.
async fn recurse(depth: u64) -> u64 {
    let below = if depth == 1 { salt::of_process() } else { Box::pin(recurse(depth - 1)).await };
    below.wrapping_add(1)
}

async fn root<R: AsyncRuntime>(depth: u64) -> Tally {
    let count = R::spawn(recurse(depth)).await;
    Tally { answer: count, work: count.wrapping_sub(salt::of_process()) }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let depth = request.param("depth")?;
    if depth == 0 {
        return Err(Refusal::Misuse("--set depth=0: the first call is one deep".into()));
    }
    Ok(cold::<R, _, _>(request.threads, move || root::<R>(depth)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_call_is_counted() {
        for depth in [1, 100] {
            let tally = TestRuntime::start(2).run(root::<TestRuntime>(depth));
            assert_eq!(tally, Tally { answer: depth, work: depth });
        }
    }
}
