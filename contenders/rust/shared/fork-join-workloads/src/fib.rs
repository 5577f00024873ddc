//! Recursive Fibonacci, forked without cut-off.

use std::hint::black_box;

use palio_protocol::harness::{Iteration, Refusal, Request, Work};

use crate::ForkJoin;

/// One fork, in the half of the returned number that counts them.
pub const FORK: u64 = 1 << 32;

/// Beyond this the forks overflow their 32 bits.
const N_MAX: u32 = 46;

/// Takes the parameter `n`.
///
/// # Errors
/// It is missing, no number, or too large to be counted.
pub fn n(request: &mut Request) -> Result<u32, Refusal> {
    let n = request.param("n")?;
    if n > N_MAX {
        return Err(Refusal::Misuse(format!(
            "--set n={n}: fib counts its forks in 32 bits, so n is at most {N_MAX}"
        )));
    }
    Ok(n)
}

/// Value and forks, out of the number that the outermost call returned.
pub fn unpack(packed: u64) -> Iteration {
    let (value, forks) = (packed & (FORK - 1), packed >> 32);
    Iteration { answer: value, ops: forks, work: Some(forks) }
}

fn fib<J: ForkJoin>(frame: &mut J::Frame<'_>, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (left, right) = J::join(frame, move |f| fib::<J>(f, n - 1), move |f| fib::<J>(f, n - 2));
    left + right + FORK
}

pub(crate) fn prepare<J: ForkJoin>(request: &mut Request) -> Result<Work, Refusal> {
    let n = n(request)?;
    let pool = J::start(request.threads);
    Ok(Work::new(move || unpack(pool.install(|frame| fib::<J>(frame, black_box(n))))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork_join::PlainCalls;

    #[test]
    fn value_and_forks_are_those_of_the_recurrence() {
        // Fibonacci numbers by addition; the forks are fib(n + 1) - 1.
        let (mut value, mut next) = (0, 1);
        for n in 0..25 {
            let done = unpack(fib::<PlainCalls>(&mut (), n));
            assert_eq!((done.answer, done.work), (value, Some(next - 1)), "n = {n}");
            (value, next) = (next, value + next);
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
