//! A tree whose shape only its own search shows: every node is a job.

use std::hint::black_box;

use palio_protocol::forks::Uncounted;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt::{self, mix};

use crate::{ForkJoin, Tally};

/// Chances are parts of it.
const ALL: u64 = 10_000;

/// What decides the shape of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Children of the root.
    pub roots: usize,
    /// Children of any other node that has some.
    pub branches: usize,
    /// In how many of 10,000 cases it has some.
    pub chance: u64,
}

/// One node: a number from which its whole subtree follows.
#[derive(Clone, Copy, Debug)]
pub struct Node(pub u64);

impl Node {
    pub fn own(self) -> Tally {
        Tally { answer: mix(salt::of_process(), self.0), work: 1 }
    }

    /// How many children a node has that is not the root.
    pub fn children(self, shape: &Shape) -> usize {
        if mix(self.0, 0) % ALL < shape.chance { shape.branches } else { 0 }
    }

    pub fn child(self, i: usize) -> Self {
        Self(mix(self.0, i as u64 + 1))
    }
}

/// Takes the parameters: the root, and the shape.
///
/// # Errors
/// One is missing, or the tree would have no end.
pub fn tree(request: &mut Request) -> Result<(Node, Shape), Refusal> {
    let root = Node(request.param("seed")?);
    let (roots, branches) = (request.param("roots")?, request.param("branches")?);
    let shape = Shape { roots, branches, chance: request.param("chance")? };
    if (branches as u64).saturating_mul(shape.chance) >= ALL {
        return Err(Refusal::Misuse(format!(
            "--set branches={branches} and chance={}: a node has one child or more on average, so that the tree may \
             have no end",
            shape.chance
        )));
    }
    Ok((root, shape))
}

fn search<J: ForkJoin>(
    frame: &mut J::Frame<'_>,
    node: Node,
    children: usize,
    shape: &Shape,
) -> Tally {
    node.own()
        + J::fork_each::<Uncounted>(frame, 0..children, &|frame: &mut J::Frame<'_>, i| {
            let child = node.child(i);
            search::<J>(frame, child, child.children(shape), shape)
        })
}

pub(crate) fn prepare<J: ForkJoin>(request: &mut Request) -> Result<Work, Refusal> {
    let (root, shape) = tree(request)?;
    let pool = J::start(request.threads);
    Ok(Work::new(move || {
        pool.install(|frame| search::<J>(frame, black_box(root), shape.roots, &shape)).into()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork_join::PlainCalls;

    #[test]
    fn the_tree_is_that_of_a_search_by_another_program() {
        let shape = Shape { roots: 10, branches: 4, chance: 2000 };
        let tally = search::<PlainCalls>(&mut (), Node(7), shape.roots, &shape);
        assert_eq!(tally, Tally { answer: 15_336_349_879_463_879_629, work: 23 });
    }
}
