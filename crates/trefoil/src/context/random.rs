//! Small pseudo-random numbers, for schedulers and for `select!`.

use super::{Context, Restore, with};

impl Context {
    /// A small pseudo-random number below `n` (xorshift32, Marsaglia 2003).
    fn random(&self, n: u32) -> u32 {
        let mut x = self.rng.get();
        if x == 0 {
            // The address of a thread-local differs between threads.
            x = (std::ptr::from_ref(self).addr() >> 6) as u32 | 1;
        }
        self.rng.set(next_random(x));
        below(self.rng.get(), n)
    }
}

/// The number after `x`, which is not 0.
fn next_random(mut x: u32) -> u32 {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    x
}

fn below(x: u32, n: u32) -> u32 {
    ((u64::from(x) * u64::from(n)) >> 32) as u32
}

/// A random number below `n`, for schedulers.
pub(crate) fn random(n: u32) -> u32 {
    with(|context| context.random(n))
}

/// A random number below `n`, for the fairness of `select!`. If the runtime has a seed, the numbers
/// depend on nothing else: schedulers, which search now and then, take none of them.
pub(crate) fn random_for_select(n: u32) -> u32 {
    with(|context| match context.seeded_rng.get() {
        0 => context.random(n),
        x => {
            context.seeded_rng.set(next_random(x));
            below(x, n)
        }
    })
}

/// Has the random numbers of `select!` start with `seed` until the guard is dropped. For frames.
pub(crate) fn seed_random(seed: u32) -> RandomGuard {
    RandomGuard { _rng: Restore::set(|context| &context.seeded_rng, seed) }
}

#[derive(Debug)]
#[must_use]
pub(crate) struct RandomGuard {
    _rng: Restore<u32>,
}
