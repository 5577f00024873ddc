//! How many forks a row demands to be handed to the runtime. Pure.
//!
//! Of several calls that are joined, the caller may keep one for itself, as a binary join does, or
//! hand over all of them; and it may hand over the root. So there is a least and a most, and what
//! lies below the least was done by plain calls.

use crate::salt::Rule;
use crate::settings::Settings;

/// The forks of one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// One call of each join stays with its caller.
    pub at_least: u64,
    /// All calls are handed over, and the root too.
    pub at_most: u64,
}

impl Demand {
    /// Of the row whose salt enters by `rule`; `None` where the row has no forks, or more than are
    /// counted here.
    pub fn of(rule: Rule, set: &Settings) -> Option<Self> {
        let param = |key: &str| set.get(key)?.parse::<u64>().ok();
        match rule {
            Rule::Fib => fib(param("n")?),
            Rule::Skynet => skynet(param("leaves")?),
            Rule::Nqueens => nqueens(param("n")?),
            Rule::Matmul => matmul(param("n")?),
            // Of these only the first two fork, as often as what they work on demands.
            Rule::Tree
            | Rule::Quicksort
            | Rule::Phases
            | Rule::Pipeline
            | Rule::Broadcast
            | Rule::Deadlines
            | Rule::Requests
            | Rule::Start
            | Rule::Each
            | Rule::Sleepers
            | Rule::Primes
            | Rule::RoundTrips
            | Rule::Returns
            | Rule::Computed => None,
        }
    }

    /// What is wrong with a count, if anything.
    pub fn refuses(self, handed: u64) -> Option<String> {
        let Self { at_least, at_most } = self;
        if handed < at_least {
            Some(format!("it handed {handed} forks to its runtime, and {at_least} are due"))
        } else if handed > at_most {
            Some(format!("it counted {handed} forks, and there are {at_most} at most"))
        } else {
            None
        }
    }

    /// From so many joins, which have so many calls between them.
    fn joined(joins: u64, calls: u64) -> Option<Self> {
        Some(Self { at_least: calls.checked_sub(joins)?, at_most: calls.checked_add(1)? })
    }
}

/// One join of two calls at every call but the leaves.
fn fib(n: u64) -> Option<Demand> {
    let (mut forks, mut next) = (0_u64, 0_u64);
    for _ in 1..n {
        (forks, next) = (next.checked_add(forks)?.checked_add(1)?, forks);
    }
    Demand::joined(forks, forks.checked_mul(2)?)
}

/// One join of ten calls at every inner task.
fn skynet(leaves: u64) -> Option<Demand> {
    let joins = leaves.checked_sub(1)? / 9;
    Demand::joined(joins, joins.checked_mul(10)?)
}

/// Two joins of four calls at every call but the base cases, of which there are eight times as many
/// at each halving.
fn matmul(n: u64) -> Option<Demand> {
    let bases = (n / 32).checked_pow(3)?;
    let inner = bases.checked_sub(1)? / 7;
    Demand::joined(inner.checked_mul(2)?, inner.checked_mul(8)?)
}

/// One join at every board that can take another queen, of a call for each column in which it may
/// stand.
///
/// From a table and not counted, because whoever forges a bundle chooses the size: to count 16
/// queens takes half a minute.
fn nqueens(n: u64) -> Option<Demand> {
    let at = usize::try_from(n.checked_sub(1)?).ok()?;
    let &(joins, calls) = BOARDS.get(at)?;
    Demand::joined(joins, calls)
}

