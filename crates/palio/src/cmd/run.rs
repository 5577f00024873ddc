//! `palio run`: race, store, report.

mod verb;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;

use super::progress::Watcher;
use super::project::{Choice, Project, explain_misses, open_store_to_write};
use super::stable::{self, Stalls};
use super::{
    EXIT_INTERRUPTED, Places, colour, columns, interruption, note, say, say_whole, whole_file,
};
use crate::budget::Budgets;
use crate::disturbance::RepeatRule;
use crate::grid::Design;
use crate::machine::{self, CpuClock};
use crate::plan::{Entrant, Plan, Shadows};
use crate::record::{ContenderRecord, Header, Limits, Outcome, RaceRecord, RunRecord};
use crate::report::summary::shell_line;
use crate::report::table::{self, Table};
use crate::report::{Report, html, json, summary, terminal};
use crate::runner::cgroup::{self, quota};
use crate::runner::race::{self, Course, End, timestamp};
use crate::runner::{children_cpu_s, libc_version, own_cpu_s};
use crate::stats::{FloorGoal, MIN_FLOOR};
use crate::store::{Lease, Store};
use crate::workload::{Preset, Workload};
pub(super) use verb::{Planned, Verb, planned, races};

const TIMEOUT_S: u64 = 120;
const MEMORY_MIB: u64 = 8192;
/// Above it, what others take no longer disappears in the noise floor.
const OUTSIDE_MAX_PERCENT: f64 = 5.0;

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
    /// The contender that all others are compared to
    #[arg(long, value_name = "CONTENDER")]
    reference: Option<String>,
    /// Who runs twice in every block, once as its own shadow
    #[arg(long, value_enum, default_value_t = Shadows::Reference)]
    shadow: Shadows,
    /// Milliseconds of measured samples in one invocation, on average over the contenders of a race
    /// [default: 120 for quick (60 in the suite `full`), 1000 otherwise]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=600_000))]
    budget: Option<u64>,
    /// Milliseconds for which an invocation warms up before that [default: 30 for quick, 500
    /// otherwise]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(0..=600_000))]
    warm_up: Option<u64>,
    /// Seconds after which an invocation is killed
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT_S, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// MiB of memory beyond which an invocation is killed
    #[arg(long, value_name = "MIB", default_value_t = MEMORY_MIB, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    memory: u64,
    /// Go on with an interrupted run: its id, or the latest unfinished one
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["suite", "workload", "contender", "allocator", "threads", "preset", "blocks", "until_floor", "blocks_max", "outside_max", "repeats_max", "cpu_budget", "seed", "reference", "shadow", "budget", "warm_up", "timeout", "memory"])]
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
    let project = Project::load(places)?;
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
    if end == End::Finished {
        run.header.finished_at = Some(timestamp());
    }
    store.update_header(&run.header).map_err(stopped)?;
    Ok((store, run, end))
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

/// What was asked for, all of it known to exist.
struct Selection<'a> {
    suite: String,
    preset: Preset,
    quick_budget_ms: Option<u64>,
    workloads: Vec<&'a Workload>,
    choices: Vec<Choice>,
}

impl<'a> Selection<'a> {
    fn of(project: &'a Project, options: &Options) -> Result<Self> {
        let catalogue = &project.catalogue;
        let (suite, default_preset, quick_budget_ms, workloads) = if options.workload.is_empty() {
            let suite = catalogue.suite(options.suite.as_deref().unwrap_or("quick"))?;
            let each = suite.workloads.iter().map(|id| catalogue.workload(id));
            let workloads = each.collect::<Result<Vec<_>>>()?;
            (suite.id.clone(), suite.preset, suite.quick_budget_ms, workloads)
        } else {
            let mut chosen: Vec<&Workload> = Vec::new();
            for pattern in &options.workload {
                for workload in catalogue.matching(pattern)? {
                    if !chosen.iter().any(|other| other.id == workload.id) {
                        chosen.push(workload);
                    }
                }
            }
            ("custom".to_owned(), Preset::Quick, None, chosen)
        };
        let selection = Self {
            suite,
            preset: options.preset.unwrap_or(default_preset),
            quick_budget_ms,
            workloads,
            choices: project.choose_with(
                &[&options.contender[..], &options.more_contenders].concat(),
                options.allocator.as_deref(),
            )?,
        };
        // Thread counts and the reference are checked here too, before any contender is ready.
        let entrants = selection.choices.iter().map(Choice::unready).collect();
        selection.plan(entrants, options).races()?;
        Ok(selection)
    }

