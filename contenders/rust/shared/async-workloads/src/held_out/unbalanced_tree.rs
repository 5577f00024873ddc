//! A tree whose shape only its own search shows: every node is a spawned
//! task, but for the last child of each, which is awaited in place.

use fork_join_workloads::Tally;
use fork_join_workloads::unbalanced_tree::{Node, Shape, tree};
use palio_protocol::harness::{Refusal, Request, Work};

use crate::AsyncRuntime;
use crate::row::steady;

fn fork<R: AsyncRuntime>(node: Node, children: usize, shape: Shape) -> R::Join<Tally> {
    R::spawn(search::<R>(node, children, shape))
}

async fn search<R: AsyncRuntime>(node: Node, children: usize, shape: Shape) -> Tally {
    let mut tally = node.own();
    let Some(last) = children.checked_sub(1) else {
        return tally;
    };
    let child = |i| {
        let child = node.child(i);
        fork::<R>(child, child.children(&shape), shape)
    };
    let joins: Vec<_> = (0..last).map(child).collect();
    let last = node.child(last);
    tally += Box::pin(search::<R>(last, last.children(&shape), shape)).await;
    for join in joins {
        tally += join.await;
    }
    tally
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (root, shape) = tree(request)?;
    Ok(steady::<R, _, _>(request.threads, move || search::<R>(root, shape.roots, shape)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{TestRuntime, spawns};

    #[test]
    fn the_last_child_is_not_spawned() {
        let shape = Shape { roots: 10, branches: 4, chance: 0 };
        // Here are the root and what runs in place.
        TestRuntime.block_on(async {
            search::<TestRuntime>(Node(7), shape.roots, shape).await;
        });
        assert_eq!(spawns(), 9);
    }

    #[test]
    fn the_tree_is_that_of_a_search_by_another_program() {
        let shape = Shape { roots: 10, branches: 4, chance: 2000 };
        let tally = TestRuntime::start(2).run(search::<TestRuntime>(Node(7), shape.roots, shape));
        assert_eq!(tally, Tally { answer: 15_336_349_879_463_879_629, work: 23 });
    }
}
