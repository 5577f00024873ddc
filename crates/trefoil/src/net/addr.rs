//! What names socket addresses.

use crate::task::{self, coop};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// What can be turned into socket addresses, such as an address, a host's name with a port, or a
/// text of both.
///
/// Names are looked up on a thread of the blocking pool, since systems offer no other way. The
/// trait is sealed. It is implemented for
///
/// - [`SocketAddr`], [`SocketAddrV4`] and [`SocketAddrV6`],
/// - pairs of [`IpAddr`], [`Ipv4Addr`] or [`Ipv6Addr`] and a port,
/// - `&[SocketAddr]`,
/// - `str` and `String` such as `"localhost:80"`,
/// - `(&str, u16)` and `(String, u16)` such as `("localhost", 80)`.
pub trait ToSocketAddrs: sealed::Sealed {}

impl<T: sealed::Sealed + ?Sized> ToSocketAddrs for T {}

pub(super) mod sealed {
    use super::SocketAddr;

    pub trait Sealed {
        fn name(&self) -> Name;
    }

    /// Addresses, or what is to be looked up.
    #[derive(Debug)]
    pub enum Name {
        One(SocketAddr),
        Many(Vec<SocketAddr>),
        Text(String),
        Host(String, u16),
    }
}

use sealed::{Name, Sealed};

/// The addresses that go by a name. It spends budget, since most names are addresses already, and
/// what is done with them is often done at once.
///
/// # Errors
/// Those of the lookup.
pub(super) async fn resolve(
    name: Name,
) -> io::Result<impl Iterator<Item = SocketAddr> + Send + 'static> {
    coop::consume_budget().await;
    let (one, many) = match name {
        Name::One(addr) => (Some(addr), Vec::new()),
        Name::Many(addrs) => (None, addrs),
        Name::Text(text) => (None, look_up(text).await?),
        Name::Host(host, port) => (None, look_up((host, port)).await?),
    };
    Ok(one.into_iter().chain(many))
}

async fn look_up<N>(name: N) -> io::Result<Vec<SocketAddr>>
where
    N: std::net::ToSocketAddrs + Send + 'static,
{
    let addrs = task::spawn_blocking(move || name.to_socket_addrs().map(Iterator::collect));
    // It does not panic, so only the end of the runtime can be the reason.
    addrs.await.unwrap_or_else(|_cancelled| Err(crate::runtime::shutdown_error()))
}

macro_rules! known {
    ($($type:ty),*) => {$(
        impl Sealed for $type {
            fn name(&self) -> Name {
                Name::One((*self).into())
            }
        }
    )*};
}

known!(SocketAddr, SocketAddrV4, SocketAddrV6, (IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16));

impl<T: Sealed + ?Sized> Sealed for &T {
    fn name(&self) -> Name {
        (**self).name()
    }
}

impl Sealed for [SocketAddr] {
    fn name(&self) -> Name {
        Name::Many(self.to_vec())
    }
}

impl Sealed for str {
    fn name(&self) -> Name {
        match self.parse() {
            Ok(addr) => Name::One(addr),
            Err(_) => Name::Text(self.to_owned()),
        }
    }
}

impl Sealed for String {
    fn name(&self) -> Name {
        self.as_str().name()
    }
}

impl Sealed for (&str, u16) {
    fn name(&self) -> Name {
        let (host, port) = *self;
        match host.parse::<IpAddr>() {
            Ok(ip) => Name::One((ip, port).into()),
            Err(_) => Name::Host(host.to_owned(), port),
        }
    }
}

impl Sealed for (String, u16) {
    fn name(&self) -> Name {
        (self.0.as_str(), self.1).name()
    }
}

/// Tries the addresses of a name, and returns what comes of the first that works.
///
/// # Errors
/// Those of the lookup, or of the last attempt; and if there is no address.
pub(super) async fn first_that_works<T>(
    name: Name,
    mut attempt: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut attempts = Attempts::default();
    for addr in resolve(name).await? {
        match attempt(addr) {
            Ok(value) => return Ok(value),
            Err(error) => attempts.failed(error),
        }
    }
    Err(attempts.error())
}

/// How attempts with several addresses have failed.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    last: Option<io::Error>,
}

impl Attempts {
    pub(super) fn failed(&mut self, error: io::Error) {
        self.last = Some(error);
    }

    /// The error of the last one, or that there was no address.
    pub(super) fn error(self) -> io::Error {
        self.last.unwrap_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the name has no socket address")
        })
    }
}
