//! A tuning sweep as text, as Markdown and as comma-separated values.

use std::fmt::Write as _;

use super::csv::{Lines, race_fields};
use super::markdown::markup;
use super::model::{Entry, Race, Report};
use super::paper::{Cell, Ink, Paper, Table};
use super::sweep::{Sweep, SweepPoint, SweepRow};
use super::units::{self, NONE};
use crate::record::Outcome;

/// What the mark of the best point says.
const BEST: &str = "best";

/// What a reader must know before choosing by the table.
const MEANING: &str = "A point is best where it is faster than the baseline and than every other point, beyond the noise. \
                       Whoever picks the lowest of many numbers flatters it: race the choice again, by itself, beside \
                       the baseline. What a knob is by default is the contender's own word: the baseline has none of \
                       them turned.";

/// A point in one race: its entry, if it was entered.
fn entry<'a>(race: &'a Race, point: &SweepPoint) -> Option<&'a Entry> {
    race.entries.iter().find(|entry| entry.contender == point.contender)
}

/// Time, ratio, limits and verdict of a point in a race.
fn numbers(race: &Race, row: &SweepRow, point: &SweepPoint) -> [String; 4] {
    let none = || NONE.to_owned();
    let Some(entry) = entry(race, point) else { return [none(), none(), none(), none()] };
    let value = entry.value_ns.filter(|_| entry.outcome == Outcome::Ok);
    let value = value.map_or_else(none, |value| race.number_text(value));
    match entry.ratio_to_reference {
        Some(verdict) if point.is_baseline => {
            [value, units::fine(verdict.point), none(), "baseline".to_owned()]
        }
        Some(verdict) => {
            let is_best = row.best.as_ref() == Some(&point.contender);
            let word = if is_best { BEST } else { verdict.verdict.word() };
            let limits = units::fine_limits(verdict.lo, verdict.hi);
            [value, units::fine(verdict.point), limits, word.to_owned()]
        }
        None => [value, none(), none(), entry.outcome.words()],
    }
}

