use super::SocketAddr;
use super::addr::of_path;
use crate::net::datagrams::datagrams;
use crate::net::must_not_block;
use crate::reactor::Source;
use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll, ready};

/// A Unix socket for datagrams.
///
/// ```
/// use trefoil::net::UnixDatagram;
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (a, b) = UnixDatagram::pair()?;
/// a.send(b"hello").await?;
/// let mut buf = [0; 16];
/// let count = b.recv(&mut buf).await?;
/// assert_eq!(&buf[..count], b"hello");
/// # Ok(())
/// # }
/// ```
pub struct UnixDatagram {
    io: Source<mio::net::UnixDatagram>,
}

datagrams!(UnixDatagram, SocketAddr);

impl UnixDatagram {
    /// A socket that is bound to a path. On Linux, a path that begins with NUL is an abstract name.
    ///
    /// # Errors
    /// Those of the system. A file that exists is one.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        Self::of_mio(mio::net::UnixDatagram::bind_addr(&of_path(path.as_ref())?)?)
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
        let (one, other) = mio::net::UnixDatagram::pair()?;
        let both = (Self::of_mio(one)?, Self::of_mio(other)?);
        both.0.io.registration().assume(Ready::WRITABLE);
        both.1.io.registration().assume(Ready::WRITABLE);
        Ok(both)
    }

    /// A socket without an address.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn unbound() -> io::Result<Self> {
        Self::of_mio(mio::net::UnixDatagram::unbound()?)
    }

    #[track_caller]
    pub(super) fn of_mio(socket: mio::net::UnixDatagram) -> io::Result<Self> {
        Ok(Self { io: Source::that_never_closes(socket, Interest::READABLE | Interest::WRITABLE)? })
    }

    /// Takes a socket of the standard library, which must not be in blocking mode.
    ///
    /// # Errors
    /// `InvalidInput` if it is in blocking mode, and those of the system.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn from_std(socket: net::UnixDatagram) -> io::Result<Self> {
        must_not_block(&socket)?;
        Self::of_mio(mio::net::UnixDatagram::from_std(socket))
    }

    /// Connects the socket to a path: it then receives only what comes from there.
    ///
    /// # Errors
    /// Those of the system.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        SockRef::from(self).connect(&address(path.as_ref())?)
    }

    /// Sends a datagram to a path.
    ///
    /// While the receiver has no room, a socket that is not connected to it has no event to wait
    /// for: for the system, it can be written to. On Linux, each attempt that fails even brings the
    /// event that lets the next one be made, so that a task which waits here keeps a thread busy,
    /// although it leaves others their turn. To wait at rest, [`connect`](Self::connect) the socket
    /// and [`send`](Self::send); or make attempts by [`try_send_to`](Self::try_send_to), as often
    /// as is good for the program.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it is done, nothing was sent.
    pub async fn send_to<P: AsRef<Path>>(&self, buf: &[u8], target: P) -> io::Result<usize> {
        let target = address(target.as_ref())?;
        let send = || SockRef::from(self).send_to(buf, &target);
        self.io.registration().async_io(Interest::WRITABLE, send).await
    }

    /// Polls for [`send_to`](Self::send_to), which says what a wait for room costs. The last caller
    /// that would send is woken.
    ///
    /// # Errors
    /// As [`send_to`](Self::send_to).
    pub fn poll_send_to<P: AsRef<Path>>(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: P,
    ) -> Poll<io::Result<usize>> {
        let target = address(target.as_ref())?;
        let send = || SockRef::from(self).send_to(buf, &target);
        self.io.registration().poll_io(cx, Direction::Write, send)
    }

    /// As [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room, and those of the system.
    pub fn try_send_to<P: AsRef<Path>>(&self, buf: &[u8], target: P) -> io::Result<usize> {
        let target = address(target.as_ref())?;
        let send = || SockRef::from(self).send_to(buf, &target);
        self.io.registration().try_io(Interest::WRITABLE, send)
    }

    fn receive_from(&self, place: &mut [MaybeUninit<u8>]) -> io::Result<(usize, SocketAddr)> {
        let (count, addr) = SockRef::from(self).recv_from(place)?;
        let addr = match addr.as_unix() {
            Some(addr) => addr,
            // A sender without a name has no address at all.
            None => net::SocketAddr::from_pathname("")?,
        };
        Ok((count, addr.into()))
    }

    /// Ends reads, writes or both.
    ///
    /// # Errors
    /// Those of the system.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.shutdown(how)
    }
}

fn address(path: &Path) -> io::Result<socket2::SockAddr> {
    // A path with a NUL inside would be cut off there.
    of_path(path)?;
    // It takes abstract names in the same way.
    socket2::SockAddr::unix(path)
}
