//! `palio import`: a run from a JSON bundle.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use super::project::open_store;
use super::{Places, say};
use crate::store;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The bundle to read; `-` is standard input
    file: PathBuf,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let text = if options.file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin()).context("cannot read standard input")?
    } else {
        std::fs::read_to_string(&options.file)
            .with_context(|| format!("cannot read {}", options.file.display()))?
    };
    let run = store::import(&text)
        .with_context(|| format!("cannot import {}", options.file.display()))?;
    open_store(places)?.insert(&run)?;
    say(&format!("imported the run {}", run.header.id))?;
    Ok(ExitCode::SUCCESS)
}
