//! nqueens: of the legal placements in a row all but the last are spawned, and that one is awaited
//! in place.

use fork_join_workloads::Tally;
use fork_join_workloads::nqueens::{Placement, n};
use palio_protocol::forks::{Counted, Forks, Uncounted};
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::row::steady;

fn fork<R: AsyncRuntime, C: Forks>(placement: Placement) -> R::Join<Tally> {
    C::handed(1);
    R::spawn(solve::<R, C>(placement))
}

async fn solve<R: AsyncRuntime, C: Forks>(placement: Placement) -> Tally {
    let mut spawned = Vec::new();
    // The last one found, which is spawned when there is another one behind it.
    let mut last = None;
    for child in placement.children() {
        spawned.extend(last.replace(child).map(fork::<R, C>));
    }
    let mut tally = placement.own();
    if let Some(last) = last {
        tally += Box::pin(solve::<R, C>(last)).await;
    }
    for child in spawned {
        tally += child.await;
    }
    tally
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let n = n(request)?;
    Ok(if request.counts_forks() {
        work::<R, Counted>(request.threads, n)
    } else {
        work::<R, Uncounted>(request.threads, n)
    })
}

fn work<R: AsyncRuntime, C: Forks>(threads: usize, n: u8) -> Work {
    steady::<R, _, _>(threads, move || solve::<R, C>(Placement::empty(n)))
}

#[cfg(test)]
mod tests {
    use palio_protocol::salt::mix;

    use super::*;
    use crate::test_runtime::{TestRuntime, spawns};

    #[test]
    fn the_last_placement_of_a_row_is_not_spawned() {
        // Here is the empty board, with five placements. The last of them has three more below it,
        // and from the last of these on there is one in each row.
        TestRuntime.block_on(async {
            solve::<TestRuntime, Uncounted>(Placement::empty(5)).await;
        });
        assert_eq!(spawns(), 4 + 2);
    }

    #[test]
    fn solutions_and_placements() {
        let runtime = TestRuntime::start(2);
        // Their last queens stand in the columns 1 to 4; the salt is 0.
        let weighed = (1..=4).map(|column| mix(0, column)).fold(0, u64::wrapping_add);
        assert_eq!(
            runtime.run(solve::<TestRuntime, Uncounted>(Placement::empty(6))).answer,
            weighed
        );
        assert_eq!(runtime.run(solve::<TestRuntime, Uncounted>(Placement::empty(3))).work, 5);
    }
}
