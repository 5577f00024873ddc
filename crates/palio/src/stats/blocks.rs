//! The locations of one contender's invocations, one per block of a race.

use std::collections::BTreeMap;

use super::statistic::Statistic;
use super::summary::{InvalidSamples, is_time, location_ns};

/// One contender's times in one race: a location per block, or nothing where its invocation failed.
///
/// Two contenders are compared only in blocks where both were measured, because only there did they
/// meet the same machine.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockTimes {
    // By the number of the block, ascending; only those with a location, so that a high number
    // takes no memory. Logarithms, because every comparison is of ratios; taken once here instead
    // of once per pair.
    ln_ns: Vec<(usize, f64)>,
}

impl BlockTimes {
    /// Takes one location in nanoseconds per block (see [`location_ns`]), in block order, with
    /// `None` for a block in which this contender has no `ok` invocation.
    ///
    /// # Errors
    ///
    /// [`InvalidSamples::NotATime`] with the number of the block if a location is not a positive
    /// finite time.
    pub fn new(
        locations_ns: impl IntoIterator<Item = Option<f64>>,
    ) -> Result<Self, InvalidSamples> {
        let numbered = locations_ns.into_iter().enumerate();
        Self::numbered(numbered.filter_map(|(block, location)| Some((block, location?))))
    }

    fn numbered(
        locations_ns: impl IntoIterator<Item = (usize, f64)>,
    ) -> Result<Self, InvalidSamples> {
        let each = locations_ns.into_iter().map(|(index, value_ns)| {
            if is_time(value_ns) {
                Ok((index, value_ns.ln()))
            } else {
                Err(InvalidSamples::NotATime { index, value_ns })
            }
        });
        Ok(Self { ln_ns: each.collect::<Result<_, _>>()? })
    }

    /// Takes the values of samples with the numbers of their blocks, and reduces those of each
    /// block as [`by`](Self::by) does.
    ///
    /// # Errors
    ///
    /// [`InvalidSamples`] if one of them is impossible.
    pub fn of_samples(
        statistic: Option<Statistic>,
        samples: impl IntoIterator<Item = (u32, f64)>,
    ) -> Result<Self, InvalidSamples> {
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (block, value_ns) in samples {
            blocks.entry(block).or_default().push(value_ns);
        }
        let locations = blocks.into_iter().map(|(block, samples)| {
            let location = statistic
                .map_or_else(|| location_ns(&samples), |statistic| statistic.location_ns(&samples));
            Ok((block as usize, location?))
        });
        Self::numbered(locations.collect::<Result<Vec<_>, _>>()?)
    }

