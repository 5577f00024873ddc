//! The catalogue: workloads, their cases and presets, and the suites that group them.
//!
//! A file under `workloads/` describes one family (`fan_in`); each `[[case]]` of it is one
//! [`Workload`] (`fan_in/10000x100`). What a case means under a preset is an [`Instance`]:
//! parameters, thread counts, and the answer, units and work that every sample must show.

mod file;
mod origin;

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

pub use crate::prediction::{MissNote, Order, Prediction, Relation};
use crate::salt::Rule;
pub use crate::settings::{Settings, settings_text};
use crate::stats::Statistic;
use crate::suggest::nearest;
use crate::words::words;
pub use origin::{Fidelity, Origin};

pub(crate) use file::{read_toml, toml_files};

words! {
    /// Which sizes and thread counts a run uses.
    #[derive(clap::ValueEnum)]
    "preset": Preset {
        /// The native shape, scaled to well under 100 ms an iteration.
        Quick = "quick",
        /// The reference document's sizes on as many threads as this machine has cores.
        Native = "native",
        /// The reference document's sizes and thread counts, whatever this machine has.
        Published = "published",
    }
}

/// A number of worker threads in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Threads {
    Count(u32),
    /// As many as the machine has cores; `"cores"` in the file.
    #[serde(serialize_with = "cores_text")]
    Cores,
    /// A sweep: 1, 2, 4, … below the number of cores, and that number; `"up to cores"` in the file.
    #[serde(serialize_with = "up_to_cores_text")]
    UpToCores,
}

const CORES: &str = "cores";
const UP_TO_CORES: &str = "up to cores";

fn cores_text<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(CORES)
}

fn up_to_cores_text<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(UP_TO_CORES)
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Cores => f.write_str(CORES),
            Self::UpToCores => f.write_str(UP_TO_CORES),
        }
    }
}

impl Threads {
    /// The numbers on a machine with `cores` cores.
    pub fn on(self, cores: u32) -> Vec<u32> {
        match self {
            Self::Count(count) => vec![count],
            Self::Cores => vec![cores],
            Self::UpToCores => {
                let below = (0..u32::BITS).map(|power| 1 << power).take_while(|&n| n < cores);
                below.chain([cores]).collect()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Threads {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Count(i64),
            Word(String),
        }
        match Raw::deserialize(deserializer)? {
            Raw::Count(count) => {
                u32::try_from(count).ok().filter(|&n| n >= 1).map(Self::Count).ok_or_else(|| {
                    serde::de::Error::custom(format!(
                        "{count} is not a number of threads: use 1 or more, {CORES:?} or {UP_TO_CORES:?}"
                    ))
                })
            }
            Raw::Word(word) if word == CORES => Ok(Self::Cores),
            Raw::Word(word) if word == UP_TO_CORES => Ok(Self::UpToCores),
            Raw::Word(word) => Err(serde::de::Error::custom(format!(
                "{word:?} is not a number of threads: use 1 or more, {CORES:?} or {UP_TO_CORES:?}"
            ))),
        }
    }
}

words! {
    /// What kind of runtime the work is written for.
    "model": Model {
        Async = "async",
        ForkJoin = "fork-join",
    }
}

words! {
    /// Whether starting and stopping the runtime is part of the time.
    "scope": Scope {
        /// Inside a running runtime.
        Steady = "steady",
        /// Runtime start and stop included.
        Cold = "cold",
    }
}

/// A workload of one size: what it means under one preset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Instance {
    pub set: Settings,
    pub threads: Vec<Threads>,
    pub answer: String,
    /// Units in one iteration.
    pub ops: u64,
    /// Tasks, messages or switches in one iteration; `None` where the catalogue cannot say.
    pub work: Option<u64>,
}

/// A parameterised piece of concurrent work with a known answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Workload {
    /// Such as `fan_in/10000x100`.
    pub id: String,
    /// The name that contenders know, such as `fan_in`.
    pub family: String,
    pub title: String,
    pub model: Model,
    pub scope: Scope,
    /// What `ops` counts, in the singular.
    pub unit: String,
    #[serde(flatten)]
    pub origin: Origin,
    pub definition: String,
    /// Ways to do the same work, of which the fastest is ranked; one empty entry if there is only
    /// one.
    pub variants: Vec<Settings>,
    pub predictions: Vec<Prediction>,
    /// Where the salt of a process enters the work; `None` if it does not, and then there is a
    /// reason.
    pub salt: Option<Rule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsalted: Option<String>,
    /// Why a part of what a contender does is outside its clock, by the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untimed: Option<String>,
    /// All iterations of a sample are in one root, where the clock runs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_root: bool,
    /// Contenders serve requests that Palio sends; the parameters say which.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub served: bool,
    /// No honest sample can be shorter.
    pub elapsed_ns_min: Option<u64>,
    /// What is ranked instead of the time of an iteration: a number of the distribution of its
    /// events, which `ops` counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistic: Option<Statistic>,
    pub presets: BTreeMap<Preset, Instance>,
}

