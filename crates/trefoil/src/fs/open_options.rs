//! `OpenOptions`: how a file is opened.

use super::{File, on_pool};
use std::io;
use std::path::Path;

/// How a file is opened: [`std::fs::OpenOptions`], with a call that does not block.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use trefoil::fs::OpenOptions;
/// use trefoil::io::AsyncWriteExt;
///
/// let mut file = OpenOptions::new().write(true).open("/dev/null").await?;
/// file.write_all(b"gone").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions(std::fs::OpenOptions);

/// Passes an option on.
macro_rules! options {
    ($($(#[$meta:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$meta])*
        pub fn $name(&mut self, $name: $type) -> &mut Self {
            self.0.$name($name);
            self
        }
    )*};
}

impl OpenOptions {
    /// Options that are all off.
    pub fn new() -> Self {
        Self(std::fs::OpenOptions::new())
    }

    options! {
        /// Whether the file can be read.
        read: bool;
        /// Whether the file can be written.
        write: bool;
        /// Whether each write goes to the file's end.
        append: bool;
        /// Whether the file is emptied.
        truncate: bool;
        /// Whether the file is made if there is none.
        create: bool;
        /// Whether the file is made, and must not exist.
        create_new: bool;
    }

    /// Opens a file.
    ///
    /// # Errors
    /// Those of [`std::fs::OpenOptions::open`].
    ///
    /// # Panics
    /// Outside of a runtime.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it is done, the file may be made and emptied all the same.
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let (options, path) = (self.0.clone(), path.as_ref().to_owned());
        on_pool(move || options.open(path)).await.map(File::from_std)
    }
}

#[cfg(unix)]
impl OpenOptions {
    /// The permissions of a file that is made.
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        std::os::unix::fs::OpenOptionsExt::mode(&mut self.0, mode);
        self
    }

    /// More flags for the system's call.
    pub fn custom_flags(&mut self, flags: i32) -> &mut Self {
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut self.0, flags);
        self
    }
}

/// Passes an option of Windows on.
#[cfg(windows)]
macro_rules! windows_options {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        pub fn $name(&mut self, $name: u32) -> &mut Self {
            std::os::windows::fs::OpenOptionsExt::$name(&mut self.0, $name);
            self
        }
    )*};
}

#[cfg(windows)]
impl OpenOptions {
    windows_options! {
        /// The access mode, instead of that of `read` and `write`.
        access_mode;
        /// What others may do with the file meanwhile.
        share_mode;
        /// More flags for the system's call.
        custom_flags;
        /// The attributes of a file that is made.
        attributes;
        /// What a server of a named pipe may learn of this process.
        security_qos_flags;
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl From<std::fs::OpenOptions> for OpenOptions {
    fn from(options: std::fs::OpenOptions) -> Self {
        Self(options)
    }
}
