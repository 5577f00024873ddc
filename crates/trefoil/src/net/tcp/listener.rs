use super::TcpStream;
use crate::net::addr::first_that_works;
use crate::net::{ToSocketAddrs, must_not_block};
use crate::reactor::{Direction, Interest, Source};
use std::fmt;
use std::io;
use std::net::{self, SocketAddr};
use std::task::{Context, Poll, ready};

/// A socket that accepts connections.
///
/// ```no_run
/// use trefoil::net::TcpListener;
///
/// # async fn f() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:8080").await?;
/// loop {
///     let (stream, peer) = listener.accept().await?;
///     trefoil::spawn(async move { println!("{peer} is connected by {stream:?}") });
/// }
/// # }
/// ```
///
/// # Errors of `accept`
/// Some are of one connection, such as one that was reset before it was accepted: the next call may
/// succeed at once. Others are of the process, such as having no descriptor left. The connection
/// then waits in the system, and the next call fails at once, too, until one is free. So a loop
/// that goes on after errors should wait a little, or until it has closed something.
pub struct TcpListener {
    io: Source<mio::net::TcpListener>,
}

impl TcpListener {
    /// Listens at an address. Port 0 has the system choose one, which
    /// [`local_addr`](Self::local_addr) returns. Of several addresses, the first that works is
    /// used.
    ///
    /// Except on Windows, `SO_REUSEADDR` is set, so that a server can come back at once.
    ///
    /// # Errors
    /// Those of the lookup and of the system. An address that is in use is one.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    ///
    /// # Cancellation safety
    /// Nothing listens if the future is dropped.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        first_that_works(addr.name(), |addr| Self::of_mio(mio::net::TcpListener::bind(addr)?)).await
    }

    #[track_caller]
    pub(super) fn of_mio(listener: mio::net::TcpListener) -> io::Result<Self> {
        Ok(Self { io: Source::new(listener, Interest::READABLE)? })
    }

    /// Waits for a connection, and returns it with the address of the other side.
    ///
    /// # Errors
    /// Those of the system: see [above](Self#errors-of-accept).
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    ///
    /// # Cancellation safety
    /// No connection is lost if the future is dropped.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let accept = || self.io.accept();
        let (stream, addr) = self.io.registration().async_io(Interest::READABLE, accept).await?;
        Ok((TcpStream::of_accepted(stream)?, addr))
    }

    /// Polls for [`accept`](Self::accept). The last caller is woken.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    ///
    /// # Panics
    /// As [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let accept = || self.io.accept();
        let (stream, addr) = ready!(self.io.registration().poll_io(cx, Direction::Read, accept))?;
        Poll::Ready(Ok((TcpStream::of_accepted(stream)?, addr)))
    }

    /// Takes a listener of the standard library, which must not be in blocking mode.
    ///
    /// # Errors
    /// `InvalidInput` if it is in blocking mode, and those of the system. Windows does not tell the
    /// mode, so that a socket that blocks would block its worker there.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn from_std(listener: net::TcpListener) -> io::Result<Self> {
        must_not_block(&listener)?;
        Self::of_mio(mio::net::TcpListener::from_std(listener))
    }

    /// Gives the socket to the standard library's listener. It is not in blocking mode.
    ///
    /// # Errors
    /// If the descriptor was closed by somebody else.
    pub fn into_std(self) -> io::Result<net::TcpListener> {
        Ok(self.io.into_inner()?.into())
    }

    /// The address at which this listens.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// The option `IP_TTL`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.ttl()
    }

    /// Sets the option `IP_TTL`, which accepted connections inherit.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.set_ttl(ttl)
    }
}

impl TryFrom<net::TcpListener> for TcpListener {
    type Error = io::Error;

    /// As [`TcpListener::from_std`].
    fn try_from(listener: net::TcpListener) -> io::Result<Self> {
        Self::from_std(listener)
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (*self.io).fmt(f)
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for TcpListener {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.io.as_fd()
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for TcpListener {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.io.as_raw_fd()
    }
}
