//! Two contenders of one race, as the report of the race shows them.

use super::model::{Entry, Interval, Race};
use crate::stats::{BlockTimes, EquivalenceMargin, MIN_BLOCKS, NoiseFloor, RatioInterval, Verdict};

/// `a` ÷ `b`, and what that lets us say with the floors of both; `None` without a block in common.
pub(crate) fn between(race: &Race, a: &Entry, b: &Entry) -> Option<(RatioInterval, Verdict)> {
    let ratio = RatioInterval::between(&blocks(race, a)?, &blocks(race, b)?)?;
    let floor = race_floor(race);
    let floor = own_floor(a, &floor).with(&own_floor(b, &floor));
    Some((ratio, Verdict::of(&ratio, &floor, EquivalenceMargin::default())))
}

/// The locations of an entry's invocations.
pub(super) fn blocks(race: &Race, entry: &Entry) -> Option<BlockTimes> {
    let pairs = entry.sample_block.iter().copied().zip(entry.sample_ns.iter().copied());
    let times = BlockTimes::of_samples(race.statistic, pairs).ok()?;
    (times.measured() > 0).then_some(times)
}

/// The floor of the reference; unknown without a shadow, or with too few blocks.
pub(super) fn race_floor(race: &Race) -> NoiseFloor {
    let a_a = race.noise_floor.and_then(|floor| bounded(&floor.shadow));
    a_a.map_or_else(NoiseFloor::unknown, NoiseFloor::of)
}

/// The floor of a contender, or that of the race where it has no shadow.
fn own_floor(entry: &Entry, of_race: &NoiseFloor) -> NoiseFloor {
    let Some(own) = entry.noise_floor else { return *of_race };
    bounded(&own.shadow).map_or_else(NoiseFloor::unknown, NoiseFloor::of)
}

fn bounded(interval: &Interval) -> Option<RatioInterval> {
    let (lo, hi) = interval.lo.zip(interval.hi)?;
    // How many blocks there were is not needed any more.
    Some(RatioInterval { point: interval.point, lo, hi, blocks: MIN_BLOCKS })
}
