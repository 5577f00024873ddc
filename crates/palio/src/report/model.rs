//! The report as data: what every format shows, and exactly what `--format json` prints.
//!
//! Published as a JSON Schema in `docs/report.schema.json`. Fields may be added; none is renamed or
//! removed. All times are per iteration, in nanoseconds unless the name says otherwise; all ratios
//! are times divided by times, so that less than 1 is faster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use super::replication::Replication;
pub use super::scaling::{Law, Scaling, ScalingCurve, ScalingPoint};
pub use super::sweep::{Sweep, SweepPoint, SweepRow};
use crate::budget::{CpuBudget, Throttled};
use crate::contender::{Kind, Track};
use crate::grid::Design;
use crate::record::{Machine, Outcome};
use crate::stats::Statistic;
use crate::workload::Origin;
use crate::workload::{Model, Preset, Scope};

/// Everything that one run has to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub run: Run,
    /// One for each workload × parameters × threads, in the order in which they were raced.
    pub races: Vec<Race>,
    /// A group for each model, best first within it.
    pub totals: Vec<Total>,
    /// How many verdicts there are; `None` without a comparison.
    #[serde(default)]
    pub told_apart: Option<ToldApart>,
    pub predictions: Vec<CheckedPrediction>,
    /// Every contender of the run, those that could not race too.
    pub contenders: Vec<Contender>,
    /// The grid, where the run was a tuning sweep.
    #[serde(default)]
    pub sweep: Option<Sweep>,
    /// Workloads that were raced on several numbers of threads.
    #[serde(default)]
    pub scaling: Vec<Scaling>,
    /// The document that the suite comes from, beside the run; only `palio replicate` adds it.
    #[serde(default)]
    pub replication: Option<Replication>,
}

/// How and where the run was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub id: String,
    pub suite: String,
    pub preset: Preset,
    /// Blocks planned for every race.
    pub blocks: u32,
    /// By which rule blocks that others disturbed were repeated, and how many were; `None` without
    /// such a rule.
    #[serde(default)]
    pub disturbance: Option<String>,
    /// How often the run was interrupted and resumed; `None` if it was not.
    #[serde(default)]
    pub interruptions: Option<String>,
    /// Seed of the order of contenders and of the salts.
    pub seed: u64,
    /// `finished`, or `partial` when it was interrupted or is still going on.
    pub state: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub finished_at: Option<String>,
    pub palio_version: String,
    /// The command that repeats the run.
    pub command: String,
    /// What it was made for, where that is more than its suite.
    #[serde(default)]
    pub design: Option<Design>,
    pub machine: Machine,
    /// What makes timing here unreliable, each a sentence; empty is good news.
    pub warnings: Vec<String>,
    /// Whether the run was carried here without a part of its samples; `None` if it has all
    /// that were measured, with or without its warm-up.
    #[serde(default)]
    pub thinned: Option<Thinned>,
    /// What of the run is shown; `None` if all of it.
    #[serde(default)]
    pub selection: Option<Selection>,
}

/// What a report shows of its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Those that are shown.
    pub contenders: Vec<String>,
    pub contenders_left_out: Vec<String>,
    /// Whether only races are shown that all of `contenders` completed; of those that were not
    /// there to be raced, only the ones that were asked for by name.
    pub intersection: bool,
    /// Races of the run that are not shown, such as `fib n=27 · 2 threads`.
    pub races_left_out: Vec<String>,
}

/// How much a thinned run has of what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinned {
    /// The most measured samples that were kept of a process.
    pub samples_per_process: u32,
    /// Measured samples of all contenders and blocks.
    pub measured: u64,
    /// Those of them that are still there.
    pub kept: u64,
}

/// All contenders on one workload × parameters × threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Race {
    /// Such as `fib` or `fan_in/10000x100`.
    pub workload: String,
    pub title: String,
    pub model: Model,
    pub params: BTreeMap<String, String>,
    pub threads: u32,
    /// What `ops` counts, in the singular.
    pub unit: String,
    pub scope: Scope,
    /// The answer that every sample had to give; where the race is salted, under the salt 0.
    pub answer: String,
    /// Whether each process had to give another answer, which its salt demands.
    #[serde(default)]
    pub salted: bool,
    /// Units in one iteration.
    pub ops: u64,
    /// What is ranked of its events, which are its units; `null` for the time of an iteration.
    #[serde(default)]
    pub statistic: Option<Statistic>,
    /// What all processes of a contender were held to; `null` in the track without a CPU budget.
    /// Nothing of the two tracks is ranked or averaged together.
    #[serde(default)]
    pub cpu_budget: Option<CpuBudget>,
    /// The contender that the ratios and the noise floor refer to, if one completed.
    pub reference: Option<String>,
    /// `None` if the reference or its shadow did not complete.
    pub noise_floor: Option<NoiseFloor>,
    /// Where the workload comes from, and how near it is to that; `null` in runs of an older Palio.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// What a reader of the race must know besides, each a sentence without its full stop.
    #[serde(default)]
    pub cautions: Vec<String>,
    /// The variants that are not shown, which a document may have had.
    #[serde(skip)]
    pub others: Vec<Entry>,
    /// Ranked ones first, best first; then those that are not ranked.
    pub entries: Vec<Entry>,
}

