//! `palio list`: one element a row, which on a narrow terminal is several lines.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::project::{Project, open_store};
use super::{Places, columns_or, say, say_json};
use crate::report::listing::{self, table_within};
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

/// Columns for a list: in a file or a pipe, a line is an element, however long it gets.
fn width() -> usize {
    columns_or(usize::MAX)
}

fn threads_text(workload: &Workload, preset: Preset) -> String {
    let each = workload.presets[&preset].threads.iter().map(Threads::to_string);
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
        return say_json(&chosen);
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
        return say(&table_within(&rows, 1, width()));
    }
    let text: String = listing::elements(&rows, 1, width())
        .into_iter()
        .zip(&chosen)
        .map(|(element, workload)| element + &listing::below(&workload.origin.notes(), width()))
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
        return say_json(&chosen);
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
    say(&table_within(&rows, 1, width()))
}

fn suites(options: &Options, places: &Places) -> Result<()> {
    let project = Project::load(places)?;
    if options.json {
        return say_json(&project.catalogue.suites);
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
    say(&table_within(&rows, 1, width()))
}

fn runs(options: &Options, places: &Places) -> Result<()> {
    let runs = open_store(places)?.runs()?;
    if options.json {
        return say_json(&runs);
    }
    if runs.is_empty() {
        return say(&listing::wrapped("No run yet: `palio run` makes one.", width()));
    }
    say(&listing::runs(&runs, width()))
}
