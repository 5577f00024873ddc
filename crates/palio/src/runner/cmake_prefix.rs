//! Where CMake found a library: a prefix that lacks it does not keep CMake from another one.

use std::fs;
use std::path::{Path, PathBuf};

use crate::contender::Contender;
use crate::release::{Release, Releases};

/// How deep below a target folder CMake's build folders are.
const DEPTH_MAX: u32 = 3;

/// Checks, after a build, that the library comes from the chosen prefix.
///
/// # Errors
/// It was found elsewhere; the message says where.
pub(super) fn check(contender: &Contender) -> Result<(), String> {
    let Some(chosen) = &contender.release else { return Ok(()) };
    let (Releases::Cmake { package }, Release::Path { path, .. }) = (&chosen.how, &chosen.release)
    else {
        return Ok(());
    };
    let mut caches = Vec::new();
    find_caches(&contender.target, DEPTH_MAX, &mut caches);
    let found: Vec<PathBuf> = caches.iter().filter_map(|cache| found_in(cache, package)).collect();
    match found.iter().find(|folder| !folder.starts_with(path)) {
        Some(elsewhere) => Err(format!(
            "CMake found {package} in {}, and not below {}: is that the prefix it was installed to?",
            elsewhere.display(),
            path.display()
        )),
        None if found.is_empty() => {
            Err(format!("CMake did not say where it found {package} (`releases.package`)"))
        }
        None => Ok(()),
    }
}

fn find_caches(folder: &Path, depth: u32, caches: &mut Vec<String>) {
    caches.extend(fs::read_to_string(folder.join("CMakeCache.txt")));
    let Some(depth) = depth.checked_sub(1) else { return };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        find_caches(&path, depth, caches);
    }
}

/// `Taskflow_DIR:PATH=…`; `…-NOTFOUND` is no place.
fn found_in(cache: &str, package: &str) -> Option<PathBuf> {
    let line = cache.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("_DIR:"))?;
    let (_, value) = line.split_once('=')?;
    let folder = PathBuf::from(value);
    (!value.ends_with("-NOTFOUND")).then(|| folder.canonicalize().unwrap_or(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_says_where_a_package_was_found() {
        let cache = "# comment\nTBBX_DIR:PATH=/no\nTBB_DIR:PATH=/opt/a=b/cmake\nQ_DIR:PATH=Q_DIR-NOTFOUND\n";
        assert_eq!(found_in(cache, "TBB"), Some("/opt/a=b/cmake".into()));
        assert_eq!(found_in(cache, "Q"), None);
        assert_eq!(found_in(cache, "R"), None);
    }
}