/// A contender against itself, of a race its reference: no verdict below this.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// At least 1: a difference smaller than this factor is noise. `None` when too few blocks were
    /// run to tell.
    pub ratio: Option<f64>,
    /// The contender's shadow ÷ the contender.
    pub shadow: Interval,
}

/// A ratio with its 95 % interval; `None` on a side that the data do not bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub point: f64,
    pub lo: Option<f64>,
    pub hi: Option<f64>,
}

/// An [`Interval`] against the reference, and what it lets us say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub point: f64,
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    pub verdict: VerdictWord,
    /// Two-sided p-value of "no difference"; `None` for the reference itself.
    #[serde(default)]
    pub p: Option<f64>,
    /// The same after Holm's correction for all comparisons of the run.
    #[serde(default)]
    pub holm: Option<f64>,
    /// Blocks in which both were measured.
    #[serde(default)]
    pub blocks: u32,
}

/// The verdicts of a run, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldApart {
    /// Contenders against their reference, over all races that are shown.
    pub comparisons: u32,
    /// The same over all races of the run: Holm's correction is for all of them.
    #[serde(default)]
    pub in_run: u32,
    /// Those that are faster or slower, each judged by itself.
    pub plain: u32,
    /// Those of them that stand after Holm's correction.
    pub holm: u32,
    /// The fewest blocks with which one of so many comparisons can stand after Holm's correction.
    #[serde(default)]
    pub blocks_min: u32,
    /// Whether any of these could have stood, with the blocks that it has.
    #[serde(default)]
    pub could_stand: bool,
    /// Whether verdicts that do not stand have been taken back.
    pub corrected: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictWord {
    Faster,
    Slower,
    Equivalent,
    Inconclusive,
    /// The reference itself.
    Reference,
}

/// One contender in one race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub contender: String,
    /// `unknown` only if it never raced.
    pub version: String,
    /// A baseline is compared, but never ranked.
    pub kind: Kind,
    pub track: Track,
    /// The variant that is shown, the fastest of those raced, such as `reader=first`.
    pub variant: Option<String>,
    /// The other variants' `value_ns`.
    pub other_variants: BTreeMap<String, f64>,
    pub outcome: Outcome,
    /// For a failure: what went wrong, in a sentence. For what is pending: what whole blocks show
    /// so far, if there are any.
    pub detail: Option<String>,
    /// For a failure: the end of its standard error.
    pub stderr: Option<String>,
    /// Best and worst rank that the data allow, from 1; `None` if not ranked: a failure, or a
    /// baseline.
    pub rank: Option<[u32; 2]>,
    /// What is ranked: the median time of an iteration, or the race's statistic.
    #[serde(default)]
    pub value_ns: Option<f64>,
    /// The median time of an iteration; `None` where something else is ranked.
    pub median_ns: Option<f64>,
    /// The least of `sample_ns`.
    pub min_ns: Option<f64>,
    /// The greatest of `sample_ns`.
    pub max_ns: Option<f64>,
    /// Of the events of all measured samples; `None` where the race ranks times.
    #[serde(default)]
    pub distribution: Option<Distribution>,
    pub ratio_to_best: Option<Interval>,
    pub ratio_to_reference: Option<Verdict>,
    /// Its own shadow ÷ itself; `None` without a shadow of its own. A comparison is judged by the
    /// wider floor of its two sides, and by that of the reference where a side has none.
    #[serde(default)]
    pub noise_floor: Option<NoiseFloor>,
    /// The last third of the samples of an invocation ÷ the first third; `None` where there are too
    /// few samples, or where the maximum is ranked.
    #[serde(default)]
    pub drift: Option<Interval>,
    /// Mean user CPU time of an iteration, in µs, of the whole process.
    pub user_us: Option<f64>,
    /// Mean system CPU time of an iteration, in µs.
    pub sys_us: Option<f64>,
    /// CPU time ÷ wall time of the samples, in percent: 200 is two busy cores.
    pub cpu_percent: Option<f64>,
    /// What it was asked at a fixed rate, and how long that waited; `None` where it serves nobody.
    #[serde(default)]
    pub latency: Option<Latency>,
    /// How often it had used up its CPU budget, over all processes; `None` without one.
    #[serde(default)]
    pub throttled: Option<Throttled>,
    /// Time of the measured samples ÷ the time that passed outside while they were taken, in
    /// percent; `None` in runs that were stored without the latter.
    #[serde(default)]
    pub accounted_percent: Option<f64>,
    /// CPU time of the measured samples ÷ CPU time seen from outside, in percent.
    #[serde(default)]
    pub accounted_cpu_percent: Option<f64>,
    /// Whether every measured sample counted its work; `None` where the catalogue states none.
    #[serde(default)]
    pub certified: Option<bool>,
    /// What it handed to its runtime; `None` where nobody asked: in rows that do not fork, of
    /// baselines, and in runs of an older Palio.
    #[serde(default)]
    pub forks: Option<Forks>,
    /// What a reader must know before believing the numbers, each the end of a sentence about the
    /// contender; empty is good news.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// Peak resident set over all invocations.
    pub max_rss_kib: Option<u64>,
    /// Context switches per invocation (mean).
    pub voluntary_switches: Option<f64>,
    pub involuntary_switches: Option<f64>,
    /// Measured samples (warm-up not counted), with those that a thinned run does not have any
    /// more.
    pub samples: u32,
    /// Iterations in one sample.
    pub batch: u32,
    /// Every measured sample in the order of execution, of a thinned run those that were kept: its
    /// time in ns per iteration, or the race's statistic of its events in ns.
    pub sample_ns: Vec<f64>,
    /// The block of each of `sample_ns`, from 0.
    pub sample_block: Vec<u32>,
    /// The number of threads that it was asked for, where that is not the race's: a baseline works
    /// on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads_used: Option<u32>,
    /// A command that runs this cell by hand.
    pub by_hand: Option<String>,
}

