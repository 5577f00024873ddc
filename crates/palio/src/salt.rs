//! The answer that a salt demands. Pure.
//!
//! Every process of a contender gets a salt of its own, which enters its work where the workload's
//! definition says. What the work then answers is computed here without doing it: by a closed form,
//! or directly where that is cheap. The catalogue states the answer for the salt 0; everything else
//! follows from the [`Rule`]. All sums wrap at 64 bits.

mod held_out;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use palio_protocol::salt::mix;

use crate::load::{self, factor_of};
use crate::settings::{Settings, settings_text};
use crate::words::words;

words! {
    /// Where the salt enters a workload.
    "rule of a salt": Rule {
        /// Once: a counter that is handed on starts from it.
        Start = "start",
        /// Once for each unit of the workload: each value is raised by it.
        Each = "each",
        /// Leaves of the recursion, in the half of the number that counts forks.
        Fib = "fib",
        /// Indices of the leaves start from it.
        Skynet = "skynet",
        /// A solution weighs what its last queen's column is mixed to.
        Nqueens = "nqueens",
        /// The two factors are filled from it.
        Matmul = "matmul",
        /// A sleeper's time is mixed from it.
        Sleepers = "sleepers",
        /// A prime weighs what it is mixed to.
        Primes = "primes",
        /// Every task that returns, which every second one does, returns a million and it.
        Returns = "returns",
        /// A node of the tree weighs what its number is mixed to.
        Tree = "tree",
        /// All numbers are raised by half of it.
        Quicksort = "quicksort",
        /// The first values of the cells are mixed from it.
        Phases = "phases",
        /// Values are counted from it.
        Pipeline = "pipeline",
        /// What goes down in a round is mixed from it.
        Broadcast = "broadcast",
        /// How long a task takes, and whether its deadline passes, is mixed from it.
        Deadlines = "deadlines",
        /// What a request computes with is mixed from it.
        Requests = "requests",
        /// The key that one side of a connection adds to every byte is mixed from it.
        RoundTrips = "round_trips",
        /// It raises the number of each request, from which the answer is computed.
        Computed = "computed",
    }
}

/// The parameters, units and salt-0 answer of a workload of one size.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    pub set: &'a Settings,
    pub ops: u64,
    pub answer: &'a str,
}

impl Rule {
    /// The answer that every sample must give under `salt`.
    ///
    /// # Errors
    /// The workload lacks what the rule needs: a parameter, or an answer that is a number.
    pub fn answer(self, plain: Plain<'_>, salt: u64) -> Result<String> {
        let param = |key: &str| -> Result<u64> {
            let text = plain.set.get(key).with_context(|| format!("there is no {key:?}"))?;
            text.parse().with_context(|| format!("{key}={text} is no whole number"))
        };
        let stated =
            || plain.answer.parse::<u64>().context("the answer for the salt 0 is no number");
        let computed = || -> Result<u64> {
            Ok(match self {
                Self::Start => stated()?.wrapping_add(salt),
                Self::Each => stated()?.wrapping_add(plain.ops.wrapping_mul(salt)),
                Self::Fib => fib(param("n")?, salt)?,
                Self::Skynet => stated()?.wrapping_add(param("leaves")?.wrapping_mul(salt)),
                Self::Nqueens => nqueens(param("n")?, salt)?,
                Self::Matmul => matmul(param("n")?, salt)?,
                Self::Sleepers => {
                    let sleepers = param("sleepers")?;
                    held_out::affordable(Some(sleepers))?;
                    (0..sleepers).fold(0, |sum: u64, i| sum.wrapping_add(1 + mix(salt, i) % 10))
                }
                Self::Primes => primes(param("limit")?)?
                    .into_iter()
                    .fold(0, |sum: u64, prime| sum.wrapping_add(mix(salt, prime))),
                Self::Returns => {
                    let returning = param("tasks")?.div_ceil(2);
                    stated()?.wrapping_add(returning.wrapping_mul(salt))
                }
                Self::Tree => held_out::Tree {
                    seed: param("seed")?,
                    roots: param("roots")?,
                    branches: param("branches")?,
                    chance: param("chance")?,
                }
                .answer(salt)?,
                Self::Quicksort => held_out::quicksort(param("n")?, stated()?, salt),
                Self::Phases => {
                    held_out::phases(param("cells")?, param("phases")?, param("steps")?, salt)?
                }
                Self::Pipeline => held_out::pipeline(param("values")?, salt)?,
                Self::Broadcast => held_out::broadcast(param("levels")?, param("rounds")?, salt)?,
                Self::Deadlines => held_out::deadlines(param("tasks")?, salt)?,
                Self::Requests => held_out::requests(param("requests")?, param("steps")?, salt)?,
                Self::Computed => {
                    computed(param("connections")?, param("requests")?, param("steps")?, salt)?
                }
                Self::RoundTrips => {
                    round_trips(param("connections")?, param("round_trips")?, salt)?
                }
            })
        };
        let answer = computed().with_context(|| {
            format!("no answer follows by the rule {self} from {:?}", settings_text(plain.set))
        })?;
        Ok(answer.to_string())
    }
}

