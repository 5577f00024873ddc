//! `palio show`: one cell, block by block and to the last sample.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::project::open_store;
use super::{Places, colour, columns, say, say_json};
use crate::budget::CpuBudget;
use crate::record::{CellRecord, RaceRecord};
use crate::report::cell;
use crate::settings::Settings;
use crate::suggest::nearest;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The workload
    workload: String,
    /// The contender
    contender: String,
    /// The race on this number of threads, where there are several
    #[arg(short, long, value_name = "N")]
    threads: Option<u32>,
    /// The run: its id, the beginning of it, or `latest`
    #[arg(long, default_value = "latest")]
    run: String,
    /// Every sample, and what was seen of each process from outside
    #[arg(long)]
    samples: bool,
    /// As JSON, as it is stored
    #[arg(long)]
    json: bool,
}

/// A cell, and which race it is of.
#[derive(Serialize)]
struct Shown<'a> {
    workload: &'a str,
    params: &'a Settings,
    threads: u32,
    cpu_budget: Option<CpuBudget>,
    #[serde(flatten)]
    cell: &'a CellRecord,
}

impl<'a> Shown<'a> {
    fn of(race: &'a RaceRecord, cell: &'a CellRecord) -> Self {
        let RaceRecord { workload, params, threads, cpu_budget, .. } = race;
        Self { workload, params, threads: *threads, cpu_budget: *cpu_budget, cell }
    }
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let store = open_store(places)?;
    let run = store.load(&store.resolve(&options.run)?)?;
    let races: Vec<&RaceRecord> = run
        .races
        .iter()
        .filter(|race| race.workload == options.workload)
        .filter(|race| options.threads.is_none_or(|threads| race.threads == threads))
        .collect();
    let all = || run.races.iter().filter(|race| race.workload == options.workload);
    if races.is_empty() && all().next().is_some() {
        let mut threads: Vec<u32> = all().map(|race| race.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        let threads: Vec<String> = threads.iter().map(u32::to_string).collect();
        bail!(
            "the run {} raced {} on other numbers of threads: {}",
            run.header.id,
            options.workload,
            threads.join(", ")
        );
    }
    if races.is_empty() {
        let near = nearest(&options.workload, run.races.iter().map(|race| race.workload.as_str()));
        let hint = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
        bail!("the run {} has no race of {:?}{hint}", run.header.id, options.workload);
    }
    let cells: Vec<(&RaceRecord, &CellRecord)> = races
        .iter()
        .flat_map(|race| race.cells.iter().map(move |cell| (*race, cell)))
        .filter(|(_, cell)| cell.contender == options.contender)
        .collect();
    if cells.is_empty() {
        let near = nearest(
            &options.contender,
            run.contenders.iter().map(|contender| contender.id.as_str()),
        );
        let hint = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
        bail!("the run {} has no contender {:?}{hint}", run.header.id, options.contender);
    }
    if options.json {
        let cells: Vec<Shown<'_>> =
            cells.iter().map(|(race, cell)| Shown::of(race, cell)).collect();
        say_json(&cells)?;
    } else {
        let samples = options.samples;
        let look = cell::Options { width: columns(), color: colour(), samples };
        let texts: Vec<String> =
            cells.iter().map(|(race, cell)| cell::render(race, cell, look)).collect();
        say(&texts.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
