//! Sockets: `smol::net`.

use std::io;
use std::net::SocketAddr;

use async_workloads::AsyncNet;
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpListener, TcpStream};

use crate::runtime::Smol;

impl AsyncNet for Smol {
    type Listener = TcpListener;
    type Stream = TcpStream;

    fn listener(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        listener.try_into()
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
