//! `palio import`: a run from a bundle.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use super::project::open_store;
use super::{Places, say};
use crate::record::RunRecord;
use crate::store;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The bundle to read, compressed with gzip or not; `-` is standard input
    file: PathBuf,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let run = read(&options.file)?;
    open_store(places)?.insert(&run)?;
    say(&format!("imported the run {}", run.header.id))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the run of a bundle.
pub(super) fn read(file: &Path) -> Result<RunRecord> {
    let name = file.display();
    let text = if file.as_os_str() == "-" {
        store::unpack(std::io::stdin().lock()).context("cannot read standard input")?
    } else {
        let opened = File::open(file).with_context(|| format!("cannot read {name}"))?;
        store::unpack(opened).with_context(|| format!("cannot read {name}"))?
    };
    store::import(&text).with_context(|| format!("cannot import {name}"))
}
