//! `palio build`: build what this machine can.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;

use super::project::Project;
use super::{EXIT_CHECK_FAILED, Places, interruption, note, say, warden};
use crate::contender::Contender;
use crate::runner::build::{Freshness, Prober, is_left_out};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Only these contenders: `ID`, `ID@version=VERSION` or `ID@path=PATH`
    contenders: Vec<String>,
    /// The same as `run` takes them; several with commas between them
    #[arg(short, long, value_name = "CONTENDER", value_delimiter = ',')]
    contender: Vec<String>,
    /// Exit with status 1 if any of them is not ready to race, except those whose library no
    /// package brings; for contenders that are named, this is the default, without the exception
    #[arg(long)]
    strict: bool,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    warden::check()?;
    let project = Project::load(places)?;
    let interrupted = interruption::listen()?;
    let tell = |contender: &Contender| note(&format!("building {}", contender.id));
    let mut prober = Prober::new(Arc::clone(&interrupted)).telling(tell);
    let chosen = [&options.contenders[..], &options.contender].concat();
    // What is faulty cannot be built; who names others does not ask for it.
    let mut absent = if chosen.is_empty() { project.faulty.len() } else { 0 };
    let choices = project.choose(&chosen)?;
    let mut built = BTreeSet::new();
    for (place, choice) in choices.iter().enumerate() {
        let is_built = |result: &Result<_, _>| matches!(result, Ok(Freshness::Built));
        let mut is_new = built.contains(&choice.name());
        let next = &choices[place + 1..];
        let readied =
            choice.ready_beside(next, &mut prober, |_, result| is_new |= is_built(result));
        built.extend(readied.ahead.map(|(name, _)| name));
        interruption::check(&interrupted)?;
        let entrant = readied.entrant?;
        match &entrant.ready {
            Ok(description) => {
                let state = if is_new { "built" } else { "up to date" };
                let version = description.version.as_deref().unwrap_or("unknown");
                say(&format!("{:<22} {state}: {} {version}", entrant.name(), description.runtime))?;
            }
            Err((_, reason)) => {
                let named = !chosen.is_empty();
                absent += usize::from(named || !is_left_out(&prober.missing(&choice.contender)));
                say(&format!("{:<22} not built: {reason}", entrant.name()))?;
            }
        }
    }
    // Whoever names a contender wants that one. Without a name, what this machine lacks is no
    // failure.
    let strict = options.strict || !chosen.is_empty();
    Ok(if strict && absent > 0 { ExitCode::from(EXIT_CHECK_FAILED) } else { ExitCode::SUCCESS })
}
