//! A TCP proxy: what comes to one address is passed on to another, and back.
//!
//! `cargo run --release -p trefoil --features net --example tcp_proxy -- LISTEN_ADDRESS TARGET`
//!
//! Each connection is one task, which copies in both directions. When one side writes no more, the
//! other is told so, and the connection ends when both have.

use std::env;
use std::io;
use std::time::Duration;
use trefoil::io::copy_bidirectional;
use trefoil::net::{TcpListener, TcpStream};
use trefoil::time::sleep;

#[trefoil::main]
async fn main() -> io::Result<()> {
    let mut args = env::args().skip(1);
    let (Some(from), Some(to)) = (args.next(), args.next()) else {
        eprintln!("usage: tcp_proxy LISTEN_ADDRESS TARGET_ADDRESS");
        std::process::exit(2);
    };
    let listener = TcpListener::bind(&from).await?;
    println!("{} -> {to}", listener.local_addr()?);
    loop {
        match listener.accept().await {
            Ok((client, peer)) => {
                let to = to.clone();
                trefoil::spawn(async move {
                    if let Err(error) = pass_on(client, &to).await {
                        eprintln!("{peer}: {error}");
                    }
                });
            }
            Err(error) => {
                // There may be no descriptor left. The connection waits in the system meanwhile.
                eprintln!("accept: {error}");
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

async fn pass_on(mut client: TcpStream, to: &str) -> io::Result<()> {
    let mut target = TcpStream::connect(to).await?;
    client.set_nodelay(true)?;
    target.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut target).await.map(drop)
}
