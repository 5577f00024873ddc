//! Reports and numbers of documents, from the bundles in `docs/results`.
//!
//! A bundle `NAME.json.gz` there has a report `NAME.md` and a picture `NAME.svg` beside it. Numbers
//! of other documents stand in marked places ([`place`]), which are filled from the bundles
//! ([`text`]). Palio computes all of them; nothing is computed here.

pub(crate) mod place;
mod text;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::tidy::Fault;
use crate::tidy::tree::{File, Tree};
use text::{Bundles, Order};

const FOLDER: &str = "docs/results/";
const BUNDLE: &str = ".json.gz";
/// Takes a bundle also where its rows are not what the catalogue says today.
const OTHER: &str = "--other-catalogue";
/// What stands beside each bundle: how its name ends, in which format of Palio, and how a file of
/// that kind begins.
const FORMATS: [(&str, &str); 2] = [(".md", "markdown"), (".svg", "svg")];
const BEGINNINGS: [(&str, &str); 2] = [("# Palio: ", "report"), ("<svg ", "picture")];

/// Writes all reports and fills all places; nothing if anything is wrong.
pub(crate) fn run(root: &Path) -> bool {
    let wanted = match wanted(root) {
        Ok(wanted) => wanted,
        Err(faults) => return complain(&faults),
    };
    let mut well = true;
    for Wanted { name, text, .. } in wanted.iter().filter(|wanted| wanted.before != wanted.text) {
        match fs::write(root.join(name), text) {
            Ok(()) => eprintln!("results: wrote {name}"),
            Err(error) => {
                eprintln!("results: cannot write {name}: {error}");
                well = false;
            }
        }
    }
    well
}

/// True if [`run`] would write nothing.
pub(crate) fn check(root: &Path) -> bool {
    let faults = match wanted(root) {
        Ok(wanted) => wanted.into_iter().flat_map(|wanted| wanted.stale).collect(),
        Err(faults) => faults,
    };
    complain(&faults)
}

fn complain(faults: &[Fault]) -> bool {
    for fault in faults {
        eprintln!("results: {fault}");
    }
    faults.is_empty()
}

/// A file as it has to be.
struct Wanted {
    name: String,
    before: String,
    text: String,
    /// Where the file differs from that.
    stale: Vec<Fault>,
}

/// All files that have to do with bundles.
fn wanted(root: &Path) -> Result<Vec<Wanted>, Vec<Fault>> {
    let tree = Tree::load(root);
    let (mut wanted, mut faults) = (Vec::new(), faults(&tree));
    if !faults.is_empty() {
        return Err(faults);
    }
    let palio = Palio::new(root, bundles(&tree));
    for name in &palio.names {
        for (ending, format) in FORMATS {
            let said = palio.ask(name, &["--format", format]);
            let said = said.and_then(|text| match format {
                "markdown" => Ok(text + &palio.since(name)?),
                _ => Ok(text),
            });
            match said.map(|text| beside(&tree, name, ending, text)) {
                Ok(one) => wanted.push(one),
                Err(error) => faults.push(Fault::of(&format!("{FOLDER}{name}{BUNDLE}"), error)),
            }
        }
    }
    if faults.is_empty() {
        for file in documents(&tree) {
            match filled(file, &palio) {
                Ok(one) => wanted.push(one),
                Err(wrong) => faults.extend(wrong),
            }
        }
    }
    if faults.is_empty() { Ok(wanted) } else { Err(faults) }
}

/// What can be told without asking Palio: markers that are wrong or ask for what is not there, and
/// reports without a bundle.
pub(crate) fn faults(tree: &Tree) -> Vec<Fault> {
    let names = bundles(tree);
    let mut faults = Vec::new();
    for file in documents(tree) {
        let (places, wrong) = place::places(&file.text);
        faults.extend(wrong.into_iter().map(|(line, reason)| Fault::at(&file.name, line, reason)));
        for place in places {
            let reason = match Order::parse(&place.order) {
                Err(reason) => Some(reason),
                Ok(order) if order.is_block().is_some_and(|block| block != place.block) => {
                    let shape =
                        if place.block { "within a line" } else { "between lines of its own" };
                    Some(format!("what {:?} stands for belongs {shape}", place.order))
                }
                Ok(order) => order
                    .bundle()
                    .filter(|&bundle| !names.iter().any(|name| name == bundle))
                    .map(|bundle| format!("there is no bundle {FOLDER}{bundle}{BUNDLE}")),
            };
            faults.extend(reason.map(|reason| Fault::at(&file.name, place.line, reason)));
        }
    }
    let in_folder = tree.files.iter().filter(|file| file.name.starts_with(FOLDER));
    for file in in_folder.filter(|file| !is_beside(&file.name, &names)) {
        let kind = BEGINNINGS.iter().find(|(beginning, _)| file.text.starts_with(beginning));
        faults.extend(kind.map(|(_, kind)| {
            Fault::of(&file.name, format!("this {kind} has no bundle beside it"))
        }));
    }
    faults
}

