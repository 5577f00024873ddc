//! The contender's side of the contract for Rust: arguments, clock, resource usage, printing.
//!
//! A contender's `main` is one call:
//!
//! ```no_run
//! use palio_protocol::harness::{serve, Contender, Iteration, Refusal, Request, Work};
//!
//! fn fib(request: &mut Request) -> Result<Work, Refusal> {
//!     let n: u32 = request.param("n")?;
//!     fn recurse(n: u32) -> u64 {
//!         if n < 2 { n.into() } else { recurse(n - 1) + recurse(n - 2) }
//!     }
//!     Ok(Work::new(move || Iteration { answer: recurse(n), ops: 1, work: None }))
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     serve(Contender {
//!         id: "serial",
//!         runtime: "none",
//!         version: env!("CARGO_PKG_VERSION"),
//!         toolchain: "rustc",
//!         flags: "opt-level=3",
//!         threads_max: 1,
//!         workloads: &[("fib", fib)],
//!         knobs: &[],
//!     })
//! }
//! ```

mod conformance;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

use crate::distribution::Distribution;
use crate::forks::{self, Counted, Forks};
use crate::message::{Answer, Command, Description, Knob, Sample, decimal};
use crate::salt;

/// Exit status for arguments or commands that cannot be understood.
const EXIT_MISUSE: u8 = 2;
/// Exit status for a workload or thread count that is not supported.
const EXIT_UNSUPPORTED: u8 = 3;

/// Gets one workload ready: reads its parameters, starts the runtime (scope `steady`), and returns
/// the timed work.
pub type Prepare = fn(&mut Request) -> Result<Work, Refusal>;

/// Who the contender is and what it can run.
#[derive(Clone, Copy, Debug)]
pub struct Contender<'a> {
    pub id: &'a str,
    pub runtime: &'a str,
    /// Version of the runtime as linked, e.g. read from the lock file by the build script.
    pub version: &'a str,
    pub toolchain: &'a str,
    pub flags: &'a str,
    /// The largest `--threads` that makes sense, e.g. 1 for a current-thread runtime.
    pub threads_max: usize,
    pub workloads: &'a [(&'a str, Prepare)],
    /// Knobs that `--set` accepts beside the workload's parameters, with their defaults.
    pub knobs: &'a [(&'a str, &'a str)],
}

/// What one iteration did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    pub answer: u64,
    pub ops: u64,
    /// `None` where counting is not free.
    pub work: Option<u64>,
}

/// What the iterations of a batch did so far, and since when: the first of them stands for all, and
/// one that differs from it, if any does. To compare is all that happens between two iterations.
#[derive(Clone, Copy, Debug)]
pub struct Iterations {
    start: Instant,
    first: Option<Iteration>,
    odd: Option<Iteration>,
    count: u32,
}

/// All iterations of a batch, and how long they took.
#[derive(Clone, Copy, Debug)]
pub struct TimedIterations {
    elapsed_ns: u64,
    all: Iterations,
}

impl Iterations {
    /// Reads the clock: the first iteration is about to begin.
    pub fn start() -> Self {
        Self { start: Instant::now(), first: None, odd: None, count: 0 }
    }

    pub fn add(&mut self, next: Iteration) {
        let first = *self.first.get_or_insert(next);
        if next != first {
            self.odd.get_or_insert(next);
        }
        self.count += 1;
    }

    /// Reads the clock again: the last iteration has just ended.
    pub fn stop(self) -> TimedIterations {
        TimedIterations { elapsed_ns: elapsed_ns(self.start), all: self }
    }
}

impl TimedIterations {
    fn sum_up(&self, sums: &mut Batch) {
        sums.elapsed_ns = self.elapsed_ns;
        let Some(first) = self.all.first else { return };
        for _ in 1..self.all.count {
            sums.add(first.answer, first.ops, first.work);
        }
        let last = self.all.odd.unwrap_or(first);
        sums.add(last.answer, last.ops, last.work);
    }
}

