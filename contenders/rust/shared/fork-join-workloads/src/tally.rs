//! What a task returns: its part of the answer, and the work below it.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use palio_protocol::harness::Iteration;

/// Two numbers that a joining task adds up; the answer, which a salt may make large, wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub answer: u64,
    pub work: u64,
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { answer: self.answer.wrapping_add(other.answer), work: self.work + other.work }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), Add::add)
    }
}

/// For workloads whose unit is the unit of their work.
impl From<Tally> for Iteration {
    fn from(tally: Tally) -> Self {
        Self { answer: tally.answer, ops: tally.work, work: Some(tally.work) }
    }
}