/// A named list of workloads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suite {
    pub id: String,
    pub title: String,
    pub preset: Preset,
    /// What an invocation measures in its quick sizes, in milliseconds, if the suite says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_budget_ms: Option<u64>,
    pub workloads: Vec<String>,
}

/// Every workload and suite.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    pub workloads: Vec<Workload>,
    pub suites: Vec<Suite>,
}

impl Catalogue {
    /// # Errors
    /// There is none of that name; the message offers the nearest, or the suite of that name.
    pub fn workload(&self, id: &str) -> Result<&Workload> {
        self.workloads.iter().find(|workload| workload.id == id).with_context(|| {
            if self.suites.iter().any(|suite| suite.id == id) {
                return format!("{id:?} is a suite, no workload: `palio run {id}` races it");
            }
            unknown(
                "workload",
                id,
                self.workloads.iter().map(|w| w.id.as_str()),
                "palio list workloads",
            )
        })
    }

    /// The workloads that `pattern` names: one by its id, or all below a beginning of the path
    /// (`fan_in`).
    ///
    /// # Errors
    /// It names none.
    pub fn matching(&self, pattern: &str) -> Result<Vec<&Workload>> {
        let below = |id: &str| {
            id.strip_prefix(pattern).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let found: Vec<_> = self.workloads.iter().filter(|workload| below(&workload.id)).collect();
        if found.is_empty() {
            self.workload(pattern).map(|workload| vec![workload])
        } else {
            Ok(found)
        }
    }

    /// # Errors
    /// There is none of that name; the message offers the nearest, or the workload of that name.
    pub fn suite(&self, id: &str) -> Result<&Suite> {
        self.suites.iter().find(|suite| suite.id == id).with_context(|| {
            if self.matching(id).is_ok() {
                return format!("{id:?} is a workload, no suite: `palio run -w {id}` races it");
            }
            unknown("suite", id, self.suites.iter().map(|s| s.id.as_str()), "palio list suites")
        })
    }
}

/// `there is no workload "fob"; did you mean "fib"? `palio list workloads` shows them all`.
pub(crate) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
    list: &str,
) -> String {
    match nearest(name, known) {
        Some(near) => {
            format!("there is no {what} {name:?}; did you mean {near:?}? `{list}` shows them all")
        }
        None => format!("there is no {what} {name:?}; `{list}` shows them all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_ends_with_all_cores() {
        let swept = |cores| Threads::UpToCores.on(cores);
        assert_eq!(swept(1), [1]);
        assert_eq!(swept(2), [1, 2]);
        assert_eq!(swept(4), [1, 2, 4]);
        assert_eq!(swept(12), [1, 2, 4, 8, 12]);
        assert_eq!(swept(u32::MAX).last(), Some(&u32::MAX));
        assert_eq!((Threads::Cores.on(6), Threads::Count(3).on(6)), (vec![6], vec![3]));
    }

    #[test]
    fn threads_are_read_as_they_are_shown() {
        #[derive(Deserialize, Serialize)]
        struct File {
            threads: Vec<Threads>,
        }
        let line = "threads = [4, \"cores\", \"up to cores\"]\n";
        let file: File = toml::from_str(line).unwrap();
        let shown: Vec<String> = file.threads.iter().map(Threads::to_string).collect();
        assert_eq!(shown, ["4", "cores", "up to cores"]);
        assert_eq!(toml::to_string(&file).unwrap(), line);
        let error = toml::from_str::<File>("threads = [\"all\"]").err().unwrap().to_string();
        assert!(error.contains("\"up to cores\""), "{error}");
    }
}
