//! All placements of n queens.

use std::hint::black_box;

use palio_protocol::forks::{Counted, Forks, Uncounted};
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt::{self, mix};

use crate::{ForkJoin, Tally};

/// The largest board. Its bytes are copied whole, whatever `n` is: that costs no more than copying
/// 14 of them, and keeps `n` a parameter, where an array of exactly `n` bytes would have made it a
/// constant that the compiler unrolls.
const N_MAX: usize = 16;

/// Queens on the first rows of a board.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// The column of the queen in each row.
    board: [u8; N_MAX],
    rows: u8,
    n: u8,
}

/// The columns of one row in which a queen may stand.
#[derive(Clone, Copy, Debug)]
struct Columns {
    legal: [u8; N_MAX],
    count: u8,
}

impl Placement {
    /// The empty board of `n` rows.
    ///
    /// # Panics
    /// When `n` is 0 or larger than a board can be.
    pub fn empty(n: u8) -> Self {
        assert!((1..=N_MAX).contains(&n.into()));
        Self { board: [0; N_MAX], rows: 0, n }
    }

    /// What this placement itself adds to the tallies of its children; the empty board is none.
    pub fn own(&self) -> Tally {
        let answer = if self.rows == self.n { self.weight() } else { 0 };
        Tally { answer, work: (self.rows > 0).into() }
    }

    /// What a solution counts: the column of its last queen, mixed with the salt.
    fn weight(&self) -> u64 {
        let last = self.board[usize::from(self.rows) - 1];
        mix(salt::of_process(), last.into())
    }

    /// Every legal placement with one more queen, in the order of the columns; none if the board is
    /// full.
    pub fn children(self) -> impl Iterator<Item = Self> {
        let columns = self.legal_columns();
        columns.legal.into_iter().take(columns.count.into()).map(move |column| self.with(column))
    }

    /// Checks a queen in the next row against every row above.
    fn is_legal(&self, column: u8) -> bool {
        self.board[..self.rows.into()].iter().zip(0..).all(|(&queen, row): (_, u8)| {
            queen != column && queen.abs_diff(column) != self.rows - row
        })
    }

    fn with(mut self, column: u8) -> Self {
        self.board[usize::from(self.rows)] = column;
        self.rows += 1;
        self
    }

    /// Never inlined, so that a contender's surroundings do not change the machine code of what is
    /// most of the work.
    #[inline(never)]
    fn legal_columns(&self) -> Columns {
        let mut columns = Columns { legal: [0; N_MAX], count: 0 };
        if self.rows < self.n {
            for column in 0..self.n {
                if self.is_legal(column) {
                    columns.legal[usize::from(columns.count)] = column;
                    columns.count += 1;
                }
            }
        }
        columns
    }
}

/// Takes the parameter `n`.
///
/// # Errors
/// It is missing, or no board can be that large.
pub fn n(request: &mut Request) -> Result<u8, Refusal> {
    let n = request.param("n")?;
    if !(1..=N_MAX).contains(&usize::from(n)) {
        return Err(Refusal::Misuse(format!("--set n={n} is not in 1..={N_MAX}")));
    }
    Ok(n)
}

fn solve<J: ForkJoin, C: Forks>(frame: &mut J::Frame<'_>, placement: Placement) -> Tally {
    let columns = placement.legal_columns();
    placement.own()
        + J::fork_each::<C>(frame, 0..columns.count.into(), &|frame: &mut J::Frame<'_>, i| {
            solve::<J, C>(frame, placement.with(columns.legal[i]))
        })
}

pub(crate) fn prepare<J: ForkJoin>(request: &mut Request) -> Result<Work, Refusal> {
    let n = n(request)?;
    let pool = J::start(request.threads);
    Ok(if request.counts_forks() {
        work::<J, Counted>(pool, n)
    } else {
        work::<J, Uncounted>(pool, n)
    })
}

fn work<J: ForkJoin, C: Forks>(pool: J, n: u8) -> Work {
    Work::new(move || {
        pool.install(|frame| solve::<J, C>(frame, Placement::empty(black_box(n)))).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork_join::PlainCalls;

    #[test]
    fn solutions_are_the_known_ones() {
        // How many have their last queen in each column; the salt is 0.
        for (n, columns) in [(1, &[1][..]), (2, &[0; 2]), (3, &[0; 3]), (4, &[0, 1, 1, 0])] {
            let weighed = (0..).zip(columns).map(|(column, count)| mix(0, column) * count);
            assert_eq!(
                solve::<PlainCalls, Uncounted>(&mut (), Placement::empty(n)).answer,
                weighed.fold(0, u64::wrapping_add),
                "n = {n}"
            );
        }
    }

    #[test]
    fn placements_are_those_of_a_search_by_hand() {
        // 3 rows: 3 queens in the first; (0,2), (2,0) and none under the middle one in the second;
        // none in the third.
        assert_eq!(solve::<PlainCalls, Uncounted>(&mut (), Placement::empty(3)).work, 3 + 2);
        assert_eq!(solve::<PlainCalls, Uncounted>(&mut (), Placement::empty(1)).work, 1);
    }
}
