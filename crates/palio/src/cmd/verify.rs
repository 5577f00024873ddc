//! `palio verify`: every answer and the work done, no timing.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::SystemTime;

use anyhow::{Result, bail};
use clap::Args;
use palio_protocol::salt::mix;

use super::project::Project;
use super::{EXIT_CHECK_FAILED, Places, interruption, say, say_json, warden};
use crate::contender::Kind;
use crate::machine;
use crate::plan::{Entrant, Plan, Shadows};
use crate::record::{CellRecord, ForksRecord, Limits, Outcome, RaceRecord};
use crate::runner::build::Prober;
use crate::runner::conformance::{self, Fault, Vector};
use crate::runner::forks;
use crate::runner::invocation::Conversation;
use crate::runner::shortage::{is_blamed, no_thread};
use crate::workload::{Preset, Settings, Workload, settings_text};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Only these contenders: `[NAME=]ID[@version=VERSION|@path=PATH][@KNOB=VALUE]…`
    #[arg(short, long, value_name = "CONTENDER", value_delimiter = ',')]
    contender: Vec<String>,
    /// Every contender with this allocator, as `run` takes it
    #[arg(long, value_name = "NAME")]
    allocator: Option<String>,
    /// Only these workloads, or families of them
    #[arg(short, long, value_name = "WORKLOAD", value_delimiter = ',')]
    workload: Vec<String>,
    /// With the parameters of this preset
    #[arg(long, value_enum, default_value_t = Preset::Quick)]
    preset: Preset,
    /// On these numbers of threads [default: 1 and the number of processors]
    #[arg(short, long, value_name = "N", value_delimiter = ',')]
    threads: Vec<u32>,
    /// Seconds that one cell may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// MiB that one contender may use
    #[arg(long, value_name = "MIB", default_value_t = 8192)]
    memory: u64,
    /// So many contenders at once: nothing is timed [default: the number of processors]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// As a JSON array
    #[arg(long)]
    json: bool,
}

/// One thing that was checked of a contender.
#[derive(Debug)]
struct Check {
    contender: String,
    subject: Checked,
    outcome: Outcome,
    /// What was found; for a failure, what is wrong.
    detail: Vec<String>,
}

#[derive(Debug)]
enum Checked {
    /// The contract, in `sessions` conversations, of which `broken` broke it.
    Contract { sessions: usize, broken: usize },
    /// The answers in one race.
    Cell { workload: String, params: Settings, threads: u32, variant: Settings, label: String },
}

/// How many checks passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    warden::check()?;
    let project = Project::load(places)?;
    let interrupted = interruption::listen()?;
    let plan = plan(options, &project, &interrupted)?;
    check_any(options, &project, &plan)?;
    let limits = Limits {
        budget_ms: 0,
        warm_up_ms: 0,
        cold: false,
        samples: None,
        timeout_ms: options.timeout.saturating_mul(1000),
        memory_mib: options.memory,
    };
    let mut checks = Vec::new();
    // A line as soon as it is known: all of them take minutes.
    let jobs = options.jobs.or(NonZeroUsize::new(machine::cores() as usize));
    check_all(&plan, &limits, jobs.unwrap_or(NonZeroUsize::MIN), &interrupted, |check| {
        let line = (!options.json).then(|| line(&check)).flatten();
        checks.push(check);
        line.map_or(Ok(()), |line| say(&line))
    })?;
    let Tally { passed, failed, skipped } = tally(&checks);
    if options.json {
        let rows: Vec<_> = checks.iter().map(row).collect();
        say_json(&rows)?;
    } else {
        say(
            "A row that a contender does not support has no line above; it is counted as skipped.",
        )?;
        say(&format!("{passed} passed, {failed} failed, {skipped} skipped"))?;
    }
    // What is faulty cannot answer; who names others does not ask it.
    let faulty = if options.contender.is_empty() { project.faulty.len() } else { 0 };
    Ok(if failed + faulty > 0 { ExitCode::from(EXIT_CHECK_FAILED) } else { ExitCode::SUCCESS })
}