fn heads<'a>(sweep: &'a Sweep, more: &[&'a str]) -> Vec<&'a str> {
    sweep.knobs.iter().map(|knob| knob.name.as_str()).chain(more.iter().copied()).collect()
}

/// The values of all knobs at a point, in the order of the heads.
fn settings(sweep: &Sweep, point: &SweepPoint) -> Vec<String> {
    let value = |name: &String| point.settings.get(name).cloned().unwrap_or_default();
    sweep.knobs.iter().map(|knob| value(&knob.name)).collect()
}

/// Geometric mean and counts over all rows.
fn sums(point: &SweepPoint, best_in: usize) -> [String; 7] {
    let count = |n: u32| n.to_string();
    [
        point.geomean_ratio.map_or_else(|| NONE.to_owned(), units::fine),
        count(point.faster),
        count(point.slower),
        count(point.equivalent),
        count(point.inconclusive),
        count(point.failed),
        best_in.to_string(),
    ]
}

const SUMS: [&str; 7] =
    ["mean ÷ baseline", "faster", "slower", "equivalent", "inconclusive", "failed", BEST];

/// As a section of the report, or by itself.
pub(super) fn terminal(report: &Report, paper: Paper) -> String {
    let mut out = String::new();
    let Some(sweep) = &report.sweep else { return out };
    let title = format!("Sweep of {}: {}", sweep.baseline, axes(sweep));
    paper.hanging(&mut out, "", Ink::Plain, &title);
    for (race, row) in report.races.iter().zip(&sweep.rows) {
        out.push('\n');
        paper.heading(&mut out, &race.label());
        paper.prose(&mut out, "", &format!("noise floor {}", race.noise_text()));
        let mut table =
            Table::new(&heads(sweep, &[race.value_head(), "÷ baseline", "95 %", "verdict"]));
        table.left = vec![table.heads.len() - 1];
        for point in &sweep.points {
            let [value, ratio, limits, word] = numbers(race, row, point);
            let ink = match word.as_str() {
                BEST | "faster" => Ink::Good,
                "slower" => Ink::Bad,
                _ => Ink::Faint,
            };
            let plain = settings(sweep, point).into_iter().chain([value, ratio, limits]);
            let mut cells: Vec<Cell> = plain.map(|text| Cell::plain(&text)).collect();
            cells.push(Cell { text: word, ink });
            table.rows.push(cells);
        }
        write(&mut out, paper, &table);
        paper.prose(&mut out, "", &format!("{}.", row.conclusion));
        race.doubts().iter().for_each(|doubt| paper.prose(&mut out, "doubtful: ", doubt));
    }
    if report.races.len() > 1 {
        let _ = writeln!(out, "\n{}", paper.paint(Ink::Strong, "over all rows"));
        let mut table = Table::new(&heads(sweep, &SUMS));
        for point in &sweep.points {
            let sums = sums(point, sweep.best_in(&point.contender));
            let all = settings(sweep, point).into_iter().chain(sums);
            table.rows.push(all.map(|text| Cell::plain(&text)).collect());
        }
        write(&mut out, paper, &table);
        paper.prose(&mut out, "", &format!("{}.", sweep.mean_text()));
    }
    out.push('\n');
    if let Some(told_apart) = &report.told_apart {
        paper.prose(&mut out, "", &told_apart.text());
    }
    paper.prose(&mut out, "", MEANING);
    out
}

/// `gogc = 50, 100, 200 (default 100)`.
fn axes(sweep: &Sweep) -> String {
    let each = sweep.knobs.iter().map(|knob| {
        format!("{} = {} (default {})", knob.name, knob.values.join(", "), knob.default)
    });
    each.collect::<Vec<_>>().join("; ")
}

/// A table, or below each other what does not fit side by side.
pub(super) fn write(out: &mut String, paper: Paper, table: &Table<'_>) {
    if table.width() <= paper.width {
        table.write(out, paper);
        return;
    }
    for row in &table.rows {
        let named: Vec<String> = table
            .heads
            .iter()
            .zip(row)
            .map(|(head, cell)| format!("{head} {}", cell.text))
            .collect();
        paper.hanging(out, "- ", Ink::Plain, &named.join(" · "));
    }
}

pub(super) fn markdown(report: &Report) -> String {
    let mut out = String::new();
    let Some(sweep) = &report.sweep else { return out };
    let _ = writeln!(out, "## Sweep of {}\n", markup::text(&sweep.baseline));
    let _ = writeln!(out, "{}.\n", markup::text(&axes(sweep)));
    let owned = |heads: Vec<&str>| heads.into_iter().map(markup::text).collect::<Vec<_>>();
    for (race, row) in report.races.iter().zip(&sweep.rows) {
        let _ = writeln!(out, "### {}\n", markup::text(&race.label()));
        let _ = writeln!(out, "Noise floor {}.\n", markup::text(&race.noise_text()));
        let heads = owned(heads(sweep, &[race.value_head(), "÷ baseline", "95 %", "verdict"]));
        let mut table = markup::Table { heads, rows: Vec::new(), left: 0 };
        for point in &sweep.points {
            let [value, ratio, limits, word] = numbers(race, row, point);
            let word = if word == BEST { format!("**{word}**") } else { word };
            let cells = settings(sweep, point).into_iter().chain([value, ratio, limits]);
            let mut cells: Vec<String> = cells.map(|text| markup::text(&text)).collect();
            cells.push(word);
            table.rows.push(cells);
        }
        table.write(&mut out);
        let _ = writeln!(out, "{}.\n", markup::text(&row.conclusion));
        for doubt in race.doubts() {
            let _ = writeln!(out, "**Doubtful:** {}.\n", markup::text(&doubt));
        }
    }
    if report.races.len() > 1 {
        out.push_str("### Over all rows\n\n");
        let heads = owned(heads(sweep, &SUMS));
        let mut table = markup::Table { heads, rows: Vec::new(), left: 0 };
        for point in &sweep.points {
            let sums = sums(point, sweep.best_in(&point.contender));
            let cells = settings(sweep, point).into_iter().chain(sums);
            table.rows.push(cells.map(|text| markup::text(&text)).collect());
        }
        table.write(&mut out);
        let _ = writeln!(out, "{}.\n", markup::text(&sweep.mean_text()));
    }
    let _ = writeln!(out, "{}\n", markup::text(MEANING));
    out
}

/// A line for each point of each race, after a line of names. Knobs have a column each, with their
/// name.
pub(super) fn csv(report: &Report) -> String {
    let Some(sweep) = &report.sweep else { return String::new() };
    let mut names = vec!["run", "workload", "params", "threads", "contender", "is_baseline"];
    let knobs: Vec<String> = sweep.knobs.iter().map(|knob| format!("knob_{}", knob.name)).collect();
    names.extend(knobs.iter().map(String::as_str));
    names.extend(["outcome", "value_ns", "ratio_to_baseline", "ratio_lo", "ratio_hi"]);
    names.extend(["verdict", "p", "holm", "blocks", "noise_floor_ratio", "is_best", "statistic"]);
    names.extend(["doubts", "cpu_budget"]);
    let mut out = Lines::new(&names);
    for (race, row) in report.races.iter().zip(&sweep.rows) {
        for point in &sweep.points {
            let Some(entry) = entry(race, point) else { continue };
            let verdict = entry.ratio_to_reference;
            out.text(&report.run.id);
            race_fields(&mut out, race);
            out.text(&point.contender);
            out.number(Some(point.is_baseline));
            settings(sweep, point).iter().for_each(|value| out.text(value));
            out.text(entry.outcome.name());
            out.number(entry.value_ns);
            out.number(verdict.map(|v| v.point));
            out.number(verdict.and_then(|v| v.lo));
            out.number(verdict.and_then(|v| v.hi));
            out.text(verdict.map(|v| v.verdict.word()).unwrap_or_default());
            out.number(verdict.and_then(|v| v.p));
            out.number(verdict.and_then(|v| v.holm));
            out.number(verdict.map(|v| v.blocks));
            out.number(race.noise_floor.and_then(|floor| floor.ratio));
            out.number(Some(row.best.as_ref() == Some(&point.contender)));
            out.text(race.statistic.map_or("", crate::stats::Statistic::name));
            out.text(&entry.doubts.join("; "));
            out.number(race.cpu_budget.map(|budget| budget.cpus));
            out.end();
        }
    }
    out.text
}
