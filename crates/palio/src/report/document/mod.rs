//! The tables of the reference documents, as these print them, with the numbers of a run.
//!
//! Where the run has no number there is a dash, and below the tables stands in what the run is
//! another than the document's: a table that is pasted elsewhere must not claim what it is not.

mod layouts;
mod numbers;

use std::fmt::Write as _;

use anyhow::{Result, ensure};

use super::markdown::markup::text;
use super::model::{Entry, Race, Report};
use super::replication::{absence, other_sizes, race_of};
use super::table;
use crate::published::{Document, Layout, Per, Published, Row, Table};
use crate::stats::{Estimate, location_ns};

/// The tables of every document of which the run raced a row.
///
/// # Errors
/// There is no such document.
pub fn render(report: &Report, published: &Published) -> Result<String> {
    let raced = |row: &Row| report.races.iter().any(|race| race.workload == row.workload);
    let has_row = |document: &&Document| document.tables.iter().any(|t| t.rows.iter().any(raced));
    let documents: Vec<&Document> = match published.of(&report.run.suite) {
        // Another document's rows may be in the suite of this one.
        Some(own) => vec![own],
        None => published.documents.iter().collect(),
    };
    let documents: Vec<&Document> = documents.into_iter().filter(has_row).collect();
    ensure!(
        !documents.is_empty(),
        "the run {} has no row of a reference document; there are documents of the suites: {}",
        report.run.id,
        published.documents.iter().map(|d| d.suite.as_str()).collect::<Vec<_>>().join(", ")
    );
    let texts: Vec<String> = documents.into_iter().map(|of| Sheet { report, of }.text()).collect();
    Ok(texts.join("\n"))
}

/// A document beside a run.
struct Sheet<'a> {
    report: &'a Report,
    of: &'a Document,
}

/// A number of the run, in the place of one of the document's.
#[derive(Clone, Copy)]
struct Cell<'a> {
    race: &'a Race,
    entry: &'a Entry,
    per: Per,
}

impl Cell<'_> {
    /// Of what the document's number is: one iteration, or one unit of it.
    fn divided(&self, ns: f64) -> f64 {
        match self.per {
            Per::Iteration => ns,
            Per::Unit => ns / self.race.ops as f64,
        }
    }

    fn ns(&self) -> Option<f64> {
        self.entry.value_ns.map(|ns| self.divided(ns))
    }

    /// From the fastest sample to the slowest.
    fn spread_ns(&self) -> Option<f64> {
        let (min, max) = self.entry.min_ns.zip(self.entry.max_ns)?;
        Some(self.divided(max - min))
    }

    /// The 95 % interval of the time over the blocks; `None` where too few of them bound it.
    fn interval_ns(&self) -> Option<[f64; 2]> {
        let entry = self.entry;
        let mut blocks: Vec<u32> = entry.sample_block.clone();
        blocks.sort_unstable();
        blocks.dedup();
        let located = blocks.into_iter().map(|block| {
            let samples = entry.sample_block.iter().zip(&entry.sample_ns);
            let of_block: Vec<f64> =
                samples.filter(|(of, _)| **of == block).map(|(_, ns)| *ns).collect();
            location_ns(&of_block).map(f64::ln).ok()
        });
        let estimate = Estimate::of(&located.collect::<Option<Vec<f64>>>()?)?;
        let limits = [estimate.lo, estimate.hi].map(|ln| self.divided(ln.exp()));
        estimate.is_bounded().then_some(limits)
    }

    fn iterations(&self) -> u64 {
        u64::from(self.entry.samples) * u64::from(self.entry.batch)
    }
}

impl<'a> Sheet<'a> {
    fn text(&self) -> String {
        let mut out = String::new();
        for table in &self.of.tables {
            let lines = match table.layout {
                Layout::Units => self.units(table),
                Layout::MeanRatio => self.mean_ratio(table),
                Layout::Microseconds => self.microseconds(table),
                Layout::Threads => self.threads(table),
                Layout::Benchmarks => self.benchmarks(table),
                Layout::Libtest => self.libtest(table),
                Layout::CpuTimes => self.cpu_times(table),
            };
            let _ = writeln!(out, "{lines}");
        }
        self.conditions(&mut out);
        out
    }

