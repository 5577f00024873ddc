//! The halves of a [`UnixStream`].

use super::SocketAddr;

crate::net::halves::halves!(UnixStream, SocketAddr, "connection of a Unix socket");
