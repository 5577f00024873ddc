//! `palio export`: a run as a bundle.

use std::io::BufWriter;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::Args;

use super::project::{database, open_store, root};
use super::{Places, note, say, whole_file};
use crate::record::RunRecord;
use crate::store::{self, Store};
use crate::thin;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The run: its id, the beginning of it, or `latest`
    run: String,
    /// The bundle to write, compressed if its name ends in `.gz`; `-` is standard output
    file: PathBuf,
    /// Keep at most N measured samples of each process, evenly spaced in the order of execution,
    /// and no warm-up, and name executables from the project's folder on. Reports of such a
    /// bundle say so
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(i64::from(thin::MOST_MIN)..))]
    thin: Option<u32>,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let mut run = stored(&options.run, places)?;
    if let Some(most) = options.thin {
        thin::thin(&mut run, most);
        // Of no use to who reads it elsewhere, and nobody's business.
        if let Ok(root) = root(places).and_then(|root| Ok(root.canonicalize()?)) {
            thin::without_folder(&mut run, &root);
        }
    }
    if options.file.as_os_str() == "-" {
        store::export(&run, BufWriter::new(std::io::stdout().lock()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let packed = options.file.extension().is_some_and(|ending| ending == "gz");
    whole_file::write(&options.file, |file| {
        if packed { store::export_packed(&run, file) } else { store::export(&run, file) }
    })?;
    say(&format!("wrote {}", options.file.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// A run of the database, whatever became of the others.
fn stored(name: &str, places: &Places) -> Result<RunRecord> {
    let error = match open_store(places) {
        Ok(store) => return store.load(&store.resolve(name)?),
        Err(error) => error,
    };
    let run =
        Store::salvage(&database(places)?, name).map_err(|why| anyhow!("{error:#}. {why:#}"))?;
    note(&format!(
        "{error:#}. What was read of the run {} keeps the rules of a bundle",
        run.header.id
    ));
    Ok(run)
}