/// What is to be verified, with every contender that is ready.
fn plan<'a>(
    options: &Options,
    project: &'a Project,
    interrupted: &Arc<AtomicBool>,
) -> Result<Plan<'a>> {
    let workloads: Vec<&Workload> = if options.workload.is_empty() {
        project.catalogue.workloads.iter().collect()
    } else {
        let each = options.workload.iter().map(|pattern| project.catalogue.matching(pattern));
        each.collect::<Result<Vec<_>>>()?.concat()
    };
    let mut prober = Prober::new(Arc::clone(interrupted));
    let entrants = project
        .choose_with(&options.contender, options.allocator.as_deref())?
        .iter()
        .map(|choice| {
            let entrant = choice.ready(&mut prober, |_, _| ());
            interruption::check(interrupted).and(entrant)
        })
        .collect::<Result<Vec<_>>>()?;
    let unready =
        entrants.iter().find_map(|entrant| Some((entrant, entrant.ready.as_ref().err()?)));
    if !options.contender.is_empty()
        && let Some((entrant, (_, reason))) = unready
    {
        bail!("{} is not ready: {reason}", entrant.name());
    }
    let cores = machine::cores();
    let mut threads =
        if options.threads.is_empty() { vec![1, cores] } else { options.threads.clone() };
    threads.dedup();
    Ok(Plan {
        workloads,
        entrants,
        preset: options.preset,
        threads: Some(threads),
        cores,
        reference: None,
        shadows: Shadows::default(),
        budgets: None,
        no_budget: None,
    })
}

/// Refuses what would pass although nothing was verified: neither anything at all, nor of a
/// workload or of a contender that the user named.
fn check_any(options: &Options, project: &Project, plan: &Plan<'_>) -> Result<()> {
    if plan.entrants.iter().all(|entrant| entrant.ready.is_err()) {
        bail!("nothing to verify: none of these contenders is ready; `palio build` says why");
    }
    let races = plan.races()?;
    let none_of = |is_of: &dyn Fn(&RaceRecord, &CellRecord) -> bool| {
        let all = races.iter().flat_map(|race| race.cells.iter().map(move |cell| (race, cell)));
        let cells: Vec<&CellRecord> =
            all.filter(|(race, cell)| is_of(race, cell)).map(|(_, cell)| cell).collect();
        let is_none = cells.iter().all(|cell| cell.outcome != Outcome::Pending);
        is_none.then(|| reasons(&cells))
    };
    if let Some(reasons) = none_of(&|_, _| true) {
        bail!("nothing to verify: none of these contenders runs any of this: {reasons}");
    }
    for pattern in &options.workload {
        let matching = project.catalogue.matching(pattern)?;
        let is_it = |race: &RaceRecord| matching.iter().any(|known| known.id == race.workload);
        if let Some(reasons) = none_of(&|race, _| is_it(race)) {
            bail!("nothing of {pattern} would be verified: {reasons}; leave it out");
        }
    }
    for name in plan.entrants.iter().filter(|_| !options.contender.is_empty()).map(Entrant::name) {
        if let Some(reasons) = none_of(&|_, cell| cell.contender == name) {
            bail!("nothing of {name} would be verified: {reasons}; leave it out");
        }
    }
    Ok(())
}

/// Why none of these is verified, each reason with all whom it keeps out.
fn reasons(cells: &[&CellRecord]) -> String {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for cell in cells {
        let names = reasons.entry(cell.detail.as_deref().unwrap_or("failed")).or_default();
        if !names.contains(&cell.contender.as_str()) {
            names.push(&cell.contender);
        }
    }
    let each = reasons.iter().map(|(reason, names)| format!("{}: {reason}", names.join(", ")));
    each.collect::<Vec<_>>().join("; ")
}

/// What one conversation, or a few, can check.
#[derive(Clone, Copy, Debug)]
enum Subject<'a> {
    Contract(&'a Entrant),
    Cell(&'a RaceRecord, &'a CellRecord),
}

/// Checks the contracts, then every cell, `jobs` at once, and hands each result on, in this order.
fn check_all(
    plan: &Plan<'_>,
    limits: &Limits,
    jobs: NonZeroUsize,
    interrupted: &AtomicBool,
    checked: impl FnMut(Check) -> Result<()>,
) -> Result<()> {
    let vectors = conformance::vectors();
    let races = plan.races()?;
    let ready = plan.entrants.iter().filter(|entrant| entrant.ready.is_ok());
    let cells = races.iter().flat_map(|race| {
        let own = race.cells.iter().filter(|cell| !cell.shadow);
        own.map(move |cell| Subject::Cell(race, cell))
    });
    let subjects: Vec<_> = ready.map(Subject::Contract).chain(cells).collect();
    let check = |subject| {
        interruption::check(interrupted)?;
        let check = match subject {
            Subject::Contract(entrant) => contract(entrant, &vectors, interrupted),
            Subject::Cell(race, cell) => {
                let is_baseline = plan.entrants.iter().any(|entrant| {
                    entrant.name() == cell.contender && entrant.contender.kind == Kind::Baseline
                });
                answers(race, cell, is_baseline, limits, interrupted)
            }
        };
        // What was interrupted says nothing, nor does what the system did not let happen.
        interruption::check(interrupted)?;
        if let Some(reason) = check.detail.iter().find(|reason| is_blamed(reason)) {
            bail!("{} cannot be verified: {reason}", check.contender);
        }
        Ok(check)
    };
    in_order(&subjects, (jobs, thread::Builder::new), check, checked)
}

