//! What a runtime with sockets must be able to do to race the rows about them.

use std::io;
use std::net::{SocketAddr, TcpListener};

use crate::AsyncRuntime;

/// A runtime whose tasks may use sockets and move between workers.
///
/// Runtimes whose sockets stay with their thread do not belong here; they have the same rows over
/// [`LocalNet`](crate::LocalNet).
pub trait AsyncNet: AsyncRuntime {
    type Listener: Send;
    type Stream: Send + 'static;

    /// Takes over a listener that does not block. From a task.
    ///
    /// # Errors
    /// The runtime cannot watch it.
    fn listener(listener: TcpListener) -> io::Result<Self::Listener>;

    fn accept(
        listener: &mut Self::Listener,
    ) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    fn connect(address: SocketAddr) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Fills `bytes`; an end before that is an error.
    fn read_exact(
        stream: &mut Self::Stream,
        bytes: &mut [u8],
    ) -> impl Future<Output = io::Result<()>> + Send;

    fn write_all(
        stream: &mut Self::Stream,
        bytes: &[u8],
    ) -> impl Future<Output = io::Result<()>> + Send;
}
