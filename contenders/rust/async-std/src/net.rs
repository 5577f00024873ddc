//! Sockets: `async_std::net`.

use std::io;
use std::net::SocketAddr;

use async_std::io::{ReadExt, WriteExt};
use async_std::net::{TcpListener, TcpStream};
use async_workloads::AsyncNet;

use crate::runtime::AsyncStd;

impl AsyncNet for AsyncStd {
    type Listener = TcpListener;
    type Stream = TcpStream;

    fn listener(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        Ok(listener.into())
    }

    async fn accept(listener: &mut TcpListener) -> io::Result<TcpStream> {
        listener.accept().await.map(|(stream, _)| stream)
    }

    fn connect(address: SocketAddr) -> impl Future<Output = io::Result<TcpStream>> + Send {
        TcpStream::connect(address)
    }

    async fn read_exact(stream: &mut TcpStream, bytes: &mut [u8]) -> io::Result<()> {
        stream.read_exact(bytes).await
    }

    async fn write_all(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
        stream.write_all(bytes).await
    }
}