/// The work of one workload, ready to be iterated.
pub struct Work {
    kind: Kind,
    /// Whether samples say how many forks there were.
    counts_forks: bool,
}

/// Appends what each event of an iteration took.
type Measured = Box<dyn FnMut(&mut Vec<u64>) -> Iteration>;

enum Kind {
    Plain(Box<dyn FnMut() -> Iteration>),
    Batched(Box<dyn FnMut(u32) -> TimedIterations>),
    Staged(Box<dyn Staged>),
    Measured(Measured),
    Serving { port: u16, iterate: Box<dyn FnMut() -> Iteration> },
    Given { answer: String, ops: u64, work: Option<u64>, events_ns: Vec<u64>, forks: u64 },
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Work")
    }
}

/// Work that needs something done outside the clock before or after every iteration.
pub trait Staged {
    /// Before every iteration, not timed.
    fn prepare(&mut self);
    /// The iteration, timed.
    fn run(&mut self);
    /// After every iteration, not timed: what it computed.
    fn finish(&mut self) -> Iteration;
}

impl Work {
    /// Work that is timed as a whole: one clock reading before a batch, one after it.
    pub fn new(iterate: impl FnMut() -> Iteration + 'static) -> Self {
        Self::of(Kind::Plain(Box::new(iterate)))
    }

    /// Work whose iterations of one sample belong together, such as in one entry into a runtime:
    /// the closure does as many as it is told, reads the clock before the first and after the last
    /// of them, where they are done, and reports them. The way there and back is not timed.
    pub fn batched(batch: impl FnMut(u32) -> TimedIterations + 'static) -> Self {
        Self::of(Kind::Batched(Box::new(batch)))
    }

    /// Work with untimed parts around every iteration.
    pub fn staged(stages: impl Staged + 'static) -> Self {
        Self::of(Kind::Staged(Box::new(stages)))
    }

    /// Work that consists of events: every iteration appends what each of its events took, in ns,
    /// to the list that it is given, and leaves what is in it. It is timed as a whole too.
    pub fn measured(iterate: impl FnMut(&mut Vec<u64>) -> Iteration + 'static) -> Self {
        Self::of(Kind::Measured(Box::new(iterate)))
    }

    /// Work that clients outside of this process ask for, at this port of 127.0.0.1, where it
    /// listens already: every iteration accepts connections, serves them to their end, and returns.
    pub fn serving(port: u16, iterate: impl FnMut() -> Iteration + 'static) -> Self {
        Self::of(Kind::Serving { port, iterate: Box::new(iterate) })
    }

    fn of(kind: Kind) -> Self {
        Self { kind, counts_forks: false }
    }
}