/// The names of the bundles, in order.
fn bundles(tree: &Tree) -> Vec<String> {
    let names =
        tree.paths.iter().filter_map(|path| path.strip_prefix(FOLDER)?.strip_suffix(BUNDLE));
    names.map(str::to_owned).collect()
}

/// Whether it is the report or the picture of a bundle.
fn is_beside(file: &str, bundles: &[String]) -> bool {
    let name = file.strip_prefix(FOLDER).unwrap_or_default();
    let is_of = |bundle: &String| {
        FORMATS.iter().any(|(ending, _)| name.strip_suffix(ending) == Some(bundle.as_str()))
    };
    bundles.iter().any(is_of)
}

/// Documents that may have places: no reports, neither of races nor of tests.
fn documents(tree: &Tree) -> impl Iterator<Item = &File> {
    let names = bundles(tree);
    tree.files.iter().filter(move |file| {
        file.is(&["md"]) && !file.name.contains("/golden/") && !is_beside(&file.name, &names)
    })
}

/// What Palio says of a bundle, in the file that has to say it.
fn beside(tree: &Tree, name: &str, ending: &str, text: String) -> Wanted {
    let file = format!("{FOLDER}{name}{ending}");
    let before = tree.files.iter().find(|other| other.name == file).map_or("", |file| &file.text);
    let differs = before.lines().zip(text.lines()).take_while(|(a, b)| a == b).count() + 1;
    let reason = format!("this is not what {name}{BUNDLE} says: `cargo xtask results` writes it");
    let stale = (before != text).then(|| Fault::at(&file, differs, reason));
    let (before, stale) = (before.to_owned(), stale.into_iter().collect());
    Wanted { name: file, before, text, stale }
}

/// A document with its places filled.
fn filled(file: &File, bundles: &impl Bundles) -> Result<Wanted, Vec<Fault>> {
    let (mut text, mut stale, mut faults) = (file.text.clone(), Vec::new(), Vec::new());
    // From the end, so that the places before stay where they are.
    for place in place::places(&file.text).0.into_iter().rev() {
        let order = Order::parse(&place.order);
        let said = match order.and_then(|order| text::text(&order, &file.name, bundles)) {
            Ok(Some(said)) if said.contains("<!--") => {
                faults.push(Fault::at(&file.name, place.line, "its text has a comment in it"));
                continue;
            }
            Ok(Some(said)) if place.block => format!("\n\n{said}\n\n"),
            Ok(Some(said)) => said,
            Ok(None) => continue,
            Err(reason) => {
                faults.push(Fault::at(&file.name, place.line, reason));
                continue;
            }
        };
        let before = &file.text[place.content.clone()];
        if before != said {
            let equal = before.lines().zip(said.lines()).take_while(|(a, b)| a == b).count();
            let line = if place.block { place.line + equal } else { place.line };
            let [old, new] =
                [before, &said].map(|text| text.lines().nth(equal).unwrap_or_default());
            let reason = format!(
                "{:?} stands for {new:?}, and this is {old:?}: `cargo xtask results` mends it",
                place.order
            );
            stale.push(Fault::at(&file.name, line, reason));
            text.replace_range(place.content, &said);
        }
    }
    stale.reverse();
    faults.reverse();
    let (name, before) = (file.name.clone(), file.text.clone());
    if faults.is_empty() { Ok(Wanted { name, before, text, stale }) } else { Err(faults) }
}

