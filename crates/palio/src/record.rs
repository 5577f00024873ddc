//! A run as it is stored: every race, cell, invocation and sample.
//!
//! This is what the store keeps, what a bundle carries, and what a report is made from.

mod blocks;

use palio_protocol::distribution::Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::{CpuBudget, Throttled};
use crate::contender::{Kind, Track};
use crate::forks::Demand;
use crate::grid::Design;
use crate::load::LoadRecord;
use crate::release::Release;
use crate::salt::{Plain, Rule};
use crate::stats::{BlockTimes, FloorGoal, Statistic};
use crate::words::words;
use crate::workload::{Model, Origin, Prediction, Preset, Scope, Settings};
pub use blocks::BlockRecord;

/// One suite raced on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    pub header: Header,
    pub contenders: Vec<ContenderRecord>,
    pub races: Vec<RaceRecord>,
}

/// How and where a run is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub id: String,
    pub suite: String,
    pub preset: Preset,
    pub blocks: u32,
    pub seed: u64,
    pub limits: Limits,
    /// Whether races go on beyond their blocks, and how far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_floor: Option<FloorGoal>,
    /// Which blocks are repeated because others disturbed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<RepeatRule>,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub finished_at: Option<String>,
    /// When it was gone on with after an interruption, each time, in RFC 3339, UTC. Written before
    /// anything is raced: whoever stops a run that goes badly leaves a trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed_at: Vec<String>,
    pub palio_version: String,
    /// The command that repeats it.
    pub command: String,
    /// What it was made for, where that is more than its suite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<Design>,
    pub machine: Machine,
    pub warnings: Vec<String>,
    /// The most measured samples that were kept of a process, evenly spaced in the order of
    /// execution, whatever they measured; `None` if all were. Those with a distribution of events,
    /// and those of an invocation that did not end well, are always kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinned: Option<u32>,
}

/// Which blocks are repeated; fixed before the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepeatRule {
    /// The most of the machine's CPU time that others may take in a block, as a fraction.
    pub outside_max: f64,
    /// How many blocks of a race are repeated at most.
    pub repeats_max: u32,
}

/// The machine; `None` is a thing that could not be read, never a zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Hash of the fields that decide whether two runs can be compared.
    pub fingerprint: String,
    pub cpu_model: Option<String>,
    /// Processors (hardware threads) that Palio could use, whatever the name says.
    pub cores: Option<u32>,
    pub threads_per_core: Option<u32>,
    pub sockets: Option<u32>,
    pub numa_nodes: Option<u32>,
    /// Such as `L2 2 MiB × 2`.
    pub caches: Vec<String>,
    pub memory_kib: Option<u64>,
    pub governor: Option<String>,
    pub turbo: Option<String>,
    pub kernel: Option<String>,
    pub libc: Option<String>,
    pub os: Option<String>,
    /// `none`, or the name of the hypervisor.
    pub virtualisation: Option<String>,
    /// CPU limit of the control group that the run was in, such as `200000/100000` or `none`.
    pub cpu_quota: Option<String>,
    /// What control groups of their own were there for contenders, or why there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_groups: Option<String>,
}

/// What one invocation may take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Aim for the measured samples of one invocation, on average over the cells of a race.
    pub budget_ms: u64,
    /// How long an invocation warms up at least, by Palio's clock.
    #[serde(default)]
    pub warm_up_ms: u64,
    /// No invocation warms up: the first sample of each process counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
    /// Every invocation takes so many samples of one iteration each, and there are no pilots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u32>,
    /// An invocation that takes longer is killed.
    pub timeout_ms: u64,
    /// An invocation whose resident set grows beyond this is killed.
    pub memory_mib: u64,
}

/// What was known of a contender when the run was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContenderRecord {
    /// The name under which it raced.
    pub id: String,
    /// The id in its `contender.toml`; another one where it raced under a second name or with
    /// turned knobs.
    pub base: String,
    /// The release of its runtime, where the user chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    pub name: String,
    pub language: String,
    pub kind: Kind,
    pub track: Track,
    pub homepage: String,
    pub licence: String,
    pub notes: Option<String>,
    pub runtime: Option<String>,
    pub version: Option<String>,
    pub toolchain: Option<String>,
    pub flags: Option<String>,
    /// A hash of the files that its command names; `None` in runs of an older Palio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Why it could not race at all.
    pub absent: Option<String>,
}