/// Of boards of 1, 2, 3 … rows: those that can take another queen, and the legal placements.
const BOARDS: [(u64, u64); 16] = [
    (1, 1),
    (1, 2),
    (3, 5),
    (11, 16),
    (40, 53),
    (103, 152),
    (358, 551),
    (1321, 2056),
    (5458, 8393),
    (22_765, 35_538),
    (105_850, 166_925),
    (541_459, 856_188),
    (2_958_238, 4_674_889),
    (17_327_861, 27_358_552),
    (108_610_300, 171_129_071),
    (725_674_927, 1_141_190_302),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rule: Rule, key: &str, value: u64) -> Option<(u64, u64)> {
        let set = [(key.to_owned(), value.to_string())].into_iter().collect();
        Demand::of(rule, &set).map(|demand| (demand.at_least, demand.at_most))
    }

    /// Joins and calls of a recursion, counted as it goes.
    #[derive(Default)]
    struct Joins(u64, u64);

    impl Joins {
        fn of(mut self, recursion: impl FnOnce(&mut Self)) -> Option<(u64, u64)> {
            recursion(&mut self);
            Some((self.1 - self.0, self.1 + 1))
        }

        fn join(&mut self, calls: u64) {
            self.0 += 1;
            self.1 += calls;
        }
    }

    #[test]
    fn fib_joins_two_calls_at_every_level() {
        fn recurse(n: u64, joins: &mut Joins) {
            if n >= 2 {
                joins.join(2);
                recurse(n - 1, joins);
                recurse(n - 2, joins);
            }
        }
        for n in 0..18 {
            assert_eq!(of(Rule::Fib, "n", n), Joins::default().of(|j| recurse(n, j)), "{n}");
        }
        assert_eq!(of(Rule::Fib, "n", 27).unwrap().0, 317_810);
        assert_eq!(of(Rule::Fib, "n", 1000), None);
    }

    #[test]
    fn skynet_joins_ten_calls_at_every_inner_task() {
        fn recurse(size: u64, joins: &mut Joins) {
            if size > 1 {
                joins.join(10);
                (0..10).for_each(|_| recurse(size / 10, joins));
            }
        }
        for leaves in [1, 10, 100, 10_000] {
            let counted = Joins::default().of(|joins| recurse(leaves, joins));
            assert_eq!(of(Rule::Skynet, "leaves", leaves), counted);
        }
        assert_eq!(of(Rule::Skynet, "leaves", 0), None);
    }

    #[test]
    fn matmul_joins_four_calls_twice() {
        fn recurse(size: u64, joins: &mut Joins) {
            if size > 32 {
                joins.join(4);
                joins.join(4);
                (0..8).for_each(|_| recurse(size / 2, joins));
            }
        }
        for n in [32, 64, 256] {
            assert_eq!(of(Rule::Matmul, "n", n), Joins::default().of(|j| recurse(n, j)));
        }
    }

    #[test]
    fn nqueens_joins_a_call_for_each_legal_column() {
        fn recurse(board: &mut Vec<u64>, n: u64, joins: &mut Joins) {
            if board.len() as u64 == n {
                return;
            }
            let row = board.len() as u64;
            let is_legal = |column: &u64| {
                let mut above = (0..).zip(board.iter());
                above.all(|(i, &queen): (u64, _)| {
                    queen != *column && queen.abs_diff(*column) != row - i
                })
            };
            let legal: Vec<u64> = (0..n).filter(is_legal).collect();
            if !legal.is_empty() {
                joins.join(legal.len() as u64);
            }
            for column in legal {
                board.push(column);
                recurse(board, n, joins);
                board.pop();
            }
        }
        for n in 1..=10 {
            let counted = Joins::default().of(|joins| recurse(&mut Vec::new(), n, joins));
            assert_eq!(of(Rule::Nqueens, "n", n), counted, "{n}");
        }
        // The placements that the catalogue states of the document's size.
        assert_eq!(of(Rule::Nqueens, "n", 14).unwrap().1, 27_358_552 + 1);
        for n in [0, 17, u64::MAX] {
            assert_eq!(of(Rule::Nqueens, "n", n), None);
        }
    }

    #[test]
    fn less_than_the_least_and_more_than_the_most_are_refused() {
        let demand = Demand { at_least: 9, at_most: 11 };
        assert!((9..=11).all(|handed| demand.refuses(handed).is_none()));
        assert!(demand.refuses(8).unwrap().contains("handed 8 forks"));
        assert!(demand.refuses(12).unwrap().contains("11 at most"));
        assert_eq!(of(Rule::Each, "n", 3), None);
    }
}
