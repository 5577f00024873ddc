//! Published beside measured: the numbers of a reference document, and those of a run, as ratios
//! between the same two systems.
//!
//! Times of two machines say nothing of each other; who is ahead of whom may hold on both.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model::{Entry, Interval, Race, Report, VerdictWord};
use super::pair;
use crate::published::{Document, Per, Row, Table, Value};
use crate::record::Outcome;
use crate::stats::{EquivalenceMargin, Verdict};
use crate::workload::{Fidelity, Settings, settings_text};

/// A document beside a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replication {
    pub document: String,
    /// The document's machine.
    pub machine: String,
    pub tables: Vec<ReplicatedTable>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplicatedTable {
    pub title: String,
    pub rows: Vec<ReplicatedRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplicatedRow {
    /// As the document calls it.
    pub name: String,
    pub workload: String,
    /// `None` where the row was not raced, or by an older Palio.
    pub fidelity: Option<Fidelity>,
    /// What differs from the document, each a sentence without its full stop.
    pub differences: Vec<String>,
    /// What must be known of its measured numbers before they are believed.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// The system that the others are compared with, as the document calls it.
    pub reference: Option<String>,
    pub pairs: Vec<ReplicatedPair>,
}

/// One system ÷ the row's reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplicatedPair {
    pub system: String,
    pub contender: String,
    pub reference_contender: String,
    /// Which variants of these were measured, where the workload has several.
    #[serde(default)]
    pub variant: Option<String>,
    #[serde(default)]
    pub reference_variant: Option<String>,
    /// The document's times.
    pub published_ns: f64,
    pub published_reference_ns: f64,
    pub published_ratio: f64,
    /// Of what the document's times are; `None` where it was not measured.
    pub measured_ns: Option<f64>,
    pub measured_reference_ns: Option<f64>,
    pub measured_ratio: Option<Interval>,
    pub verdict: Option<VerdictWord>,
    pub direction: Direction,
    /// Why it was not measured.
    pub reason: Option<String>,
}

/// Whether who is ahead in the document is ahead in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    Agrees,
    Disagrees,
    /// The run's interval and noise floor do not say who is ahead.
    Undecided,
    NotMeasured,
}

impl Direction {
    pub(super) const ALL: [Self; 4] =
        [Self::Agrees, Self::Disagrees, Self::Undecided, Self::NotMeasured];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Disagrees => "disagrees",
            Self::Undecided => "undecided",
            Self::NotMeasured => "not measured",
        }
    }

    /// A document has no noise floor: its direction is that of its numbers. What the run shows to
    /// be the same within the margin of equivalence agrees with numbers that are.
    fn of(published: f64, measured: Verdict) -> Self {
        let margin = EquivalenceMargin::default().ratio();
        let agrees = match measured {
            Verdict::Inconclusive => return Self::Undecided,
            Verdict::Faster => published < 1.0,
            Verdict::Slower => published > 1.0,
            Verdict::Equivalent => (1.0 / margin..=margin).contains(&published),
        };
        if agrees { Self::Agrees } else { Self::Disagrees }
    }
}

impl Replication {
    /// How many pairs there are of each direction.
    pub fn counts(&self) -> BTreeMap<Direction, usize> {
        let mut counts = BTreeMap::new();
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        for pair in rows.flat_map(|row| &row.pairs) {
            *counts.entry(pair.direction).or_default() += 1;
        }
        counts
    }
}

/// Every pair of the document beside the same pair of the run.
pub fn of(report: &Report, document: &Document) -> Replication {
    let table = |table: &Table| ReplicatedTable {
        title: table.title.clone(),
        rows: table
            .rows
            .iter()
            .zip(races_of(report, table))
            .map(|(row, race)| replicated(report, document, table, row, race))
            .collect(),
    };
    Replication {
        document: document.name.clone(),
        machine: document.machine.clone(),
        tables: document.tables.iter().map(table).collect(),
    }
}

