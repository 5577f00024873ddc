use super::addr::of_path;
use super::{SocketAddr, UnixStream};
use crate::net::must_not_block;
use crate::reactor::{Direction, Interest, Source};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll, ready};

/// A Unix socket that accepts connections.
///
/// The file of its path stays when it is dropped, and keeps others from binding there.
///
/// ```no_run
/// use trefoil::net::UnixListener;
///
/// # async fn f() -> std::io::Result<()> {
/// let listener = UnixListener::bind("/tmp/service.sock")?;
/// loop {
///     let (stream, _addr) = listener.accept().await?;
///     trefoil::spawn(async move { println!("{stream:?}") });
/// }
/// # }
/// ```
pub struct UnixListener {
    io: Source<mio::net::UnixListener>,
}

impl UnixListener {
    /// Listens at a path. On Linux, a path that begins with NUL is an abstract name.
    ///
    /// # Errors
    /// Those of the system. A file that exists is one.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        Self::of_mio(mio::net::UnixListener::bind_addr(&of_path(path.as_ref())?)?)
    }

    /// As [`bind`](Self::bind), at an address.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    ///
    /// # Panics
    /// As [`bind`](Self::bind).
    #[track_caller]
    pub fn bind_addr(addr: &SocketAddr) -> io::Result<Self> {
        Self::of_mio(mio::net::UnixListener::bind_addr(&addr.clone().into())?)
    }

    #[track_caller]
    pub(super) fn of_mio(listener: mio::net::UnixListener) -> io::Result<Self> {
        Ok(Self { io: Source::new(listener, Interest::READABLE)? })
    }

    /// Takes a listener of the standard library, which must not be in blocking mode.
    ///
    /// # Errors
    /// `InvalidInput` if it is in blocking mode, and those of the system.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn from_std(listener: net::UnixListener) -> io::Result<Self> {
        must_not_block(&listener)?;
        Self::of_mio(mio::net::UnixListener::from_std(listener))
    }

    /// Gives the socket to the standard library's listener. It is not in blocking mode.
    ///
    /// # Errors
    /// If the descriptor was closed by somebody else.
    pub fn into_std(self) -> io::Result<net::UnixListener> {
        Ok(self.io.into_inner()?.into())
    }

    /// The address at which this listens.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(Into::into)
    }

    /// The error of the socket that nobody has fetched yet, if there is one.
    ///
    /// # Errors
    /// Those of the system.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Waits for a connection, and returns it with the address of the other side.
    ///
    /// # Errors
    /// Those of the system: see [`TcpListener`](crate::net::TcpListener#errors-of-accept).
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    ///
    /// # Cancellation safety
    /// No connection is lost if the future is dropped.
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let accept = || self.io.accept();
        let (stream, addr) = self.io.registration().async_io(Interest::READABLE, accept).await?;
        Ok((UnixStream::of_accepted(stream)?, addr.into()))
    }

    /// Polls for [`accept`](Self::accept). The last caller is woken.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    ///
    /// # Panics
    /// As [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        let accept = || self.io.accept();
        let (stream, addr) = ready!(self.io.registration().poll_io(cx, Direction::Read, accept))?;
        Poll::Ready(Ok((UnixStream::of_accepted(stream)?, addr.into())))
    }
}

impl TryFrom<net::UnixListener> for UnixListener {
    type Error = io::Error;

    /// As [`UnixListener::from_std`].
    fn try_from(listener: net::UnixListener) -> io::Result<Self> {
        Self::from_std(listener)
    }
}

impl fmt::Debug for UnixListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (*self.io).fmt(f)
    }
}

impl AsFd for UnixListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl AsRawFd for UnixListener {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}
