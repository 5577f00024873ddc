//! Programs that have another name for this crate: `tokio`, for those that came from there.
//!
//! They are crates of their own, since only `Cargo.toml` gives such a name. What the README shows
//! is one of them.
#![cfg(all(unix, feature = "macros", feature = "net", feature = "signal"))]

use std::fs;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../README.md");
const GUIDE: &str = include_str!("../src/runtime/from_tokio.rs");
const MANIFEST: &str = "[package]\nversion = \"0.1.0\"\nedition = \"2024\"\n";

/// The first block of code behind a line of the README, with this word behind its fence.
fn block<'a>(behind: &str, language: &str) -> &'a str {
    block_of(README, behind, language)
}

fn block_of<'a>(text: &'a str, behind: &str, language: &str) -> &'a str {
    let (_, rest) = text.split_once(behind).expect("the text has this line");
    let (_, rest) = rest.split_once(&format!("\n```{language}\n")).expect("the text has a block");
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

    let (text, errors) = test_workspace(&root);
    assert_eq!(text.matches("test result: ok. 3 passed").count(), 3, "{text}\n{errors}");
}

/// As the guide for those who come from tokio shows it: `hyper` and `hyper-util` depend on tokio,
/// and get a package that stands in for it.
#[test]
fn other_crates_may_be_given_it_for_tokio() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stands-in");
    let guide: String = GUIDE
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .flat_map(|line| [line.strip_prefix(' ').unwrap_or(line), "\n"])
        .collect();
    let shown = |behind, language| block_of(&guide, behind, language);
    let manifest = shown("and tokio's features:", "toml");
    assert!(manifest.contains("path = \"…\""), "{manifest}");
    let manifest = manifest.replace("path = \"…\"", &format!("path = {here:?}"));
    write(&root.join("tokio/Cargo.toml"), &manifest);
    write(&root.join("tokio/src/lib.rs"), shown("# For other crates, too", "ignore"));
    let patch = shown("The manifest of the program's workspace", "toml");
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"program\"]\n\
                     [profile.dev]\ndebug = false\n";
    write(&root.join("Cargo.toml"), &format!("{workspace}{patch}\n"));
    fs::copy(here.join("../../Cargo.lock"), root.join("Cargo.lock")).unwrap();
    let dependencies = "[dependencies]\n\
        tokio = { version = \"1\", features = [\"full\", \"test-util\", \"tracing\"] }\n\
        http-body-util = \"0.1\"\n\
        hyper = { version = \"1\", features = [\"client\", \"server\", \"http1\", \"http2\"] }\n\
        hyper-util = { version = \"0.1\", default-features = false, features = [\"tokio\"] }\n";
    let program = root.join("program");
    write(&program.join("Cargo.toml"), &format!("{MANIFEST}name = \"program\"\n{dependencies}"));
    write(&program.join("src/lib.rs"), "");
    write(&program.join("tests/calls.rs"), include_str!("renamed/calls.rs"));
    write(&program.join("tests/others.rs"), include_str!("renamed/others.rs"));
    // The lock has the true tokio, as that of a program would that was there before.
    cargo(&root, &["update", "--offline", "tokio"]);
    let (text, errors) = test_workspace(&root);
    assert_eq!(text.matches("test result: ok. 3 passed").count(), 1, "{text}\n{errors}");
    assert_eq!(text.matches("test result: ok. 2 passed").count(), 1, "{text}\n{errors}");
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    assert_eq!(lock.matches("name = \"tokio\"").count(), 1, "{lock}");
}

/// What the tests of a workspace say, all of which must pass.
fn test_workspace(root: &Path) -> (String, String) {
    cargo(root, &["test", "--offline", "--workspace"])
}

fn cargo(root: &Path, arguments: &[&str]) -> (String, String) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).current_dir(root);
    // Most crates are those of all workspaces.
    cargo.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("target"));
    // What these say is for the tests of this crate, not for those.
    for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(variable);
    }
    let output = cargo.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}\n{errors}");
    (text, errors)
}
