//! What every command starts from: the catalogue, the contenders, the store.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::{Places, note};
use crate::allocator;
use crate::audit::Here;
use crate::contender::{Contender, is_name};
use crate::machine;
use crate::manifest::{Faulty, Found};
use crate::plan::{Entrant, takes_part_by_default};
use crate::printable::printable;
use crate::published::Published;
use crate::record::Outcome;
use crate::release::Release;
use crate::report::Report;
use crate::runner::build::{self, Freshness, Prober};
use crate::runner::working_copy;
use crate::store::{self, Store};
use crate::workload::{Catalogue, MissNote, Settings};

/// The project around a command.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) catalogue: Catalogue,
    pub(super) contenders: Vec<Contender>,
    /// Those of other folders than the project's that cannot be read.
    pub(super) faulty: Vec<Faulty>,
    /// What the reference documents print.
    pub(super) published: Published,
}

/// The folder with the catalogue and the contenders.
pub(super) fn root(places: &Places) -> Result<PathBuf> {
    let is_root =
        |folder: &Path| folder.join("workloads").is_dir() && folder.join("contenders").is_dir();
    if let Some(root) = &places.root {
        if !is_root(root) {
            bail!(
                "{} has no folders `workloads` and `contenders`: choose another --root",
                root.display()
            );
        }
        return Ok(root.clone());
    }
    let here = std::env::current_dir().context("cannot find the current folder")?;
    // The last resort is the checkout that this executable was built from.
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    here.ancestors().map(Path::to_owned).chain([built_from]).find(|folder| is_root(folder)).with_context(|| {
        "there are no folders `workloads` and `contenders` here or above: go to Palio's checkout, or choose it with \
         --root"
    })
}

/// What a run from elsewhere is held against: the catalogue and the contenders, if there are any
/// here. What differs is refused, or told if `tells`; then a catalogue whose folder cannot be read
/// is told, too. A file that cannot be read is told in any case: it says nothing against a run.
pub(super) fn here(places: &Places, tells: bool) -> Result<Here> {
    let found = root(places);
    let is_none = places.root.is_none() && found.is_err();
    match found.and_then(|root| readable(&Folders::of(&root, places)?)) {
        Ok((catalogue, malformed, found)) => {
            for error in &malformed {
                note(&format!(
                    "palio: {error:#}; so that a run is compared with nothing that this file says"
                ));
            }
            for Faulty { id, reason, .. } in &found.faulty {
                let is_known = found.contenders.iter().any(|contender| contender.id == *id);
                note(&match is_known {
                    true => format!("palio: a contender is left out: {reason}"),
                    false => format!(
                        "palio: {reason}; so that the contender {id} of a run is compared with nothing here"
                    ),
                });
            }
            let is_partial = !malformed.is_empty();
            Ok(Here { known: Some((catalogue, found)), is_partial, tells })
        }
        Err(_) if is_none => Ok(Here { tells, ..Here::default() }),
        Err(error) if tells => {
            note(&format!("palio: {error:#}; so that nothing here is compared with the run"));
            Ok(Here { tells, ..Here::default() })
        }
        Err(error) => Err(error),
    }
}

/// Where the catalogue and the contenders are.
struct Folders {
    root: PathBuf,
    /// Those of contenders that are the user's.
    more: Vec<PathBuf>,
    target: PathBuf,
}

impl Folders {
    fn of(root: &Path, places: &Places) -> Result<Self> {
        let root = root.canonicalize().context("cannot find the project's folder")?;
        let target =
            places.target.clone().unwrap_or_else(|| root.join("target").join("contenders"));
        let target = std::path::absolute(&target).context("cannot find the current folder")?;
        let more = places.contenders_dir.iter().filter(|folder| !folder.as_os_str().is_empty());
        Ok(Self { more: more.cloned().collect(), root, target })
    }

    fn workloads(&self) -> PathBuf {
        self.root.join("workloads")
    }

    fn contenders(&self) -> PathBuf {
        self.root.join("contenders")
    }
}

/// All that can be read of the catalogue and of the contenders, and what is wrong with the files
/// of the catalogue that cannot.
fn readable(folders: &Folders) -> Result<(Catalogue, Vec<anyhow::Error>, Found)> {
    let (catalogue, malformed) = Catalogue::load_readable(&folders.workloads())?;
    let found = Contender::load_readable(&folders.contenders(), &folders.more, &folders.target)?;
    Ok((catalogue, malformed, found))
}

