//! A copy of a contender's cargo workspace in which its runtime is of another release.
//!
//! The committed manifests and the committed lock file stay as they are. The copy starts from that
//! lock file, so that everything but the runtime, and what the runtime needs, has the version that
//! it has beside it.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use crate::contender::Contender;
use crate::release::{Release, Releases, package_below, package_of};

/// The tables of a manifest that name dependencies.
const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Writes the copy of a release that needs one, and says which command completes it: cargo then
/// changes as little of the lock file as the release demands.
pub(super) fn prepare(contender: &Contender) -> Result<Option<Vec<String>>> {
    let Some(chosen) = &contender.release else { return Ok(None) };
    let (Releases::Cargo { package }, Some(from)) = (&chosen.how, &chosen.copied_from) else {
        return Ok(None);
    };
    let from = normal(from);
    let edit = Edit {
        package,
        wanted: Wanted::of(&chosen.release, package)?,
        member: contender.folder.strip_prefix(&from).ok().map(Path::to_owned),
        from: &from,
    };
    edit.copy(&contender.build_directory).with_context(|| {
        format!(
            "cannot copy {} to {} for another release of {package}",
            from.display(),
            contender.build_directory.display()
        )
    })?;
    Ok(Some(["cargo", "update", "--workspace"].map(str::to_owned).to_vec()))
}

enum Wanted {
    Version(String),
    /// The folder of the package, and its version where that is known.
    Path(PathBuf, Option<String>),
}

impl Wanted {
    fn of(release: &Release, package: &str) -> Result<Self> {
        Ok(match release {
            Release::Version(version) => Self::Version(version.clone()),
            Release::Path { path, .. } => {
                let folder = package_below(path, package)?;
                let version = package_of(&folder).and_then(|(_, version)| version);
                Self::Path(folder, version)
            }
        })
    }
}

struct Edit<'a> {
    package: &'a str,
    wanted: Wanted,
    /// The contender's own package below the workspace.
    member: Option<PathBuf>,
    from: &'a Path,
}

