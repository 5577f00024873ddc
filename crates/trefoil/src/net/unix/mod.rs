//! Sockets of Unix: streams and datagrams between processes of one machine.

mod addr;
mod datagram;
mod halves;
mod listener;
pub mod pipe;
mod socket;
mod stream;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod ucred;

pub use addr::SocketAddr;
pub use datagram::UnixDatagram;
pub use halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use listener::UnixListener;
pub use socket::UnixSocket;
pub use stream::UnixStream;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use ucred::UCred;

/// A user's number.
#[allow(non_camel_case_types, reason = "tokio's name, and the system's")]
pub type uid_t = u32;

/// A group's number.
#[allow(non_camel_case_types, reason = "tokio's name, and the system's")]
pub type gid_t = u32;

/// A process's number.
#[allow(non_camel_case_types, reason = "tokio's name, and the system's")]
pub type pid_t = i32;
