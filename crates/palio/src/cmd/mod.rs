//! The subcommands, one file each. Only this module prints.

mod baseline;
mod bisect;
mod build;
mod compare;
mod doctor;
mod export;
mod forget;
mod gate;
mod import;
mod interruption;
mod list;
mod progress;
mod project;
mod replicate;
mod report;
mod run;
mod scale;
mod setup;
mod show;
mod stable;
mod sweep;
mod verify;
mod warden;
mod whole_file;

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use nix::sys::resource::{Resource, getrlimit};
use serde::Serialize;

use crate::budget::Budgets;
use crate::printable::{self, printable};
use crate::report::listing;
use crate::runner::warden::take_unended;

/// Exit status when a check did not pass: `verify` found a wrong answer, `compare` or `baseline
/// check` a slower contender.
const EXIT_CHECK_FAILED: u8 = 1;
/// Exit status when a command could not be carried out; the reason is on standard error.
const EXIT_ERROR: u8 = 2;
/// Exit status after Ctrl-C, as shells expect it.
const EXIT_INTERRUPTED: u8 = 130;

/// Races concurrency runtimes on the same work: answers checked, noise measured, failures shown.
///
/// Without a command, races the suite `quick`, as `palio run` does.
#[derive(Debug, Parser)]
#[command(
    name = "palio",
    version,
    after_help = "Exit status: 0 done; 1 a check did not pass (verify, compare, baseline check, build), or no answer was found (bisect); 2 an error, explained on standard \
                  error; 130 interrupted by Ctrl-C, to be resumed with `palio run --resume`."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    places: Places,
}

/// Where things are.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Places")]
struct Places {
    /// The folder with `workloads/` and `contenders/`; found from the current folder upwards by
    /// default
    #[arg(long, global = true, env = "PALIO_ROOT", value_name = "DIR")]
    root: Option<PathBuf>,
    /// More folders of contenders (`LANGUAGE/ID/contender.toml` below each), separated by `:`
    #[arg(
        long,
        global = true,
        env = "PALIO_CONTENDERS",
        value_name = "DIRS",
        value_delimiter = ':'
    )]
    contenders_dir: Vec<PathBuf>,
    /// Where contenders are built [default: ROOT/target/contenders]
    #[arg(long, global = true, env = "PALIO_TARGET", value_name = "DIR")]
    target: Option<PathBuf>,
    /// The database of runs [default: palio/palio.db in the user's data directory]
    #[arg(long, global = true, env = "PALIO_DB", value_name = "FILE")]
    db: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Race a suite, or some workloads, and report
    Run(Box<run::Options>),
    /// List workloads, contenders, suites or runs
    List(list::Options),
    /// Build contenders
    Build(build::Options),
    /// What this machine can race, what is missing, and what makes timing unreliable here
    Doctor(doctor::Options),
    /// Install what `doctor` misses, as Debian packages
    Setup(setup::Options),
    /// Check every answer and the work done, without timing anything
    Verify(verify::Options),
    /// Print the report of a run
    Report(report::Options),
    /// Show one cell: its samples, and how to run it by hand
    Show(show::Options),
    /// Compare two runs
    Compare(compare::Options),
    /// Save a run as a baseline, and check a later one for what became slower
    #[command(subcommand)]
    Baseline(baseline::Options),
    /// Race one contender with its knobs turned: every setting against the default ones
    Sweep(Box<sweep::Options>),
    /// Race on 1, 2, 4 … threads: speed-up, efficiency, and the law behind them
    Scale(Box<scale::Options>),
    /// Race a suite, or take a stored run, and print its document's numbers beside the measured
    /// ones
    Replicate(Box<replicate::Options>),
    /// Find between which two releases of a contender's runtime a row changed
    Bisect(bisect::Options),
    /// Write a run as a bundle: JSON, compressed if you like
    Export(export::Options),
    /// Read a run from a bundle
    Import(import::Options),
    /// Delete runs from the database, with everything of them
    Forget(forget::Options),
    /// Print a completion script for a shell
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
}

/// A stack smaller than this may end somewhere in Palio, and Palio there, without a word of why.
const STACK_BYTES_MIN: u64 = 1 << 20;

/// Runs the command line; the whole of `main`.
pub fn main() -> ExitCode {
    let stack = getrlimit(Resource::RLIMIT_STACK).map_or(u64::MAX, |(soft, _)| soft);
    if stack < STACK_BYTES_MIN {
        note(&format!(
            "palio: its stack may have no more than {} KiB here: raise the limit to {} at least \
             (`ulimit -s`)",
            stack / 1024,
            STACK_BYTES_MIN / 1024
        ));
        return ExitCode::from(EXIT_ERROR);
    }
    with_enough_stack()
}