impl Edit<'_> {
    fn copy(&self, to: &Path) -> Result<()> {
        if to.exists() {
            fs::remove_dir_all(to).with_context(|| format!("cannot empty {}", to.display()))?;
        }
        if self.folder(self.from, to)? == 0 {
            bail!(
                "no Cargo.toml there depends on {}: `releases.package` must name a dependency",
                self.package
            );
        }
        // The toolchain is chosen by the nearest such file, which may lie above the workspace.
        let toolchain = self
            .from
            .ancestors()
            .map(|folder| folder.join("rust-toolchain.toml"))
            .find(|file| file.is_file());
        if let Some(file) = toolchain {
            fs::copy(&file, to.join("rust-toolchain.toml"))
                .with_context(|| format!("cannot copy {}", file.display()))?;
        }
        Ok(())
    }

    /// Copies a folder, and returns how many dependencies on the package were changed in it.
    fn folder(&self, from: &Path, to: &Path) -> Result<usize> {
        let at = |path: &Path| format!("at {}", path.display());
        fs::create_dir_all(to).with_context(|| at(to))?;
        let mut changed = 0;
        for entry in fs::read_dir(from).with_context(|| at(from))? {
            let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
            let copy = to.join(&name);
            if path.is_dir() {
                // Build output and history are no sources, and a copy has no copy of itself.
                if name != "target" && name != ".git" && !to.starts_with(&path) {
                    changed += self.folder(&path, &copy)?;
                }
            } else if name == "Cargo.toml" {
                let text = fs::read_to_string(&path).with_context(|| at(&path))?;
                let (text, count) = self.manifest(&text, from).with_context(|| at(&path))?;
                changed += count;
                fs::write(&copy, text).with_context(|| at(&copy))?;
            } else {
                fs::copy(&path, &copy).with_context(|| at(&path))?;
            }
        }
        Ok(changed)
    }

    /// A manifest of `folder` as it is in the copy, and how many dependencies were changed.
    fn manifest(&self, text: &str, folder: &Path) -> Result<(String, usize)> {
        let original: Table = text.parse()?;
        let mut manifest = original.clone();
        let mut changed = 0;
        let mut tables: Vec<&mut Table> = Vec::new();
        for (key, value) in &mut manifest {
            let Value::Table(table) = value else { continue };
            match key.as_str() {
                key if TABLES.contains(&key) => tables.push(table),
                "workspace" => {
                    tables.extend(table.get_mut("dependencies").and_then(Value::as_table_mut))
                }
                "patch" => tables.extend(table.iter_mut().filter_map(|(_, v)| v.as_table_mut())),
                "target" => {
                    let targets = table.iter_mut().filter_map(|(_, v)| v.as_table_mut());
                    let named = targets.flat_map(|target| target.iter_mut());
                    let named = named.filter(|(key, _)| TABLES.contains(&key.as_str()));
                    tables.extend(named.filter_map(|(_, v)| v.as_table_mut()));
                }
                _ => {}
            }
        }
        for (key, dependency) in tables.into_iter().flat_map(|table| table.iter_mut()) {
            changed += usize::from(self.dependency(key, dependency, folder));
        }
        if folder == self.from {
            self.root(&mut manifest)?;
        }
        // What needs no change keeps its bytes: vendored crates have checksums.
        let is_same = manifest == original;
        Ok((if is_same { text.to_owned() } else { toml::to_string(&manifest)? }, changed))
    }

    /// Changes a dependency if it is on the package, and makes paths out of the workspace absolute.
    fn dependency(&self, key: &str, dependency: &mut Value, folder: &Path) -> bool {
        let renamed = dependency.get("package").and_then(Value::as_str);
        let is_meant = renamed.unwrap_or(key) == self.package;
        if let Value::Table(table) = dependency
            && let Some(path) = table.get("path").and_then(Value::as_str)
        {
            let path = normal(&folder.join(path));
            if !path.starts_with(self.from) {
                table.insert("path".to_owned(), text_of(&path));
            }
        }
        let is_inherited = dependency.get("workspace").is_some();
        if !is_meant || is_inherited {
            return false;
        }
        if let Value::String(version) = dependency {
            let table = Table::from_iter([("version".to_owned(), Value::String(version.clone()))]);
            *dependency = Value::Table(table);
        }
        let Value::Table(table) = dependency else { return false };
        let is_elsewhere = table.contains_key("path") || table.contains_key("git");
        for key in ["version", "path", "git", "branch", "rev", "tag"] {
            table.remove(key);
        }
        match &self.wanted {
            Wanted::Version(version) => {
                table.insert("version".to_owned(), Value::String(format!("={version}")));
            }
            Wanted::Path(path, _) if is_elsewhere => {
                table.insert("path".to_owned(), text_of(path));
            }
            // A patch in the root stands for the registry's, here and below other crates.
            Wanted::Path(_, version) => {
                let version = version.as_ref().map_or("*".to_owned(), |text| format!("={text}"));
                table.insert("version".to_owned(), Value::String(version));
            }
        }
        true
    }

    /// What only the root of the workspace says: its members, of which this contender is enough,
    /// and a working copy in the place of the registry's crate.
    fn root(&self, manifest: &mut Table) -> Result<()> {
        if let Some(workspace) = manifest.get_mut("workspace").and_then(Value::as_table_mut)
            && let Some(member) = self.member.as_ref().filter(|m| !m.as_os_str().is_empty())
        {
            // Other contenders may need what this release cannot be beside. The packages that this
            // one needs are members by their paths.
            workspace.insert("members".to_owned(), Value::Array(vec![text_of(member)]));
            workspace.remove("default-members");
        }
        if let Wanted::Path(path, _) = &self.wanted {
            let mut table = manifest;
            for key in ["patch", "crates-io", self.package] {
                let entry = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
                table = entry.as_table_mut().with_context(|| format!("{key} is no table"))?;
            }
            table.clear();
            table.insert("path".to_owned(), text_of(path));
        }
        Ok(())
    }
}

