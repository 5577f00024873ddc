//! Sockets.

use std::io;

use async_std::io::{ReadExt, WriteExt};
use async_std::net::{TcpListener, TcpStream};
use async_workloads::TcpServer;

use crate::runtime::AsyncStd;

impl TcpServer for AsyncStd {
    type Listener = TcpListener;
    type Stream = TcpStream;

    fn listen(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        Ok(listener.into())
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
