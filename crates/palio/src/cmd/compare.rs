//! `palio compare`: the same cells in two runs.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::project::open_store;
use super::{EXIT_CHECK_FAILED, Places, columns, say};
use crate::report::comparison;
use crate::report::comparison_text;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The earlier run: its id, the beginning of it, or `latest`
    a: String,
    /// The later run
    b: String,
    /// A contender that raced in both runs and has not changed: all times are divided by its own.
    /// Without one nothing tells a slower machine from a slower contender
    #[arg(long, value_name = "CONTENDER")]
    anchor: Option<String>,
    /// Exit with status 1 if anything became slower, beyond the noise of both runs and this many
    /// percent, or fails where it did not
    #[arg(long, value_name = "PERCENT", requires = "anchor")]
    fail_above: Option<f64>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let store = open_store(places)?;
    let a = store.load(&store.resolve(&options.a)?)?;
    let b = store.load(&store.resolve(&options.b)?)?;
    let comparison = comparison::compare(&a, &b, options.anchor.as_deref())?;
    if options.fail_above.is_some()
        && let Some(changed) = &comparison.anchor_changed
    {
        bail!("{changed}; nothing can be judged by it: choose another one");
    }
    if options.json {
        say(&serde_json::to_string_pretty(&comparison)?)?;
    } else {
        say(&comparison_text::render(&comparison, columns()))?;
    }
    let limit = options.fail_above.map(|percent| 1.0 + percent / 100.0);
    let regressed =
        limit.is_some_and(|limit| comparison.changes.iter().any(|change| change.regressed(limit)));
    Ok(if regressed { ExitCode::from(EXIT_CHECK_FAILED) } else { ExitCode::SUCCESS })
}
