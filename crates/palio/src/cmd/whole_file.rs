//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::unistd::{AccessFlags, access};

use crate::draft::Draft;

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

/// Refuses a path at which [`write()`] would fail, as far as that can be seen beforehand: a folder,
/// or a place in which no file can be made. Nothing is written, not even the folders above it.
///
/// # Errors
/// No file can be written there; the message names it.
pub(super) fn check(path: &Path) -> Result<()> {
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if place.is_dir() {
        bail!(
            "cannot write {}, which is a folder: name a file in it, such as {}",
            path.display(),
            path.join("report.html").display()
        );
    }
    // A pipe or a device is written as it is.
    if place.exists() && !place.is_file() {
        return Ok(());
    }
    let here = Path::new(".");
    let mut above = place
        .ancestors()
        .skip(1)
        .map(|folder| if folder.as_os_str().is_empty() { here } else { folder });
    let Some(there) = above.find(|folder| folder.symlink_metadata().is_ok()) else {
        return Ok(());
    };
    if !there.is_dir() {
        bail!("cannot write {}: {} is no folder", path.display(), there.display());
    }
    access(there, AccessFlags::W_OK | AccessFlags::X_OK)
        .with_context(|| format!("cannot write {} into {}", path.display(), there.display()))
}

fn beside(
    place: &Path,
    permissions: Option<fs::Permissions>,
    fill: impl FnOnce(&mut BufWriter<&File>) -> Result<()>,
) -> Result<()> {
    let draft = Draft::new(place)?;
    fill_all(&draft.file, fill)?;
    permissions.map_or(Ok(()), |permissions| draft.file.set_permissions(permissions))?;
    draft.file.sync_all()?;
    Ok(fs::rename(draft.path(), place)?)
}

fn fill_all(file: &File, fill: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    Ok(out.flush()?)
}