/// Palio, which reads the bundles: each of them once, into a database that goes when this does.
struct Palio<'a> {
    root: &'a Path,
    names: Vec<String>,
    database: PathBuf,
    /// The run of each bundle that was read.
    runs: RefCell<HashMap<String, String>>,
    /// What it said of a bundle with contenders left out.
    heard: RefCell<HashMap<(String, Vec<String>), Value>>,
    catalogue: OnceCell<Value>,
}

impl Drop for Palio<'_> {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm", ".lease"] {
            let _ = fs::remove_file(format!("{}{ending}", self.database.display()));
        }
    }
}

impl<'a> Palio<'a> {
    fn new(root: &'a Path, names: Vec<String>) -> Self {
        let database = format!("palio-results-{}.db", std::process::id());
        Self {
            root,
            names,
            database: std::env::temp_dir().join(database),
            runs: RefCell::default(),
            heard: RefCell::default(),
            catalogue: OnceCell::new(),
        }
    }

    /// The run of a bundle, which may be of an older catalogue.
    fn run_of(&self, bundle: &str) -> Result<String, String> {
        if let Some(run) = self.runs.borrow().get(bundle) {
            return Ok(run.clone());
        }
        let file = format!("{FOLDER}{bundle}{BUNDLE}");
        let said = self.palio(&["import", OTHER, &file])?;
        let run = said.split_whitespace().last().unwrap_or_default().to_owned();
        self.runs.borrow_mut().insert(bundle.to_owned(), run.clone());
        Ok(run)
    }

    /// What `palio report` prints of a bundle.
    fn ask(&self, bundle: &str, options: &[&str]) -> Result<String, String> {
        self.palio(&[&["report", &self.run_of(bundle)?], options].concat())
    }

    /// What the catalogue says today that a bundle does not.
    fn since(&self, bundle: &str) -> Result<String, String> {
        let read = |text: String| serde_json::from_str(&text).map_err(|error| error.to_string());
        let report = read(self.ask(bundle, &["--format", "json"])?)?;
        let catalogue = match self.catalogue.get() {
            Some(catalogue) => catalogue,
            None => {
                let all = read(self.palio(&["list", "workloads", "--json"])?)?;
                self.catalogue.get_or_init(|| all)
            }
        };
        Ok(text::since(&report, catalogue))
    }

    /// Optimised, as a race builds it: a bundle has tens of thousands of samples.
    fn palio(&self, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new("cargo");
        command.args(["run", "--quiet", "--locked", "--release", "--package", "palio", "--"]);
        command.env("PALIO_DB", &self.database);
        let output = command.args(args).current_dir(self.root).output();
        let output = output.map_err(|error| format!("cargo cannot be started: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        String::from_utf8(output.stdout).map_err(|_| "palio did not print UTF-8".to_owned())
    }
}

impl Bundles for Palio<'_> {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn headlines(&self, bundle: &str, without: &[String]) -> Result<Value, String> {
        let key = (bundle.to_owned(), without.to_vec());
        if let Some(heard) = self.heard.borrow().get(&key) {
            return Ok(heard.clone());
        }
        let list = without.join(",");
        let mut options = vec!["--headline", "all", "--format", "json"];
        if !without.is_empty() {
            options.extend(["--without", &list]);
        }
        let text = self.ask(bundle, &options)?;
        let heard: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        self.heard.borrow_mut().insert(key, heard.clone());
        Ok(heard)
    }

