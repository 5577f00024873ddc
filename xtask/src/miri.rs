//! Trefoil's code under Miri, which interprets it and checks each step against Rust's rules of
//! memory: borrows, lifetimes, data races, and what weak memory may show.

use std::path::Path;
use std::process::Stdio;

use crate::heard::{Heard, SILENCE, listen};
use crate::nightly;
use crate::tests::Count;

/// The programs that are small enough to be interpreted again and again.
const RACES: &str = "small_races";

/// Two sets of rules for borrows. Neither allows all that the other does.
const RULES: [&str; 2] = ["", "-Zmiri-tree-borrows"];

/// Each seed has another schedule and shows other values of weak memory.
const SEEDS: &str = "-Zmiri-many-seeds=0..4";

/// A run that takes longer hangs, or has a test with too many rounds for an interpreter.
const LIMIT_SECONDS: u32 = 1800;

/// What cannot be interpreted: how the names of these files of tests begin, and why.
const LEFT_OUT: [(&str, &str); 8] = [
    ("fiber", "fibers switch stacks in assembly"),
    ("net", "Miri has few of the system's calls for sockets"),
    ("process", "Miri starts no processes"),
    ("signal", "Miri delivers no signals"),
    ("few_threads", "Miri has no limits of the system"),
    ("no_threads", "Miri has no limits of the system"),
    ("examples_under_load", "it has Cargo build programs, and that is what it tests"),
    ("renamed", "it has Cargo build other crates, and that is what it tests"),
];

/// The unit tests that are interpreted, by what their names contain. Others are of arithmetic, or
/// have so many rounds that an interpreter needs minutes, or are of what the system does. The small
/// races reach the unsafe code of the other folders.
const UNITS: [&str; 5] = ["context::", "primitives::", "queue::", "task::", "time::"];

/// Runs these unit tests and the small races, or the tests in these files; true if none failed.
/// Where it cannot, it says why and fails nothing.
pub(crate) fn run(root: &Path, files: &[String]) -> bool {
    let mut count = Count::default();
    if let Some(flag) = files.iter().find(|file| file.starts_with('-')) {
        eprintln!("{flag} is no file of tests; there are no options");
        return false;
    }
    if let Err(reason) = prepare() {
        eprintln!("skipped: Miri, {reason}");
        count.skipped += 1;
        return count.close();
    }
    if files.is_empty() {
        let units = [&["--lib", "--"], &UNITS[..]].concat();
        count.add_rust(&test(root, &units, ""));
        for rules in RULES {
            count.add_rust(&test(root, &["--test", RACES], &format!("{SEEDS} {rules}")));
        }
        return count.close();
    }
    for file in files {
        match why_left_out(file) {
            Some(reason) => {
                eprintln!("skipped: {file}, because {reason}");
                count.skipped += 1;
            }
            None => count.add_rust(&test(root, &["--test", file], "")),
        }
    }
    count.close()
}

fn why_left_out(file: &str) -> Option<&'static str> {
    LEFT_OUT.iter().find(|(start, _)| file.starts_with(start)).map(|(_, reason)| *reason)
}

/// Has Miri build its standard library; says what is missing if it cannot.
fn prepare() -> Result<(), String> {
    let mut command = nightly::cargo_within(LIMIT_SECONDS);
    let setup = command.args(["miri", "setup"]).stdout(Stdio::null()).status();
    match setup {
        Ok(status) if status.success() => Ok(()),
        _ => Err("which cannot be used: \
            rustup toolchain install nightly --profile minimal --component miri,rust-src"
            .into()),
    }
}

fn test(root: &Path, what: &[&str], flags: &str) -> Heard {
    let mut command = nightly::cargo_within(LIMIT_SECONDS);
    command.args(["miri", "test", "--locked", "--no-fail-fast", "--target-dir", "target/miri"]);
    command.args(["--package", "trefoil"]).args(what);
    let flags = flags.trim();
    eprintln!("+ MIRIFLAGS={flags:?} {command:?}");
    // Tests panic by the hundred, and a backtrace takes seconds there.
    command.env("MIRIFLAGS", flags).env("RUST_BACKTRACE", "0").env("CARGO_INCREMENTAL", "0");
    listen("timeout", command.current_dir(root), SILENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_exists_and_the_races_are_not() {
        let tests = std::fs::read_dir(crate::root().join("crates/trefoil/tests")).unwrap();
        let names: Vec<String> =
            tests.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        for (start, _) in LEFT_OUT {
            assert!(names.iter().any(|name| name.starts_with(start)), "{start}");
        }
        assert!(names.contains(&format!("{RACES}.rs")));
        assert_eq!(why_left_out(RACES), None);
    }
}
