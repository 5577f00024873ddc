//! `palio scale`: contenders on more and more threads, beside a baseline without any runtime.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;

use super::Places;
use super::project::Project;
use super::run::{self, Verb};
use crate::contender::Kind;
use crate::grid::Design;
use crate::machine;
use crate::record::Outcome;
use crate::report::table::{Format, Table};

/// What is raced where the user names no row.
const SUITE: &str = "scaling";

#[derive(Debug, Args)]
#[group(skip)]
// The place of a suite is that of rows here, and what a resumed run is made for it says by itself.
#[command(
    mut_arg("suite", |arg| arg.long("suite").value_name("SUITE").help("All rows of a suite [default: scaling]")),
    mut_arg("threads", |arg| arg.help("Numbers of worker threads [default: 1, 2, 4 … and all processors]")),
    mut_arg("resume", |arg| arg.hide(true))
)]
pub(super) struct Options {
    /// The workloads (or families of them)
    #[arg(value_name = "WORKLOAD", conflicts_with = "suite")]
    rows: Vec<String>,
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t = Format::Terminal, conflicts_with = "json")]
    format: Format,
    /// Without a baseline: speed-ups over one thread of the same contender
    #[arg(long)]
    no_baseline: bool,
    #[command(flatten)]
    run: run::Options,
}

pub(super) fn run(mut options: Options, places: &Places) -> Result<ExitCode> {
    options.run.check_unused("scale", false)?;
    let mut words: Vec<String> = vec!["palio".into(), "scale".into()];
    if options.no_baseline {
        words.push("--no-baseline".into());
    }
    options.run.add_workloads(&options.rows);
    options.run.default_to(SUITE, counts(machine::cores()));
    // The command that repeats it names whom the user named: baselines come by themselves.
    options.run.verb = Some(Verb { design: Design::Scale, words });
    options.run.more_contenders = baselines(&options, places)?;
    run::measure_and_report(&options.run, places, Some((Table::Scaling, options.format)).into())
}

/// 1, 2, 4 … up to the number of processors, and that number itself; on one processor, 1 alone.
fn counts(processors: u32) -> Vec<u32> {
    let mut counts: Vec<u32> = std::iter::successors(Some(1_u32), |n| n.checked_mul(2))
        .take_while(|&n| n < processors)
        .collect();
    counts.push(processors.max(1));
    counts
}

/// The contenders without a runtime that can do one of the rows, where the user named others.
fn baselines(options: &Options, places: &Places) -> Result<Vec<String>> {
    let named = options.run.contenders();
    if options.no_baseline {
        ensure!(!named.is_empty(), "--no-baseline needs -c: without it, all contenders are raced");
        return Ok(Vec::new());
    }
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let project = Project::load(places)?;
    let chosen = project.choose(named)?;
    let planned = run::planned(&options.run, places)?;
    let families: Vec<&str> = planned
        .races
        .iter()
        .filter(|race| race.cells.iter().any(|cell| cell.outcome == Outcome::Pending))
        .map(|race| project.catalogue.workload(&race.workload).map(|known| known.family.as_str()))
        .collect::<Result<_>>()?;
    let can = |family: &&str, of: &[String]| of.iter().any(|known| known == family);
    let each = project.contenders.iter().filter(|known| {
        known.kind == Kind::Baseline
            && known.variant.is_none()
            && !chosen.iter().any(|choice| choice.contender.id == known.id)
            && families.iter().any(|family| can(family, &known.workloads))
    });
    Ok(each.map(|known| known.id.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_double_up_to_all_processors_and_none_is_there_twice() {
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(2), [1, 2]);
        assert_eq!(counts(6), [1, 2, 4, 6]);
        assert_eq!(counts(8), [1, 2, 4, 8]);
        assert_eq!(counts(0), [1]);
    }
}
