//! The name that `trefoil` has in the crate that is being compiled.
//!
//! What `#[main]` and `#[test]` expand to refers to `trefoil`, and a crate that came from tokio
//! calls it `tokio`. A macro of `macro_rules!` would write `$crate`, but it cannot be an attribute;
//! and an attribute is not told by which path it was reached. So the name is read in the manifest.
//! What was rejected:
//!
//! - `proc-macro-crate` does the same, and does it well. It brings a whole parser of TOML (seven
//!   crates, all of which `trefoil` would wait for), and starts a `cargo` to find the workspace.
//!   Of TOML, only keys and strings matter here.
//! - The compiler's arguments (`--extern tokio=…`) would be exact. But they are nobody's interface,
//!   and are not there where an editor expands the macro.
//! - The text of the attribute (`tokio::main`) is for diagnostics alone, and not always there.
//!
//! A manifest that names `tokio` and not `trefoil` is that of a program whose `[patch.crates-io]`
//! puts a package in tokio's place that passes `trefoil` on. If it is the true tokio after all, and
//! the attribute came by a third crate, then the expansion does not compile, since it asks for what
//! only `trefoil` has: `crate = "…"` is the way out.
//!
//! Where there is no manifest, as in builds without Cargo, the name is `trefoil`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const OURS: &str = "trefoil";
/// What may be a package that stands in for tokio.
const STAND_IN: &str = "tokio";

/// By which name `::name` is `trefoil` in the crate that is being compiled.
pub(crate) fn of_trefoil() -> String {
    let directory = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let is_build_script =
        std::env::var("CARGO_CRATE_NAME").is_ok_and(|name| name == "build_script_build");
    let name = directory.and_then(|directory| find(&directory, is_build_script));
    name.unwrap_or_else(|| OURS.to_owned())
}

fn find(directory: &Path, is_build_script: bool) -> Option<String> {
    let manifest = read(directory)?;
    let is_shared = |dependency: &Dependency| dependency.is_of_workspace;
    let root = if !manifest.dependencies.values().any(is_shared) {
        None
    } else if let Some(root) = &manifest.root {
        read(&directory.join(root))
    } else {
        directory.ancestors().filter_map(read).find(|manifest| manifest.is_workspace)
    };
    let none = Dependencies::new();
    manifest.name_of_ours(root.as_ref().map_or(&none, |root| &root.shared), is_build_script)
}

/// Parses each text only once: tests are often many, and proc macros are often not optimised. The
/// file is read each time, since an editor keeps this process for long.
fn read(directory: &Path) -> Option<Arc<Manifest>> {
    static PARSED: Mutex<BTreeMap<String, Arc<Manifest>>> = Mutex::new(BTreeMap::new());
    let text = fs::read_to_string(directory.join("Cargo.toml")).ok()?;
    let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(manifest) = parsed.get(&text) {
        return Some(Arc::clone(manifest));
    }
    let manifest = Arc::new(Manifest::parse(&text));
    parsed.insert(text, Arc::clone(&manifest));
    Some(manifest)
}

/// Where a manifest names a dependency. The first is visible in most of a package's crates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Normal,
    NormalOfTarget,
    Dev,
    DevOfTarget,
    Build,
}

#[derive(Default)]
struct Dependency {
    package: Option<String>,
    is_of_workspace: bool,
}

/// By section and name. Those of a workspace are all in one section.
type Dependencies = BTreeMap<(Section, String), Dependency>;

#[derive(Default)]
struct Manifest {
    dependencies: Dependencies,
    /// `[workspace.dependencies]`
    shared: Dependencies,
    is_workspace: bool,
    /// `package.workspace`
    root: Option<String>,
}

impl Manifest {
    /// What is understood of a text that Cargo has understood before.
    fn parse(text: &str) -> Self {
        let mut manifest = Self::default();
        let mut scanner = Scanner { rest: text };
        // What comes after something unexpected is left out.
        let _ = scanner.document(&mut |path, value| manifest.add(path, value));
        manifest
    }

