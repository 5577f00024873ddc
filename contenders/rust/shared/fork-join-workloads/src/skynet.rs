//! A ten-way tree of tasks.

use std::hint::black_box;

use palio_protocol::forks::{Counted, Forks, Uncounted};
use palio_protocol::harness::{Refusal, Request, Work};

use crate::{ForkJoin, Tally};

/// Children of every inner task.
pub const CHILDREN: usize = 10;

/// The indices that one task owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    first: u64,
    size: u64,
}

impl Span {
    /// The root's, whose indices start from the salt.
    pub const fn whole(leaves: u64, salt: u64) -> Self {
        Self { first: salt, size: leaves }
    }

    /// What a leaf returns; `None` for an inner task.
    pub const fn leaf(self) -> Option<Tally> {
        if self.size == 1 { Some(Tally { answer: self.first, work: 1 }) } else { None }
    }

    /// What an inner task adds to the tallies of its children: itself.
    pub const fn inner(self) -> Tally {
        Tally { answer: 0, work: 1 }
    }

    /// The part of child `i` of an inner task.
    pub const fn child(self, i: usize) -> Self {
        let size = self.size / CHILDREN as u64;
        Self { first: self.first.wrapping_add(i as u64 * size), size }
    }
}

/// Takes the parameter `leaves`.
///
/// # Errors
/// It is missing, or no power of ten.
pub fn leaves(request: &mut Request) -> Result<u64, Refusal> {
    let leaves: u64 = request.param("leaves")?;
    if leaves.checked_ilog10().is_none_or(|exponent| 10_u64.pow(exponent) != leaves) {
        return Err(Refusal::Misuse(format!("--set leaves={leaves} is not a power of ten")));
    }
    Ok(leaves)
}

fn skynet<J: ForkJoin, C: Forks>(frame: &mut J::Frame<'_>, span: Span) -> Tally {
    match span.leaf() {
        Some(leaf) => leaf,
        None => {
            span.inner()
                + J::fork_each::<C>(frame, 0..CHILDREN, &|frame: &mut J::Frame<'_>, i| {
                    skynet::<J, C>(frame, span.child(i))
                })
        }
    }
}

pub(crate) fn prepare<J: ForkJoin>(request: &mut Request) -> Result<Work, Refusal> {
    let leaves = leaves(request)?;
    let (pool, salt) = (J::start(request.threads), request.salt);
    Ok(if request.counts_forks() {
        work::<J, Counted>(pool, leaves, salt)
    } else {
        work::<J, Uncounted>(pool, leaves, salt)
    })
}

fn work<J: ForkJoin, C: Forks>(pool: J, leaves: u64, salt: u64) -> Work {
    Work::new(move || {
        pool.install(|frame| skynet::<J, C>(frame, Span::whole(black_box(leaves), salt))).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork_join::PlainCalls;

    #[test]
    fn the_tree_is_full() {
        for (leaves, tasks) in [(1, 1), (10, 11), (100, 111), (10_000, 11_111)] {
            let tally = skynet::<PlainCalls, Uncounted>(&mut (), Span::whole(leaves, 0));
            assert_eq!(tally, Tally { answer: leaves * (leaves - 1) / 2, work: tasks });
        }
    }
}
