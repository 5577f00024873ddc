//! Sources that stay ready for calls that would block: the thread is for other tasks, too.
#![cfg(all(feature = "net", target_os = "linux"))]

mod support;

use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use support::current_thread;
use trefoil::io::{AsyncWriteExt, Interest};
use trefoil::net::{TcpListener, TcpStream, UnixDatagram};
use trefoil::runtime::Handle;
use trefoil::task::{LocalSet, spawn_local, yield_now};

/// More than any budget.
const FAR_TOO_MANY: u32 = 10_000;

/// A stream whose other side writes no more, which is true for good.
async fn ended() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (client, server) = trefoil::join!(TcpStream::connect(addr), listener.accept());
    let (client, mut server) = (client.unwrap(), server.unwrap().0);
    server.shutdown().await.unwrap();
    while !client.ready(Interest::READABLE).await.unwrap().is_read_closed() {}
    client
}

/// How often something was tried since another task has had its turn.
#[derive(Clone, Default)]
struct Tries(Rc<Cell<u32>>);

impl Tries {
    fn one_more(&self) {
        self.0.set(self.0.get() + 1);
        assert!(self.0.get() < FAR_TOO_MANY, "other tasks have no turn");
    }

    /// What another task does.
    async fn forgive(&self, turns: u32) {
        for _ in 0..turns {
            self.0.set(0);
            yield_now().await;
        }
    }
}

#[test]
fn a_call_that_always_would_block_on_a_stream_that_is_over() {
    LocalSet::new().block_on(&current_thread(), async {
        let (stream, tries) = (ended().await, Tries::default());
        let trying = tries.clone();
        let endless = spawn_local(async move {
            let call = || {
                trying.one_more();
                Err::<(), _>(io::Error::from(ErrorKind::WouldBlock))
            };
            stream.async_io(Interest::READABLE, call).await
        });
        tries.forgive(100).await;
        assert!(!endless.is_finished());
        endless.abort();
        assert!(endless.await.unwrap_err().is_cancelled());
    });
}

/// A datagram socket that has had an error counts as closed, and can be connected anew.
#[test]
fn datagrams_for_a_full_queue_after_an_error() {
    let folder = std::env::temp_dir().join(format!("trefoil-spin-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for by_poll in [false, true] {
        let path = folder.join(format!("{by_poll}"));
        LocalSet::new().block_on(&current_thread(), async {
            let full = UnixDatagram::bind(&path).unwrap();
            let (one, other) = UnixDatagram::pair().unwrap();
            // That its peer leaves it, and a message behind, is an error of the other one.
            other.send(b"lost").await.unwrap();
            one.connect(&path).unwrap();
            while !other.ready(Interest::WRITABLE).await.unwrap().is_write_closed() {}
            other.connect(&path).unwrap();
            // The first call fetches the error.
            let mut sent = 0;
            loop {
                match other.try_send(b"x") {
                    Ok(_) => sent += 1,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
                }
            }
            let late = spawn_local(async move {
                if by_poll {
                    poll_fn(|cx| other.poll_send(cx, b"y")).await
                } else {
                    other.send(b"y").await
                }
            });
            for _ in 0..3 {
                yield_now().await;
            }
            assert!(!late.is_finished());
            // It waits for room, and does not try again and again: the runtime has nothing to do.
            let polls = || Handle::current().metrics().worker_poll_count(0);
            let before = polls();
            for _ in 0..100 {
                yield_now().await;
            }
            assert!(polls() - before < 10, "{} polls", polls() - before);
            let mut buf = [0];
            for _ in 0..sent {
                full.recv(&mut buf).await.unwrap();
            }
            late.await.unwrap().unwrap();
            full.recv(&mut buf).await.unwrap();
            assert_eq!(buf, *b"y");
        });
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
