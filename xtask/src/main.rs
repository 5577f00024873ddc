//! One command a habit: `cargo xtask check`, `test`, `verify`. CI calls only these.
#![forbid(unsafe_code)]

mod heard;
mod miri;
mod nightly;
mod results;
mod sanitizers;
mod tests;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask <habit>

  check    formatting, lints, documentation, tidiness and printed results of everything in the repository
  tidy     the last of these alone: what ARCHITECTURE.md states and a search can prove
  results  what docs/results/*.json.gz say, into the reports beside them and the marked places of documents
  test     every test that this machine can run; ends with `N passed, N failed`
  verify   build every contender that this machine can, and check its answers
  loom [NAME]           every interleaving of Trefoil's small models, or of those whose name contains NAME
  asan [TEST...]        Trefoil's tests, or these files of them, under AddressSanitizer; skipped without nightly
  tsan [TEST...]        the same under ThreadSanitizer, with a std built for it where there is rust-src, or --std=toolchain
  miri [TEST...]        Trefoil's unit tests and small races, or these files of tests, interpreted; skipped without nightly's Miri
  fences                the machine code of Trefoil's fences, and a litmus test of them
  stress [--seconds N] [--workers W]  storms of spawns, aborts, panics, timers, forks, fibers, actors and shutdowns on Trefoil, counted and watched
";

/// Trefoil is optimised as in a release, and other crates are not: see `Cargo.toml`.
const LEAN: &str = "--profile=lean";

/// What may follow `cargo xtask`.
const VERBS: [&str; 11] = [
    "check", "tidy", "results", "test", "verify", "loom", "asan", "tsan", "miri", "fences",
    "stress",
];

fn main() -> ExitCode {
    let habit = std::env::args().nth(1).unwrap_or_default();
    let root = root();
    let ok = match habit.as_str() {
        "check" => check(&root),
        "tidy" => tidy::run(&root),
        "results" => results::run(&root),
        "test" => tests::run(&root),
        "loom" => loom(&root, &std::env::args().nth(2).unwrap_or_default()),
        "asan" => sanitizers::run(&root, &sanitizers::ADDRESS, std::env::args().skip(2)),
        "tsan" => sanitizers::run(&root, &sanitizers::THREAD, std::env::args().skip(2)),
        "miri" => miri::run(&root, &std::env::args().skip(2).collect::<Vec<_>>()),
        "fences" => fences(&root),
        "stress" => stress(&root, &std::env::args().skip(2).collect::<Vec<_>>()),
        "verify" => run(
            &root,
            "cargo",
            &["run", "--release", "--quiet", "--package", "palio", "--", "verify"],
        ),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_owned()
}

/// Runs a command where the user sees it, and says what it was.
fn run(directory: &Path, program: &str, args: &[&str]) -> bool {
    eprintln!("+ {program} {}", args.join(" "));
    match Command::new(program).args(args).current_dir(directory).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("{program} cannot be started: {error}");
            false
        }
    }
}

/// Whether a program can be started here.
fn has(program: &str, probe: &str) -> bool {
    Command::new(program).arg(probe).output().is_ok_and(|output| output.status.success())
}

/// All checks, each even if an earlier one failed, so that one round shows all that is to mend.
fn check(root: &Path) -> bool {
    let rust = root.join("contenders/rust");
    let mut ok = true;
    for workspace in [root, &rust] {
        ok &= run(workspace, "cargo", &["fmt", "--all", "--check"]);
        ok &= run(
            workspace,
            "cargo",
            &[
                "clippy",
                "--quiet",
                "--locked",
                // A contender's crate may ask for a newer compiler than it needs.
                "--ignore-rust-version",
                "--workspace",
                "--all-targets",
                "--",
                "--deny",
                "warnings",
            ],
        );
    }
    // These two are members of no workspace, and nothing but their checkouts can compile them.
    let sources = ["yaay/src/main.rs", "yaay/build.rs", "smarm/src/main.rs", "smarm/build.rs"];
    let options = ["--edition=2024", "--config-path=.", "--check"];
    ok &= run(&rust, "rustfmt", &[&options[..], &sources[..]].concat());
    // The other targets have all features, by those that tests ask for.
    let bare = ["clippy", "--quiet", "--locked", "--package", "trefoil", "--lib"];
    let strict = ["--no-default-features", "--", "--deny", "warnings"];
    ok &= run(root, "cargo", &[&bare[..], &strict[..]].concat());
    ok &= elsewhere(root);
    ok &= tidy::run(root);
    ok &= results::check(root);
    ok &= rustdoc(root);
    if has("go", "version") {
        ok &= run(&root.join("contenders/go"), "go", &["vet", "./..."]);
    }
    eprintln!(
        "{}",
        if ok { "check: all is well" } else { "check: something is to mend, see above" }
    );
    ok
}

/// Systems and machines that are not this one: where addresses have 32 bits, and where C's `char`
/// has no sign. Trefoil must compile without warnings there, too. Only the library is checked:
/// tests have dependencies that need a compiler of C for the target.
fn elsewhere(root: &Path) -> bool {
    // Without rustup there is only the standard library of this system.
    let installed = Command::new("rustup")
        .args(["target", "list", "--installed"])
        .current_dir(root)
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let mut ok = true;
    let targets = [
        "x86_64-pc-windows-gnu",
        "x86_64-apple-darwin",
        "i686-unknown-linux-gnu",
        "aarch64-unknown-linux-gnu",
    ];
    for target in targets {
        if !installed.lines().any(|line| line == target) {
            eprintln!("skipped: Trefoil for {target}; `rustup target add {target}` installs it");
            continue;
        }
        let clippy = ["clippy", "--quiet", "--locked", "--package", "trefoil", "--lib"];
        let strict = ["--all-features", "--target", target, "--", "--deny", "warnings"];
        ok &= run(root, "cargo", &[&clippy[..], &strict[..]].concat());
    }
    ok
}

/// Models are compiled with another `cfg`, so they get a target folder of their own: the two would
/// chase each other.
fn loom(root: &Path, name: &str) -> bool {
    let filter = if name.is_empty() { "loom_" } else { name };
    let args = [
        "test",
        LEAN,
        "--locked",
        "--target-dir",
        "target/loom",
        "--package",
        "trefoil",
        "--lib",
        "--features",
        "actor,net",
    ];
    eprintln!("+ RUSTFLAGS=--cfg=loom cargo {} {filter}", args.join(" "));
    let command = || {
        let mut command = Command::new("cargo");
        command.args(args).arg(filter).env("RUSTFLAGS", "--cfg loom").current_dir(root);
        command
    };
    // A name that no model has must not pass for a success.
    let listed = command().args(["--", "--list"]).output();
    let any = listed.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(": test"));
    if !any {
        eprintln!("no model is called {filter:?}, or the models do not compile");
        return false;
    }
    command().status().is_ok_and(|status| status.success())
}

/// Optimised, since it is the optimised code that has to be right.
fn fences(root: &Path) -> bool {
    let args = [
        "test",
        LEAN,
        "--locked",
        "--package",
        "trefoil",
        "--lib",
        "--",
        "fence_after_rmw",
        "--nocapture",
    ];
    run(root, "cargo", &args)
}

/// Tasks first, then forks and fibers; the options go to each.
fn stress(root: &Path, options: &[String]) -> bool {
    ["stress_tasks", "stress_forks", "stress_fibers"].iter().all(|program| {
        let mut args =
            vec!["run", LEAN, "--locked", "--package", "trefoil-tools", "--bin", program, "--"];
        args.extend(options.iter().map(String::as_str));
        run(root, "cargo", &args)
    })
}

fn rustdoc(root: &Path) -> bool {
    let flags = ["--workspace", "--all-features", "--no-deps", "--document-private-items"];
    let args = [&["doc", "--quiet", "--locked"], &flags[..]].concat();
    eprintln!("+ RUSTDOCFLAGS=-Dwarnings cargo {}", args.join(" "));
    let status = Command::new("cargo")
        .args(args)
        .env("RUSTDOCFLAGS", "-Dwarnings")
        .current_dir(root)
        .status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod help {
    use super::{HELP, VERBS};

    #[test]
    fn help_lists_every_verb_and_no_other() {
        let listed: Vec<&str> = HELP
            .lines()
            .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
            .collect();
        assert_eq!(listed, VERBS);
    }
}
