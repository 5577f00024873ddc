//! The file `contender.toml`: what stands in it, and the contenders that it describes.
//!
//! A file describes one contender and its variants. A variant shares the sources of its contender
//! and is otherwise a contender of its own: `tokio-mt` with the variant `mimalloc` is raced as
//! `tokio-mt-mimalloc`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::allocator;
use crate::contender::{Contender, Kind, Requirement, Track, is_name};
use crate::release::{Chosen, Release, Releases};
use crate::suggest::nearest;
use crate::workload::{Settings, read_toml};

/// The folder of build output below a language's that variants have to themselves.
const VARIANTS: &str = "variants";
/// What a build is taken to last, in seconds, where its file does not say.
const BUILD_SECONDS: u32 = 10;
/// The folder of build output below a contender's for its other releases.
const RELEASES: &str = "releases";

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    id: String,
    name: String,
    language: String,
    kind: Kind,
    homepage: String,
    licence: String,
    #[serde(default)]
    track: Track,
    #[serde(default = "allocator::system")]
    allocator: String,
    threads_max: Option<u32>,
    notes: Option<String>,
    workloads: Vec<String>,
    #[serde(default)]
    build: Build,
    run: Run,
    #[serde(default)]
    requires: Vec<Requirement>,
    releases: Option<Releases>,
    #[serde(default)]
    variant: Vec<Variant>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Build {
    #[serde(default)]
    directory: PathBuf,
    #[serde(default)]
    commands: Vec<Vec<String>>,
    #[serde(default)]
    inputs: Vec<PathBuf>,
    #[serde(default)]
    environment: Vec<String>,
    seconds: Option<u32>,
    lane: Option<String>,
}