    fn plan(&self, entrants: Vec<Entrant>, options: &Options) -> Plan<'a> {
        Plan {
            workloads: self.workloads.clone(),
            entrants,
            preset: self.preset,
            threads: (!options.threads.is_empty()).then(|| options.threads.clone()),
            cores: machine::cores(),
            reference: options.reference.clone(),
            shadows: options.shadow,
            budgets: options.cpu_budget,
            no_budget: options.cpu_budget.and_then(|_| quota::refusal()),
        }
    }

    fn is_quick(&self) -> bool {
        self.preset == Preset::Quick
    }

    fn blocks(&self, options: &Options) -> u32 {
        options.blocks.unwrap_or(if self.is_quick() { 5 } else { 15 })
    }

    fn limits(&self, options: &Options) -> Limits {
        let quick = self.is_quick();
        Limits {
            budget_ms: options
                .budget
                .unwrap_or_else(|| if quick { self.quick_budget_ms.unwrap_or(120) } else { 1000 }),
            warm_up_ms: options.warm_up.unwrap_or(if quick { 30 } else { 500 }),
            timeout_ms: options.timeout * 1000,
            memory_mib: options.memory,
        }
    }

    /// Lays out the run by what the contenders claim; none of them is built yet.
    fn lay_out(&self, options: &Options) -> Result<RunRecord> {
        let entrants: Vec<Entrant> = self.choices.iter().map(Choice::unready).collect();
        let mut records: Vec<ContenderRecord> = entrants.iter().map(stable::record).collect();
        let races = self.plan(entrants, options).races()?;
        // Who is needed by no race is not built either.
        for record in &mut records {
            if !races.iter().any(|race| race.needs().any(|name| name == record.id)) {
                record.absent = Some(no_race_for(&record.id, &races));
            }
        }
        if !races.iter().flat_map(|race| &race.cells).any(|cell| cell.outcome == Outcome::Pending) {
            bail!("{}", nobody_can_race(&races));
        }
        let seed = options.seed.unwrap_or_else(|| {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |now| (now.as_nanos() % 1_000_000_007) as u64)
        });
        let started_at = timestamp();
        let machine = machine::inspect(libc_version(), cgroup::description());
        let digits: String = started_at.chars().filter(char::is_ascii_digit).collect();
        let blocks = self.blocks(options);
        let header = Header {
            id: format!(
                "{}-{}-{}",
                &digits[..8],
                &digits[8..],
                SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_micros()
            ),
            suite: self.suite.clone(),
            preset: self.preset,
            blocks,
            seed,
            limits: self.limits(options),
            until_floor: options.until_floor.map(|percent| FloorGoal {
                ratio: 1.0 + percent / 100.0,
                blocks_max: options.blocks_max.unwrap_or(blocks.saturating_mul(4)),
            }),
            repeat: options.outside_max.or((!self.is_quick()).then_some(OUTSIDE_MAX_PERCENT)).map(
                |percent| {
                    let repeats_max = options.repeats_max.unwrap_or(blocks.div_ceil(3));
                    RepeatRule { outside_max: percent / 100.0, repeats_max }
                },
            ),
            started_at,
            finished_at: None,
            palio_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command(options, seed),
            design: options.verb.as_ref().map(|verb| verb.design.clone()),
            warnings: machine::standing_warnings(&machine),
            machine,
            thinned: None,
        };
        Ok(RunRecord { header, contenders: records, races })
    }

    /// The command that repeats this run, in the same order.
    fn command(&self, options: &Options, seed: u64) -> String {
        let verb = options.verb.as_ref();
        let run = || vec!["palio".to_owned(), "run".to_owned()];
        let mut words = verb.map_or_else(run, |verb| verb.words.clone());
        if options.workload.is_empty() {
            // `scale` has its rows where others have a suite.
            let is_scale = verb.is_some_and(|verb| verb.design == Design::Scale);
            words.extend(is_scale.then(|| "--suite".to_owned()));
            words.push(self.suite.clone());
        }
        let is_sweep = verb.is_some_and(|verb| matches!(verb.design, Design::Sweep(_)));
        let threads: Vec<String> = options.threads.iter().map(u32::to_string).collect();
        let threads = (!threads.is_empty()).then(|| threads.join(","));
        let shadow = (options.shadow == Shadows::All).then(|| "all".to_owned());
        let unusual = |value: u64, usual: u64| (value != usual).then(|| value.to_string());
        let settings = [
            ("-w", options.workload.clone()),
            ("-c", if is_sweep { Vec::new() } else { options.contender.clone() }),
            ("--allocator", options.allocator.iter().cloned().collect()),
            ("-t", threads.into_iter().collect()),
            ("--preset", options.preset.iter().map(Preset::to_string).collect()),
            ("--blocks", options.blocks.iter().map(u32::to_string).collect()),
            ("--until-floor", options.until_floor.iter().map(f64::to_string).collect()),
            ("--blocks-max", options.blocks_max.iter().map(u32::to_string).collect()),
            ("--outside-max", options.outside_max.iter().map(f64::to_string).collect()),
            ("--repeats-max", options.repeats_max.iter().map(u32::to_string).collect()),
            ("--budget", options.budget.iter().map(u64::to_string).collect()),
            ("--warm-up", options.warm_up.iter().map(u64::to_string).collect()),
            ("--reference", options.reference.iter().filter(|_| !is_sweep).cloned().collect()),
            ("--shadow", shadow.into_iter().collect()),
            ("--timeout", unusual(options.timeout, TIMEOUT_S).into_iter().collect()),
            ("--memory", unusual(options.memory, MEMORY_MIB).into_iter().collect()),
            ("--seed", vec![seed.to_string()]),
        ];
        words.extend(options.cpu_budget.iter().map(|tracks| format!("--cpu-budget={tracks}")));
        for (option, values) in settings {
            words.extend(values.into_iter().flat_map(|value| [option.to_owned(), value]));
        }
        shell_line(&words)
    }
}