/// All contenders on one workload × parameters × threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RaceRecord {
    pub workload: String,
    pub title: String,
    /// What an iteration does, as the catalogue defined it; runs of an older Palio do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    pub model: Model,
    pub scope: Scope,
    pub unit: String,
    pub params: Settings,
    pub threads: u32,
    /// What every sample must answer; under the salt 0, if the workload is salted.
    pub answer: String,
    /// Where the salt enters, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<Rule>,
    /// Where the workload comes from; runs of an older Palio do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    pub ops: u64,
    pub work: Option<u64>,
    pub elapsed_ns_min: Option<u64>,
    /// Why a part of what a contender does is outside its clock, by the workload's definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untimed: Option<String>,
    /// What is ranked instead of the time, where the workload consists of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistic: Option<Statistic>,
    /// Whether all iterations of a sample are in one root, where the clock runs. Runs of an older
    /// Palio do not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_root: bool,
    /// Whether contenders serve, and Palio sends them requests; its parameters say which
    /// ([`Load`](crate::load::Load)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub served: bool,
    /// What all processes of a contender may take together, in the track with a CPU budget; `None`
    /// in the other one. The two are never ranked together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_budget: Option<CpuBudget>,
    /// The contender that also runs as its own shadow.
    pub reference: Option<String>,
    pub predictions: Vec<Prediction>,
    /// What the machine did in each block, where blocks are judged by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<BlockRecord>,
    /// The block that began last, until the race is over: what is stored of one that a `kill -9`
    /// cut off may be nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<u32>,
    pub cells: Vec<CellRecord>,
}

/// One contender (in one variant) in one race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellRecord {
    pub contender: String,
    pub variant: Settings,
    /// A second self: of the reference, or of each contender.
    pub shadow: bool,
    /// The command that starts it, arguments included.
    pub command: Vec<String>,
    /// `Pending` until every block is done or one failed.
    pub outcome: Outcome,
    pub detail: Option<String>,
    pub stderr: Option<String>,
    /// The same for all cells of a race; fixed when all pilots are done.
    pub schedule: Option<Schedule>,
    /// `None` where nobody asked: in rows that do not fork, of baselines, and in runs of an older
    /// Palio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forks: Option<ForksRecord>,
    pub invocations: Vec<InvocationRecord>,
}

/// What a cell handed to its runtime in one iteration, counted in a process of its own that nobody
/// timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForksRecord {
    /// `None` if they were not counted.
    pub handed: Option<u64>,
    /// Why they were not.
    pub detail: Option<String>,
    /// What the work demands.
    pub at_least: u64,
    /// All that there is to hand over.
    pub at_most: u64,
}

/// What every invocation of a cell is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Discarded (but stored) samples first; more follow while the warm-up lasts.
    pub warm_ups: u32,
    pub samples: u32,
    /// Iterations in one sample.
    pub batch: u32,
}

words! {
    /// How a contender ended a race. Only `Ok` is ranked.
    "outcome": Outcome {
        Ok = "ok",
        WrongAnswer = "wrong-answer",
        /// Its samples add up to more time than passed.
        FalseTime = "false-time",
        Crashed = "crashed",
        TimedOut = "timed-out",
        Unsupported = "unsupported",
        NotBuilt = "not-built",
        /// The run was interrupted before this contender could finish.
        Pending = "pending",
    }
}

/// One process of a contender on one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvocationRecord {
    /// `None` for the pilot.
    pub block: Option<u32>,
    /// Place in the order of the block, from 0.
    pub position: u32,
    pub started_at: String,
    /// What `--salt` gave it; `None` in runs of an older Palio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<u64>,
    pub outcome: Outcome,
    pub detail: Option<String>,
    /// Its block was [repeated](BlockRecord::repeated).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
    pub resources: Resources,
    /// How often it had used up its CPU budget; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Throttled>,
    /// One for each `run` that was answered to its end; empty in runs of an older Palio.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<SpanRecord>,
    /// What is missing from `samples`; `None` if nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Dropped>,
    pub samples: Vec<SampleRecord>,
}

/// The samples of an invocation that were left out of a thinned bundle: how many, and their sums,
/// so that what is computed from sums does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dropped {
    pub warm_ups: u64,
    /// Measured samples. All that follows is about these.
    pub samples: u64,
    pub iterations: u64,
    pub elapsed_ns: u64,
    /// `None` if one of them did not say.
    pub user_us: Option<u64>,
    pub sys_us: Option<u64>,
    /// How many did not count their work.
    pub uncounted: u64,
}

