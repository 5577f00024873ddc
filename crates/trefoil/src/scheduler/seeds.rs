//! Random numbers that a program can repeat.

use crate::primitives::atomic::{AtomicU64, Relaxed};
use crate::runtime::RngSeed;

/// What the random numbers of a runtime's threads start with. A worker's depends on nothing but the
/// seed and the worker, and that of a `block_on` on how many there were before.
#[derive(Debug)]
pub(crate) struct Seeds {
    seed: u64,
    blocked_on: AtomicU64,
}

impl Seeds {
    pub(crate) fn new(seed: &RngSeed) -> Self {
        Self { seed: seed.get(), blocked_on: AtomicU64::new(0) }
    }

    pub(crate) fn of_worker(&self, worker: u32) -> u32 {
        mix(self.seed ^ 1, worker.into())
    }

    pub(crate) fn of_next_block_on(&self) -> u32 {
        // Relaxed: only the number counts.
        mix(self.seed, self.blocked_on.fetch_add(1, Relaxed))
    }
}

/// The `n`th number of a sequence, never 0 (SplitMix64; Steele, Lea and Flood 2014).
fn mix(seed: u64, n: u64) -> u32 {
    let mut z = seed.wrapping_add((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 32) as u32 | 1
}
