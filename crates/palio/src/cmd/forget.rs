//! `palio forget`: deletes runs from the database.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::project::{open_store, open_store_to_write};
use super::{Places, columns, say};
use crate::report::listing;
use crate::store::{Lease, RunSummary};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The runs: for each its id, the beginning of it, or `latest`. One that is a baseline is kept
    /// until `palio baseline remove`, and one that is being raced until it has ended. Reports and
    /// bundles that were written of a run stay
    #[arg(value_name = "RUN", required = true, value_parser = NonEmptyStringValueParser::new())]
    runs: Vec<String>,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    // Nothing to forget is no reason to make a database.
    let chosen = {
        let store = open_store(places)?;
        let ids: Vec<String> =
            options.runs.iter().map(|name| store.resolve(name)).collect::<Result<_>>()?;
        let all = store.runs()?;
        all.into_iter().filter(|known| ids.contains(&known.id)).collect::<Vec<RunSummary>>()
    };
    let mut store = open_store_to_write(places)?;
    // Only what is not finished can be what is being raced.
    let unfinished = chosen.iter().find(|known| known.finished_at.is_none());
    let _lease = match unfinished {
        Some(known) => Some(Lease::take(store.path()).with_context(|| {
            format!("the run {} is not finished and may be raced right now", known.id)
        })?),
        None => None,
    };
    let ids: Vec<String> = chosen.iter().map(|known| known.id.clone()).collect();
    store.forget(&ids)?;
    for known in &chosen {
        let text = format!("Forgotten: {}", listing::run(known));
        say(&listing::wrapped(&text, columns()))?;
    }
    Ok(ExitCode::SUCCESS)
}
