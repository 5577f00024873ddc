//! One invocation: a conversation with one process, every answer checked, turned into a record
//! whatever happens.

mod lines;
mod verdict;

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use palio_protocol::distribution::Distribution;
use palio_protocol::message::{Answer, Command, Sample};

use crate::audit;
use crate::budget::Throttled;
use crate::load::{Load, LoadRecord};
use crate::record::{
    CellRecord, Limits, Outcome, RaceRecord, Resources, SampleRecord, Schedule, SpanRecord,
};
use crate::runner::excerpt::shown;
use crate::runner::generator::{self, Drive, Stopped};
use crate::runner::process::{Broken, Process};
use crate::runner::schedule::{BATCH_MAX, sample_ns_min};
use lines::Lines;
use verdict::{Failure, beside, outcome_of_no_start, unkept, verdict};

/// The exit status of the contract for "I do not do this".
pub(super) const STATUS_UNSUPPORTED: i32 = 3;
/// For arguments that it does not know.
pub(super) const STATUS_MISUSE: i32 = 2;
/// What a process is started with that counts its forks.
pub(super) const COUNT_FORKS: &str = "--count-forks";

/// What came of an invocation; samples taken before a failure are kept.
#[derive(Clone, Debug)]
pub struct Finished {
    pub outcome: Outcome,
    pub detail: Option<String>,
    /// Whether it is unsupported because its CPU budget could not be kept: that is what Palio
    /// found, and no refusal, whose words a contender chooses.
    pub lost_budget: bool,
    pub stderr: Option<String>,
    pub resources: Resources,
    pub throttled: Option<Throttled>,
    pub spans: Vec<SpanRecord>,
    pub samples: Vec<SampleRecord>,
}

impl Finished {
    /// Of a process that there never was.
    pub(super) fn without_a_start(outcome: Outcome, reason: String) -> Self {
        Self {
            outcome,
            detail: Some(reason),
            lost_budget: false,
            stderr: None,
            resources: Resources::default(),
            throttled: None,
            spans: Vec::new(),
            samples: Vec::new(),
        }
    }
}

/// A conversation in progress.
pub struct Conversation<'a> {
    race: &'a RaceRecord,
    /// The answer that this process's salt demands.
    expected: String,
    salt: u64,
    /// What the requests of the next sample met with.
    loaded: Option<(Distribution, LoadRecord)>,
    process: Process,
    interrupted: &'a AtomicBool,
    spans: Vec<SpanRecord>,
    samples: Vec<SampleRecord>,
    failure: Option<Failure>,
    /// Whether it was started to count its forks, and those of the last sample.
    counts_forks: bool,
    forks: Option<u64>,
}

impl std::fmt::Debug for Conversation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation").field("process", &self.process).finish_non_exhaustive()
    }
}

impl<'a> Conversation<'a> {
    /// Starts the contender of `cell` with this salt, and tells `started` its process id before
    /// anything else.
    ///
    /// # Errors
    /// It cannot be started at all.
    pub fn start(
        race: &'a RaceRecord,
        cell: &CellRecord,
        salt: u64,
        limits: &Limits,
        interrupted: &'a AtomicBool,
        started: &mut dyn FnMut(u32),
    ) -> Result<Self, Box<Finished>> {
        let command = cell.command_with(Some(salt));
        Self::start_command(race, &command, salt, limits, interrupted, started)
    }

    /// As [`start`](Self::start), to count forks.
    ///
    /// # Errors
    /// It cannot be started at all.
    pub(super) fn start_counting(
        race: &'a RaceRecord,
        cell: &CellRecord,
        salt: u64,
        limits: &Limits,
        interrupted: &'a AtomicBool,
        started: &mut dyn FnMut(u32),
    ) -> Result<Self, Box<Finished>> {
        let mut command = cell.command_with(Some(salt));
        command.push(COUNT_FORKS.to_owned());
        let conversation = Self::start_command(race, &command, salt, limits, interrupted, started)?;
        Ok(Self { counts_forks: true, ..conversation })
    }