fn text_of(path: &Path) -> Value {
    Value::String(path.to_string_lossy().into_owned())
}

/// `path` without `.` and `..`, as they are written and without a look at the disk.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, folder: &str, wanted: Wanted) -> (Table, usize) {
        let member = Some("racer".into());
        let edit = Edit { package: "engine", wanted, member, from: Path::new("/all/rust") };
        let (text, changed) = edit.manifest(text, Path::new(folder)).unwrap();
        (text.parse().unwrap(), changed)
    }

    fn version() -> Wanted {
        Wanted::Version("1.4.0".to_owned())
    }

    const ROOT: &str = r#"
        [workspace]
        members = ["racer", "other", "shared/*"]
        default-members = ["other"]
        [workspace.dependencies]
        adapter = { path = "shared/adapter" }
        protocol = { path = "../protocol" }
        engine = { version = "2.0", default-features = false }
    "#;

    #[test]
    fn a_version_is_required_exactly_and_the_rest_of_the_dependency_stays() {
        let (manifest, changed) = edited(ROOT, "/all/rust", version());
        let workspace = &manifest["workspace"];
        let dependencies = &workspace["dependencies"];
        assert_eq!(dependencies["engine"]["version"].as_str(), Some("=1.4.0"));
        assert_eq!(dependencies["engine"]["default-features"].as_bool(), Some(false));
        assert_eq!(dependencies["adapter"]["path"].as_str(), Some("shared/adapter"));
        assert_eq!(dependencies["protocol"]["path"].as_str(), Some("/all/protocol"));
        assert_eq!(workspace["members"].as_array().unwrap().len(), 1);
        assert!(workspace.get("default-members").is_none() && manifest.get("patch").is_none());
        assert_eq!(changed, 1);
    }

    #[test]
    fn a_working_copy_takes_the_place_of_the_registrys_crate_everywhere() {
        let wanted = Wanted::Path("/copy/engine".into(), Some("3.0.0-rc.1".to_owned()));
        let (manifest, _) = edited(ROOT, "/all/rust", wanted);
        let engine = &manifest["workspace"]["dependencies"]["engine"];
        assert_eq!(engine["version"].as_str(), Some("=3.0.0-rc.1"));
        let patch = &manifest["patch"]["crates-io"]["engine"];
        assert_eq!(patch["path"].as_str(), Some("/copy/engine"));
    }

    #[test]
    fn a_crate_of_the_workspace_gives_way_to_another_path() {
        let text = "[dependencies]\nmotor = { package = \"engine\", path = \"../engine\", version = \"2\" }\n";
        let (manifest, changed) =
            edited(text, "/all/rust/racer", Wanted::Path("/copy/engine".into(), None));
        let motor = &manifest["dependencies"]["motor"];
        assert_eq!(motor["path"].as_str(), Some("/copy/engine"));
        assert_eq!((motor.get("version"), changed), (None, 1));
        assert!(manifest.get("patch").is_none(), "only the root has patches");
    }

    #[test]
    fn dependencies_of_every_kind_are_found_and_inherited_ones_left_alone() {
        let text = r#"
            [dependencies]
            engine = "2.0"
            [build-dependencies]
            engine = { workspace = true }
            [target.'cfg(unix)'.dev-dependencies]
            engine = { git = "https://example.org", tag = "v2" }
        "#;
        let (manifest, changed) = edited(text, "/all/rust/racer", version());
        assert_eq!(changed, 2);
        assert_eq!(manifest["dependencies"]["engine"]["version"].as_str(), Some("=1.4.0"));
        assert!(manifest["build-dependencies"]["engine"].get("version").is_none());
        let target = &manifest["target"]["cfg(unix)"]["dev-dependencies"]["engine"];
        assert!(target.get("git").is_none() && target.get("tag").is_none());
    }
}
