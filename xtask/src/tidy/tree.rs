//! The repository as rules see it: the texts of its files, and all paths.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A text file; the name is relative to the root and has `/` on every system.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is(&self, endings: &[&str]) -> bool {
        let ending = self.name.rsplit_once('.').map_or("", |(_, ending)| ending);
        endings.contains(&ending)
    }

    /// The lines of a Rust file that are part of the program, with their numbers: no comments, no
    /// item that is only compiled for tests, and nothing from the module of tests on.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut found = Vec::new();
        let mut for_tests = false;
        for (number, line) in (1..).zip(self.text.lines()) {
            let start = line.trim_start();
            if start.starts_with("//") {
                continue;
            }
            if start.starts_with("#[cfg(") && start.contains("test") {
                for_tests = true;
                continue;
            }
            if for_tests && !start.starts_with("#[") {
                for_tests = false;
                if line.contains("mod ") && line.ends_with('{') {
                    break;
                }
                continue;
            }
            found.push((number, line));
        }
        found.into_iter()
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
    /// Every file and folder.
    pub(crate) paths: BTreeSet<String>,
}

impl Tree {
    pub(crate) fn load(root: &Path) -> Self {
        let mut tree = Self::default();
        tree.add_folder(root, "");
        tree.files.sort_by(|a, b| a.name.cmp(&b.name));
        tree
    }

    fn add_folder(&mut self, folder: &Path, prefix: &str) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // What is built or fetched is no part of the repository.
            if ["target", ".git", "node_modules", "__pycache__"].contains(&name.as_str()) {
                continue;
            }
            let (path, name) = (entry.path(), format!("{prefix}{name}"));
            if path.is_dir() {
                self.add_folder(&path, &format!("{name}/"));
            } else if let Ok(text) = fs::read_to_string(&path) {
                self.files.push(File { name: name.clone(), text });
            }
            self.paths.insert(name);
        }
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is(&["rs"]))
    }

    /// A tree that is nowhere on the disk.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (name, text) in files {
            tree.files.push(File { name: (*name).to_owned(), text: (*text).to_owned() });
            let folders = name.match_indices('/').map(|(at, _)| name[..at].to_owned());
            tree.paths.extend(folders.chain([(*name).to_owned()]));
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_tests_are_no_code() {
        let text = "// use a;\n#[cfg(test)]\nmod b;\nuse c;\n#[cfg(all(test, loom))]\nmod d {\n use e;\n}\n";
        let tree = Tree::of(&[("x.rs", text)]);
        assert_eq!(tree.files[0].code().collect::<Vec<_>>(), [(4, "use c;")]);
    }
}
