//! The lease: only one `palio run` at a time may race into a database.
//!
//! It is a lock on a file beside the database, so it ends with the process that holds it, however
//! that dies. The file says who holds it, and which contender is running, so that a contender left
//! behind by a killed Palio can be ended.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The right to race, until dropped.
#[derive(Debug)]
pub struct Lease {
    file: File,
    path: PathBuf,
    holder: String,
}

impl Lease {
    /// Takes the lease of the database at `database` and ends what an earlier, killed holder left
    /// running.
    ///
    /// # Errors
    /// Another process holds it (the message says which), or the file cannot be written.
    pub fn take(database: &Path) -> Result<Self> {
        // A database has one lease, by whatever name it is called.
        let database = database.canonicalize().unwrap_or_else(|_| database.to_owned());
        let mut path = database.into_os_string();
        path.push(".lease");
        let path = Path::new(&path);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .with_context(|| {
                format!("cannot write {}: choose another database with --db", path.display())
            })?;
        let mut earlier = String::new();
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                // The holder wrote its name before it raced anything.
                let _ = file.read_to_string(&mut earlier);
                let holder = earlier.lines().next().unwrap_or("another process").to_owned();
                bail!(
                    "{holder} is racing into this database now: two races at once would disturb each other. Wait for \
                     it, or stop it"
                );
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        let _ = file.read_to_string(&mut earlier);
        end_leftover(&earlier);
        let holder = format!("palio (process {})", std::process::id());
        let mut lease = Self { file, path: path.to_owned(), holder };
        lease.write("")?;
        Ok(lease)
    }

    /// Notes the contender that is being started.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note_child(&mut self, id: u32) -> Result<()> {
        let line = birth(id).map_or_else(String::new, |birth| format!("{id} {birth}\n"));
        self.write(&line)
    }

    fn write(&mut self, child: &str) -> Result<()> {
        let text = format!("{}\n{child}", self.holder);
        // Written over and then cut, never emptied: whoever reads it meanwhile still learns the
        // holder.
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(text.as_bytes()))
            .and_then(|()| self.file.set_len(text.len() as u64))
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // An empty file says that nothing was left behind.
        let _ = self.file.set_len(0);
    }
}

/// When a process was started, in clock ticks since boot: with its id, a name that is never used
/// again.
fn birth(id: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The command in parentheses may hold anything, so fields are counted from its end; the 22nd is
    // the start time.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

/// How long what an earlier Palio left running has to end with all that descends from it.
const LEFTOVER_GRACE: Duration = Duration::from_secs(2);

fn end_leftover(earlier: &str) {
    let Some((id, born)) = earlier.lines().nth(1).and_then(|line| line.split_once(' ')) else {
        return;
    };
    let Ok(id) = id.parse::<u32>() else { return };
    if birth(id).as_deref() == Some(born)
        && let Ok(group) = i32::try_from(id)
    {
        // It was started as the leader of its group, and is a warden where there are any, which
        // ends what it watches before it ends itself.
        let group = Pid::from_raw(group);
        let _ = killpg(group, Signal::SIGTERM);
        let deadline = Instant::now() + LEFTOVER_GRACE;
        while birth(id).as_deref() == Some(born) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = killpg(group, Signal::SIGKILL);
    }
}
