//! TCP: connections, their halves, options, and what goes wrong.
#![cfg(feature = "net")]

use crate::rig::everywhere;
use crate::support::{self, current_and_multi, current_thread};
use parking_lot::Mutex;
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::SocketAddr;
#[cfg(unix)]
use std::os::fd::AsFd;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use trefoil::io::{AsyncReadExt, AsyncWriteExt, Interest, ReadBuf, Ready};
use trefoil::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use trefoil::spawn;
use trefoil::time::{Duration, timeout};

const LOCAL: &str = "127.0.0.1:0";

/// Runs a body in a current-thread runtime, and in multi-thread ones, as `block_on`'s future and as
/// a task.
async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(LOCAL).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (client, server) = trefoil::join!(TcpStream::connect(addr), listener.accept());
    (client.unwrap(), server.unwrap().0)
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn bytes_go_both_ways() {
    everywhere(|| async {
        let (mut client, mut server) = pair().await;
        for round in 0..50_u8 {
            client.write_all(&[round; 100]).await.unwrap();
            let mut buf = [0; 100];
            server.read_exact(&mut buf).await.unwrap();
            assert_eq!(buf, [round; 100]);
            server.write_all(&buf[..7]).await.unwrap();
            client.read_exact(&mut buf[..7]).await.unwrap();
        }
        drop(client);
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
    });
}

/// More than the system's buffers hold, so that both sides wait many times.
#[test]
fn a_long_stream_arrives_in_order() {
    const BYTES: usize = 8 << 20;
    everywhere(|| async {
        let (client, server) = pair().await;
        let (mut reader, mut writer) = (server, client);
        let writing = spawn(async move {
            let block: Vec<u8> = (0..65_521_u32).map(|n| (n % 251) as u8).collect();
            let mut left = BYTES;
            while left > 0 {
                let part = &block[..block.len().min(left)];
                writer.write_all(part).await.unwrap();
                left -= part.len();
            }
        });
        let (mut seen, mut buf) = (0_usize, vec![0; 30_011]);
        loop {
            let count = reader.read(&mut buf).await.unwrap();
            if count == 0 {
                break;
            }
            for (index, &byte) in buf[..count].iter().enumerate() {
                assert_eq!(byte, ((seen + index) % 65_521 % 251) as u8);
            }
            seen += count;
        }
        assert_eq!(seen, BYTES);
        writing.await.unwrap();
    });
}

