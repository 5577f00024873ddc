//! Directories: making them, and reading what is in them.

use super::on_pool;
use crate::task::{JoinHandle, spawn_blocking};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{FileType, Metadata};
use std::future::{Future, poll_fn};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// How a directory is made: [`std::fs::DirBuilder`], with a call that does not block.
#[derive(Debug, Default)]
pub struct DirBuilder {
    recursive: bool,
    #[cfg(unix)]
    mode: Option<u32>,
}

impl DirBuilder {
    /// A builder that makes one directory whose parent exists.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether directories above that do not exist are made as well. The directory itself may
    /// exist then.
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// The permissions of directories that are made.
    #[cfg(unix)]
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = Some(mode);
        self
    }

    /// Makes the directory.
    ///
    /// # Errors
    /// Those of [`std::fs::DirBuilder::create`].
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn create(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref().to_owned();
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(self.recursive);
        #[cfg(unix)]
        if let Some(mode) = self.mode {
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
        }
        on_pool(move || builder.create(path)).await
    }
}

/// How many entries are read by one call on the pool.
const BATCH: usize = 32;

/// Reads what is in a directory.
///
/// # Errors
/// Those of [`std::fs::read_dir`].
///
/// # Panics
/// Outside of a runtime.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let mut entries = trefoil::fs::read_dir("/").await?;
/// let mut names = Vec::new();
/// while let Some(entry) = entries.next_entry().await? {
///     names.push(entry.file_name());
/// }
/// assert!(names.iter().any(|name| name == "dev"));
/// # Ok(())
/// # }
/// ```
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref().to_owned();
    // The first entries come with the same call.
    let batch = on_pool(move || {
        let mut batch = Batch { entries: VecDeque::new(), rest: Some(std::fs::read_dir(path)?) };
        batch.fill();
        Ok(batch)
    });
    Ok(ReadDir { state: State::Idle(batch.await?) })
}

/// What is in a directory: see [`read_dir`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct ReadDir {
    state: State,
}

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "std's directory is large on Windows, and there is one `State` in an open directory"
)]
enum State {
    Idle(Batch),
    Busy(JoinHandle<Batch>),
}

/// Entries that were read, and what is left of the directory.
#[derive(Debug, Default)]
struct Batch {
    entries: VecDeque<io::Result<DirEntry>>,
    /// `None` once the end was seen.
    rest: Option<std::fs::ReadDir>,
}

impl Batch {
    /// Reads more. It stops at an error, which is an entry like others, so that a caller who reads
    /// on learns whether there is more.
    fn fill(&mut self) {
        let Some(rest) = &mut self.rest else { return };
        for _ in 0..BATCH {
            let Some(entry) = rest.next() else {
                self.rest = None;
                return;
            };
            let is_error = entry.is_err();
            self.entries.push_back(entry.map(|std| {
                // Most systems say it with the name, so it costs nothing here.
                let file_type = std.file_type().ok();
                DirEntry { std: Arc::new(std), file_type }
            }));
            if is_error {
                return;
            }
        }
    }
}

impl ReadDir {
    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// Those of the system. There may be more entries behind one.
    ///
    /// # Cancellation safety
    /// No entry is lost: a call that is under way is waited for by the next one.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// Polls for the next entry: see [`next_entry`](Self::next_entry).
    ///
    /// # Errors
    /// As `next_entry`.
    pub fn poll_next_entry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        loop {
            match &mut self.state {
                State::Idle(batch) => {
                    if let Some(entry) = batch.entries.pop_front() {
                        return Poll::Ready(entry.map(Some));
                    }
                    if batch.rest.is_none() {
                        return Poll::Ready(Ok(None));
                    }
                    let mut batch = std::mem::take(batch);
                    self.state = State::Busy(spawn_blocking(move || {
                        batch.fill();
                        batch
                    }));
                }
                State::Busy(call) => {
                    let done = ready!(Pin::new(call).poll(cx));
                    // A call that has failed has lost the directory: nothing comes after its error.
                    self.state = State::Idle(Batch::default());
                    self.state = State::Idle(done?);
                }
            }
        }
    }
}

/// An entry of a directory: see [`ReadDir::next_entry`].
#[derive(Debug)]
pub struct DirEntry {
    std: Arc<std::fs::DirEntry>,
    file_type: Option<FileType>,
}

impl DirEntry {
    /// The entry's path: that of the directory, as it was given, with the entry's name.
    pub fn path(&self) -> PathBuf {
        self.std.path()
    }

    /// The entry's name.
    pub fn file_name(&self) -> OsString {
        self.std.file_name()
    }

    /// What the system says about the entry, or about a symbolic link itself.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = Arc::clone(&self.std);
        on_pool(move || std.metadata()).await
    }

    /// What kind of file the entry is. Most systems have said it with the name.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// # Panics
    /// Outside of a runtime, if the system has to be asked.
    pub async fn file_type(&self) -> io::Result<FileType> {
        match self.file_type {
            Some(file_type) => Ok(file_type),
            None => {
                let std = Arc::clone(&self.std);
                on_pool(move || std.file_type()).await
            }
        }
    }

    /// The entry's inode.
    #[cfg(unix)]
    pub fn ino(&self) -> u64 {
        std::os::unix::fs::DirEntryExt::ino(&*self.std)
    }
}
