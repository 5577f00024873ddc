//! Quicksort: both parts of a large enough one are sorted in parallel.

use palio_protocol::forks::Uncounted;
use palio_protocol::harness::{Iteration, Refusal, Request, Staged, Work};
use palio_protocol::salt::mix;

use crate::ForkJoin;

/// Parts of no more than these are sorted by insertion.
const SMALL: usize = 16;

/// The numbers to sort. The salt raises all of them alike, so that their order hangs on their
/// places alone, and with it the tasks.
fn fill(n: usize, salt: u64) -> Vec<u64> {
    (0..n as u64).map(|i| (mix(0, i) >> 1) + (salt >> 1)).collect()
}

fn median(a: u64, b: u64, c: u64) -> u64 {
    a.min(b).max(a.max(b).min(c))
}

/// Hoare's partition around the median of the first, the middle and the last; how many are left of
/// it.
fn partition(part: &mut [u64]) -> usize {
    let (middle, last) = (part.len() / 2, part.len() - 1);
    let pivot = median(part[0], part[middle], part[last]);
    let (mut left, mut right) = (0, last);
    loop {
        while part[left] < pivot {
            left += 1;
        }
        while part[right] > pivot {
            right -= 1;
        }
        if left >= right {
            return right + 1;
        }
        part.swap(left, right);
        left += 1;
        right -= 1;
    }
}

fn insert(part: &mut [u64]) {
    for end in 1..part.len() {
        let value = part[end];
        let mut at = end;
        while at > 0 && part[at - 1] > value {
            part[at] = part[at - 1];
            at -= 1;
        }
        part[at] = value;
    }
}

/// Never inlined, so that a contender's surroundings do not change the machine code of most of the
/// work.
#[inline(never)]
fn sort_here(mut part: &mut [u64]) {
    while part.len() > SMALL {
        let middle = partition(part);
        let (left, right) = part.split_at_mut(middle);
        sort_here(left);
        part = right;
    }
    insert(part);
}

/// Returns the tasks, this one included.
fn sort<J: ForkJoin>(frame: &mut J::Frame<'_>, part: &mut [u64], leaf: usize) -> u64 {
    if part.len() <= leaf {
        sort_here(part);
        return 1;
    }
    let middle = partition(part);
    let (left, right) = part.split_at_mut(middle);
    let (left, right) = J::join::<Uncounted, _, _>(
        frame,
        |frame| sort::<J>(frame, left, leaf),
        |frame| sort::<J>(frame, right, leaf),
    );
    1 + left + right
}

struct Stages<J> {
    pool: J,
    unsorted: Vec<u64>,
    sorted: Vec<u64>,
    leaf: usize,
    tasks: u64,
}

impl<J: ForkJoin> Staged for Stages<J> {
    fn prepare(&mut self) {
        self.sorted.copy_from_slice(&self.unsorted);
    }

    fn run(&mut self) {
        let (part, leaf) = (&mut self.sorted[..], self.leaf);
        self.tasks = self.pool.install(|frame| sort::<J>(frame, part, leaf));
    }

    fn finish(&mut self) -> Iteration {
        let weighed =
            (1..).zip(&self.sorted).map(|(rank, &value): (u64, _)| rank.wrapping_mul(value));
        Iteration {
            answer: weighed.fold(0, u64::wrapping_add),
            ops: self.sorted.len() as u64,
            work: Some(self.tasks),
        }
    }
}

pub(crate) fn prepare<J: ForkJoin>(request: &mut Request) -> Result<Work, Refusal> {
    let (n, leaf): (usize, usize) = (request.param("n")?, request.param("leaf")?);
    if leaf < SMALL || n > 1 << 30 {
        return Err(Refusal::Misuse(format!(
            "--set n={n} and leaf={leaf}: at most 2^30 numbers, and leaves of at least {SMALL}"
        )));
    }
    let unsorted = fill(n, request.salt);
    let sorted = unsorted.clone();
    Ok(Work::staged(Stages { pool: J::start(request.threads), unsorted, sorted, leaf, tasks: 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork_join::PlainCalls;

    #[test]
    fn numbers_are_sorted_in_the_tasks_of_another_program() {
        for (salt, answer) in [(0, 1_865_743_816_346_737_532), (12_345, 1_865_743_819_435_823_532)]
        {
            let unsorted = fill(1000, salt);
            let mut stages =
                Stages { pool: PlainCalls, sorted: unsorted.clone(), unsorted, leaf: 50, tasks: 0 };
            // Twice: the numbers must be mixed up again between two iterations.
            for _ in 0..2 {
                stages.prepare();
                stages.run();
                assert!(stages.sorted.is_sorted());
                let done = Iteration { answer, ops: 1000, work: Some(65) };
                assert_eq!(stages.finish(), done);
            }
        }
    }

    #[test]
    fn equal_numbers_and_short_parts_are_sorted() {
        for len in 0..200_u64 {
            let mut numbers: Vec<u64> = (0..len).map(|i| i * 7 % 5).collect();
            let mut expected = numbers.clone();
            expected.sort_unstable();
            sort::<PlainCalls>(&mut (), &mut numbers, SMALL);
            assert_eq!(numbers, expected);
        }
    }
}
