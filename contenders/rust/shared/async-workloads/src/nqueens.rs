//! nqueens: every legal placement is a spawned task.

use fork_join_workloads::Tally;
use fork_join_workloads::nqueens::{Placement, n};
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::row::steady;

fn fork<R: AsyncRuntime>(placement: Placement) -> R::Join<Tally> {
    R::spawn(solve::<R>(placement))
}

async fn solve<R: AsyncRuntime>(placement: Placement) -> Tally {
    let children: Vec<_> = placement.children().map(fork::<R>).collect();
    let mut tally = placement.own();
    for child in children {
        tally += child.await;
    }
    tally
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let n = n(request)?;
    Ok(steady::<R, _, _>(request.threads, move || solve::<R>(Placement::empty(n))))
}

#[cfg(test)]
mod tests {
    use palio_protocol::salt::mix;

    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn solutions_and_placements() {
        let runtime = TestRuntime::start(2);
        // Their last queens stand in the columns 1 to 4; the salt is 0.
        let weighed = (1..=4).map(|column| mix(0, column)).fold(0, u64::wrapping_add);
        assert_eq!(runtime.run(solve::<TestRuntime>(Placement::empty(6))).answer, weighed);
        assert_eq!(runtime.run(solve::<TestRuntime>(Placement::empty(3))).work, 5);
    }
}
