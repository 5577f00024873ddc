//! The form of comments.

use super::tree::{File, Tree};
use super::{Fault, Rule};

const COLUMNS_MAX: usize = 100;

pub(super) const WIDTH: Rule = Rule {
    name: "the width of comments",
    faults: |tree| {
        let mut faults = Vec::new();
        for file in &tree.files {
            let Some(marker) = marker(file) else { continue };
            for (number, line) in (1..).zip(file.text.lines()) {
                let columns = line.chars().count();
                // An address cannot be wrapped.
                if line.trim_start().starts_with(marker)
                    && columns > COLUMNS_MAX
                    && !line.contains("://")
                {
                    let reason =
                        format!("a comment of {columns} columns, and {COLUMNS_MAX} at most");
                    faults.push(Fault::at(&file.name, number, reason));
                }
            }
        }
        faults
    },
    exceptions: &[],
};

fn marker(file: &File) -> Option<&'static str> {
    if file.is(&["rs", "go", "cpp", "hpp", "java", "cs"]) {
        Some("//")
    } else if file.is(&["py"]) || file.name == ".ci/run" {
        Some("#")
    } else {
        None
    }
}

/// What leaves a reader to guess which of the lines above is meant.
const POINTERS: &[&str] = &["as above", "see above", "same as above", "the same as above", "ditto"];

pub(super) const SAFETY: Rule = Rule { name: "SAFETY comments", faults: safety, exceptions: &[] };

fn safety(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust() {
        let mut lines = (1..).zip(file.text.lines()).peekable();
        while let Some((number, line)) = lines.next() {
            let Some(text) = line.trim_start().strip_prefix("// SAFETY:") else { continue };
            let mut whole = text.trim().to_owned();
            while let Some((_, line)) =
                lines.next_if(|(_, line)| line.trim_start().starts_with("//"))
            {
                whole += " ";
                whole += line.trim_start().trim_start_matches('/').trim();
            }
            let said = whole.trim_end_matches('.').to_lowercase();
            if said.is_empty() || POINTERS.contains(&said.as_str()) {
                let reason = format!("SAFETY: {whole:?} gives no reason: say it again, or name it");
                faults.push(Fault::at(&file.name, number, reason));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(rule: Rule, text: &str) -> Vec<String> {
        let tree = Tree::of(&[("a/x.rs", text)]);
        (rule.faults)(&tree).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_comment_that_is_too_wide_is_named() {
        let wide = format!("fn f() {{\n    // {}\n}}", "é".repeat(94));
        let fault = "a/x.rs:2: a comment of 101 columns, and 100 at most";
        assert_eq!(faults(WIDTH, &wide), [fault]);
        assert!(faults(WIDTH, &wide.replace("éé", "é")).is_empty());
        assert!(faults(WIDTH, &format!("// https://{}", "x".repeat(100))).is_empty());
        assert!(faults(WIDTH, &format!("let s = \"{}\";", "x".repeat(100))).is_empty());
    }

    #[test]
    fn a_safety_comment_that_only_points_is_named() {
        let tree =
            "// SAFETY: as above.\nunsafe { f() };\n// SAFETY: As\n// above\nunsafe { f() };\n";
        assert_eq!(faults(SAFETY, tree).len(), 2);
        assert!(faults(SAFETY, "// SAFETY: as above, and `x` outlives `f`.\n").is_empty());
    }
}
