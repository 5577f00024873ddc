//! `palio run`: race, store, report.

mod resume;
mod selection;
mod verb;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;

use super::progress::Watcher;
use super::project::{Project, explain_misses, open_store_to_write};
use super::stable::Stalls;
use super::{
    EXIT_INTERRUPTED, Places, colour, columns, interruption, note, say, say_whole, warden,
    whole_file,
};
use crate::budget::Budgets;
use crate::machine::{self, CpuClock};
use crate::neighbours::Neighbours;
use crate::plan::Shadows;
use crate::record::RunRecord;
use crate::report::table::{self, Table};
use crate::report::{Report, html, json, summary, terminal};
use crate::runner::race::{self, Course, End, timestamp};
use crate::runner::warden::take_unended;
use crate::runner::{children_cpu_s, own_cpu_s};
use crate::stats::MIN_FLOOR;
use crate::store::{Lease, Store};
use crate::workload::Preset;
use resume::check_unchanged;
use selection::{Selection, nobody_can_race};
pub(super) use verb::{Planned, Verb, planned, races};

const TIMEOUT_S: u64 = 120;
const MEMORY_MIB: u64 = 8192;
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The suite to race; `palio list suites` shows them [default: quick]
    #[arg(conflicts_with = "workload")]
    suite: Option<String>,
    /// A contender to race, as `[NAME=]ID[@KNOB=VALUE]…`; several with commas between them
    /// [default: all that can be built]. `ID@version=1.45.0` is the contender with that release of
    /// its runtime, and `ID@path=../tokio` with a working copy of it, such as
    /// tokio-mt@version=1.45.0,tokio-mt@path=../tokio,tokio-mt
    #[arg(short, long, value_name = "CONTENDER", value_delimiter = ',')]
    contender: Vec<String>,
    /// Every contender with this allocator, such as mimalloc: as its variant of that name, unless
    /// its runtime brings an allocator of its own (Go)
    #[arg(long, value_name = "NAME")]
    allocator: Option<String>,
    /// A workload (or a family of them) to race instead of a suite; several with commas between
    /// them
    #[arg(short, long, value_name = "WORKLOAD", value_delimiter = ',')]
    workload: Vec<String>,
    /// Numbers of worker threads instead of the preset's, such as 1,2,4
    #[arg(short, long, value_name = "N", value_delimiter = ',')]
    threads: Vec<u32>,
    /// Which sizes: quick (seconds), native (the documents' sizes on this machine's cores),
    /// published (as printed)
    #[arg(long, value_enum)]
    preset: Option<Preset>,
    /// Blocks: processes of every contender in every race [default: 5 for quick, 15 otherwise]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    blocks: Option<u32>,
    /// Go on with a race, two blocks at a time, until the reference and its shadow differ by no
    /// more than this many percent at 95 %, or --blocks-max is reached
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    until_floor: Option<f64>,
    /// The most blocks of a race with --until-floor [default: four times --blocks]
    #[arg(long, value_name = "N", requires = "until_floor", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    blocks_max: Option<u32>,
    /// Repeat a block in which others (processes, other guests) took more than this many percent of
    /// the machine's CPU time; 100 repeats none [default: 5, and none for quick]
    #[arg(long, value_name = "PERCENT", value_parser = outside_percent)]
    outside_max: Option<f64>,
    /// The most blocks of a race that are repeated so [default: a third of --blocks]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10_000))]
    repeats_max: Option<u32>,
    /// Hold each contender to the CPU time of as many processors as the race has threads, all its
    /// processes and helper threads together, by a quota of a control group: `both` races each
    /// workload with and without, `only` (or nothing) with
    #[arg(long, value_name = "TRACKS", num_args = 0..=1, require_equals = true, default_missing_value = "only", value_enum)]
    cpu_budget: Option<Budgets>,
    /// Seed of the order of contenders [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// The contender that all others are compared to [default: in each race, the first that takes
    /// part of tokio-mt, tokio-ct, go, smol (async), or of rayon, onetbb, openmp, go, serial
    /// (fork-join); where none of these does, the first contender]
    #[arg(long, value_name = "CONTENDER")]
    reference: Option<String>,
    /// Who runs twice in every block, once as its own shadow
    #[arg(long, value_enum, default_value_t = Shadows::Reference)]
    shadow: Shadows,
    /// Milliseconds of measured samples in one invocation, on average over the contenders of a race
    /// [default: 120 for quick (60 in the suite `full`), 1000 otherwise]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    budget: Option<u64>,
    /// Milliseconds for which an invocation warms up before that, with one sample at least
    /// [default: 30 for quick, 500 otherwise]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(0..=600_000))]
    warm_up: Option<u64>,
    /// No warm-up: the first sample of each process counts. Where an iteration takes a minute, it
    /// is the only one
    #[arg(long, conflicts_with = "warm_up")]
    cold: bool,
    /// Measured samples of each process, of one iteration each, instead of as many as fit into a
    /// budget. There are no pilots then: where an iteration takes minutes, `--cold --samples 1`
    /// has each process do one
    #[arg(long, value_name = "N", conflicts_with_all = ["budget", "cpu_budget"], value_parser = clap::value_parser!(u32).range(1..=10_000))]
    samples: Option<u32>,
    /// Seconds after which an invocation is killed
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT_S, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// MiB of memory beyond which an invocation is killed
    #[arg(long, value_name = "MIB", default_value_t = MEMORY_MIB, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    memory: u64,
    /// Go on with an interrupted run: its id, or the latest unfinished one
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["suite", "workload"], conflicts_with_all = OF_A_RACE)]
    resume: Option<Option<String>>,
    /// Print the report as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Where the HTML report goes [default: reports/RUN.html beside the database]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// No progress on standard error
    #[arg(short, long)]
    quiet: bool,
    /// The other verb that this race is made for, if any.
    #[arg(skip)]
    pub(super) verb: Option<Verb>,
    /// Those that it adds to what the user named.
    #[arg(skip)]
    pub(super) more_contenders: Vec<String>,
}

