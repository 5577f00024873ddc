//! How many blocks a verdict needs that is not there yet.

use super::units;
use crate::report::model::{Entry, Interval, NoiseFloor, Race, VerdictWord};
use crate::stats::{self, EquivalenceMargin, MIN_BLOCKS, RatioInterval};

/// More blocks than anybody has the time for.
const BLOCKS_MAX: usize = 1000;

fn ratio_of(interval: Interval, blocks: usize) -> RatioInterval {
    let Interval { point, lo, hi } = interval;
    RatioInterval { point, lo: lo.unwrap_or(0.0), hi: hi.unwrap_or(f64::INFINITY), blocks }
}

/// About how many blocks tell `ratio` from 1, beside the wider of these floors; nothing where it is
/// too small to matter, or where no number would do.
pub(super) fn blocks(
    ratio: Interval,
    blocks: usize,
    floors: impl IntoIterator<Item = NoiseFloor>,
) -> Option<usize> {
    let floors = floors.into_iter().map(|floor| {
        let known = if floor.ratio.is_some() { blocks.max(MIN_BLOCKS) } else { blocks };
        stats::NoiseFloor::of(ratio_of(floor.shadow, known))
    });
    let floor = floors.reduce(|a, b| a.with(&b))?;
    let ratio = ratio_of(ratio, blocks);
    let margin = EquivalenceMargin::default().ratio();
    let matters = ratio.point > margin || ratio.point < 1.0 / margin;
    let needed = floor.blocks_needed(&ratio).filter(|_| matters)?;
    (needed <= BLOCKS_MAX).then_some(needed)
}

fn of_entry(race: &Race, entry: &Entry) -> Option<(f64, usize, usize)> {
    let verdict = entry.ratio_to_reference?;
    if verdict.verdict != VerdictWord::Inconclusive {
        return None;
    }
    let interval = Interval { point: verdict.point, lo: verdict.lo, hi: verdict.hi };
    let seen = verdict.blocks as usize;
    let needed = blocks(interval, seen, race.noise_floor.into_iter().chain(entry.noise_floor))?;
    Some((verdict.point, seen, needed))
}

/// What it takes to decide what a race did not, in a sentence without its full stop.
pub(super) fn text(race: &Race) -> Option<String> {
    let open: Vec<(&Entry, (f64, usize, usize))> =
        race.entries.iter().filter_map(|entry| Some((entry, of_entry(race, entry)?))).collect();
    let most = open.iter().map(|(_, (_, seen, _))| *seen).max()?;
    if most < MIN_BLOCKS {
        let have = units::plural(most, "block");
        return Some(format!(
            "inconclusive: {have}, and a verdict takes {MIN_BLOCKS} at least (--blocks {MIN_BLOCKS})"
        ));
    }
    let each: Vec<String> = open
        .iter()
        .map(|(entry, (ratio, _, needed))| {
            format!("{} ({} ×) about {needed}", entry.contender, units::ratio(*ratio))
        })
        .collect();
    Some(format!("blocks that a verdict would take: {}", each.join(", ")))
}
