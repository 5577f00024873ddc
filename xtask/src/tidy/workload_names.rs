//! Trefoil knows nothing of the races that it runs: none of its sources names a workload.

use super::{Exception, Fault, Rule};

const TREFOIL: &str = "crates/trefoil/src/";

/// The usual example of a fork in every textbook, and a call that several runtimes have.
const COMMON: &[&str] = &["fib", "block_in_place"];

pub(super) const RULE: Rule = Rule {
    name: "workloads in Trefoil",
    faults: |tree| {
        let names = workloads(tree);
        let mut faults = Vec::new();
        for file in tree.files.iter().filter(|file| file.name.starts_with(TREFOIL)) {
            for (number, line) in (1..).zip(file.text.lines()) {
                let found = names.iter().find(|name| has_word(line, name));
                faults.extend(found.map(|name| {
                    Fault::at(
                        &file.name,
                        number,
                        format!("Trefoil does not know the workload {name}"),
                    )
                }));
            }
        }
        faults
    },
    exceptions: EXCEPTIONS,
};

const EXPERIMENTS: &str = "its table of experiments says by which workload they were judged";

const EXCEPTIONS: &[Exception] = &[
    Exception { place: "crates/trefoil/src/fork_join/EXPERIMENTS.md", reason: EXPERIMENTS },
    Exception { place: "crates/trefoil/src/fork_join/README.md", reason: EXPERIMENTS },
    Exception { place: "crates/trefoil/src/idle/EXPERIMENTS.md", reason: EXPERIMENTS },
    Exception { place: "crates/trefoil/src/idle/README.md", reason: EXPERIMENTS },
    Exception { place: "crates/trefoil/src/task/README.md", reason: EXPERIMENTS },
];

/// A row that nobody was tuned by is not in the lists of what was measured either.
pub(super) const HELD_OUT: Rule = Rule {
    name: "held-out rows in Trefoil",
    faults: |tree| {
        let is_held_out = |text: &str| text.lines().any(|line| line.starts_with("held_out = "));
        let files = tree.files.iter().filter(|file| file.name.starts_with("workloads/"));
        let held_out: Vec<&str> = files
            .filter(|file| is_held_out(&file.text))
            .filter_map(|file| id(&file.text))
            .collect();
        let mut faults = Vec::new();
        for file in tree.files.iter().filter(|file| file.name.starts_with("crates/trefoil")) {
            for (number, line) in (1..).zip(file.text.lines()) {
                let found = held_out.iter().find(|name| has_word(line, name));
                faults.extend(found.map(|name| {
                    let text = format!("{name} is held out: Trefoil is not to be tuned by it");
                    Fault::at(&file.name, number, text)
                }));
            }
        }
        faults
    },
    exceptions: &[],
};

/// Rows that the changelog names are there.
pub(super) const CHANGELOG: Rule = Rule {
    name: "rows of the changelog",
    faults: |tree| {
        let files = tree.files.iter().filter(|file| file.name.starts_with("workloads/"));
        let known: Vec<&str> = files.filter_map(|file| id(&file.text)).collect();
        let folder = |name: &str| name.split_once('/').map(|(folder, _)| format!("{folder}/"));
        let is_row = |word: &&str| {
            folder(word).is_some_and(|folder| known.iter().any(|id| id.starts_with(&folder)))
        };
        // A case of a family has a part more.
        let exists = |word: &str| {
            known.iter().any(|id| {
                word.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let Some(file) = tree.files.iter().find(|file| file.name == "CHANGELOG.md") else {
            return Vec::new();
        };
        let mut faults = Vec::new();
        for (number, line) in (1..).zip(file.text.lines()) {
            for word in line.split('`').skip(1).step_by(2).filter(is_row) {
                if !exists(word) {
                    let text = format!("there is no row {word} in workloads/");
                    faults.push(Fault::at(&file.name, number, text));
                }
            }
        }
        faults
    },
    exceptions: &[],
};

fn id(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("id = \"")?.strip_suffix('"'))
}

/// The ids of the catalogue, and the last parts of those that are too long to mean anything else.
fn workloads(tree: &super::tree::Tree) -> Vec<String> {
    let mut names = Vec::new();
    for file in tree.files.iter().filter(|file| file.name.starts_with("workloads/")) {
        let Some(id) = id(&file.text).filter(|id| !COMMON.contains(id)) else { continue };
        names.push(id.to_owned());
        if let Some((_, last)) = id.rsplit_once('/')
            && last.matches('_').count() >= 2
            && !COMMON.contains(&last)
        {
            names.push(last.to_owned());
        }
    }
    names
}

fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '/';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    fn faults(line: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("workloads/skynet.toml", "id = \"skynet\"\n"),
            ("workloads/fib.toml", "id = \"fib\"\n"),
            ("workloads/timer/sleep.toml", "id = \"timer/sleep\"\n"),
            ("workloads/rt/spawn_many_idle.toml", "id = \"rt/spawn_many_idle\"\n"),
            ("crates/trefoil/src/x.rs", line),
            ("crates/palio/src/x.rs", line),
        ]);
        (RULE.faults)(&tree).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_workload_in_trefoil_is_named() {
        let place = "crates/trefoil/src/x.rs:1: Trefoil does not know the workload";
        assert_eq!(faults("// As skynet needs."), [format!("{place} skynet")]);
        assert_eq!(faults("// `timer/sleep` is slower"), [format!("{place} timer/sleep")]);
        assert_eq!(faults("// spawn_many_idle"), [format!("{place} spawn_many_idle")]);
    }

    #[test]
    fn a_held_out_row_is_named_nowhere_in_trefoil() {
        let faults = |mark: &str| {
            let tree = Tree::of(&[
                ("workloads/held_out/sort.toml", &format!("id = \"held_out/sort\"\n{mark}\n")),
                ("crates/trefoil/src/idle/EXPERIMENTS.md", "Judged by `held_out/sort`.\n"),
                ("docs/bias.md", "held_out/sort\n"),
            ]);
            (HELD_OUT.faults)(&tree).iter().map(Fault::to_string).collect::<Vec<_>>()
        };
        let text = "crates/trefoil/src/idle/EXPERIMENTS.md:1: held_out/sort is held out";
        assert!(faults("held_out = \"2026-11-22\"")[0].starts_with(text));
        assert!(faults("").is_empty());
    }

    #[test]
    fn a_row_of_the_changelog_is_in_the_catalogue() {
        let faults = |line: &str| {
            let tree = Tree::of(&[
                ("workloads/timer/sleep.toml", "id = \"timer/sleep\"\n"),
                ("CHANGELOG.md", line),
            ]);
            (CHANGELOG.faults)(&tree).iter().map(Fault::to_string).collect::<Vec<_>>()
        };
        let text = "CHANGELOG.md:1: there is no row timer/nap in workloads/";
        assert_eq!(faults("The row `timer/nap`."), [text]);
        assert_eq!(faults("The row `timer/sleeps`.").len(), 1);
        assert!(faults("`timer/sleep`, `timer/sleep/8`, `docs/results`, timer/nap").is_empty());
    }

    #[test]
    fn common_words_and_parts_of_words_are_free() {
        assert!(faults("fn fib(n) { sleep(); skynetic(); }").is_empty());
    }
}
