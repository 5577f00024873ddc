//! The invariants of ARCHITECTURE.md that a search can check.

use std::fs;
use std::path::{Path, PathBuf};

/// Past this a module surely holds a second noun.
const MODULE_LINES_MAX: usize = 800;

/// Checks all of them; true if none is broken.
pub(crate) fn run(root: &Path) -> bool {
    let mut files = Vec::new();
    for folder in ["crates", "xtask", "contenders"] {
        rust_files(&root.join(folder), &mut files);
    }
    let mut broken = Vec::new();
    for path in &files {
        let Ok(text) = fs::read_to_string(path) else {
            broken.push(format!("{}: it is not UTF-8", path.display()));
            continue;
        };
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        broken.extend(complaints(&name, &text));
    }
    broken.extend(contender_folders(&root.join("contenders")));
    for line in &broken {
        eprintln!("tidy: {line}");
    }
    broken.is_empty()
}

/// What is wrong with one file.
fn complaints(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines = text.lines().count();
    // A fixture may be long: it is data.
    if lines > MODULE_LINES_MAX && !name.contains("/tests/") {
        found.push(format!("{name}: {lines} lines; look for the second noun in it"));
    }
    if !name.starts_with("crates/palio/src/") {
        return found;
    }
    // Tests in the file are no part of the program.
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    for (number, line) in (1..).zip(code.lines()) {
        let at = |rule: &str| format!("{name}:{number}: {rule}");
        let line = line.trim_start();
        if line.starts_with("//") {
            continue;
        }
        if line.contains("println!") && !name.contains("/cmd/") {
            found.push(at("only cmd/ prints"));
        }
        if line.contains("rusqlite::") && !name.contains("/store/") {
            found.push(at("only store/ speaks SQL"));
        }
        if line.contains("Command::new(") && !name.contains("/runner/") {
            found.push(at("only runner/ starts processes"));
        }
    }
    found
}

/// Every folder of a contender states what it is and why it is so.
fn contender_folders(contenders: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for language in folders(contenders) {
        for contender in
            folders(&language).into_iter().filter(|folder| folder.join("contender.toml").is_file())
        {
            if !contender.join("README.md").is_file() {
                found.push(format!(
                    "{}: a contender has a README.md of its decisions",
                    contender.display()
                ));
            }
        }
    }
    found
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                rust_files(&path, files);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
}

#[cfg(test)]
mod tests {
    use super::complaints;

    #[test]
    fn broken_invariants_are_named_with_their_line() {
        let text = "fn f() {\n    println!();\n}\n";
        assert_eq!(
            complaints("crates/palio/src/stats/x.rs", text),
            ["crates/palio/src/stats/x.rs:2: only cmd/ prints"]
        );
        assert!(complaints("crates/palio/src/cmd/x.rs", text).is_empty());
    }

    #[test]
    fn comments_and_tests_are_free() {
        let text = "// println!()\n#[cfg(test)]\nmod t { fn f() { println!() } }\n";
        assert!(complaints("crates/palio/src/stats/x.rs", text).is_empty());
    }
}
