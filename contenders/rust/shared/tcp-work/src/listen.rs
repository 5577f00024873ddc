//! The listener.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use crate::while_doing;

/// A listener on a port of 127.0.0.1 that the system chooses, which does not block; its address.
///
/// It has room for `connections` that nobody has accepted yet: the standard library's has room for
/// 128, and a connection beyond that is tried again a second later. Every runtime that can take
/// over a socket of the standard library gets this one, so that all have the same room.
///
/// # Errors
/// What the system says, with what was asked of it.
pub fn listen(connections: u32) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = (|| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.bind(&SocketAddr::from(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).into())?;
        socket.listen(i32::try_from(connections).unwrap_or(i32::MAX).max(1))?;
        socket.set_nonblocking(true)?;
        Ok(TcpListener::from(socket))
    })()
    .map_err(|error| while_doing("cannot listen on 127.0.0.1", &error))?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn every_listener_has_a_port_of_its_own_and_room() {
        let (first, address) = listen(3).unwrap();
        let (_second, other) = listen(0).unwrap();
        assert_ne!(address, other);
        // Nobody accepts meanwhile.
        let _waiting: Vec<TcpStream> =
            (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        for _ in 0..3 {
            first.accept().unwrap();
        }
        assert_eq!(first.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}
