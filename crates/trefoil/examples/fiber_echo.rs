//! A TCP server that sends back what it receives, written as for threads: each connection has a
//! fiber, whose code knows nothing but the traits of `std::io`.
//!
//! `cargo run --release -p trefoil --features fiber,signal --example fiber_echo -- 127.0.0.1:8080`
//!
//! A connection costs a stack, and no thread. Ctrl-c ends them all.

use std::convert::Infallible;
use std::env;
use std::io::{self, Read, Write};
use std::time::Duration;
use trefoil::fiber::{self, Blocking};
use trefoil::net::TcpListener;
use trefoil::{select, signal};

#[trefoil::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(&address).await?;
    println!("{}", listener.local_addr()?);
    select! {
        ended = fiber::spawn(move || accept(&listener)) => match ended.map_err(io::Error::other)? {},
        interrupted = signal::ctrl_c() => interrupted,
    }
}

fn accept(listener: &TcpListener) -> Infallible {
    loop {
        let accepted = fiber::wait(listener.accept()).and_then(|(stream, peer)| {
            let (reads, writes) = stream.into_split();
            let name = peer.to_string();
            // `std::io::copy` has a buffer of 8 KiB on it.
            fiber::Builder::new().name(&name).stack_size(64 * 1024).spawn(move || {
                if let Err(error) = echo(Blocking::new(reads), Blocking::new(writes)) {
                    eprintln!("{name}: {error}");
                }
            })
        });
        if let Err(error) = accepted {
            // There may be no descriptor or no memory left. What comes next waits in the system
            // meanwhile.
            eprintln!("accept: {error}");
            fiber::sleep(Duration::from_millis(10));
        }
    }
}

/// This might as well be code of a crate that has never heard of fibers.
fn echo(mut reads: impl Read, mut writes: impl Write) -> io::Result<()> {
    io::copy(&mut reads, &mut writes)?;
    writes.flush()
}
