//! Another release of a contender's runtime, or a working copy of it, in the place of the one that
//! its sources name.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How a contender is built with another release of its runtime: `[releases]` in `contender.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tool", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Releases {
    /// The runtime is a crate. A version is required exactly, in a copy of the workspace; a working
    /// copy takes the crate's place there.
    Cargo { package: String },
    /// The runtime is Go's own. A version is a toolchain that `go` fetches; a working copy is a
    /// `GOROOT` that was built.
    Go {},
    /// The runtime is a library that CMake finds below a prefix. There is nothing to fetch
    /// releases from.
    Cmake { package: String },
}

/// What a user chose: `version=1.45.0` or `path=../tokio`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    Version(String),
    Path {
        /// Absolute.
        path: PathBuf,
        /// The commit and, if files differ from it, `-dirty-` and a digest of them; `None` outside
        /// of a repository.
        state: Option<String>,
    },
}

/// A contender's release with what its build needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chosen {
    pub release: Release,
    pub how: Releases,
    /// The workspace that is copied into the contender's build directory, where it is copied.
    pub copied_from: Option<PathBuf>,
}

/// `version=1.45.0`, `path=tokio-3fa2b1c-dirty`: what stands in names. The whole path would say
/// more of a machine than of a contender.
impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "version={version}"),
            Self::Path { .. } => write!(f, "path={}", self.short()),
        }
    }
}

impl Release {
    /// The keys by which it is chosen, which no knob can have.
    pub const KEYS: [&str; 2] = ["version", "path"];

    /// Checks a version.
    ///
    /// # Errors
    /// It has characters that no version has.
    pub fn version(text: &str) -> Result<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        if text.is_empty() || text.starts_with(['-', '.']) || !text.chars().all(plain) {
            bail!("{text:?} is no version: write one such as 1.45.0");
        }
        Ok(Self::Version(text.to_owned()))
    }

    /// The version, or the working copy's name and state.
    pub fn short(&self) -> String {
        match self {
            Self::Version(version) => version.clone(),
            Self::Path { path, state } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                let name: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
                match state {
                    Some(state) => format!("{name}-{state}"),
                    None => name,
                }
            }
        }
    }

    /// How it is chosen once more.
    pub fn choice(&self) -> String {
        match self {
            Self::Version(version) => format!("version={version}"),
            Self::Path { path, .. } => format!("path={}", path.display()),
        }
    }

    /// The name of its folder of build output: that of a working copy stays while it is worked on.
    pub fn folder(&self) -> String {
        match self {
            Self::Version(version) => version.clone(),
            Self::Path { path, .. } => {
                let digest = Sha256::digest(path.to_string_lossy().as_bytes());
                let digest: String = digest.iter().take(4).map(|b| format!("{b:02x}")).collect();
                let name = Self::Path { path: path.clone(), state: None }.short();
                format!("path-{name}-{digest}")
            }
        }
    }

    /// Whether a contender that says it is linked with `linked` is of this release. A working copy
    /// may have any version.
    pub fn is_of(&self, linked: &str) -> bool {
        let Self::Version(version) = self else { return true };
        let bare = |text: &str| text.strip_prefix("go").unwrap_or(text).to_owned();
        let (linked, version) = (bare(linked.split(' ').next().unwrap_or_default()), bare(version));
        linked.strip_prefix(&version).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl Releases {
    /// Checks that `release` can be had.
    ///
    /// # Errors
    /// A version where there is nothing to fetch it from, or a path without what is built there.
    pub fn check(&self, release: &Release) -> Result<()> {
        match (self, release) {
            (Self::Cargo { package }, Release::Path { path, .. }) => {
                package_below(path, package).map(|_| ())
            }
            (Self::Go {}, Release::Path { path, .. }) if !path.join("bin/go").is_file() => bail!(
                "{} has no bin/go: `path` must be a GOROOT that was built with src/make.bash",
                path.display()
            ),
            (Self::Cmake { .. }, Release::Path { path, .. }) if !path.is_dir() => bail!(
                "{} is no folder: `path` must be the prefix that the library was installed to",
                path.display()
            ),
            (Self::Cmake { .. }, Release::Version(_)) => bail!(
                "CMake has nothing to fetch a version from: install it, and name its prefix with path=PREFIX"
            ),
            _ => Ok(()),
        }
    }

    /// The variables of the environment that choose `release` in its build.
    pub fn variables(&self, release: &Release) -> Vec<(String, String)> {
        let in_front = |folder: PathBuf, variable: &str| {
            let before = std::env::var(variable).ok().filter(|value| !value.is_empty());
            let rest = before.map_or_else(String::new, |value| format!(":{value}"));
            (variable.to_owned(), format!("{}{rest}", folder.display()))
        };
        let toolchain = |value: String| ("GOTOOLCHAIN".to_owned(), value);
        match (self, release) {
            (Self::Go {}, Release::Version(version)) => {
                vec![toolchain(format!("go{}", version.strip_prefix("go").unwrap_or(version)))]
            }
            (Self::Go {}, Release::Path { path, .. }) => {
                vec![toolchain("local".to_owned()), in_front(path.join("bin"), "PATH")]
            }
            (Self::Cmake { .. }, Release::Path { path, .. }) => {
                vec![in_front(path.clone(), "CMAKE_PREFIX_PATH")]
            }
            _ => Vec::new(),
        }
    }
}

/// How deep below a working copy its packages are looked for.
const DEPTH_MAX: u32 = 3;

/// The folder of `package` in a working copy, which may be the package or a workspace that has it.
///
/// # Errors
/// There is no `Cargo.toml`, or none of that package.
pub fn package_below(path: &Path, package: &str) -> Result<PathBuf> {
    if !path.join("Cargo.toml").is_file() {
        bail!("{} has no Cargo.toml: `path` must be a working copy of {package}", path.display());
    }
    find_package(path, package, DEPTH_MAX)
        .with_context(|| format!("there is no package {package} in {}", path.display()))
}

fn find_package(folder: &Path, package: &str, depth: u32) -> Option<PathBuf> {
    if package_of(folder).is_some_and(|(name, _)| name == package) {
        return Some(folder.to_owned());
    }
    let mut below: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    below.sort();
    let is_left_out = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with('.') || name == "target"
    };
    let mut below = below.into_iter().filter(|path| path.is_dir() && !is_left_out(path));
    below.find_map(|path| find_package(&path, package, depth.checked_sub(1)?))
}

