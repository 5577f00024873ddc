use super::end::must_be_pipe;
use super::{Receiver, Sender};
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How to open a FIFO file.
///
/// ```no_run
/// use trefoil::net::unix::pipe;
///
/// # async fn f() -> std::io::Result<()> {
/// let receiver = pipe::OpenOptions::new().open_receiver("/run/service.fifo")?;
/// let sender = pipe::OpenOptions::new().open_sender("/run/service.fifo")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Only ever set where the system defines what it means.
    read_write: bool,
    unchecked: bool,
}

impl OpenOptions {
    /// For one direction each, and with a check that it is a pipe.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens either end for both directions, so that there always is an other end.
    ///
    /// A sender can then be opened when there is no receiver yet, and fails never for want of one.
    /// A receiver never sees the end of the stream, and goes on when the next sender comes. Only
    /// Linux defines this.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn read_write(&mut self, value: bool) -> &mut Self {
        self.read_write = value;
        self
    }

    /// Omits the check that the file is a pipe.
    pub fn unchecked(&mut self, value: bool) -> &mut Self {
        self.unchecked = value;
        self
    }

    /// Opens a FIFO file to read from it, whether there is a sender or not. Until there is one,
    /// reads may return zero bytes.
    ///
    /// # Errors
    /// `InvalidInput` if it is no pipe, and those of the system.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn open_receiver<P: AsRef<Path>>(&self, path: P) -> io::Result<Receiver> {
        Receiver::from_file_unchecked(self.open(path.as_ref(), true)?)
    }

    /// Opens a FIFO file to write to it.
    ///
    /// # Errors
    /// `InvalidInput` if it is no pipe, and those of the system, such as `ENXIO` if there is no
    /// receiver.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn open_sender<P: AsRef<Path>>(&self, path: P) -> io::Result<Sender> {
        Sender::from_file_unchecked(self.open(path.as_ref(), false)?)
    }

    fn open(&self, path: &Path, reads: bool) -> io::Result<File> {
        let file = fs::OpenOptions::new()
            .read(reads || self.read_write)
            .write(!reads || self.read_write)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(path)?;
        if !self.unchecked {
            must_be_pipe(file.as_fd())?;
        }
        Ok(file)
    }
}
