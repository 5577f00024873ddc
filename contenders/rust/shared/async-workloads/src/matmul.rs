//! matmul: of four calls three are spawned tasks, and the last one is awaited in place.
//!
//! A task cannot borrow from the one that awaits it, so A and B are shared by reference count and
//! the block of C moves into the child and comes back with its result. That is a few atomic
//! increments for every 65,536 operations of a base case.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

use fork_join_workloads::Tally;
use fork_join_workloads::matmul::{BASE, Block, BlockMut, Matrix, multiply_base, n};
use palio_protocol::forks::{Counted, Forks, Uncounted};
use palio_protocol::harness::{Iteration, Refusal, Request, Staged, Work};

use crate::AsyncRuntime;

type Shared = Block<Arc<Matrix>>;
type Owned = BlockMut<Arc<[Cell<i32>]>>;

/// The block that was written, and the number of base cases.
type Product = (Owned, u64);

fn fork<R: AsyncRuntime, C: Forks>(a: &Shared, b: &Shared, c: Owned) -> R::Join<Product> {
    C::handed(1);
    R::spawn(multiply::<R, C>(a.clone(), b.clone(), c))
}

/// Waits for three that were spawned, beside the last one, which was not.
async fn join<R: AsyncRuntime>(
    spawned: [R::Join<Product>; 3],
    (c22, blocks22): Product,
) -> ([Owned; 4], u64) {
    let [c11, c12, c21] = spawned;
    let ((c11, blocks11), (c12, blocks12)) = (c11.await, c12.await);
    let (c21, blocks21) = c21.await;
    ([c11, c12, c21, c22], blocks11 + blocks12 + blocks21 + blocks22)
}

async fn multiply<R: AsyncRuntime, C: Forks>(a: Shared, b: Shared, mut c: Owned) -> Product {
    if c.size() == BASE {
        multiply_base(&a, &b, &mut c);
        return (c, 1);
    }
    let [a11, a12, a21, a22] = a.quadrants();
    let [b11, b12, b21, b22] = b.quadrants();
    let [c11, c12, c21, c22] = c.split();
    let spawned = [
        fork::<R, C>(&a11, &b11, c11),
        fork::<R, C>(&a11, &b12, c12),
        fork::<R, C>(&a21, &b11, c21),
    ];
    let last = Box::pin(multiply::<R, C>(a21, b12, c22)).await;
    let ([c11, c12, c21, c22], first) = join::<R>(spawned, last).await;
    let spawned = [
        fork::<R, C>(&a12, &b21, c11),
        fork::<R, C>(&a12, &b22, c12),
        fork::<R, C>(&a22, &b21, c21),
    ];
    let last = Box::pin(multiply::<R, C>(a22, b22, c22)).await;
    let (quadrants, second) = join::<R>(spawned, last).await;
    (BlockMut::merge(quadrants), first + second)
}

struct Stages<R, C> {
    runtime: R,
    a: Shared,
    b: Shared,
    /// `None` while the tasks have it.
    c: Option<Owned>,
    blocks: u64,
    counts: PhantomData<C>,
}

impl<R: AsyncRuntime, C: Forks> Stages<R, C> {
    fn new(threads: usize, n: usize, salt: u64) -> Self {
        Self {
            runtime: R::start(threads),
            a: Block::of(Arc::new(Matrix::a(n, salt))),
            b: Block::of(Arc::new(Matrix::b(n, salt))),
            c: Some(BlockMut::zero(n)),
            blocks: 0,
            counts: PhantomData,
        }
    }

    fn c(&mut self) -> &mut Owned {
        self.c.as_mut().expect("C is here between two runs")
    }
}

impl<R: AsyncRuntime, C: Forks> Staged for Stages<R, C> {
    fn prepare(&mut self) {
        self.c().clear();
        self.blocks = 0;
    }

    fn run(&mut self) {
        let c = self.c.take().expect("C is here between two runs");
        let (c, blocks) = self.runtime.run(multiply::<R, C>(self.a.clone(), self.b.clone(), c));
        (self.c, self.blocks) = (Some(c), blocks);
    }

    fn finish(&mut self) -> Iteration {
        let answer = self.c().checksum();
        Tally { answer, work: self.blocks }.into()
    }
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let n = n(request)?;
    let (threads, salt) = (request.threads, request.salt);
    Ok(if request.counts_forks() {
        Work::staged(Stages::<R, Counted>::new(threads, n, salt))
    } else {
        Work::staged(Stages::<R, Uncounted>::new(threads, n, salt))
    })
}

#[cfg(test)]
mod tests {
    use palio_protocol::salt::mix;

    use super::*;
    use crate::test_runtime::{TestRuntime, spawns};

    #[test]
    fn three_of_four_calls_are_spawned() {
        let mut stages = Stages::<TestRuntime, Uncounted>::new(2, 2 * BASE, 0);
        let c = stages.c.take().unwrap();
        // Here are the root and what runs in place, all of them base cases.
        let product = multiply::<TestRuntime, Uncounted>(stages.a.clone(), stages.b.clone(), c);
        let (_, bases) = TestRuntime.block_on(product);
        assert_eq!((spawns(), bases), (3 + 3, 8));
    }

    #[test]
    fn the_checksum_is_that_of_a_plain_loop() {
        let (n, salt) = (128, 7);
        let a = |i: u64, k: u64| mix(salt, i * n + k) % 5;
        let b = |k: u64, j: u64| mix(salt, n * n + k * n + j) % 7;
        let cell = |i: u64, j: u64| (0..n).map(|k| a(i, k) * b(k, j)).sum::<u64>();
        let row = |i: u64| (0..n).map(|j| cell(i, j) * (1 + (i + 3 * j) % 11)).sum::<u64>();
        let expected: u64 = (0..n).map(row).sum();

        let mut stages = Stages::<TestRuntime, Uncounted>::new(2, n as usize, salt);
        for _ in 0..2 {
            stages.prepare();
            stages.run();
            let done = stages.finish();
            assert_eq!((done.answer, done.work), (expected, Some(64)));
        }
    }
}