impl Build {
    /// The folder of build output, one for each language and lane.
    fn output(&self, language: &str) -> Result<String> {
        let Some(lane) = &self.lane else { return Ok(language.to_owned()) };
        let is_word =
            |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        if lane.is_empty() || !is_word(lane) {
            bail!("`build.lane` is {lane:?}: use lower-case letters and digits, such as \"b\"");
        }
        Ok(format!("{language}-{lane}"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    command: Vec<String>,
    /// What the command starts and does not name.
    #[serde(default)]
    files: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    id: String,
    /// By default the contender's name, a comma and the variant's id.
    name: Option<String>,
    track: Track,
    /// The contender's, unless it says another one.
    allocator: Option<String>,
    /// What stands for `{features}`, with commas between them.
    features: Vec<String>,
    /// Comes before the contender's own notes.
    notes: Option<String>,
    /// Where its decisions are written down: a file and a heading, `README.md#my-variant`.
    readme: String,
    /// Besides what the contender requires.
    #[serde(default)]
    requires: Vec<Requirement>,
}

/// What the placeholders of commands and probes stand for.
struct Places<'a> {
    target: PathBuf,
    /// The target folder of the contender itself, for its variants too.
    shared: &'a Path,
    folder: &'a Path,
    features: String,
}

/// What may stand between braces.
const PLACEHOLDERS: [&str; 4] = ["target", "shared", "dir", "features"];

/// What a contender's variants share with it, for what is built alike for all of them.
const SHARED: &str = "{shared}";

/// Refuses what looks like a placeholder and is none. After a `$` it is a matter of the shell's.
fn check_placeholders(text: &str, known: &[&str]) -> Result<()> {
    for (at, _) in text.match_indices('{') {
        let Some((name, _)) = text[at + 1..].split_once('}') else { continue };
        let is_word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_word || text[..at].ends_with('$') || known.contains(&name) {
            continue;
        }
        let braced: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
        let near = nearest(&name.to_lowercase(), known.iter().copied());
        let hint = near.map(|near| format!(" (did you mean {{{near}}}?)")).unwrap_or_default();
        let all = if braced.is_empty() { "none".to_owned() } else { braced.join(", ") };
        bail!("{{{name}}} in {text:?} is no placeholder{hint}; those that there are: {all}");
    }
    Ok(())
}

impl Places<'_> {
    fn fill(&self, words: &[String]) -> Vec<String> {
        let each = words.iter().map(|word| {
            word.replace("{target}", &self.target.to_string_lossy())
                .replace(SHARED, &self.shared.to_string_lossy())
                .replace("{dir}", &self.folder.to_string_lossy())
                .replace("{features}", &self.features)
        });
        each.collect()
    }
}

/// Reads one `contender.toml`: the contender, then its variants. Build output goes below `target`.
///
/// # Errors
/// The file cannot be read or is malformed. The message names the file, the line where there is
/// one, and the variant where one is at fault.
pub(crate) fn load(path: &Path, target: &Path) -> Result<Vec<Contender>> {
    let manifest: Manifest = read_toml(path)?;
    manifest.check().with_context(|| format!("{} is malformed", path.display()))?;
    let folder = path
        .parent()
        .unwrap_or(Path::new("."))
        .canonicalize()
        .with_context(|| format!("cannot find the folder of {}", path.display()))?;
    // By the name under which it was found, which may be that of a link.
    let name = path.parent().and_then(Path::file_name).or(folder.file_name()).unwrap_or_default();
    if *name != *manifest.id {
        bail!(
            "{}: its id {:?} is not the name of its folder, {name:?}: give both the same",
            path.display(),
            manifest.id
        );
    }
    let language = folder.parent().and_then(Path::file_name).unwrap_or_default();
    let output = manifest.build.output(&language.to_string_lossy());
    let target = target.join(output.with_context(|| format!("{} is malformed", path.display()))?);
    let mut contenders = vec![manifest.contender(None, &folder, target.clone(), &target)];
    for variant in &manifest.variant {
        let own = target.join(VARIANTS).join(&variant.id);
        let contender = manifest.contender(Some(variant), &folder, own, &target);
        // Two builds of one executable would overwrite one another.
        if let Some(twin) = contenders.iter().find(|other| other.command == contender.command) {
            bail!(
                "{} is malformed: the variant {:?} and {} both start `{}`: begin the executable in `run.command` with \
                 {{target}}, which is another folder for every variant",
                path.display(),
                variant.id,
                twin.id,
                contender.command.join(" ")
            );
        }
        contenders.push(contender);
    }
    Ok(contenders)
}

impl Contender {
    /// The same contender with another release of its runtime, in a target folder of its own.
    ///
    /// # Errors
    /// Its `contender.toml` does not say how, or the release cannot be had.
    pub fn with_release(&self, release: Release) -> Result<Self> {
        let path = self.folder.join("contender.toml");
        let manifest: Manifest = read_toml(&path)?;
        let how = manifest.releases.clone().with_context(|| {
            format!(
                "{} cannot be raced with another release of its runtime: {} has no section [releases] that says how \
                 it is built",
                self.id,
                path.display()
            )
        })?;
        how.check(&release)
            .with_context(|| format!("{} cannot be raced at {}", self.id, release.choice()))?;
        let variant = manifest.variant.iter().find(|v| Some(&v.id) == self.variant.as_ref());
        let target = self.target.join(RELEASES).join(&self.id).join(release.folder());
        let mut contender = manifest.contender(variant, &self.folder, target.clone(), &target);
        if contender.command == self.command {
            bail!(
                "{} is malformed: every release starts `{}`: begin the executable in `run.command` with {{target}}, \
                 which is another folder for each",
                path.display(),
                self.command.join(" ")
            );
        }
        contender.name = format!("{}, {}", contender.name, release.short());
        contender.build_variables.extend(how.variables(&release));
        if let Release::Path { path, .. } = &release {
            contender.build_inputs.push(path.clone());
        }
        let copied_from = matches!(how, Releases::Cargo { .. }).then(|| {
            let copy = contender.target.join("workspace");
            std::mem::replace(&mut contender.build_directory, copy)
        });
        contender.release = Some(Chosen { release, how, copied_from });
        Ok(contender)
    }
}

impl Manifest {
    fn check(&self) -> Result<()> {
        check_name(&self.id)?;
        check_allocator(&self.allocator)?;
        if self.run.command.is_empty() {
            bail!("`run.command` is empty");
        }
        if self.build.commands.iter().any(Vec::is_empty)
            || self.requirements().any(|requirement| requirement.probe.is_empty())
        {
            bail!("a command of `build.commands` or a `probe` is empty");
        }
        if self.threads_max == Some(0) {
            bail!(
                "`threads_max` is 0, and nobody races on no thread: say 1 or more, or leave it out if there is no limit"
            );
        }
        let probes = self.requires.iter().map(|requirement| &requirement.probe);
        let runs = [&self.run.command, &self.run.files];
        let commands = self.build.commands.iter().chain(runs).chain(probes);
        for word in commands.flatten() {
            check_placeholders(word, &PLACEHOLDERS)?;
        }
        let paths = self.build.inputs.iter().chain([&self.build.directory]);
        for path in paths {
            check_placeholders(&path.to_string_lossy(), &[])
                .context("in `build.directory` and `build.inputs`, which start at the file")?;
        }
        let mut seen = BTreeSet::new();
        for variant in &self.variant {
            self.check_variant(variant)
                .with_context(|| format!("in the variant {:?}", variant.id))?;
            if !seen.insert(&variant.id) {
                bail!("the variant {:?} is there twice: give one of them another `id`", variant.id);
            }
        }
        Ok(())
    }

