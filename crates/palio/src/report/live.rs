//! What is told of a run while it goes on: in which order it works, what a pilot saw, how a race
//! ended. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use super::paper::{Paper, one_line};
use super::units;
use super::view::marked;
use crate::record::{CellRecord, RaceRecord, RunRecord};
use crate::report::model::Entry;
use crate::report::summary;
use crate::runner::schedule::pace_ns;
use crate::workload::settings_text;

/// Workloads of a stage that are named; a suite may have fifty.
const NAMED_MAX: usize = 12;

/// `fib n=27, 2 threads`, or `fib n=27, 2 threads in 2 CPUs` with a CPU budget.
pub fn race_name(race: &RaceRecord) -> String {
    let settings = settings_text(&race.params);
    let gap = if settings.is_empty() { "" } else { " " };
    let threads = units::plural(race.threads as usize, "thread");
    let budget = race.cpu_budget.map_or(String::new(), |budget| format!(" in {}", budget.text()));
    one_line(&format!("{}{gap}{settings}, {threads}{budget}", race.workload))
}

/// `8 s` or `2 min 05 s`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    if seconds < 60 {
        format!("{seconds} s")
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

/// Who is needed first and what is raced then, in so many columns.
pub fn order_of_work(run: &RunRecord, order: &[usize], width: usize) -> String {
    let paper = Paper { width, color: false };
    let mut text = String::new();
    let races = units::plural(order.len(), "race");
    let blocks = units::plural(run.header.blocks as usize, "block");
    paper.prose(&mut text, "", &format!("{races} of {blocks}, as soon as contenders are ready:"));
    let mut known = BTreeSet::new();
    let mut stages: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for race in order.iter().map(|&index| &run.races[index]) {
        let mut new: Vec<&str> = race.needs().filter(|name| !known.contains(name)).collect();
        new.dedup();
        known.extend(new.iter().copied());
        if !new.is_empty() || stages.is_empty() {
            stages.push((new, Vec::new()));
        }
        let workloads = stages.last_mut().map(|(_, workloads)| workloads);
        if let Some(workloads) = workloads.filter(|all| !all.contains(&race.workload.as_str())) {
            workloads.push(&race.workload);
        }
    }
    for (stage, (contenders, workloads)) in stages.iter().enumerate() {
        // Names of contenders may repeat: one shadow, several variants.
        let contenders: Vec<&str> =
            contenders.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let more = workloads.len().saturating_sub(NAMED_MAX);
        let mut named = workloads[..workloads.len() - more].join(", ");
        if more > 0 {
            named.push_str(&format!(" and {more} more"));
        }
        let lead = if stage == 0 { "  first " } else { "  then  " };
        let plus = if stage == 0 { "" } else { "+ " };
        let line = format!("{plus}{}: {named}", contenders.join(", "));
        paper.hanging(&mut text, lead, super::paper::Ink::Plain, &line);
    }
    text
}

/// What the pilot of a cell saw, beside the fastest that has come through so far; `None` where
/// times are not what is ranked.
pub fn preliminary(race: &RaceRecord, cell: &CellRecord) -> Option<String> {
    let pace = pace_ns(cell).filter(|_| race.statistic.is_none())?;
    let others = race.cells.iter().filter(|other| other.contender != cell.contender);
    let paces = others.filter_map(|other| Some((pace_ns(other)?, other)));
    let fastest = paces.min_by(|(a, _), (b, _)| a.total_cmp(b));
    let beside = fastest.map_or_else(String::new, |(best, other)| {
        format!(", {} × {}", units::ratio(pace / best), other.label())
    });
    let time = units::time(pace);
    Some(one_line(&format!("{}: {time}{beside} ({}; preliminary)", cell.label(), race_name(race))))
}

/// How a race ended: who is first, who comes next, how noisy it was.
pub fn result(run: &RunRecord, index: usize) -> String {
    let record = &run.races[index];
    let alone = RunRecord {
        header: run.header.clone(),
        contenders: run.contenders.clone(),
        races: vec![record.clone()],
    };
    let report = summary::report(&alone);
    let race = &report.races[0];
    let ranked: Vec<&Entry> = race.entries.iter().filter(|entry| entry.rank.is_some()).collect();
    let mut parts = vec![race_name(record)];
    let value =
        |entry: &Entry| entry.value_ns.map_or(units::NONE.into(), |ns| race.number_text(ns));
    let firsts: Vec<&&Entry> = ranked.iter().filter(|entry| entry.is_first()).collect();
    match firsts[..] {
        [] => parts.push("nobody is ranked".to_owned()),
        [first] => parts.push(format!("{} first, {}", marked(first), value(first))),
        [first, ..] => {
            let names: Vec<String> = firsts.iter().map(|entry| marked(entry)).collect();
            let time = value(first);
            parts.push(match names.len() {
                2 | 3 => format!("{} share the first rank, {time}", names.join(", ")),
                count => format!("{count} share the first rank, {} the fastest, {time}", names[0]),
            });
        }
    }
    let next = ranked.iter().find(|entry| !entry.is_first());
    if let Some((next, ratio)) = next.and_then(|entry| Some((entry, entry.ratio_to_best?))) {
        parts.push(format!("{} × {}", marked(next), units::ratio(ratio.point)));
    }
    let failed = race.entries.iter().filter(|entry| entry.outcome.is_fault()).count();
    if failed > 0 {
        parts.push(format!("{failed} failed"));
    }
    let floor = match race.noise_floor.and_then(|floor| floor.ratio) {
        Some(ratio) => units::factor(ratio),
        None => "unknown".to_owned(),
    };
    parts.push(format!("floor {floor}"));
    parts.join(" · ")
}