impl Project {
    pub(super) fn load(places: &Places) -> Result<Self> {
        let root = root(places)?;
        let folders = Folders::of(&root, places)?;
        let catalogue = Catalogue::load(&folders.workloads())?;
        let Found { contenders, faulty } =
            Contender::load_all(&folders.contenders(), &folders.more, &folders.target)?;
        for Faulty { reason, .. } in &faulty {
            note(&format!("palio: a contender is left out: {reason}"));
        }
        let published = Published::load(&root.join("published"), &catalogue, &contenders)?;
        Ok(Self { catalogue, contenders, faulty, published })
    }

    /// The contenders that `choices` name, or those that race by default; not ready yet.
    pub(super) fn choose(&self, choices: &[String]) -> Result<Vec<Choice>> {
        if choices.is_empty() {
            let all = self.contenders.iter().filter(|contender| takes_part_by_default(contender));
            return Ok(all
                .map(|contender| Choice {
                    contender: contender.clone(),
                    knobs: Settings::new(),
                    alias: None,
                    left_out: None,
                })
                .collect());
        }
        let chosen: Vec<Choice> =
            choices.iter().map(|text| self.choice(text)).collect::<Result<_>>()?;
        check_once(&chosen)?;
        Ok(chosen)
    }

    /// Understands `[NAME=]ID[@version=VERSION|@path=PATH][@KNOB=VALUE]…`.
    fn choice(&self, text: &str) -> Result<Choice> {
        let (head, knobs) = match text.split_once('@') {
            Some((head, knobs)) => (head, Some(knobs)),
            None => (text, None),
        };
        let (alias, id) = match head.split_once('=') {
            Some((alias, id)) => (Some(alias.to_owned()), id),
            None => (None, head),
        };
        if let Some(alias) = alias.as_deref().filter(|alias| !is_name(alias)) {
            bail!(
                "{alias:?} in {text:?} is no name: it may only have letters, digits, `-`, `_` and `.`, and may not \
                 start with `-` or `.`"
            );
        }
        if let Some(Faulty { reason, .. }) = self.faulty.iter().find(|faulty| faulty.id == id) {
            bail!("{id} cannot be used: {reason}");
        }
        let mut contender = Contender::find(&self.contenders, id)?.clone();
        let known = |alias: &String| {
            let same = |known: &&Contender| known.id.eq_ignore_ascii_case(alias);
            self.contenders.iter().find(same).filter(|known| known.id != contender.id)
        };
        if let Some(other) = alias.as_ref().and_then(known) {
            bail!(
                "{id} would race under the name of another contender, {}: give it one that nobody has",
                other.id
            );
        }
        let is_itself = alias.as_ref().is_some_and(|alias| alias.eq_ignore_ascii_case(id));
        if let Some(knobs) = knobs.filter(|knobs| is_itself && !knobs.is_empty()) {
            bail!(
                "{text:?} would race under the name of {id} itself, which has no {knobs}: give it a name that nobody has"
            );
        }
        let mut settings = Settings::new();
        for knob in knobs.into_iter().flat_map(|knobs| knobs.split('@')) {
            let (key, value) = knob.split_once('=').with_context(|| {
                format!("{knob:?} in {text:?} is no knob: write {id}@KNOB=VALUE")
            })?;
            if Release::KEYS.contains(&key) {
                if contender.release.is_some() {
                    bail!(
                        "{text:?} names two releases of {id}: choose one `version` or one `path`"
                    );
                }
                contender = contender.with_release(release(key, value)?)?;
                continue;
            }
            if value.is_empty() || value.contains(char::is_whitespace) || printable(value) != value
            {
                bail!(
                    "the value of {key:?} in {text:?} may neither be empty nor contain white space or what cannot be seen"
                );
            }
            settings.insert(key.to_owned(), value.to_owned());
        }
        Ok(Choice { contender, knobs: settings, alias, left_out: None })
    }