/// Options that say how a race is raced, and have no effect on one that is stored.
pub(super) const OF_A_RACE: [&str; 19] = [
    "contender",
    "allocator",
    "threads",
    "preset",
    "blocks",
    "until_floor",
    "blocks_max",
    "outside_max",
    "repeats_max",
    "cpu_budget",
    "seed",
    "reference",
    "shadow",
    "budget",
    "warm_up",
    "cold",
    "samples",
    "timeout",
    "memory",
];

/// `5` or `5%`: a noise floor that can be reached.
fn percent(text: &str) -> Result<f64, String> {
    let least = (MIN_FLOOR - 1.0) * 100.0;
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent > least => Ok(percent),
        _ => Err(format!(
            "a number of percent above {least:.0} is needed: no smaller floor is ever claimed"
        )),
    }
}

/// `5` or `5%`: a share of all CPU time.
fn outside_percent(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("a number of percent from 0 to 100 is needed".to_owned()),
    }
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    measure_and_report(options, places, None.into())
}

/// What becomes of a run that was measured.
pub(super) struct After<'a> {
    /// What is printed, if not the whole report.
    pub(super) table: Option<(Table, table::Format)>,
    /// Puts beside the report what does not come from the run.
    pub(super) beside: &'a dyn Fn(&mut Report),
}

impl From<Option<(Table, table::Format)>> for After<'_> {
    fn from(table: Option<(Table, table::Format)>) -> Self {
        Self { table, beside: &|_| () }
    }
}

/// Races what the options say, and prints the whole report or one table of it.
pub(super) fn measure_and_report(
    options: &Options,
    places: &Places,
    after: After<'_>,
) -> Result<ExitCode> {
    let (store, run, end) = measure(options, places)?;
    finish(options, places, &store, &run, end, after)
}

