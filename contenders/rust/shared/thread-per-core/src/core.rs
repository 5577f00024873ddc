//! What a runtime on one thread must be able to do.

use std::io;
use std::net::{SocketAddr, TcpListener};

/// A runtime on the thread that calls it. No future is `Send`, and buffers are the runtime's own
/// affair: runtimes over `io_uring` take them by value.
pub trait Core: 'static {
    type Listener: 'static;
    type Stream: 'static;

    /// Starts a runtime on this thread, and runs it until `root` ends.
    fn run<F: Future>(root: F) -> F::Output;

    /// Spawns, from a task, on the same thread. A panic of the task goes on in whoever awaits it,
    /// or ends the process.
    fn spawn<F>(task: F) -> impl Future<Output = F::Output> + 'static
    where
        F: Future<Output: 'static> + 'static;

    /// Takes over a listener. From a task.
    ///
    /// # Errors
    /// The runtime cannot watch it.
    fn listener(listener: TcpListener) -> io::Result<Self::Listener>;

    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<Self::Stream>>;

    fn connect(address: SocketAddr) -> impl Future<Output = io::Result<Self::Stream>>;

    /// Reads one byte; an end is an error.
    fn read_byte(stream: &mut Self::Stream) -> impl Future<Output = io::Result<u8>>;

    fn write_byte(stream: &mut Self::Stream, byte: u8) -> impl Future<Output = io::Result<()>>;
}
