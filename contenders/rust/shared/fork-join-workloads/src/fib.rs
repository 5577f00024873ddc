//! Recursive Fibonacci, forked without cut-off.

use std::hint::black_box;

use palio_protocol::forks::{Counted, Forks, Uncounted};
use palio_protocol::harness::{Iteration, Refusal, Request, Work};

use crate::ForkJoin;

/// One fork, in the half of the returned number that counts them.
const FORK: u64 = 1 << 32;

/// Beyond this the forks overflow their 32 bits.
const N_MAX: u32 = 46;

/// Takes the parameter `n` and the salt, and makes of them the argument of the outermost call: n in
/// the lower half, as at every call below, and the salt in the upper one, where no call changes it.
/// So the salt comes to the leaves for nothing.
///
/// # Errors
/// It is missing, no number, or too large to be counted.
pub fn argument(request: &mut Request) -> Result<u64, Refusal> {
    let n: u32 = request.param("n")?;
    if n > N_MAX {
        return Err(Refusal::Misuse(format!(
            "--set n={n}: fib counts its forks in 32 bits, so n is at most {N_MAX}"
        )));
    }
    // Even, so that `unpack` can tell the forks from it.
    Ok((request.salt & 0xFFFF_FFFE) << 32 | u64::from(n))
}

/// Whether a call with this argument forks no more. It then returns the argument, salt and all.
pub const fn is_leaf(argument: u64) -> bool {
    (argument as u32) < 2
}

/// What a call returns that forked these two.
pub const fn join(left: u64, right: u64) -> u64 {
    left.wrapping_add(right).wrapping_add(FORK)
}

/// Answer and forks, out of the number that the outermost call returned to this argument.
pub fn unpack(packed: u64, argument: u64) -> Iteration {
    let forks = u64::from(forks((packed >> 32) as u32, (argument >> 32) as u32));
    Iteration { answer: packed, ops: forks, work: Some(forks) }
}

/// The forks f out of f + salt * (f + 1) modulo 2^32: the salt came once from each leaf, of which
/// there is one more than forks.
const fn forks(upper: u32, salt: u32) -> u32 {
    let factor = salt.wrapping_add(1);
    // Newton's iteration for the inverse of an odd number, which has 3 right bits to begin with
    // and twice as many after each step.
    let mut inverse = factor;
    let mut bits = 3;
    while bits < u32::BITS {
        inverse = inverse.wrapping_mul(2_u32.wrapping_sub(factor.wrapping_mul(inverse)));
        bits *= 2;
    }
    upper.wrapping_sub(salt).wrapping_mul(inverse)
}

fn fib<J: ForkJoin, C: Forks>(frame: &mut J::Frame<'_>, n: u64) -> u64 {
    if is_leaf(n) {
        return n;
    }
    let (left, right) = J::join::<C, _, _>(
        frame,
        move |frame| fib::<J, C>(frame, n - 1),
        move |frame| fib::<J, C>(frame, n - 2),
    );
    join(left, right)
}

pub(crate) fn prepare<J: ForkJoin>(request: &mut Request) -> Result<Work, Refusal> {
    let n = argument(request)?;
    let pool = J::start(request.threads);
    Ok(if request.counts_forks() {
        work::<J, Counted>(pool, n)
    } else {
        work::<J, Uncounted>(pool, n)
    })
}

fn work<J: ForkJoin, C: Forks>(pool: J, n: u64) -> Work {
    Work::new(move || unpack(pool.install(|frame| fib::<J, C>(frame, black_box(n))), n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork_join::PlainCalls;

    #[test]
    fn value_and_forks_are_those_of_the_recurrence() {
        // Fibonacci numbers by addition; the forks are fib(n + 1) - 1.
        for salt in [0, 2, 0x1234_5678, 0xFFFF_FFFE_u64] {
            let (mut value, mut next) = (0_u64, 1_u64);
            for n in 0..25 {
                let argument = salt << 32 | n;
                let done = unpack(fib::<PlainCalls, Uncounted>(&mut (), argument), argument);
                assert_eq!((done.answer % FORK, done.work), (value, Some(next - 1)), "n = {n}");
                (value, next) = (next, value + next);
            }
        }
    }

    #[test]
    fn forks_are_told_from_any_salt() {
        for salt in [0, 2, 0x1234_5678, u32::MAX - 1] {
            for count in [0, 1, 376, 165_580_140, u32::MAX] {
                let upper = salt.wrapping_mul(count.wrapping_add(1)).wrapping_add(count);
                assert_eq!(forks(upper, salt), count, "{salt}");
            }
        }
    }

    #[test]
    fn the_largest_n_fits_into_its_halves() {
        let (mut value, mut next) = (0_u64, 1_u64);
        for _ in 0..N_MAX {
            (value, next) = (next, value + next);
        }
        assert!(value < FORK && next - 1 < FORK);
        assert!(value + next > FORK, "one more would overflow, so the limit is not too low");
    }
}
