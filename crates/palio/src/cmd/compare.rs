//! `palio compare`: the same cells in two runs.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::project::open_store;
use super::{Places, gate};
use crate::record::RunRecord;
use crate::report::{comparison, within};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The earlier run: its id, the beginning of it, or `latest`; with --within, a contender
    a: String,
    /// The later run; with --within, the contender that is compared with A
    b: String,
    /// Two contenders of this run instead of two runs, such as a release and a working copy
    #[arg(long, value_name = "RUN", conflicts_with = "anchor")]
    within: Option<String>,
    /// A contender that raced in both runs and has not changed: all times are divided by its own.
    /// Without one nothing tells a slower machine from a slower contender
    #[arg(long, value_name = "CONTENDER")]
    anchor: Option<String>,
    /// Exit with status 1 if anything became slower, beyond the noise of both runs and this many
    /// percent, or fails where it did not; needs --anchor or --within
    #[arg(long, value_name = "PERCENT", value_parser = gate::percent)]
    fail_above: Option<f64>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    if options.fail_above.is_some() && options.anchor.is_none() && options.within.is_none() {
        bail!(
            "--fail-above needs --anchor CONTENDER, or a slower machine is a slower contender; or --within RUN, where A \
             and B are contenders of one run"
        );
    }
    let store = open_store(places)?;
    let comparison = match &options.within {
        Some(run) => {
            let run = store.load(&store.resolve(run)?)?;
            if options.fail_above.is_some() {
                check_finished(&run)?;
            }
            within::within(&run, &options.a, &options.b)?
        }
        None => {
            let a = store.load(&store.resolve(&options.a)?)?;
            let b = store.load(&store.resolve(&options.b)?)?;
            if options.fail_above.is_some() {
                check_whole([&a, &b])?;
            }
            comparison::compare(&a, &b, options.anchor.as_deref())?
        }
    };
    gate::conclude(&comparison, options.fail_above, options.json)
}

/// Refuses what could not fail: what is missing was never seen.
fn check_finished(run: &RunRecord) -> Result<()> {
    let id = &run.header.id;
    if run.header.finished_at.is_none() {
        bail!(
            "--fail-above says nothing of the run {id}, which is not finished: `palio run --resume {id}`"
        );
    }
    Ok(())
}

/// Of two runs besides that they are two.
fn check_whole(runs: [&RunRecord; 2]) -> Result<()> {
    runs.into_iter().try_for_each(check_finished)?;
    if runs[0].header.id == runs[1].header.id {
        bail!("--fail-above compares the run {} with itself: name another one", runs[0].header.id);
    }
    Ok(())
}
