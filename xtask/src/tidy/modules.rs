//! How long a module may be.

use super::{Fault, Rule};

/// Past this a module surely holds a second noun.
const LINES_MAX: usize = 650;

pub(super) const RULE: Rule = Rule {
    name: "the length of modules",
    faults: |tree| {
        let long = |text: &str| Some(text.lines().count()).filter(|&lines| lines > LINES_MAX);
        let languages = ["rs", "go", "cpp", "hpp", "py", "java", "cs"];
        let files = tree.files.iter().filter(|file| file.is(&languages));
        files
            .filter_map(|file| {
                let lines = long(&file.text)?;
                let reason =
                    format!("{lines} lines, and {LINES_MAX} at most: find its second noun");
                Some(Fault::of(&file.name, reason))
            })
            .collect()
    },
    exceptions: &[],
};

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    #[test]
    fn one_line_too_many_is_named() {
        let at = |lines: usize| (RULE.faults)(&Tree::of(&[("a/x.rs", &"x\n".repeat(lines))]));
        assert!(at(LINES_MAX).is_empty());
        assert_eq!(at(LINES_MAX + 1)[0].file, "a/x.rs");
    }
}
