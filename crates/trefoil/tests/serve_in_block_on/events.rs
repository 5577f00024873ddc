//! The system's events, when the one worker was lent before there was anything to wait for.

use super::rig::{serving, stand_in};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use trefoil::io::{AsyncReadExt, AsyncWriteExt};
use trefoil::net::TcpListener;

/// Asks a server from outside of the runtime, whose workers all sleep.
fn ask(addr: SocketAddr) {
    let mut stream = TcpStream::connect(addr).unwrap();
    // A hang fails here, and does not stay one.
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"x").unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).expect("somebody waits for the system's events");
    assert_eq!(answer, *b"x");
}

/// The thread that stood in registered a source, and leaves: somebody else has to wait for it.
#[test]
fn a_source_of_a_thread_that_has_left_is_attended() {
    for workers in [1, 2, 4] {
        let runtime = serving(workers);
        let addr = runtime.block_on(async {
            stand_in().await;
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let addr = listener.local_addr().unwrap();
            trefoil::spawn(async move {
                loop {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    let byte = stream.read_u8().await.unwrap();
                    stream.write_all(&[byte]).await.unwrap();
                }
            });
            // The server waits for its first connection when this thread leaves, and nothing else
            // is left to do.
            for _ in 0..10 {
                trefoil::time::sleep(Duration::from_millis(1)).await;
            }
            addr
        });
        for _ in 0..20 {
            ask(addr);
        }
        // And once more with a thread that stands in for nothing but a moment.
        for _ in 0..20 {
            runtime.block_on(trefoil::task::yield_now());
            ask(addr);
        }
    }
}