/// Calls `work` with each item, on `jobs` threads, and `done` with the results, in the items'
/// order; on fewer threads where the system gives no more. Ends at the first error of either, or
/// without any thread: what is under way then is not waited for longer than it takes.
fn in_order<T: Copy + Sync, R: Send>(
    items: &[T],
    (jobs, builder): (NonZeroUsize, impl Fn() -> thread::Builder),
    work: impl Fn(T) -> Result<R> + Sync,
    mut done: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let (next, has_ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let (send, results) = mpsc::channel();
        for started in 0..jobs.get().min(items.len()) {
            let (send, next, has_ended, work) = (send.clone(), &next, &has_ended, &work);
            let thread = builder().spawn_scoped(scope, move || {
                while !has_ended.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&item) = items.get(index) else { break };
                    if send.send((index, work(item))).is_err() {
                        break;
                    }
                }
            });
            // Where the system gives fewer threads, all of it takes longer.
            match thread {
                Ok(_) => {}
                Err(error) if started == 0 => bail!(no_thread(&error)),
                Err(_) => break,
            }
        }
        drop(send);
        let mut early = BTreeMap::new();
        let mut all = || {
            for due in 0..items.len() {
                let result = loop {
                    if let Some(result) = early.remove(&due) {
                        break result;
                    }
                    // Who has stopped without a result has panicked, and the scope says so.
                    let Ok((index, result)) = results.recv() else { return Ok(()) };
                    early.insert(index, result);
                };
                done(result?)?;
            }
            Ok(())
        };
        let ended = all();
        has_ended.store(true, Ordering::Relaxed);
        ended
    })
}

/// Whether a contender keeps the contract.
fn contract(entrant: &Entrant, vectors: &[Vector], interrupted: &AtomicBool) -> Check {
    let (mut played, mut broken) = (0, Vec::new());
    for vector in vectors {
        played += 1;
        match vector.play(&entrant.contender.command, interrupted) {
            Ok(()) => {}
            Err(Fault::Differs(reason)) => broken.push(format!("{}: {reason}", vector.name)),
            Err(Fault::Endless(reason)) => {
                let left = vectors.len() - played;
                let left = format!("the {left} session(s) after it were not played");
                broken.push(format!("{}: {reason}; {left}", vector.name));
                break;
            }
        }
    }
    Check {
        contender: entrant.name(),
        subject: Checked::Contract { sessions: played, broken: broken.len() },
        outcome: if broken.is_empty() { Outcome::Ok } else { Outcome::Crashed },
        detail: broken,
    }
}

/// Whether a cell answers rightly, and hands its work to its runtime.
fn answers(
    race: &RaceRecord,
    cell: &CellRecord,
    is_baseline: bool,
    limits: &Limits,
    interrupted: &AtomicBool,
) -> Check {
    let (mut outcome, mut text) = verify(race, cell, limits, interrupted);
    if outcome == Outcome::Ok && !is_baseline {
        let (counted, more) = verify_forks(race, cell, limits, interrupted);
        outcome = counted;
        text = if outcome == Outcome::Ok { text + &more } else { more };
    }
    Check {
        contender: cell.contender.clone(),
        subject: Checked::Cell {
            workload: race.workload.clone(),
            params: race.params.clone(),
            threads: race.threads,
            variant: cell.variant.clone(),
            label: cell.label(),
        },
        outcome,
        detail: vec![text],
    }
}

fn tally(checks: &[Check]) -> Tally {
    let mut tally = Tally::default();
    for check in checks {
        match (&check.subject, check.outcome) {
            (Checked::Contract { sessions, broken }, _) => {
                tally.passed += sessions - broken;
                tally.failed += broken;
            }
            (_, Outcome::Ok) => tally.passed += 1,
            (_, Outcome::Unsupported | Outcome::NotBuilt) => tally.skipped += 1,
            (
                _,
                Outcome::WrongAnswer
                | Outcome::FalseTime
                | Outcome::Crashed
                | Outcome::TimedOut
                | Outcome::Pending,
            ) => tally.failed += 1,
        }
    }
    tally
}

