//! New databases, which appear whole or not at all.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::Result;
use rusqlite::MAIN_DB;

use super::Store;
use crate::draft::{self, Draft};

/// Makes an empty database at `path`, unless there is something already.
///
/// It is written beside it, under a hidden name, and gets its own when all of it is on the disk: on
/// a full disk nothing is left that looks like a database. Never in the place of another one, which
/// a second Palio may just have made and be racing into.
///
/// # Errors
/// It cannot be written.
pub(super) fn make(path: &Path) -> Result<()> {
    draft::remove_abandoned(path);
    // Also what only a link leads to, and what cannot be looked at: SQLite says what is wrong.
    if !matches!(path.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound) {
        return Ok(());
    }
    let draft = Draft::new(path)?;
    // SQLite does not open it: where both kinds of locks are one, the draft's would keep it out.
    let mut empty = Store::in_memory()?;
    (&draft.file).write_all(&empty.connection.serialize(MAIN_DB)?)?;
    draft.file.sync_all()?;
    // Who was faster made the same; and where files have one name only, SQLite makes it in place.
    let _ = fs::hard_link(draft.path(), path);
    Ok(())
}
