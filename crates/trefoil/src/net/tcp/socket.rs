use super::{TcpListener, TcpStream};
use crate::net::must_not_block;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// A TCP socket whose options are set before it listens or connects.
///
/// ```
/// use trefoil::net::TcpSocket;
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let socket = TcpSocket::new_v4()?;
/// socket.set_reuseaddr(true)?;
/// socket.bind("127.0.0.1:0".parse().unwrap())?;
/// let listener = socket.listen(128)?;
/// # drop(listener);
/// # Ok(())
/// # }
/// ```
pub struct TcpSocket {
    inner: socket2::Socket,
}

/// Getters and setters of options. Each returns the errors of the system.
macro_rules! options {
    ($($(#[$cfg:meta])* $name:literal: $get:ident, $set:ident($value:ty);)*) => {
        impl TcpSocket {$(
            #[doc = concat!("The option `", $name, "`.")]
            ///
            /// # Errors
            /// Those of the system.
            $(#[$cfg])*
            pub fn $get(&self) -> io::Result<$value> {
                self.inner.$get()
            }

            #[doc = concat!("Sets the option `", $name, "`.")]
            ///
            /// # Errors
            /// Those of the system.
            $(#[$cfg])*
            pub fn $set(&self, value: $value) -> io::Result<()> {
                self.inner.$set(value)
            }
        )*}
    };
}

options! {
    "SO_KEEPALIVE": keepalive, set_keepalive(bool);
    #[cfg(unix)]
    "IP_TOS": tos_v4, set_tos_v4(u32);
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
    "IPV6_TCLASS": tclass_v6, set_tclass_v6(u32);
}

impl TcpSocket {
    /// A socket for IPv4.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new_v4() -> io::Result<Self> {
        Self::new(socket2::Domain::IPV4)
    }

    /// A socket for IPv6.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new_v6() -> io::Result<Self> {
        Self::new(socket2::Domain::IPV6)
    }

    fn new(domain: socket2::Domain) -> io::Result<Self> {
        let tcp = Some(socket2::Protocol::TCP);
        let inner = socket2::Socket::new(domain, socket2::Type::STREAM, tcp)?;
        inner.set_nonblocking(true)?;
        Ok(Self { inner })
    }

    /// Takes a socket of the standard library that is neither connected nor listens, and that does
    /// not block: [`connect`](Self::connect) and [`listen`](Self::listen) refuse another one.
    pub fn from_std_stream(stream: std::net::TcpStream) -> Self {
        Self { inner: stream.into() }
    }

    /// The option `SO_REUSEADDR`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn reuseaddr(&self) -> io::Result<bool> {
        self.inner.reuse_address()
    }

    /// Sets the option `SO_REUSEADDR`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_reuseaddr(&self, reuseaddr: bool) -> io::Result<()> {
        self.inner.set_reuse_address(reuseaddr)
    }

    /// The option `SO_REUSEPORT`.
    ///
    /// # Errors
    /// Those of the system.
    #[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos", target_os = "cygwin"))))]
    pub fn reuseport(&self) -> io::Result<bool> {
        self.inner.reuse_port()
    }

    /// Sets the option `SO_REUSEPORT`.
    ///
    /// # Errors
    /// Those of the system.
    #[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos", target_os = "cygwin"))))]
    pub fn set_reuseport(&self, reuseport: bool) -> io::Result<()> {
        self.inner.set_reuse_port(reuseport)
    }

    /// The option `SO_SNDBUF`. The system may double what was set.
    ///
    /// # Errors
    /// Those of the system.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        self.inner.send_buffer_size().map(|bytes| bytes as u32)
    }

    /// Sets the option `SO_SNDBUF`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_send_buffer_size(&self, bytes: u32) -> io::Result<()> {
        self.inner.set_send_buffer_size(bytes as usize)
    }

    /// The option `SO_RCVBUF`. The system may double what was set.
    ///
    /// # Errors
    /// Those of the system.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        self.inner.recv_buffer_size().map(|bytes| bytes as u32)
    }

    /// Sets the option `SO_RCVBUF`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_recv_buffer_size(&self, bytes: u32) -> io::Result<()> {
        self.inner.set_recv_buffer_size(bytes as usize)
    }

    /// The option `SO_LINGER`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.inner.linger()
    }

    /// Sets the option `SO_LINGER`: see [`TcpStream::set_linger`].
    ///
    /// # Errors
    /// Those of the system.
    #[deprecated = "closing such a socket blocks its thread; `set_zero_linger` does not"]
    pub fn set_linger(&self, duration: Option<Duration>) -> io::Result<()> {
        self.inner.set_linger(duration)
    }

    /// Sets the option `SO_LINGER` to zero: see [`TcpStream::set_zero_linger`].
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.inner.set_linger(Some(Duration::ZERO))
    }

    /// The option `TCP_NODELAY`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.inner.tcp_nodelay()
    }

    /// Sets the option `TCP_NODELAY`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.inner.set_tcp_nodelay(nodelay)
    }

    /// The option `IP_TOS`.
    ///
    /// # Errors
    /// Those of the system.
    #[cfg(unix)]
    #[deprecated = "it is called `tos_v4`"]
    #[doc(hidden)]
    pub fn tos(&self) -> io::Result<u32> {
        self.tos_v4()
    }

    /// Sets the option `IP_TOS`.
    ///
    /// # Errors
    /// Those of the system.
    #[cfg(unix)]
    #[deprecated = "it is called `set_tos_v4`"]
    #[doc(hidden)]
    pub fn set_tos(&self, tos: u32) -> io::Result<()> {
        self.set_tos_v4(tos)
    }

    /// The name of the network device to which the socket is bound, if it is to one.
    ///
    /// # Errors
    /// Those of the system.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia"))]
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        self.inner.device()
    }

    /// Binds the socket to a network device, or to none.
    ///
    /// # Errors
    /// Those of the system, which may ask for a privilege.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia"))]
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        self.inner.bind_device(interface)
    }

    /// The address of this side.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()?.as_socket().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the socket is for neither IPv4 nor IPv6")
        })
    }

    /// The error of the socket that nobody has fetched yet, if there is one.
    ///
    /// # Errors
    /// Those of the system.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.inner.take_error()
    }

    /// Binds the socket to an address. Port 0 has the system choose one.
    ///
    /// # Errors
    /// Those of the system. An address that is in use is one.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.inner.bind(&addr.into())
    }

    /// Connects to an address.
    ///
    /// # Errors
    /// Those of the system; and if the socket is in blocking mode, of which Windows does not tell.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    ///
    /// # Cancellation safety
    /// There is no connection if the future is dropped.
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        must_not_block(&self.inner)?;
        if let Err(error) = self.inner.connect(&addr.into())
            && !is_under_way(&error)
        {
            return Err(error);
        }
        let stream = std::net::TcpStream::from(self.inner);
        TcpStream::of_connecting(mio::net::TcpStream::from_std(stream)).await
    }

    /// Listens at the address to which the socket is bound. So many connections wait in the system
    /// at most.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        must_not_block(&self.inner)?;
        self.inner.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        let listener = std::net::TcpListener::from(self.inner);
        TcpListener::of_mio(mio::net::TcpListener::from_std(listener))
    }
}

/// Whether the connection is being made, which the system says by an error.
fn is_under_way(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error());
    #[cfg(not(unix))]
    return error.kind() == io::ErrorKind::WouldBlock;
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[cfg(unix)]
mod unix {
    use super::TcpSocket;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, RawFd};

    impl AsFd for TcpSocket {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.inner.as_fd()
        }
    }

    impl AsRawFd for TcpSocket {
        fn as_raw_fd(&self) -> RawFd {
            self.inner.as_raw_fd()
        }
    }

    impl IntoRawFd for TcpSocket {
        fn into_raw_fd(self) -> RawFd {
            self.inner.into_raw_fd()
        }
    }

    impl FromRawFd for TcpSocket {
        /// Takes a socket that does not block.
        unsafe fn from_raw_fd(fd: RawFd) -> Self {
            // SAFETY: the caller's promise is the one that is asked for here: the descriptor is
            // open, and the caller's to give.
            Self { inner: unsafe { socket2::Socket::from_raw_fd(fd) } }
        }
    }
}
