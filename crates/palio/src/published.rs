//! What the reference documents print: every number of their tables, and to which workload, number
//! of threads and contender it belongs.
//!
//! A file under `published/` is one document. It is read beside the catalogue, and refused where a
//! row names what is not there: a number without counterpart would be left out in silence.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::contender::Contender;
use crate::suggest::nearest;
use crate::workload::{Catalogue, Preset, Settings, Suite, Threads, read_toml, toml_files};

/// All documents, in the order of their files.
#[derive(Clone, Debug, Default)]
pub struct Published {
    pub documents: Vec<Document>,
}

/// The tables of one document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The suite that has its workloads.
    pub suite: String,
    /// What it is and by whom, to be put into a sentence.
    #[serde(rename = "document")]
    pub name: String,
    pub machine: String,
    /// Contenders by the names that the document gives them.
    pub systems: BTreeMap<String, String>,
    /// What of a workload's variants a system is in the document, such as `root = "outside"`; of
    /// those that have none of this key it says nothing.
    #[serde(default)]
    pub variants: BTreeMap<String, Settings>,
    /// The system that all others are compared with; without one, the best of each row.
    pub reference: Option<String>,
    /// Systems that the document names without numbers.
    #[serde(default)]
    pub announced: BTreeMap<String, String>,
    /// Workloads that it names without numbers.
    #[serde(default)]
    pub unnumbered: Vec<String>,
    /// Contenders that are not there, and why.
    #[serde(default)]
    pub missing: Vec<Missing>,
    #[serde(rename = "table")]
    pub tables: Vec<Table>,
}

/// A system of a document that nobody can race here.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    pub contender: String,
    /// A sentence without its full stop.
    pub reason: String,
}

/// One table of a document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub title: String,
    /// How the document prints it.
    #[serde(default)]
    pub layout: Layout,
    /// Its systems in the document's order; without it, in that of their names.
    #[serde(default)]
    pub order: Vec<String>,
    /// Systems whose numbers are of as many threads as there are, whatever a row says.
    #[serde(default)]
    pub all_threads: Vec<String>,
    /// Of what a number is the time.
    #[serde(default)]
    pub per: Per,
    /// Instead of the document's.
    pub systems: Option<BTreeMap<String, String>>,
    pub reference: Option<String>,
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
}

/// How a document prints a table; `palio report --format document` prints a run in the same way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// A workload a line and a system a column, each time with its unit.
    #[default]
    Units,
    /// The same in whole microseconds, below the mean ratio to the best.
    MeanRatio,
    /// The same in whole microseconds without a unit, with notes.
    Microseconds,
    /// A number of threads a line, otherwise the same.
    Threads,
    /// What the benchmarks of Go and of criterion write, a system after the other.
    Benchmarks,
    /// What the benchmarks of Rust's test harness write, a system after the other.
    Libtest,
    /// User, system and total time and the share of a CPU, for each number of threads.
    CpuTimes,
}

/// Of what a document prints the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    #[default]
    Iteration,
    /// Of one of the units that a workload counts.
    Unit,
}

/// A line of a table, or lines about the same work.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub name: String,
    /// The name of a race of another size, with parameters in braces, such as `fib({n})`.
    pub label: Option<String>,
    pub workload: String,
    /// Those of the preset `published`, where it has but one number of them.
    pub threads: Option<u32>,
    #[serde(default)]
    pub cpu_budget: bool,
    /// In what a comparison of the row differs from the document's; a sentence without its full
    /// stop.
    pub unlike: Option<String>,
    /// Instead of the table's.
    pub systems: Option<BTreeMap<String, String>>,
    /// Instead of the document's.
    pub variants: Option<BTreeMap<String, Settings>>,
    /// By system; empty where the document has the row and no number.
    pub values: BTreeMap<String, Value>,
    /// The parameters of the preset `published`.
    #[serde(skip)]
    pub set: Settings,
}

/// What a document prints of one system in one row.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "RawValue")]
pub struct Value {
    pub time: Time,
    /// The interval of the time, where there is one.
    pub lo: Option<Time>,
    pub hi: Option<Time>,
    /// By how many nanoseconds the time varied.
    pub spread: Option<f64>,
    pub iterations: Option<u64>,
    pub user: Option<Time>,
    pub system: Option<Time>,
    pub cpu_percent: Option<f64>,
    /// What the document calls this number, if that is not the row's name.
    pub name: Option<String>,
    /// The number stands in another line of the document, and is here to be compared with.
    pub unprinted: bool,
}