    /// As [`choose`](Self::choose), and each with `allocator`, if one is asked for: those that have
    /// it, and those whose runtime brings its own, as they are; others as their variant of that
    /// name.
    ///
    /// # Errors
    /// Besides those of `choose`: nobody has the allocator, or one that was named cannot have it.
    /// Of those that race by default, such a one is left out, and says so.
    pub(super) fn choose_with(
        &self,
        choices: &[String],
        allocator: Option<&str>,
    ) -> Result<Vec<Choice>> {
        let chosen = self.choose(choices)?;
        let Some(allocator) = allocator else { return Ok(chosen) };
        let own = |name: &&str| *name != allocator::OWN;
        let mut known: Vec<&str> =
            self.contenders.iter().map(|contender| &*contender.allocator).filter(own).collect();
        known.sort_unstable();
        known.dedup();
        if !known.contains(&allocator) {
            bail!("no contender has the allocator {allocator:?}; there is: {}", known.join(", "));
        }
        let each =
            chosen.into_iter().map(|choice| match self.with_allocator(&choice, allocator)? {
                Some(choice) => Ok(choice),
                None => {
                    let id = choice.contender.id.clone();
                    let reason = format!("it has no variant with {allocator} as its allocator");
                    if !choices.is_empty() {
                        bail!("{id} cannot be raced with --allocator {allocator}: {reason}");
                    }
                    Ok(Choice { left_out: Some(reason), ..choice })
                }
            });
        let mut each: Vec<Choice> = each.collect::<Result<_>>()?;
        // A contender and its variant with that allocator are one now.
        if choices.is_empty() {
            let mut seen = BTreeSet::new();
            each.retain(|choice| seen.insert(choice.name()));
        }
        check_once(&each)?;
        Ok(each)
    }

    fn with_allocator(&self, choice: &Choice, allocator: &str) -> Result<Option<Choice>> {
        let contender = &choice.contender;
        if [allocator, allocator::OWN].contains(&&*contender.allocator) {
            return Ok(Some(choice.clone()));
        }
        let is_twin = |other: &&Contender| {
            contender.variant.is_none()
                && other.base == contender.base
                && other.variant.as_deref() == Some(allocator)
                && other.allocator == allocator
        };
        let Some(twin) = self.contenders.iter().find(is_twin) else { return Ok(None) };
        let twin = match &contender.release {
            Some(chosen) => twin.with_release(chosen.release.clone())?,
            None => twin.clone(),
        };
        // Its own name said nothing, and would be that of somebody else now.
        let own = |alias: &String| alias.eq_ignore_ascii_case(&contender.id);
        let alias = choice.alias.clone().filter(|alias| !own(alias));
        Ok(Some(Choice { contender: twin, alias, ..choice.clone() }))
    }
}

/// Refuses two choices of one name, whose cells nobody could tell apart.
fn check_once(chosen: &[Choice]) -> Result<()> {
    let mut names: Vec<String> = chosen.iter().map(Choice::name).collect();
    names.sort();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!(
            "{} is chosen twice: give one of them another name, such as again={}",
            pair[0],
            pair[0]
        );
    }
    Ok(())
}

/// The release that `version=…` or `path=…` names.
fn release(key: &str, value: &str) -> Result<Release> {
    if key == "version" {
        return Release::version(value);
    }
    let path = Path::new(value)
        .canonicalize()
        .with_context(|| format!("there is no working copy at {value:?}"))?;
    let state = working_copy::state(&path);
    Ok(Release::Path { path, state })
}

/// A contender that the user chose.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) contender: Contender,
    pub(super) knobs: Settings,
    alias: Option<String>,
    /// Why it does not take part, where that is known before it is built.
    left_out: Option<String>,
}

/// What became of a contender that was made ready, and of another one meanwhile.
#[derive(Debug)]
pub(super) struct Readied {
    /// An error if a knob was turned that it does not have.
    pub(super) entrant: Result<Entrant>,
    /// How long it took.
    pub(super) took: Duration,
    /// Who was built beside it, if anybody, and how long that took.
    pub(super) ahead: Option<(String, Duration)>,
}

impl Choice {
    /// The name under which it races.
    pub(super) fn name(&self) -> String {
        self.unready().name()
    }

    /// Whether the user gave it another name.
    pub(super) fn is_renamed(&self) -> bool {
        self.alias.is_some()
    }

    /// The same with these knobs turned besides.
    pub(super) fn with_knobs(&self, more: &Settings) -> Self {
        let mut choice = self.clone();
        choice.knobs.extend(more.clone());
        choice
    }

    /// Whether the user turned a knob of it.
    pub(super) fn is_turned(&self) -> bool {
        !self.knobs.is_empty()
    }

