//! Oneshot round trips with freshly spawned echoes.
//!
//! The channel is `futures::channel::oneshot` in every contender, so that only the runtime differs.

use futures_channel::oneshot;
use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::row::steady;

/// Tasks of one pair: the one that asks and its echo.
const TASKS: u64 = 2;

/// One round trip of the number `i`.
pub(crate) async fn pair<R: AsyncRuntime>(i: u64) -> u64 {
    let (ping, pinged) = oneshot::channel();
    let (pong, ponged) = oneshot::channel();
    R::spawn_detached(async move {
        let number: u64 = pinged.await.expect("the asking task sends");
        pong.send(number).expect("the asking task waits");
    });
    ping.send(i).expect("the echo waits");
    ponged.await.expect("the echo sends")
}

async fn root<R: AsyncRuntime>(pairs: u64) -> Iteration {
    let salt = salt::of_process();
    let spawn = |i| R::spawn(pair::<R>(salt.wrapping_add(i)));
    let joins: Vec<_> = (0..pairs).map(spawn).collect();
    let (mut answer, mut ops, mut work) = (0_u64, 0, 0);
    for join in joins {
        answer = join.await.wrapping_add(answer);
        ops += 1;
        work += TASKS;
    }
    Iteration { answer, ops, work: Some(work) }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let pairs = request.param("pairs")?;
    Ok(steady::<R, _, _>(request.threads, move || root::<R>(pairs)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_number_comes_back() {
        let done = TestRuntime::start(2).run(root::<TestRuntime>(100));
        assert_eq!(done, Iteration { answer: 4950, ops: 100, work: Some(200) });
    }
}
