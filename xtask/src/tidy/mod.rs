//! The invariants of ARCHITECTURE.md that a search can check.
//!
//! A rule looks at the whole tree and names its faults. What may break a rule stands beside the
//! rule, with the reason; an entry without a fault is a fault itself, so that no exception outlives
//! its reason.

mod comments;
mod contenders;
mod figures;
mod layers;
mod markdown;
mod modules;
mod shim;
pub(crate) mod tree;
mod workload_names;

use std::fmt;
use std::path::Path;

use tree::Tree;

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    file: String,
    /// `None` where the whole file is at fault.
    line: Option<usize>,
    reason: String,
}

impl Fault {
    pub(crate) fn at(file: &str, line: usize, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: Some(line), reason: reason.into() }
    }

    pub(crate) fn of(file: &str, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, reason: reason.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.reason),
            None => write!(f, "{}: {}", self.file, self.reason),
        }
    }
}

/// A file, or all files below a folder, that may break a rule.
#[derive(Clone, Copy, Debug)]
struct Exception {
    /// A path, or the beginning of one that ends with `/`.
    place: &'static str,
    reason: &'static str,
}

impl Exception {
    fn covers(&self, fault: &Fault) -> bool {
        fault.file == self.place || self.place.ends_with('/') && fault.file.starts_with(self.place)
    }
}

/// A rule and what may break it.
#[derive(Clone, Copy, Debug)]
struct Rule {
    name: &'static str,
    faults: fn(&Tree) -> Vec<Fault>,
    exceptions: &'static [Exception],
}

const RULES: &[Rule] = &[
    layers::PRINTING,
    layers::SQL,
    layers::PROCESSES,
    layers::PURITY,
    shim::RULE,
    shim::LOCKS_OF_TESTS,
    workload_names::RULE,
    workload_names::HELD_OUT,
    workload_names::CHANGELOG,
    modules::RULE,
    comments::WIDTH,
    comments::SAFETY,
    markdown::PATHS,
    markdown::VERBS,
    markdown::TABLES,
    contenders::DECISIONS,
    figures::MARKERS,
    figures::RULE,
];

/// Checks all of them; true if none is broken.
pub(crate) fn run(root: &Path) -> bool {
    let tree = Tree::load(root);
    let mut well = true;
    for rule in RULES {
        for fault in judge(rule, &tree) {
            eprintln!("tidy: {fault}");
            well = false;
        }
    }
    well
}

/// The faults of a rule that no exception covers, and the exceptions that cover none.
fn judge(rule: &Rule, tree: &Tree) -> Vec<Fault> {
    let faults = (rule.faults)(tree);
    let idle = rule
        .exceptions
        .iter()
        .filter(|exception| !faults.iter().any(|fault| exception.covers(fault)))
        .map(|exception| {
            let Exception { place, reason } = exception;
            let text =
                format!("the exception for {} is not needed any more: {reason:?}", rule.name);
            Fault::of(place, text)
        });
    let open = faults.iter().filter(|fault| !rule.exceptions.iter().any(|e| e.covers(fault)));
    open.cloned().chain(idle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        name: "the test",
        faults: |tree| {
            let bad = tree.files.iter().filter(|file| file.text.contains("bad"));
            bad.map(|file| Fault::of(&file.name, "is bad")).collect()
        },
        exceptions: &[Exception { place: "old/", reason: "it was there first" }],
    };

    #[test]
    fn an_exception_covers_its_place_and_no_other() {
        let tree = Tree::of(&[("old/x.rs", "bad"), ("new/x.rs", "bad")]);
        assert_eq!(judge(&RULE, &tree), [Fault::of("new/x.rs", "is bad")]);
    }

    #[test]
    fn an_exception_without_a_fault_is_one() {
        let faults = judge(&RULE, &Tree::of(&[("old/x.rs", "good")]));
        let text =
            "old/: the exception for the test is not needed any more: \"it was there first\"";
        assert_eq!(faults.iter().map(Fault::to_string).collect::<Vec<_>>(), [text]);
    }
}