    fn add(&mut self, path: &[&str], value: &str) {
        let (is_of_target, path) = match path {
            ["target", _, rest @ ..] => (true, rest),
            _ => (false, path),
        };
        let (section, name, rest) = match *path {
            ["workspace", "dependencies", name, ref rest @ ..] => {
                self.is_workspace = true;
                add(&mut self.shared, Section::Normal, name, rest, value);
                return;
            }
            ["workspace", ..] => return self.is_workspace = true,
            ["package", "workspace"] => return self.root = Some(value.to_owned()),
            ["dependencies", name, ref rest @ ..] if is_of_target => {
                (Section::NormalOfTarget, name, rest)
            }
            ["dependencies", name, ref rest @ ..] => (Section::Normal, name, rest),
            ["dev-dependencies" | "dev_dependencies", name, ref rest @ ..] if is_of_target => {
                (Section::DevOfTarget, name, rest)
            }
            ["dev-dependencies" | "dev_dependencies", name, ref rest @ ..] => {
                (Section::Dev, name, rest)
            }
            ["build-dependencies" | "build_dependencies", name, ref rest @ ..] => {
                (Section::Build, name, rest)
            }
            _ => return,
        };
        add(&mut self.dependencies, section, name, rest, value);
    }

    /// The name of `trefoil`, or else of what stands in for tokio, given the dependencies of the
    /// workspace.
    fn name_of_ours(&self, workspace: &Dependencies, is_build_script: bool) -> Option<String> {
        let name = |package| self.name_of(package, workspace, is_build_script);
        name(OURS).or_else(|| name(STAND_IN))
    }

    fn name_of(
        &self,
        wanted: &str,
        workspace: &Dependencies,
        is_build_script: bool,
    ) -> Option<String> {
        let is_wanted = |name: &String, dependency: &Dependency| {
            let package = if dependency.is_of_workspace {
                let shared = workspace.get(&(Section::Normal, name.clone()));
                shared.and_then(|shared| shared.package.as_ref())
            } else {
                dependency.package.as_ref()
            };
            package.unwrap_or(name) == wanted
        };
        let found = self.dependencies.iter().filter(|((_, name), it)| is_wanted(name, it));
        // A build script sees nothing but its own section, and nobody else sees that. In a section
        // that has both, its own name is that of the crate that our documentation speaks of.
        let (_, name) = found.map(|(key, _)| key).min_by_key(|(section, name)| {
            let is_visible = (*section == Section::Build) == is_build_script;
            (!is_visible, *section, name != wanted)
        })?;
        Some(name.replace('-', "_"))
    }
}

fn add(into: &mut Dependencies, section: Section, name: &str, rest: &[&str], value: &str) {
    let dependency = into.entry((section, name.to_owned())).or_default();
    match rest {
        ["package"] => dependency.package = Some(value.to_owned()),
        ["workspace"] => dependency.is_of_workspace = value == "true",
        _ => {}
    }
}

