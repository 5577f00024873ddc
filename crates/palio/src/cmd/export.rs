//! `palio export`: a run as a JSON bundle.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use super::project::open_store;
use super::{Places, say};
use crate::store;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The run: its id, the beginning of it, or `latest`
    run: String,
    /// The bundle to write; `-` is standard output
    file: PathBuf,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let store = open_store(places)?;
    let bundle = store::export(&store.load(&store.resolve(&options.run)?)?)?;
    if options.file.as_os_str() == "-" {
        say(&bundle)?;
    } else {
        std::fs::write(&options.file, bundle)
            .with_context(|| format!("cannot write {}", options.file.display()))?;
        say(&format!("wrote {}", options.file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
