//! What other verbs that race ask of `palio run`.

use std::path::Path;

use anyhow::{Result, bail, ensure};

use super::{Options, Selection};
use crate::budget::Budgets;
use crate::cmd::Places;
use crate::cmd::project::{Choice, Project};
use crate::grid::Design;
use crate::record::{Limits, RaceRecord};

/// A verb that lays a race out by itself.
#[derive(Clone, Debug)]
pub(in crate::cmd) struct Verb {
    pub(in crate::cmd) design: Design,
    /// The beginning of the command that repeats it, up to what is an option of `run` too.
    pub(in crate::cmd) words: Vec<String>,
}

/// What would be raced, and for how long.
pub(in crate::cmd) struct Planned {
    pub(in crate::cmd) races: Vec<RaceRecord>,
    pub(in crate::cmd) blocks: u32,
    pub(in crate::cmd) limits: Limits,
}

impl Options {
    /// Refuses what a verb decides by itself although these are its options too.
    pub(in crate::cmd) fn check_unused(&self, verb: &str, chooses_contenders: bool) -> Result<()> {
        let given = [
            ("-c", chooses_contenders && !self.contender.is_empty()),
            ("--allocator", chooses_contenders && self.allocator.is_some()),
            ("--reference", chooses_contenders && self.reference.is_some()),
            ("--resume", self.resume.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some(("--resume", _)) => bail!("a {verb} goes on with `palio run --resume`"),
            Some((option, _)) => bail!("`palio {verb}` takes no {option}"),
            None => Ok(()),
        }
    }

    /// Refuses both tracks, whose rows a sweep would have to average.
    pub(in crate::cmd) fn check_one_track(&self) -> Result<()> {
        ensure!(
            self.cpu_budget != Some(Budgets::Both),
            "a sweep is over rows of one track: sweep once with `--cpu-budget=only`, and once without"
        );
        Ok(())
    }

    /// The contenders that a verb races.
    pub(in crate::cmd) fn choose(&mut self, contenders: Vec<String>, reference: Option<String>) {
        (self.contender, self.reference) = (contenders, reference);
    }

    pub(in crate::cmd) fn suite(&self) -> Option<&str> {
        self.suite.as_deref()
    }

    pub(in crate::cmd) fn html(&self) -> Option<&Path> {
        self.html.as_deref()
    }

    pub(in crate::cmd) fn json(&self) -> bool {
        self.json
    }

    pub(in crate::cmd) fn contenders(&self) -> &[String] {
        &self.contender
    }

    /// Rows in place of a suite, and numbers of threads, if the user named none.
    pub(in crate::cmd) fn default_to(&mut self, suite: &str, threads: Vec<u32>) {
        if self.suite.is_none() && self.workload.is_empty() {
            self.suite = Some(suite.to_owned());
        }
        if self.threads.is_empty() {
            self.threads = threads;
        }
    }

    /// More rows.
    pub(in crate::cmd) fn add_workloads(&mut self, more: &[String]) {
        self.workload.extend_from_slice(more);
    }
}

/// What would be raced; nothing is built for it.
pub(in crate::cmd) fn planned(options: &Options, places: &Places) -> Result<Planned> {
    let project = Project::load(places)?;
    let selection = Selection::of(&project, options)?;
    let entrants = selection.choices.iter().map(Choice::unready).collect();
    Ok(Planned {
        races: selection.plan(entrants, options).races()?,
        blocks: selection.blocks(options),
        limits: selection.limits(options),
    })
}

/// What would be raced, such as `fib with -t 2`; nothing is built for it.
pub(in crate::cmd) fn races(options: &Options, places: &Places) -> Result<Vec<String>> {
    let label = |race: &RaceRecord| format!("{} with -t {}", race.workload, race.threads);
    Ok(planned(options, places)?.races.iter().map(label).collect())
}
