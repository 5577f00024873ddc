//! `palio verify`: every answer and the work done, no timing.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use clap::Args;

use super::project::Project;
use super::{EXIT_CHECK_FAILED, Places, interruption, say};
use crate::machine;
use crate::plan::Selection;
use crate::record::{CellRecord, Limits, Outcome, RaceRecord};
use crate::runner::build::Prober;
use crate::runner::conformance;
use crate::runner::invocation::Conversation;
use crate::workload::{Preset, Workload, settings_text};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Only these contenders: `[NAME=]ID[@KNOB=VALUE]…`
    #[arg(short, long, value_name = "CONTENDER", value_delimiter = ',')]
    contender: Vec<String>,
    /// Only these workloads, or families of them
    #[arg(short, long, value_name = "WORKLOAD", value_delimiter = ',')]
    workload: Vec<String>,
    /// With the parameters of this preset
    #[arg(long, value_enum, default_value_t = Preset::Quick)]
    preset: Preset,
    /// On these numbers of threads [default: 1 and the number of cores]
    #[arg(short, long, value_name = "N", value_delimiter = ',')]
    threads: Vec<u32>,
    /// Seconds that one cell may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// MiB that one contender may use
    #[arg(long, value_name = "MIB", default_value_t = 8192)]
    memory: u64,
    /// As a JSON array
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let project = Project::load(places)?;
    let workloads: Vec<&Workload> = if options.workload.is_empty() {
        project.catalogue.workloads.iter().collect()
    } else {
        let each = options.workload.iter().map(|pattern| project.catalogue.matching(pattern));
        each.collect::<Result<Vec<_>>>()?.concat()
    };
    let interrupted = interruption::listen()?;
    let mut prober = Prober::new(Arc::clone(&interrupted));
    let entrants = project
        .choose(&options.contender)?
        .iter()
        .map(|choice| {
            let entrant = choice.ready(&mut prober, |_, _| ());
            interruption::check(&interrupted).and(entrant)
        })
        .collect::<Result<Vec<_>>>()?;
    if !options.contender.is_empty()
        && let Some((entrant, (_, reason))) =
            entrants.iter().find_map(|entrant| Some((entrant, entrant.ready.as_ref().err()?)))
    {
        bail!("{} is not ready: {reason}", entrant.name());
    }
    let cores = machine::cores();
    let threads = if options.threads.is_empty() { vec![1, cores] } else { options.threads.clone() };
    let mut threads = threads;
    threads.dedup();
    let selection = Selection {
        workloads,
        entrants,
        preset: options.preset,
        threads: Some(threads),
        cores,
        reference: None,
    };
    let limits = Limits {
        budget_ms: 0,
        timeout_ms: options.timeout.saturating_mul(1000),
        memory_mib: options.memory,
    };

    let (mut passed, mut failed, mut skipped) = (0_u32, 0_u32, 0_u32);
    let mut rows = Vec::new();
    let vectors = conformance::vectors();
    for entrant in selection.entrants.iter().filter(|entrant| entrant.ready.is_ok()) {
        let mut wrong = Vec::new();
        for vector in &vectors {
            match vector.play(&entrant.contender.command) {
                Ok(()) => passed += 1,
                Err(reason) => {
                    failed += 1;
                    wrong.push(format!("{}: {reason}", vector.name));
                }
            }
        }
        if options.json {
            let outcome = if wrong.is_empty() { Outcome::Ok } else { Outcome::Crashed };
            rows.push(serde_json::json!({
                "conformance": vectors.len(), "contender": entrant.name(), "outcome": outcome, "detail": wrong,
            }));
        } else if wrong.is_empty() {
            say(&format!(
                "ok   {:<22} keeps the contract in {} sessions",
                entrant.name(),
                vectors.len()
            ))?;
        } else {
            say(&format!(
                "FAIL {:<22} breaks the contract:\n  {}",
                entrant.name(),
                wrong.join("\n  ")
            ))?;
        }
    }
    for race in selection.races()? {
        for cell in race.cells.iter().filter(|cell| !cell.shadow) {
            let (outcome, text) = verify(&race, cell, &limits, &interrupted);
            interruption::check(&interrupted)?;
            match outcome {
                Outcome::Ok => passed += 1,
                Outcome::Unsupported | Outcome::NotBuilt => skipped += 1,
                _ => failed += 1,
            }
            if options.json {
                rows.push(serde_json::json!({
                    "workload": race.workload, "params": race.params, "threads": race.threads,
                    "contender": cell.contender, "variant": cell.variant, "outcome": outcome, "detail": text,
                }));
            } else if outcome != Outcome::Unsupported {
                let word = if outcome == Outcome::Ok { "ok  " } else { "FAIL" };
                let word = if outcome == Outcome::NotBuilt { "none" } else { word };
                let params = settings_text(&race.params);
                say(&format!(
                    "{word} {:<22} {} {params} threads={}: {text}",
                    cell.label(),
                    race.workload,
                    race.threads
                ))?;
            }
        }
    }
    if passed + failed == 0 {
        bail!("nothing to verify: none of these contenders is ready; `palio build` says why");
    }
    if options.json {
        say(&serde_json::to_string_pretty(&rows)?)?;
    } else {
        say("What a contender does not support is left out above and counted as skipped.")?;
        say(&format!("{passed} passed, {failed} failed, {skipped} skipped"))?;
    }
    Ok(if failed > 0 { ExitCode::from(EXIT_CHECK_FAILED) } else { ExitCode::SUCCESS })
}

fn verify(
    race: &RaceRecord,
    cell: &CellRecord,
    limits: &Limits,
    interrupted: &AtomicBool,
) -> (Outcome, String) {
    if cell.outcome != Outcome::Pending {
        return (cell.outcome, cell.detail.clone().unwrap_or_default());
    }
    let mut conversation = match Conversation::start(race, cell, limits, interrupted, &mut |_| ()) {
        Ok(conversation) => conversation,
        Err(result) => return (result.outcome, result.detail.unwrap_or_default()),
    };
    // Two samples, and one of two iterations: a second iteration finds state that the first left behind.
    if conversation.run(2, 1, false).is_some() {
        conversation.run(1, 2, false);
    }
    let result = conversation.finish();
    if result.outcome != Outcome::Ok {
        let stderr = result.stderr.map(|text| format!("\n{text}")).unwrap_or_default();
        return (result.outcome, result.detail.unwrap_or_default() + &stderr);
    }
    let counted = result.samples.iter().all(|sample| sample.work.is_some());
    let work = match race.work {
        Some(work) if counted => format!("work {work} certified"),
        _ => "work not counted".to_owned(),
    };
    (Outcome::Ok, format!("answer {}, {work}", race.answer))
}
