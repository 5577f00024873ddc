//! The standard streams of a child, as its parent has them.

use crate::io::{AsyncRead, AsyncWrite, ReadBuf};
use crate::net::unix::pipe::{Receiver, Sender, set_nonblocking};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::process::{self, Stdio};
use std::task::{Context, Poll};

/// The pipe to a child's standard input. The child sees the end of its input when this is dropped.
///
/// A write fails with `BrokenPipe` when nobody reads any more. `shutdown` does nothing.
#[derive(Debug)]
pub struct ChildStdin(Sender);

/// The pipe from a child's standard output.
///
/// It ends when all processes have closed it that have it, those included that the child has
/// started.
#[derive(Debug)]
pub struct ChildStdout(Receiver);

/// The pipe from a child's stream for errors. It ends as [`ChildStdout`] does.
#[derive(Debug)]
pub struct ChildStderr(Receiver);

macro_rules! stream {
    ($Stream:ident, $End:ident) => {
        impl $Stream {
            /// Takes a stream of the standard library, and puts it into non-blocking mode.
            ///
            /// # Errors
            /// Those of the system.
            ///
            /// # Panics
            /// If the thread is in no runtime, or the runtime has no I/O.
            #[track_caller]
            pub fn from_std(inner: process::$Stream) -> io::Result<Self> {
                let fd = OwnedFd::from(inner);
                set_nonblocking(fd.as_fd(), true)?;
                $End::from_owned_fd_unchecked(fd).map(Self)
            }

            /// Gives the descriptor away, in blocking mode.
            ///
            /// # Errors
            /// Those of the system.
            pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                self.0.into_blocking_fd()
            }
        }

        impl TryFrom<$Stream> for Stdio {
            type Error = io::Error;

            /// For a stream of another child. It is put into blocking mode, which is what programs
            /// expect.
            fn try_from(stream: $Stream) -> io::Result<Self> {
                stream.into_owned_fd().map(Self::from)
            }
        }

        impl AsFd for $Stream {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.0.as_fd()
            }
        }

        impl AsRawFd for $Stream {
            fn as_raw_fd(&self) -> RawFd {
                self.0.as_raw_fd()
            }
        }
    };
}

macro_rules! read {
    ($Stream:ident) => {
        impl AsyncRead for $Stream {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                Pin::new(&mut self.get_mut().0).poll_read(cx, buf)
            }
        }
    };
}

stream!(ChildStdin, Sender);
stream!(ChildStdout, Receiver);
stream!(ChildStderr, Receiver);
read!(ChildStdout);
read!(ChildStderr);

impl AsyncWrite for ChildStdin {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
    }
}
