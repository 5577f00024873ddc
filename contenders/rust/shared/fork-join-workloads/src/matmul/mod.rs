//! Recursive matrix multiplication, C += A * B.
//!
//! - [`Matrix`] is what is filled and check-summed.
//! - [`Block`] and [`BlockMut`] are the square parts that tasks read and write.
//! - [`multiply_base`] is the base case; its inner loops are the same machine code in every
//!   contender.

mod block;
mod kernel;
mod matrix;

use std::cell::Cell;
use std::marker::PhantomData;

use palio_protocol::forks::{Counted, Forks, Uncounted};
use palio_protocol::harness::{Iteration, Refusal, Request, Staged, Work};

pub use block::{BASE, Block, BlockMut};
pub use kernel::multiply_base;
pub use matrix::Matrix;

use crate::{ForkJoin, Tally};

/// Three matrices of this size take 3 GiB.
const N_MAX: usize = 1 << 14;

/// Takes the parameter `n`.
///
/// # Errors
/// It is missing, no power of two, smaller than the base case, or too large.
pub fn n(request: &mut Request) -> Result<usize, Refusal> {
    let n: usize = request.param("n")?;
    if !n.is_power_of_two() || !(BASE..=N_MAX).contains(&n) {
        return Err(Refusal::Misuse(format!(
            "--set n={n} is not a power of two from {BASE} to {N_MAX}"
        )));
    }
    Ok(n)
}

/// Returns the number of base cases.
fn multiply<J: ForkJoin, C: Forks>(
    frame: &mut J::Frame<'_>,
    a: Block<&Matrix>,
    b: Block<&Matrix>,
    mut c: BlockMut<&[Cell<i32>]>,
) -> u64 {
    if c.size() == BASE {
        multiply_base(&a, &b, &mut c);
        return 1;
    }
    let ([a11, a12, a21, a22], [b11, b12, b21, b22]) = (a.quadrants(), b.quadrants());
    let [c11, c12, c21, c22] = c.quadrants();
    let ((blocks11, blocks12), (blocks21, blocks22)) = J::join::<C, _, _>(
        frame,
        |f| {
            J::join::<C, _, _>(
                f,
                |f| multiply::<J, C>(f, a11, b11, c11),
                |f| multiply::<J, C>(f, a11, b12, c12),
            )
        },
        |f| {
            J::join::<C, _, _>(
                f,
                |f| multiply::<J, C>(f, a21, b11, c21),
                |f| multiply::<J, C>(f, a21, b12, c22),
            )
        },
    );
    let first = blocks11 + blocks12 + blocks21 + blocks22;
    let [c11, c12, c21, c22] = c.quadrants();
    let ((blocks11, blocks12), (blocks21, blocks22)) = J::join::<C, _, _>(
        frame,
        |f| {
            J::join::<C, _, _>(
                f,
                |f| multiply::<J, C>(f, a12, b21, c11),
                |f| multiply::<J, C>(f, a12, b22, c12),
            )
        },
        |f| {
            J::join::<C, _, _>(
                f,
                |f| multiply::<J, C>(f, a22, b21, c21),
                |f| multiply::<J, C>(f, a22, b22, c22),
            )
        },
    );
    first + blocks11 + blocks12 + blocks21 + blocks22
}

struct Stages<J, C> {
    pool: J,
    a: Matrix,
    b: Matrix,
    c: Matrix,
    blocks: u64,
    counts: PhantomData<C>,
}

impl<J, C> Stages<J, C> {
    fn new(pool: J, n: usize, salt: u64) -> Self {
        Self {
            pool,
            a: Matrix::a(n, salt),
            b: Matrix::b(n, salt),
            c: Matrix::zero(n),
            blocks: 0,
            counts: PhantomData,
        }
    }
}

impl<J: ForkJoin, C: Forks> Staged for Stages<J, C> {
    fn prepare(&mut self) {
        self.c.clear();
        self.blocks = 0;
    }

    fn run(&mut self) {
        let (a, b, c) = (Block::of(&self.a), Block::of(&self.b), BlockMut::borrowed(&mut self.c));
        self.blocks = self.pool.install(|frame| multiply::<J, C>(frame, a, b, c));
    }

    fn finish(&mut self) -> Iteration {
        Tally { answer: self.c.checksum(), work: self.blocks }.into()
    }
}

pub(crate) fn prepare<J: ForkJoin>(request: &mut Request) -> Result<Work, Refusal> {
    let n = n(request)?;
    let (pool, salt) = (J::start(request.threads), request.salt);
    Ok(if request.counts_forks() {
        Work::staged(Stages::<J, Counted>::new(pool, n, salt))
    } else {
        Work::staged(Stages::<J, Uncounted>::new(pool, n, salt))
    })
}

#[cfg(test)]
mod tests {
    use palio_protocol::salt::mix;

    use super::*;
    use crate::fork_join::PlainCalls;

    /// The checksum of A * B in whole numbers, straight from the definition.
    fn expected(n: u64, salt: u64) -> u64 {
        let a = |i: u64, k: u64| mix(salt, i * n + k) % 5;
        let b = |k: u64, j: u64| mix(salt, n * n + k * n + j) % 7;
        let cell = |i: u64, j: u64| (0..n).map(|k| a(i, k) * b(k, j)).sum::<u64>();
        let row = |i: u64| (0..n).map(|j| cell(i, j) * (1 + (i + 3 * j) % 11)).sum::<u64>();
        (0..n).map(row).sum()
    }

    #[test]
    fn the_checksum_is_that_of_the_definition() {
        for (n, salt) in [(32, 0), (64, 1), (128, u64::MAX)] {
            let mut stages = Stages::<_, Uncounted>::new(PlainCalls, n, salt);
            // Twice: C must be cleared between two iterations.
            for _ in 0..2 {
                stages.prepare();
                stages.run();
                let done = stages.finish();
                assert_eq!(done.answer, expected(n as u64, salt));
                assert_eq!(done.work, Some((n as u64 / 32).pow(3)));
            }
        }
    }
}
