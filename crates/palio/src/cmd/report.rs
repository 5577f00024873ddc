//! `palio report`: a stored run in any format.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use super::project::{Project, explain_misses, open_store};
use super::run::write_file;
use super::{Places, colour, columns, import, note, say};
use crate::contender::{Contender, Kind};
use crate::report::headline::Headline;
use crate::report::selection::{self, Choice};
use crate::report::table::{self, Table};
use crate::report::{Report, csv, document, holm, html, json, markdown, picture, terminal};

#[derive(Debug, Args)]
#[command(mut_arg("other_catalogue", |arg| arg.requires("bundle")))]
pub(super) struct Options {
    /// The run: its id, the beginning of it, or `latest`
    #[arg(default_value = "latest")]
    run: String,
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// As --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// The run of this bundle instead of a stored one; no database is touched
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    leniency: import::Leniency,
    /// Only this: the contenders, or `all` that are ranked, each against the best of all others
    /// over all races of the run; as text or as JSON
    #[arg(long, value_name = "CONTENDER", value_delimiter = ',')]
    headline: Vec<String>,
    /// A contender that is none of the others, such as another variant of the same runtime. One of
    /// the catalogue that is not in the run is told and changes nothing
    #[arg(long, value_name = "CONTENDER", value_delimiter = ',', requires = "headline")]
    without: Vec<String>,
    /// Only these contenders; ranks, firsts, means and headlines are computed over what is shown
    #[arg(long, value_name = "CONTENDER", value_delimiter = ',')]
    only: Vec<String>,
    /// All contenders but these
    #[arg(long, value_name = "CONTENDER", value_delimiter = ',')]
    except: Vec<String>,
    /// Only races that every contender that is shown completed. One that was not built counts only
    /// where `--only` names it
    #[arg(long)]
    intersection: bool,
    /// Take back every verdict that does not stand after Holm's correction for all comparisons of
    /// the run. Headlines are not corrected
    #[arg(long, conflicts_with = "headline")]
    holm: bool,
    /// Only this table, as text, Markdown, CSV or JSON
    #[arg(long, value_enum, conflicts_with = "headline")]
    table: Option<Table>,
    /// Write it there; `-` is standard output, as without this
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Terminal,
    /// Tables to paste, in the shape of the reference documents
    Markdown,
    /// The tables of the suite's reference document as it prints them: only its systems, a dash
    /// where one was not measured
    Document,
    /// One file that opens from disk
    Html,
    /// A picture of all ratios to the best, for a README
    Svg,
    /// As `docs/report.schema.json` says
    Json,
    /// A row for each contender in each race; a text that a spreadsheet would take for a formula
    /// begins with a single quote
    Csv,
    /// A row for each sample of the variant that is shown, failures too; `show --samples` has the
    /// others, and the shadows
    CsvSamples,
}

impl Format {
    fn of_table(self) -> Result<table::Format> {
        match self {
            Self::Terminal => Ok(table::Format::Terminal),
            Self::Markdown => Ok(table::Format::Markdown),
            Self::Csv => Ok(table::Format::Csv),
            Self::Json => Ok(table::Format::Json),
            Self::Document | Self::Html | Self::Svg | Self::CsvSamples => {
                bail!(
                    "a table is printed as terminal, markdown, csv or json; the HTML report has all of them"
                )
            }
        }
    }
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let run = match &options.bundle {
        Some(file) => import::read(file, &options.leniency, places)?,
        None => {
            let store = open_store(places)?;
            store.load(&store.resolve(&options.run)?)?
        }
    };
    let choice = Choice {
        only: options.only.clone(),
        except: options.except.clone(),
        intersection: options.intersection,
    };
    let mut report = selection::report(&run, &choice)?;
    explain_misses(&mut report, places)?;
    if options.holm {
        holm::correct(&mut report);
    }
    let format = if options.json { Format::Json } else { options.format };
    let file = options.output.as_deref().filter(|path| path.as_os_str() != "-");
    let to_terminal = file.is_none();
    let paper = terminal::Options { width: columns(), color: to_terminal && colour() };
    let text = match format {
        _ if !options.headline.is_empty() => headlines(options, format, &report, places)?,
        format if let Some(table) = options.table => {
            table::render(&report, table, format.of_table()?, paper)?
        }
        Format::Terminal => terminal::render(&report, paper),
        Format::Markdown => markdown::render(&report),
        Format::Document => document::render(&report, &Project::load(places)?.published)?,
        Format::Html => html::render(&report),
        Format::Svg => picture::render(&report),
        Format::Json => json::render(&report),
        Format::Csv => csv::entries(&report),
        Format::CsvSamples => csv::samples(&report),
    };
    // Rows have no room to say it in.
    if matches!(format, Format::Csv | Format::CsvSamples) && options.headline.is_empty() {
        beside_rows(&report);
    }
    match file {
        Some(path) => write_file(path, &text)?,
        None => say(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what a reader of its rows must know of a run.
pub(super) fn beside_rows(report: &Report) {
    for text in table::beside(report) {
        note(&text);
    }
}

/// The contenders of the run that `--without` names. One that could have been in it has nothing to
/// be left out of, as where one command asks for the headlines of several runs; a name that nobody
/// has is refused.
fn without(options: &Options, report: &Report, places: &Places) -> Result<Vec<String>> {
    let is_there = |id: &String| report.contenders.iter().any(|known| known.id == *id);
    let (there, absent): (Vec<String>, Vec<String>) =
        options.without.iter().cloned().partition(is_there);
    if !absent.is_empty() {
        let missing = |id: &String| format!("{id} is not in the run {}", report.run.id);
        let project = Project::load(places).with_context(|| missing(&absent[0]))?;
        for id in &absent {
            let base = id.split('@').next().unwrap_or(id);
            Contender::find(&project.contenders, base).with_context(|| missing(id))?;
            note(&format!("palio: {}, so that --without leaves nobody out", missing(id)));
        }
    }
    Ok(there)
}

fn headlines(
    options: &Options,
    format: Format,
    report: &Report,
    places: &Places,
) -> Result<String> {
    let without = without(options, report, places)?;
    let ids: Vec<&str> = if options.headline == ["all"] {
        let ranked = report.contenders.iter().filter(|known| known.kind != Kind::Baseline);
        ranked
            .map(|known| known.id.as_str())
            .filter(|id| !without.iter().any(|other| other == id))
            .collect()
    } else {
        options.headline.iter().map(String::as_str).collect()
    };
    let headlines = ids.iter().map(|id| Headline::of(report, id, &without));
    let headlines = headlines.collect::<Result<Vec<_>>>()?;
    match format {
        Format::Json => Ok(json::headlines(report, &headlines)),
        Format::Terminal | Format::Markdown => {
            let texts: Vec<String> = headlines.iter().map(|h| h.text(&report.run)).collect();
            Ok(texts.join("\n"))
        }
        Format::Document | Format::Html | Format::Svg | Format::Csv | Format::CsvSamples => {
            bail!("a headline is printed as text or as JSON")
        }
    }
}
