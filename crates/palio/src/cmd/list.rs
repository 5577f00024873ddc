//! `palio list`: one element a row, which on a narrow terminal is several lines.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};

use super::project::{Project, open_store};
use super::{Places, columns_or, say, say_json};
use crate::report::listing::{self, table_within};
use crate::workload::{Catalogue, Preset, Threads, Workload, settings_text};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// What to list
    #[arg(value_enum, default_value_t = What::Workloads)]
    what: What,
    /// Only the workloads of this suite, or the contenders that race in one of them
    #[arg(long, value_name = "SUITE")]
    suite: Option<String>,
    /// Only these contenders, as `run` takes them
    #[arg(short, long, value_name = "CONTENDER", value_delimiter = ',')]
    contender: Vec<String>,
    /// The parameters of this preset [default: quick]
    #[arg(long, value_enum)]
    preset: Option<Preset>,
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
    check_unused(options)?;
    match options.what {
        What::Runs => runs(options, places)?,
        What::Workloads => workloads(options, places)?,
        What::Contenders => contenders(options, places)?,
        What::Suites => suites(options, places)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses an option that would change nothing about what is listed.
fn check_unused(options: &Options) -> Result<()> {
    let what = options.what;
    let given = [
        ("--suite", options.suite.is_some(), &[What::Workloads, What::Contenders][..]),
        ("--contender", !options.contender.is_empty(), &[What::Contenders]),
        ("--preset", options.preset.is_some(), &[What::Workloads]),
        ("--deviations", options.deviations, &[What::Workloads]),
    ];
    for (option, is_given, of) in given {
        let name = |what: &What| {
            what.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
        };
        ensure!(
            !is_given || of.contains(&what),
            "`palio list {}` takes no {option}, which is for `palio list {}`",
            name(&what),
            of.iter().map(name).collect::<Vec<_>>().join("` and `palio list ")
        );
    }
    Ok(())
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
    let preset = options.preset.unwrap_or(Preset::Quick);
    let chosen = rows(options, &project.catalogue)?;
    if options.json {
        return say_json(&chosen);
    }
    let rows: Vec<Vec<String>> = chosen
        .iter()
        .map(|workload| {
            vec![
                workload.id.clone(),
                settings_text(&workload.presets[&preset].set),
                format!("threads={}", threads_text(workload, preset)),
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

/// The workloads of the suite that was named, or all.
fn rows<'a>(options: &Options, catalogue: &'a Catalogue) -> Result<Vec<&'a Workload>> {
    match &options.suite {
        Some(suite) => {
            let suite = catalogue.suite(suite)?;
            suite.workloads.iter().map(|id| catalogue.workload(id)).collect()
        }
        None => Ok(catalogue.workloads.iter().collect()),
    }
}

fn contenders(options: &Options, places: &Places) -> Result<()> {
    let project = Project::load(places)?;
    let rows = rows(options, &project.catalogue)?;
    let mut chosen = match &options.contender[..] {
        [] => project.contenders.clone(),
        choices => project.choose(choices)?.into_iter().map(|choice| choice.contender).collect(),
    };
    if options.suite.is_some() {
        chosen.retain(|known| rows.iter().any(|row| known.workloads.contains(&row.family)));
    }
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
