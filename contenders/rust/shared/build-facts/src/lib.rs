//! What a contender's executable is made of, for its `--describe`: a build script calls [`emit`],
//! and the contender reads the environment variables [`ID`], [`RUNTIME_VERSION`], [`TOOLCHAIN`] and
//! [`FLAGS`] with `env!`.
//!
//! Nothing here is written down by hand, because a number written by hand is wrong after the next
//! `cargo update`.
#![forbid(unsafe_code)]

mod flags;
mod lock;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

pub use flags::Flags;
pub use lock::Lock;

/// The contender's name: its package's, and of the allocator if that is not the system's.
pub const ID: &str = "PALIO_ID";
/// Version of the runtime, from the lock file that the build obeys.
pub const RUNTIME_VERSION: &str = "PALIO_RUNTIME_VERSION";
/// The compiler, in its own words.
pub const TOOLCHAIN: &str = "PALIO_TOOLCHAIN";
/// The options that matter, as the compiler gets them. The allocator is not among them: what is
/// linked says which one it is.
pub const FLAGS: &str = "PALIO_FLAGS";

/// Which package of the lock file is the runtime.
#[derive(Clone, Copy, Debug)]
pub struct Runtime<'a> {
    /// From the contender's package down its dependencies; empty for a contender without a runtime,
    /// whose version is its own.
    pub path: &'a [&'a str],
    /// Dependencies of the runtime whose versions are shown too, where the runtime is a facade.
    pub parts: &'a [&'a str],
}

/// Tells cargo the environment variables.
///
/// # Panics
/// When a fact cannot be known: an executable that cannot say what it is may not race, so it need
/// not be built.
pub fn emit(runtime: Runtime<'_>) {
    emit_with(runtime, str::to_owned);
}

/// As [`emit`], for a runtime whose crates are those of a checkout that `named`, a variable of the
/// environment, names: its commit belongs to its version.
///
/// # Panics
/// As [`emit`], and where the variable is not set.
pub fn emit_of_checkout(runtime: Runtime<'_>, named: &str) {
    println!("cargo::rerun-if-env-changed={named}");
    let folder = variable_of_caller(named);
    emit_with(runtime, |version| of_checkout(version, &commit(Path::new(&folder))));
}

fn emit_with(runtime: Runtime<'_>, version: impl FnOnce(&str) -> String) {
    let package = variable("CARGO_PKG_NAME");
    let workspace = workspace(Path::new(&variable("CARGO_MANIFEST_DIR")));
    let lock = Lock::parse(&read(&workspace.join("Cargo.lock")));
    let id = package.strip_prefix("contender-").expect("a contender's package is contender-ID");
    let mimalloc = env::var_os("CARGO_FEATURE_MIMALLOC").is_some();
    println!("cargo::rustc-env={ID}={id}{}", if mimalloc { "-mimalloc" } else { "" });
    println!("cargo::rustc-env={RUNTIME_VERSION}={}", version(&lock.version(&package, runtime)));
    println!("cargo::rustc-env={TOOLCHAIN}={}", toolchain());
    let flags = Flags::from_cargo(&read(&workspace.join("Cargo.toml")), |key| {
        println!("cargo::rerun-if-env-changed={key}");
        env::var(key).ok()
    });
    println!("cargo::rustc-env={FLAGS}={flags}");
}

/// Behind the version itself, before its parts.
fn of_checkout(version: &str, commit: &str) -> String {
    match version.split_once(' ') {
        Some((version, parts)) => format!("{version} at {commit} {parts}"),
        None => format!("{version} at {commit}"),
    }
}

/// The commit of a working copy, and whether its files differ from it.
fn commit(folder: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(folder).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=7", "HEAD"]) else {
        return "no commit".to_owned();
    };
    let is_clean = git(&["status", "--porcelain"]).is_some_and(|changes| changes.is_empty());
    if is_clean { commit } else { format!("{commit}-dirty") }
}

fn variable(key: &str) -> String {
    env::var(key).unwrap_or_else(|error| panic!("cargo sets {key} for build scripts: {error}"))
}

fn variable_of_caller(key: &str) -> String {
    env::var(key).unwrap_or_else(|error| panic!("{key} names the checkout: {error}"))
}

/// The nearest folder upwards with a lock file.
fn workspace(package: &Path) -> PathBuf {
    package
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").is_file())
        .unwrap_or_else(|| panic!("no Cargo.lock above {}", package.display()))
        .to_owned()
}

fn read(path: &Path) -> String {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn toolchain() -> String {
    let output = Command::new(variable("RUSTC")).arg("--version").output();
    let output = output.expect("cargo names a compiler that starts");
    assert!(output.status.success(), "rustc --version failed: {}", output.status);
    String::from_utf8(output.stdout).expect("rustc prints UTF-8").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_stands_behind_the_version() {
        assert_eq!(of_checkout("0.1.0", "3b48cf7"), "0.1.0 at 3b48cf7");
        assert_eq!(
            of_checkout("0.1.0 (part 2.0.0)", "no commit"),
            "0.1.0 at no commit (part 2.0.0)"
        );
    }

    #[test]
    fn a_folder_outside_of_repositories_has_no_commit() {
        assert_eq!(commit(Path::new("/")), "no commit");
    }
}