    /// Its own, and those of its variants.
    fn requirements(&self) -> impl Iterator<Item = &Requirement> {
        self.requires.iter().chain(self.variant.iter().flat_map(|variant| &variant.requires))
    }

    fn check_variant(&self, variant: &Variant) -> Result<()> {
        check_name(&variant.id)?;
        variant.allocator.as_deref().map_or(Ok(()), check_allocator)?;
        if variant.features.is_empty() {
            bail!("`features` is empty, so that it is the contender itself: name what differs");
        }
        let plain = |feature: &String| {
            !feature.is_empty() && !feature.contains(|c: char| c == ',' || c.is_whitespace())
        };
        if let Some(feature) = variant.features.iter().find(|feature| !plain(feature)) {
            bail!("the feature {feature:?} may neither be empty nor contain commas or blanks");
        }
        let takes_features = |words: &Vec<String>| words.iter().any(|w| w.contains("{features}"));
        if !self.build.commands.iter().any(takes_features) && !takes_features(&self.run.command) {
            bail!(
                "its `features` reach no command: put {{features}} into `build.commands` or `run.command`, such as \
                 \"--features={{features}}\""
            );
        }
        Ok(())
    }

    fn contender(
        &self,
        variant: Option<&Variant>,
        folder: &Path,
        target: PathBuf,
        shared: &Path,
    ) -> Contender {
        let features = variant.map_or_else(String::new, |variant| variant.features.join(","));
        let places = Places { target, shared, folder, features };
        let shares = self.build.commands.iter().flatten().any(|word| word.contains(SHARED));
        let mut build_inputs: Vec<_> =
            self.build.inputs.iter().map(|input| folder.join(input)).collect();
        build_inputs.push(folder.to_owned());
        let more = variant.into_iter().flat_map(|variant| &variant.requires);
        let requires = self.requires.iter().chain(more).map(|requirement| Requirement {
            probe: places.fill(&requirement.probe),
            ..requirement.clone()
        });
        let notes = [variant.and_then(|variant| variant.notes.clone()), self.notes.clone()];
        let notes = notes.into_iter().flatten().collect::<Vec<_>>().join(" ");
        Contender {
            id: match variant {
                Some(variant) => format!("{}-{}", self.id, variant.id),
                None => self.id.clone(),
            },
            name: match variant {
                Some(Variant { name: Some(name), .. }) => name.clone(),
                Some(variant) => format!("{}, {}", self.name, variant.id),
                None => self.name.clone(),
            },
            base: self.id.clone(),
            variant: variant.map(|variant| variant.id.clone()),
            language: self.language.clone(),
            kind: self.kind,
            homepage: self.homepage.clone(),
            licence: self.licence.clone(),
            track: variant.map_or(self.track, |variant| variant.track),
            allocator: variant
                .and_then(|variant| variant.allocator.as_ref())
                .unwrap_or(&self.allocator)
                .clone(),
            threads_max: self.threads_max,
            notes: (!notes.is_empty()).then_some(notes),
            readme: variant
                .map_or_else(|| "README.md".to_owned(), |variant| variant.readme.clone()),
            workloads: self.workloads.clone(),
            requires: requires.collect(),
            folder: folder.to_owned(),
            build_directory: folder.join(&self.build.directory),
            build_commands: self.build.commands.iter().map(|words| places.fill(words)).collect(),
            build_inputs,
            build_environment: self.build.environment.clone(),
            build_seconds: self.build.seconds.unwrap_or(if self.build.commands.is_empty() {
                0
            } else {
                BUILD_SECONDS
            }),
            build_variables: Settings::new(),
            command: places.fill(&self.run.command),
            files: places.fill(&self.run.files).into_iter().map(PathBuf::from).collect(),
            workplace: if shares { shared.to_owned() } else { places.target.clone() },
            target: places.target,
            releases: self.releases.clone(),
            release: None,
        }
    }
}

fn check_name(id: &str) -> Result<()> {
    if !is_name(id) {
        bail!(
            "the id {id:?} may only have letters, digits, `-`, `_` and `.`, and may not start with `-` or `.`"
        );
    }
    Ok(())
}

/// `--describe` says it with its version after a dash.
fn check_allocator(name: &str) -> Result<()> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        bail!(
            "the allocator {name:?} may only have letters, digits and `_`: `system`, `own`, or a name such as mimalloc"
        );
    }
    Ok(())
}

