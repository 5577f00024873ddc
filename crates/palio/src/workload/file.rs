//! The files of the catalogue.
//!
//! Their format is apart from the types that the rest of Palio uses, so that these stay free of its
//! conveniences (`like`, numbers as values).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::{
    Catalogue, Fidelity, Instance, Model, Origin, Prediction, Preset, Scope, Settings, Suite,
    Threads, Workload, unknown,
};
use crate::load::Load;
use crate::salt::{Plain, Rule};
use crate::stats::Statistic;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FamilyFile {
    id: String,
    title: String,
    model: Model,
    scope: Scope,
    unit: String,
    source: String,
    fidelity: Fidelity,
    #[serde(default)]
    deviations: Vec<String>,
    held_out: Option<String>,
    definition: String,
    #[serde(default)]
    variants: Vec<BTreeMap<String, Scalar>>,
    #[serde(default)]
    predictions: Vec<Prediction>,
    salt: Option<Rule>,
    /// Why there is no `salt`.
    unsalted: Option<String>,
    elapsed_ns_min: Option<u64>,
    untimed: Option<String>,
    #[serde(default)]
    one_root: bool,
    #[serde(default)]
    served: bool,
    statistic: Option<Statistic>,
    case: Vec<CaseFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    #[serde(default)]
    name: String,
    /// Instead of the family's.
    title: Option<String>,
    unit: Option<String>,
    statistic: Option<Statistic>,
    predictions: Option<Vec<Prediction>>,
    quick: InstanceFile,
    native: InstanceFile,
    published: InstanceFile,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InstanceFile {
    like: Option<Preset>,
    set: Option<BTreeMap<String, Scalar>>,
    threads: Option<Vec<Threads>>,
    answer: Option<String>,
    ops: Option<u64>,
    work: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Integer(i64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuitesFile {
    suite: Vec<SuiteFile>,
}

/// A suite as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    id: String,
    title: String,
    preset: Preset,
    /// What an invocation measures in quick sizes, in milliseconds, unless `--budget` says so.
    quick_budget_ms: Option<u64>,
    /// Suites above it, all of whose workloads it has.
    #[serde(default)]
    suites: Vec<String>,
    #[serde(default)]
    workloads: Vec<String>,
}

impl SuitesFile {
    /// Each with the workloads of the suites that it names, and then its own. A suite can only name
    /// those above it, so that none contains itself.
    fn suites(self) -> Result<Vec<Suite>> {
        let mut all: Vec<Suite> = Vec::with_capacity(self.suite.len());
        for SuiteFile { id, title, preset, quick_budget_ms, suites, workloads: own } in self.suite {
            let mut workloads: Vec<String> = Vec::new();
            for name in &suites {
                let named = all.iter().find(|suite| suite.id == *name).with_context(|| {
                    let above = all.iter().map(|suite| suite.id.as_str());
                    format!(
                        "in the suite {id:?}: {} (it must stand above this one)",
                        unknown("suite", name, above, "palio list suites")
                    )
                })?;
                let missing = named.workloads.iter().filter(|id| !workloads.contains(id));
                workloads.extend(missing.cloned().collect::<Vec<_>>());
            }
            workloads.extend(own);
            ensure!(
                !workloads.is_empty(),
                "in the suite {id:?}: neither `workloads` nor `suites` names anything"
            );
            ensure!(
                quick_budget_ms != Some(0),
                "in the suite {id:?}: `quick_budget_ms` is at least 1"
            );
            all.push(Suite { id, title, preset, quick_budget_ms, workloads });
        }
        Ok(all)
    }
}

fn settings(raw: &BTreeMap<String, Scalar>) -> Settings {
    raw.iter()
        .map(|(key, value)| {
            let text = match value {
                Scalar::Integer(number) => number.to_string(),
                Scalar::Text(text) => text.clone(),
            };
            (key.clone(), text)
        })
        .collect()
}

impl Instance {
    /// Whether the stated answer is that of the salt 0.
    fn check(&self, rule: Rule) -> Result<()> {
        let plain = Plain { set: &self.set, ops: self.ops, answer: &self.answer };
        let computed = rule.answer(plain, 0)?;
        if computed != self.answer {
            bail!("the answer for the salt 0 is {computed}, not {}", self.answer);
        }
        Ok(())
    }
}

impl CaseFile {
    fn of(&self, preset: Preset) -> &InstanceFile {
        match preset {
            Preset::Quick => &self.quick,
            Preset::Native => &self.native,
            Preset::Published => &self.published,
        }
    }

    /// Resolves `like`: what a preset does not say is as in the one that it names.
    fn instance(&self, preset: Preset, seen: &mut Vec<Preset>) -> Result<Instance> {
        if seen.contains(&preset) {
            bail!("the preset {preset} is `like` itself");
        }
        seen.push(preset);
        let file = self.of(preset);
        let base = file.like.map(|like| self.instance(like, seen)).transpose()?;
        let base = base.as_ref();
        let missing = |key: &str| format!("the preset {preset} has neither `{key}` nor a `like`");
        let instance = Instance {
            set: file
                .set
                .as_ref()
                .map(settings)
                .or_else(|| base.map(|b| b.set.clone()))
                .unwrap_or_default(),
            threads: file
                .threads
                .clone()
                .or_else(|| base.map(|b| b.threads.clone()))
                .with_context(|| missing("threads"))?,
            answer: file
                .answer
                .clone()
                .or_else(|| base.map(|b| b.answer.clone()))
                .with_context(|| missing("answer"))?,
            ops: file.ops.or_else(|| base.map(|b| b.ops)).with_context(|| missing("ops"))?,
            work: file.work.or_else(|| base.and_then(|b| b.work)),
        };
        if instance.threads.is_empty() {
            bail!("the preset {preset} has an empty list `threads`");
        }
        Ok(instance)
    }
}

/// Whether what is served is asked for, and ranked.
fn check_load(instance: &Instance, statistic: Option<Statistic>) -> Result<()> {
    let all = Load::of(&instance.set)?.all();
    if all != instance.ops {
        bail!("`ops` is {}, and {all} requests are sent", instance.ops);
    }
    statistic.map(drop).context("what is served has no `statistic` that is ranked")
}

impl FamilyFile {
    fn workloads(&self) -> Result<Vec<Workload>> {
        if self.case.is_empty() {
            bail!("there is no [[case]]");
        }
        if self.salt.is_some() == self.unsalted.is_some() {
            bail!(
                "either `salt` names the rule by which the salt enters the work, or `unsalted` \
                 gives the reason why it does not"
            );
        }
        let origin = Origin {
            source: self.source.clone(),
            fidelity: self.fidelity,
            deviations: self.deviations.clone(),
            held_out: self.held_out.clone(),
        };
        if let Err(error) = origin.check() {
            bail!(error);
        }
        let variants = match &self.variants[..] {
            [] => vec![Settings::new()],
            variants => variants.iter().map(settings).collect(),
        };
        self.case
            .iter()
            .map(|case| {
                let id = match case.name.as_str() {
                    "" => self.id.clone(),
                    name => format!("{}/{name}", self.id),
                };
                let statistic = case.statistic.or(self.statistic);
                let presets: BTreeMap<Preset, Instance> =
                    [Preset::Quick, Preset::Native, Preset::Published]
                        .into_iter()
                        .map(|preset| Ok((preset, case.instance(preset, &mut Vec::new())?)))
                        .collect::<Result<_>>()
                        .with_context(|| format!("in the case {id}"))?;
                // The others would delay every command by what it takes to compute them; a test
                // checks those of the project.
                let cheap =
                    |rule: &Rule| !matches!(rule, Rule::Nqueens | Rule::Matmul | Rule::Computed);
                if let Some(rule) = self.salt.filter(cheap) {
                    for (preset, instance) in &presets {
                        instance
                            .check(rule)
                            .with_context(|| format!("in the case {id}, preset {preset}"))?;
                    }
                }
                if self.served {
                    for (preset, instance) in &presets {
                        check_load(instance, statistic)
                            .with_context(|| format!("in the case {id}, preset {preset}"))?;
                    }
                }
                if let Some(statistic) = statistic
                    && let Some((preset, _)) =
                        presets.iter().find(|(_, instance)| instance.ops < statistic.events_min())
                {
                    bail!(
                        "in the case {id}: the {statistic} of an iteration needs {} events, and \
                         the preset {preset} has fewer `ops`",
                        statistic.events_min()
                    );
                }
                Ok(Workload {
                    id,
                    family: self.id.clone(),
                    title: case.title.as_ref().unwrap_or(&self.title).clone(),
                    model: self.model,
                    scope: self.scope,
                    unit: case.unit.as_ref().unwrap_or(&self.unit).clone(),
                    origin: origin.clone(),
                    definition: self.definition.trim().to_owned(),
                    variants: variants.clone(),
                    predictions: case.predictions.as_ref().unwrap_or(&self.predictions).clone(),
                    salt: self.salt,
                    unsalted: self.unsalted.clone(),
                    elapsed_ns_min: self.elapsed_ns_min,
                    untimed: self.untimed.clone(),
                    one_root: self.one_root,
                    served: self.served,
                    statistic,
                    presets,
                })
            })
            .collect()
    }
}

/// The file of the suites, among those of the families.
const SUITES: &str = "suites.toml";

/// Every `.toml` file below `folder`, sorted, so that nothing depends on the file system's order.
pub(crate) fn toml_files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    for entry in entries {
        let path =
            entry.with_context(|| format!("cannot read the folder {}", folder.display()))?.path();
        if path.is_dir() {
            toml_files(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            found.push(path);
        }
    }
    found.sort();
    Ok(())
}

/// Reads and parses one TOML file; an error names the file, the line and the column.
pub(crate) fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("{} is malformed", path.display()))
}

