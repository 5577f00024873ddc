use super::addr::of_path;
use super::{UnixDatagram, UnixListener, UnixStream};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net;
use std::path::Path;

/// A Unix socket that is bound before it listens, connects or sends.
pub struct UnixSocket {
    inner: socket2::Socket,
    is_datagram: bool,
}

impl UnixSocket {
    /// A socket for datagrams.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new_datagram() -> io::Result<Self> {
        Self::new(socket2::Type::DGRAM)
    }

    /// A socket for streams.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new_stream() -> io::Result<Self> {
        Self::new(socket2::Type::STREAM)
    }

    fn new(kind: socket2::Type) -> io::Result<Self> {
        let inner = socket2::Socket::new(socket2::Domain::UNIX, kind, None)?;
        inner.set_nonblocking(true)?;
        Ok(Self { inner, is_datagram: kind == socket2::Type::DGRAM })
    }

    /// Binds the socket to a path. On Linux, a path that begins with NUL is an abstract name.
    ///
    /// # Errors
    /// Those of the system.
    pub fn bind(&self, path: impl AsRef<Path>) -> io::Result<()> {
        of_path(path.as_ref())?;
        self.inner.bind(&socket2::SockAddr::unix(path)?)
    }

    /// Listens. So many connections wait in the system at most.
    ///
    /// # Errors
    /// Those of the system; and if it is a socket for datagrams.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<UnixListener> {
        self.must_be(false, "listen")?;
        self.inner.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        let listener = net::UnixListener::from(OwnedFd::from(self.inner));
        UnixListener::of_mio(mio::net::UnixListener::from_std(listener))
    }

    /// Connects to a path.
    ///
    /// # Errors
    /// Those of the system; and if it is a socket for datagrams.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    ///
    /// # Cancellation safety
    /// There is no connection if the future is dropped.
    pub async fn connect(self, path: impl AsRef<Path>) -> io::Result<UnixStream> {
        self.must_be(false, "connect")?;
        // As in `bind`: what is called next would connect to what is before a NUL.
        of_path(path.as_ref())?;
        let in_progress = rustix::io::Errno::INPROGRESS.raw_os_error();
        if let Err(error) = self.inner.connect(&socket2::SockAddr::unix(path)?)
            && error.raw_os_error() != Some(in_progress)
        {
            return Err(error);
        }
        let stream = net::UnixStream::from(OwnedFd::from(self.inner));
        UnixStream::of_connecting(mio::net::UnixStream::from_std(stream)).await
    }

    /// A socket for datagrams, with the path that this one is bound to.
    ///
    /// # Errors
    /// Those of the system; and if it is a socket for streams.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn datagram(self) -> io::Result<UnixDatagram> {
        self.must_be(true, "datagram")?;
        let socket = net::UnixDatagram::from(OwnedFd::from(self.inner));
        UnixDatagram::of_mio(mio::net::UnixDatagram::from_std(socket))
    }

    fn must_be(&self, datagram: bool, method: &str) -> io::Result<()> {
        if self.is_datagram == datagram {
            return Ok(());
        }
        let kind = if self.is_datagram { "datagram" } else { "stream" };
        Err(io::Error::other(format!("{method} cannot be called on a {kind} socket")))
    }
}

impl fmt::Debug for UnixSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl AsFd for UnixSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl AsRawFd for UnixSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.inner.as_raw_fd()
    }
}

impl IntoRawFd for UnixSocket {
    fn into_raw_fd(self) -> RawFd {
        self.inner.into_raw_fd()
    }
}

impl FromRawFd for UnixSocket {
    /// Takes a socket that does not block.
    unsafe fn from_raw_fd(fd: RawFd) -> Self {
        // SAFETY: the caller's promise is the one that is asked for here: the descriptor is open,
        // and the caller's to give.
        let inner = unsafe { socket2::Socket::from_raw_fd(fd) };
        let is_datagram = inner.r#type().is_ok_and(|kind| kind == socket2::Type::DGRAM);
        Self { inner, is_datagram }
    }
}
