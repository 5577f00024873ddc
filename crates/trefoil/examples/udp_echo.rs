//! A UDP server that sends back what it receives.
//!
//! `cargo run --release -p trefoil --features net --example udp_echo -- 127.0.0.1:8080`
//!
//! There is a task for each worker, and all of them share the socket.

use std::env;
use std::io;
use std::sync::Arc;
use trefoil::net::UdpSocket;
use trefoil::runtime::Handle;
use trefoil::task::JoinSet;

#[trefoil::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let socket = Arc::new(UdpSocket::bind(&address).await?);
    println!("{}", socket.local_addr()?);
    let mut tasks = JoinSet::new();
    for _ in 0..Handle::current().metrics().num_workers() {
        tasks.spawn(echo(Arc::clone(&socket)));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(())
}

async fn echo(socket: Arc<UdpSocket>) -> io::Result<()> {
    let mut buf = vec![0; 65_536];
    loop {
        let (count, sender) = socket.recv_from(&mut buf).await?;
        // A datagram that cannot be sent is lost, as one may be on its way.
        if let Err(error) = socket.send_to(&buf[..count], sender).await {
            eprintln!("{sender}: {error}");
        }
    }
}