/// Races what the options say and stores it, to the end or until the user interrupts it.
pub(super) fn measure(options: &Options, places: &Places) -> Result<(Store, RunRecord, End)> {
    // Whatever was measured is stored already when a second signal ends Palio at once.
    let interrupted = interruption::listen()?;
    warden::check()?;
    let project = Project::load(places)?;
    options.html.as_deref().map_or(Ok(()), whole_file::check)?;
    let mut store;
    let mut lease;
    let mut run;
    let mut stable;
    let mut is_stored;
    match &options.resume {
        Some(name) => {
            store = open_store_to_write(places)?;
            lease = Lease::take(store.path())?;
            let id = match name {
                Some(name) => store.resolve(name)?,
                None => store.latest_unfinished()?,
            };
            run = store.load(&id)?;
            stable = check_unchanged(&project, &run, options.quiet, &interrupted)?;
            is_stored = true;
            if !run.is_finished() {
                run.header.resumed_at.push(timestamp());
                store.update_header(&run.header)?;
            }
        }
        None => {
            // Bad input is refused before anything is built, and a database that cannot be written
            // before anything is raced.
            let selection = Selection::of(&project, options)?;
            store = open_store_to_write(places)?;
            lease = Lease::take(store.path())?;
            stable = Stalls::new(selection.choices.clone(), &interrupted);
            run = selection.lay_out(options)?;
            stable.ready_turned(&mut run)?;
            is_stored = false;
        }
    }

    let neighbours = Neighbours::enter(store.path());
    for neighbour in neighbours.before() {
        note(&format!(
            "palio: {neighbour} races on this machine now: the two will disturb each other. Stop one \
             of them, or race again later"
        ));
    }
    // Told at once, too: a run that is killed says nothing at its end.
    if tell_of(&neighbours, &mut run) && is_stored {
        store.update_header(&run.header)?;
    }

    let clock = CpuClock::now();
    let cpu_before_s = children_cpu_s() + own_cpu_s();
    let mut watcher = Watcher::new(options.quiet);
    let id = run.header.id.clone();
    let stopped = |error: anyhow::Error| {
        anyhow!(
            "{error:#}. The run {id} had to stop; all that it measured before is stored, and `palio run --resume {id}` \
             goes on once this is put right"
        )
    };
    let course = Course {
        store: &mut store,
        lease: &mut lease,
        stable: &mut stable,
        progress: &mut watcher,
        interrupted: &interrupted,
    };
    let end = race::race(&mut run, &mut is_stored, course);
    watcher.finish();
    if !is_stored {
        // Nothing was measured, so there is nothing to keep.
        end?;
        interruption::check(&interrupted)?;
        bail!("{}", nobody_can_race(&run.races));
    }
    let end = end.map_err(stopped)?;
    if let (Some(before), Some(after)) = (clock, CpuClock::now()) {
        let own_s = children_cpu_s() + own_cpu_s() - cpu_before_s;
        run.header.warnings.extend(machine::running_warnings(&after.since(&before), own_s));
    }
    tell_of(&neighbours, &mut run);
    // Of the last process.
    if let Some(warning) = take_unended() {
        note(&format!("palio: {warning}"));
        run.header.warnings.push(warning);
    }
    if end == End::Finished {
        run.header.finished_at = Some(timestamp());
    }
    store.update_header(&run.header).map_err(stopped)?;
    Ok((store, run, end))
}

/// Warns of those that raced beside a run, once; whether it has now.
fn tell_of(neighbours: &Neighbours, run: &mut RunRecord) -> bool {
    let warning = "Another palio raced on this machine during this run: the two disturbed each \
                   other. Race again alone.";
    let warnings = &mut run.header.warnings;
    let is_new = neighbours.any() && !warnings.iter().any(|known| known == warning);
    if is_new {
        warnings.push(warning.to_owned());
    }
    is_new
}

/// Reports on the run; on an interrupted one, says how to go on.
fn finish(
    options: &Options,
    places: &Places,
    store: &Store,
    run: &RunRecord,
    end: End,
    after: After<'_>,
) -> Result<ExitCode> {
    let After { table, beside } = after;
    if end == End::Interrupted {
        note(&format!(
            "palio: interrupted; all that was measured is stored. `palio run --resume {}` goes on, \
             `palio report {}` shows what there is",
            run.header.id, run.header.id
        ));
        return Ok(ExitCode::from(EXIT_INTERRUPTED));
    }
    let mut report = summary::report(run);
    beside(&mut report);
    explain_misses(&mut report, places)?;
    let path = match &options.html {
        Some(path) => path.clone(),
        None => store.path().with_file_name("reports").join(format!("{}.html", run.header.id)),
    };
    // A file that cannot be written must not hide the result of an hour.
    let written = write_file(&path, &html::render(&report)).map_err(|error| {
        let id = &run.header.id;
        anyhow!(
            "{error:#}. The run is stored, and `palio report {id} --format html --output FILE` makes the report again"
        )
    });
    if options.json {
        say(&json::render(&report))?;
        return written.map(|()| ExitCode::SUCCESS);
    }
    let paper = terminal::Options { width: columns(), color: colour() };
    match table {
        Some((table, format)) => say(&table::render(&report, table, format, paper)?)?,
        None => say(&terminal::render(&report, paper))?,
    }
    written?;
    // What another program reads has nothing else in it.
    if table.is_none_or(|(_, format)| format == table::Format::Terminal) {
        say("")?;
        say_whole("HTML report:", &path.display().to_string())?;
        let again = format!("palio report {} --format markdown", run.header.id);
        say_whole("Again, in another format:", &again)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a file and the folders above it.
pub(super) fn write_file(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    whole_file::write(path, |file| Ok(file.write_all(text.as_bytes())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::REFERENCES;

    #[test]
    fn the_help_names_the_references_that_are_chosen() {
        let command = Options::augment_args(clap::Command::new("run"));
        let reference = command.get_arguments().find(|arg| arg.get_id() == "reference").unwrap();
        let help = reference.get_help().unwrap().to_string();
        for (_, names) in REFERENCES {
            assert!(help.contains(&names.join(", ")), "{names:?}: {help}");
        }
    }
}
