use super::halves::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::net::addr::{Attempts, resolve};
use crate::net::connection::connection;
use crate::net::{ToSocketAddrs, must_not_block};
use crate::reactor::Source;
use socket2::SockRef;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{self, Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A TCP connection.
///
/// It is read with the methods of [`AsyncReadExt`](crate::io::AsyncReadExt) and written with those
/// of [`AsyncWriteExt`](crate::io::AsyncWriteExt). `shutdown` ends the writes, and the drop closes
/// the connection.
///
/// ```
/// use trefoil::io::{AsyncReadExt, AsyncWriteExt};
/// use trefoil::net::{TcpListener, TcpStream};
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let mut client = TcpStream::connect(listener.local_addr()?).await?;
/// let (mut server, _) = listener.accept().await?;
///
/// client.write_all(b"ping").await?;
/// client.shutdown().await?;
/// let mut all = Vec::new();
/// server.read_to_end(&mut all).await?;
/// assert_eq!(all, b"ping");
/// # Ok(())
/// # }
/// ```
pub struct TcpStream {
    io: Source<mio::net::TcpStream>,
}

/// What a connection is registered for. Urgent data has a read end early, at its mark: see
/// `reads_are_exhaustive`.
#[cfg(any(target_os = "linux", target_os = "android"))]
const INTEREST: Interest = Interest::READABLE.add(Interest::WRITABLE).add(Interest::PRIORITY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const INTEREST: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// Whether a read that returns less than there was room for has taken all that there was.
///
/// It has, but for a read that ends at the mark of urgent data. On Linux, the system reports that
/// there is such data. If it has done so before this read, the connection is read with care from
/// then on; if it does so later, it reports what there is to read as well.
fn reads_are_exhaustive(event: &Event) -> bool {
    cfg!(any(target_os = "linux", target_os = "android")) && !event.was_urgent
}

connection!(TcpStream, short_reads: reads_are_exhaustive);

impl TcpStream {
    /// Connects to an address. Of several addresses, the first that works is used.
    ///
    /// # Errors
    /// Those of the lookup, or those of the last address.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    ///
    /// # Cancellation safety
    /// There is no connection if the future is dropped. The other side may have seen one.
    pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        let mut attempts = Attempts::default();
        for addr in resolve(addr.name()).await? {
            let connected = match mio::net::TcpStream::connect(addr) {
                Ok(stream) => Self::of_connecting(stream).await,
                Err(error) => Err(error),
            };
            match connected {
                Ok(stream) => return Ok(stream),
                Err(error) => attempts.failed(error),
            }
        }
        Err(attempts.error())
    }

    /// Waits until a connection is there.
    pub(super) async fn of_connecting(stream: mio::net::TcpStream) -> io::Result<Self> {
        let stream = Self::of_mio(stream)?;
        // A connection that is there, or was refused, can be written to.
        poll_fn(|cx| stream.poll_write_ready(cx)).await?;
        match stream.take_error()? {
            None => Ok(stream),
            Some(error) => Err(error),
        }
    }

    #[track_caller]
    pub(super) fn of_mio(stream: mio::net::TcpStream) -> io::Result<Self> {
        Ok(Self { io: Source::of_connection(stream, INTEREST)? })
    }

    /// Takes a connection of the standard library, which must not be in blocking mode.
    ///
    /// # Errors
    /// `InvalidInput` if it is in blocking mode, and those of the system. Windows does not tell the
    /// mode, so that a socket that blocks would block its worker there.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn from_std(stream: net::TcpStream) -> io::Result<Self> {
        must_not_block(&stream)?;
        Self::of_mio(mio::net::TcpStream::from_std(stream))
    }

    /// Gives the socket to the standard library's type. It is not in blocking mode.
    ///
    /// # Errors
    /// If the descriptor was closed by somebody else.
    pub fn into_std(self) -> io::Result<net::TcpStream> {
        Ok(self.io.into_inner()?.into())
    }

    /// The address of this side.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// The address of the other side.
    ///
    /// # Errors
    /// Those of the system. A connection that is over may have none.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr()
    }

    /// The error of the socket that nobody has fetched yet, if there is one.
    ///
    /// # Errors
    /// Those of the system.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Reads what there is, and leaves it there for the next read.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.registration().async_io(Interest::READABLE, || self.io.peek(buf)).await
    }

    /// Polls for [`peek`](Self::peek). The last caller that would read is woken.
    ///
    /// # Errors
    /// Those of the system.
    pub fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        let count = ready!(self.io.registration().poll_io(cx, Direction::Read, || {
            // SAFETY: `peek` writes nothing but what it has received.
            let place = unsafe { buf.unfilled_mut() };
            self.io.try_io(|| SockRef::from(&*self.io).peek(place))
        }))?;
        // SAFETY: so many bytes were written to the front of the unfilled part.
        unsafe { buf.assume_init(count) };
        buf.advance(count);
        Poll::Ready(Ok(count))
    }

    /// The option `TCP_NODELAY`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.io.nodelay()
    }

    /// Sets the option `TCP_NODELAY`: with it, small writes are sent at once.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.io.set_nodelay(nodelay)
    }

    /// The option `TCP_QUICKACK`.
    ///
    /// # Errors
    /// Those of the system.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia"))]
    pub fn quickack(&self) -> io::Result<bool> {
        SockRef::from(self).tcp_quickack()
    }

    /// Sets the option `TCP_QUICKACK`. The system may change it back at any time.
    ///
    /// # Errors
    /// Those of the system.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia"))]
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        SockRef::from(self).set_tcp_quickack(quickack)
    }

    /// The option `SO_LINGER`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(&*self.io).linger()
    }

    /// Sets the option `SO_LINGER`. With it, closing the socket blocks the thread, for so long at
    /// most, until what was written has arrived. Only zero, which [`set_zero_linger`] sets, never
    /// blocks.
    ///
    /// [`set_zero_linger`]: Self::set_zero_linger
    ///
    /// # Errors
    /// Those of the system.
    #[deprecated = "closing such a socket blocks its thread; `set_zero_linger` does not"]
    pub fn set_linger(&self, duration: Option<Duration>) -> io::Result<()> {
        SockRef::from(&*self.io).set_linger(duration)
    }

    /// Sets the option `SO_LINGER` to zero: closing the socket resets the connection, and what was
    /// written and has not arrived is lost.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        SockRef::from(&*self.io).set_linger(Some(Duration::ZERO))
    }

    /// The option `IP_TTL`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.ttl()
    }

    /// Sets the option `IP_TTL`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.set_ttl(ttl)
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

impl TryFrom<net::TcpStream> for TcpStream {
    type Error = io::Error;

    /// As [`TcpStream::from_std`].
    fn try_from(stream: net::TcpStream) -> io::Result<Self> {
        Self::from_std(stream)
    }
}