/// As much of TOML as tells what is a key, what is a value, and in which table. Every function
/// returns `None` at something that it does not expect.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    /// Calls `visit` with the whole key and the text of every value but arrays and tables, and with
    /// the key of every header, without a value.
    fn document(&mut self, visit: &mut dyn FnMut(&[&str], &str)) -> Option<()> {
        let mut table = Vec::new();
        loop {
            self.skip(" \t\r\n");
            if self.rest.is_empty() {
                return Some(());
            }
            if self.eat("[[") {
                table = self.key()?;
                self.eat("]]").then_some(())?;
                visit(&table, "");
            } else if self.eat("[") {
                table = self.key()?;
                self.eat("]").then_some(())?;
                visit(&table, "");
            } else {
                self.pair(&table, visit)?;
            }
        }
    }

    fn pair(&mut self, table: &[&'a str], visit: &mut dyn FnMut(&[&str], &str)) -> Option<()> {
        let path = [table, &self.key()?].concat();
        self.eat("=").then_some(())?;
        self.skip(" \t");
        self.value(&path, visit)
    }

    /// A key with its dots, and the spaces around it.
    fn key(&mut self) -> Option<Vec<&'a str>> {
        let mut parts = Vec::new();
        loop {
            self.skip(" \t");
            parts.push(match self.string() {
                Some(part) => part,
                None => self.until(|c| !(c.is_ascii_alphanumeric() || "_-".contains(c)))?,
            });
            self.skip(" \t");
            if !self.eat(".") {
                return Some(parts);
            }
        }
    }

    fn value(&mut self, path: &[&'a str], visit: &mut dyn FnMut(&[&str], &str)) -> Option<()> {
        let between = " \t\r\n,";
        if let Some(text) = self.string() {
            visit(path, text);
        } else if self.eat("{") {
            // An empty table is a dependency, too.
            visit(path, "");
            loop {
                self.skip(between);
                if self.eat("}") {
                    break;
                }
                self.pair(path, visit)?;
            }
        } else if self.eat("[") {
            loop {
                self.skip(between);
                if self.eat("]") {
                    break;
                }
                self.value(path, &mut |_, _| {})?;
            }
        } else {
            let text = self.until(|c| ",]}#\r\n".contains(c))?;
            visit(path, text.trim());
        }
        Some(())
    }

    /// What is between the quotes. The names of crates need no escapes.
    fn string(&mut self) -> Option<&'a str> {
        let quotes = ["\"\"\"", "'''", "\"", "'"];
        let quote = quotes.into_iter().find(|quote| self.rest.starts_with(quote))?;
        let text = &self.rest[quote.len()..];
        let mut at = 0;
        while !text[at..].starts_with(quote) {
            let mut next = text[at..].chars();
            if next.next()? == '\\' && quote.starts_with('"') {
                next.next()?;
            }
            at = text.len() - next.as_str().len();
        }
        self.rest = &text[at + quote.len()..];
        Some(&text[..at])
    }

    /// Takes at least one character.
    fn until(&mut self, is_end: impl Fn(char) -> bool) -> Option<&'a str> {
        let (text, rest) = self.rest.split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
        self.rest = rest;
        (!text.is_empty()).then_some(text)
    }

    fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips these characters, and comments.
    fn skip(&mut self, characters: &str) {
        loop {
            self.rest = self.rest.trim_start_matches(|c| characters.contains(c));
            if !self.rest.starts_with('#') {
                return;
            }
            self.rest = self.rest.trim_start_matches(|c| c != '\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Dependencies, Manifest, find};
    use std::fs;

    fn name(text: &str) -> Option<String> {
        Manifest::parse(text).name_of_ours(&Dependencies::new(), false)
    }

    #[test]
    fn a_dependency_has_its_own_name_or_the_one_that_the_manifest_gives_it() {
        for (text, expected) in [
            ("[dependencies]\ntrefoil = \"1\"", Some("trefoil")),
            ("[dependencies]\ntrefoil = {}", Some("trefoil")),
            ("[dependencies.trefoil]", Some("trefoil")),
            ("[dependencies]\ntokio = { package = \"trefoil\", version = \"1\" }", Some("tokio")),
            ("[dependencies]\ntokio.package = 'trefoil'\ntokio.path = '..'", Some("tokio")),
            ("[dependencies.\"tokio\"]\nversion = \"1\"\npackage = \"trefoil\"", Some("tokio")),
            ("dependencies.my-rt = { features = [\"a\"], package = \"trefoil\" }", Some("my_rt")),
            ("dependencies = { rt = { package = \"trefoil\" } }", Some("rt")),
            ("[target.'cfg(unix)'.dependencies]\nrt = { package = \"trefoil\" }", Some("rt")),
            ("[dev-dependencies]\nrt = { package = \"trefoil\" }", Some("rt")),
            ("[dependencies]\nserde = { version = \"1\" }", None),
            // Something stands in for tokio.
            ("[dependencies]\ntokio = \"1\"\nserde = { version = \"1\" }", Some("tokio")),
            ("[dependencies]\nrt = { package = \"tokio\", version = \"1\" }", Some("rt")),
            ("[dependencies]\ntokio = \"1\"\nrt = { package = \"trefoil\" }", Some("rt")),
            ("[dependencies]\ntokio = { package = \"other\" }", None),
            ("[package]\nname = \"trefoil\"", None),
            // Something else has our name.
            ("[dependencies]\ntrefoil = { package = \"other\" }", None),
            ("", None),
        ] {
            assert_eq!(name(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_crate_may_have_both_and_several() {
        let both = "[dependencies]\ntokio = { version = \"1\" }\ntrefoil = { path = \"..\" }";
        assert_eq!(name(both).as_deref(), Some("trefoil"));
        let twice = "[dependencies]\na = { package = \"trefoil\" }\ntrefoil = \"1\"";
        assert_eq!(name(twice).as_deref(), Some("trefoil"));
        // The crate itself does not see what only its tests see.
        let sections =
            "[dev-dependencies]\ntrefoil = \"1\"\n[dependencies]\na = { package = \"trefoil\" }";
        assert_eq!(name(sections).as_deref(), Some("a"));
        let build =
            "[build-dependencies]\nb = { package = \"trefoil\" }\n[dependencies]\ntrefoil = \"1\"";
        assert_eq!(name(build).as_deref(), Some("trefoil"));
        let manifest = Manifest::parse(build);
        assert_eq!(manifest.name_of_ours(&Dependencies::new(), true).as_deref(), Some("b"));
    }

    #[test]
    fn what_else_there_is_in_a_manifest_is_passed_over() {
        let text = r##"
            # [dependencies] trefoil = "not this"
            [package]
            name = "it's" # quotes' "
            description = """
            [dependencies]
            trefoil = "\"""a"
            """
            keywords = [ "a]", # ]
                'b\', { package = "trefoil" }, 1e3,
            ]
            metadata.release = { date = 1979-05-27T07:32:00Z, on = true, n = -1 }

            [[bin]]
            name = "b"
            path = "#"

            [features]
            default = [ "tokio/full" ]
            trefoil = []

            [dependencies]
            other = { version = "1", features = [
                "x", # y
            ] }
            tokio = { default-features = false, "package" = "trefoil" } # the runtime
        "##;
        assert_eq!(name(text).as_deref(), Some("tokio"));
        // No text makes it hang or panic, wherever it is cut.
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            let _ = name(&text[..end]);
        }
    }

    #[test]
    fn a_workspace_says_what_its_members_share() {
        let root = std::env::temp_dir().join(format!("trefoil-macros-{}", std::process::id()));
        let member = root.join("crates/member");
        let elsewhere = root.join("elsewhere");
        for folder in [&member, &elsewhere] {
            fs::create_dir_all(folder).unwrap();
        }
        let shared = "[workspace]\nmembers = [\"crates/*\"]\n[workspace.dependencies]\n\
                      tokio = { package = \"trefoil\", version = \"1\" }\ntrefoil = \"1\"\n";
        fs::write(root.join("Cargo.toml"), shared).unwrap();
        let cases = [
            ("[dependencies]\ntokio = { workspace = true, features = [\"full\"] }", Some("tokio")),
            ("[dependencies]\ntokio.workspace = true", Some("tokio")),
            ("[dependencies]\ntokio.workspace = true\ntrefoil.workspace = true", Some("trefoil")),
            ("[dependencies]\nserde.workspace = true", None),
            ("[dependencies]\nserde = \"1\"", None),
        ];
        for (text, expected) in cases {
            fs::write(member.join("Cargo.toml"), text).unwrap();
            assert_eq!(find(&member, false).as_deref(), expected, "{text}");
        }
        // What only tests see is none of the crate's, wherever the other is described.
        let text = "[dependencies]\ntokio.workspace = true\n[dev-dependencies]\ntrefoil = \"1\"";
        fs::write(member.join("Cargo.toml"), text).unwrap();
        assert_eq!(find(&member, false).as_deref(), Some("tokio"));
        // A member that does not lie in its workspace.
        fs::rename(root.join("Cargo.toml"), elsewhere.join("Cargo.toml")).unwrap();
        let (text, _) = cases[1];
        let text = format!("{text}\n[package]\nworkspace = \"../../elsewhere\"");
        fs::write(member.join("Cargo.toml"), text).unwrap();
        assert_eq!(find(&member, false).as_deref(), Some("tokio"));
        // A package that is the root itself.
        let text = format!("{shared}\n[package]\n[dependencies]\ntokio.workspace = true");
        fs::write(member.join("Cargo.toml"), text).unwrap();
        assert_eq!(find(&member, false).as_deref(), Some("tokio"));
        assert_eq!(find(&root.join("nowhere"), false), None);
        fs::remove_dir_all(root).unwrap();
    }
}
