//! Every test that this machine can run, in every language, summed up in one line.

use std::path::Path;
use std::process::Command;

use crate::has;

/// What a set of tests came to.
#[derive(Default)]
pub(crate) struct Count {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Count {
    /// Adds what `cargo test` said, and whether it succeeded.
    pub(crate) fn add_rust(&mut self, text: &str, ok: bool) {
        let mut failed = 0;
        for line in text.lines().filter(|line| line.starts_with("test result:")) {
            let number = |word: &str| {
                let words: Vec<&str> =
                    line.split([' ', ';']).filter(|word| !word.is_empty()).collect();
                let at = words.iter().position(|&other| other == word);
                at.and_then(|at| words[at - 1].parse::<u64>().ok()).unwrap_or(0)
            };
            self.passed += number("passed");
            self.skipped += number("ignored");
            failed += number("failed");
        }
        // A test that does not compile, or dies by a signal, has no line of its own.
        self.failed += if ok { failed } else { failed.max(1) };
    }

    /// The last line of a habit that tests; true if nothing failed.
    pub(crate) fn close(&self) -> bool {
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped);
        self.failed == 0
    }
}

/// Runs all tests; true if none failed.
pub(crate) fn run(root: &Path) -> bool {
    let mut count = Count::default();
    let cargo = ["test", "--locked", "--workspace", "--no-fail-fast"];
    rust(root, &cargo, &mut count);
    rust(&root.join("contenders/rust"), &cargo, &mut count);
    if has("go", "version") {
        go(&root.join("contenders/go"), &mut count);
    } else {
        eprintln!("skipped: the tests of the Go harness, for want of go");
        count.skipped += 1;
    }
    count.close()
}

fn heard(directory: &Path, program: &str, args: &[&str]) -> (String, bool) {
    eprintln!("+ {program} {} (in {})", args.join(" "), directory.display());
    listen(program, Command::new(program).args(args).current_dir(directory))
}

/// Runs a command, shows what it says, and returns it with whether it succeeded.
pub(crate) fn listen(program: &str, command: &mut Command) -> (String, bool) {
    // Standard error goes straight through: that is where builds report progress.
    match command.stderr(std::process::Stdio::inherit()).output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            print!("{text}");
            (text, output.status.success())
        }
        Err(error) => {
            eprintln!("{program} cannot be started: {error}");
            (String::new(), false)
        }
    }
}

fn rust(directory: &Path, args: &[&str], count: &mut Count) {
    let (text, ok) = heard(directory, "cargo", args);
    count.add_rust(&text, ok);
}

fn go(directory: &Path, count: &mut Count) {
    let (text, ok) = heard(directory, "go", &["test", "-v", "./..."]);
    let verdicts =
        |verdict: &str| text.lines().filter(|line| line.starts_with(verdict)).count() as u64;
    count.passed += verdicts("--- PASS");
    count.skipped += verdicts("--- SKIP");
    let failed = verdicts("--- FAIL");
    count.failed += if ok { failed } else { failed.max(1) };
}
