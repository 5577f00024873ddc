//! Every contender and every variant states its decisions.

use super::markdown::{has_heading, join};
use super::{Fault, Rule};

pub(super) const DECISIONS: Rule = Rule {
    name: "decisions",
    faults: |tree| {
        let mut faults = Vec::new();
        for manifest in tree.files.iter() {
            let Some(folder) = manifest.name.strip_suffix("/contender.toml") else { continue };
            if !folder.starts_with("contenders/") {
                continue;
            }
            if !tree.paths.contains(&format!("{folder}/README.md")) {
                faults.push(Fault::of(folder, "a contender has a README.md of its decisions"));
            }
            for (number, line) in (1..).zip(manifest.text.lines()) {
                let readme =
                    line.strip_prefix("readme = \"").and_then(|rest| rest.strip_suffix('"'));
                let Some(readme) = readme else { continue };
                let (path, heading) = readme.split_once('#').unwrap_or((readme, ""));
                let path = join(folder, path);
                let text = tree.files.iter().find(|file| file.name == path);
                if !text.is_some_and(|file| heading.is_empty() || has_heading(&file.text, heading))
                {
                    let reason = format!("{readme} is no section that states decisions");
                    faults.push(Fault::at(&manifest.name, number, reason));
                }
            }
        }
        faults
    },
    exceptions: &[],
};

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    #[test]
    fn a_contender_without_decisions_is_named() {
        let tree = Tree::of(&[("contenders/c/x/contender.toml", "id = \"x\"\n")]);
        assert_eq!((RULE.faults)(&tree)[0].file, "contenders/c/x");
    }

    #[test]
    fn a_variant_whose_section_is_not_there_is_named() {
        let with = |readme: &str| {
            let manifest = format!("[[variant]]\nreadme = \"{readme}\"\n");
            let tree = Tree::of(&[
                ("contenders/c/x/contender.toml", &manifest),
                ("contenders/c/x/README.md", "# x\n\n## Large stacks\n"),
                ("contenders/c/README.md", "# C\n"),
            ]);
            (RULE.faults)(&tree).iter().map(Fault::to_string).collect::<Vec<_>>()
        };
        assert!(with("README.md#large-stacks").is_empty());
        assert!(with("../README.md#c").is_empty());
        let fault =
            "contenders/c/x/contender.toml:2: README.md#stacks is no section that states decisions";
        assert_eq!(with("README.md#stacks"), [fault]);
        assert_eq!(with("../NOTES.md").len(), 1);
    }

    const RULE: Rule = DECISIONS;
}
