//! Between which two of several releases a row changed. Pure.
//!
//! Every release in the middle is raced beside the first and the last one of all, in one run, so
//! that what it is compared with stays the same, and the machine of that hour does too.

use crate::record::Outcome;
use crate::report::model::{Entry, Race};
use crate::report::pair;
use crate::stats::{RatioInterval, Verdict};

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
    pub fn of(race: &Race, [first, middle, last]: [&str; 3]) -> Option<Self> {
        let compared = |a, b| compare(race, a, b);
        Some(Self {
            whole: compared(last, first)?,
            to_first: compared(middle, first)?,
            to_last: compared(middle, last)?,
        })
    }

    /// Where the one in the middle belongs, if the two ends can be told apart. What lies beyond
    /// one end, as seen from the other, is like neither.
    pub fn side(&self) -> Side {
        let change = self.whole.verdict;
        let apart = [self.to_first.is_apart(), self.to_last.is_apart()];
        let has = [self.to_first.verdict == change, self.to_last.verdict == change.reversed()];
        match (self.whole.is_apart(), apart, has) {
            (false, ..) | (true, [false, false], _) => Side::Unknown,
            (true, [false, true], [_, true]) => Side::First,
            (true, [true, false], [true, _]) => Side::Last,
            (true, ..) => Side::Neither,
        }
    }
}

/// `a` ÷ `b` in one race, by the variants that its report shows; `None` if one of them did not
/// complete it.
pub fn compare(race: &Race, a: &str, b: &str) -> Option<Compared> {
    let entry = |name: &str| {
        let is_ok = |entry: &&Entry| entry.contender == name && entry.outcome == Outcome::Ok;
        race.entries.iter().find(is_ok)
    };
    let (ratio, verdict) = pair::between(race, entry(a)?, entry(b)?)?;
    Some(Compared { ratio, verdict })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_where_it_cannot_be_told_from_one_end_and_can_from_the_other() {
        use Verdict::{Equivalent, Faster, Inconclusive, Slower};
        let compared = |verdict| {
            let ratio = RatioInterval { point: 1.2, lo: 1.1, hi: 1.3, blocks: 9 };
            Compared { ratio, verdict }
        };
        let side = |whole, to_first, to_last| {
            let [whole, to_first, to_last] = [whole, to_first, to_last].map(compared);
            Step { whole, to_first, to_last }.side()
        };
        for (slower, faster) in [(Slower, Faster), (Faster, Slower)] {
            assert_eq!(side(slower, Equivalent, faster), Side::First);
            assert_eq!(side(slower, slower, Inconclusive), Side::Last);
            assert_eq!(side(slower, slower, faster), Side::Neither);
            assert_eq!(side(slower, Inconclusive, Equivalent), Side::Unknown);
            // Beyond the last one, although it cannot be told from the first.
            assert_eq!(side(slower, Inconclusive, slower), Side::Neither);
            assert_eq!(side(slower, faster, Inconclusive), Side::Neither);
            // Without a difference there is nothing to be found.
            for (to_first, to_last) in
                [(Inconclusive, slower), (slower, Equivalent), (slower, faster)]
            {
                assert_eq!(side(Inconclusive, to_first, to_last), Side::Unknown);
            }
        }
    }
}
