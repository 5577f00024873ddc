use super::SocketAddr;
use super::addr::of_path;
use super::halves::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::net::connection::connection;
use crate::net::must_not_block;
use crate::reactor::Source;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A connection of Unix sockets.
///
/// ```
/// use trefoil::io::{AsyncReadExt, AsyncWriteExt};
/// use trefoil::net::UnixStream;
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (mut a, mut b) = UnixStream::pair()?;
/// a.write_all(b"hello").await?;
/// drop(a);
/// let mut text = String::new();
/// b.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # }
/// ```
pub struct UnixStream {
    io: Source<mio::net::UnixStream>,
}

/// A read ends at a message that brings descriptors or other credentials, whatever comes behind it.
fn reads_are_exhaustive(_event: &Event) -> bool {
    false
}

connection!(UnixStream, short_reads: reads_are_exhaustive);

impl UnixStream {
    /// Connects to a path. On Linux, a path that begins with NUL is an abstract name.
    ///
    /// # Errors
    /// Those of the system. A listener that already has as many connections waiting as it allows is
    /// one, of kind `WouldBlock`.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    ///
    /// # Cancellation safety
    /// There is no connection if the future is dropped.
    pub async fn connect<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        Self::of_connecting(mio::net::UnixStream::connect_addr(&of_path(path.as_ref())?)?).await
    }

    /// As [`connect`](Self::connect), to an address.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    ///
    /// # Panics
    /// As [`connect`](Self::connect).
    ///
    /// # Cancellation safety
    /// As [`connect`](Self::connect).
    pub async fn connect_addr(addr: &SocketAddr) -> io::Result<Self> {
        Self::of_connecting(mio::net::UnixStream::connect_addr(&addr.clone().into())?).await
    }

    pub(super) async fn of_connecting(stream: mio::net::UnixStream) -> io::Result<Self> {
        let stream = Self::of_mio(stream)?;
        poll_fn(|cx| stream.poll_write_ready(cx)).await?;
        match stream.take_error()? {
            None => Ok(stream),
            Some(error) => Err(error),
        }
    }

    #[track_caller]
    pub(super) fn of_mio(stream: mio::net::UnixStream) -> io::Result<Self> {
        Ok(Self { io: Source::new(stream, Interest::READABLE | Interest::WRITABLE)? })
    }

    /// Two sockets that are connected to each other.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = mio::net::UnixStream::pair()?;
        let both = (Self::of_mio(one)?, Self::of_mio(other)?);
        both.0.io.registration().assume(Ready::WRITABLE);
        both.1.io.registration().assume(Ready::WRITABLE);
        Ok(both)
    }

    /// Takes a connection of the standard library, which must not be in blocking mode.
    ///
    /// # Errors
    /// `InvalidInput` if it is in blocking mode, and those of the system.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn from_std(stream: net::UnixStream) -> io::Result<Self> {
        must_not_block(&stream)?;
        Self::of_mio(mio::net::UnixStream::from_std(stream))
    }

    /// Gives the socket to the standard library's type. It is not in blocking mode.
    ///
    /// # Errors
    /// If the descriptor was closed by somebody else.
    pub fn into_std(self) -> io::Result<net::UnixStream> {
        Ok(self.io.into_inner()?.into())
    }

    /// The address of this side.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(Into::into)
    }

    /// The address of the other side.
    ///
    /// # Errors
    /// Those of the system.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr().map(Into::into)
    }

    /// Who was at the other side when the sockets were connected.
    ///
    /// # Errors
    /// Those of the system.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn peer_cred(&self) -> io::Result<super::UCred> {
        super::UCred::of_peer(self)
    }

    /// The error of the socket that nobody has fetched yet, if there is one.
    ///
    /// # Errors
    /// Those of the system.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Two halves that borrow the connection, one for reads and one for writes. They cost nothing.
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        (ReadHalf(self), WriteHalf(self))
    }

    /// Two halves that own the connection together, for two tasks. The drop of the half that writes
    /// ends the writes, as `shutdown` does.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        halves::split(self)
    }
}

impl TryFrom<net::UnixStream> for UnixStream {
    type Error = io::Error;

    /// As [`UnixStream::from_std`].
    fn try_from(stream: net::UnixStream) -> io::Result<Self> {
        Self::from_std(stream)
    }
}
