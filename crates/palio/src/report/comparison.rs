//! Two runs side by side: what changed from one to the other.

use anyhow::{Result, bail};
use serde::Serialize;

use crate::record::Outcome;
use crate::record::RunRecord;
use crate::report::model::{Entry, Interval, Race};
use crate::report::summary;
use crate::stats::{BlockTimes, EquivalenceMargin, RatioInterval};

/// What changed between two runs.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub a: String,
    pub b: String,
    /// The contender by which times are divided, if any.
    pub anchor: Option<String>,
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
    /// Time in B ÷ time in A, each divided by the anchor's time in its run if there is an anchor;
    /// `None` if it did not complete in both.
    pub ratio: Option<Interval>,
    /// The largest noise floor of the two races, and of the contender in them where it has one.
    pub noise_floor: Option<f64>,
    /// The verdict in a word, or why there is none.
    pub note: String,
}

/// The note where times differ, or do not, and nothing tells whether the machine did it.
pub const UNKNOWN: &str = "cannot tell machine from contender";

impl Comparison {
    /// `1 equivalent; 2 slower, 3 faster, 4 inconclusive`, the last of which are all others.
    pub fn tally(&self) -> String {
        let count = |note: &str| self.changes.iter().filter(|change| change.note == note).count();
        let [equivalent, slower, faster] = ["equivalent", "slower", "faster"].map(count);
        let unfinished = self.changes.iter().filter(|change| change.ratio.is_none()).count();
        let inconclusive = self.changes.len() - equivalent - slower - faster - unfinished;
        format!(
            "{equivalent} equivalent, {unfinished} not completed in both; \
             {slower} slower, {faster} faster, {inconclusive} inconclusive"
        )
    }
}

impl Change {
    /// Whether it became slower beyond noise, and by more than the factor `limit`.
    pub fn regressed(&self, limit: f64) -> bool {
        self.note == "slower" && self.ratio.is_some_and(|ratio| ratio.point > limit)
    }
}

/// Compares every cell that stands in both runs.
///
/// Each time is divided by that of `anchor` in the same block of its own run: a contender that has
/// not changed from A to B, so that what remains is no change of the machine. Without an anchor
/// the ratio of times is shown, and nothing is concluded.
///
/// # Errors
/// No race stands in both, or the anchor did not race in both.
pub fn compare(a: &RunRecord, b: &RunRecord, anchor: Option<&str>) -> Result<Comparison> {
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
    if let Some(anchor) = anchor {
        for run in [a, b] {
            if run.contender(anchor).is_none() {
                bail!("the anchor {anchor} did not race in the run {}", run.header.id);
            }
        }
        let version =
            |run: &RunRecord| run.contender(anchor).and_then(|contender| contender.version.clone());
        if version(a) != version(b) {
            let text = |run| version(run).unwrap_or_else(|| "unknown".to_owned());
            warnings.push(format!(
                "the anchor {anchor} is not the same in both runs: {} in A, {} in B",
                text(a),
                text(b)
            ));
        }
    }
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
                (Some(entry.contender.as_str()) != anchor)
                    .then(|| change([x, y], [before, entry], anchor))
            })
        })
        .collect();
    Ok(Comparison {
        a: a.header.id.clone(),
        b: b.header.id.clone(),
        anchor: anchor.map(str::to_owned),
        warnings,
        changes,
    })
}

fn change(races: [&Race; 2], entries: [&Entry; 2], anchor: Option<&str>) -> Change {
    let ([x, y], [before, after]) = (races, entries);
    let floors = [x.noise_floor, y.noise_floor].into_iter();
    let floors =
        floors.chain([before, after].map(|e| e.noise_floor).into_iter().filter(Option::is_some));
    let noise_floor = floors
        .map(|floor| floor.and_then(|floor| floor.ratio))
        .reduce(|a, b| Some(a?.max(b?)))
        .flatten();
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
    let anchored = |race: &Race, entry: &Entry| {
        let times = blocks(race, entry)?;
        let Some(anchor) = anchor else { return Some(times) };
        let anchor = race.entries.iter().find(|other| other.contender == anchor)?;
        let anchor = blocks(race, anchor).filter(|_| anchor.outcome == Outcome::Ok)?;
        Some(times.relative_to(&anchor))
    };
    let ratio = anchored(y, after)
        .zip(anchored(x, before))
        .and_then(|(after, before)| RatioInterval::between(&after, &before));
    let Some(ratio) = ratio else {
        change.note = match anchor {
            Some(anchor) => format!("no block in common with {anchor} in both runs"),
            None => "no block in common".to_owned(),
        };
        return change;
    };
    let bounded = ratio.is_bounded();
    change.ratio = Some(Interval {
        point: ratio.point,
        lo: bounded.then_some(ratio.lo),
        hi: bounded.then_some(ratio.hi),
    });
    let margin = EquivalenceMargin::default().ratio();
    let beyond = |floor: f64| ratio.point > floor || ratio.point < 1.0 / floor;
    let clear = bounded && (ratio.lo > 1.0 || ratio.hi < 1.0);
    if anchor.is_none() && bounded {
        change.note = UNKNOWN.to_owned();
        return change;
    }
    change.note = match noise_floor {
        Some(floor) if clear && beyond(floor) => {
            if ratio.point > 1.0 { "slower" } else { "faster" }.to_owned()
        }
        Some(floor) if floor <= margin && ratio.lo >= 1.0 / margin && ratio.hi <= margin => {
            "equivalent".to_owned()
        }
        _ => "inconclusive".to_owned(),
    };
    change
}

/// The locations of an entry's invocations.
pub(super) fn blocks(race: &Race, entry: &Entry) -> Option<BlockTimes> {
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
