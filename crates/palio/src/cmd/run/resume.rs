//! Whether a run can go on: nothing that it measured may be another thing by now.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, anyhow, bail};

use crate::cmd::note;
use crate::cmd::project::Project;
use crate::cmd::stable::Stalls;
use crate::machine;
use crate::record::{ContenderRecord, Outcome, RaceRecord, RunRecord};
use crate::release::Release;
use crate::report::summary::shell_line;
use crate::runner::cgroup::quota;

/// Refuses to resume a run whose contenders have changed since it was measured.
pub(super) fn check_unchanged(
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
    let is_pending = |race: &RaceRecord| {
        race.cpu_budget.is_some() && race.cells.iter().any(|cell| cell.outcome == Outcome::Pending)
    };
    if let Some(refusal) = run.races.iter().any(is_pending).then(quota::refusal).flatten() {
        bail!("the run {id} cannot be resumed as it is: a contender {refusal}");
    }
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
        let changed = |what: &str, then: Option<String>, now: Option<String>| {
            anyhow!(
                "the run {id} cannot be resumed: the {what} of {} was {:?} and is {:?} now; start a new run",
                before.id,
                then.unwrap_or_default(),
                now.unwrap_or_default()
            )
        };
        // By its name it is a working copy in one state, also where nobody has built it yet, so
        // that no version tells.
        let release = |release: &Release| Some(release.to_string());
        let then = before.release.as_ref().and_then(release);
        let now = choice.contender.release.as_ref().and_then(|chosen| release(&chosen.release));
        if then != now {
            return Err(changed("release", then, now));
        }
        // Who has not been asked yet is asked when a race needs it.
        let now = if before.is_asked() {
            if !quiet {
                note(&format!("building: {}", before.id));
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
            return Err(changed(what, then, now));
        }
    }
    Ok(stalls)
}
