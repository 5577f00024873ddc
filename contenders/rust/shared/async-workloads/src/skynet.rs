//! skynet: of ten children nine are spawned, and the last one is awaited in place.
//!
//! The handles of nine children live in a `Vec`: an array of them inside the future would make
//! every task as large as an inner one, and nine of ten are leaves.
//! A future cannot contain itself, so the child in place is boxed: one allocation, and no spawn.

use fork_join_workloads::Tally;
use fork_join_workloads::skynet::{CHILDREN, Span, leaves};
use palio_protocol::forks::{Counted, Forks, Uncounted};
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::row::steady;

fn fork<R: AsyncRuntime, C: Forks>(span: Span) -> R::Join<Tally> {
    C::handed(1);
    R::spawn(skynet::<R, C>(span))
}

async fn skynet<R: AsyncRuntime, C: Forks>(span: Span) -> Tally {
    if let Some(leaf) = span.leaf() {
        return leaf;
    }
    let children: Vec<_> = (0..CHILDREN - 1).map(|i| fork::<R, C>(span.child(i))).collect();
    let mut tally = span.inner();
    tally += Box::pin(skynet::<R, C>(span.child(CHILDREN - 1))).await;
    for child in children {
        tally += child.await;
    }
    tally
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let leaves = leaves(request)?;
    let whole = Span::whole(leaves, request.salt);
    Ok(if request.counts_forks() {
        work::<R, Counted>(request.threads, whole)
    } else {
        work::<R, Uncounted>(request.threads, whole)
    })
}

fn work<R: AsyncRuntime, C: Forks>(threads: usize, whole: Span) -> Work {
    steady::<R, _, _>(threads, move || skynet::<R, C>(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{TestRuntime, spawns};

    #[test]
    fn nine_of_ten_children_are_spawned() {
        // Here are the root and what runs in place, and no other thread spawns.
        TestRuntime.block_on(async {
            skynet::<TestRuntime, Uncounted>(Span::whole(10, 0)).await;
        });
        assert_eq!(spawns(), 9);
    }

    #[test]
    fn the_tree_is_full() {
        let tally =
            TestRuntime::start(2).run(skynet::<TestRuntime, Uncounted>(Span::whole(1000, 0)));
        assert_eq!(tally, Tally { answer: 499_500, work: 1111 });
    }
}
