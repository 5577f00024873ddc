//! Scaling as text, as Markdown and as comma-separated values.

use std::fmt::Write as _;

use super::csv::Lines;
use super::markdown::markup;
use super::model::{Interval, Report};
use super::paper::{Cell, Ink, Paper, Table};
use super::scaling::{Scaling, ScalingCurve, ScalingPoint, parameter};
use super::sweep_text::write;
use super::units::{self, NONE};
use super::view::printable;

const HEADS: [&str; 6] = ["contender", "threads", "time", "speed-up", "95 %", "efficiency"];

/// What the columns of the law mean.
const MEANING: &str = "Law: the Universal Scalability Law, fitted to the numbers of threads for which the machine has \
                       processors. σ is the share of the work that one thread does at a time, κ what each pair of \
                       threads costs to agree; a peak is named where κ is above 0 beyond doubt. Off by: how far the \
                       farthest point lies from the law.";

impl Scaling {
    /// `fib n=27`, or `fib n=27, with a CPU budget`.
    pub(super) fn label(&self) -> String {
        let params: Vec<String> =
            self.params.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        let budget = if self.has_cpu_budget { ", with a CPU budget" } else { "" };
        printable(&format!("{}{}{budget}", self.workload, params.concat()))
    }
}

/// Time, speed-up, limits and efficiency.
fn numbers(point: &ScalingPoint) -> [String; 4] {
    let none = || NONE.to_owned();
    let limits = |i: Interval| units::limits(i.lo, i.hi);
    [
        units::time(point.value_ns),
        point.speed_up.map_or_else(none, |i| units::ratio(i.point)),
        point.speed_up.map_or_else(none, limits),
        point.efficiency.map_or_else(none, |share| units::percent(share * 100.0)),
    ]
}

fn law_text(curve: &ScalingCurve) -> String {
    match (&curve.law, &curve.no_law) {
        (Some(law), _) => law.text(),
        (None, Some(why)) => format!("no law: {why}"),
        (None, None) => "no law".to_owned(),
    }
}

/// As a section of the report, or by itself.
pub(super) fn terminal(report: &Report, paper: Paper) -> String {
    let mut out = String::new();
    for (i, scaling) in report.scaling.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        paper.heading(&mut out, &format!("Scaling of {}", scaling.label()));
        paper.prose(&mut out, "", &scaling.against());
        if scaling.curves.is_empty() {
            paper.prose(&mut out, "", "Nobody completed it.");
            remarks(&mut out, paper, scaling, report);
            continue;
        }
        let mut table = Table::new(&HEADS);
        table.left = vec![0];
        for curve in &scaling.curves {
            for (i, point) in curve.points.iter().enumerate() {
                let name = if i == 0 { curve.contender.clone() } else { String::new() };
                let cells = [name, point.threads.to_string()].into_iter().chain(numbers(point));
                table.rows.push(cells.map(|text| Cell::plain(&text)).collect());
            }
        }
        // Where rows stand below each other, each says whose it is.
        if table.width() > paper.width {
            let names = scaling.curves.iter().flat_map(|c| c.points.iter().map(|_| &c.contender));
            for (row, name) in table.rows.iter_mut().zip(names) {
                row[0] = Cell::plain(name);
            }
        }
        write(&mut out, paper, &table);
        for curve in &scaling.curves {
            let lead = format!("{}  ", printable(&curve.contender));
            paper.hanging(&mut out, &lead, Ink::Plain, &law_text(curve));
        }
        remarks(&mut out, paper, scaling, report);
    }
    if report.scaling.iter().flat_map(|scaling| &scaling.curves).any(|curve| curve.law.is_some()) {
        out.push('\n');
        paper.prose(&mut out, "", MEANING);
    }
    out
}

fn remarks(out: &mut String, paper: Paper, scaling: &Scaling, report: &Report) {
    scaling.remarks(report).iter().for_each(|remark| paper.prose(out, "", &format!("{remark}.")));
}

