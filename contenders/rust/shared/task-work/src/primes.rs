//! Primes by trial division.

use std::ops::Range;

use crate::mix::splitmix64;

/// With the odd numbers up to the square root, found by squaring: no square root is taken.
const fn is_prime(n: u64) -> bool {
    if n < 2 || n.is_multiple_of(2) {
        return n == 2;
    }
    let mut divisor = 3;
    while divisor * divisor <= n {
        if n.is_multiple_of(divisor) {
            return false;
        }
        divisor += 2;
    }
    true
}

/// The primes below `limit` among the share of task `task`, which are every number n with n mod
/// `tasks` = `task`: the sum of what they are mixed to with the salt.
pub fn primes_of(task: u64, tasks: u64, limit: u64, salt: u64) -> u64 {
    let share: Range<u64> = task..limit;
    let step = usize::try_from(tasks).expect("no more tasks than memory");
    let weight = |n: u64| splitmix64(salt.wrapping_add(n));
    share.step_by(step).filter(|&n| is_prime(n)).map(weight).fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_make_the_whole() {
        // As a sieve finds them.
        let limit = 10_000_usize;
        let mut composite = vec![false; limit];
        let (salt, mut primes) = (u64::MAX - 100, 0_u64);
        for n in 2..limit {
            if !composite[n] {
                primes = primes.wrapping_add(splitmix64(salt.wrapping_add(n as u64)));
                (n * n..limit).step_by(n).for_each(|multiple| composite[multiple] = true);
            }
        }
        for tasks in [1, 7, 64] {
            let share = |task| primes_of(task, tasks, limit as u64, salt);
            let sum = (0..tasks).map(share).fold(0, u64::wrapping_add);
            assert_eq!(sum, primes, "{tasks} tasks");
        }
    }
}
