//! `palio doctor`: what can race here, what is missing, what makes timing unreliable.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::project::{Project, database};
use super::{Places, say};
use crate::machine;
use crate::plan::takes_part_by_default;
use crate::runner::build::{Prober, is_left_out, missing_text};
use crate::runner::libc_version;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    let project = Project::load(places)?;
    let mut prober = Prober::default();
    let machine = machine::inspect(libc_version());
    let warnings = machine::standing_warnings(&machine);
    let checked: Vec<_> =
        project.contenders.iter().map(|contender| (contender, prober.missing(contender))).collect();
    if options.json {
        let contenders: Vec<_> = checked
            .iter()
            .map(|(contender, missing)| {
                serde_json::json!({
                    "id": contender.id,
                    "buildable": missing.is_empty(),
                    "missing": missing,
                })
            })
            .collect();
        let all = serde_json::json!({ "machine": machine, "warnings": warnings, "contenders": contenders });
        say(&serde_json::to_string_pretty(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }

    let or_unknown =
        |value: &Option<String>| value.clone().unwrap_or_else(|| "could not be read".to_owned());
    say("Machine")?;
    say(&format!("  {} with {} core(s)", or_unknown(&machine.cpu_model), machine::cores()))?;
    say(&format!("  {}, kernel {}", or_unknown(&machine.os), or_unknown(&machine.kernel)))?;
    say(&format!("  virtualisation: {}", or_unknown(&machine.virtualisation)))?;
    say(&format!("  CPU governor: {}", or_unknown(&machine.governor)))?;
    say(&format!("  runs are kept in {}", database(places)?.display()))?;
    if warnings.is_empty() {
        say("\nNothing here is known to make timing unreliable.")?;
    } else {
        say("\nWhat makes timing here unreliable")?;
        for warning in &warnings {
            say(&format!("  - {warning}"))?;
        }
    }
    say("\nContenders that can be built and raced here")?;
    for (contender, _) in checked.iter().filter(|(_, missing)| missing.is_empty()) {
        say(&format!("  {:<22} {}", contender.id, contender.name))?;
    }
    let absent: Vec<_> = checked.iter().filter(|(_, missing)| !missing.is_empty()).collect();
    if absent.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    say("\nContenders that lack something")?;
    let mut packages = BTreeSet::new();
    for (contender, missing) in absent {
        say(&format!("  {:<22} {}", contender.id, missing_text(missing)))?;
        // What races only by name is installed by name.
        if takes_part_by_default(contender) && !is_left_out(missing) {
            packages
                .extend(missing.iter().flat_map(|requirement| requirement.debian.iter().cloned()));
        }
    }
    if !packages.is_empty() {
        let packages: Vec<String> = packages.into_iter().collect();
        say(&format!("\n`palio setup` installs: {}", packages.join(" ")))?;
    }
    Ok(ExitCode::SUCCESS)
}