/// One `run` command as Palio saw it from outside, from before it was written until `done` was
/// read. Its samples lie within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpanRecord {
    pub warm_up: bool,
    pub samples: u32,
    pub wall_ns: u64,
    /// CPU time of the whole process; `None` where the platform cannot tell.
    pub cpu_ns: Option<u64>,
    /// From the line of one sample to the next (or from the command to the first), the lower
    /// quartile: three lines in four came no sooner. `None` in runs of an older Palio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_ns: Option<u64>,
}

/// What a process took, from its start to its end; `None` is what could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    pub wall_us: u64,
    pub user_us: Option<u64>,
    pub sys_us: Option<u64>,
    pub max_rss_kib: Option<u64>,
    pub voluntary_switches: Option<u64>,
    pub involuntary_switches: Option<u64>,
}

/// One timed sample, in the order of execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleRecord {
    pub warm_up: bool,
    pub batch: u32,
    pub elapsed_ns: u64,
    pub ops: u64,
    /// `None` if it is the right one.
    pub answer: Option<String>,
    pub work: Option<u64>,
    pub user_us: Option<u64>,
    pub sys_us: Option<u64>,
    /// Of its events, if the contender reported any, or the requests that it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<DistributionRecord>,
    /// What its requests met with, if it served any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadRecord>,
}

/// The events of one sample, summarised by the contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DistributionRecord {
    pub events: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

impl From<Distribution> for DistributionRecord {
    fn from(from: Distribution) -> Self {
        let Distribution { events, p50_ns, p99_ns, p999_ns, max_ns } = from;
        Self { events, p50_ns, p99_ns, p999_ns, max_ns }
    }
}

impl From<DistributionRecord> for Distribution {
    fn from(from: DistributionRecord) -> Self {
        let DistributionRecord { events, p50_ns, p99_ns, p999_ns, max_ns } = from;
        Self { events, p50_ns, p99_ns, p999_ns, max_ns }
    }
}

impl Outcome {
    /// The word without its hyphen, for people.
    pub fn words(self) -> String {
        self.name().replace('-', " ")
    }

    /// Whether something went wrong, as opposed to something that was not there to be raced.
    pub fn is_fault(self) -> bool {
        matches!(self, Self::WrongAnswer | Self::FalseTime | Self::Crashed | Self::TimedOut)
    }

    /// Whether it was not there to be raced.
    pub fn is_left_aside(self) -> bool {
        matches!(self, Self::Unsupported | Self::NotBuilt)
    }
}

impl SampleRecord {
    /// How long one iteration took.
    pub fn iteration_ns(&self) -> f64 {
        self.elapsed_ns as f64 / f64::from(self.batch)
    }

    /// The number that is ranked, in ns: the time of an iteration, or the statistic of the sample's
    /// events; `None` if it has none.
    pub fn value_ns(&self, statistic: Option<Statistic>) -> Option<f64> {
        match statistic {
            None => Some(self.iteration_ns()),
            Some(statistic) => Some(statistic.in_sample(&self.distribution?.into()) as f64),
        }
    }
}

impl RunRecord {
    /// Whether nothing is left to race.
    pub fn is_finished(&self) -> bool {
        self.races.iter().flat_map(|race| &race.cells).all(|cell| cell.outcome != Outcome::Pending)
    }

    pub fn contender(&self, id: &str) -> Option<&ContenderRecord> {
        self.contenders.iter().find(|contender| contender.id == id)
    }
}

impl ContenderRecord {
    /// Whether it was built, or tried to be, and asked who it is.
    pub fn is_asked(&self) -> bool {
        self.version.is_some() || self.absent.is_some()
    }
}

impl RaceRecord {
    /// The contenders that it needs, as they claim.
    pub fn needs(&self) -> impl Iterator<Item = &str> {
        let claims = |cell: &&CellRecord| {
            cell.outcome != Outcome::Unsupported || !cell.invocations.is_empty()
        };
        self.cells.iter().filter(claims).map(|cell| cell.contender.as_str())
    }

    /// The forks that an iteration must hand to the runtime, where the work consists of them.
    pub fn forks(&self) -> Option<Demand> {
        let rule = self.salt.filter(|_| self.model == Model::ForkJoin)?;
        Demand::of(rule, &self.params)
    }

    /// What every sample of a process with this salt must answer.
    ///
    /// # Errors
    /// The race lacks what its rule needs; no race does whose workload was read from a catalogue.
    pub fn answer_under(&self, salt: u64) -> anyhow::Result<String> {
        let plain = Plain { set: &self.params, ops: self.ops, answer: &self.answer };
        self.salt.map_or_else(|| Ok(self.answer.clone()), |rule| rule.answer(plain, salt))
    }
}