    fn contender(&self, table: &'a Table, row: &'a Row, system: &str) -> Option<&'a str> {
        self.of.systems_of(table, row).get(system).map(String::as_str)
    }

    /// The race that stands in a row, for this system.
    fn race(&self, table: &Table, row: &Row, system: &str) -> Option<&'a Race> {
        if !table.all_threads.iter().any(|known| known == system) {
            return race_of(self.report, row).ok();
        }
        let races = self.report.races.iter().filter(|race| race.workload == row.workload);
        races.filter(|race| race.cpu_budget.is_none()).max_by_key(|race| race.threads)
    }

    fn cell(&self, table: &'a Table, row: &'a Row, system: &str) -> Option<Cell<'a>> {
        let race = self.race(table, row, system)?;
        let entry = self.entry(race, table, row, system)?;
        Some(Cell { race, entry, per: table.per })
    }

    fn entry<'b>(
        &self,
        race: &'b Race,
        table: &'a Table,
        row: &'a Row,
        system: &str,
    ) -> Option<&'b Entry> {
        race.completed(self.contender(table, row, system)?, self.of.variant_of(row, system))
    }

    /// In what the run is another than the document's, and why numbers are missing.
    fn conditions(&self, out: &mut String) {
        let run = &self.report.run;
        let cpu = run.machine.cpu_model.as_deref().unwrap_or("an unknown CPU");
        let _ = writeln!(
            out,
            "Measured by Palio {} on {}, run {}: medians, of an iteration or of a table's unit; CPU times are means. In the shape of {}.",
            text(&run.palio_version),
            text(cpu),
            text(&run.id),
            text(&self.of.name)
        );
        for note in table::beside(self.report) {
            let _ = writeln!(out, "\n{}", text(&note));
        }
        let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
        for table in &self.of.tables {
            for row in &table.rows {
                for note in self.notes(table, row) {
                    match notes.iter_mut().find(|(known, _)| *known == note) {
                        Some((_, names)) if names.contains(&row.name.as_str()) => {}
                        Some((_, names)) => names.push(&row.name),
                        None => notes.push((note, vec![&row.name])),
                    }
                }
            }
        }
        if !notes.is_empty() {
            out.push('\n');
        }
        for (note, names) in notes {
            let names: Vec<String> = names.into_iter().map(text).collect();
            // A row may be called `spawn, local`.
            let between = if names.iter().any(|name| name.contains(',')) { "; " } else { ", " };
            let _ = writeln!(out, "- {}: {}", names.join(between), text(&note));
        }
    }

    fn notes(&self, table: &'a Table, row: &'a Row) -> Vec<String> {
        // The lines of this layout are those of the run, each with its own number of threads.
        let by_threads = matches!(table.layout, Layout::CpuTimes | Layout::Threads);
        let race = match race_of(self.report, row) {
            Ok(race) => race,
            Err(_) if by_threads => return Vec::new(),
            Err(reason) => return vec![format!("not measured: {reason}")],
        };
        let mut notes = other_sizes(race, row);
        if by_threads {
            notes.retain(|note| !note.starts_with("on "));
        }
        notes.extend(race.origin.iter().flat_map(|origin| origin.deviations.clone()));
        let systems = row.values.iter().filter(|(_, value)| !value.unprinted);
        for (system, _) in systems {
            let Some(race) = self.race(table, row, system) else { continue };
            if table.all_threads.iter().any(|known| known == system) && !by_threads {
                notes.push(format!("{system}: on {}", race.threads_text()));
            }
            let Some(id) = self.contender(table, row, system) else { continue };
            let variant = self.of.variant_of(row, system);
            match race.completed(id, variant) {
                Some(entry) => {
                    notes.extend(entry.variant.iter().map(|v| format!("{system}: with {v}")));
                    notes.extend(entry.doubts_text());
                }
                None => {
                    let absence = absence(self.report, self.of, race, id, variant);
                    notes.push(format!("not measured: {absence}"));
                }
            }
        }
        notes
    }
}
