//! What Markdown files name exists: paths, sections, and verbs of `cargo xtask`; and their tables
//! are tables.

use super::tree::{File, Tree};
use super::{Fault, Rule};
use crate::VERBS as KNOWN_VERBS;

/// Endings of files that a repository like this holds.
const ENDINGS: &[&str] = &[
    "rs", "toml", "md", "go", "py", "cpp", "hpp", "java", "cs", "cmake", "json", "lock", "mjs",
    "js", "css", "csv",
];

pub(super) const PATHS: Rule = Rule {
    name: "paths in Markdown",
    faults: |tree| {
        let mut faults = Vec::new();
        for file in documents(tree) {
            for (number, line) in prose(&file.text) {
                for target in links(line) {
                    if !link_leads_somewhere(tree, file, target) {
                        let reason = format!("the link {target} leads nowhere");
                        faults.push(Fault::at(&file.name, number, reason));
                    }
                }
                for quoted in line.split('`').skip(1).step_by(2) {
                    if looks_like_a_path(quoted, tree) && !exists(tree, &file.name, quoted) {
                        let reason = format!("the path {quoted} does not exist");
                        faults.push(Fault::at(&file.name, number, reason));
                    }
                }
            }
        }
        faults
    },
    exceptions: &[],
};

pub(super) const VERBS: Rule = Rule {
    name: "verbs in Markdown",
    faults: |tree| {
        let mut faults = Vec::new();
        for file in documents(tree) {
            for (number, line) in (1..).zip(file.text.lines()) {
                for rest in line.split("cargo xtask ").skip(1) {
                    let verb: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
                    if !verb.is_empty() && !KNOWN_VERBS.contains(&verb.as_str()) {
                        let reason = format!("there is no `cargo xtask {verb}`");
                        faults.push(Fault::at(&file.name, number, reason));
                    }
                }
            }
        }
        faults
    },
    exceptions: &[],
};

/// A blank line ends a table: what stands below it is shown as a paragraph with bars.
pub(super) const TABLES: Rule = Rule {
    name: "tables in Markdown",
    faults: |tree| {
        let mut faults = Vec::new();
        for file in documents(tree) {
            let lines: Vec<(usize, &str)> = prose(&file.text).collect();
            let is_row = |at: usize| lines.get(at).is_some_and(|(_, line)| line.starts_with('|'));
            for (at, (number, _)) in lines.iter().enumerate() {
                let begins = is_row(at) && (at == 0 || !is_row(at - 1));
                if begins && !lines.get(at + 1).is_some_and(|(_, line)| is_rule(line)) {
                    let reason = "a row of a table that has no heads above it";
                    faults.push(Fault::at(&file.name, *number, reason));
                }
            }
        }
        faults
    },
    exceptions: &[],
};

/// What stands below the heads of a table.
fn is_rule(line: &str) -> bool {
    line.starts_with("|") && line.contains('-') && line.chars().all(|c| "|:- ".contains(c))
}

/// Reports of tests are no documents.
fn documents(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| file.is(&["md"]) && !file.name.contains("/golden/"))
}

/// Lines outside of fenced code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// The targets of a line's links that lead to files.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', ' ']).next()?;
        // rustdoc resolves links to items, which have `::` or no dot.
        let outside =
            target.contains("://") || target.contains("::") || target.starts_with("mailto:");
        let file = target.contains(['/', '.', '#']);
        (!outside && file).then_some(target)
    })
}

fn link_leads_somewhere(tree: &Tree, file: &File, target: &str) -> bool {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if path.is_empty() { file.name.clone() } else { join(folder, path) };
    if heading.is_empty() || !path.ends_with(".md") {
        return tree.paths.contains(path.trim_end_matches('/'));
    }
    tree.files.iter().any(|file| file.name == path && has_heading(&file.text, heading))
}

/// Whether quoted text is meant as a path of this repository.
fn looks_like_a_path(text: &str, tree: &Tree) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if text.is_empty() || !text.chars().all(plain) || text.starts_with('/') {
        return false;
    }
    let ending = text.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
    if ending.is_some_and(|(_, ending)| ENDINGS.contains(&ending)) {
        return true;
    }
    let first = text.split('/').next().unwrap_or_default();
    let folder = tree.paths.contains(first) && first != "target" && text.contains('/');
    // `workloads` is a folder, `spawn_blocking/concurrency` a workload.
    folder || text.ends_with('/') || text.starts_with("../")
}

/// Beside the document, at the root, or as the end of a path: `report/model.rs` is enough.
fn exists(tree: &Tree, document: &str, text: &str) -> bool {
    let text = text.trim_end_matches('/');
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let end = format!("/{text}");
    tree.paths.contains(text)
        || tree.paths.contains(&join(folder, text))
        || tree.paths.iter().any(|path| path.ends_with(&end))
}

/// `path` seen from `folder`, without its `.` and `..`.
pub(super) fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a document has a heading that `#anchor` leads to.
pub(super) fn has_heading(text: &str, anchor: &str) -> bool {
    let slug = |heading: &str| {
        let plain = heading.to_lowercase().replace(' ', "-");
        plain.chars().filter(|&c| c.is_alphanumeric() || c == '-' || c == '_').collect::<String>()
    };
    prose(text).any(|(_, line)| {
        line.starts_with('#') && slug(line.trim_start_matches('#').trim()) == anchor
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(rule: Rule, line: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("docs/x.md", &format!("# A title, here\n\n{line}\n")),
            ("docs/y.md", ""),
            ("crates/a/src/report/model.rs", ""),
            ("spawn/x.toml", ""),
        ]);
        (rule.faults)(&tree).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_path_that_is_not_there_is_named() {
        for path in ["crates/b", "gone.rs", "report/models.rs", "stats/", "../gone"] {
            let fault = format!("docs/x.md:3: the path {path} does not exist");
            assert_eq!(faults(PATHS, &format!("See `{path}`.")), [fault]);
        }
        for path in ["crates/a", "model.rs", "report/model.rs", "report/", "../docs", "y.md", "a/b"]
        {
            assert!(faults(PATHS, &format!("See `{path}`.")).is_empty(), "{path}");
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_is_named() {
        for target in ["z.md", "../z.md", "#no-title", "x.md#no-title"] {
            let fault = format!("docs/x.md:3: the link {target} leads nowhere");
            assert_eq!(faults(PATHS, &format!("See [it]({target}).")), [fault]);
        }
        for target in ["y.md", "#a-title-here", "../crates/a", "https://example.org/z.md", "Item"] {
            assert!(faults(PATHS, &format!("See [it]({target}).")).is_empty(), "{target}");
        }
    }

    #[test]
    fn a_row_below_a_blank_line_is_no_row() {
        let fault = |line| format!("docs/x.md:{line}: a row of a table that has no heads above it");
        let table = "| a | b |\n|---|--:|\n| 1 | 2 |\n";
        assert!(faults(TABLES, table).is_empty());
        assert!(faults(TABLES, "```text\n| 1 |\n```").is_empty());
        assert_eq!(faults(TABLES, "| 1 | 2 |"), [fault(3)]);
        assert_eq!(faults(TABLES, &format!("{table}\n| 3 | - |\n| 4 | 5 |")), [fault(7)]);
    }

    #[test]
    fn a_verb_that_is_not_there_is_named() {
        let fault = "docs/x.md:3: there is no `cargo xtask dance`";
        assert_eq!(faults(VERBS, "Run `cargo xtask dance`."), [fault]);
        assert!(faults(VERBS, "Run `cargo xtask check`, or `cargo xtask <habit>`.").is_empty());
    }
}