/// The forks of one iteration, which the contender itself counted in a process of its own that
/// nobody timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forks {
    /// What was handed to the runtime; `None` if the contender does not count it.
    pub handed: Option<u64>,
    /// Why it was not counted.
    pub detail: Option<String>,
    /// What the work demands: of the calls of each join, all but one.
    pub at_least: u64,
    /// All calls, and the root.
    pub at_most: u64,
}

/// The events of a contender in one race. A percentile is the median over its samples, and `None`
/// where a sample has too few events for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    pub events: u64,
    pub p50_ns: Option<f64>,
    pub p99_ns: Option<f64>,
    pub p999_ns: Option<f64>,
    /// The longest event of all samples.
    pub max_ns: f64,
}

/// Requests at a fixed rate, each timed from the moment at which it was due, over all measured
/// samples. A percentile is `None` where fewer than ten requests exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub requests: u64,
    /// Due in a second, on all connections together.
    pub offered_per_s: f64,
    /// Answered in a second (median of the samples).
    pub achieved_per_s: f64,
    pub p50_ns: Option<f64>,
    pub p90_ns: Option<f64>,
    pub p99_ns: Option<f64>,
    pub p999_ns: Option<f64>,
    pub p9999_ns: Option<f64>,
    pub max_ns: f64,
    /// How late the generator came to send (medians of the samples).
    pub late_p50_ns: f64,
    pub late_p99_ns: f64,
    /// Requests that a full socket did not take at once.
    pub held_back: u64,
    /// CPU time of the contender, and of the generator, for a request.
    pub cpu_us: Option<f64>,
    pub generator_us: Option<f64>,
}

/// One contender over all races.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Total {
    pub contender: String,
    /// The races that this total is about: those of one model.
    pub model: Model,
    /// And of these the ones with a CPU budget, or the others.
    #[serde(default)]
    pub capped: bool,
    /// Geometric mean of the ratios to best over the races that all listed contenders completed;
    /// `None` if there is no such race, or if this contender is not among the listed ones.
    pub geomean_ratio: Option<f64>,
    /// Arithmetic mean of the same ratios, as the reference document printed it.
    pub mean_ratio: Option<f64>,
    /// Races that this contender completed.
    pub completed: u32,
    /// Races of the run.
    pub of: u32,
    /// Races that went into the means.
    pub common: u32,
}

/// A prediction of the catalogue, and whether it held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckedPrediction {
    pub workload: String,
    pub threads: u32,
    /// Such as `rayon < go`.
    pub expected: String,
    pub because: String,
    /// What was measured, such as `go ÷ rayon = 3.1 [2.9, 3.4]`.
    pub seen: String,
    /// `None` when it could not be checked: a side is missing, or the data do not decide.
    pub held: Option<bool>,
    /// Why it missed, where that is known; only where it did.
    #[serde(default)]
    pub note: Option<String>,
}

/// What is known of a contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contender {
    pub id: String,
    pub name: String,
    pub language: String,
    pub kind: Kind,
    pub track: Track,
    pub homepage: String,
    pub licence: String,
    pub runtime: Option<String>,
    pub version: Option<String>,
    pub toolchain: Option<String>,
    pub flags: Option<String>,
    /// Why it did not race, if it did not.
    pub absent: Option<String>,
    /// What a reader must know of it, such as a runtime that cannot be restarted.
    pub notes: Option<String>,
}