pub(super) fn markdown(report: &Report) -> String {
    let mut out = String::new();
    for scaling in &report.scaling {
        let _ = writeln!(out, "## Scaling of {}\n", markup::text(&scaling.label()));
        let against = markup::text(&scaling.against());
        let _ =
            writeln!(out, "Each cell: {against}; with its 95 % interval, and the efficiency.\n");
        let mut heads = vec!["Contender".to_owned()];
        heads.extend(scaling.threads.iter().map(|&n| units::plural(n as usize, "thread")));
        let mut table = markup::Table { heads, rows: Vec::new(), left: 1 };
        for curve in &scaling.curves {
            let mut row = vec![markup::text(&curve.contender)];
            row.extend(scaling.threads.iter().map(|&threads| {
                let point = curve.points.iter().find(|point| point.threads == threads);
                let Some(point) = point else { return NONE.to_owned() };
                let [_, speed_up, limits, efficiency] = numbers(point);
                markup::text(&format!("{speed_up} {limits}, {efficiency}"))
            }));
            table.rows.push(row);
        }
        table.write(&mut out);
        let heads = ["Contender", "σ", "κ", "Peak", "Off by"].map(str::to_owned).to_vec();
        let mut table = markup::Table { heads, rows: Vec::new(), left: 1 };
        let mut without = Vec::new();
        for curve in &scaling.curves {
            let name = markup::text(&curve.contender);
            let Some(law) = &curve.law else {
                let why = curve.no_law.as_deref().unwrap_or("unknown");
                without.push(format!("{name} ({})", markup::text(why)));
                continue;
            };
            let texts = [
                parameter(&law.sigma),
                parameter(&law.kappa),
                law.peak_text(),
                units::factor(law.misfit),
            ];
            table
                .rows
                .push(std::iter::once(name).chain(texts.map(|text| markup::text(&text))).collect());
        }
        if !table.rows.is_empty() {
            table.write(&mut out);
        }
        if !without.is_empty() {
            let _ = writeln!(out, "Without a law: {}.\n", without.join("; "));
        }
        let remarks = scaling.remarks(report);
        for remark in &remarks {
            let _ = writeln!(out, "- {}.", markup::text(remark));
        }
        if !remarks.is_empty() {
            out.push('\n');
        }
    }
    if out.contains("| Off by") {
        let _ = writeln!(out, "{}\n", markup::text(MEANING));
    }
    out
}

const COLUMNS: &[&str] = &[
    "run",
    "workload",
    "params",
    "baseline",
    "contender",
    "threads",
    "value_ns",
    "speed_up",
    "speed_up_lo",
    "speed_up_hi",
    "efficiency",
    "sigma",
    "sigma_lo",
    "sigma_hi",
    "kappa",
    "kappa_lo",
    "kappa_hi",
    "law_speed_up",
    "peak_threads",
    "misfit_ratio",
    "no_law",
    "has_cpu_budget",
    "doubts",
];

/// A line for each contender on each number of threads, after a line of names; the numbers of the
/// law stand in all lines of its contender.
pub(super) fn csv(report: &Report) -> String {
    let mut out = Lines::new(COLUMNS);
    for scaling in &report.scaling {
        let params: Vec<String> =
            scaling.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
        for curve in &scaling.curves {
            for point in &curve.points {
                out.text(&report.run.id);
                out.text(&scaling.workload);
                out.text(&params.join(" "));
                out.text(scaling.baseline.as_deref().unwrap_or_default());
                out.text(&curve.contender);
                out.number(Some(point.threads));
                out.number(Some(point.value_ns));
                interval(&mut out, point.speed_up);
                out.number(point.efficiency);
                interval(&mut out, curve.law.map(|law| law.sigma));
                interval(&mut out, curve.law.map(|law| law.kappa));
                out.number(curve.law.map(|law| law.speed_up(f64::from(point.threads))));
                out.number(curve.law.and_then(|law| law.peak));
                out.number(curve.law.map(|law| law.misfit));
                out.text(curve.no_law.as_deref().unwrap_or_default());
                out.number(Some(scaling.has_cpu_budget));
                let doubts = scaling.races(report).filter(|race| race.threads == point.threads);
                let doubts = doubts.flat_map(|race| &race.entries);
                let doubts = doubts.filter(|entry| entry.contender == curve.contender);
                let doubts: Vec<&str> =
                    doubts.flat_map(|entry| &entry.doubts).map(String::as_str).collect();
                out.text(&doubts.join("; "));
                out.end();
            }
        }
    }
    out.text
}

fn interval(out: &mut Lines, of: Option<Interval>) {
    out.number(of.map(|i| i.point));
    out.number(of.and_then(|i| i.lo));
    out.number(of.and_then(|i| i.hi));
}
