//! Sockets.

use std::io;

use async_workloads::TcpServer;
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpListener, TcpStream};

use crate::runtime::Smol;

impl TcpServer for Smol {
    type Listener = TcpListener;
    type Stream = TcpStream;

    fn listen(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        smol::Async::try_from(listener).map(Into::into)
    }

    async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        stream.read(buffer).await
    }

    async fn write_all(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
        stream.write_all(bytes).await
    }
}