/// What a leaf of fib adds beside its own value: an even number, so that the forks can be told from
/// the sum, in the upper half, so that the value cannot be carried into.
pub const fn fib_leaf(salt: u64) -> u64 {
    (salt & 0xFFFF_FFFE) << 32
}

/// The value in the lower half; in the upper one the forks, and the salt once for each leaf, of
/// which there is one more.
fn fib(n: u64, salt: u64) -> Result<u64> {
    ensure!(n <= 46, "fib({n}) has more forks than 32 bits can count");
    let (mut value, mut next) = (0_u64, 1_u64);
    for _ in 0..n {
        (value, next) = (next, value + next);
    }
    let forks = next - 1;
    Ok((value | forks << 32).wrapping_add(fib_leaf(salt).wrapping_mul(forks + 1)))
}

const BOARD_MAX: usize = 16;
/// How many solutions have their last queen in each column.
type LastColumns = [u64; BOARD_MAX];

fn nqueens(n: u64, salt: u64) -> Result<u64> {
    /// Counted once for each size in the life of the process: 14 queens take a good part of a
    /// second.
    static COUNTED: Mutex<BTreeMap<usize, LastColumns>> = Mutex::new(BTreeMap::new());
    let rows = usize::try_from(n).ok().filter(|rows| (1..=BOARD_MAX).contains(rows));
    let rows = rows.with_context(|| format!("a board has 1 to {BOARD_MAX} rows, not {n}"))?;
    let mut counted = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let columns = counted.entry(rows).or_insert_with(|| {
        let mut columns = [0; BOARD_MAX];
        last_columns((1 << rows) - 1, [0; 3], &mut columns);
        columns
    });
    let weigh = |(column, count): (u64, &u64)| count.wrapping_mul(mix(salt, column));
    Ok((0..).zip(columns.iter()).map(weigh).fold(0, u64::wrapping_add))
}

/// Tries every column of the next row of a board whose columns are the bits of `all`, where
/// `attacked` holds the columns that queens above attack straight on and along both diagonals.
fn last_columns(all: u32, [straight, left, right]: [u32; 3], counts: &mut LastColumns) {
    let mut free = all & !(straight | left | right);
    while free != 0 {
        let queen = free & free.wrapping_neg();
        free ^= queen;
        if straight | queen == all {
            counts[queen.trailing_zeros() as usize] += 1;
        } else {
            last_columns(
                all,
                [straight | queen, (left | queen) << 1, (right | queen) >> 1],
                counts,
            );
        }
    }
}

/// The weights of the checksum repeat after so many rows and columns.
const WEIGHTS: usize = 11;

/// The checksum of A * B without the product: a cell's weight hangs on its row and column modulo 11
/// alone, so that rows of A and columns of B can be added up before they are multiplied.
fn matmul(n: u64, salt: u64) -> Result<u64> {
    ensure!(n <= 1 << 14, "a matrix has at most 16384 rows, not {n}");
    let size = n as usize;
    let mut rows_of_a = vec![[0_u64; WEIGHTS]; size];
    let mut columns_of_b = vec![[0_u64; WEIGHTS]; size];
    for i in 0..size {
        for j in 0..size {
            let at = (i * size + j) as u64;
            rows_of_a[j][i % WEIGHTS] += mix(salt, at) % 5;
            columns_of_b[i][j % WEIGHTS] += mix(salt, n * n + at) % 7;
        }
    }
    let mut sum = 0_u64;
    for (a, b) in rows_of_a.iter().zip(&columns_of_b) {
        for (i, row) in a.iter().enumerate() {
            for (j, column) in b.iter().enumerate() {
                sum += row * column * (1 + (i as u64 + 3 * j as u64) % 11);
            }
        }
    }
    Ok(sum)
}

/// The numbers in the answers to all requests, which are not computed step by step here.
fn computed(connections: u64, requests: u64, steps: u64, salt: u64) -> Result<u64> {
    let all = connections.checked_mul(requests);
    // A few multiplications for each bit of `steps`.
    held_out::affordable(all.and_then(|all| all.checked_mul(u64::from(u64::BITS))))?;
    let of_one = |unit: u64| {
        let number = salt.wrapping_add(unit);
        load::computed(number, factor_of(salt, number), steps)
    };
    Ok((0..all.unwrap_or(0)).map(of_one).fold(0, u64::wrapping_add))
}