/// Why a contender takes part in no race.
fn no_race_for(contender: &str, races: &[RaceRecord]) -> String {
    let mine = races.iter().flat_map(|race| &race.cells).filter(|cell| cell.contender == contender);
    let mut reasons: Vec<&str> = mine.filter_map(|cell| cell.detail.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    match reasons[..] {
        [reason] => reason.to_owned(),
        _ => "takes part in none of these races".to_owned(),
    }
}

/// Why no contender can race, and what would change that.
fn nobody_can_race(races: &[RaceRecord]) -> String {
    // Each with all whom it keeps out.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    // What no contender is to blame for stands there once.
    let cells = || races.iter().flat_map(|race| &race.cells);
    let same = cells().next().and_then(|cell| cell.detail.as_deref());
    if let Some(same) = same.filter(|same| same.starts_with(quota::NO_BUDGET))
        && cells().all(|cell| cell.detail.as_deref() == Some(same))
    {
        return format!("none of these contenders can race: they {same}");
    }
    for cell in cells() {
        let reason = cell.detail.as_deref().unwrap_or("failed");
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) if names.contains(&cell.contender.as_str()) => {}
            Some((_, names)) => names.push(&cell.contender),
            None => reasons.push((reason, vec![&cell.contender])),
        }
    }
    let is_told = reasons.iter().any(|(reason, _)| reason.contains("uses at most"));
    let hint = if is_told { "" } else { "; `palio doctor` says what is missing here" };
    let reasons: Vec<String> =
        reasons.iter().map(|(reason, names)| format!("{}: {reason}", names.join(", "))).collect();
    format!(
        "none of these contenders can race any of these workloads: {}{hint}",
        reasons.join("; ")
    )
}

