//! Who else races on this machine: the lease keeps two runs out of one database, and two runs into
//! different ones disturb each other as much.
//!
//! Each Palio that races has a file in a folder of its user, locked for as long as it lives,
//! however that ends. Whoever begins writes its name into the files of those that race already: so
//! each of two learns of the other, the earlier one when it ends. Nothing is refused, and where
//! there is no such folder nothing is said. Those of other users are not seen here; what they take
//! of the processors is (`machine::running_warnings`).

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use nix::unistd::getuid;

/// How the name of a file begins that belongs to a Palio. A file has such a name only once it is
/// locked, or it would be taken for one that was left behind.
const PREFIX: &str = "race-";
/// What nobody but its user may have of a folder: to write there.
const OTHERS_WRITE: u32 = 0o022;

/// This Palio among those that race, until dropped.
#[derive(Debug)]
pub struct Neighbours {
    /// `None` where it could not be made.
    own: Option<Own>,
    /// Those that raced already.
    before: Vec<String>,
}

/// A file: its first line says whose it is, and each later one who has begun beside it.
#[derive(Debug)]
struct Own {
    path: PathBuf,
    /// Has the lock.
    _file: File,
}

impl Neighbours {
    /// Begins to race into `database`.
    pub fn enter(database: &Path) -> Self {
        let name = format!("palio (process {}) into {}", process::id(), database.display());
        let Some(folder) = folder() else { return Self { own: None, before: Vec::new() } };
        // First its own file, then those of others: of two that begin at once, one sees the other
        // at least, and tells it.
        let own = Own::make(&folder, &name);
        let before = others(&folder, own.as_ref().map(|own| own.path.as_path()));
        for (path, _) in &before {
            let file = OpenOptions::new().append(true).open(path);
            // One that has just ended needs not know.
            let _ = file.and_then(|mut file| file.write_all(format!("{name}\n").as_bytes()));
        }
        Self { own, before: before.into_iter().map(|(_, name)| name).collect() }
    }

    /// Those that raced already when this one began.
    pub fn before(&self) -> &[String] {
        &self.before
    }

    /// Whether anybody has raced beside this one so far.
    pub fn any(&self) -> bool {
        let later = self.own.as_ref().and_then(|own| fs::read_to_string(&own.path).ok());
        !self.before.is_empty() || later.is_some_and(|text| text.lines().nth(1).is_some())
    }
}

impl Own {
    fn make(folder: &Path, who: &str) -> Option<Self> {
        // A process id alone is another process's in another container.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("{PREFIX}{}-{now}", process::id());
        let (hidden, path) = (folder.join(format!(".{name}")), folder.join(name));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&hidden).ok()?;
        let made = file.try_lock().is_ok()
            && file.write_all(format!("{who}\n").as_bytes()).is_ok()
            && fs::rename(&hidden, &path).is_ok();
        if !made {
            let _ = fs::remove_file(&hidden);
        }
        made.then_some(Self { path, _file: file })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The files of the others that live, each with who it is. Those that others left behind go.
fn others(folder: &Path, own: Option<&Path>) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_race = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
    };
    let paths = entries.map(|entry| entry.path()).filter(is_race);
    let mut alive = Vec::new();
    for path in paths.filter(|path| Some(path.as_path()) != own) {
        let Ok(file) = File::open(&path) else { continue };
        match file.try_lock_shared() {
            Ok(()) => drop(fs::remove_file(&path)),
            Err(TryLockError::WouldBlock) => {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let name = text.lines().next().unwrap_or("another palio").to_owned();
                alive.push((path, name));
            }
            Err(TryLockError::Error(_)) => {}
        }
    }
    alive
}

/// The folder, which nobody but the user can write to; `None` where there is none and none can be
/// made.
fn folder() -> Option<PathBuf> {
    let user = getuid();
    // A session tells its folder; what is started without one (by cron) has the same if there is a
    // session.
    let told = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let of_session = PathBuf::from(format!("/run/user/{user}"));
    let folder = match told.filter(|folder| folder.is_absolute()) {
        Some(folder) => folder.join("palio"),
        None if of_session.is_dir() => of_session.join("palio"),
        None => std::env::temp_dir().join(format!("palio-{user}")),
    };
    let _ = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    // In a folder that all may write to, somebody else may have made it, or a link in its place.
    let known = fs::symlink_metadata(&folder).ok()?;
    let is_own = known.is_dir() && known.uid() == user.as_raw() && known.mode() & OTHERS_WRITE == 0;
    is_own.then_some(folder)
}
