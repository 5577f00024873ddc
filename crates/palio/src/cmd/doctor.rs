//! `palio doctor`: what can race here, what is missing, what makes timing unreliable.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::project::{Project, database};
use super::{Places, columns, say, say_json, warden};
use crate::machine;
use crate::plan::takes_part_by_default;
use crate::report::listing;
use crate::runner::build::{Prober, is_left_out, missing_text};
use crate::runner::{cgroup, libc_version};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    warden::check()?;
    let project = Project::load(places)?;
    let mut prober = Prober::default();
    let machine = machine::inspect(libc_version(), cgroup::description());
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
        let budgets = cgroup::quota::description();
        let all = serde_json::json!({ "machine": machine, "cpu_budgets": budgets, "max_map_count": machine::most_mappings(), "warnings": warnings, "contenders": contenders });
        say_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }

    let aligned = |rows: &[(String, String)]| listing::aligned(rows, columns());
    let or_unknown =
        |value: &Option<String>| value.clone().unwrap_or_else(|| "could not be read".to_owned());
    let headed = |text: &str| format!("\n{}", listing::wrapped(text, columns()));
    say("Machine")?;
    let facts = [
        ("CPU", format!("{} with {} core(s)", or_unknown(&machine.cpu_model), machine::cores())),
        ("system", format!("{}, kernel {}", or_unknown(&machine.os), or_unknown(&machine.kernel))),
        ("virtualisation", or_unknown(&machine.virtualisation)),
        ("CPU governor", or_unknown(&machine.governor)),
        ("control groups", or_unknown(&machine.control_groups)),
        ("CPU budgets", cgroup::quota::description()),
        ("mappings", mappings(machine::most_mappings())),
        ("database", database(places)?.display().to_string()),
    ];
    say(&aligned(&facts.map(|(name, fact)| (name.to_owned(), fact))))?;
    if warnings.is_empty() {
        say(&headed("Nothing here is known to make timing unreliable."))?;
    } else {
        say(&headed("What makes timing here unreliable"))?;
        say(&listing::points(&warnings, columns()))?;
    }
    say(&headed("Contenders that can be built and raced here"))?;
    let here = checked.iter().filter(|(_, missing)| missing.is_empty());
    let here: Vec<_> =
        here.map(|(contender, _)| (contender.id.clone(), contender.name.clone())).collect();
    say(&aligned(&here))?;
    let absent: Vec<_> = checked.iter().filter(|(_, missing)| !missing.is_empty()).collect();
    if absent.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    say(&headed("Contenders that lack something"))?;
    let mut packages = BTreeSet::new();
    let mut lacking: Vec<(String, String)> = Vec::new();
    for (contender, missing) in absent {
        // Those that lack the same are one row.
        let text = missing_text(missing);
        match lacking.iter_mut().find(|(_, known)| *known == text) {
            Some((names, _)) => *names = format!("{names}, {}", contender.id),
            None => lacking.push((contender.id.clone(), text)),
        }
        // What races only by name is installed by name.
        if takes_part_by_default(contender) && !is_left_out(missing) {
            packages
                .extend(missing.iter().flat_map(|requirement| requirement.debian.iter().cloned()));
        }
    }
    say(&aligned(&lacking))?;
    if !packages.is_empty() {
        let packages: Vec<String> = packages.into_iter().collect();
        say(&headed(&format!("`palio setup` installs: {}", packages.join(" "))))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the rows with many fibers need to know.
fn mappings(most: Option<u64>) -> String {
    let Some(most) = most else { return "could not be read".to_owned() };
    let of_fibers = "rows with many fibers";
    if most >= MAPPINGS_OF_MANY_FIBERS {
        return format!("{most} at most, enough for {of_fibers}");
    }
    format!(
        "{most} at most: {of_fibers} may need more where a stack takes two \
         (`sysctl -w vm.max_map_count={MAPPINGS_OF_MANY_FIBERS}`)"
    )
}

/// Two for each of some 500,000 stacks.
const MAPPINGS_OF_MANY_FIBERS: u64 = 1 << 20;