/// The race of each row of a table. Where one race is the nearest that the run has for several
/// rows, it stands beside the row whose threads are nearest: it is one measurement, and its
/// direction counts once.
fn races_of<'a>(report: &'a Report, table: &Table) -> Vec<Result<&'a Race, String>> {
    let rows = &table.rows;
    let found: Vec<Result<&Race, String>> = rows.iter().map(|row| race_of(report, row)).collect();
    let distance = |row: &Row, race: &Race| row.threads.map(|there| there.abs_diff(race.threads));
    let taken = |row: &Row, race: &Race| {
        let same = rows
            .iter()
            .zip(&found)
            .filter(|(_, other)| other.as_ref().is_ok_and(|&other| std::ptr::eq(other, race)));
        let nearest = same.map(|(row, _)| row).min_by_key(|row| distance(row, race))?;
        // Rows that differ in something else than their threads share a race by intent.
        (distance(nearest, race) < distance(row, race)).then(|| {
            let threads = row.threads.map(|there| there.to_string()).unwrap_or_default();
            format!(
                "the race on {} stands beside {}; --threads={threads} races it",
                race.threads_text(),
                nearest.name
            )
        })
    };
    rows.iter()
        .zip(&found)
        .map(|(row, race)| match race {
            Ok(race) => taken(row, race).map_or(Ok(*race), Err),
            Err(reason) => Err(reason.clone()),
        })
        .collect()
}

fn replicated(
    report: &Report,
    document: &Document,
    table: &Table,
    row: &Row,
    race: Result<&Race, String>,
) -> ReplicatedRow {
    let systems = document.systems_of(table, row);
    // Without a number there is no system to look for.
    let measured = |system: &str| {
        let race = race.as_ref().ok()?;
        race.completed(systems.get(system)?, document.variant_of(row, system))
    };
    let reference = reference(document, table, row, |system| measured(system).is_some());
    let pairs = reference.map(|reference| {
        let others = row.values.iter().filter(|(system, _)| *system != reference);
        let others = others.filter(|(system, _)| systems[*system] != systems[reference]);
        let each = others.map(|(system, value)| {
            let to = &row.values[reference];
            let side = |system: &str| Side {
                contender: systems[system].clone(),
                variant: document.variant_of(row, system),
            };
            let race = match same_measurement(table, row, systems, system) {
                Some(other) => {
                    Err(format!("it is the same measurement as {other}, which counts once"))
                }
                None => race.clone(),
            };
            compared(
                report,
                document,
                race,
                table.per,
                system,
                [side(system), side(reference)],
                [value, to],
            )
        });
        each.collect()
    });
    let mut differences: Vec<String> = row.unlike.iter().cloned().collect();
    if let Ok(race) = &race {
        differences.extend(other_sizes(race, row));
        differences.extend(race.origin.iter().flat_map(|origin| origin.deviations.clone()));
    }
    let pairs: Vec<ReplicatedPair> = pairs.unwrap_or_default();
    let compared = |system: &String| {
        Some(system.as_str()) == reference || pairs.iter().any(|pair| pair.system == *system)
    };
    let mut doubts: Vec<String> = Vec::new();
    for system in row.values.keys().filter(|system| compared(system)) {
        for doubt in measured(system).into_iter().flat_map(Entry::doubts_text) {
            if !doubts.contains(&doubt) {
                doubts.push(doubt);
            }
        }
    }
    ReplicatedRow {
        doubts,
        name: row.name.clone(),
        workload: row.workload.clone(),
        fidelity: race.ok().and_then(|race| race.origin.as_ref()).map(|origin| origin.fidelity),
        differences,
        reference: reference.map(str::to_owned),
        pairs,
    }
}

/// Another system of the row that is the same contender on the same threads, where the document's
/// two differ in the threads of a machine that had but one processor.
fn same_measurement<'a>(
    table: &Table,
    row: &'a Row,
    systems: &BTreeMap<String, String>,
    system: &str,
) -> Option<&'a str> {
    let of_all = |system: &str| table.all_threads.iter().any(|known| known == system);
    let is_same = |other: &&String| {
        other.as_str() != system && systems[*other] == systems[system] && !of_all(other)
    };
    if !of_all(system) {
        return None;
    }
    row.values.keys().find(is_same).map(String::as_str)
}