    fn replication(&self, bundle: &str, suite: &str) -> Result<String, String> {
        self.palio(&["replicate", suite, &self.run_of(bundle)?, "--format", "markdown"])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn strings(faults: &[Fault]) -> Vec<String> {
        faults.iter().map(Fault::to_string).collect()
    }

    #[test]
    fn markers_are_checked_without_palio() {
        let tree = |text: &str| {
            Tree::of(&[
                ("README.md", text),
                ("docs/results/nio.md", "# Palio: nio\n"),
                ("docs/results/nio.json.gz", ""),
            ])
        };
        let fault = |text: &str| strings(&faults(&tree(text)));
        assert!(fault("x <!-- palio: nio headline go geomean -->1<!-- /palio -->").is_empty());
        for (text, reason) in [
            ("\nx <!-- palio: nio headlines go -->1<!-- /palio -->", "README.md:2: unknown marker"),
            (
                "\nx <!-- palio: nix headline go geomean -->1<!-- /palio -->",
                "README.md:2: there is no bundle",
            ),
            ("\nx <!-- palio: nio headline go geomean -->1", "README.md:2: the place"),
            (
                "\nx <!-- palio: nio headline go -->1<!-- /palio -->",
                "README.md:2: what \"nio headline go\" stands for belongs between",
            ),
            ("<!-- palio: nio headline go first -->\n1\n<!-- /palio -->", "README.md:1: what"),
        ] {
            let found = fault(text);
            assert!(found.len() == 1 && found[0].starts_with(reason), "{found:?}");
        }
        let orphan = Tree::of(&[
            ("docs/results/old.md", "# Palio: old\n"),
            ("docs/results/old.svg", "<svg xmlns=\"\"></svg>\n"),
            ("docs/results/README.md", "# Results\n"),
        ]);
        assert_eq!(
            strings(&faults(&orphan)),
            [
                "docs/results/old.md: this report has no bundle beside it",
                "docs/results/old.svg: this picture has no bundle beside it"
            ]
        );
    }

    #[test]
    fn a_picture_that_differs_from_its_bundle_is_stale_with_its_line() {
        let tree = Tree::of(&[("docs/results/nio.svg", "<svg>\n<circle cx=\"1\"/>\n</svg>\n")]);
        let wanted = |text: &str| beside(&tree, "nio", ".svg", text.to_owned());
        assert!(wanted("<svg>\n<circle cx=\"1\"/>\n</svg>\n").stale.is_empty());
        assert_eq!(
            strings(&wanted("<svg>\n<circle cx=\"2\"/>\n</svg>\n").stale),
            [
                "docs/results/nio.svg:2: this is not what nio.json.gz says: `cargo xtask results` writes it"
            ]
        );
        // One that is missing is written.
        let missing = beside(&tree, "smarm", ".svg", "<svg>".to_owned());
        assert_eq!((missing.stale.len(), &*missing.before), (1, ""));
        let names = ["nio".to_owned()];
        assert!(
            is_beside("docs/results/nio.svg", &names) && is_beside("docs/results/nio.md", &names)
        );
        assert!(!is_beside("docs/results/nio.json", &names) && !is_beside("nio.svg", &names));
    }

    struct One;

    impl Bundles for One {
        fn names(&self) -> Vec<String> {
            vec!["nio".to_owned()]
        }

        fn headlines(&self, _: &str, _: &[String]) -> Result<Value, String> {
            let own = json!({ "contender": "own", "geometric_mean": 0.5, "first": 7, "text": "two\nlines\n" });
            Ok(json!({ "headlines": [own] }))
        }

        fn replication(&self, _: &str, _: &str) -> Result<String, String> {
            Err("no document".to_owned())
        }
    }

    #[test]
    fn places_are_filled_and_what_differs_is_named() {
        let text = "a <!-- palio: nio headline own geomean -->0.49<!-- /palio --> and \
                    <!-- palio: nio headline own first -->7<!-- /palio -->\n\n\
                    <!-- palio: nio headline own -->\n\ntwo\nrhymes\n\n<!-- /palio -->\n";
        let tree = Tree::of(&[("x.md", text)]);
        let wanted = filled(&tree.files[0], &One).ok().unwrap();
        assert_eq!(wanted.text, text.replace("0.49", "0.50").replace("rhymes", "lines"));
        assert_eq!(
            strings(&wanted.stale),
            [
                "x.md:1: \"nio headline own geomean\" stands for \"0.50\", and this is \"0.49\": `cargo xtask results` mends it",
                "x.md:6: \"nio headline own\" stands for \"lines\", and this is \"rhymes\": `cargo xtask results` mends it",
            ]
        );
        let tree = Tree::of(&[("x.md", &wanted.text)]);
        assert!(filled(&tree.files[0], &One).ok().unwrap().stale.is_empty());
        let tree =
            Tree::of(&[("x.md", "\na <!-- palio: nio headline no geomean -->1<!-- /palio -->")]);
        let faults = filled(&tree.files[0], &One).err().unwrap();
        assert_eq!(strings(&faults), ["x.md:2: no is not in the bundle nio"]);
    }
}
