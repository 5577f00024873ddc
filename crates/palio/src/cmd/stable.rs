//! Contenders as a run needs them: built, and asked who they are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};

use super::interruption::{self, Interrupted};
use super::project::Choice;
use crate::contender::Track;
use crate::plan::Entrant;
use crate::record::{ContenderRecord, Outcome, RunRecord};
use crate::release::Release;
use crate::report::comparison::RACED_AS;
use crate::runner::build::Prober;
use crate::runner::program::Program;
use crate::runner::race::Stable;

/// The contenders that a user chose, each under the name by which it races.
#[derive(Debug)]
pub(super) struct Stalls {
    choices: BTreeMap<String, Choice>,
    /// What was there of those that were asked, under the names of their choices.
    programs: BTreeMap<String, Program>,
    /// How long the builds of those took whose turn has not come.
    ahead: BTreeMap<String, Duration>,
    prober: Prober,
    interrupted: Arc<AtomicBool>,
}

impl Stalls {
    pub(super) fn new(choices: Vec<Choice>, interrupted: &Arc<AtomicBool>) -> Self {
        Self {
            choices: choices.into_iter().map(|choice| (choice.name(), choice)).collect(),
            programs: BTreeMap::new(),
            ahead: BTreeMap::new(),
            prober: Prober::new(Arc::clone(interrupted)),
            interrupted: Arc::clone(interrupted),
        }
    }

    pub(super) fn add(&mut self, name: &str, choice: Choice) {
        self.choices.insert(name.to_owned(), choice);
    }

    /// Gets those ready whose knobs the user turned: a knob that a contender does not have is to be
    /// refused before anything is raced.
    pub(super) fn ready_turned(&mut self, run: &mut RunRecord) -> Result<()> {
        for at in 0..run.contenders.len() {
            let known = &run.contenders[at];
            let is_turned = self.choices.get(&known.id).is_some_and(Choice::is_turned);
            if !is_turned || known.is_asked() {
                continue;
            }
            let choice = self.choices[&known.id].clone();
            let (record, _) = self.ask(&choice, &[])?;
            if let Some(reason) = &record.absent {
                for race in &mut run.races {
                    crate::plan::withdraw(race, &record.id, reason);
                }
            }
            run.contenders[at] = record;
        }
        Ok(())
    }

    /// Builds a contender, perhaps one of the `next` beside it, and asks who it is. Returns also
    /// how long its build has taken.
    pub(super) fn ask(
        &mut self,
        choice: &Choice,
        next: &[Choice],
    ) -> Result<(ContenderRecord, Duration)> {
        let mut program = None;
        // Read before it describes itself, so that nothing else is raced than was asked.
        let readied = choice.ready_beside(next, &mut self.prober, |contender, fresh| {
            program = fresh.as_ref().ok().map(|_| Program::of(contender));
        });
        // Before anything else, because what was interrupted looks like a failure.
        interruption::check(&self.interrupted)?;
        let entrant = readied.entrant?;
        let ahead = self.ahead.remove(&choice.name()).unwrap_or_default();
        self.ahead.extend(readied.ahead);
        let program = program.filter(|_| entrant.ready.is_ok());
        let hash = program.as_ref().map(|program| program.hash().to_owned());
        self.programs.extend(program.map(|program| (choice.name(), program)));
        Ok((ContenderRecord { program: hash, ..record(&entrant) }, ahead + readied.took))
    }
}

impl Stable for Stalls {
    fn ready(
        &mut self,
        contender: &ContenderRecord,
        next: &[&ContenderRecord],
    ) -> Result<Option<(ContenderRecord, Duration)>> {
        let choice = self.choices.get(&contender.id).cloned();
        let choice = choice.with_context(|| format!("there is no contender {}", contender.id))?;
        let next: Vec<Choice> =
            next.iter().filter_map(|next| self.choices.get(&next.id)).cloned().collect();
        match self.ask(&choice, &next) {
            // A run that goes on may know it under another name.
            Ok((record, took)) => {
                let (track, notes) = (contender.track, contender.notes.clone());
                let record = ContenderRecord { id: contender.id.clone(), track, notes, ..record };
                Ok(Some((record, took)))
            }
            Err(error) if error.is::<Interrupted>() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn changed(&mut self, contender: &str) -> Option<String> {
        let name = self.choices.get(contender)?.name();
        self.programs.get_mut(&name)?.changed()
    }

    fn cost(&self, contender: &str) -> u32 {
        self.choices.get(contender).map_or(0, |choice| choice.contender.build_seconds)
    }
}

/// What a run keeps of a contender, but for its program.
pub(super) fn record(entrant: &Entrant) -> ContenderRecord {
    let contender = &entrant.contender;
    let said = entrant.ready.as_ref().ok();
    let release = contender.release.as_ref().map(|chosen| &chosen.release);
    // The version of a working copy is that of the release before or after it.
    let working_copy = match release {
        Some(release @ Release::Path { .. }) => format!(" ({})", release.short()),
        _ => String::new(),
    };
    ContenderRecord {
        id: entrant.name(),
        base: contender.id.clone(),
        release: release.cloned(),
        name: contender.name.clone(),
        language: contender.language.clone(),
        kind: contender.kind,
        // A turned knob is tuning, whatever the file says.
        track: if entrant.knobs.is_empty() { contender.track } else { Track::Tuned },
        homepage: contender.homepage.clone(),
        licence: contender.licence.clone(),
        notes: notes(entrant),
        runtime: said.map(|description| description.runtime.clone()),
        version: said
            .and_then(|description| description.version.clone())
            .map(|version| version + &working_copy),
        toolchain: said.map(|description| description.toolchain.clone()),
        flags: said.map(|description| description.flags.clone()),
        program: None,
        absent: match &entrant.ready {
            Err((outcome, reason)) if *outcome != Outcome::Pending => Some(reason.clone()),
            _ => None,
        },
    }
}

/// What its file says, and who it is if its name does not tell.
fn notes(entrant: &Entrant) -> Option<String> {
    let named = entrant.alias.as_ref().map(|alias| {
        let known = Entrant { alias: None, ..entrant.clone() }.name();
        format!("{RACED_AS}{alias}: {known}.")
    });
    let notes: Vec<String> = named.into_iter().chain(entrant.contender.notes.clone()).collect();
    (!notes.is_empty()).then(|| notes.join(" "))
}