    /// Reduces the samples of each invocation (nanoseconds per iteration) to their median.
    ///
    /// # Errors
    ///
    /// [`InvalidSamples`] if an invocation that is present has no samples or an impossible one.
    pub fn from_samples<'a>(
        invocations: impl IntoIterator<Item = Option<&'a [f64]>>,
    ) -> Result<Self, InvalidSamples> {
        Self::located(invocations, location_ns)
    }

    /// Reduces the values of each invocation's samples to the location of `statistic`; without one,
    /// samples are times and this is [`from_samples`](Self::from_samples).
    ///
    /// # Errors
    ///
    /// [`InvalidSamples`] if an invocation that is present has no samples or an impossible one.
    pub fn by<'a>(
        statistic: Option<Statistic>,
        invocations: impl IntoIterator<Item = Option<&'a [f64]>>,
    ) -> Result<Self, InvalidSamples> {
        match statistic {
            None => Self::from_samples(invocations),
            Some(statistic) => Self::located(invocations, |samples| statistic.location_ns(samples)),
        }
    }

    fn located<'a>(
        invocations: impl IntoIterator<Item = Option<&'a [f64]>>,
        location_ns: impl Fn(&[f64]) -> Result<f64, InvalidSamples>,
    ) -> Result<Self, InvalidSamples> {
        let locations = invocations
            .into_iter()
            .map(|samples| samples.map(&location_ns).transpose())
            .collect::<Result<Vec<_>, _>>()?;
        Self::new(locations)
    }

    /// The median of the locations, in ns; `None` if this contender was never measured.
    #[must_use]
    pub fn typical_ns(&self) -> Option<f64> {
        let locations: Vec<f64> = self.ln_ns.iter().map(|(_, ln)| ln.exp()).collect();
        super::summary::location_ns(&locations).ok()
    }

    /// Number of blocks in which this contender was measured.
    #[must_use]
    pub fn measured(&self) -> usize {
        self.ln_ns.len()
    }

    /// The same in units of `anchor`, in the blocks where both were measured: what a slower machine
    /// does to both alike is no longer in it.
    #[must_use]
    pub fn relative_to(&self, anchor: &Self) -> Self {
        Self { ln_ns: self.differences(anchor).collect() }
    }

    /// The same with its blocks numbered anew, from 0 on: to be paired with those of another race,
    /// whose blocks were raced at other times, so that one pairing is as good as another. Then
    /// numbers of blocks that were repeated or cut off leave no gaps.
    #[must_use]
    pub fn in_order(&self) -> Self {
        let all = self.ln_ns.iter().enumerate().map(|(number, &(_, ln))| (number, ln));
        Self { ln_ns: all.collect() }
    }

    /// `ln(self / other)` of every block where both were measured, in block order.
    pub(super) fn log_ratios(&self, other: &Self) -> Vec<f64> {
        self.differences(other).map(|(_, difference)| difference).collect()
    }

    /// The location of a block, in ns; `None` where this contender was not measured.
    pub(super) fn location_ns(&self, block: usize) -> Option<f64> {
        let at = self.ln_ns.binary_search_by_key(&block, |&(block, _)| block).ok()?;
        Some(self.ln_ns[at].1.exp())
    }

    /// The blocks in which this contender was measured, ascending.
    pub(super) fn blocks(&self) -> impl Iterator<Item = usize> {
        self.ln_ns.iter().map(|&(block, _)| block)
    }

    fn differences(&self, other: &Self) -> impl Iterator<Item = (usize, f64)> {
        self.ln_ns.iter().filter_map(|&(block, ln)| {
            let at = other.ln_ns.binary_search_by_key(&block, |&(block, _)| block).ok()?;
            Some((block, ln - other.ln_ns[at].1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_with_both_are_paired() {
        let a = BlockTimes::new([Some(2.0), None, Some(8.0), Some(1.0)]).unwrap();
        let b = BlockTimes::new([Some(1.0), Some(1.0), Some(4.0)]).unwrap();
        let ratios = a.log_ratios(&b);
        assert_eq!(ratios.len(), 2);
        assert!(ratios.iter().all(|d| (d - 2.0_f64.ln()).abs() < 1e-15));
        assert_eq!((a.measured(), b.measured()), (3, 3));
    }

    /// Of two runs, each of which has lost another block.
    #[test]
    fn blocks_of_two_races_are_paired_in_their_order() {
        let of = |numbers: [u32; 3]| {
            let samples = numbers.into_iter().zip([1.0, 2.0, 4.0]);
            BlockTimes::of_samples(None, samples).unwrap()
        };
        let (a, b) = (of([0, 1, 3]), of([1, 4, 7]));
        assert_eq!(a.log_ratios(&b).len(), 1);
        assert_eq!(a.in_order().log_ratios(&b.in_order()), [0.0; 3]);
    }

    #[test]
    fn a_block_takes_memory_by_what_it_holds_and_not_by_its_number() {
        let (first, last) = ((7, 2.0), (u32::MAX, 4.0));
        let of = |samples: &[(u32, f64)]| BlockTimes::of_samples(None, samples.to_vec()).unwrap();
        let (a, b) = (of(&[last, first, (7, 2.0)]), of(&[(u32::MAX, 2.0), (3, 1.0)]));
        assert_eq!((a.measured(), a.typical_ns().map(f64::round)), (2, Some(3.0)));
        assert_eq!(a.log_ratios(&b), [2.0_f64.ln()]);
        assert_eq!(
            of(&[(0, 1.0), (2, 3.0)]),
            BlockTimes::new([Some(1.0), None, Some(3.0)]).unwrap()
        );
    }

    #[test]
    fn an_impossible_location_names_its_block() {
        let error = BlockTimes::new([Some(1.0), Some(0.0)]).unwrap_err();
        assert_eq!(error, InvalidSamples::NotATime { index: 1, value_ns: 0.0 });
    }

    #[test]
    fn a_present_invocation_without_samples_is_an_error() {
        let none: &[f64] = &[];
        assert_eq!(BlockTimes::from_samples([Some(none)]), Err(InvalidSamples::Empty));
    }
}
