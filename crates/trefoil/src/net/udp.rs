//! UDP.

use super::addr::{first_that_works, resolve};
use super::datagrams::datagrams;
use super::{ToSocketAddrs, must_not_block};
use crate::reactor::Source;
use std::fmt;
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll, ready};

/// A UDP socket.
///
/// It sends to and receives from any address, or, once it is [connected](Self::connect), one. Its
/// methods take `&self`, so tasks share it by an `Arc`.
///
/// ```
/// use trefoil::net::UdpSocket;
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let a = UdpSocket::bind("127.0.0.1:0").await?;
/// let b = UdpSocket::bind("127.0.0.1:0").await?;
/// a.send_to(b"hello", b.local_addr()?).await?;
///
/// let mut buf = [0; 16];
/// let (count, sender) = b.recv_from(&mut buf).await?;
/// assert_eq!(&buf[..count], b"hello");
/// assert_eq!(sender, a.local_addr()?);
/// # Ok(())
/// # }
/// ```
pub struct UdpSocket {
    io: Source<mio::net::UdpSocket>,
}

datagrams!(UdpSocket, SocketAddr);

/// Getters and setters of options. Each returns the errors of the system.
macro_rules! options {
    ($($(#[$cfg:meta])* $name:literal: $get:ident, $set:ident($value:ty), $socket:ident;)*) => {
        impl UdpSocket {$(
            #[doc = concat!("The option `", $name, "`.")]
            ///
            /// # Errors
            /// Those of the system.
            $(#[$cfg])*
            pub fn $get(&self) -> io::Result<$value> {
                let $socket = SockRef::from(&*self.io);
                $socket.$get()
            }

            #[doc = concat!("Sets the option `", $name, "`.")]
            ///
            /// # Errors
            /// Those of the system.
            $(#[$cfg])*
            pub fn $set(&self, value: $value) -> io::Result<()> {
                let $socket = SockRef::from(&*self.io);
                $socket.$set(value)
            }
        )*}
    };
}

options! {
    "SO_BROADCAST": broadcast, set_broadcast(bool), socket;
    "IP_MULTICAST_LOOP": multicast_loop_v4, set_multicast_loop_v4(bool), socket;
    "IP_MULTICAST_TTL": multicast_ttl_v4, set_multicast_ttl_v4(u32), socket;
    "IPV6_MULTICAST_LOOP": multicast_loop_v6, set_multicast_loop_v6(bool), socket;
    #[cfg(unix)]
    "IP_TOS": tos_v4, set_tos_v4(u32), socket;
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
    "IPV6_TCLASS": tclass_v6, set_tclass_v6(u32), socket;
}

impl UdpSocket {
    /// A socket that is bound to an address. Port 0 has the system choose one. Of several
    /// addresses, the first that works is used.
    ///
    /// # Errors
    /// Those of the lookup and of the system.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    ///
    /// # Cancellation safety
    /// There is no socket if the future is dropped.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        first_that_works(addr.name(), |addr| Self::of_mio(mio::net::UdpSocket::bind(addr)?)).await
    }

    #[track_caller]
    fn of_mio(socket: mio::net::UdpSocket) -> io::Result<Self> {
        Ok(Self { io: Source::that_never_closes(socket, Interest::READABLE | Interest::WRITABLE)? })
    }

    /// Takes a socket of the standard library, which must not be in blocking mode.
    ///
    /// # Errors
    /// `InvalidInput` if it is in blocking mode, and those of the system. Windows does not tell the
    /// mode, so that a socket that blocks would block its worker there.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn from_std(socket: net::UdpSocket) -> io::Result<Self> {
        must_not_block(&socket)?;
        Self::of_mio(mio::net::UdpSocket::from_std(socket))
    }

    /// Connects the socket to an address: it then receives only what comes from there. Of several
    /// addresses, the first that works is used.
    ///
    /// # Errors
    /// Those of the lookup and of the system.
    ///
    /// # Cancellation safety
    /// If the future is dropped, the socket is connected or not.
    pub async fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        first_that_works(addr.name(), |addr| self.io.connect(addr)).await
    }

    /// Sends a datagram to an address. Of several addresses, the first is used.
    ///
    /// # Errors
    /// Those of the lookup and of the system.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it is done, nothing was sent.
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        let Some(addr) = resolve(addr.name()).await?.next() else {
            let text = "the name has no socket address";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        let send = || self.io.send_to(buf, addr);
        self.io.registration().async_io(Interest::WRITABLE, send).await
    }

    /// Polls for [`send_to`](Self::send_to). The last caller that would send is woken.
    ///
    /// # Errors
    /// Those of the system.
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        let send = || self.io.send_to(buf, target);
        self.io.registration().poll_io(cx, Direction::Write, send)
    }

    /// As [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room, and those of the system.
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.io.registration().try_io(Interest::WRITABLE, || self.io.send_to(buf, target))
    }

    fn receive_from(&self, place: &mut [MaybeUninit<u8>]) -> io::Result<(usize, SocketAddr)> {
        let received = self.io.try_io(|| SockRef::from(&*self.io).recv_from(place));
        received.and_then(|(count, addr)| Ok((count, of_ip(&addr)?)))
    }

    fn peek_at(&self, place: &mut [MaybeUninit<u8>]) -> io::Result<(usize, SocketAddr)> {
        let seen = self.io.try_io(|| SockRef::from(&*self.io).peek_from(place));
        seen.and_then(|(count, addr)| Ok((count, of_ip(&addr)?)))
    }

    /// Receives a datagram from the address to which the socket is connected, and leaves it there.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.registration().async_io(Interest::READABLE, || self.io.peek(buf)).await
    }

    /// Polls for [`peek`](Self::peek). The last caller that would receive is woken.
    ///
    /// # Errors
    /// As [`peek`](Self::peek).
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let peek = |place: &mut _| self.io.try_io(|| SockRef::from(&*self.io).peek(place));
        self.poll_into(cx, buf, peek).map_ok(drop)
    }

    /// As [`peek`](Self::peek), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing, and those of the system.
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.registration().try_io(Interest::READABLE, || self.io.peek(buf))
    }

    /// Receives a datagram and the address of its sender, and leaves it there.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.registration().async_io(Interest::READABLE, || self.io.peek_from(buf)).await
    }

    /// Polls for [`peek_from`](Self::peek_from). The last caller that would receive is woken.
    ///
    /// # Errors
    /// As [`peek_from`](Self::peek_from).
    pub fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let mut sender = None;
        ready!(self.poll_into(cx, buf, |place| {
            let (count, addr) = self.peek_at(place)?;
            sender = Some(addr);
            Ok(count)
        }))?;
        let Some(sender) = sender else { unreachable!("it was seen") };
        Poll::Ready(Ok(sender))
    }

    /// As [`peek_from`](Self::peek_from), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing, and those of the system.
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.registration().try_io(Interest::READABLE, || self.io.peek_from(buf))
    }

    /// The sender of the next datagram, which is left there.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        let peek = || self.sender();
        self.io.registration().async_io(Interest::READABLE, peek).await
    }

    /// Polls for [`peek_sender`](Self::peek_sender). The last caller that would receive is woken.
    ///
    /// # Errors
    /// As [`peek_sender`](Self::peek_sender).
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.io.registration().poll_io(cx, Direction::Read, || self.sender())
    }

    /// As [`peek_sender`](Self::peek_sender), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing, and those of the system.
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.registration().try_io(Interest::READABLE, || self.sender())
    }

    fn sender(&self) -> io::Result<SocketAddr> {
        of_ip(&self.io.try_io(|| SockRef::from(&*self.io).peek_sender())?)
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
        SockRef::from(self).device()
    }

    /// Binds the socket to a network device, or to none.
    ///
    /// # Errors
    /// Those of the system, which may ask for a privilege.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia"))]
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        SockRef::from(self).bind_device(interface)
    }

    /// Joins a multicast group.
    ///
    /// # Errors
    /// Those of the system.
    pub fn join_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.join_multicast_v4(&multiaddr, &interface)
    }

    /// Joins a multicast group.
    ///
    /// # Errors
    /// Those of the system.
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.join_multicast_v6(multiaddr, interface)
    }

    /// Leaves a multicast group.
    ///
    /// # Errors
    /// Those of the system.
    pub fn leave_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.leave_multicast_v4(&multiaddr, &interface)
    }

    /// Leaves a multicast group.
    ///
    /// # Errors
    /// Those of the system.
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.leave_multicast_v6(multiaddr, interface)
    }
}

fn of_ip(addr: &socket2::SockAddr) -> io::Result<SocketAddr> {
    addr.as_socket().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, "the sender's address is neither IPv4 nor IPv6")
    })
}