    /// As [`Choice::ready`]; meanwhile the first of `next` is built that has to be and can be
    /// built beside it. Nothing is told of that one: once built, it is up to date when its turn
    /// comes, and what cannot be built says so then.
    pub(super) fn ready_beside(
        &self,
        next: &[Self],
        prober: &mut Prober,
        built: impl FnMut(&Contender, &Result<Freshness, (Outcome, String)>),
    ) -> Readied {
        let (done, mut twin) = (AtomicBool::new(false), prober.twin());
        let start = Instant::now();
        let readied = thread::scope(|scope| {
            let ahead = || {
                // Two builds in one folder would wait for one another, or spoil it.
                let is_apart =
                    |other: &&Self| other.contender.workplace != self.contender.workplace;
                let others = next.iter().filter(is_apart).filter(|other| other.left_out.is_none());
                for other in others {
                    let start = Instant::now();
                    if done.load(Ordering::Relaxed) {
                        return None;
                    }
                    if twin.build_ahead(&other.contender) {
                        return Some((other.name(), start.elapsed()));
                    }
                }
                None
            };
            // Where the system gives no thread, nothing is built ahead.
            let beside = (machine::cores() > 1)
                .then(|| thread::Builder::new().spawn_scoped(scope, ahead).ok())
                .flatten();
            let entrant = self.ready(prober, built);
            let took = start.elapsed();
            done.store(true, Ordering::Relaxed);
            let ahead = beside.and_then(|beside| beside.join().ok().flatten());
            Readied { entrant, took, ahead }
        });
        prober.learn(twin);
        readied
    }

    /// The entrant before it is known whether it can race.
    pub(super) fn unready(&self) -> Entrant {
        match &self.left_out {
            Some(reason) => self.absent(Outcome::Unsupported, reason),
            None => self.absent(Outcome::Pending, "it was not built yet"),
        }
    }

    fn absent(&self, outcome: Outcome, reason: &str) -> Entrant {
        let ready = Err((outcome, reason.to_owned()));
        Entrant {
            contender: self.contender.clone(),
            ready,
            knobs: self.knobs.clone(),
            alias: self.alias.clone(),
        }
    }

    /// Builds it and asks who it is; a failure becomes the reason why it does not race.
    ///
    /// # Errors
    /// A knob was turned that it does not have.
    pub(super) fn ready(
        &self,
        prober: &mut Prober,
        mut built: impl FnMut(&Contender, &Result<Freshness, (Outcome, String)>),
    ) -> Result<Entrant> {
        if let Some(reason) = &self.left_out {
            return Ok(self.absent(Outcome::Unsupported, reason));
        }
        let fresh = build::build(&self.contender, prober);
        built(&self.contender, &fresh);
        let ready = fresh
            .and_then(|fresh| self.is_as_chosen().map(|()| fresh))
            .and_then(|_| build::describe(&self.contender, prober));
        if let Ok(description) = &ready {
            for knob in self.knobs.keys() {
                if !description.knobs.iter().any(|known| known.name == *knob) {
                    let known: Vec<&str> =
                        description.knobs.iter().map(|known| known.name.as_str()).collect();
                    bail!(
                        "{} has no knob {knob:?}; it has: {}",
                        self.contender.id,
                        list_or_none(&known)
                    );
                }
            }
        }
        Ok(Entrant {
            contender: self.contender.clone(),
            ready,
            knobs: self.knobs.clone(),
            alias: self.alias.clone(),
        })
    }
}

impl Choice {
    /// Whether a working copy is in the state that its name says: others may have raced first, and
    /// for hours, before it was built.
    fn is_as_chosen(&self) -> Result<(), (Outcome, String)> {
        let release = self.contender.release.as_ref().map(|chosen| &chosen.release);
        let Some(Release::Path { path, state }) = release else { return Ok(()) };
        let now = working_copy::state(path);
        if now == *state {
            return Ok(());
        }
        let text = |state: &Option<String>| state.clone().unwrap_or_else(|| "none".to_owned());
        let reason = format!(
            "the state of its working copy {} was {} when it was chosen and is {} now, so that its name would be that \
             of something else: leave it alone until it is built, and race it again",
            path.display(),
            text(state),
            text(&now)
        );
        Err((Outcome::NotBuilt, reason))
    }
}

fn list_or_none(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Puts beside a report's missed predictions what the project knows of them; without a project,
/// nothing.
pub(super) fn explain_misses(report: &mut Report, places: &Places) -> Result<()> {
    let Ok(root) = root(places) else { return Ok(()) };
    report.explain_misses(&MissNote::load(&root.join("docs/results/predictions-notes.toml"))?);
    Ok(())
}

/// Where the database is.
pub(super) fn database(places: &Places) -> Result<PathBuf> {
    places.db.clone().map_or_else(store::default_path, Ok)
}

/// The database of the runs that there are; none is made.
pub(super) fn open_store(places: &Places) -> Result<Store> {
    Store::open_to_read(&database(places)?)
}

/// The database for a run that is to be stored.
pub(super) fn open_store_to_write(places: &Places) -> Result<Store> {
    Store::open(&database(places)?)
}