/// What one side of the connection number `connection` adds to every byte: an odd number, so that
/// the bytes of 256 round trips all differ, and one that is lost or doubled is missed.
pub const fn key_of(salt: u64, connection: u64) -> u8 {
    mix(salt, connection) as u8 | 1
}

/// The bytes that both sides of all connections read. A byte stands in the answer twice, read by
/// one side and then by the other, but for the first, which is 0, and the last.
fn round_trips(connections: u64, trips: u64, salt: u64) -> Result<u64> {
    /// The sum of all values that a byte has.
    const CYCLE: u64 = 255 * 256 / 2;
    let rest = trips % 256;
    held_out::affordable(connections.checked_mul(rest + 1))?;
    let of_one = |connection| {
        let key = u64::from(key_of(salt, connection));
        let after = |trips: u64| trips * key % 256;
        let partial: u64 = (1..=rest).map(after).sum();
        let by_one_side = (trips / 256).wrapping_mul(CYCLE).wrapping_add(partial);
        by_one_side.wrapping_mul(2).wrapping_sub(after(rest))
    };
    Ok((0..connections).map(of_one).fold(0, u64::wrapping_add))
}

/// By the sieve of Eratosthenes.
fn primes(limit: u64) -> Result<Vec<u64>> {
    if limit > 1 << 28 {
        bail!("primes below {limit} would take too long");
    }
    let mut composite = vec![false; limit as usize];
    let mut found = Vec::new();
    for n in 2..limit {
        if !composite[n as usize] {
            found.push(n);
            let multiples = (n * n..limit).step_by(n as usize);
            multiples.for_each(|multiple| composite[multiple as usize] = true);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use palio_protocol::served;

    use super::*;

    const SALTS: [u64; 4] = [0, 1, 0x0123_4567_89AB_CDEF, u64::MAX];

    fn of(rule: Rule, set: &[(&str, u64)], ops: u64, answer: u64, salt: u64) -> u64 {
        let set = set.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
        let plain = Plain { set: &set, ops, answer: &answer.to_string() };
        rule.answer(plain, salt).unwrap().parse().unwrap()
    }

    #[test]
    fn fib_is_that_of_the_recursion() {
        fn recurse(n: u64, leaf: u64) -> u64 {
            if n < 2 {
                return n.wrapping_add(leaf);
            }
            recurse(n - 1, leaf).wrapping_add(recurse(n - 2, leaf)).wrapping_add(1 << 32)
        }
        for salt in SALTS {
            for n in 0..15 {
                let leaf = fib_leaf(salt);
                assert_eq!(of(Rule::Fib, &[("n", n)], 0, 0, salt), recurse(n, leaf), "{n}, {salt}");
            }
        }
    }

    #[test]
    fn skynet_is_that_of_the_tree() {
        fn tree(first: u64, size: u64) -> u64 {
            if size == 1 {
                return first;
            }
            let child = |i: u64| tree(first.wrapping_add(i * (size / 10)), size / 10);
            (0..10).map(child).fold(0, u64::wrapping_add)
        }
        for salt in SALTS {
            for leaves in [1, 10, 1000] {
                let plain = leaves * (leaves - 1) / 2;
                let answer = of(Rule::Skynet, &[("leaves", leaves)], 0, plain, salt);
                assert_eq!(answer, tree(salt, leaves));
            }
        }
    }

    #[test]
    fn nqueens_is_that_of_a_plain_search() {
        fn search(board: &mut Vec<u64>, n: u64, salt: u64) -> u64 {
            if board.len() as u64 == n {
                return mix(salt, board[board.len() - 1]);
            }
            let mut sum = 0_u64;
            for column in 0..n {
                let row = board.len() as u64;
                let safe = (0..).zip(board.iter()).all(|(above, &queen): (u64, &u64)| {
                    queen != column && queen.abs_diff(column) != row - above
                });
                if safe {
                    board.push(column);
                    sum = sum.wrapping_add(search(board, n, salt));
                    board.pop();
                }
            }
            sum
        }
        for salt in SALTS {
            for n in 1..=8 {
                let answer = of(Rule::Nqueens, &[("n", n)], 0, 0, salt);
                assert_eq!(answer, search(&mut Vec::new(), n, salt), "n = {n}");
            }
        }
    }

    /// Requests that are answered step by step, as a server does it.
    #[test]
    fn what_servers_compute_is_that_of_the_steps() {
        for salt in SALTS {
            let mut sum = 0_u64;
            for unit in 0..12 {
                let number = salt.wrapping_add(unit);
                let factor = factor_of(salt, number);
                let mut request = [number.to_le_bytes(), factor.to_le_bytes()].concat();
                served::answer_in_place(&mut request, 100);
                sum = sum.wrapping_add(u64::from_le_bytes(*request.first_chunk().unwrap()));
            }
            let set = [("connections", 3), ("requests", 4), ("steps", 100)];
            assert_eq!(of(Rule::Computed, &set, 0, 0, salt), sum, "{salt}");
        }
    }

    #[test]
    fn matmul_is_that_of_the_product() {
        let n = 48;
        for salt in SALTS {
            let a = |i: u64, k: u64| mix(salt, i * n + k) % 5;
            let b = |k: u64, j: u64| mix(salt, n * n + k * n + j) % 7;
            let cell = |i: u64, j: u64| (0..n).map(|k| a(i, k) * b(k, j)).sum::<u64>();
            let row = |i: u64| (0..n).map(|j| cell(i, j) * (1 + (i + 3 * j) % 11)).sum::<u64>();
            assert_eq!(of(Rule::Matmul, &[("n", n)], 0, 0, salt), (0..n).map(row).sum::<u64>());
        }
    }

    #[test]
    fn bytes_are_those_of_the_round_trips() {
        fn exchange(key: u8, trips: u64) -> u64 {
            let (mut byte, mut sum) = (0_u8, 0);
            for _ in 0..trips {
                let read_by_who_connected = byte;
                byte = byte.wrapping_add(key);
                sum += u64::from(read_by_who_connected) + u64::from(byte);
            }
            sum
        }
        for salt in SALTS {
            for (connections, trips) in [(0, 5), (1, 0), (1, 1), (3, 255), (3, 256), (2, 1000)] {
                let set = [("connections", connections), ("round_trips", trips)];
                let keys = (0..connections).map(|i| (mix(salt, i) % 256) as u8 | 1);
                let brute: u64 = keys.map(|key| exchange(key, trips)).sum();
                assert_eq!(of(Rule::RoundTrips, &set, 0, 0, salt), brute, "{set:?}");
            }
        }
        let set = [("connections".to_owned(), u64::MAX.to_string())];
        let set = set.into_iter().chain([("round_trips".to_owned(), "9".to_owned())]).collect();
        let plain = Plain { set: &set, ops: 1, answer: "0" };
        let error = format!("{:#}", Rule::RoundTrips.answer(plain, 1).unwrap_err());
        assert!(error.contains("too long"), "{error}");
    }

    #[test]
    fn sums_of_values_are_those_of_a_loop() {
        let wrapping = |values: &mut dyn Iterator<Item = u64>| values.fold(0, u64::wrapping_add);
        for salt in SALTS {
            let numbers = wrapping(&mut (0..100).map(|i| salt.wrapping_add(i)));
            assert_eq!(of(Rule::Each, &[], 100, 4950, salt), numbers);
            assert_eq!(of(Rule::Start, &[], 100, 100, salt), salt.wrapping_add(100));
            let slept = wrapping(&mut (0..50).map(|i| 1 + mix(salt, i) % 10));
            assert_eq!(of(Rule::Sleepers, &[("sleepers", 50)], 0, 0, salt), slept);
            let is_prime = |n: &u64| *n > 1 && (2..*n).all(|divisor| !n.is_multiple_of(divisor));
            let weighed = wrapping(&mut (0..200).filter(is_prime).map(|p| mix(salt, p)));
            assert_eq!(of(Rule::Primes, &[("limit", 200)], 0, 0, salt), weighed);
            for tasks in [0_u64, 1, 10, 11] {
                let outcome = |i: u64| if i % 2 == 1 { 1 } else { salt.wrapping_add(1_000_000) };
                let plain = tasks.div_ceil(2) * 1_000_000 + tasks / 2;
                let answer = of(Rule::Returns, &[("tasks", tasks)], 0, plain, salt);
                assert_eq!(answer, wrapping(&mut (0..tasks).map(outcome)));
            }
        }
    }

    #[test]
    fn what_a_rule_needs_is_named() {
        let set = Settings::new();
        let plain = Plain { set: &set, ops: 1, answer: "many" };
        let sleepers = [("sleepers".to_owned(), u64::MAX.to_string())].into_iter().collect();
        let plain = Plain { set: &sleepers, ..plain };
        let error = format!("{:#}", Rule::Sleepers.answer(plain, 1).unwrap_err());
        assert!(error.contains("too long"), "{error}");
        for (rule, what) in [(Rule::Fib, "\"n\""), (Rule::Each, "no number")] {
            let error = format!("{:#}", rule.answer(plain, 1).unwrap_err());
            assert!(error.contains(what) && error.contains(rule.name()), "{error}");
        }
    }
}