impl Catalogue {
    /// Reads all of `folder`: `suites.toml` and a file for each family.
    ///
    /// # Errors
    /// A file cannot be read or is malformed, an id is there twice, or a suite names a workload
    /// that is not there.
    pub fn load(folder: &Path) -> Result<Self> {
        let (catalogue, faulty) = Self::load_readable(folder)?;
        if let Some(error) = faulty.into_iter().next() {
            return Err(error);
        }
        let suites_path = folder.join(SUITES);
        for suite in &catalogue.suites {
            for id in &suite.workloads {
                catalogue.workload(id).with_context(|| {
                    format!("{}: in the suite {:?}", suites_path.display(), suite.id)
                })?;
            }
        }
        Ok(catalogue)
    }

    /// The same for whoever races nothing: a file with a fault is left out, and its error told.
    /// A suite may then name workloads that are not there.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn load_readable(folder: &Path) -> Result<(Self, Vec<anyhow::Error>)> {
        let (mut catalogue, mut faulty) = (Self::default(), Vec::new());
        let mut files = Vec::new();
        toml_files(folder, &mut files)?;
        for path in files {
            if let Err(error) = catalogue.read(&path) {
                faulty.push(error);
            }
        }
        Ok((catalogue, faulty))
    }

    /// Takes in what a file has, all of it or nothing.
    fn read(&mut self, path: &Path) -> Result<()> {
        let malformed = || format!("{} is malformed", path.display());
        if path.file_name().is_some_and(|name| name == SUITES) {
            self.suites = read_toml::<SuitesFile>(path)?.suites().with_context(malformed)?;
            return Ok(());
        }
        let workloads = read_toml::<FamilyFile>(path)?.workloads().with_context(malformed)?;
        for (index, workload) in workloads.iter().enumerate() {
            let mut before = self.workloads.iter().chain(&workloads[..index]);
            if before.any(|other| other.id == workload.id) {
                bail!("{}: the workload {:?} is defined twice", path.display(), workload.id);
            }
        }
        self.workloads.extend(workloads);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings_text;
    use super::*;

    const FAMILY: &str = r#"
        id = "echo"
        title = "Echo"
        model = "async"
        scope = "steady"
        unit = "echo"
        source = "test"
        fidelity = "own"
        definition = "…"
        unsalted = "a test"
        [[case]]
        name = "small"
        published = { set = { n = 10, how = "fast" }, threads = [4], answer = "10", ops = 10, work = 20 }
        native = { like = "published", threads = [1, "cores"] }
        quick = { like = "native" }
    "#;

    fn family(text: &str) -> Result<Vec<Workload>> {
        toml::from_str::<FamilyFile>(text)?.workloads()
    }

    #[test]
    fn like_takes_over_what_is_not_said() {
        let workloads = family(FAMILY).unwrap();
        let quick = &workloads[0].presets[&Preset::Quick];
        assert_eq!(workloads[0].id, "echo/small");
        assert_eq!(quick.threads, [Threads::Count(1), Threads::Cores]);
        assert_eq!((quick.answer.as_str(), quick.ops, quick.work), ("10", 10, Some(20)));
        assert_eq!(settings_text(&quick.set), "how=fast,n=10");
    }

    #[test]
    fn a_circle_of_likes_is_refused() {
        let circle = FAMILY
            .replace("{ like = \"published\", threads = [1, \"cores\"] }", "{ like = \"quick\" }");
        assert!(format!("{:#}", family(&circle).unwrap_err()).contains("`like` itself"));
    }

    #[test]
    fn errors_name_the_line_and_the_key() {
        let typo = FAMILY.replace("unit =", "unti =");
        let error = format!("{:#}", family(&typo).unwrap_err());
        assert!(error.contains("unti") && error.contains("line 6"), "{error}");
    }

    #[test]
    fn a_statistic_needs_enough_events() {
        let with = |ops: u32, statistic: &str| {
            let text = FAMILY
                .replace("ops = 10", &format!("ops = {ops}"))
                .replace("[[case]]", &format!("[[case]]\nstatistic = \"{statistic}\""));
            family(&text)
        };
        assert_eq!(with(1_000, "p99").unwrap()[0].statistic, Some(Statistic::P99));
        assert_eq!(with(1, "max").unwrap()[0].statistic, Some(Statistic::Max));
        let error = format!("{:#}", with(9_999, "p99.9").unwrap_err());
        assert!(error.contains("p99.9") && error.contains("10000 events"), "{error}");
        assert!(with(1_000, "p98").is_err());
    }

    #[test]
    fn a_workload_is_salted_or_says_why_not() {
        let with = |lines: &str| family(&FAMILY.replace("unsalted = \"a test\"", lines));
        assert_eq!(with("salt = \"each\"").unwrap()[0].salt, Some(Rule::Each));
        for lines in ["", "salt = \"each\"\nunsalted = \"no\""] {
            assert!(format!("{:#}", with(lines).unwrap_err()).contains("`unsalted`"));
        }
        let error = format!("{:#}", with("salt = \"skynet\"").unwrap_err());
        assert!(error.contains("\"leaves\""), "{error}");
    }

    #[test]
    fn zero_threads_are_refused() {
        let zero = FAMILY.replace("threads = [4]", "threads = [0]");
        assert!(
            format!("{:#}", family(&zero).unwrap_err()).contains("0 is not a number of threads")
        );
    }

    #[test]
    fn the_catalogue_of_the_project_loads() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
        let catalogue = Catalogue::load(&folder).unwrap();
        assert!(catalogue.suite("quick").is_ok());
        for workload in &catalogue.workloads {
            for (preset, instance) in &workload.presets {
                let checked = workload.salt.map_or(Ok(()), |rule| instance.check(rule));
                checked.with_context(|| format!("{} {preset}", workload.id)).unwrap();
            }
        }
        let error = catalogue.workload("fibb").unwrap_err().to_string();
        assert!(error.contains("did you mean \"fib\""), "{error}");
    }

    /// How samples are made follows the one, and contenders the other.
    #[test]
    fn a_row_says_one_root_where_its_definition_does() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
        let says = |text: &str| text.contains("All iterations of a sample are in one");
        for workload in Catalogue::load(&folder).unwrap().workloads {
            assert_eq!(workload.one_root, says(&workload.definition), "{}", workload.id);
        }
    }
}
