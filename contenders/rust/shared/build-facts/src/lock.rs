//! Which version of a dependency a package is linked with.

use toml::{Table, Value};

use crate::Runtime;

/// A parsed `Cargo.lock`.
#[derive(Clone, Debug)]
pub struct Lock {
    packages: Vec<Package>,
}

#[derive(Clone, Debug)]
struct Package {
    name: String,
    version: String,
    source: Option<String>,
    dependencies: Vec<String>,
}

impl Lock {
    /// # Panics
    /// When the text is no lock file.
    pub fn parse(text: &str) -> Self {
        let table: Table = text.parse().unwrap_or_else(|error| panic!("Cargo.lock: {error}"));
        let packages = table.get("package").and_then(Value::as_array).map_or(&[][..], |all| all);
        Self { packages: packages.iter().map(Package::parse).collect() }
    }

    /// The version of `runtime` that `package` of this workspace is linked with, its parts in
    /// parentheses.
    ///
    /// # Panics
    /// When the lock file does not say.
    pub fn version(&self, package: &str, runtime: Runtime<'_>) -> String {
        // A workspace member has no source; a crate of the same name from a registry (rayon, smol)
        // has one.
        let member = self.packages.iter().find(|p| p.name == package && p.source.is_none());
        let member = member.unwrap_or_else(|| panic!("Cargo.lock has no member {package}"));
        let raced = runtime.path.iter().fold(member, |from, name| self.dependency(from, name));
        let parts = runtime.parts.iter().map(|name| {
            let part = self.dependency(raced, name);
            format!("{name} {}", part.version)
        });
        match parts.collect::<Vec<_>>().as_slice() {
            [] => raced.version.clone(),
            parts => format!("{} ({})", raced.version, parts.join(", ")),
        }
    }

    /// Follows one edge. An edge names a version only where the lock file holds several, and a
    /// source only where even that does not tell them apart.
    fn dependency(&self, from: &Package, name: &str) -> &Package {
        let edge = from.dependencies.iter().find(|edge| edge.split(' ').next() == Some(name));
        let edge = edge.unwrap_or_else(|| panic!("{} does not depend on {name}", from.name));
        let mut words = edge.splitn(3, ' ').skip(1);
        let (version, source) = (words.next(), words.next());
        let fits = |package: &&Package| {
            package.name == name
                && version.is_none_or(|version| package.version == version)
                && source.is_none_or(|source| {
                    let source = source.trim_matches(['(', ')']);
                    package.source.as_deref().is_some_and(|full| full.starts_with(source))
                })
        };
        let mut found = self.packages.iter().filter(fits);
        let first = found.next().unwrap_or_else(|| panic!("Cargo.lock has no package {edge}"));
        assert!(found.next().is_none(), "Cargo.lock has several packages {edge}");
        first
    }
}

impl Package {
    fn parse(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let edges = value.get("dependencies").and_then(Value::as_array).map_or(&[][..], |all| all);
        Self {
            name: text("name").expect("a package has a name"),
            version: text("version").expect("a package has a version"),
            source: text("source"),
            dependencies: edges.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        version = 4
        [[package]]
        name = "racer"
        version = "0.1.0"
        dependencies = ["adapter", "engine 2.0.0"]
        [[package]]
        name = "adapter"
        version = "0.1.0"
        dependencies = ["engine 1.5.0"]
        [[package]]
        name = "engine"
        version = "1.5.0"
        source = "registry+https://example.org"
        [[package]]
        name = "engine"
        version = "2.0.0"
        source = "registry+https://example.org"
        dependencies = ["gear"]
        [[package]]
        name = "gear"
        version = "3.1.4"
        source = "registry+https://example.org"
    "#;

    fn version(path: &[&str], parts: &[&str]) -> String {
        Lock::parse(LOCK).version("racer", Runtime { path, parts })
    }

    #[test]
    fn the_version_is_the_one_that_is_linked() {
        assert_eq!(version(&["engine"], &[]), "2.0.0");
        assert_eq!(version(&["adapter", "engine"], &[]), "1.5.0");
    }

    #[test]
    fn parts_stand_in_parentheses() {
        assert_eq!(version(&["engine"], &["gear"]), "2.0.0 (gear 3.1.4)");
    }

    #[test]
    fn without_a_runtime_it_is_the_contenders_own() {
        assert_eq!(version(&[], &[]), "0.1.0");
    }

    #[test]
    #[should_panic(expected = "does not depend on gear")]
    fn what_is_not_linked_has_no_version() {
        version(&["gear"], &[]);
    }
}
