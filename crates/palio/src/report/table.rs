//! One table of a report by itself: that of a tuning sweep, that of scaling, or that of a
//! document beside the run.

use anyhow::{Result, ensure};

use super::markdown::markup;
use super::model::{Report, Thinned};
use super::{json, markdown, replication_text, scaling_text, sweep_text, terminal};

/// What of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Table {
    /// Every point of a grid of knobs against the baseline
    Sweep,
    /// Speed-up, efficiency and the law of scalability
    Scaling,
    /// The numbers of a document beside those of the run, as `palio replicate` prints them
    #[value(skip)]
    Replication,
}

/// In which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Terminal,
    /// Tables to paste
    Markdown,
    /// A row for each point of each race
    Csv,
    /// As the fields `sweep`, `scaling` and `replication` of `docs/report.schema.json`
    Json,
}

/// The table as text and, where it is for people, below it what they must know of its run.
///
/// # Errors
/// The report has no such table.
pub fn render(
    report: &Report,
    table: Table,
    format: Format,
    paper: terminal::Options,
) -> Result<String> {
    let mut text = alone(report, table, format, paper)?;
    for note in beside(report) {
        let note = match format {
            Format::Terminal => note,
            Format::Markdown => markup::text(&note),
            Format::Csv | Format::Json => break,
        };
        text.truncate(text.trim_end().len());
        text += &format!("\n\n{note}\n");
    }
    Ok(text)
}

fn alone(
    report: &Report,
    table: Table,
    format: Format,
    paper: terminal::Options,
) -> Result<String> {
    match table {
        Table::Sweep => {
            let id = &report.run.id;
            ensure!(report.sweep.is_some(), "the run {id} is no sweep: `palio sweep` makes one");
            Ok(match format {
                Format::Terminal => sweep_text::terminal(report, paper.into()),
                Format::Markdown => sweep_text::markdown(report),
                Format::Csv => sweep_text::csv(report),
                Format::Json => json::part(&report.run, "sweep", &report.sweep),
            })
        }
        Table::Scaling => {
            ensure!(
                !report.scaling.is_empty(),
                "the run {} has no workload on several numbers of threads: `palio scale` races some",
                report.run.id
            );
            Ok(match format {
                Format::Terminal => scaling_text::terminal(report, paper.into()),
                Format::Markdown => scaling_text::markdown(report),
                Format::Csv => scaling_text::csv(report),
                Format::Json => json::part(&report.run, "scaling", &report.scaling),
            })
        }
        Table::Replication => {
            ensure!(report.replication.is_some(), "no document stands beside the run");
            let section = || replication_text::section(report);
            Ok(match format {
                Format::Terminal => terminal::one_section(section(), paper),
                Format::Markdown => markdown::one_section(section()),
                Format::Csv => replication_text::csv(report),
                Format::Json => json::part(&report.run, "replication", &report.replication),
            })
        }
    }
}

/// What a reader of tables without a head must know of their run, each a sentence or two: that a
/// part of it is shown, that it is thinned, was interrupted or is not finished.
#[must_use]
pub fn beside(report: &Report) -> Vec<String> {
    let run = &report.run;
    let mut notes = Vec::new();
    notes.extend(run.selection.as_ref().map(|selection| selection.text(report.races.len())));
    notes.extend(run.thinned.as_ref().map(Thinned::text));
    notes.extend(run.interruptions.as_ref().map(|text| format!("The run {} was {text}.", run.id)));
    if run.state != "finished" {
        notes.push(format!("The run {} is {}.", run.id, run.state));
    }
    notes
}
