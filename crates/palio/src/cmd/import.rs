//! `palio import`: a run from a bundle.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use super::project::{here, open_store_to_write};
use super::{Places, say};
use crate::audit::Here;
use crate::record::RunRecord;
use crate::store::Store;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The bundle to read, compressed with gzip or not; `-` is standard input
    file: PathBuf,
    #[command(flatten)]
    leniency: Leniency,
}

/// What every verb takes that reads bundles.
#[derive(Debug, Args)]
pub(super) struct Leniency {
    /// Take a bundle also where its workloads or contenders are not what the catalogue here says:
    /// the run of a Palio that had another one. The warnings of the run say what differs
    #[arg(long)]
    other_catalogue: bool,
}

impl Leniency {
    /// What a bundle is held against.
    fn here(&self, places: &Places) -> Result<Here> {
        here(places, self.other_catalogue)
    }
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let here = options.leniency.here(places)?;
    let id = import(&options.file, &mut open_store_to_write(places)?, &here)?;
    say(&format!("imported the run {id}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the run of a bundle by the rules of an import; no database is touched.
pub(super) fn read(file: &Path, leniency: &Leniency, places: &Places) -> Result<RunRecord> {
    let mut store = Store::in_memory()?;
    let id = import(file, &mut store, &leniency.here(places)?)?;
    store.load(&id)
}

fn import(file: &Path, store: &mut Store, here: &Here) -> Result<String> {
    let name = file.display();
    if file.as_os_str() == "-" {
        return store
            .import(std::io::stdin().lock(), Some(here))
            .context("cannot import from standard input");
    }
    let opened = File::open(file).with_context(|| format!("cannot read {name}"))?;
    store.import(opened, Some(here)).with_context(|| format!("cannot import {name}"))
}
