//! Files and directories, by the blocking pool.
//!
//! The systems' calls on files block, so each of them runs on a thread of the pool that
//! [`spawn_blocking`] uses. That costs some microseconds a call: read and write much at once, with
//! [`read`] and [`write`](fn@write), or with [`BufReader`](crate::io::BufReader) and
//! [`BufWriter`](crate::io::BufWriter) around a [`File`].
//!
//! # Cancellation safety
//! A call that a thread has begun is not undone when its future is dropped: it runs to its end, and
//! nobody hears of its result. A call that was not begun yet is made all the same, also when the
//! runtime ends, whose drop waits for it; unless the system has no thread for it, and then only the
//! writes of a [`File`] are made.
//!
//! # Panics
//! All of these functions panic outside of a runtime.
//!
//! ```
//! # #[trefoil::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! use trefoil::fs;
//!
//! # let directory = std::env::temp_dir().join(format!("trefoil-fs-{}", std::process::id()));
//! # let directory = &directory;
//! fs::create_dir_all(directory).await?;
//! let path = directory.join("greeting");
//! fs::write(&path, "hello").await?;
//! assert_eq!(fs::read_to_string(&path).await?, "hello");
//! fs::remove_dir_all(directory).await?;
//! # Ok(())
//! # }
//! ```

mod directory;
mod file;
mod file_state;
mod open_options;
mod paths;

pub use directory::{DirBuilder, DirEntry, ReadDir, read_dir};
pub use file::File;
pub use open_options::OpenOptions;
#[cfg(unix)]
pub use paths::symlink;
pub use paths::{
    canonicalize, copy, create_dir, create_dir_all, hard_link, metadata, read, read_link,
    read_to_string, remove_dir, remove_dir_all, remove_file, rename, set_permissions,
    symlink_metadata, try_exists, write,
};
#[cfg(windows)]
pub use paths::{symlink_dir, symlink_file};
#[doc(no_inline)]
pub use std::fs::FileTimes;

use crate::task::{JoinError, spawn_blocking};
use std::error::Error;
use std::fmt;
use std::io;

/// Makes a call on the blocking pool.
async fn on_pool<T, F>(call: F) -> io::Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> io::Result<T> + Send + 'static,
{
    spawn_blocking(call).await.map_err(|error| io::Error::other(BackgroundTaskFailed(error)))?
}

/// The call was not made, because the runtime has shut down.
#[derive(Debug)]
struct BackgroundTaskFailed(JoinError);

impl fmt::Display for BackgroundTaskFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("background task failed")
    }
}

impl Error for BackgroundTaskFailed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}
