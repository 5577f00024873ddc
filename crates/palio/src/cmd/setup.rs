//! `palio setup`: install the Debian packages that contenders need.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::project::Project;
use super::{Places, say, warden};
use crate::runner::build::{Prober, is_left_out};
use crate::runner::install;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Only for these contenders
    contenders: Vec<String>,
    /// The same, several with commas between them
    #[arg(short, long, value_name = "CONTENDER", value_delimiter = ',')]
    contender: Vec<String>,
    /// Only print the commands
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(options: &Options, places: &Places) -> Result<ExitCode> {
    warden::check()?;
    let project = Project::load(places)?;
    let mut prober = Prober::default();
    let (mut packages, mut by_hand) = (BTreeSet::new(), BTreeSet::new());
    let chosen = [&options.contenders[..], &options.contender].concat();
    for choice in project.choose(&chosen)? {
        let missing = prober.missing(&choice.contender);
        let wanted = !chosen.is_empty() || !is_left_out(&missing);
        for requirement in missing {
            if requirement.debian.is_empty() {
                by_hand.insert(format!(
                    "{}: {} ({})",
                    choice.contender.id, requirement.name, requirement.install
                ));
            } else if wanted {
                packages.extend(requirement.debian.iter().cloned());
            }
        }
    }
    if packages.is_empty() {
        say("No Debian package is missing.")?;
    } else {
        let packages: Vec<String> = packages.into_iter().collect();
        for command in install::commands(&packages) {
            say(&format!("+ {}", command.join(" ")))?;
            if !options.dry_run {
                install::run(&command)?;
            }
        }
    }
    if !by_hand.is_empty() {
        say("To be installed by hand:")?;
        for line in &by_hand {
            say(&format!("  {line}"))?;
        }
    }
    if !options.dry_run {
        let mut prober = Prober::default();
        for choice in project.choose(&options.contenders)? {
            let still: Vec<_> = prober.missing(&choice.contender);
            if options.contenders.is_empty() && is_left_out(&still) {
                continue;
            }
            if let Some(requirement) =
                still.iter().find(|requirement| !requirement.debian.is_empty())
            {
                bail!("{} is still missing after the installation", requirement.name);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
