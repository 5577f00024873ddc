//! `palio compare`: the same cells in two runs.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::list::table;
use super::project::open_store;
use super::{EXIT_CHECK_FAILED, Places, say};
use crate::report::comparison::{self, Change};

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
        for warning in &comparison.warnings {
            say(&format!("Beware: {warning}"))?;
        }
        let ratio = match &options.anchor {
            Some(anchor) => format!("B ÷ A, by {anchor}"),
            None => "B ÷ A".to_owned(),
        };
        let heads = ["workload", "threads", "contender", &ratio, "95 %", "floor", "verdict"];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        rows.extend(comparison.changes.iter().map(row));
        say(&table(&rows))?;
        if options.anchor.is_none() {
            say("Without --anchor CONTENDER a slower machine looks like a slower contender.")?;
        }
        say(&comparison.tally())?;
    }
    let limit = options.fail_above.map(|percent| 1.0 + percent / 100.0);
    let regressed =
        limit.is_some_and(|limit| comparison.changes.iter().any(|change| change.regressed(limit)));
    Ok(if regressed { ExitCode::from(EXIT_CHECK_FAILED) } else { ExitCode::SUCCESS })
}

fn row(change: &Change) -> Vec<String> {
    let bound =
        |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| format!("{value:.3}"));
    let (ratio, interval) = match &change.ratio {
        Some(ratio) => {
            (format!("{:.3}", ratio.point), format!("[{}, {}]", bound(ratio.lo), bound(ratio.hi)))
        }
        None => ("-".to_owned(), "-".to_owned()),
    };
    vec![
        change.workload.clone(),
        change.threads.to_string(),
        change.contender.clone(),
        ratio,
        interval,
        change.noise_floor.map_or_else(|| "unknown".to_owned(), |floor| format!("{floor:.3}")),
        change.note.clone(),
    ]
}