/// A time as it is printed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Time {
    pub printed: String,
    pub ns: f64,
}

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(printed: String) -> Result<Self, String> {
        let parts = printed.split_once(' ').and_then(|(number, unit)| {
            let ns_each = match unit {
                "ns" => 1.0,
                "µs" | "us" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                _ => return None,
            };
            let number: f64 = number.parse().ok()?;
            (number.is_finite() && number > 0.0).then_some(number * ns_each)
        });
        match parts {
            Some(ns) => Ok(Self { printed, ns }),
            None => Err(format!(
                "{printed:?} is no time: write a number and ns, µs, us, ms or s, such as `94.34 µs`"
            )),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawValue {
    Time(Time),
    Detailed(Box<Detailed>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Detailed {
    time: Time,
    lo: Option<Time>,
    hi: Option<Time>,
    spread: Option<f64>,
    iterations: Option<u64>,
    user: Option<Time>,
    system: Option<Time>,
    cpu_percent: Option<f64>,
    name: Option<String>,
    #[serde(default)]
    unprinted: bool,
}

impl From<RawValue> for Value {
    fn from(raw: RawValue) -> Self {
        let of = match raw {
            RawValue::Detailed(detailed) => *detailed,
            RawValue::Time(time) => Detailed {
                time,
                lo: None,
                hi: None,
                spread: None,
                iterations: None,
                user: None,
                system: None,
                cpu_percent: None,
                name: None,
                unprinted: false,
            },
        };
        Self {
            time: of.time,
            lo: of.lo,
            hi: of.hi,
            spread: of.spread,
            iterations: of.iterations,
            user: of.user,
            system: of.system,
            cpu_percent: of.cpu_percent,
            name: of.name,
            unprinted: of.unprinted,
        }
    }
}

impl Published {
    /// Reads every file of `folder`, which may be missing, and checks it against the catalogue and
    /// the contenders.
    ///
    /// # Errors
    /// A file cannot be read or is malformed, or a row of it has no counterpart.
    pub fn load(folder: &Path, catalogue: &Catalogue, contenders: &[Contender]) -> Result<Self> {
        let mut published = Self::default();
        if !folder.is_dir() {
            return Ok(published);
        }
        let mut files = Vec::new();
        toml_files(folder, &mut files)?;
        for path in files {
            let mut document: Document = read_toml(&path)?;
            document
                .complete(catalogue, contenders)
                .with_context(|| format!("{} is malformed", path.display()))?;
            if published.of(&document.suite).is_some() {
                bail!("{}: the suite {:?} has two documents", path.display(), document.suite);
            }
            published.documents.push(document);
        }
        Ok(published)
    }

    /// The document of a suite.
    pub fn of(&self, suite: &str) -> Option<&Document> {
        self.documents.iter().find(|document| document.suite == suite)
    }
}

impl Document {
    /// The contenders by system in a row of a table.
    pub fn systems_of<'a>(
        &'a self,
        table: &'a Table,
        row: &'a Row,
    ) -> &'a BTreeMap<String, String> {
        row.systems.as_ref().or(table.systems.as_ref()).unwrap_or(&self.systems)
    }

    /// What of a workload's variants a system is in a row.
    pub fn variant_of<'a>(&'a self, row: &'a Row, system: &str) -> Option<&'a Settings> {
        row.variants.as_ref().unwrap_or(&self.variants).get(system)
    }

    /// The systems of a table, in the document's order.
    pub fn ordered<'a>(&'a self, table: &'a Table) -> Vec<&'a str> {
        if !table.order.is_empty() {
            return table.order.iter().map(String::as_str).collect();
        }
        let systems = table.systems.as_ref().unwrap_or(&self.systems);
        systems.keys().map(String::as_str).collect()
    }

    /// Whom a table compares with.
    pub fn reference_of<'a>(&'a self, table: &'a Table) -> Option<&'a str> {
        table.reference.as_deref().or(self.reference.as_deref())
    }

    /// Every contender that the document names, with or without numbers.
    pub fn contenders(&self) -> impl Iterator<Item = &str> {
        let rows = self.tables.iter().flat_map(|table| table.rows.iter());
        let of_rows = rows.filter_map(|row| row.systems.as_ref());
        let of_tables = self.tables.iter().filter_map(|table| table.systems.as_ref());
        let all = [&self.systems, &self.announced].into_iter().chain(of_tables).chain(of_rows);
        all.flat_map(|systems| systems.values().map(String::as_str))
    }

    /// Fills in the numbers of threads, and refuses what has no counterpart.
    fn complete(&mut self, catalogue: &Catalogue, contenders: &[Contender]) -> Result<()> {
        let suite = catalogue.suite(&self.suite)?;
        for id in self.contenders() {
            let is_known = contenders.iter().any(|known| known.id == id)
                || self.missing.iter().any(|missing| missing.contender == id);
            if !is_known {
                let near = nearest(id, contenders.iter().map(|known| known.id.as_str()));
                let hint = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
                bail!(
                    "there is no contender {id:?}{hint} Name one that there is, or say in \
                     [[missing]] why there is none"
                );
            }
        }
        for id in &self.unnumbered {
            check_workload(id, suite, catalogue)?;
        }
        self.check_variants(suite, catalogue)?;
        let document = self.clone();
        for (table, raw) in self.tables.iter_mut().zip(&document.tables) {
            for (row, raw_row) in table.rows.iter_mut().zip(&raw.rows) {
                let context = || format!("in the table {:?}, row {:?}", raw.title, raw_row.name);
                check_workload(&row.workload, suite, catalogue).with_context(context)?;
                let systems = document.systems_of(raw, raw_row);
                for system in row.values.keys() {
                    ensure!(
                        systems.contains_key(system),
                        "{}: `systems` has no {system:?}",
                        context()
                    );
                }
                let preset = &catalogue.workload(&row.workload)?.presets[&Preset::Published];
                row.set = preset.set.clone();
                row.threads = match (row.threads, &preset.threads[..]) {
                    (Some(threads), _) => Some(threads),
                    (None, [Threads::Count(threads)]) => Some(*threads),
                    (None, _) => {
                        bail!("{}: there is no `threads`, and the workload has several", context())
                    }
                };
            }
            let systems = raw.systems.as_ref().unwrap_or(&document.systems);
            for system in raw.order.iter().chain(&raw.all_threads) {
                ensure!(
                    systems.contains_key(system),
                    "in the table {:?}: `order` or `all_threads` names {system:?}, which is none of its `systems`",
                    raw.title
                );
            }
            if let Some(reference) = document.reference_of(raw) {
                ensure!(
                    systems.contains_key(reference),
                    "in the table {:?}: the reference {reference:?} is none of its `systems`",
                    raw.title
                );
            }
        }
        Ok(())
    }

    /// Refuses variants that nobody has.
    fn check_variants(&self, suite: &Suite, catalogue: &Catalogue) -> Result<()> {
        let mut there: Vec<&Settings> = Vec::new();
        for id in &suite.workloads {
            there.extend(&catalogue.workload(id)?.variants);
        }
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        let of_rows = rows.filter_map(|row| row.variants.as_ref());
        for (system, variant) in std::iter::once(&self.variants).chain(of_rows).flatten() {
            ensure!(
                self.systems.contains_key(system),
                "`variants` names {system:?}, which is none of `systems`"
            );
            for (key, value) in variant {
                ensure!(
                    there.iter().any(|known| known.get(key) == Some(value)),
                    "`variants` has {system} with {key}={value}, which no workload of the suite {:?} has",
                    suite.id
                );
            }
        }
        Ok(())
    }
}

fn check_workload(id: &str, suite: &Suite, catalogue: &Catalogue) -> Result<()> {
    catalogue.workload(id)?;
    ensure!(
        suite.workloads.iter().any(|known| known == id),
        "the workload {id:?} is not in the suite {:?}",
        suite.id
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_documents_print_them() {
        let ns = |text: &str| Time::try_from(text.to_owned()).map(|time| time.ns);
        assert_eq!(ns("62.405 ns"), Ok(62.405));
        assert_eq!(ns("49619 us"), Ok(49_619_000.0));
        assert_eq!(ns("94.5 µs"), Ok(94_500.0));
        assert_eq!(ns("2.5 ms"), Ok(2_500_000.0));
        assert_eq!(ns("64.5 s"), Ok(64_500_000_000.0));
        for wrong in ["", "12", "12 h", "-1 ns", "0 ns", "inf s", "1,2 ms"] {
            assert!(ns(wrong).unwrap_err().contains("is no time"), "{wrong}");
        }
    }
}
