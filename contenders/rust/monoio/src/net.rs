//! Sockets.

use std::io;
use std::mem;
use std::net::SocketAddr;

use monoio::io::{AsyncReadRentExt, AsyncWriteRentExt};
use monoio::net::{TcpListener, TcpStream};
use thread_per_core::Core;

use crate::runtime;

/// A stream, and the buffer that its operations take and give back: a byte on the stack is not
/// stable memory, which io_uring wants.
#[derive(Debug)]
pub(crate) struct Stream {
    tcp: TcpStream,
    byte: Box<[u8]>,
}

impl From<TcpStream> for Stream {
    fn from(tcp: TcpStream) -> Self {
        Self { tcp, byte: Box::new([0]) }
    }
}

/// A runtime of monoio on each thread.
#[derive(Debug)]
pub(crate) struct Monoio;

impl Core for Monoio {
    type Listener = TcpListener;
    type Stream = Stream;

    fn run<F: Future>(root: F) -> F::Output {
        runtime::start().block_on(root)
    }

    fn spawn<F>(task: F) -> impl Future<Output = F::Output> + 'static
    where
        F: Future<Output: 'static> + 'static,
    {
        monoio::spawn(task)
    }

    /// The threads share the socket, and all of them have the same driver.
    fn listener(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        // io_uring waits by itself for a listener that blocks, and not for one that does not.
        listener.set_nonblocking(monoio::utils::is_legacy())?;
        TcpListener::from_std(listener)
    }

    async fn accept(listener: &TcpListener) -> io::Result<Stream> {
        listener.accept().await.map(|(stream, _)| stream.into())
    }

    async fn connect(address: SocketAddr) -> io::Result<Stream> {
        TcpStream::connect_addr(address).await.map(Stream::from)
    }

    async fn read_byte(stream: &mut Stream) -> io::Result<u8> {
        let (read, byte) = stream.tcp.read_exact(mem::take(&mut stream.byte)).await;
        stream.byte = byte;
        read.map(|_| stream.byte[0])
    }

    async fn write_byte(stream: &mut Stream, byte: u8) -> io::Result<()> {
        stream.byte[0] = byte;
        let (written, byte) = stream.tcp.write_all(mem::take(&mut stream.byte)).await;
        stream.byte = byte;
        written.map(drop)
    }
}