impl Header {
    /// The word for how far the run came, as lists and reports have it.
    pub fn state(&self) -> &'static str {
        if self.finished_at.is_some() { "finished" } else { "partial" }
    }
}

impl ForksRecord {
    pub fn new(demand: Demand, handed: Result<u64, String>) -> Self {
        let Demand { at_least, at_most } = demand;
        let (handed, detail) = handed.map_or_else(|why| (None, Some(why)), |n| (Some(n), None));
        Self { handed, detail, at_least, at_most }
    }
}

impl CellRecord {
    /// The number of threads that the contender was asked for; `None` if it was asked for nothing.
    pub fn threads_used(&self) -> Option<u32> {
        let at = self.command.iter().position(|word| word == "--threads")?;
        self.command.get(at + 1)?.parse().ok()
    }

    /// The command of a process with this salt.
    pub fn command_with(&self, salt: Option<u64>) -> Vec<String> {
        let salt = salt.map(|salt| ["--salt".to_owned(), salt.to_string()]);
        self.command.iter().cloned().chain(salt.into_iter().flatten()).collect()
    }

    /// The locations of its invocations in the first `blocks` blocks.
    pub fn block_times(&self, statistic: Option<Statistic>, blocks: u32) -> Option<BlockTimes> {
        let first = self.measured().filter(|(block, _)| *block < blocks);
        let values = first.map(|(block, sample)| Some((block, sample.value_ns(statistic)?)));
        BlockTimes::of_samples(statistic, values.collect::<Option<Vec<_>>>()?).ok()
    }

    /// The name under which a person knows it: `go reader=first`, `tokio-mt (shadow)`.
    pub fn label(&self) -> String {
        let mut label = self.contender.clone();
        if !self.variant.is_empty() {
            label = format!("{label} {}", crate::workload::settings_text(&self.variant));
        }
        if self.shadow {
            label.push_str(" (shadow)");
        }
        label
    }

    /// What is missing from [`measured`](Self::measured).
    pub fn dropped(&self) -> impl Iterator<Item = &Dropped> {
        self.raced().filter_map(|invocation| invocation.dropped.as_ref())
    }

    /// The completed invocations of blocks that count.
    pub fn raced(&self) -> impl Iterator<Item = &InvocationRecord> {
        let counts = |i: &&InvocationRecord| i.block.is_some() && !i.disturbed;
        self.invocations.iter().filter(|i| i.outcome == Outcome::Ok).filter(counts)
    }

    /// The measured samples of completed race invocations with their blocks, in the order of
    /// execution; of a thinned run, those that are kept.
    pub fn measured(&self) -> impl Iterator<Item = (u32, &SampleRecord)> {
        self.raced().filter_map(|invocation| Some((invocation.block?, invocation))).flat_map(
            |(block, invocation)| {
                invocation
                    .samples
                    .iter()
                    .filter(|sample| !sample.warm_up)
                    .map(move |sample| (block, sample))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Databases and bundles hold these words: a word that changes makes old runs unreadable.
    #[test]
    fn stored_words_never_change() {
        fn words<T: ToString>(all: &[T]) -> Vec<String> {
            all.iter().map(ToString::to_string).collect()
        }
        let outcomes = "ok wrong-answer false-time crashed timed-out unsupported not-built pending";
        assert_eq!(words(Outcome::ALL).join(" "), outcomes);
        assert_eq!(words(Kind::ALL).join(" "), "async fork-join green-threads baseline");
        assert_eq!(words(Track::ALL).join(" "), "stock tuned");
        assert_eq!(words(Model::ALL).join(" "), "async fork-join");
        assert_eq!(words(Scope::ALL).join(" "), "steady cold");
        assert_eq!(words(Preset::ALL).join(" "), "quick native published");
        let rules = "start each fib skynet nqueens matmul sleepers primes returns tree quicksort phases \
             pipeline broadcast deadlines requests round_trips computed";
        assert_eq!(words(Rule::ALL).join(" "), rules);
        assert_eq!(words(Statistic::ALL).join(" "), "p50 p99 p99.9 max max polls");
    }

    #[test]
    fn a_stored_prediction_is_read() {
        let text = r#"{"expect":"a ~ b","because":"c","within":1.5}"#;
        let prediction: Prediction = serde_json::from_str(text).unwrap();
        assert_eq!(prediction.order.to_string(), "a ~ b");
        assert_eq!(serde_json::to_string(&prediction).unwrap(), text);
    }
}
