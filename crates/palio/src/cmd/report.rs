//! `palio report`: a stored run in any format.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::project::open_store;
use super::run::write_file;
use super::{Places, colour, columns, say};
use crate::report::headline::Headline;
use crate::report::{csv, holm, html, json, markdown, summary, terminal};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The run: its id, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    run: String,
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// Only this: the contender against the best of all others, over all races of the run
    #[arg(long, value_name = "CONTENDER", conflicts_with = "format")]
    headline: Option<String>,
    /// A contender that is none of the others, such as another variant of the same runtime
    #[arg(long, value_name = "CONTENDER", value_delimiter = ',', requires = "headline")]
    without: Vec<String>,
    /// Take back every verdict that does not stand after Holm's correction for all comparisons of
    /// the run. Headlines are not corrected
    #[arg(long, conflicts_with = "headline")]
    holm: bool,
    /// Write it there instead of to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Terminal,
    /// Tables to paste, in the shape of the reference documents
    Markdown,
    /// One file that opens from disk
    Html,
    /// As `docs/report.schema.json` says
    Json,
    /// A row for each contender in each race
    Csv,
    /// A row for each sample
    CsvSamples,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let store = open_store(places)?;
    let mut report = summary::report(&store.load(&store.resolve(&options.run)?)?);
    if options.holm {
        holm::correct(&mut report);
    }
    let to_terminal = options.output.is_none();
    let text = match options.format {
        _ if options.headline.is_some() => {
            let contender = options.headline.as_deref().unwrap_or_default();
            Headline::of(&report, contender, &options.without)?.text()
        }
        Format::Terminal => terminal::render(
            &report,
            terminal::Options { width: columns(), color: to_terminal && colour() },
        ),
        Format::Markdown => markdown::render(&report),
        Format::Html => html::render(&report),
        Format::Json => json::render(&report),
        Format::Csv => csv::entries(&report),
        Format::CsvSamples => csv::samples(&report),
    };
    match &options.output {
        Some(path) => write_file(path, &text)?,
        None => say(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}
