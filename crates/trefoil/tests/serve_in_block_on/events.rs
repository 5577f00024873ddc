//! The system's events, when the one worker was lent before there was anything to wait for.

use super::rig::{builder, serving, stand_in};
use super::support::Hasty;
use super::support::current_thread;
use super::support::watch::{WATCHDOG, receive, workers_sleep};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;
use trefoil::io::{AsyncReadExt, AsyncWriteExt};
use trefoil::net::{TcpListener, UdpSocket};
use trefoil::time::timeout;

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

/// The first source comes when the only worker has decided to lend its place, and does not count as
/// asleep yet. No thread in `block_on` takes the place, and no task is woken.
#[test]
fn a_source_that_comes_while_a_worker_falls_asleep_is_attended() {
    for workers in [1, 2] {
        let (register, registers) = mpsc::channel::<std::net::UdpSocket>();
        let (registered, is_registered) = mpsc::channel();
        let (registers, registered) = (parking_lot::Mutex::new(registers), registered);
        let mut builder = builder(workers);
        builder.on_thread_park(move || {
            if let Ok(socket) = registers.lock().try_recv() {
                registered.send(UdpSocket::from_std(socket).unwrap()).unwrap();
            }
        });
        let runtime = Hasty(Some(builder.build().unwrap()));
        workers_sleep(&runtime.metrics());
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let addr = socket.local_addr().unwrap();
        register.send(socket).unwrap();
        // A worker wakes, and falls asleep again.
        drop(runtime.spawn(async {}));
        let socket = receive("the hook", &is_registered);
        // Whoever waits does so in another runtime.
        current_thread().block_on(async {
            for byte in 0..20 {
                UdpSocket::bind("127.0.0.1:0").await.unwrap().send_to(&[byte], addr).await.unwrap();
                let mut buf = [0];
                let received = timeout(WATCHDOG, socket.recv(&mut buf)).await;
                received.expect("somebody waits for the system's events").unwrap();
                assert_eq!(buf, [byte]);
            }
        });
    }
}
