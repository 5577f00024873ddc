//! Two contenders of one run, as a comparison: what one has become of the other.

use anyhow::{Result, bail};

use super::comparison::{Change, Comparison};
use super::model::{Entry, Interval, Race, Report};
use super::{needed, pair, summary};
use crate::record::{Outcome, RunRecord};
use crate::stats::{Statistic, Verdict};

/// Compares `b` with `a` in every race of the run that both were to take part in, by the verdicts
/// that reports have: block by block, so that the machine is the same for both.
///
/// # Errors
/// One of them is not in the run, or they share no race.
pub fn within(run: &RunRecord, a: &str, b: &str) -> Result<Comparison> {
    for id in [a, b] {
        if run.contender(id).is_none() {
            let known: Vec<&str> = run.contenders.iter().map(|known| known.id.as_str()).collect();
            bail!(
                "the contender {id} is not in the run {}; it has {}",
                run.header.id,
                known.join(", ")
            );
        }
    }
    let report = summary::report(run);
    let find = |race: &'_ Race, id: &str| race.entries.iter().position(|e| e.contender == id);
    let changes: Vec<Change> = report
        .races
        .iter()
        .filter_map(|race| {
            let (before, after) = find(race, a).zip(find(race, b))?;
            Some(change(race, &race.entries[before], &race.entries[after]))
        })
        .collect();
    if changes.is_empty() {
        bail!("{a} and {b} have no race of the run {} in common", run.header.id);
    }
    let warnings = warnings(&report, [a, b]);
    Ok(Comparison {
        a: a.to_owned(),
        b: b.to_owned(),
        anchor: None,
        within: Some(run.header.id.clone()),
        warnings,
        changes,
        anchor_changed: None,
    })
}

/// What must be known before the comparison is believed.
fn warnings(report: &Report, ids: [&str; 2]) -> Vec<String> {
    let run = &report.run;
    let unfinished = (run.finished_at.is_none())
        .then(|| "the run is not finished: what is missing is not compared".to_owned());
    let thinned = run.thinned.as_ref().map(|thinned| thinned.text());
    let interrupted = run.interruptions.as_ref().map(|text| format!("the run was {text}"));
    let mut warnings: Vec<String> =
        [unfinished, thinned, interrupted].into_iter().flatten().collect();
    warnings.extend(run.warnings.iter().cloned());
    for race in &report.races {
        let found = ids.map(|id| race.entries.iter().find(|entry| entry.contender == id));
        let [Some(before), Some(after)] = found else { continue };
        let variants = before.variant.as_ref().zip(after.variant.as_ref());
        warnings.extend(
            variants.filter(|(was, is)| was != is).map(|(was, is)| {
                format!("{}: A was fastest with {was}, B with {is}", race.label())
            }),
        );
        // A time that should not be believed is no faster one.
        let doubts = [before, after].into_iter().flat_map(Entry::doubts_text);
        warnings.extend(doubts.map(|doubt| format!("{}: {doubt}", race.label())));
    }
    warnings
}

fn change(race: &Race, before: &Entry, after: &Entry) -> Change {
    let is_ok = |entry: &Entry| entry.outcome == Outcome::Ok;
    let floors = [race.noise_floor, before.noise_floor, after.noise_floor].into_iter().flatten();
    let floor = floors.clone().map(|floor| floor.ratio).reduce(|a, b| Some(a?.max(b?))).flatten();
    let compared = pair::between(race, after, before).filter(|_| is_ok(before) && is_ok(after));
    let interval = compared.map(|(ratio, _)| Interval {
        point: ratio.point,
        lo: ratio.is_bounded().then_some(ratio.lo),
        hi: ratio.is_bounded().then_some(ratio.hi),
    });
    let note = match &compared {
        Some((_, Verdict::Faster)) => "faster".to_owned(),
        Some((_, Verdict::Slower)) => "slower".to_owned(),
        Some((_, Verdict::Equivalent)) => "equivalent".to_owned(),
        Some((_, Verdict::Inconclusive)) => "inconclusive".to_owned(),
        None if before.outcome == after.outcome && !is_ok(after) => after.outcome.to_string(),
        None if is_ok(before) && is_ok(after) => "no block in common".to_owned(),
        None => format!("{} → {}", before.outcome, after.outcome),
    };
    let is_open = note == "inconclusive";
    Change {
        workload: race.workload.clone(),
        threads: race.threads,
        contender: after.contender.clone(),
        race: race.label(),
        a_ns: before.value_ns.filter(|_| is_ok(before)),
        b_ns: after.value_ns.filter(|_| is_ok(after)),
        is_time: race.statistic.is_none_or(Statistic::is_time),
        ratio: interval,
        noise_floor: floor,
        blocks_needed: compared
            .zip(interval)
            .filter(|_| is_open)
            .and_then(|((ratio, _), seen)| needed::blocks(seen, ratio.blocks, floors)),
        note,
        fails_now: is_ok(before) && !is_ok(after) && after.outcome != Outcome::Unsupported,
    }
}
