//! Allocators: what a contender says of its own, and whether that is what its file says. Pure.
//!
//! The flags of `--describe` have a word `allocator=NAME`, with the version after a dash
//! (`allocator=mimalloc-2.0.9`).

/// That of the system's C library.
pub const SYSTEM: &str = "system";
/// One that the runtime brings, and that cannot be another (Go, Python).
pub const OWN: &str = "own";

/// For contenders whose file does not say.
pub(crate) fn system() -> String {
    SYSTEM.to_owned()
}

/// Name and version of the allocator in the flags of a `--describe`.
pub fn said(flags: &str) -> Option<(&str, Option<&str>)> {
    let said = flags.split_whitespace().find_map(|word| word.strip_prefix("allocator="))?;
    Some(said.split_once('-').map_or((said, None), |(name, version)| (name, Some(version))))
}

/// Whether what an executable says is what its file says of it.
///
/// # Errors
/// It has another allocator, or is to have a certain one and does not say.
pub fn check(claimed: &str, flags: &str) -> Result<(), String> {
    match said(flags).map(|(name, _)| name) {
        Some(name) if name == claimed => Ok(()),
        // Of an executable that says nothing, nothing is known but what its users get.
        None if claimed == SYSTEM => Ok(()),
        said => {
            let says = said.map_or_else(
                || format!("nothing of it: put allocator={claimed} into its flags"),
                |name| format!("{name:?}"),
            );
            Err(format!(
                "its allocator is to be {claimed:?} by its contender.toml, and `--describe` says {says}"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_name_it() {
        assert_eq!(said("-O3 allocator=mimalloc-2.0.9 -g"), Some(("mimalloc", Some("2.0.9"))));
        assert_eq!(said("allocator=system"), Some(("system", None)));
        assert_eq!(said("opt-level=3 -DMIMALLOC=1"), None);
    }

    #[test]
    fn an_executable_must_have_what_its_file_says() {
        assert_eq!(check("mimalloc", "allocator=mimalloc-2.0.9"), Ok(()));
        assert_eq!(check(SYSTEM, "-"), Ok(()));
        assert_eq!(check(OWN, "allocator=own"), Ok(()));
        for (claimed, flags, part) in [
            ("mimalloc", "-O3 allocator=system", "\"mimalloc\" by its contender.toml"),
            ("mimalloc", "-O3 allocator=system", "says \"system\""),
            ("mimalloc", "-O3", "says nothing of it"),
            (OWN, "-", "says nothing of it: put allocator=own into its flags"),
            (SYSTEM, "allocator=tcmalloc-2.10", "says \"tcmalloc\""),
        ] {
            let error = check(claimed, flags).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