/// Refuses to resume a run whose contenders have changed since it was measured.
fn check_unchanged(
    project: &Project,
    run: &RunRecord,
    quiet: bool,
    interrupted: &Arc<AtomicBool>,
) -> Result<Stalls> {
    let id = &run.header.id;
    if run.header.finished_at.is_some() {
        bail!("the run {id} is finished: `palio report {id}` shows it");
    }
    if run.is_finished() {
        // It was killed between its last sample and its last word.
        return Ok(Stalls::new(Vec::new(), interrupted));
    }
    let here = machine::inspect(None, None).fingerprint;
    if here != run.header.machine.fingerprint {
        bail!("the run {id} was started on another machine: it can only be resumed there");
    }
    let mut invocations =
        run.races.iter().flat_map(|race| &race.cells).flat_map(|c| &c.invocations);
    if invocations.any(|invocation| invocation.salt.is_none()) {
        bail!(
            "the run {id} cannot be resumed: an older Palio began it, which gave its processes no \
             salt; start a new run"
        );
    }
    let ready = |contender: &&ContenderRecord| contender.absent.is_none();
    let choice_of = |before: &ContenderRecord| {
        let release = before.release.as_ref().map(|release| format!("@{}", release.choice()));
        project.choose(&[before.base.clone() + &release.unwrap_or_default()])
    };
    let mut pending = run
        .races
        .iter()
        .flat_map(|race| &race.cells)
        .filter(|cell| cell.outcome == Outcome::Pending);
    if let Some(cell) = pending.find(|cell| run.contender(&cell.contender).filter(ready).is_none())
    {
        bail!(
            "the run {id} cannot be resumed: it does not say which contender {} was",
            cell.contender
        );
    }
    let mut stalls = Stalls::new(Vec::new(), interrupted);
    for before in run.contenders.iter().filter(ready) {
        let choice = choice_of(before)?.remove(0);
        // A run may come from elsewhere: no command of it is trusted, only those of the contenders
        // here.
        let command = Some(shell_line(&choice.contender.command));
        // Who has not been asked yet is asked when a race needs it.
        let now = if before.is_asked() {
            if !quiet {
                note(&format!("ready: {}", before.id));
            }
            let (now, _) = stalls.ask(&choice, &[])?;
            if let Some(reason) = &now.absent {
                bail!(
                    "the run {id} cannot be resumed: {} is not ready any more: {reason}",
                    before.id
                );
            }
            now
        } else {
            before.clone()
        };
        stalls.add(&before.id, choice);
        let commands = run.races.iter().flat_map(|race| &race.cells).filter_map(|cell| {
            let pending = cell.contender == before.id && cell.outcome == Outcome::Pending;
            let arguments = cell.command.iter().position(|word| word == "--workload");
            pending.then(|| Some(shell_line(&cell.command[..arguments.unwrap_or(0)])))
        });
        let differs = [
            ("version", before.version.clone(), now.version),
            ("toolchain", before.toolchain.clone(), now.toolchain),
            ("flags", before.flags.clone(), now.flags),
        ]
        .into_iter()
        .chain(commands.map(|then| ("command", then, command.clone())))
        // Last, since whatever differs makes it differ. Runs of an older Palio do not say.
        .chain(before.program.is_some().then(|| ("program", before.program.clone(), now.program)))
        .find(|(_, then, now)| then != now);
        if let Some((what, then, now)) = differs {
            bail!(
                "the run {id} cannot be resumed: the {what} of {} was {:?} and is {:?} now; start a new run",
                before.id,
                then.unwrap_or_default(),
                now.unwrap_or_default()
            );
        }
    }
    Ok(stalls)
}