impl Contender {
    /// Every contender and variant below the project's folder `own` and below `more`
    /// (`<folder>/<language>/<id>/contender.toml`), by id.
    ///
    /// # Errors
    /// A folder cannot be read; a `contender.toml` below `own` is malformed or in the wrong place,
    /// or two contenders there share an id. Below `more`, such a contender is left out.
    pub fn load_all(own: &Path, more: &[PathBuf], target: &Path) -> Result<Found> {
        let found = Self::load_readable(own, more, target)?;
        match found.faulty.iter().find(|faulty| faulty.is_own) {
            Some(Faulty { reason, .. }) => bail!("{reason}"),
            None => Ok(found),
        }
    }

    /// The same for whoever races nobody: below `own`, too, a contender that cannot be read is left
    /// out.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn load_readable(own: &Path, more: &[PathBuf], target: &Path) -> Result<Found> {
        let mut found = Found::default();
        for folder in std::iter::once(own).chain(more.iter().map(PathBuf::as_path)) {
            for place in places(folder)? {
                let loaded = place.check().and_then(|()| load(&place.path, target));
                let loaded = loaded.and_then(|contenders| found.without_twin(contenders));
                match loaded {
                    Ok(contenders) => found.contenders.extend(contenders),
                    Err(error) => found.faulty.push(Faulty {
                        id: place.id(),
                        is_own: folder == own,
                        reason: format!("{error:#}").trim_end().to_owned(),
                    }),
                }
            }
        }
        found.contenders.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }
}

/// The contenders of some folders.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub contenders: Vec<Contender>,
    pub faulty: Vec<Faulty>,
}

/// A `contender.toml` that describes none.
#[derive(Clone, Debug)]
pub struct Faulty {
    /// The name of its folder, which should be its id.
    pub id: String,
    /// Whether it is in the project's own folder.
    pub is_own: bool,
    pub reason: String,
}

impl Found {
    fn without_twin(&self, contenders: Vec<Contender>) -> Result<Vec<Contender>> {
        for contender in &contenders {
            // As those of races: names that a reader takes for one, and a file system may, too.
            let is_twin = |other: &&Contender| other.id.eq_ignore_ascii_case(&contender.id);
            if let Some(twin) = self.contenders.iter().find(is_twin) {
                bail!(
                    "two contenders call themselves {:?}: {} and {}; give one of them another `id`",
                    contender.id,
                    twin.origin(),
                    contender.origin()
                );
            }
        }
        Ok(contenders)
    }
}

/// A `contender.toml`, and whether it is where one should be.
struct Place {
    path: PathBuf,
    /// How many folders below that of the contenders.
    depth: usize,
}

/// `<language>/<id>`.
const DEPTH: usize = 2;

impl Place {
    fn check(&self) -> Result<()> {
        let wrong = match self.depth {
            DEPTH => return Ok(()),
            deep if deep > DEPTH => "a level too deep: move its folder up by one",
            _ => {
                "not deep enough: put it into a folder LANGUAGE/ID, or name the folder above its language with \
                 --contenders-dir"
            }
        };
        bail!("{} is {wrong} (LANGUAGE/ID/contender.toml is read)", self.path.display())
    }

    fn id(&self) -> String {
        let folder = self.path.parent().and_then(Path::file_name).unwrap_or_default();
        folder.to_string_lossy().into_owned()
    }
}

/// Every `contender.toml` down to one level below where they belong.
fn places(folder: &Path) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    let mut level = vec![folder.to_owned()];
    for depth in 0..=DEPTH + 1 {
        let mut next = Vec::new();
        for folder in level {
            let path = folder.join("contender.toml");
            if path.is_file() {
                places.push(Place { path, depth });
            } else if depth <= DEPTH {
                // What a contender's folder holds is its own affair.
                match subfolders(&folder) {
                    Ok(below) => next.extend(below),
                    // Here nothing should be, and whether it is cannot be seen.
                    Err(_) if depth == DEPTH => {}
                    Err(error) => return Err(error),
                }
            }
        }
        level = next;
    }
    Ok(places)
}