    fn start_command(
        race: &'a RaceRecord,
        command: &[String],
        salt: u64,
        limits: &Limits,
        interrupted: &'a AtomicBool,
        started: &mut dyn FnMut(u32),
    ) -> Result<Self, Box<Finished>> {
        let timeout = Duration::from_millis(limits.timeout_ms);
        // Before it starts, since nothing may compute while a contender does.
        let started_with = race.answer_under(salt).map_err(|error| format!("{error:#}"));
        let load = Some(race).filter(|race| race.served).and_then(|r| Load::of(&r.params).ok());
        if let Some(reason) = load.and_then(|load| generator::check_descriptors(&load).err()) {
            return Err(Box::new(Finished::without_a_start(Outcome::Unsupported, reason)));
        }
        let process = started_with.and_then(|expected| {
            Process::start(command, timeout, limits.memory_mib, race.cpu_budget)
                .map(|process| (expected, process))
        });
        match process {
            Ok((expected, process)) => {
                started(process.id());
                Ok(Self {
                    race,
                    expected,
                    salt,
                    loaded: None,
                    process,
                    interrupted,
                    spans: Vec::new(),
                    samples: Vec::new(),
                    failure: None,
                    counts_forks: false,
                    forks: None,
                })
            }
            Err(reason) => {
                let outcome = outcome_of_no_start(&reason);
                let lost_budget = outcome == Outcome::Unsupported;
                let finished = Finished::without_a_start(outcome, reason);
                Err(Box::new(Finished { lost_budget, ..finished }))
            }
        }
    }

    /// Asks for samples and checks each; returns ns per iteration of each, or `None` once anything
    /// has failed.
    pub fn run(&mut self, samples: u32, batch: u32, warm_up: bool) -> Option<Vec<f64>> {
        if self.failure.is_some() {
            return None;
        }
        let (Some(count), Some(size)) = (NonZeroU32::new(samples), NonZeroU32::new(batch)) else {
            return Some(Vec::new());
        };
        let mut per_iteration_ns = Vec::with_capacity(samples as usize);
        let mut lines = Lines::default();
        let (cpu_before, start) = (self.process.cpu_time(), Instant::now());
        self.process.write_line(&Command::Run { samples: count, batch: size }.to_string());
        for number in 1..=samples + 1 {
            match self.answer_when_served() {
                Ok(Answer::Sample(sample)) if number <= samples => {
                    self.forks = sample.forks;
                    if sample.forks.is_some() && !self.counts_forks {
                        let reason = "it counts forks while it is timed";
                        self.failure = Some(Failure::Garbage(reason.to_owned()));
                        return None;
                    }
                    lines.add(sample.elapsed_ns, ns_since(start));
                    if self.loaded.is_some() != self.race.served {
                        let reason = "a sample without requests, where some are to be served";
                        self.failure = Some(Failure::Garbage(reason.to_owned()));
                        return None;
                    }
                    let kept = self.record(sample, batch, warm_up);
                    let wrong = audit::wrong(self.race, &kept, &self.expected);
                    per_iteration_ns.push(kept.iteration_ns());
                    self.samples.push(kept);
                    if let Some(wrong) = wrong {
                        self.failure = Some(Failure::Wrong(wrong.reason));
                        return None;
                    }
                }
                Ok(Answer::Done { samples: said }) if number == samples + 1 && said == samples => {
                    let wall_ns = ns_since(start);
                    let cpu = cpu_before.zip(self.process.cpu_time());
                    let cpu_ns = cpu.map(|(before, after)| after.since_ns(before));
                    self.failure = lines.beyond(samples, wall_ns).map(Failure::FalseTime);
                    let line_ns = lines.quartile_ns();
                    self.spans.push(SpanRecord { warm_up, samples, wall_ns, cpu_ns, line_ns });
                    if self.failure.is_some() {
                        return None;
                    }
                }
                Ok(Answer::Done { samples: said }) => {
                    self.failure = Some(Failure::Garbage(format!(
                        "it said `done {said}` after {} of {samples} samples",
                        number - 1
                    )));
                    return None;
                }
                Ok(Answer::Sample(_) | Answer::Serving { .. }) => {
                    self.failure =
                        Some(Failure::Garbage(format!("it returned more than {samples} samples")));
                    return None;
                }
                Err(failure) => {
                    self.failure = Some(failure);
                    return None;
                }
            }
        }
        Some(per_iteration_ns)
    }

    fn answer(&mut self) -> Result<Answer, Failure> {
        let line = self.process.read_line(self.interrupted).map_err(Failure::Broken)?;
        line.parse().map_err(|error: palio_protocol::message::Malformed| {
            Failure::Garbage(error.to_string())
        })
    }

    /// As [`answer`](Self::answer); a contender that serves is sent its requests first.
    fn answer_when_served(&mut self) -> Result<Answer, Failure> {
        loop {
            match self.answer()? {
                Answer::Serving { port } => self.ask(port)?,
                answer => return Ok(answer),
            }
        }
    }

