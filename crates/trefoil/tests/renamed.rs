//! Programs that have another name for this crate: `tokio`, for those that came from there.
//!
//! They are crates of their own, since only `Cargo.toml` gives such a name. What the README shows
//! is one of them.
#![cfg(all(unix, feature = "macros", feature = "net", feature = "signal"))]

use std::fs;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../README.md");
const MANIFEST: &str = "[package]\nversion = \"0.1.0\"\nedition = \"2024\"\n";

/// The first block of code behind a line of the README, with this word behind its fence.
fn block<'a>(behind: &str, language: &str) -> &'a str {
    let (_, rest) = README.split_once(behind).expect("the README has this line");
    let (_, rest) = rest.split_once(&format!("\n```{language}\n")).expect("the README has a block");
    rest.split_once("\n```\n").expect("the block ends").0
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// One workspace and one build for all of them, so that this crate is compiled only once.
#[test]
fn a_crate_may_be_renamed() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("renamed");
    let place = |text: &str| {
        let shown = "path = \"palio/crates/trefoil\"";
        assert!(text.contains(shown), "{text}");
        text.replace(shown, &format!("path = {:?}", here.to_str().unwrap()))
    };
    let moved = place(block("## A tokio program moves over", "toml"));
    let shared = moved.replace("[dependencies]", "[workspace.dependencies]");
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"moved\", \"shared\", \"plain\"]\n\
                     [profile.dev]\ndebug = false\n";
    write(&root.join("Cargo.toml"), &format!("{workspace}{shared}"));
    fs::copy(here.join("../../Cargo.lock"), root.join("Cargo.lock")).unwrap();

    let calls = include_str!("renamed/calls.rs");
    let member = |name: &str, dependencies: &str, program: &str, calls: &str| {
        let manifest = format!("{MANIFEST}name = \"{name}\"\n{dependencies}\n");
        write(&root.join(name).join("Cargo.toml"), &manifest);
        write(&root.join(name).join("src/main.rs"), program);
        write(&root.join(name).join("tests/calls.rs"), calls);
    };
    member("moved", &moved, block("## A tokio program moves over", "rust,ignore"), calls);
    let small = "#[tokio::main]\nasync fn main() {}\n";
    // What tokio's features stand for is there, with and without them.
    let features = "\"rt\", \"rt-multi-thread\", \"macros\", \"sync\", \"time\", \"net\", \"fs\", \
                    \"io-util\", \"io-std\", \"process\", \"signal\", \"parking_lot\"";
    let shared = format!("[dependencies]\ntokio = {{ workspace = true, features = [{features}] }}");
    member("shared", &shared, small, calls);
    let plain = moved.replace("tokio = { package = \"trefoil\", ", "trefoil = { ");
    let small = "#[trefoil::main]\nasync fn main() {}\n";
    member("plain", &plain, small, &format!("use trefoil as tokio;\n{calls}"));

    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--offline", "--workspace"]).current_dir(&root);
    cargo.env("CARGO_TARGET_DIR", root.join("target"));
    // What these say is for the tests of this crate, not for those.
    for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(variable);
    }
    let output = cargo.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    assert_eq!(text.matches("test result: ok. 3 passed").count(), 3, "{text}\n{errors}");
}
