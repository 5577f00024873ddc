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

/// The ids of the catalogue, and the last parts of those that are too long to mean anything else.
fn workloads(tree: &super::tree::Tree) -> Vec<String> {
    let mut names = Vec::new();
    for file in tree.files.iter().filter(|file| file.name.starts_with("workloads/")) {
        let id = file.text.lines().find_map(|line| line.strip_prefix("id = \"")?.strip_suffix('"'));
        let Some(id) = id.filter(|id| !COMMON.contains(id)) else { continue };
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
    fn common_words_and_parts_of_words_are_free() {
        assert!(faults("fn fib(n) { sleep(); skynetic(); }").is_empty());
    }
}
