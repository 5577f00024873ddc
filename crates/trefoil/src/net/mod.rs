//! Sockets: TCP, UDP, and those of Unix.
//!
//! Names and semantics are tokio's. The types need a runtime with I/O
//! ([`Builder::enable_io`](crate::runtime::Builder::enable_io)), belong to the runtime in which
//! they were made, and can be used by tasks of any other.
//!
//! ```
//! use trefoil::io::{AsyncReadExt, AsyncWriteExt};
//! use trefoil::net::{TcpListener, TcpStream};
//!
//! # #[trefoil::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//! let server = trefoil::spawn(async move {
//!     let (mut stream, _peer) = listener.accept().await?;
//!     stream.write_all(b"hello").await
//! });
//!
//! let mut text = String::new();
//! TcpStream::connect(address).await?.read_to_string(&mut text).await?;
//! assert_eq!(text, "hello");
//! server.await.unwrap()
//! # }
//! ```
//!
//! # Readiness
//!
//! An operation first makes its call, and waits only if that would block. `readable`, `writable`
//! and `ready` wait without a call, and the functions whose names begin with `try_` make the call
//! without a wait. What is ready is a hint: a call may still find that it would block.
//!
//! Once a call has found that it would block, none is made until the runtime has seen an event, not
//! even by `try_` functions: they return [`WouldBlock`](std::io::ErrorKind::WouldBlock) although
//! something may have come. So a loop of these needs an `.await` of `readable`, `writable` or
//! `ready`. In a current-thread runtime, nobody looks for events in between.
//!
//! The functions whose names begin with `poll_` keep one waker for reads and one for writes, that
//! of the last caller. Any number of tasks may wait in asynchronous functions.
//!
//! # Budget
//!
//! An operation that succeeds spends one unit of the task's budget ([`task::coop`]), so a socket
//! that always has something to read does not keep other tasks from running.
//!
//! [`task::coop`]: crate::task::coop
//!
//! # The end of the runtime
//!
//! When the runtime of a socket has shut down, all operations that may wait fail, and those that
//! wait as well. What never waits goes on: `try_` functions take what has arrived and write what
//! there is room for, and `shutdown` ends the writes of a stream.
//!
//! # Forks
//!
//! A process that was forked, and does not execute another program, cannot use the sockets and
//! runtimes of its parent: to add a source to such a runtime is an error. Their drop does the
//! parent no harm.

mod addr;
mod calls;
mod connection;
mod datagrams;
mod halves;
mod lookup_host;
pub mod tcp;
mod udp;
#[cfg(unix)]
pub mod unix;

pub use addr::ToSocketAddrs;
pub use lookup_host::lookup_host;
pub use tcp::{TcpListener, TcpSocket, TcpStream};
pub use udp::UdpSocket;
#[cfg(unix)]
pub use unix::{UnixDatagram, UnixListener, UnixSocket, UnixStream};

use crate::scheduler::Handle;
use std::io;
#[cfg(unix)]
use std::os::fd::AsFd as OfSystem;
#[cfg(windows)]
use std::os::windows::io::AsSocket as OfSystem;

/// A socket that blocks would block its worker. Windows does not tell.
///
/// # Panics
/// If the thread is in no runtime, or the runtime has no I/O: that comes first, because no other
/// socket would do better.
#[track_caller]
fn must_not_block<S: OfSystem>(socket: &S) -> io::Result<()> {
    let _ = Handle::current().reactor();
    if is_nonblocking(socket)? {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "the socket is in blocking mode: call `set_nonblocking(true)` on it first",
    ))
}

#[cfg(unix)]
fn is_nonblocking(socket: &impl OfSystem) -> io::Result<bool> {
    socket2::SockRef::from(socket).nonblocking()
}

#[cfg(windows)]
fn is_nonblocking(_: &impl OfSystem) -> io::Result<bool> {
    Ok(true)
}
