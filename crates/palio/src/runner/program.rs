//! The files that a contender consists of, and whether they are still those that were described.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::contender::Contender;
use crate::runner::build::{hex, list};

/// A built contender's program, as it was when this was made.
#[derive(Clone, Debug)]
pub struct Program {
    contender: Contender,
    hash: String,
    /// What [`changed`](Self::changed) looks at.
    watched: BTreeMap<PathBuf, Seen>,
}

#[derive(Clone, Debug)]
struct Seen {
    identity: Identity,
    content: [u8; 32],
}

/// What the system says of a file without reading it. The time of the last change of its inode is
/// part of it: that of its content can be set at will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

impl Program {
    /// Reads all of it.
    pub fn of(contender: &Contender) -> Self {
        let files = files(contender);
        let mut hash = Sha256::new();
        let mut watched = BTreeMap::new();
        for path in &files {
            // Before its content, so that whatever is done to it in between is seen later.
            let identity = Identity::of(path);
            let content = fs::read(path).unwrap_or_default();
            // Without its folder, which is another one on another machine.
            hash.update(format!("{:?} {}\n", path.file_name(), content.len()));
            hash.update(&content);
            if let Some(identity) = identity.filter(|_| is_watched(path)) {
                let content = Sha256::digest(&content).into();
                watched.insert(path.clone(), Seen { identity, content });
            }
        }
        // An interpreter that is found by its name is part of what is started here, and none of
        // what a contender is elsewhere.
        for path in interpreters(contender) {
            if let Some((identity, content)) = Identity::of(&path).zip(content_of(&path)) {
                watched.insert(path, Seen { identity, content });
            }
        }
        Self { contender: contender.clone(), hash: hex(hash), watched }
    }

    /// What tells two programs apart that say the same version.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The first file of it that has another content than when this was made, is gone, or is new:
    /// the end of a sentence about the contender.
    pub fn changed(&mut self) -> Option<String> {
        let changed = self.first_changed();
        changed.map(|(path, how)| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            format!(
                "its program was changed while the run went on ({name} {how}), so that its times \
                 may be those of two programs: leave it alone, build it and race it again"
            )
        })
    }

    fn first_changed(&mut self) -> Option<(PathBuf, &'static str)> {
        for (path, seen) in &mut self.watched {
            let Some(identity) = Identity::of(path) else {
                return Some((path.clone(), "is gone"));
            };
            if identity == seen.identity {
                continue;
            }
            // Linked, touched or built again without a difference: read now, and not each time.
            if content_of(path) != Some(seen.content) {
                return Some((path.clone(), "has another content"));
            }
            seen.identity = identity;
        }
        let files = files(&self.contender).into_iter();
        let new = files.filter(|path| is_watched(path)).find(|p| !self.watched.contains_key(p));
        new.map(|path| (path, "is new"))
    }
}

fn content_of(path: &Path) -> Option<[u8; 32]> {
    Some(Sha256::digest(fs::read(path).ok()?).into())
}

/// The files that the command names, those beside that its `contender.toml` names, and all sources
/// where nothing is built of them.
fn files(contender: &Contender) -> Vec<PathBuf> {
    let words = contender.command.iter().map(PathBuf::from);
    let mut files: Vec<PathBuf> = words.filter(|path| path.is_file()).collect();
    let mut others = Vec::new();
    contender.files.iter().for_each(|path| list(path, &mut others));
    if contender.build_commands.is_empty() {
        contender.build_inputs.iter().for_each(|input| list(input, &mut others));
    }
    files.extend(others.into_iter().map(|(path, ..)| path));
    files.sort();
    files.dedup();
    files
}

/// Not what stands beside the sources and is never started: a word in a README is no other
/// program, and a command is compared as such.
fn is_watched(path: &Path) -> bool {
    path.extension().is_none_or(|extension| extension != "md")
        && path.file_name().is_none_or(|name| name != "contender.toml")
}

/// The programs that its command finds by their names, `env` and what it starts too. A word that
/// is none and has the name of one does no harm: its file is looked at for nothing.
fn interpreters(contender: &Contender) -> Vec<PathBuf> {
    let folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|folders| std::env::split_paths(&folders).collect())
        .unwrap_or_default();
    let names = contender.command.iter().map(Path::new).filter(|n| n.components().count() == 1);
    names
        .filter_map(|name| folders.iter().map(|folder| folder.join(name)).find(|p| p.is_file()))
        .collect()
}
