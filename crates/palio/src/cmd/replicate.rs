//! `palio replicate`: a suite beside the document that it comes from.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::project::{Project, explain_misses, open_store};
use super::report;
use super::run::{self, After, write_file};
use super::{Places, colour, columns, import, say};
use crate::published::Document;
use crate::report::table::{self, Format, Table};
use crate::report::{Report, html, json, replication, summary, terminal};

#[derive(Debug, Args)]
#[group(skip)]
// What is raced is the document's suite; a resumed run is shown by its id.
#[command(
    mut_arg("suite", |arg| arg.index(1).required(true).help("The suite of the document: nio, runtime-benchmarks, go-rust-channels, yaay or smarm")),
    mut_arg("workload", |arg| arg.hide(true)),
    mut_arg("resume", |arg| arg.hide(true)),
    mut_arg("other_catalogue", |arg| arg.requires("bundle"))
)]
pub(super) struct Options {
    #[command(flatten)]
    run: run::Options,
    /// A stored run instead of a new one: its id, the beginning of it, or `latest`
    #[arg(index = 2, value_name = "RUN", conflicts_with_all = run::OF_A_RACE)]
    stored: Option<String>,
    /// The run of this bundle instead of a new one; no database is touched
    #[arg(long, value_name = "FILE", conflicts_with = "stored", conflicts_with_all = run::OF_A_RACE)]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    leniency: import::Leniency,
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t = Format::Terminal, conflicts_with = "json")]
    format: Format,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    options.run.check_unused("replicate", false)?;
    let project = Project::load(places)?;
    let suite = options.run.suite().context("which suite is to be replicated?")?;
    let document = document(&project, suite)?;
    let stored = match (&options.bundle, &options.stored) {
        (Some(file), _) => import::read(file, &options.leniency, places)?,
        (None, Some(name)) => {
            let store = open_store(places)?;
            store.load(&store.resolve(name)?)?
        }
        (None, None) => {
            let beside = |report: &mut Report| {
                report.replication = Some(replication::of(report, document));
            };
            let table = Some((Table::Replication, options.format));
            return run::measure_and_report(&options.run, places, After { table, beside: &beside });
        }
    };
    let mut report = summary::report(&stored);
    ensure!(
        document
            .tables
            .iter()
            .flat_map(|table| &table.rows)
            .any(|row| { report.races.iter().any(|race| race.workload == row.workload) }),
        "the run {} has no row of the suite {suite}",
        report.run.id
    );
    report.replication = Some(replication::of(&report, document));
    explain_misses(&mut report, places)?;
    if let Some(path) = options.run.html() {
        write_file(path, &html::render(&report))?;
    }
    if options.run.json() {
        say(&json::render(&report))?;
        return Ok(ExitCode::SUCCESS);
    }
    if options.format == Format::Csv {
        report::beside_rows(&report);
    }
    let paper = terminal::Options { width: columns(), color: colour() };
    say(&table::render(&report, Table::Replication, options.format, paper)?)?;
    Ok(ExitCode::SUCCESS)
}

fn document<'a>(project: &'a Project, suite: &str) -> Result<&'a Document> {
    project.catalogue.suite(suite)?;
    let Some(document) = project.published.of(suite) else {
        let known: Vec<&str> =
            project.published.documents.iter().map(|document| document.suite.as_str()).collect();
        bail!(
            "nothing is published of the suite {suite:?}; there are documents of: {}",
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        );
    };
    Ok(document)
}