/// The race of a row: on the document's number of threads, or on the most that there are.
pub(super) fn race_of<'a>(report: &'a Report, row: &Row) -> Result<&'a Race, String> {
    let mut races: Vec<&Race> =
        report.races.iter().filter(|race| race.workload == row.workload).collect();
    if races.is_empty() {
        return Err("the run has no race of it".to_owned());
    }
    races.retain(|race| race.cpu_budget.is_some() == row.cpu_budget);
    let exact = races.iter().find(|race| Some(race.threads) == row.threads);
    exact.or_else(|| races.iter().max_by_key(|race| race.threads)).copied().ok_or_else(|| {
        if row.cpu_budget {
            "the run has no CPU budget; --cpu-budget=both races it".to_owned()
        } else {
            "the run has it with a CPU budget alone".to_owned()
        }
    })
}

/// How the race is not of the size that the document printed.
pub(super) fn other_sizes(race: &Race, row: &Row) -> Vec<String> {
    let mut differences = Vec::new();
    if let Some(threads) = row.threads.filter(|&threads| threads != race.threads) {
        differences.push(format!("on {}, where the document has {threads}", race.threads_text()));
    }
    let here = row.set.keys().filter_map(|key| Some((key.clone(), race.params.get(key)?.clone())));
    let here: BTreeMap<String, String> = here.collect();
    if here != row.set {
        let [here, there] = [&here, &row.set].map(settings_text);
        differences.push(format!("with {here}, where the document has {there}"));
    }
    differences
}

/// The document's own reference or the best of its row; where that one was not measured, the best
/// of the row that was.
fn reference<'a>(
    document: &'a Document,
    table: &'a Table,
    row: &'a Row,
    is_measured: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let best_of = |all: bool| {
        let each = row.values.iter().filter(|(system, _)| all || is_measured(system));
        let best = each.min_by(|(_, a), (_, b)| a.time.ns.total_cmp(&b.time.ns));
        best.map(|(system, _)| system.as_str())
    };
    let own = document.reference_of(table).filter(|own| row.values.contains_key(*own));
    let own = own.or_else(|| best_of(true))?;
    if is_measured(own) { Some(own) } else { best_of(false).or(Some(own)) }
}

/// Who stands for a system of a document.
struct Side<'a> {
    contender: String,
    variant: Option<&'a Settings>,
}