    /// Sends the requests of one iteration to the port at which it serves.
    fn ask(&mut self, port: u16) -> Result<(), Failure> {
        let load = Some(self.race).filter(|race| race.served && self.loaded.is_none());
        let load = load.and_then(|race| Load::of(&race.params).ok());
        let Some(load) = load else {
            let reason = "it serves, and nobody is to ask it for anything";
            return Err(Failure::Garbage(reason.to_owned()));
        };
        let (salt, interrupted) = (self.salt, self.interrupted);
        let deadline = self.process.deadline();
        let (stop, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        // This thread sends what is due, and would be late for it if it looked at anything else.
        let (driven, attended) = std::thread::scope(|scope| {
            let process = &mut self.process;
            let attend = || {
                let attended = process.attend(interrupted, &is_over);
                stop.store(attended.is_err(), Ordering::Relaxed);
                attended
            };
            // Where the system gives no thread, nobody looks meanwhile.
            let attending = std::thread::Builder::new().spawn_scoped(scope, attend).ok();
            let over = Over(&is_over, attending.as_ref().map(|it| it.thread().clone()));
            let what = Drive { load, port, salt, deadline, interrupted, stop: &stop };
            let driven = generator::drive(what);
            drop(over);
            let attended = attending.map_or(Ok(Ok(())), std::thread::ScopedJoinHandle::join);
            (driven, attended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let noted = self.process.attend(interrupted, &is_over);
        attended.and(noted).map_err(Failure::Broken)?;
        self.loaded = Some(driven.map_err(|stopped| match stopped {
            Stopped::Interrupted => Failure::Broken(Broken::Interrupted),
            Stopped::TimedOut => Failure::Broken(Broken::TimedOut(self.process.timeout())),
            Stopped::Wrong(reason) => Failure::Wrong(reason),
            Stopped::Gone(reason) => Failure::Unserved(reason),
        })?);
        Ok(())
    }

    /// A sample as it is stored.
    fn record(&mut self, sample: Sample, batch: u32, warm_up: bool) -> SampleRecord {
        let (distribution, load) = self.loaded.take().unzip();
        SampleRecord {
            warm_up,
            batch,
            elapsed_ns: sample.elapsed_ns,
            ops: sample.ops,
            answer: (sample.answer != self.expected).then_some(sample.answer),
            work: sample.work,
            user_us: sample.user_us,
            sys_us: sample.sys_us,
            distribution: distribution.or(sample.distribution).map(Into::into),
            load,
        }
    }

    /// The forks that the last sample counted.
    pub(super) fn forks(&self) -> Option<u64> {
        self.forks
    }

    /// Ends the process and says what came of it all.
    pub fn finish(mut self) -> Finished {
        // A harness may be older than the counting of forks.
        let refusals: &[i32] = if self.counts_forks {
            &[STATUS_UNSUPPORTED, STATUS_MISUSE]
        } else {
            &[STATUS_UNSUPPORTED]
        };
        if self.failure.is_none() {
            self.process.look_closely();
            self.process.write_line("quit");
        }
        let at_once = !matches!(
            self.failure,
            None | Some(Failure::Broken(Broken::Ended) | Failure::Unserved(_))
        );
        let ending = self.process.end(at_once, self.interrupted);
        if let Some(kib) = ending.out_of_memory_kib
            && matches!(self.failure, None | Some(Failure::Broken(Broken::Ended)))
        {
            self.failure = Some(Failure::Broken(Broken::TooMuchMemory(kib)));
        }
        if !at_once && let Some(reason) = &ending.broken {
            self.failure = Some(Failure::Broken(reason.clone()));
        }
        if self.failure.is_none()
            && let Some(line) = &ending.stray
        {
            self.failure =
                Some(Failure::Garbage(format!("it wrote {:?} after its last `done`", shown(line))));
        }
        let (mut outcome, mut detail) =
            verdict(self.failure.as_ref(), &ending, self.samples.len(), refusals);
        let mut lost_budget = outcome == Outcome::Unsupported && ending.no_start.is_some();
        let unkept = self.race.cpu_budget.and_then(|budget| unkept(budget, &ending));
        if let Some(reason) = unkept.filter(|_| outcome == Outcome::Ok) {
            (outcome, detail, lost_budget) = (Outcome::Unsupported, Some(reason), true);
        }
        let failed = outcome != Outcome::Ok;
        let detail = detail.or_else(|| beside(&ending));
        // What is said already is not said twice.
        let is_new = detail.as_deref() != Some(ending.stderr.trim());
        Finished {
            outcome,
            detail,
            lost_budget,
            stderr: (failed && is_new && !ending.stderr.is_empty()).then_some(ending.stderr),
            resources: ending.resources,
            throttled: ending.throttled,
            spans: self.spans,
            samples: self.samples,
        }
    }
}

fn ns_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Runs of warm-up at most; they double, so that only a contender that does nothing needs more.
const WARM_UP_RUNS_MAX: u32 = 64;

/// Tells the thread that looks at a contender that this is over, also by a panic.
struct Over<'a>(&'a AtomicBool, Option<std::thread::Thread>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.iter().for_each(std::thread::Thread::unpark);
    }
}

impl Conversation<'_> {
    /// Warms up for as long as the limits say by Palio's clock, and with one sample at least; where
    /// they want the first sample cold, not at all.
    ///
    /// By time and not by count, so that caches, allocators and the kernel's choice of processors
    /// settle for a fast contender as they do for a slow one. The runs double in length, because
    /// every one is stored.
    fn warm_up(&mut self, schedule: Schedule, limits: &Limits) -> Option<()> {
        let goal = Duration::from_millis(limits.warm_up_ms);
        if schedule.warm_ups == 0 {
            return Some(());
        }
        self.run(schedule.warm_ups, schedule.batch, true)?;
        // The process started in the first command, which is no warm-up: an interpreter would have
        // no other.
        let first = Duration::from_nanos(self.samples.iter().map(|sample| sample.elapsed_ns).sum());
        let now = Instant::now();
        let start = now.checked_sub(first).unwrap_or(now);
        let mut done = f64::from(schedule.warm_ups) * f64::from(schedule.batch);
        let mut size = schedule.batch;
        for _ in 0..WARM_UP_RUNS_MAX {
            let gone = start.elapsed();
            if gone >= goal {
                break;
            }
            let left = (goal - gone).as_secs_f64() / gone.as_secs_f64().max(1e-9) * done;
            size = size.saturating_mul(2).min(left.ceil() as u32).clamp(1, BATCH_MAX);
            // Where events are ranked, a sample is one iteration.
            let (samples, batch) =
                if self.race.statistic.is_some() { (size, 1) } else { (1, size) };
            self.run(samples, batch, true)?;
            done += f64::from(size);
        }
        Some(())
    }
}

/// The whole of one invocation in a block: warm-up, then the measured samples.
pub fn measure(
    race: &RaceRecord,
    cell: &CellRecord,
    salt: u64,
    schedule: Schedule,
    limits: &Limits,
    interrupted: &AtomicBool,
    started: &mut dyn FnMut(u32),
) -> Finished {
    let mut conversation = match Conversation::start(race, cell, salt, limits, interrupted, started)
    {
        Ok(conversation) => conversation,
        Err(result) => return *result,
    };
    if conversation.warm_up(schedule, limits).is_some() {
        conversation.run(schedule.samples, schedule.batch, false);
    }
    conversation.finish()
}

/// If the first iteration is longer than this many budgets, and than a second, it is the only one.
const LONG_BUDGETS: f64 = 10.0;
const LONG_NS_MIN: f64 = 1e9;

/// The pilot: learns how long an iteration of the cell takes, for the [schedule](super::schedule)
/// of its race.
///
/// Its last two samples count. They are batches of at least 1 ms (under a CPU budget, of ten
/// periods of its quota), or single iterations where the
/// distribution of events is ranked, which the catalogue has made long enough.
///
/// An iteration much longer than the budget is not repeated: there are cells in which each takes a
/// minute.
pub fn pilot(
    race: &RaceRecord,
    cell: &CellRecord,
    salt: u64,
    limits: &Limits,
    interrupted: &AtomicBool,
    started: &mut dyn FnMut(u32),
) -> Finished {
    let mut conversation = match Conversation::start(race, cell, salt, limits, interrupted, started)
    {
        Ok(conversation) => conversation,
        Err(result) => return *result,
    };
    let first = conversation.run(1, 1, true);
    if let Some(&[first_ns]) = first.as_deref()
        && !is_long(first_ns, limits.budget_ms)
    {
        let batch_max = if race.statistic.is_some() { 1 } else { BATCH_MAX };
        let mut batch = 1_u32;
        // The first iterations of a process are slow; a few rounds settle on its pace.
        while let Some(times) = conversation.run(2, batch, true) {
            let iteration_ns = times.iter().copied().fold(f64::INFINITY, f64::min).max(1.0);
            let enough =
                (sample_ns_min(race) / iteration_ns).ceil().min(f64::from(batch_max)) as u32;
            let enough = enough.max(1).next_power_of_two();
            if enough <= batch {
                break;
            }
            batch = enough;
        }
    }
    conversation.finish()
}

fn is_long(first_ns: f64, budget_ms: u64) -> bool {
    first_ns > (LONG_BUDGETS * budget_ms as f64 * 1e6).max(LONG_NS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_first_iteration_beyond_doubt_is_the_only_one() {
        // Ten budgets of 1 s; a second at least.
        assert_eq!((is_long(1e10, 1000), is_long(1.01e10, 1000)), (false, true));
        assert_eq!((is_long(9e8, 1), is_long(1.1e9, 1)), (false, true));
    }
}