/// A check as a line for people; none for what a contender does not support.
fn line(check: &Check) -> Option<String> {
    let word = match check.outcome {
        Outcome::Ok => "ok  ",
        Outcome::Unsupported => return None,
        Outcome::NotBuilt => "none",
        Outcome::WrongAnswer
        | Outcome::FalseTime
        | Outcome::Crashed
        | Outcome::TimedOut
        | Outcome::Pending => "FAIL",
    };
    Some(match &check.subject {
        Checked::Contract { sessions, broken: 0 } => {
            format!("{word} {:<22} keeps the contract in {sessions} sessions", check.contender)
        }
        Checked::Contract { .. } => {
            let reasons = check.detail.join("\n  ");
            format!("{word} {:<22} breaks the contract:\n  {reasons}", check.contender)
        }
        Checked::Cell { workload, params, threads, label, .. } => {
            let params = settings_text(params);
            let text = check.detail.concat();
            format!("{word} {label:<22} {workload} {params} threads={threads}: {text}")
        }
    })
}

/// A check for machines.
fn row(check: &Check) -> serde_json::Value {
    let Check { contender, outcome, detail, .. } = check;
    match &check.subject {
        Checked::Contract { sessions, .. } => serde_json::json!({
            "conformance": sessions, "contender": contender, "outcome": outcome, "detail": detail,
        }),
        Checked::Cell { workload, params, threads, variant, .. } => serde_json::json!({
            "workload": workload, "params": params, "threads": threads, "contender": contender,
            "variant": variant, "outcome": outcome, "detail": detail.concat(),
        }),
    }
}

/// Two samples of one cell, and one of two iterations: what became of them, and what was found.
fn verify(
    race: &RaceRecord,
    cell: &CellRecord,
    limits: &Limits,
    interrupted: &AtomicBool,
) -> (Outcome, String) {
    if cell.outcome != Outcome::Pending {
        return (cell.outcome, cell.detail.clone().unwrap_or_default());
    }
    let salt = fresh_salt();
    let started = Conversation::start(race, cell, salt, limits, interrupted, &mut |_| ());
    let mut conversation = match started {
        Ok(conversation) => conversation,
        Err(result) => return (result.outcome, result.detail.unwrap_or_default()),
    };
    // Two samples, and one of two iterations: a second iteration finds state that the first left
    // behind. What is served has one in each sample.
    let iterations = if race.served { 1 } else { 2 };
    if conversation.run(2, 1, false).is_some() {
        conversation.run(1, iterations, false);
    }
    let result = conversation.finish();
    if result.outcome != Outcome::Ok {
        let stderr = result.stderr.map(|text| format!("\n{text}")).unwrap_or_default();
        let detail = result.detail.unwrap_or_default();
        return (result.outcome, format!("{detail} (--salt {salt}){stderr}"));
    }
    let counted = result.samples.iter().all(|sample| sample.work.is_some());
    let work = match race.work {
        Some(work) if counted => format!("work {work} certified"),
        _ => "work not certified".to_owned(),
    };
    let answer = race.answer_under(salt).unwrap_or_default();
    let salted = if race.salt.is_some() { format!(" for the salt {salt}") } else { String::new() };
    (Outcome::Ok, format!("answer {answer}{salted}, {work}"))
}

/// What a cell hands to its runtime, where it forks: the end of a sentence, or what is wrong.
fn verify_forks(
    race: &RaceRecord,
    cell: &CellRecord,
    limits: &Limits,
    interrupted: &AtomicBool,
) -> (Outcome, String) {
    let Some(demand) = race.forks() else { return (Outcome::Ok, String::new()) };
    let salt = fresh_salt();
    let counted = forks::count(race, cell, (demand, salt), limits, interrupted, &mut |_| ());
    if let Some(failed) = counted.failed {
        return (failed.outcome, format!("{} (--salt {salt})", failed.detail.unwrap_or_default()));
    }
    let text = match counted.forks {
        Some(ForksRecord { handed: Some(handed), at_least, .. }) => {
            format!(", handed {handed} of {at_least} forks due to its runtime")
        }
        Some(ForksRecord { detail: Some(detail), .. }) => format!(", forks not counted: {detail}"),
        _ => String::new(),
    };
    (Outcome::Ok, text)
}

