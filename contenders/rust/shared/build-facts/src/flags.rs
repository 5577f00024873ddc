//! The options that matter for speed.

use std::fmt;

use toml::{Table, Value};

/// What the compiler is told, as far as a build script can see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    opt_level: String,
    lto: String,
    codegen_units: String,
    panic: String,
    /// `-C target-cpu=…`, or cargo's default.
    target_cpu: String,
    /// Every other word that was passed to the compiler.
    others: Vec<String>,
}

impl Flags {
    /// From the environment that cargo gives to build scripts and, for the two settings that it
    /// does not pass on (link-time optimisation and codegen units), from the workspace's manifest.
    ///
    /// # Panics
    /// When the manifest cannot be read, or cargo did not say what it always says.
    pub fn from_cargo(manifest: &str, mut variable: impl FnMut(&str) -> Option<String>) -> Self {
        let manifest: Table =
            manifest.parse().unwrap_or_else(|error| panic!("Cargo.toml: {error}"));
        let mut must = |key: &str| variable(key).unwrap_or_else(|| panic!("cargo sets {key}"));
        let (opt_level, panic) = (must("OPT_LEVEL"), must("CARGO_CFG_PANIC"));
        let (section, defaults) = match must("PROFILE").as_str() {
            "release" => ("release", ("thin-local", "16")),
            _ => ("dev", ("thin-local", "256")),
        };
        // The environment beats the manifest, as it does for cargo.
        let mut setting = |key: &str, default: &str| {
            let name = format!("CARGO_PROFILE_{}_{key}", section.to_uppercase());
            variable(&name.replace('-', "_").to_uppercase()).unwrap_or_else(|| {
                match manifest.get("profile").and_then(|all| all.get(section)?.get(key)) {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Integer(number)) => number.to_string(),
                    Some(Value::Boolean(yes)) => yes.to_string(),
                    Some(other) => panic!("Cargo.toml: {key} is a {}", other.type_str()),
                    None => default.to_owned(),
                }
            })
        };
        let (lto, codegen_units) =
            (setting("lto", defaults.0), setting("codegen-units", defaults.1));
        let mut flags = Self {
            opt_level,
            lto,
            codegen_units,
            panic,
            target_cpu: "generic".to_owned(),
            others: Vec::new(),
        };
        flags.take_rustflags(&variable("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default());
        flags
    }

    fn take_rustflags(&mut self, encoded: &str) {
        let mut words = encoded.split('\x1f').filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            let option = if word == "-C" { words.next() } else { word.strip_prefix("-C") };
            match option.map(|option| (option, option.strip_prefix("target-cpu="))) {
                Some((_, Some(cpu))) => cpu.clone_into(&mut self.target_cpu),
                Some((option, None)) => self.others.push(option.to_owned()),
                None => self.others.push(word.to_owned()),
            }
        }
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "opt-level={} lto={} codegen-units={} panic={} target-cpu={}",
            self.opt_level, self.lto, self.codegen_units, self.panic, self.target_cpu
        )?;
        self.others.iter().try_for_each(|other| write!(f, " {other}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[profile.release]\nlto = \"thin\"\ncodegen-units = 1\n";

    fn flags(more: &[(&str, &str)]) -> String {
        let usual = [("OPT_LEVEL", "3"), ("CARGO_CFG_PANIC", "unwind"), ("PROFILE", "release")];
        let variable = |key: &str| {
            let found = more.iter().chain(&usual).find(|(name, _)| *name == key);
            found.map(|(_, value)| (*value).to_owned())
        };
        Flags::from_cargo(MANIFEST, variable).to_string()
    }

    #[test]
    fn the_profile_and_the_processor_are_said() {
        let said = "opt-level=3 lto=thin codegen-units=1 panic=unwind target-cpu=native";
        for rustflags in ["-C\x1ftarget-cpu=native", "-Ctarget-cpu=native"] {
            assert_eq!(flags(&[("CARGO_ENCODED_RUSTFLAGS", rustflags)]), said);
        }
    }

    #[test]
    fn the_environment_beats_the_manifest() {
        let said = flags(&[
            ("CARGO_PROFILE_RELEASE_LTO", "off"),
            ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "7"),
        ]);
        assert!(said.contains("lto=off codegen-units=7"), "{said}");
    }

    #[test]
    fn what_else_was_passed_is_not_hidden() {
        let said =
            flags(&[("CARGO_ENCODED_RUSTFLAGS", "-C\x1fforce-frame-pointers=yes\x1f--cfg\x1fodd")]);
        assert!(said.ends_with("target-cpu=generic force-frame-pointers=yes --cfg odd"), "{said}");
        assert!(said.contains("target-cpu=generic"), "{said}");
    }

    #[test]
    fn a_development_build_admits_it() {
        let said = flags(&[("PROFILE", "debug"), ("OPT_LEVEL", "0")]);
        assert!(said.starts_with("opt-level=0 lto=thin-local codegen-units=256"), "{said}");
    }
}