/// The command line. A variable that is empty counts as not set: so it is where a script hands on
/// one that it does not have.
fn parsed() -> Cli {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    // An argument that has a variable cannot be left without one: no variable is called "".
    let command = Cli::command().mut_args(|arg| {
        if arg.get_env().is_some_and(is_empty) { arg.env("").hide_env(true) } else { arg }
    });
    Cli::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
}

/// Apart, so that what it takes of the stack is not taken before that is looked at.
#[inline(never)]
fn with_enough_stack() -> ExitCode {
    if let Some(code) = warden::take_part() {
        return code;
    }
    // Beyond a limit of the size of files a write fails, and is told; unheard, its signal would end
    // Palio without a word, and its file half-written.
    let is_beyond = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, is_beyond);
    let done = check_apart(std::env::args_os()).and_then(|()| dispatch(parsed()));
    // Of a build, or of a verb that has no run whose warning it would be.
    if let Some(warning) = take_unended() {
        note(&format!("palio: {warning}"));
    }
    match done {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // It may quote a bundle from anywhere.
            note(&printable(&format!("palio: {error:#}")));
            let interrupted = error.is::<interruption::Interrupted>();
            ExitCode::from(if interrupted { EXIT_INTERRUPTED } else { EXIT_ERROR })
        }
    }
}

/// `--cpu-budget` may stand alone, so that a word behind it is an argument by itself: one that
/// would be its value is no suite, and is refused before it is taken for one.
fn check_apart(args: impl Iterator<Item = OsString>) -> Result<()> {
    let args: Vec<OsString> = args.collect();
    for pair in args.windows(2).filter(|pair| pair[0] == "--cpu-budget") {
        let word = pair[1].to_str().filter(|word| word.parse::<Budgets>().is_ok());
        if let Some(word) = word {
            bail!(
                "a value of --cpu-budget follows an equals sign: write --cpu-budget={word}, without a space"
            );
        }
    }
    Ok(())
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    let places = &cli.places;
    match cli.command {
        None => match Cli::parse_from(["palio", "run"]).command {
            Some(Command::Run(options)) => run::run(&options, places),
            _ => unreachable!("`run` is a subcommand"),
        },
        Some(Command::Run(options)) => run::run(&options, places),
        Some(Command::List(options)) => list::run(&options, places),
        Some(Command::Build(options)) => build::run(&options, places),
        Some(Command::Doctor(options)) => doctor::run(&options, places),
        Some(Command::Setup(options)) => setup::run(&options, places),
        Some(Command::Verify(options)) => verify::run(&options, places),
        Some(Command::Report(options)) => report::run(&options, places),
        Some(Command::Show(options)) => show::run(&options, places),
        Some(Command::Compare(options)) => compare::run(&options, places),
        Some(Command::Baseline(options)) => baseline::run(&options, places),
        Some(Command::Sweep(options)) => sweep::run(*options, places),
        Some(Command::Scale(options)) => scale::run(*options, places),
        Some(Command::Replicate(options)) => replicate::run(&options, places),
        Some(Command::Bisect(options)) => bisect::run(&options, places),
        Some(Command::Export(options)) => export::run(&options, places),
        Some(Command::Import(options)) => import::run(&options, places),
        Some(Command::Forget(options)) => forget::run(&options, places),
        Some(Command::Completions { shell }) => {
            // Not straight to standard output, which may be a pipe that closes: `generate` would
            // panic.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "palio", &mut script);
            say(&String::from_utf8(script)?)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A reader such as `head` that has seen enough is no error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Prints to standard output.
fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.write_all(end));
    printed.context("cannot write to standard output")
}

/// Prints a document of JSON, which a terminal may be showing.
fn say_json(value: &impl Serialize) -> Result<()> {
    say(&printable::json(&serde_json::to_string_pretty(value)?))
}

/// Prints what is to be copied, behind its `label`; below it where both do not fit. It is never
/// broken.
fn say_whole(label: &str, whole: &str) -> Result<()> {
    let line = format!("{label} {whole}");
    if line.chars().count() <= columns() {
        return say(&line);
    }
    say(&listing::wrapped(label, columns()))?;
    say(whole)
}

/// Prints a line to standard error. A failure to print is ignored: it does not concern the work
/// that the line is about.
fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Whether standard output gets colour: it is a terminal that has any, and `NO_COLOR` is not set.
fn colour() -> bool {
    std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// How many columns standard output has; wide if it is no terminal.
fn columns() -> usize {
    columns_or(120)
}

/// How many columns standard output has; if it is no terminal, what `COLUMNS` says, or `otherwise`.
fn columns_or(otherwise: usize) -> usize {
    if !std::io::stdout().is_terminal() {
        let said = std::env::var("COLUMNS").ok();
        return said.and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    }
    let (_, columns) = console::Term::stdout().size_checked().unwrap_or((24, 100));
    usize::from(columns)
}
