//! Sockets.

use std::io;
use std::net::SocketAddr;

use compio::BufResult;
use compio::driver::DriverType;
use compio::io::{AsyncReadExt, AsyncWriteExt};
use compio::net::{TcpListener, TcpStream};
use compio::runtime::{ResumeUnwind, Runtime};
use thread_per_core::Core;

use crate::runtime;

/// A runtime of compio on each thread.
#[derive(Debug)]
pub(crate) struct Compio;

impl Core for Compio {
    type Listener = TcpListener;
    type Stream = TcpStream;

    fn run<F: Future>(root: F) -> F::Output {
        runtime::start().block_on(root)
    }

    fn spawn<F>(task: F) -> impl Future<Output = F::Output> + 'static
    where
        F: Future<Output: 'static> + 'static,
    {
        let task = compio::runtime::spawn(task);
        async { task.await.resume_unwind().expect("nobody cancels a task here") }
    }

    /// The threads share the socket, and all of them have the same driver.
    fn listener(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        // io_uring waits by itself for a listener that blocks, and not for one that does not.
        listener
            .set_nonblocking(!matches!(Runtime::current().driver_type(), DriverType::IoUring))?;
        TcpListener::from_std(listener)
    }

    async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
        listener.accept().await.map(|(stream, _)| stream)
    }

    async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }

    async fn read_byte(stream: &mut TcpStream) -> io::Result<u8> {
        let BufResult(read, byte) = stream.read_exact([0]).await;
        read.map(|()| byte[0])
    }

    async fn write_byte(stream: &mut TcpStream, byte: u8) -> io::Result<()> {
        stream.write_all([byte]).await.0
    }
}
