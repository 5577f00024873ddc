//! Every test that this machine can run, in every language, summed up in one line.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::has;
use crate::heard::{Heard, SILENCE, listen};

/// What a set of tests came to.
#[derive(Default)]
pub(crate) struct Count {
    passed: u64,
    failed: u64,
    pub(crate) skipped: u64,
    /// What names the failures, said again at the end, where whoever reads a log begins.
    failures: Vec<String>,
}

impl Count {
    /// Adds what `cargo test` said, and whether it succeeded.
    pub(crate) fn add_rust(&mut self, heard: &Heard) {
        let mut failed = 0;
        for line in heard.text.lines().filter(|line| line.starts_with("test result:")) {
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
        self.failed += if heard.ok { failed } else { failed.max(1) };
        if !heard.ok {
            let names = |line: &&str| {
                line.ends_with("FAILED") && line.starts_with("test ")
                    || line.starts_with("error")
                    || line.starts_with("SUMMARY: ")
                    || line.trim_start().starts_with("process didn't exit successfully")
            };
            let lines = heard.text.lines().chain(heard.errors.lines());
            self.failures.extend(lines.filter(names).map(str::to_owned));
        }
    }

    /// Adds what tests said that end with `N passed, N failed` each, and whether they succeeded.
    fn add_summed(&mut self, heard: &Heard, what: &str) {
        let mut failed = 0;
        for line in heard.text.lines() {
            let counts = line.strip_suffix(" failed").and_then(|line| line.split_once(" passed, "));
            if let Some((Ok(more), Ok(less))) =
                counts.map(|(more, less)| (more.parse::<u64>(), less.parse::<u64>()))
            {
                self.passed += more;
                failed += less;
            } else if line.starts_with("failed: ") {
                self.failures.push(line.to_owned());
            }
        }
        self.failed += if heard.ok { failed } else { failed.max(1) };
        if !heard.ok {
            self.failures.extend(heard.hung.clone());
            self.failures.push(format!("{what} did not pass"));
        }
    }

    /// One failure that no test has counted.
    pub(crate) fn fail(&mut self, reason: String) {
        self.failed += 1;
        self.failures.push(reason);
    }

    /// The last line of a habit that tests; true if nothing failed.
    pub(crate) fn close(&self) -> bool {
        for failure in &self.failures {
            println!("failed: {failure}");
        }
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped);
        self.failed == 0
    }
}

/// Runs all tests; true if none failed.
pub(crate) fn run(root: &Path) -> bool {
    let mut count = Count::default();
    let cargo = ["test", "--locked", "--ignore-rust-version", "--workspace", "--no-fail-fast"];
    rust(root, &cargo, &mut count);
    // A contender without tests has dependencies that nothing else here needs compiled for tests:
    // that it compiles is what `check` sees.
    let contenders = root.join("contenders/rust");
    let untested = untested(&contenders);
    let exclude = untested.iter().flat_map(|name| ["--exclude", name]);
    rust(&contenders, &cargo.into_iter().chain(exclude).collect::<Vec<_>>(), &mut count);
    if has("go", "version") {
        go(&root.join("contenders/go"), &mut count);
    } else {
        eprintln!("skipped: the tests of the Go harness, for want of go");
        count.skipped += 1;
    }
    if has("python3", "--version") {
        python(root, "contenders/python/harness", &mut count);
        python(root, "contenders/python/shared", &mut count);
    } else {
        eprintln!("skipped: the tests of the Python harness, for want of python3");
        count.skipped += 1;
    }
    let find_jdk = root.join("contenders/java/harness/find-jdk");
    if Command::new(&find_jdk)
        .stderr(Stdio::null())
        .output()
        .is_ok_and(|said| said.status.success())
    {
        java(root, &mut count);
    } else {
        eprintln!("skipped: the tests of the Java harness, for want of a JDK of release 21");
        count.skipped += 1;
    }
    if has("g++", "--version") {
        cpp(root, &mut count);
    } else {
        eprintln!("skipped: the tests of the C++ harness, for want of g++");
        count.skipped += 1;
    }
    if has("mcs", "--version") && has("mono", "--version") {
        csharp(root, &mut count);
    } else {
        eprintln!("skipped: the tests of the C# harness, for want of mcs or mono");
        count.skipped += 1;
    }
    count.close()
}

fn heard(directory: &Path, program: &str, args: &[&str]) -> Heard {
    eprintln!("+ {program} {} (in {})", args.join(" "), directory.display());
    listen(program, Command::new(program).args(args).current_dir(directory), SILENCE)
}

fn rust(directory: &Path, args: &[&str], count: &mut Count) {
    count.add_rust(&heard(directory, "cargo", args));
}

