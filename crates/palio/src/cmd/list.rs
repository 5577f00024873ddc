//! `palio list`: one element a row.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::project::{Project, open_store};
use super::{Places, say};
use crate::workload::{Preset, Threads, Workload, settings_text};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// What to list
    #[arg(value_enum, default_value_t = What::Workloads)]
    what: What,
    /// Only the workloads of this suite
    #[arg(long, value_name = "SUITE")]
    suite: Option<String>,
    /// Only these contenders, as `run` takes them
    #[arg(short, long, value_name = "CONTENDER", value_delimiter = ',')]
    contender: Vec<String>,
    /// The parameters of this preset
    #[arg(long, value_enum, default_value_t = Preset::Quick)]
    preset: Preset,
    /// Below each workload, what differs from its document's program
    #[arg(long)]
    deviations: bool,
    /// As a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    Workloads,
    Contenders,
    Suites,
    Runs,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    match options.what {
        What::Runs => runs(options, places)?,
        What::Workloads => workloads(options, places)?,
        What::Contenders => contenders(options, places)?,
        What::Suites => suites(options, places)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Lays rows out in columns.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|t| t.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - cell.chars().count() + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn threads_text(workload: &Workload, preset: Preset) -> String {
    let each = workload.presets[&preset].threads.iter().map(|threads| match threads {
        Threads::Count(count) => count.to_string(),
        Threads::Cores => "cores".to_owned(),
    });
    each.collect::<Vec<_>>().join(",")
}

fn workloads(options: &Options, places: &Places) -> Result<()> {
    let project = Project::load(places)?;
    let chosen: Vec<&Workload> = match &options.suite {
        Some(suite) => {
            let suite = project.catalogue.suite(suite)?;
            suite
                .workloads
                .iter()
                .map(|id| project.catalogue.workload(id))
                .collect::<Result<_>>()?
        }
        None => project.catalogue.workloads.iter().collect(),
    };
    if options.json {
        return say(&serde_json::to_string_pretty(&chosen)?);
    }
    let rows: Vec<Vec<String>> = chosen
        .iter()
        .map(|workload| {
            vec![
                workload.id.clone(),
                settings_text(&workload.presets[&options.preset].set),
                format!("threads={}", threads_text(workload, options.preset)),
                workload.model.to_string(),
                workload.scope.to_string(),
                workload.origin.fidelity.to_string(),
                workload.title.clone(),
            ]
        })
        .collect();
    if !options.deviations {
        return say(&table(&rows));
    }
    let below = chosen.iter().map(|workload| workload.origin.notes());
    let lines = table(&rows);
    let text: String = lines
        .lines()
        .zip(below)
        .flat_map(|(line, notes)| {
            let notes = notes.into_iter().map(|note| format!("    {note}\n"));
            std::iter::once(format!("{line}\n")).chain(notes)
        })
        .collect();
    say(&text)
}

fn contenders(options: &Options, places: &Places) -> Result<()> {
    let project = Project::load(places)?;
    let chosen = match &options.contender[..] {
        [] => project.contenders,
        choices => project.choose(choices)?.into_iter().map(|choice| choice.contender).collect(),
    };
    if options.json {
        return say(&serde_json::to_string_pretty(&chosen)?);
    }
    let rows: Vec<Vec<String>> = chosen
        .iter()
        .map(|contender| {
            vec![
                contender.id_and_release(),
                contender.language.clone(),
                contender.kind.name().to_owned(),
                contender.track.name().to_owned(),
                contender.name.clone(),
            ]
        })
        .collect();
    say(&table(&rows))
}

fn suites(options: &Options, places: &Places) -> Result<()> {
    let project = Project::load(places)?;
    if options.json {
        return say(&serde_json::to_string_pretty(&project.catalogue.suites)?);
    }
    let rows: Vec<Vec<String>> = project
        .catalogue
        .suites
        .iter()
        .map(|suite| {
            let count = format!("{} workload(s)", suite.workloads.len());
            vec![suite.id.clone(), count, format!("preset={}", suite.preset), suite.title.clone()]
        })
        .collect();
    say(&table(&rows))
}

fn runs(options: &Options, places: &Places) -> Result<()> {
    let runs = open_store(places)?.runs()?;
    if options.json {
        return say(&serde_json::to_string_pretty(&runs)?);
    }
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            vec![
                run.id.clone(),
                run.suite.clone(),
                run.preset.to_string(),
                run.started_at.clone(),
                run.finished_at.as_ref().map_or("partial", |_| "finished").to_owned(),
                format!("{} race(s)", run.races),
                format!("{} samples", run.samples),
            ]
        })
        .collect();
    if rows.is_empty() { say("No run yet: `palio run` makes one.") } else { say(&table(&rows)) }
}
