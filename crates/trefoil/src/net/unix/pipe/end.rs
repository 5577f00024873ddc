//! What both ends of a pipe have in common.

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use std::io;
use std::os::fd::BorrowedFd;

pub(super) fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// # Errors
/// `InvalidInput` if it is no pipe, and those of the system.
pub(super) fn must_be_pipe(fd: BorrowedFd<'_>) -> io::Result<()> {
    if FileType::from_raw_mode(fstat(fd)?.st_mode) == FileType::Fifo {
        return Ok(());
    }
    Err(invalid("the file is not a pipe"))
}

/// Checks that this is a pipe that was opened for `one_way`, or for both ways, and has its calls
/// not block.
///
/// # Errors
/// `InvalidInput` if it is not, and those of the system.
pub(super) fn prepare(fd: BorrowedFd<'_>, one_way: OFlags) -> io::Result<()> {
    must_be_pipe(fd)?;
    let flags = fcntl_getfl(fd)?;
    // This is no set of bits: the flag for reads alone is zero.
    let access = flags & OFlags::RWMODE;
    if access != one_way && access != OFlags::RDWR {
        return Err(invalid("this end of the pipe was opened for the other direction only"));
    }
    set_flags(fd, flags, flags | OFlags::NONBLOCK)
}

/// # Errors
/// Those of the system.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>, nonblocking: bool) -> io::Result<()> {
    let flags = fcntl_getfl(fd)?;
    let mut wanted = flags;
    wanted.set(OFlags::NONBLOCK, nonblocking);
    set_flags(fd, flags, wanted)
}

fn set_flags(fd: BorrowedFd<'_>, flags: OFlags, wanted: OFlags) -> io::Result<()> {
    if wanted != flags {
        fcntl_setfl(fd, wanted)?;
    }
    Ok(())
}

/// How an end, whose type has a field `io: Source<_>`, is made, given away, and waited for.
macro_rules! end {
    ($End:ident, $interest:expr, $flag:expr, $ways:literal) => {
        impl $End {
            #[track_caller]
            pub(super) fn of_mio(end: mio::unix::pipe::$End) -> io::Result<Self> {
                Ok(Self { io: Source::that_never_closes(end, $interest)? })
            }

            /// Takes a pipe's end from a file, which need not be in non-blocking mode.
            ///
            /// # Errors
            #[doc = concat!(
                "`InvalidInput` if it is no pipe, or not open for ", $ways, ", and those of the system."
            )]
            ///
            /// # Panics
            /// If the thread is in no runtime, or the runtime has no I/O.
            #[track_caller]
            pub fn from_file(file: File) -> io::Result<Self> {
                Self::from_owned_fd(file.into())
            }

            /// As [`from_file`](Self::from_file), from a descriptor.
            ///
            /// # Errors
            /// As [`from_file`](Self::from_file).
            ///
            /// # Panics
            /// As [`from_file`](Self::from_file).
            #[track_caller]
            pub fn from_owned_fd(owned_fd: OwnedFd) -> io::Result<Self> {
                prepare(owned_fd.as_fd(), $flag)?;
                Self::from_owned_fd_unchecked(owned_fd)
            }

            /// As [`from_file`](Self::from_file), without the checks, and without the change of
            /// mode. A file that is in blocking mode blocks its worker.
            ///
            /// # Errors
            /// Those of the system.
            ///
            /// # Panics
            /// As [`from_file`](Self::from_file).
            #[track_caller]
            pub fn from_file_unchecked(file: File) -> io::Result<Self> {
                Self::from_owned_fd_unchecked(file.into())
            }

            /// As [`from_file_unchecked`](Self::from_file_unchecked), from a descriptor.
            ///
            /// # Errors
            /// Those of the system.
            ///
            /// # Panics
            /// As [`from_file`](Self::from_file).
            #[track_caller]
            pub fn from_owned_fd_unchecked(owned_fd: OwnedFd) -> io::Result<Self> {
                Self::of_mio(owned_fd.into())
            }

            /// Gives the descriptor away, in blocking mode.
            ///
            /// # Errors
            /// Those of the system.
            pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
                let fd = self.into_nonblocking_fd()?;
                set_nonblocking(fd.as_fd(), false)?;
                Ok(fd)
            }

            /// Gives the descriptor away, in the mode that it has here: calls do not block.
            ///
            /// # Errors
            /// If the descriptor was closed by somebody else.
            pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
                self.io.into_inner().map(Into::into)
            }

            /// Waits until one of the operations in `interest` may succeed, and returns what may.
            /// A wait for what this end cannot do returns when the other end is closed.
            ///
            /// # Errors
            /// If the runtime has shut down.
            ///
            /// # Cancellation safety
            /// Nothing is lost if the future is dropped.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                Ok(self.io.registration().ready(interest).await?.ready)
            }

            /// Makes a call on the pipe, if it may succeed. If the call says that it would block,
            /// the pipe counts as not ready until the system says otherwise.
            ///
            /// # Errors
            /// `WouldBlock` if the pipe is not ready, and those of the call.
            pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
                self.io.registration().try_io($interest, || self.io.try_io(f))
            }
        }

        impl fmt::Debug for $End {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (*self.io).fmt(f)
            }
        }

        impl AsFd for $End {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.io.as_fd()
            }
        }

        impl AsRawFd for $End {
            fn as_raw_fd(&self) -> RawFd {
                self.io.as_raw_fd()
            }
        }
    };
}

pub(super) use end;