fn subfolders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path =
            entry.with_context(|| format!("cannot read the folder {}", folder.display()))?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() && !hidden {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
        id = "rt"
        name = "Runtime"
        language = "C"
        kind = "async"
        homepage = "-"
        licence = "-"
        notes = "One thread waits."
        workloads = []
        [build]
        commands = [["make", "FEATURES={features}", "{target}/rt"]]
        [run]
        command = ["{target}/rt"]
        [[variant]]
        id = "big"
        track = "tuned"
        features = ["stacks", "pages"]
        notes = "Large stacks."
        readme = "README.md#big"
    "#;

    fn load_text(text: &str) -> Result<Vec<Contender>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c/rt/contender.toml");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        load(&path, Path::new("/target"))
    }

    #[test]
    fn a_variant_is_a_contender_that_shares_the_sources() {
        let contenders = load_text(MANIFEST).unwrap();
        let [base, big] = &contenders[..] else { panic!("{contenders:?}") };
        assert_eq!((base.id.as_str(), big.id.as_str()), ("rt", "rt-big"));
        assert_eq!((base.variant.as_deref(), big.variant.as_deref()), (None, Some("big")));
        assert_eq!(big.name, "Runtime, big");
        assert_eq!((base.track, big.track), (Track::Stock, Track::Tuned));
        assert_eq!(big.notes.as_deref(), Some("Large stacks. One thread waits."));
        assert_eq!(big.folder, base.folder);
        assert_eq!([&base.base, &big.base], ["rt", "rt"]);
        assert_eq!(base.build_commands, [["make", "FEATURES=", "/target/c/rt"]]);
        let variant = ["make", "FEATURES=stacks,pages", "/target/c/variants/big/rt"];
        assert_eq!(big.build_commands, [variant]);
        assert_eq!([&base.workplace, &big.workplace], [&base.target, &big.target]);
    }

    #[test]
    fn a_variant_may_be_built_where_its_contender_is() {
        let text = MANIFEST.replace("\"make\"", "\"make\", \"OBJECTS={shared}\"");
        let contenders = load_text(&text).unwrap();
        let [base, big] = &contenders[..] else { panic!("{contenders:?}") };
        for contender in [base, big] {
            assert_eq!(contender.build_commands[0][1], "OBJECTS=/target/c");
            assert_eq!(contender.workplace, base.target);
        }
        assert_ne!(big.target, base.target);
    }

    #[test]
    fn a_variant_may_have_an_allocator_and_need_what_its_contender_does_not() {
        let more = "allocator = \"mimalloc\"\n[[variant.requires]]\nname = \"mimalloc\"\n\
                    probe = [\"find\", \"{target}\"]\ninstall = \"-\"\n";
        let contenders = load_text(&format!("{MANIFEST}{more}")).unwrap();
        let [base, big] = &contenders[..] else { panic!("{contenders:?}") };
        assert_eq!((&*base.allocator, &*big.allocator), ("system", "mimalloc"));
        assert!(base.requires.is_empty());
        assert_eq!(big.requires[0].probe, ["find", "/target/c/variants/big"]);
        // A variant that says nothing has the contender's.
        let own = MANIFEST.replace("workloads = []", "workloads = []\nallocator = \"own\"");
        assert!(load_text(&own).unwrap().iter().all(|contender| contender.allocator == "own"));
    }

    #[test]
    fn variants_with_one_executable_are_refused() {
        let error = load_text(&MANIFEST.replace("[\"{target}/rt\"]", "[\"rt\"]")).unwrap_err();
        let error = format!("{error:#}");
        for part in ["c/rt/contender.toml", "\"big\"", "start `rt`", "begin the executable"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn faults_name_the_file_the_variant_and_the_fix() {
        let twice = format!("{MANIFEST}{}", &MANIFEST[MANIFEST.find("[[variant]]").unwrap()..]);
        let cases = [
            (MANIFEST.replace("FEATURES={features}", "all"), "put {features} into"),
            (MANIFEST.replace("[\"stacks\", \"pages\"]", "[]"), "name what differs"),
            (MANIFEST.replace("\"stacks\"", "\"a b\""), "\"a b\" may neither"),
            (MANIFEST.replace("id = \"big\"", "id = \"b/g\""), "the id \"b/g\" may only"),
            (format!("{MANIFEST}allocator = \"je-5\""), "the allocator \"je-5\" may only"),
            (twice, "give one of them another `id`"),
        ];
        for (text, fix) in cases {
            let error = format!("{:#}", load_text(&text).unwrap_err());
            let variant = if text.contains("b/g") { "variant \"b/g\"" } else { "variant \"big\"" };
            for part in ["c/rt/contender.toml is malformed", variant, fix] {
                assert!(error.contains(part), "{part}: {error}");
            }
        }
    }
}
