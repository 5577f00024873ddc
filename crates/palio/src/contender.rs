//! Contenders, with every path and command resolved.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::release::{Chosen, Releases};
use crate::words::words;
use crate::workload::{Settings, unknown};

words! {
    /// What sort of runtime it is.
    "kind": Kind {
        Async = "async",
        ForkJoin = "fork-join",
        GreenThreads = "green-threads",
        /// No runtime at all: takes part in every race with its one thread, for comparison.
        Baseline = "baseline",
    }
}

words! {
    /// Whether it runs as its users get it, or tuned (pinned, spinning, another allocator).
    #[derive(Default)]
    "track": Track {
        #[default]
        Stock = "stock",
        Tuned = "tuned",
    }
}

/// A thing that must be on the machine before the contender can be built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    pub name: String,
    /// A command that succeeds if it is there.
    pub probe: Vec<String>,
    /// Debian packages that bring it; `palio setup` installs them.
    #[serde(default)]
    pub debian: Vec<String>,
    /// What a reader on another system should do.
    pub install: String,
    /// It comes with no package and is installed by hand by whoever wants this contender. Its
    /// absence is no fault of the machine: neither `palio build --strict` nor `palio setup` asks
    /// for it.
    #[serde(default)]
    pub optional: bool,
}

/// A runtime in one configuration, with every path and command resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contender {
    pub id: String,
    pub name: String,
    /// The id of the contender whose sources it has: its own, unless it is a variant.
    pub base: String,
    /// The id of the `[[variant]]` that it is, without the contender's.
    pub variant: Option<String>,
    pub language: String,
    pub kind: Kind,
    pub homepage: String,
    pub licence: String,
    pub track: Track,
    /// Which allocator it has: `system`, `own` for one that its runtime brings, or a name.
    pub allocator: String,
    /// The most threads that it can use.
    pub threads_max: Option<u32>,
    pub notes: Option<String>,
    /// Where its decisions are written down, relative to `folder`; a heading may follow a `#`.
    pub readme: String,
    /// The families it runs, as it claims; `--describe` must agree.
    pub workloads: Vec<String>,
    pub requires: Vec<Requirement>,
    /// The folder of its `contender.toml`.
    pub folder: PathBuf,
    /// Where its build commands run.
    pub build_directory: PathBuf,
    pub build_commands: Vec<Vec<String>>,
    /// Files and folders whose change makes a new build necessary.
    pub build_inputs: Vec<PathBuf>,
    /// Variables of the environment whose change makes a new build necessary.
    pub build_environment: Vec<String>,
    /// Variables that its build and its probes get besides.
    pub build_variables: Settings,
    /// About how long its first build takes, in seconds, beside the builds of others.
    pub build_seconds: u32,
    /// The command that starts it.
    pub command: Vec<String>,
    /// Files and folders of its program besides those that the command names.
    pub files: Vec<PathBuf>,
    /// Where its build puts things.
    pub target: PathBuf,
    /// The folder that its build has to itself meanwhile: `target`, or that of the contender of
    /// which it is a variant.
    pub workplace: PathBuf,
    /// How it is built with another release of its runtime, if its file says so.
    pub releases: Option<Releases>,
    /// The release that it is built with, where that is not the one of its sources.
    pub release: Option<Chosen>,
}

impl Contender {
    /// The one called `id` among `all`.
    ///
    /// # Errors
    /// There is none of that name; the message offers the nearest.
    pub fn find<'a>(all: &'a [Self], id: &str) -> Result<&'a Self> {
        all.iter().find(|contender| contender.id == id).with_context(|| {
            unknown("contender", id, all.iter().map(|c| c.id.as_str()), "palio list contenders")
        })
    }

    /// Its id, and its release where that was chosen.
    pub fn id_and_release(&self) -> String {
        match &self.release {
            Some(chosen) => format!("{}@{}", self.id, chosen.release),
            None => self.id.clone(),
        }
    }

    /// Where it is described: its `contender.toml`, and the variant there.
    pub(crate) fn origin(&self) -> String {
        let file = self.folder.join("contender.toml");
        match &self.variant {
            Some(variant) => format!("{} (its variant {variant:?})", file.display()),
            None => file.display().to_string(),
        }
    }

    /// How many threads it uses where a race has `threads`, or why it cannot take part.
    pub fn threads_in(&self, threads: u32) -> Result<u32, String> {
        match self.threads_max {
            Some(max) if self.kind == Kind::Baseline => Ok(threads.min(max)),
            Some(max) if threads > max => {
                let s = if max == 1 { "" } else { "s" };
                Err(format!("uses at most {max} thread{s}: `-t {max}` races it"))
            }
            _ => Ok(threads),
        }
    }
}

/// Whether `text` may name something that ends up in commands, tables and file names.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(plain)
}