#[test]
fn many_connections_at_the_same_time() {
    everywhere(|| async {
        let listener = TcpListener::bind(LOCAL).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let server = spawn(async move {
            for _ in 0..200 {
                let (mut stream, _) = listener.accept().await.unwrap();
                spawn(async move {
                    let mut text = String::new();
                    stream.read_to_string(&mut text).await.unwrap();
                    stream.write_all(text.to_uppercase().as_bytes()).await.unwrap();
                });
            }
        });
        let clients: Vec<_> = (0..200)
            .map(|n| {
                spawn(async move {
                    let mut stream = TcpStream::connect(addr).await.unwrap();
                    stream.write_all(format!("hello {n}").as_bytes()).await.unwrap();
                    stream.shutdown().await.unwrap();
                    let mut text = String::new();
                    stream.read_to_string(&mut text).await.unwrap();
                    assert_eq!(text, format!("HELLO {n}"));
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        server.await.unwrap();
    });
}

/// The clients are threads, so that only the driver can wake the tasks.
#[test]
fn idle_workers_are_woken_by_events() {
    for runtime in current_and_multi([1, 2, 3]) {
        let (sender, receiver) = std::sync::mpsc::channel::<SocketAddr>();
        let client = std::thread::spawn(move || {
            let mut stream = std::net::TcpStream::connect(receiver.recv().unwrap()).unwrap();
            for _ in 0..100 {
                stream.write_all(b"x").unwrap();
                stream.read_exact(&mut [0]).unwrap();
            }
        });
        runtime.block_on(async move {
            let listener = TcpListener::bind(LOCAL).await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            let echo = spawn(async move {
                let mut buf = [0];
                while stream.read(&mut buf).await.unwrap() > 0 {
                    stream.write_all(&buf).await.unwrap();
                }
            });
            echo.await.unwrap();
        });
        client.join().unwrap();
    }
}

#[test]
fn half_close() {
    everywhere(|| async {
        let (mut client, mut server) = pair().await;
        client.write_all(b"last").await.unwrap();
        client.shutdown().await.unwrap();
        let mut all = Vec::new();
        server.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"last");
        // The other direction is open.
        server.write_all(b"answer").await.unwrap();
        let mut buf = [0; 6];
        client.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"answer");
        assert_eq!(client.write(b"more").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_reset_is_seen_by_reads_and_by_those_who_wait() {
    everywhere(|| async {
        let (client, mut server) = pair().await;
        let waits = spawn(async move { (server.read(&mut [0; 8]).await, server) });
        trefoil::task::yield_now().await;
        client.set_zero_linger().unwrap();
        drop(client);
        let (read, mut server) = waits.await.unwrap();
        assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
        let error = server.write(b"x").await.unwrap_err().kind();
        assert!(matches!(error, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
    });
}

#[test]
fn the_end_of_writes_after_a_reset_is_no_error() {
    everywhere(|| async {
        let (mut near, far) = pair().await;
        far.set_zero_linger().unwrap();
        drop(far);
        let error = near.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        near.shutdown().await.unwrap();
        near.shutdown().await.unwrap();
    });
}

#[test]
fn nobody_listens() {
    everywhere(|| async {
        let addr = {
            let listener = TcpListener::bind(LOCAL).await.unwrap();
            listener.local_addr().unwrap()
        };
        let error = TcpStream::connect(addr).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        // Of several addresses, the one that works.
        let listener = TcpListener::bind(LOCAL).await.unwrap();
        let both = [addr, listener.local_addr().unwrap()];
        TcpStream::connect(&both[..]).await.unwrap();
        let none: &[SocketAddr] = &[];
        let error = TcpStream::connect(none).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn an_address_in_use() {
    current_thread().block_on(async {
        let listener = TcpListener::bind(LOCAL).await.unwrap();
        let error = TcpListener::bind(listener.local_addr().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn names() {
    current_thread().block_on(async {
        let addrs: Vec<_> = lookup_host(("127.0.0.1", 80)).await.unwrap().collect();
        assert_eq!(addrs, ["127.0.0.1:80".parse().unwrap()]);
        let addrs: Vec<_> = lookup_host("[::1]:80".to_owned()).await.unwrap().collect();
        assert_eq!(addrs, ["[::1]:80".parse().unwrap()]);
        assert!(lookup_host("localhost:80").await.unwrap().count() > 0);
        assert_eq!(lookup_host("no port").await.err().unwrap().kind(), ErrorKind::InvalidInput);
        // RFC 2606 keeps this name from existing.
        assert!(lookup_host("nobody.invalid:80").await.is_err());
        assert!(TcpStream::connect(("nobody.invalid", 80)).await.is_err());
    });
}

#[test]
fn zero_length_reads_and_writes_end_nothing() {
    everywhere(|| async {
        let (mut client, mut server) = pair().await;
        client.write_all(b"abc").await.unwrap();
        for _ in 0..300 {
            assert_eq!(server.read(&mut []).await.unwrap(), 0);
        }
        assert_eq!(client.write(&[]).await.unwrap(), 0);
        let mut buf = [0; 3];
        server.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"abc");
        assert_eq!(server.try_read(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn peeks_leave_what_they_see() {
    everywhere(|| async {
        let (mut client, server) = pair().await;
        client.write_all(b"abc").await.unwrap();
        let mut buf = [0; 8];
        for _ in 0..3 {
            assert_eq!(server.peek(&mut buf).await.unwrap(), 3);
        }
        let mut place = ReadBuf::new(&mut buf);
        assert_eq!(poll_fn(|cx| server.poll_peek(cx, &mut place)).await.unwrap(), 3);
        assert_eq!(place.filled(), b"abc");
        assert_eq!(server.try_read(&mut buf).unwrap(), 3);
    });
}

#[test]
fn attempts_and_readiness() {
    everywhere(|| async {
        let (client, server) = pair().await;
        assert!(poll_once(pin!(client.readable())).is_pending());
        assert_eq!(client.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        client.writable().await.unwrap();

        // The buffers fill up, and are emptied again.
        let (mut sent, mut received) = (0, 0);
        let block = [7; 4096];
        loop {
            match client.try_write_vectored(&[IoSlice::new(&block), IoSlice::new(&block[..5])]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(poll_once(pin!(client.writable())).is_pending());
        let (mut a, mut b) = ([0; 4096], [0; 1000]);
        while received < sent {
            let ready = server.ready(Interest::READABLE).await.unwrap();
            assert_eq!(ready, Ready::READABLE);
            let mut bufs = [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)];
            match server.try_read_vectored(&mut bufs) {
                Ok(count) => received += count,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        client.writable().await.unwrap();
        let mut grows = Vec::new();
        client.try_write(b"end").unwrap();
        server.readable().await.unwrap();
        while grows.len() < 3 {
            match server.try_read_buf(&mut grows) {
                Ok(_) => {}
                Err(_) => server.readable().await.unwrap(),
            }
        }
        assert_eq!(grows, b"end");

        drop(client);
        let ready = server.ready(Interest::READABLE).await.unwrap();
        assert!(ready.is_readable() && !ready.is_writable(), "{ready:?}");
        while !server.ready(Interest::READABLE).await.unwrap().is_read_closed() {
            trefoil::task::yield_now().await;
        }
    });
}

#[test]
fn calls_of_the_user() {
    everywhere(|| async {
        let (client, server) = pair().await;
        server.writable().await.unwrap();
        server.try_write(b"abc").unwrap();
        client.readable().await.unwrap();
        let mut calls = 0;
        let counted = client.async_io(Interest::READABLE, || {
            calls += 1;
            if calls == 1 { Err(ErrorKind::WouldBlock.into()) } else { Ok(calls) }
        });
        // The first call has cleared the readiness, and so the second waits for an event.
        let mut counted = pin!(counted);
        assert!(poll_once(counted.as_mut()).is_pending());
        while poll_once(counted.as_mut()).is_pending() {
            server.try_write(b"more").unwrap();
            trefoil::task::yield_now().await;
            trefoil::time::sleep(Duration::from_millis(1)).await;
        }
        client.readable().await.unwrap();
        let error = client.try_io(Interest::READABLE, || Err::<(), _>(ErrorKind::Other.into()));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Other);
        assert!(client.try_io(Interest::READABLE, || Ok(())).is_ok());
    });
}

#[test]
fn halves() {
    everywhere(|| async {
        let (mut client, server) = pair().await;
        {
            let (read, mut write) = client.split();
            write.write_all(b"hi").await.unwrap();
            assert_eq!(read.try_read(&mut [0; 2]).unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        let (mut read, write) = server.into_split();
        let mut buf = [0; 2];
        assert_eq!(read.peek(&mut buf).await.unwrap(), 2);
        read.read_exact(&mut buf).await.unwrap();

        // Halves of two connections are not one.
        let (other, _end) = pair().await;
        let (other_read, other_write) = other.into_split();
        let error = read.reunite(other_write).unwrap_err();
        let (read, other_write) = (error.0, error.1);
        other_read.reunite(other_write).unwrap();
        let server = read.reunite(write).unwrap();

        // The drop of the half that writes ends the writes, and `forget` does not.
        let (read, write) = server.into_split();
        write.forget();
        assert!(poll_once(pin!(client.readable())).is_pending());
        drop(read);
        assert_eq!(client.read(&mut buf).await.unwrap(), 0);
        let (mut client, server) = pair().await;
        let (mut read, write) = server.into_split();
        drop(write);
        assert_eq!(client.read(&mut buf).await.unwrap(), 0);
        client.write_all(b"ok").await.unwrap();
        read.read_exact(&mut buf).await.unwrap();
    });
}

#[test]
fn both_directions_wait_in_two_tasks() {
    everywhere(|| async {
        let (client, server) = pair().await;
        let (mut read, mut write) = client.into_split();
        let (mut back_read, mut back_write) = server.into_split();
        let echo = spawn(async move {
            let mut buf = vec![0; 10_000];
            loop {
                let count = back_read.read(&mut buf).await.unwrap();
                if count == 0 {
                    break;
                }
                back_write.write_all(&buf[..count]).await.unwrap();
            }
        });
        let writing = spawn(async move {
            for n in 0..200_u8 {
                write.write_all(&[n; 10_007]).await.unwrap();
            }
        });
        for n in 0..200_u8 {
            let mut buf = [0; 10_007];
            read.read_exact(&mut buf).await.unwrap();
            assert!(buf.iter().all(|&byte| byte == n));
        }
        writing.await.unwrap();
        assert_eq!(read.read(&mut [0]).await.unwrap(), 0);
        echo.await.unwrap();
    });
}

#[test]
fn options() {
    current_thread().block_on(async {
        let (client, server) = pair().await;
        client.set_nodelay(true).unwrap();
        assert!(client.nodelay().unwrap());
        client.set_ttl(77).unwrap();
        assert_eq!(client.ttl().unwrap(), 77);
        assert_eq!(client.linger().unwrap(), None);
        client.set_zero_linger().unwrap();
        assert_eq!(client.linger().unwrap(), Some(Duration::ZERO));
        assert_eq!(client.peer_addr().unwrap(), server.local_addr().unwrap());
        assert!(client.take_error().unwrap().is_none());

        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.set_keepalive(true).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_send_buffer_size(20_000).unwrap();
        socket.set_recv_buffer_size(20_000).unwrap();
        assert!(socket.reuseaddr().unwrap() && socket.keepalive().unwrap());
        assert!(socket.nodelay().unwrap());
        assert!(socket.send_buffer_size().unwrap() >= 20_000);
        assert!(socket.recv_buffer_size().unwrap() >= 20_000);
        socket.bind(LOCAL.parse().unwrap()).unwrap();
        let addr = socket.local_addr().unwrap();
        let listener = socket.listen(16).unwrap();
        assert_eq!(listener.local_addr().unwrap(), addr);
        let client = TcpSocket::new_v4().unwrap();
        let (client, server) = trefoil::join!(client.connect(addr), listener.accept());
        assert_eq!(client.unwrap().local_addr().unwrap(), server.unwrap().1);
    });
}

#[test]
fn to_the_standard_library_and_back() {
    current_thread().block_on(async {
        let (client, mut server) = pair().await;
        let mut client = client.into_std().unwrap();
        client.set_nonblocking(false).unwrap();
        let reading = std::thread::spawn(move || {
            let mut buf = [0; 5];
            client.read_exact(&mut buf).unwrap();
            (buf, client)
        });
        server.write_all(b"hello").await.unwrap();
        let (buf, client) = reading.join().unwrap();
        assert_eq!(&buf, b"hello");

        let error = TcpStream::from_std(client.try_clone().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "it is in blocking mode");
        client.set_nonblocking(true).unwrap();
        let mut client = TcpStream::try_from(client).unwrap();
        client.write_all(b"again").await.unwrap();
        let mut buf = [0; 5];
        server.read_exact(&mut buf).await.unwrap();

        let listener = TcpListener::bind(LOCAL).await.unwrap();
        let listener = TcpListener::from_std(listener.into_std().unwrap()).unwrap();
        let addr = listener.local_addr().unwrap();
        let (client, _server) = trefoil::join!(TcpStream::connect(addr), listener.accept());
        client.unwrap();
    });
}

/// A read that ends at the mark of urgent data is short, and has not taken all that there is.
#[cfg(target_os = "linux")]
#[test]
fn urgent_data_hides_nothing_behind_it() {
    everywhere(|| async {
        let (mut client, mut server) = pair().await;
        for _ in 0..20 {
            client.write_all(b"before").await.unwrap();
            client.writable().await.unwrap();
            socket2::SockRef::from(&client).send_out_of_band(b"!").unwrap();
            client.write_all(b"behind").await.unwrap();
            // The urgent byte itself is not in the stream.
            let mut buf = [0; 64];
            let mut all = Vec::new();
            while all.len() < 12 {
                let read = timeout(support::watch::WATCHDOG, server.read(&mut buf));
                let count = read.await.expect("what is behind the mark was forgotten").unwrap();
                all.extend_from_slice(&buf[..count]);
            }
            assert_eq!(all, b"beforebehind");
        }
    });
}

/// Dropped at every poll, an operation loses nothing.
#[test]
fn dropped_futures_lose_nothing() {
    everywhere(|| async {
        let (mut client, server) = pair().await;
        let server = Arc::new(server);
        for n in 0..200_u8 {
            for _ in 0..n % 4 {
                assert!(poll_once(pin!(server.readable())).is_pending());
                assert!(poll_once(pin!(server.peek(&mut [0]))).is_pending());
            }
            client.write_all(&[n]).await.unwrap();
            let mut buf = [0];
            while server.try_read(&mut buf).is_err() {
                server.readable().await.unwrap();
            }
            assert_eq!(buf, [n]);
            while poll_once(pin!(server.readable())).is_ready() {
                assert!(server.try_read(&mut buf).is_err());
            }
        }
    });
}

/// Many tasks wait for one socket, some give up, and an event wakes all others.
#[test]
fn any_number_of_tasks_may_wait() {
    everywhere(|| async {
        let (mut client, server) = pair().await;
        let server = Arc::new(server);
        let woken = Arc::new(Mutex::new(0));
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                let (server, woken) = (server.clone(), woken.clone());
                spawn(async move {
                    server.readable().await.unwrap();
                    *woken.lock() += 1;
                })
            })
            .collect();
        trefoil::task::yield_now().await;
        for task in tasks.iter().step_by(2) {
            task.abort();
        }
        client.write_all(b"x").await.unwrap();
        for (n, task) in tasks.into_iter().enumerate() {
            let joined = task.await;
            assert!(n % 2 == 0 || joined.is_ok());
        }
        assert!(*woken.lock() >= 50);
    });
}

/// A socket that always has something to read lets the other tasks of its worker run.
#[test]
fn a_socket_that_is_always_ready_lets_siblings_run() {
    for runtime in [current_thread(), support::multi(1)] {
        runtime.block_on(async {
            spawn(async {
                let (mut client, mut server) = pair().await;
                client.write_all(&[1; 2000]).await.unwrap();
                let turns = Arc::new(Mutex::new(0_u32));
                let its = turns.clone();
                let sibling = spawn(async move {
                    loop {
                        *its.lock() += 1;
                        trefoil::task::yield_now().await;
                    }
                });
                let before = *turns.lock();
                // Each of these is ready.
                for _ in 0..2000 {
                    server.read_exact(&mut [0]).await.unwrap();
                }
                // With 128 operations a turn, and up to four turns in a row.
                assert!(*turns.lock() - before >= 2, "the sibling starved");
                sibling.abort();
            })
            .await
            .unwrap();
        });
    }
}

/// All this happens in one poll, so the reactor is not asked meanwhile.
#[cfg(unix)]
#[test]
fn an_accepted_connection_is_tried_before_any_event() {
    current_thread().block_on(async {
        let listener = TcpListener::bind(LOCAL).await.unwrap();
        let addr = listener.local_addr().unwrap();
        for is_polled in [false, true] {
            let mut client = std::net::TcpStream::connect(addr).unwrap();
            let (mut server, _) = match is_polled {
                false => listener.accept().await.unwrap(),
                true => poll_fn(|cx| listener.poll_accept(cx)).await.unwrap(),
            };
            assert_eq!(server.try_write(b"x").unwrap(), 1);
            // That a read is worth a try is no readiness.
            assert!(poll_once(pin!(server.readable())).is_pending());
            assert!(poll_once(pin!(poll_fn(|cx| server.poll_read_ready(cx)))).is_pending());
            client.write_all(b"early").unwrap();
            let same = std::net::TcpStream::from(server.as_fd().try_clone_to_owned().unwrap());
            while same.peek(&mut [0]).is_err() {
                std::thread::yield_now();
            }
            let mut buf = [0; 8];
            assert_eq!(server.try_read(&mut buf).unwrap(), 5);
            // Now it was in vain, which is found out once.
            assert_eq!(server.try_read(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
            assert!(poll_once(pin!(server.read(&mut buf))).is_pending());
            client.write_all(b"late").unwrap();
            assert_eq!(server.read(&mut buf).await.unwrap(), 4);
        }
    });
}

#[test]
fn to_shut_a_connection_down_that_was_reset_is_no_error() {
    everywhere(|| async {
        let (mut client, server) = pair().await;
        server.set_zero_linger().unwrap();
        drop(server);
        let error = client.read(&mut [0]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        client.shutdown().await.unwrap();
    });
}

/// In blocking mode, as `socket2` makes them: a handshake without an answer would hold its worker
/// for minutes, and later each read that finds nothing.
#[cfg(unix)]
#[test]
fn a_socket_that_blocks_is_refused_by_connect_and_listen() {
    use std::os::fd::FromRawFd;
    fn blocking() -> TcpSocket {
        // SAFETY: the call takes numbers alone.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) };
        assert!(fd >= 0);
        // SAFETY: it was just opened, and is given away here.
        TcpSocket::from_std_stream(unsafe { std::net::TcpStream::from_raw_fd(fd) })
    }
    everywhere(|| async {
        let error = blocking().connect(LOCAL.parse().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(blocking().listen(8).unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}