/// Name and, where it is not inherited, version of the package in `folder`.
pub fn package_of(folder: &Path) -> Option<(String, Option<String>)> {
    let text = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let manifest: toml::Table = text.parse().ok()?;
    let package = manifest.get("package")?;
    let text = |key: &str| package.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    Some((text("name")?, text("version")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, state: Option<&str>) -> Release {
        Release::Path { path: path.into(), state: state.map(str::to_owned) }
    }

    #[test]
    fn names_say_the_version_or_the_working_copy_and_its_state() {
        assert_eq!(Release::version("1.45.0").unwrap().to_string(), "version=1.45.0");
        assert_eq!(at("/home/me/tokio", None).to_string(), "path=tokio");
        let dirty = at("/home/me/to kio", Some("3fa2b1c-dirty"));
        assert_eq!(dirty.to_string(), "path=to_kio-3fa2b1c-dirty");
        assert_eq!(dirty.choice(), "path=/home/me/to kio");
    }

    #[test]
    fn two_working_copies_of_one_name_are_built_apart_and_one_stays_in_its_place() {
        let folder = |path: &str, state| at(path, state).folder();
        assert_ne!(folder("/a/tokio", None), folder("/b/tokio", None));
        assert_eq!(folder("/a/tokio", None), folder("/a/tokio", Some("3fa2b1c")));
    }

    #[test]
    fn a_version_cannot_leave_its_folder() {
        for text in ["", "..", "-1", "1/2", "1 2", "1;2"] {
            assert!(Release::version(text).is_err(), "{text}");
        }
    }

    #[test]
    fn another_version_than_the_one_asked_for_is_found_out() {
        let asked = |text: &str| Release::version(text).unwrap();
        assert!(asked("1.45.0").is_of("1.45.0"));
        assert!(asked("1.45").is_of("1.45.3 (part 2.0)"));
        assert!(asked("1.25.0").is_of("go1.25.0"));
        assert!(!asked("1.4").is_of("1.45.0"));
        assert!(!asked("1.45.0").is_of("1.54.1"));
        assert!(at("/tokio", None).is_of("0.0.0"));
    }
}
