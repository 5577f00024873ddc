//! New databases, which appear whole or not at all.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Store;

/// Makes an empty database at `path`, unless there is something already.
///
/// It is written beside it, under a hidden name, and gets its own when all of it is on the disk: on
/// a full disk nothing is left that looks like a database. Never in the place of another one, which
/// a second Palio may just have made and be racing into.
///
/// # Errors
/// It cannot be written.
pub(super) fn make(path: &Path) -> Result<()> {
    // Also what only a link leads to, and what cannot be looked at: SQLite says what is wrong.
    if !matches!(path.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound) {
        return Ok(());
    }
    let draft = Draft::of(path)?;
    let empty = Store::in_memory()?;
    let name = draft.0.to_str().context("its path is not UTF-8")?;
    empty.connection.execute("VACUUM INTO ?1", [name])?;
    File::open(&draft.0)?.sync_all()?;
    // Who was faster made the same; and where files have one name only, SQLite makes it in place.
    let _ = fs::hard_link(&draft.0, path);
    Ok(())
}

/// A file that goes when this does.
struct Draft(PathBuf);

impl Draft {
    fn of(path: &Path) -> Result<Self> {
        let name = path.file_name().context("it names no file")?.to_string_lossy();
        // Of a long name a part is enough, so that the other is not too long.
        let name: String = name.chars().take(40).collect();
        let path = path.with_file_name(format!(".{name}.{}-new", std::process::id()));
        // Of a killed process that had the same number.
        let _ = fs::remove_file(&path);
        File::create_new(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
