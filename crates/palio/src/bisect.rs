//! Between which two of several releases a row changed. Pure.
//!
//! Every release in the middle is raced beside the first and the last one of all, in one run, so
//! that what it is compared with stays the same, and the machine of that hour does too.

use crate::record::{CellRecord, Outcome, RaceRecord};
use crate::stats::{BlockTimes, EquivalenceMargin, NoiseFloor, RatioInterval, Verdict};

/// One contender ÷ another, and what that lets us say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    pub ratio: RatioInterval,
    pub verdict: Verdict,
}

impl Compared {
    fn is_apart(&self) -> bool {
        matches!(self.verdict, Verdict::Faster | Verdict::Slower)
    }
}

/// Where a release in the middle belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It is like the first one, and not like the last.
    First,
    /// It is like the last one, and not like the first.
    Last,
    /// It is like neither.
    Neither,
    /// It cannot be told from either.
    Unknown,
}

/// A release in the middle beside the first and the last one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The last ÷ the first: what is looked for.
    pub whole: Compared,
    pub to_first: Compared,
    pub to_last: Compared,
}

impl Step {
    /// Of a race of these three, by their names; `None` if one of them did not complete it.
    pub fn of(race: &RaceRecord, [first, middle, last]: [&str; 3]) -> Option<Self> {
        let compared = |a, b| compare(race, a, b);
        Some(Self {
            whole: compared(last, first)?,
            to_first: compared(middle, first)?,
            to_last: compared(middle, last)?,
        })
    }

    /// Where the one in the middle belongs, if the two ends can be told apart.
    pub fn side(&self) -> Side {
        match (self.whole.is_apart(), self.to_first.is_apart(), self.to_last.is_apart()) {
            (false, ..) | (true, false, false) => Side::Unknown,
            (true, false, true) => Side::First,
            (true, true, false) => Side::Last,
            (true, true, true) => Side::Neither,
        }
    }
}

/// `a` ÷ `b` in one race; `None` if one of them did not complete it.
pub fn compare(race: &RaceRecord, a: &str, b: &str) -> Option<Compared> {
    let invocations = race.cells.iter().flat_map(|cell| &cell.invocations);
    let blocks = invocations.filter_map(|i| i.block).max()?.saturating_add(1);
    let times = |name: &str| -> Option<BlockTimes> {
        let of = |cell: &&CellRecord| cell.contender == name && !cell.shadow;
        let cell = race.cells.iter().filter(of).find(|cell| cell.outcome == Outcome::Ok)?;
        cell.block_times(race.statistic, blocks)
    };
    let ratio = RatioInterval::between(&times(a)?, &times(b)?)?;
    let floor = race.floor_after(blocks).unwrap_or_else(NoiseFloor::unknown);
    Some(Compared { ratio, verdict: Verdict::of(&ratio, &floor, EquivalenceMargin::default()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_where_it_cannot_be_told_from_one_end_and_can_from_the_other() {
        let compared = |is_apart| {
            let ratio = RatioInterval { point: 1.2, lo: 1.1, hi: 1.3, blocks: 9 };
            let verdict = if is_apart { Verdict::Slower } else { Verdict::Inconclusive };
            Compared { ratio, verdict }
        };
        let side = |whole, to_first, to_last| {
            let [whole, to_first, to_last] = [whole, to_first, to_last].map(compared);
            Step { whole, to_first, to_last }.side()
        };
        assert_eq!(side(true, false, true), Side::First);
        assert_eq!(side(true, true, false), Side::Last);
        assert_eq!(side(true, true, true), Side::Neither);
        assert_eq!(side(true, false, false), Side::Unknown);
        // Without a difference there is nothing to be found.
        for (to_first, to_last) in [(false, false), (true, false), (false, true), (true, true)] {
            assert_eq!(side(false, to_first, to_last), Side::Unknown);
        }
    }
}