/// The packages of a workspace below `folder` that have no test, not even in their documentation.
fn untested(folder: &Path) -> Vec<String> {
    let list = ["metadata", "--no-deps", "--format-version=1", "--locked", "--offline"];
    let told = Command::new("cargo").args(list).current_dir(folder).output();
    let told = told.ok().and_then(|told| serde_json::from_slice::<Value>(&told.stdout).ok());
    let packages = told.as_ref().and_then(|told| told["packages"].as_array());
    let name = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        (!has_tests(manifest.parent()?)).then(|| package["name"].as_str().map(str::to_owned))?
    };
    packages.into_iter().flatten().filter_map(name).collect()
}

/// Whether a source below `folder` has a test. A word too many compiles too much, and no more.
fn has_tests(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return true };
    entries.map_while(Result::ok).any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return path.file_name().is_some_and(|name| name != "target") && has_tests(&path);
        }
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        is_source && fs::read_to_string(&path).map_or(true, |text| is_tested(&text))
    })
}

/// Attributes such as `#[test]` and `#[tokio::test]`, the macros of proptest, and code in comments.
fn is_tested(source: &str) -> bool {
    source.lines().map(str::trim_start).any(|line| {
        let is_comment = line.starts_with("///") || line.starts_with("//!");
        (is_comment && line.contains("```"))
            || (line.starts_with("#[") && line.contains("test"))
            || line.starts_with("proptest!")
    })
}

/// Python says at the end how many tests ran, on standard error, and names those that failed.
fn python(root: &Path, folder: &str, count: &mut Count) {
    let args = ["-B", "-m", "unittest", "discover", folder];
    let said = heard(root, "python3", &args);
    let number = |line: &str| line.strip_prefix("Ran ")?.split_whitespace().next()?.parse().ok();
    let ran: u64 = said.errors.lines().find_map(number).unwrap_or(0);
    let failures: Vec<&str> = said
        .errors
        .lines()
        .filter(|line| line.starts_with("FAIL: ") || line.starts_with("ERROR: "))
        .collect();
    let failed = if said.ok && ran > 0 { 0 } else { (failures.len() as u64).max(1) };
    count.passed += ran.saturating_sub(failed);
    count.failed += failed;
    count.failures.extend(failures.into_iter().map(str::to_owned));
    if failed > 0 {
        count.failures.extend(said.hung);
        count.failures.push(format!("the tests in {folder} did not pass"));
    }
}

/// The harness's tests sum themselves up, once for each way to read CPU time, and so do those of
/// rows.
fn java(root: &Path, count: &mut Count) {
    let said = script(root, "java", "target/java-harness");
    count.add_summed(&said, "the tests of the Java harness");
}

fn cpp(root: &Path, count: &mut Count) {
    let said = script(root, "cpp", "target/cpp-harness");
    count.add_summed(&said, "the tests of the C++ harness");
}

fn csharp(root: &Path, count: &mut Count) {
    let said = script(root, "csharp", "target/csharp-harness");
    count.add_summed(&said, "the tests of the C# harness");
}

/// Runs the tests of a harness by its own script, which compiles them into a folder.
fn script(root: &Path, language: &str, folder: &str) -> Heard {
    let script = root.join("contenders").join(language).join("harness/test/run");
    let folder = root.join(folder).display().to_string();
    heard(root, &script.display().to_string(), &[&folder])
}

fn go(directory: &Path, count: &mut Count) {
    let Heard { text, ok, hung, .. } = heard(directory, "go", &["test", "-v", "./..."]);
    let verdicts =
        |verdict: &str| text.lines().filter(|line| line.starts_with(verdict)).count() as u64;
    count.passed += verdicts("--- PASS");
    count.skipped += verdicts("--- SKIP");
    let failed = verdicts("--- FAIL");
    count.failed += if ok { failed } else { failed.max(1) };
    count.failures.extend(hung);
    count
        .failures
        .extend(text.lines().filter(|line| line.starts_with("--- FAIL")).map(str::to_owned));
}

#[cfg(test)]
mod sources {
    use super::is_tested;

    #[test]
    fn whatever_cargo_would_test_is_seen() {
        for source in [
            "    #[test]\nfn f() {}",
            "#[cfg(test)]\nmod tests;",
            "#[tokio::test(flavor = \"current_thread\")]",
            "//! ```\n//! f();\n//! ```",
            "proptest! {",
        ] {
            assert!(is_tested(source), "{source}");
        }
        assert!(!is_tested("// A test of what?\n#[derive(Debug)]\nstruct Latest;"));
    }
}
