//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Writes the file at `path`: beside it first, and only when all of it is on the disk under its
/// name. Until then, and if anything fails, what was there before stays.
///
/// # Errors
/// It cannot be written; the message names it.
pub(super) fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&File>) -> Result<()>,
) -> Result<()> {
    // Of a link, the file that it leads to is replaced.
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let before = fs::metadata(&place).ok();
    let written = if before.as_ref().is_some_and(|before| !before.is_file()) {
        // A pipe or a device has nothing beside it that could take its place.
        OpenOptions::new()
            .write(true)
            .open(&place)
            .map_err(Into::into)
            .and_then(|file| fill_all(&file, fill))
    } else {
        beside(&place, before.map(|before| before.permissions()), fill)
    };
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn beside(
    place: &Path,
    permissions: Option<fs::Permissions>,
    fill: impl FnOnce(&mut BufWriter<&File>) -> Result<()>,
) -> Result<()> {
    let (draft, file) = draft(place)?;
    let written = fill_all(&file, fill).and_then(|()| {
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))?;
        file.sync_all()?;
        Ok(fs::rename(&draft, place)?)
    });
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// A new file beside `place`, hidden, so that nothing takes it for the other.
fn draft(place: &Path) -> Result<(PathBuf, File)> {
    let name = place.file_name().context("it names no file")?.to_string_lossy();
    // Of a long name a part is enough, so that the other is not too long.
    let name: String = name.chars().take(40).collect();
    for number in 0.. {
        let draft = place.with_file_name(format!(".{name}.{}-{number}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&draft) {
            Ok(file) => return Ok((draft, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
    unreachable!("there are more numbers than files")
}

fn fill_all(file: &File, fill: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    Ok(out.flush()?)
}
