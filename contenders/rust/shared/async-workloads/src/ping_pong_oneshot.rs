//! Oneshot round trips in sequence. (The channel is the one of `ping_pong`.)

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;

use crate::AsyncRuntime;
use crate::ping_pong::pair;
use crate::row::cold;

async fn root<R: AsyncRuntime>(rounds: u64) -> Tally {
    let mut tally = Tally::default();
    for round in 0..rounds {
        // One echo has been spawned when its number is back.
        let number = salt::of_process().wrapping_add(round);
        tally += Tally { answer: pair::<R>(number).await, work: 1 };
    }
    tally
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let rounds = request.param("rounds")?;
    Ok(cold::<R, _, _>(request.threads, move || root::<R>(rounds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn every_number_comes_back() {
        let tally = TestRuntime::start(2).run(root::<TestRuntime>(100));
        assert_eq!(tally, Tally { answer: 4950, work: 100 });
    }
}
