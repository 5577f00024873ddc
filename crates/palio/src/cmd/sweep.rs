//! `palio sweep`: one contender with its knobs turned, every setting against the default ones.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail, ensure};
use clap::Args;

use super::project::{Choice, Project};
use super::run::{self, Planned, Verb};
use super::{Places, interruption, warden};
use crate::grid::{self, Design, Grid, Wish};
use crate::record::Outcome;
use crate::report::table::{Format, Table};
use crate::runner::build::Prober;
use crate::runner::trial;
use crate::workload::Settings;

/// The most cells that are raced without being asked for by number: some hours of racing.
const CELLS_MAX: usize = 500;
/// About what a process takes beside warm-up and samples, in seconds.
const START_S: f64 = 0.05;

#[derive(Debug, Args)]
#[group(skip)]
// What a sweep decides by itself; the rest is as in `palio run`.
#[command(
    mut_arg("contender", |arg| arg.hide(true)),
    mut_arg("allocator", |arg| arg.hide(true)),
    mut_arg("reference", |arg| arg.hide(true)),
    mut_arg("resume", |arg| arg.hide(true))
)]
pub(super) struct Options {
    /// The contender, as `ID[@KNOB=VALUE]…`; what is given here holds in all points
    #[arg(value_name = "CONTENDER")]
    swept: String,
    /// A knob and the values that it takes; with several knobs, every combination is raced
    #[arg(short, long, value_name = "KNOB=VALUE,…", required = true)]
    knob: Vec<String>,
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t = Format::Terminal, conflicts_with = "json")]
    format: Format,
    /// The most cells (contenders × rows × thread counts) that may be raced
    #[arg(long, value_name = "N", default_value_t = CELLS_MAX)]
    cells_max: usize,
    #[command(flatten)]
    run: run::Options,
}

pub(super) fn run(mut options: Options, places: &Places) -> Result<ExitCode> {
    let interrupted = interruption::listen()?;
    warden::check()?;
    options.run.check_unused("sweep", true)?;
    options.run.check_one_track()?;
    let wishes = wishes(&options.knob)?;
    let project = Project::load(places)?;
    let choice = project.choose(&[options.swept.clone()])?.remove(0);
    ensure!(
        !choice.is_renamed(),
        "a contender that is swept races under its own name: leave out the part before `=` in {:?}",
        options.swept
    );
    let mut words: Vec<String> = vec!["palio".into(), "sweep".into(), options.swept.clone()];
    words.extend(options.knob.iter().flat_map(|knob| ["--knob".to_owned(), knob.clone()]));
    // By what it claims it is known before any build which rows there are.
    options.run.choose(vec![options.swept.clone()], Some(choice.name()));
    run::planned(&options.run, places)?;
    let (grid, knobs) = grid(&choice, &wishes, &interrupted)?;
    let texts = grid.points.iter().map(|point| {
        let knobs = point.settings.iter().map(|(key, value)| format!("@{key}={value}"));
        options.swept.clone() + &knobs.collect::<String>()
    });
    let chosen = std::iter::once(options.swept.clone()).chain(texts).collect();
    options.run.choose(chosen, Some(grid.baseline.clone()));
    let planned = run::planned(&options.run, places)?;
    check_size(&planned, grid.points.len(), options.cells_max)?;
    check_values(&planned, &knobs, &interrupted)?;
    options.run.verb = Some(Verb { design: Design::Sweep(grid), words });
    run::measure_and_report(&options.run, places, Some((Table::Sweep, options.format)).into())
}

fn wishes(texts: &[String]) -> Result<Vec<Wish>> {
    let each =
        texts.iter().map(|text| text.parse().map_err(|error: String| anyhow::anyhow!(error)));
    each.collect()
}

/// Builds the contender and asks which knobs it has; the grid of some, and all in words.
fn grid(choice: &Choice, wishes: &[Wish], interrupted: &Arc<AtomicBool>) -> Result<(Grid, String)> {
    let mut prober = Prober::new(Arc::clone(interrupted));
    let entrant = choice.ready(&mut prober, |_, _| ());
    interruption::check(interrupted)?;
    let entrant = entrant?;
    match &entrant.ready {
        Err((_, reason)) => bail!("{} cannot be swept: {reason}", choice.name()),
        Ok(said) => {
            let name = |settings: &Settings| choice.with_knobs(settings).name();
            let known = (&said.knobs[..], &entrant.knobs);
            let grid = Grid::new(choice.name(), known, wishes, name)?;
            Ok((grid, grid::told(&said.knobs)))
        }
    }
}

/// Refuses a grid that nobody would wait for by accident.
fn check_size(planned: &Planned, points: usize, cells_max: usize) -> Result<()> {
    let cells = planned.races.iter().flat_map(|race| &race.cells);
    let cells = cells.filter(|cell| cell.outcome == Outcome::Pending).count();
    if cells <= cells_max {
        return Ok(());
    }
    let s = |count: usize| if count == 1 { "" } else { "s" };
    let races = planned.races.len();
    let each_s = START_S + (planned.limits.budget_ms + planned.limits.warm_up_ms) as f64 / 1000.0;
    let processes = cells * planned.blocks as usize;
    bail!(
        "the grid is too large: {points} point{} and the baseline in {races} race{} are {cells} cells, or \
         {processes} processes in {} block{}, which take about {} at least; give fewer values, rows, or numbers of threads, or \
         allow it with --cells-max {cells}",
        s(points),
        s(races),
        planned.blocks,
        s(planned.blocks as usize),
        duration(each_s * processes as f64)
    );
}

/// `3.5 hours`.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3600.0),
    }
}

/// Starts every point once in every row: a value that the contender refuses would otherwise be
/// found when half of the grid is raced.
fn check_values(planned: &Planned, knobs: &str, interrupted: &AtomicBool) -> Result<()> {
    let mut rows: Vec<&str> = Vec::new();
    for race in &planned.races {
        if rows.contains(&race.workload.as_str()) {
            continue;
        }
        rows.push(&race.workload);
        for cell in race.cells.iter().filter(|c| !c.shadow && c.outcome == Outcome::Pending) {
            let refusal = trial::refusal(cell, interrupted);
            interruption::check(interrupted)?;
            if let Some(said) = refusal {
                bail!(
                    "{} cannot be raced in {}: it says {said:?}. Its knobs, with their defaults: {knobs}",
                    cell.label(),
                    race.workload
                );
            }
        }
    }
    Ok(())
}