/// Another one every time: an answer that was right yesterday must not pass for today's.
fn fresh_salt() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    mix(now.as_secs(), u64::from(now.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract(broken: usize) -> Check {
        Check {
            contender: "rt".to_owned(),
            subject: Checked::Contract { sessions: 5, broken },
            outcome: if broken == 0 { Outcome::Ok } else { Outcome::Crashed },
            detail: vec!["a: b".to_owned(); broken],
        }
    }

    fn cell(outcome: Outcome) -> Check {
        Check {
            contender: "rt".to_owned(),
            subject: Checked::Cell {
                workload: "fib".to_owned(),
                params: Settings::new(),
                threads: 2,
                variant: Settings::new(),
                label: "rt".to_owned(),
            },
            outcome,
            detail: vec!["why".to_owned()],
        }
    }

    #[test]
    fn sessions_and_cells_are_counted_by_their_outcome() {
        let mut checks = vec![contract(0), contract(2)];
        checks.extend(Outcome::ALL.iter().copied().map(cell));
        assert_eq!(tally(&checks), Tally { passed: 5 + 3 + 1, failed: 2 + 5, skipped: 2 });
    }

    #[test]
    fn what_is_unsupported_has_no_line_and_a_fault_says_why() {
        assert_eq!(line(&cell(Outcome::Unsupported)), None);
        assert!(line(&cell(Outcome::Crashed)).unwrap().ends_with("threads=2: why"));
        assert!(line(&contract(2)).unwrap().ends_with("breaks the contract:\n  a: b\n  a: b"));
        assert_eq!(row(&contract(0))["conformance"], 5);
    }

    #[test]
    fn results_come_in_order_however_many_work() {
        let items: Vec<usize> = (0..50).collect();
        for jobs in [1, 2, 7, 100] {
            let mut seen = Vec::new();
            // The first of all cannot end before the second has, if there are two threads.
            let (second, first) = mpsc::channel();
            let first = std::sync::Mutex::new(first);
            let work = |item| {
                match item {
                    0 if jobs > 1 => first.lock().unwrap().recv().unwrap(),
                    1 => second.clone().send(()).unwrap(),
                    _ => {}
                }
                Ok(item)
            };
            let jobs = NonZeroUsize::new(jobs).unwrap();
            in_order(&items, (jobs, thread::Builder::new), work, |item| {
                seen.push(item);
                Ok(())
            })
            .unwrap();
            assert_eq!(seen, items);
        }
        in_order(&[], (NonZeroUsize::MIN, thread::Builder::new), |()| Ok(()), |()| Ok(())).unwrap();
    }

    #[test]
    fn the_first_error_ends_all() {
        let items: Vec<usize> = (0..1000).collect();
        let jobs = NonZeroUsize::new(2).unwrap();
        let mut seen = 0;
        let work = |item| if item == 10 { bail!("ten") } else { Ok(item) };
        let error = in_order(&items, (jobs, thread::Builder::new), work, |_| {
            seen += 1;
            Ok(())
        });
        assert_eq!((error.unwrap_err().to_string(), seen), ("ten".to_owned(), 10));
        let done = |item| if item < 5 { Ok(()) } else { bail!("five") };
        let error = in_order(&items, (jobs, thread::Builder::new), Ok, done);
        assert_eq!(error.unwrap_err().to_string(), "five");
    }

    #[test]
    fn where_the_system_gives_fewer_threads_or_none() {
        let items: Vec<usize> = (0..100).collect();
        for given in [0, 1, 3] {
            let asked = AtomicUsize::new(0);
            // No stack is as large as that of the others.
            let builder = || match asked.fetch_add(1, Ordering::Relaxed) {
                nth if nth < given => thread::Builder::new(),
                _ => thread::Builder::new().stack_size(1 << 50),
            };
            let mut seen = Vec::new();
            let jobs = NonZeroUsize::new(8).unwrap();
            let ended = in_order(&items, (jobs, builder), Ok, |item| {
                seen.push(item);
                Ok(())
            });
            if given > 0 {
                ended.unwrap();
                assert_eq!(seen, items);
            } else {
                let error = ended.unwrap_err().to_string();
                assert!(error.contains("no thread") && error.contains("ulimit -u"), "{error}");
                assert!(seen.is_empty());
            }
        }
    }
}
