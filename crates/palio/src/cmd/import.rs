//! `palio import`: a run from a bundle.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use super::project::{catalogue, open_store_to_write};
use super::{Places, say};
use crate::record::RunRecord;
use crate::store::Store;
use crate::workload::Catalogue;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The bundle to read, compressed with gzip or not; `-` is standard input
    file: PathBuf,
    /// Take it also where workloads are not what the catalogue here says: the run of a Palio that
    /// had another one
    #[arg(long)]
    other_catalogue: bool,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let catalogue = if options.other_catalogue { None } else { catalogue(places)? };
    let id = import(&options.file, &mut open_store_to_write(places)?, catalogue.as_ref())?;
    say(&format!("imported the run {id}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the run of a bundle, of whatever catalogue.
pub(super) fn read(file: &Path) -> Result<RunRecord> {
    let mut store = Store::in_memory()?;
    let id = import(file, &mut store, None)?;
    store.load(&id)
}

fn import(file: &Path, store: &mut Store, catalogue: Option<&Catalogue>) -> Result<String> {
    let name = file.display();
    if file.as_os_str() == "-" {
        return store
            .import(std::io::stdin().lock(), catalogue)
            .context("cannot import from standard input");
    }
    let opened = File::open(file).with_context(|| format!("cannot read {name}"))?;
    store.import(opened, catalogue).with_context(|| format!("cannot import {name}"))
}
