//! What is done with a path: `std::fs`, call by call.

use super::on_pool;
use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// A function of one path that makes the call of the same name in `std::fs`.
macro_rules! of_one_path {
    ($($(#[doc = $doc:literal])* $name:ident -> $output:ty;)*) => {$(
        $(#[doc = $doc])*
        ///
        #[doc = concat!(
            "It is [`std::fs::", stringify!($name), "`] on the blocking pool: \
             see [the module](super) for what a dropped future leaves."
        )]
        ///
        /// # Errors
        /// Those of the system.
        ///
        /// # Panics
        /// Outside of a runtime.
        pub async fn $name(path: impl AsRef<Path>) -> io::Result<$output> {
            let path = path.as_ref().to_owned();
            on_pool(move || std::fs::$name(path)).await
        }
    )*};
}

of_one_path! {
    /// The absolute path, without symbolic links.
    canonicalize -> PathBuf;
    /// Makes a directory. Its parent exists, and it does not.
    create_dir -> ();
    /// Makes a directory, and those above that do not exist. It may exist already.
    create_dir_all -> ();
    /// What the system says about a file. Of a symbolic link, it is about where that points.
    metadata -> Metadata;
    /// Reads a whole file.
    read -> Vec<u8>;
    /// Where a symbolic link points.
    read_link -> PathBuf;
    /// Reads a whole file that is UTF-8; otherwise, the error is `InvalidData`.
    read_to_string -> String;
    /// Removes an empty directory.
    remove_dir -> ();
    /// Removes a directory and all that is in it.
    remove_dir_all -> ();
    /// Removes a file.
    remove_file -> ();
    /// What the system says about a file, or about a symbolic link itself.
    symlink_metadata -> Metadata;
}

/// A function of two paths that makes such a call.
macro_rules! of_two_paths {
    ($($(#[$meta:meta])* $name:ident($from:ident, $to:ident) -> $output:ty = $call:path;)*) => {$(
        $(#[$meta])*
        ///
        #[doc = concat!(
            "It is `", stringify!($call), "` on the blocking pool: see [the module](super) for \
             what a dropped future leaves."
        )]
        ///
        /// # Errors
        /// Those of the system.
        ///
        /// # Panics
        /// Outside of a runtime.
        pub async fn $name(
            $from: impl AsRef<Path>,
            $to: impl AsRef<Path>,
        ) -> io::Result<$output> {
            let $from = $from.as_ref().to_owned();
            let $to = $to.as_ref().to_owned();
            on_pool(move || $call($from, $to)).await
        }
    )*};
}

of_two_paths! {
    /// Copies a file with its permissions, and returns its length. What was at `to` is replaced.
    copy(from, to) -> u64 = std::fs::copy;
    /// Makes a second name for a file.
    hard_link(original, link) -> () = std::fs::hard_link;
    /// Gives a file another name. On Unix, what was at `to` is replaced.
    rename(from, to) -> () = std::fs::rename;
    /// Makes a symbolic link that points to `original`.
    #[cfg(unix)]
    symlink(original, link) -> () = std::os::unix::fs::symlink;
    /// Makes a symbolic link that points to the directory `original`.
    #[cfg(windows)]
    symlink_dir(original, link) -> () = std::os::windows::fs::symlink_dir;
    /// Makes a symbolic link that points to the file `original`.
    #[cfg(windows)]
    symlink_file(original, link) -> () = std::os::windows::fs::symlink_file;
}

/// Sets a file's permissions, as [`std::fs::set_permissions`] on the blocking pool.
///
/// # Errors
/// Those of the system.
///
/// # Panics
/// Outside of a runtime.
pub async fn set_permissions(path: impl AsRef<Path>, perm: Permissions) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::set_permissions(path, perm)).await
}

/// Whether there is a file at `path`, as [`Path::try_exists`] on the blocking pool. A symbolic link
/// that points to nothing is none.
///
/// # Errors
/// Those of the system, if it does not say whether there is one.
///
/// # Panics
/// Outside of a runtime.
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref().to_owned();
    on_pool(move || path.try_exists()).await
}

/// Writes a whole file, which is made if there is none and replaced otherwise, as
/// [`std::fs::write`] on the blocking pool. The contents are copied for it.
///
/// # Errors
/// Those of the system.
///
/// # Panics
/// Outside of a runtime.
///
/// # Cancellation safety
/// If the future is dropped before it is done, the file may be written later, or in part.
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let contents = contents.as_ref().to_vec();
    on_pool(move || std::fs::write(path, contents)).await
}