fn compared(
    report: &Report,
    document: &Document,
    race: Result<&Race, String>,
    per: Per,
    system: &str,
    sides: [Side<'_>; 2],
    [value, to]: [&Value; 2],
) -> ReplicatedPair {
    let mut pair = ReplicatedPair {
        system: system.to_owned(),
        contender: sides[0].contender.clone(),
        reference_contender: sides[1].contender.clone(),
        variant: None,
        reference_variant: None,
        published_ns: value.time.ns,
        published_reference_ns: to.time.ns,
        published_ratio: value.time.ns / to.time.ns,
        measured_ns: None,
        measured_reference_ns: None,
        measured_ratio: None,
        verdict: None,
        direction: Direction::NotMeasured,
        reason: None,
    };
    let race = match race {
        Ok(race) => race,
        Err(reason) => {
            pair.reason = Some(reason);
            return pair;
        }
    };
    let [a, b] = sides.each_ref().map(|side| race.completed(&side.contender, side.variant));
    pair.variant = a.and_then(|entry| entry.variant.clone());
    pair.reference_variant = b.and_then(|entry| entry.variant.clone());
    let time = |entry: &Entry| match per {
        Per::Iteration => entry.value_ns,
        Per::Unit => entry.value_ns.map(|ns| ns / race.ops as f64),
    };
    pair.measured_ns = a.and_then(time);
    pair.measured_reference_ns = b.and_then(time);
    let (Some(a), Some(b)) = (a, b) else {
        let side = if a.is_none() { &sides[0] } else { &sides[1] };
        pair.reason = Some(absence(report, document, race, &side.contender, side.variant));
        return pair;
    };
    let Some((ratio, verdict)) = pair::between(race, a, b) else {
        pair.reason = Some("the two have no block in common".to_owned());
        return pair;
    };
    let bound = |limit: f64| (limit.is_finite() && limit > 0.0).then_some(limit);
    pair.measured_ratio =
        Some(Interval { point: ratio.point, lo: bound(ratio.lo), hi: bound(ratio.hi) });
    pair.verdict = Some(match verdict {
        Verdict::Faster => VerdictWord::Faster,
        Verdict::Slower => VerdictWord::Slower,
        Verdict::Equivalent => VerdictWord::Equivalent,
        Verdict::Inconclusive => VerdictWord::Inconclusive,
    });
    pair.direction = Direction::of(pair.published_ratio, verdict);
    pair
}

/// Why a contender has no number in a race.
pub(super) fn absence(
    report: &Report,
    document: &Document,
    race: &Race,
    id: &str,
    variant: Option<&Settings>,
) -> String {
    let ended = |entry: &Entry, with: &str| {
        let detail = entry.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        format!("{id} {}{with}{detail}", entry.outcome.words())
    };
    if race.completed(id, None).is_some() {
        let with = variant.map(settings_text).unwrap_or_default();
        let mut all = race.entries.iter().chain(&race.others);
        let its_own = all.find(|entry| {
            entry.contender == id && variant.is_some_and(|variant| entry.agrees_with(variant))
        });
        return match its_own {
            Some(entry) => ended(entry, &format!(" with {with}")),
            None => format!("{id} has no result with {with}"),
        };
    }
    if let Some(entry) = race.entries.iter().find(|entry| entry.contender == id) {
        return ended(entry, "");
    }
    if let Some(missing) = document.missing.iter().find(|missing| missing.contender == id) {
        return format!("{id}: {}", missing.reason);
    }
    let known = report.contenders.iter().find(|known| known.id == id);
    match known.and_then(|known| known.absent.as_ref()) {
        Some(absent) => format!("{id}: {absent}"),
        None => format!("{id} was not chosen to race"),
    }
}

impl Race {
    /// The result of a contender: in the variant that a document has, or where it has none of the
    /// race's, in the fastest that agrees with it.
    pub(super) fn completed(&self, contender: &str, variant: Option<&Settings>) -> Option<&Entry> {
        let all = self.entries.iter().chain(&self.others);
        let mut done = all
            .filter(|entry| entry.outcome == Outcome::Ok && entry.contender == contender)
            .filter(|entry| variant.is_none_or(|variant| entry.agrees_with(variant)));
        let first = done.next()?;
        // What is shown is the fastest, and comes first.
        let value = |entry: &Entry| entry.value_ns.unwrap_or(f64::INFINITY);
        if self.entries.iter().any(|shown| std::ptr::eq(shown, first)) {
            return Some(first);
        }
        Some(done.fold(first, |best, entry| if value(entry) < value(best) { entry } else { best }))
    }
}

impl Entry {
    /// Whether this is so in nothing that its own variant says: where the workload has no variants
    /// of a key, everybody is as the document has it.
    fn agrees_with(&self, variant: &Settings) -> bool {
        let own = self.variant.as_deref().unwrap_or_default();
        let mut own = own.split(',').filter_map(|setting| setting.split_once('='));
        own.all(|(key, value)| variant.get(key).is_none_or(|wanted| wanted == value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_is_what_the_run_can_tell() {
        use Verdict::{Equivalent, Faster, Inconclusive, Slower};
        for (published, measured, direction) in [
            (0.5, Faster, Direction::Agrees),
            (2.0, Slower, Direction::Agrees),
            (0.5, Slower, Direction::Disagrees),
            (2.0, Faster, Direction::Disagrees),
            (0.5, Inconclusive, Direction::Undecided),
            (1.0, Inconclusive, Direction::Undecided),
            (1.04, Equivalent, Direction::Agrees),
            (0.96, Equivalent, Direction::Agrees),
            (2.0, Equivalent, Direction::Disagrees),
            // What the document shows is small, and still on the other side.
            (1.03, Faster, Direction::Disagrees),
            (0.97, Slower, Direction::Disagrees),
        ] {
            assert_eq!(Direction::of(published, measured), direction, "{published} {measured:?}");
        }
    }
}
