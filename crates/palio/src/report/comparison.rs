//! Two runs side by side: what changed from one to the other.

use anyhow::{Result, bail};
use serde::Serialize;

use crate::record::Outcome;
use crate::record::RunRecord;
use crate::report::model::{Entry, Interval, Race};
use crate::report::summary;
use crate::stats::{BlockTimes, EquivalenceMargin, NoiseFloor, RatioInterval, Verdict};

/// What changed between two runs.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub a: String,
    pub b: String,
    /// What makes the two runs hard to compare.
    pub warnings: Vec<String>,
    pub changes: Vec<Change>,
}

/// One cell in both runs.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    pub workload: String,
    pub threads: u32,
    pub contender: String,
    /// Time in B ÷ time in A; `None` if it did not complete in both.
    pub ratio: Option<Interval>,
    /// The larger noise floor of the two races.
    pub noise_floor: Option<f64>,
    /// The verdict in a word, or why there is none.
    pub note: String,
}

impl Change {
    /// Whether it became slower beyond noise, and by more than the factor `limit`.
    pub fn regressed(&self, limit: f64) -> bool {
        self.note == "slower" && self.ratio.is_some_and(|ratio| ratio.point > limit)
    }
}

/// Compares every cell that stands in both runs.
///
/// # Errors
/// No race stands in both.
pub fn compare(a: &RunRecord, b: &RunRecord) -> Result<Comparison> {
    let (report_a, report_b) = (summary::report(a), summary::report(b));
    let same = |x: &Race, y: &Race| {
        x.workload == y.workload
            && x.threads == y.threads
            && x.params == y.params
            && x.statistic == y.statistic
    };
    let pairs: Vec<(&Race, &Race)> = report_a
        .races
        .iter()
        .filter_map(|race| Some((race, report_b.races.iter().find(|other| same(race, other))?)))
        .collect();
    if pairs.is_empty() {
        bail!("the runs {} and {} have no race in common", a.header.id, b.header.id);
    }
    let mut warnings = Vec::new();
    if a.header.machine.fingerprint != b.header.machine.fingerprint {
        warnings.push(
            "the runs come from different machines; only ratios within each run mean anything"
                .to_owned(),
        );
    }
    for contender in &b.contenders {
        let before = a.contender(&contender.id);
        if let Some(before) = before.filter(|before| before.toolchain != contender.toolchain) {
            let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
            warnings.push(format!(
                "{} was built with {} in A and with {} in B",
                contender.id,
                text(&before.toolchain),
                text(&contender.toolchain)
            ));
        }
    }
    let changes = pairs
        .iter()
        .flat_map(|(x, y)| {
            y.entries.iter().filter_map(move |entry| {
                let before = x.entries.iter().find(|other| other.contender == entry.contender)?;
                Some(change(x, y, before, entry))
            })
        })
        .collect();
    Ok(Comparison { a: a.header.id.clone(), b: b.header.id.clone(), warnings, changes })
}

fn change(x: &Race, y: &Race, before: &Entry, after: &Entry) -> Change {
    let floors = [x, y].map(|race| race.noise_floor.and_then(|floor| floor.ratio));
    let noise_floor = floors[0].zip(floors[1]).map(|(a, b)| a.max(b));
    let mut change = Change {
        workload: y.workload.clone(),
        threads: y.threads,
        contender: after.contender.clone(),
        ratio: None,
        noise_floor,
        note: String::new(),
    };
    if before.outcome != Outcome::Ok || after.outcome != Outcome::Ok {
        change.note = if before.outcome == after.outcome {
            after.outcome.to_string()
        } else {
            format!("{} → {}", before.outcome, after.outcome)
        };
        return change;
    }
    // Blocks of two runs were not raced together, so a pair shares no drift; the interval is as
    // wide as that makes it.
    let ratio = blocks(y, after)
        .zip(blocks(x, before))
        .and_then(|(after, before)| RatioInterval::between(&after, &before));
    let Some(ratio) = ratio else {
        change.note = "no block in common".to_owned();
        return change;
    };
    let bounded = ratio.is_bounded();
    change.ratio = Some(Interval {
        point: ratio.point,
        lo: bounded.then_some(ratio.lo),
        hi: bounded.then_some(ratio.hi),
    });
    let verdict = Verdict::of(&ratio, &NoiseFloor::unknown(), EquivalenceMargin::default());
    let beyond = |floor: f64| ratio.point > floor || ratio.point < 1.0 / floor;
    let clear = bounded && (ratio.lo > 1.0 || ratio.hi < 1.0);
    change.note = match noise_floor {
        Some(floor) if clear && beyond(floor) => {
            if ratio.point > 1.0 { "slower" } else { "faster" }.to_owned()
        }
        _ if verdict == Verdict::Equivalent => "equivalent".to_owned(),
        _ => "inconclusive".to_owned(),
    };
    change
}

fn blocks(race: &Race, entry: &Entry) -> Option<BlockTimes> {
    let count = entry.sample_block.iter().max()? + 1;
    let by_block: Vec<Vec<f64>> = (0..count)
        .map(|block| {
            let pairs = entry.sample_block.iter().zip(&entry.sample_ns);
            pairs.filter(|(b, _)| **b == block).map(|(_, ns)| *ns).collect()
        })
        .collect();
    let samples = by_block.iter().map(|samples| (!samples.is_empty()).then_some(&samples[..]));
    BlockTimes::by(race.statistic, samples).ok()
}