/// Why a workload cannot be run as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The arguments make no sense; exit status 2.
    Misuse(String),
    /// They make sense, but this contender does not do it; exit status 3.
    Unsupported(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misuse(reason) | Self::Unsupported(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Refusal {}

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Request {
    pub workload: String,
    pub threads: usize,
    /// Fresh for every process, and to be mixed into the work as its definition says.
    pub salt: u64,
    settings: BTreeMap<String, String>,
    /// Whether forks are to be counted, and whether the workload does.
    count_forks: bool,
    counts_forks: bool,
}

impl Request {
    fn parse(args: impl Iterator<Item = String>) -> Result<Self, Refusal> {
        let (mut workload, mut threads, mut salt) = (None, None, None);
        let (mut settings, mut count_forks) = (BTreeMap::new(), false);
        let mut args = args;
        while let Some(option) = args.next() {
            let mut value =
                || args.next().ok_or_else(|| Refusal::Misuse(format!("{option} wants a value")));
            match option.as_str() {
                "--workload" => {
                    if workload.replace(value()?).is_some() {
                        return Err(Refusal::Misuse("--workload is given twice".into()));
                    }
                }
                "--threads" => {
                    let text = value()?;
                    let count = decimal::<usize>(&text).filter(|&n| n >= 1).ok_or_else(|| {
                        Refusal::Misuse(format!(
                            "--threads {text:?} is not an integer of at least 1"
                        ))
                    })?;
                    if threads.replace(count).is_some() {
                        return Err(Refusal::Misuse("--threads is given twice".into()));
                    }
                }
                "--salt" => {
                    let text = value()?;
                    let number = decimal::<u64>(&text).ok_or_else(|| {
                        Refusal::Misuse(format!("--salt {text:?} is not a whole number of 64 bits"))
                    })?;
                    if salt.replace(number).is_some() {
                        return Err(Refusal::Misuse("--salt is given twice".into()));
                    }
                }
                "--set" => {
                    let text = value()?;
                    let (key, value) = text
                        .split_once('=')
                        .filter(|(key, value)| !key.is_empty() && !value.is_empty())
                        .filter(|_| !text.contains(char::is_whitespace))
                        .ok_or_else(|| {
                            Refusal::Misuse(format!(
                                "--set {text:?} is not KEY=VALUE without white space"
                            ))
                        })?;
                    if settings.insert(key.to_owned(), value.to_owned()).is_some() {
                        return Err(Refusal::Misuse(format!("--set {key} is given twice")));
                    }
                }
                "--count-forks" => {
                    if std::mem::replace(&mut count_forks, true) {
                        return Err(Refusal::Misuse("--count-forks is given twice".into()));
                    }
                }
                _ => return Err(Refusal::Misuse(format!("unknown argument {option:?}"))),
            }
        }
        Ok(Self {
            workload: workload.ok_or_else(|| Refusal::Misuse("--workload is missing".into()))?,
            threads: threads.ok_or_else(|| Refusal::Misuse("--threads is missing".into()))?,
            salt: salt.ok_or_else(|| Refusal::Misuse("--salt is missing".into()))?,
            settings,
            count_forks,
            counts_forks: false,
        })
    }

    /// Takes the workload's parameter `key`.
    ///
    /// # Errors
    /// It was not set, or its value is not a `T`.
    pub fn param<T: FromStr>(&mut self, key: &str) -> Result<T, Refusal> {
        self.knob(key)?.ok_or_else(|| {
            Refusal::Misuse(format!("the parameter {key:?} is missing: add --set {key}=…"))
        })
    }

    /// Takes the contender's knob `key`, if the user turned it.
    ///
    /// # Errors
    /// Its value is not a `T`.
    pub fn knob<T: FromStr>(&mut self, key: &str) -> Result<Option<T>, Refusal> {
        let Some(text) = self.settings.remove(key) else { return Ok(None) };
        text.parse()
            .map(Some)
            .map_err(|_| Refusal::Misuse(format!("--set {key}={text} has the wrong type")))
    }

    /// Takes the contender's knob `key`, which has two positions, `[usual, other]`; whether it is
    /// in the other one.
    ///
    /// # Errors
    /// Its value is neither.
    pub fn is_turned(&mut self, key: &str, [usual, other]: [&str; 2]) -> Result<bool, Refusal> {
        match self.knob::<String>(key)? {
            None => Ok(false),
            Some(text) if text == usual => Ok(false),
            Some(text) if text == other => Ok(true),
            Some(text) => {
                Err(Refusal::Misuse(format!("--set {key}={text} is neither {usual} nor {other}")))
            }
        }
    }

    /// Whether this process is there to count its forks: the work is then to be made of rows over
    /// [`Counted`]. A workload that does not ask is refused where forks are to be counted.
    pub fn counts_forks(&mut self) -> bool {
        self.counts_forks = true;
        self.count_forks
    }

    fn refuse_what_is_left(&self) -> Result<(), Refusal> {
        match self.settings.keys().next() {
            Some(key) => Err(Refusal::Misuse(format!(
                "{:?} has no parameter or knob {key:?}",
                self.workload
            ))),
            None => Ok(()),
        }
    }
}

impl Contender<'_> {
    fn describe(&self) -> Description {
        Description {
            id: self.id.into(),
            runtime: self.runtime.into(),
            version: Some(self.version.to_owned()).filter(|v| v != "unknown"),
            toolchain: self.toolchain.into(),
            flags: self.flags.into(),
            workloads: self.workloads.iter().map(|(name, _)| (*name).to_owned()).collect(),
            knobs: self
                .knobs
                .iter()
                .map(|(name, default)| Knob {
                    name: (*name).to_owned(),
                    default: (*default).to_owned(),
                })
                .collect(),
        }
    }

    fn prepare(&self, mut request: Request) -> Result<Work, Refusal> {
        let prepare = if let Some(prepare) = conformance::find(&request.workload) {
            prepare
        } else {
            let found = self.workloads.iter().find(|(name, _)| *name == request.workload);
            let (_, prepare) = found.ok_or_else(|| {
                Refusal::Unsupported(format!("{} does not run {:?}", self.id, request.workload))
            })?;
            if request.threads > self.threads_max {
                return Err(Refusal::Unsupported(format!(
                    "{} runs on at most {} thread(s), not {}",
                    self.id, self.threads_max, request.threads
                )));
            }
            *prepare
        };
        let work = prepare(&mut request)?;
        request.refuse_what_is_left()?;
        if request.count_forks && !request.counts_forks {
            let reason = format!("{} does not count the forks of {:?}", self.id, request.workload);
            return Err(Refusal::Unsupported(reason));
        }
        Ok(Work { counts_forks: request.count_forks, ..work })
    }
}

/// Sums over the iterations of one batch.
struct Batch {
    elapsed_ns: u64,
    ops: u64,
    work: Option<u64>,
    answer: Option<String>,
}

impl Batch {
    fn new() -> Self {
        Self { elapsed_ns: 0, ops: 0, work: Some(0), answer: None }
    }

    fn add(&mut self, answer: impl ToString, ops: u64, work: Option<u64>) {
        let answer = answer.to_string();
        match &self.answer {
            None => self.answer = Some(answer),
            Some(first) if *first == answer || first.starts_with("differs:") => {}
            Some(first) => self.answer = Some(format!("differs:{first}:{answer}")),
        }
        self.ops += ops;
        self.work = self.work.zip(work).map(|(sum, more)| sum + more);
    }
}

fn elapsed_ns(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// User and system CPU time of this process so far, in µs.
fn cpu_us() -> Option<(u64, u64)> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let us = |t: nix::sys::time::TimeVal| u64::try_from(t.tv_sec() * 1_000_000 + t.tv_usec()).ok();
    Some((us(usage.user_time())?, us(usage.system_time())?))
}

impl Work {
    /// As [`sample`](Self::sample), of work that needs nobody outside.
    #[cfg(test)]
    fn sample_alone(&mut self, batch: u32) -> Sample {
        self.sample(batch, &mut |_| Ok(())).unwrap()
    }

    /// Takes a sample; `say` tells those outside where it is about to serve them.
    fn sample(
        &mut self,
        batch: u32,
        say: &mut dyn FnMut(Answer) -> Result<(), Refusal>,
    ) -> Result<Sample, Refusal> {
        let mut sums = Batch::new();
        let mut events = Vec::new();
        let forks_before = forks::counted();
        let cpu_before = cpu_us();
        match &mut self.kind {
            Kind::Plain(iterate) => {
                let mut done = Iterations::start();
                for _ in 0..batch {
                    done.add(iterate());
                }
                // When the clock has stopped.
                done.stop().sum_up(&mut sums);
            }
            Kind::Batched(iterate) => iterate(batch).sum_up(&mut sums),
            Kind::Staged(stages) => {
                for _ in 0..batch {
                    stages.prepare();
                    let start = Instant::now();
                    stages.run();
                    sums.elapsed_ns += elapsed_ns(start);
                    let done = stages.finish();
                    sums.add(done.answer, done.ops, done.work);
                }
            }
            Kind::Measured(iterate) => {
                // Such an iteration is far longer than the sums that are made between two of them.
                let start = Instant::now();
                for _ in 0..batch {
                    let done = iterate(&mut events);
                    sums.add(done.answer, done.ops, done.work);
                }
                sums.elapsed_ns = elapsed_ns(start);
            }
            Kind::Serving { port, iterate } => {
                for _ in 0..batch {
                    say(Answer::Serving { port: *port })?;
                    let start = Instant::now();
                    let done = iterate();
                    sums.elapsed_ns += elapsed_ns(start);
                    sums.add(done.answer, done.ops, done.work);
                }
            }
            Kind::Given { answer, ops, work, events_ns, forks } => {
                let start = Instant::now();
                for _ in 0..batch {
                    Counted::handed(*forks);
                    sums.add(&*answer, *ops, *work);
                    events.extend_from_slice(events_ns);
                }
                sums.elapsed_ns = elapsed_ns(start);
            }
        }
        let cpu = cpu_before.zip(cpu_us());
        Ok(Sample {
            elapsed_ns: sums.elapsed_ns.max(1),
            ops: sums.ops,
            answer: sums.answer.unwrap_or_else(|| "-".into()),
            work: sums.work,
            user_us: cpu.map(|((before, _), (after, _))| after.saturating_sub(before)),
            sys_us: cpu.map(|((_, before), (_, after))| after.saturating_sub(before)),
            // When the clock and the CPU time have been read: sorting is not the contender's work.
            distribution: Distribution::of(&mut events),
            forks: self.counts_forks.then(|| forks::counted().wrapping_sub(forks_before)),
        })
    }
}

/// Obeys the commands on `input` until `quit` or its end.
fn obey(work: &mut Work, input: impl BufRead, mut output: impl Write) -> Result<(), Refusal> {
    // A reader that went away has no use for the rest: that is an end, not an error.
    let mut say = |answer: Answer| {
        let said = writeln!(output, "{answer}").and_then(|()| output.flush());
        said.map_err(|_: io::Error| Refusal::Misuse("standard output was closed".into()))
    };
    for line in input.lines() {
        let line = line.map_err(|error| Refusal::Misuse(format!("standard input: {error}")))?;
        if line.trim().is_empty() {
            continue;
        }
        match line.parse::<Command>().map_err(|error| Refusal::Misuse(error.to_string()))? {
            Command::Quit => break,
            Command::Run { samples, batch } => {
                for _ in 0..samples.get() {
                    let sample = work.sample(batch.get(), &mut say)?;
                    say(Answer::Sample(sample))?;
                }
                say(Answer::Done { samples: samples.get() })?;
            }
        }
    }
    Ok(())
}

/// Runs the contender: the whole of its `main`.
pub fn serve(contender: Contender<'_>) -> ExitCode {
    serve_args(contender, std::env::args().skip(1))
}

/// As [`serve`], with arguments that do not come straight from the command line.
pub fn serve_args(contender: Contender<'_>, args: impl Iterator<Item = String>) -> ExitCode {
    let mut args = args.peekable();
    if args.peek().is_some_and(|first| first == "--describe") {
        print!("{}", contender.describe());
        return ExitCode::SUCCESS;
    }
    match converse(contender, args, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            eprintln!("{}: {refusal}", contender.id);
            ExitCode::from(match refusal {
                Refusal::Misuse(_) => EXIT_MISUSE,
                Refusal::Unsupported(_) => EXIT_UNSUPPORTED,
            })
        }
    }
}

/// One conversation of the contender, `--describe` apart: what [`serve`] has with this process's
/// own streams.
///
/// # Errors
/// The arguments or a line of `input` make no sense, or the contender does not do what they ask.
pub fn converse(
    contender: Contender<'_>,
    args: impl Iterator<Item = String>,
    input: impl BufRead,
    output: impl Write,
) -> Result<(), Refusal> {
    let request = Request::parse(args)?;
    salt::set_of_process(request.salt);
    let mut work = contender.prepare(request)?;
    obey(&mut work, input, output)
}

#[cfg(test)]
mod tests;
