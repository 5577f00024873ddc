//! `palio baseline`: runs under a name, and whether a later one is slower.

use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::{Args, Subcommand};

use super::project::{open_store, open_store_to_write};
use super::{Places, columns, columns_or, gate, note, say, say_json};
use crate::contender::is_name;
use crate::machine;
use crate::record::RunRecord;
use crate::report::comparison;
use crate::report::listing;
use crate::runner::race::timestamp;
use crate::stats::MIN_BLOCKS;
use crate::store::{Baseline, Store};

#[derive(Debug, Subcommand)]
pub(super) enum Options {
    /// Save a run as a baseline
    Save(Save),
    /// List baselines
    List {
        /// As a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Forget a baseline; its run stays
    Remove {
        /// Its name
        name: String,
    },
    /// Check a run against a baseline: exit with status 1 if anything became slower
    Check(Check),
}

#[derive(Debug, Args)]
pub(super) struct Save {
    /// Its name
    name: String,
    /// The run: its id, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    run: String,
    /// A contender of the run that will not change: all times are divided by its own when the
    /// baseline is checked
    #[arg(long, value_name = "CONTENDER")]
    anchor: Option<String>,
    /// In the place of the baseline of that name
    #[arg(long)]
    replace: bool,
}

#[derive(Debug, Args)]
pub(super) struct Check {
    /// The name of the baseline
    name: String,
    /// The run that is checked: its id, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    run: String,
    /// How much slower a contender may be, in percent. Beyond it, it must be slower than the noise
    /// of both runs explains
    #[arg(long, value_name = "PERCENT", value_parser = gate::percent)]
    threshold: f64,
    /// A contender that raced in both runs and has not changed [default: the one that was saved
    /// with the baseline]
    #[arg(long, value_name = "CONTENDER")]
    anchor: Option<String>,
    /// Also against a run of another machine, or one that is not finished
    #[arg(long)]
    force: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    match options {
        Options::Save(options) => save(options, places),
        Options::List { json } => list(*json, places),
        Options::Remove { name } => {
            let removed = open_store_to_write(places)?.remove_baseline(name)?;
            let text = format!("The baseline {name} is forgotten; its run {} stays.", removed.run);
            say(&listing::wrapped(&text, columns()))?;
            Ok(ExitCode::SUCCESS)
        }
        Options::Check(options) => check(options, places),
    }
}

fn save(options: &Save, places: &Places) -> Result<ExitCode> {
    let name = &options.name;
    ensure!(
        is_name(name),
        "{name:?} is no name: it may only have letters, digits, `-`, `_` and `.`, and may not start with `-` or `.`"
    );
    // Nothing to save is no reason to make a database.
    let run = {
        let store = open_store(places)?;
        store.load(&store.resolve(&options.run)?)?
    };
    let id = &run.header.id;
    ensure!(
        run.header.finished_at.is_some(),
        "the run {id} is not finished, and what is missing could never be checked: `palio run --resume {id}`"
    );
    if let Some(anchor) = &options.anchor {
        check_anchor(&run, anchor)?;
    }
    let baseline = Baseline {
        name: name.clone(),
        run: id.clone(),
        anchor: options.anchor.clone(),
        saved_at: timestamp(),
    };
    open_store_to_write(places)?.save_baseline(&baseline, options.replace)?;
    say(&listing::wrapped(&format!("The run {id} is the baseline {name}."), columns()))?;
    let blocks = run.header.blocks;
    if (blocks as usize) < MIN_BLOCKS && run.header.until_floor.is_none() {
        note(&format!(
            "palio: the run has {blocks} block(s), and a check against it will be refused: nothing can be judged by \
             fewer than {MIN_BLOCKS}; race again with more `--blocks`, and save that with --replace"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn check_anchor(run: &RunRecord, anchor: &str) -> Result<()> {
    if run.contender(anchor).is_some_and(|contender| contender.absent.is_none()) {
        return Ok(());
    }
    bail!(
        "the anchor {anchor} did not race in the run {}; those that did: {}",
        run.header.id,
        raced(run).join(", ")
    );
}

fn raced(run: &RunRecord) -> Vec<&str> {
    let ready = run.contenders.iter().filter(|contender| contender.absent.is_none());
    ready.map(|contender| contender.id.as_str()).collect()
}

fn list(as_json: bool, places: &Places) -> Result<ExitCode> {
    let baselines = open_store(places)?.baselines()?;
    if as_json {
        say_json(&baselines)?;
    } else if baselines.is_empty() {
        let text =
            "There is no baseline yet: `palio baseline save NAME` saves the latest run as one.";
        say(&listing::wrapped(text, columns()))?;
    } else {
        say(&listing::baselines(&baselines, columns_or(usize::MAX)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(options: &Check, places: &Places) -> Result<ExitCode> {
    let store = open_store(places)?;
    let baseline = store.baseline(&options.name)?;
    let (a, b) = (store.load(&baseline.run)?, load(&store, &options.run)?);
    let name = &options.name;
    ensure!(
        a.header.id != b.header.id,
        "the run {} is the baseline {name} itself: race again first, or name another run",
        b.header.id
    );
    let reasons = reasons_against(&a, &b);
    if !reasons.is_empty() && !options.force {
        bail!(
            "the baseline {name} says nothing of the run {}: {}; --force compares them all the same",
            b.header.id,
            reasons.join("; ")
        );
    }
    for reason in &reasons {
        note(&format!("palio: forced, although {reason}"));
    }
    let Some(anchor) = options.anchor.as_ref().or(baseline.anchor.as_ref()) else {
        let both: Vec<&str> = raced(&a).into_iter().filter(|id| raced(&b).contains(id)).collect();
        bail!(
            "a check needs an anchor, or a slower machine looks like a slower contender: --anchor CONTENDER, one that \
             has not changed; in both runs raced: {}",
            if both.is_empty() { "none".to_owned() } else { both.join(", ") }
        );
    };
    check_anchor(&a, anchor)?;
    check_anchor(&b, anchor)?;
    let comparison = comparison::compare(&a, &b, Some(anchor))?;
    gate::conclude(&comparison, Some(options.threshold), options.json)
}

fn load(store: &Store, name: &str) -> Result<RunRecord> {
    store.load(&store.resolve(name)?)
}

/// Why a difference between the two runs would say nothing about contenders, each a reason.
fn reasons_against(a: &RunRecord, b: &RunRecord) -> Vec<String> {
    let (before, after) = (&a.header.machine, &b.header.machine);
    let mut reasons = Vec::new();
    if before.fingerprint != after.fingerprint {
        let differences = machine::differences(before, after);
        let told = if differences.is_empty() {
            "what is known of both is the same, and it was read in another way".to_owned()
        } else {
            differences.join(", ")
        };
        reasons.push(format!(
            "it was raced on another machine (fingerprint {} and now {}): {told}",
            before.fingerprint, after.fingerprint
        ));
    }
    if b.header.finished_at.is_none() {
        reasons.push(format!("the run {} is not finished", b.header.id));
    }
    reasons
}
