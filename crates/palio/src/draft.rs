//! A hidden file beside another one, which takes that one's name when all of it is on the disk.
//!
//! Whoever is writing a draft holds a lock on it, which ends with the process, however that ends.
//! The next draft for the same name removes those that nobody holds.

use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The end of a draft's name, so that nothing of anybody else's is taken for one.
const ENDING: &str = ".palio-draft";
/// Of a long name a part is enough, so that that of the draft is not too long.
const NAME_CHARS_MAX: usize = 40;

/// A file that goes when this does, unless it was given its name.
#[derive(Debug)]
pub(crate) struct Draft {
    path: PathBuf,
    /// Locked.
    pub(crate) file: File,
}

impl Draft {
    /// A new file for the place `of`, empty.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn new(of: &Path) -> Result<Self> {
        remove_abandoned(of);
        let start = start(of)?;
        for number in 0.. {
            let name = format!("{start}{}-{number}{ENDING}", std::process::id());
            let path = of.with_file_name(name);
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            // Where there are no locks, nobody removes it; otherwise another Palio may have done
            // so before it was locked, or be about to.
            let is_lost = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
            if !is_lost && is_at(&file, &path) {
                return Ok(Self { path, file });
            }
        }
        unreachable!("there are more numbers than files")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // By another name it lives on.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the drafts for `of` that killed processes left.
pub(crate) fn remove_abandoned(of: &Path) {
    let Ok(start) = start(of) else { return };
    let folder = of.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_draft = name.to_str().is_some_and(|name| {
            name.strip_prefix(&start).is_some_and(|rest| rest.ends_with(ENDING))
        });
        let path = entry.path();
        // The lock is held until it is gone, so that nobody has it in between. Whoever held it
        // before may have given the file its name, and this one to the next draft.
        if is_draft
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
            && is_at(&file, &path)
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether it is this file that has the name `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let there = file.metadata().ok().zip(path.symlink_metadata().ok());
    there.is_some_and(|(file, there)| (file.dev(), file.ino()) == (there.dev(), there.ino()))
}

/// What the names of all drafts for `of` begin with.
fn start(of: &Path) -> Result<String> {
    let missing = || Error::new(ErrorKind::InvalidInput, "it names no file");
    let name = of.file_name().ok_or_else(missing)?.to_string_lossy();
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    Ok(format!(".{name}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_draft_without_its_process_is_removed_by_the_next_one_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let of = folder.path().join("report.html");
        let held = Draft::new(&of).unwrap();
        let held_name = held.path().file_name().unwrap().to_str().unwrap().to_owned();
        // As a killed process leaves it: nobody has a lock on it.
        let left = of.with_file_name(format!(".report.html.1-0{ENDING}"));
        fs::write(&left, "half a rep").unwrap();
        let others = [".other.html.1-0.palio-draft", ".report.html.1-0", "report.html"];
        others.iter().for_each(|name| fs::write(of.with_file_name(name), "").unwrap());
        let next = Draft::new(&of).unwrap();
        assert!(!left.exists() && next.path() != held.path());
        drop(next);
        let mut all: Vec<String> = others.map(str::to_owned).into();
        all.push(held_name);
        all.sort();
        assert_eq!(names(folder.path()), all);
        drop(held);
        assert_eq!(names(folder.path()), others);
    }

    #[test]
    fn what_got_its_name_stays_when_the_draft_goes() {
        let folder = tempfile::tempdir().unwrap();
        let of = folder.path().join("report.html");
        let draft = Draft::new(&of).unwrap();
        fs::rename(draft.path(), &of).unwrap();
        drop(draft);
        assert_eq!(names(folder.path()), ["report.html"]);
    }
}
