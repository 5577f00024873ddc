//! UDP, and datagrams of Unix sockets.
#![cfg(all(feature = "net", unix))]

use crate::rig::everywhere;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::sync::Arc;
use trefoil::io::{Interest, ReadBuf};
use trefoil::net::{UdpSocket, UnixDatagram};
use trefoil::spawn;

const LOCAL: &str = "127.0.0.1:0";

async fn udp_pair() -> (UdpSocket, UdpSocket) {
    let (a, b) = (UdpSocket::bind(LOCAL).await.unwrap(), UdpSocket::bind(LOCAL).await.unwrap());
    a.connect(b.local_addr().unwrap()).await.unwrap();
    b.connect(a.local_addr().unwrap()).await.unwrap();
    (a, b)
}

#[test]
fn udp_to_and_from() {
    everywhere(|| async {
        let (a, b) = (UdpSocket::bind(LOCAL).await.unwrap(), UdpSocket::bind(LOCAL).await.unwrap());
        let (from, to) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        let mut buf = [0; 8];
        for n in 0..100_u8 {
            assert_eq!(a.send_to(&[n; 3], to).await.unwrap(), 3);
            assert_eq!(b.peek_from(&mut buf).await.unwrap(), (3, from));
            assert_eq!(b.peek_sender().await.unwrap(), from);
            assert_eq!(b.recv_from(&mut buf).await.unwrap(), (3, from));
            assert_eq!(buf[..3], [n; 3]);
        }
        assert_eq!(b.try_recv_from(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);

        // What does not fit is lost, and an empty datagram is one.
        a.send_to(&[1; 100], to).await.unwrap();
        a.send_to(&[], to).await.unwrap();
        assert_eq!(b.recv_from(&mut buf).await.unwrap(), (8, from));
        assert_eq!(b.recv_from(&mut buf).await.unwrap(), (0, from));

        let mut grows = Vec::with_capacity(16);
        poll_fn(|cx| a.poll_send_to(cx, b"poll", to)).await.unwrap();
        assert_eq!(b.recv_buf_from(&mut grows).await.unwrap(), (4, from));
        a.try_send_to(b"ed", to).unwrap();
        assert_eq!(b.recv_buf(&mut grows).await.unwrap(), 2);
        assert_eq!(grows, b"polled");
        // A datagram gets the room that there is, and a full buffer grows by a little.
        for mut buf in [Vec::with_capacity(5), Vec::new()] {
            a.send_to(&[1; 3000], to).await.unwrap();
            let count = b.recv_buf(&mut buf).await.unwrap();
            assert_eq!(count, buf.capacity());
            assert!(count < 3000);
        }
        a.send_to(b"last", to.to_string()).await.unwrap();
        let mut place = ReadBuf::new(&mut buf);
        assert_eq!(poll_fn(|cx| b.poll_peek_from(cx, &mut place)).await.unwrap(), from);
        place.clear();
        assert_eq!(poll_fn(|cx| b.poll_recv_from(cx, &mut place)).await.unwrap(), from);
        assert_eq!(place.filled(), b"last");
    });
}

#[test]
fn udp_connected() {
    everywhere(|| async {
        let (a, b) = udp_pair().await;
        assert_eq!(a.peer_addr().unwrap(), b.local_addr().unwrap());
        let (a, b) = (Arc::new(a), Arc::new(b));
        let its = b.clone();
        let echo = spawn(async move {
            let mut buf = [0; 8];
            for _ in 0..200 {
                let count = its.recv(&mut buf).await.unwrap();
                its.send(&buf[..count]).await.unwrap();
            }
        });
        let mut buf = [0; 8];
        for n in 0..200_u8 {
            a.send(&[n]).await.unwrap();
            assert_eq!(a.recv(&mut buf).await.unwrap(), 1);
            assert_eq!(buf[0], n);
        }
        echo.await.unwrap();
        assert_eq!(a.try_recv(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        b.ready(Interest::WRITABLE).await.unwrap();
        b.try_send(b"x").unwrap();
        a.readable().await.unwrap();
        assert_eq!(a.try_peek(&mut buf).unwrap(), 1);
        assert_eq!(a.peek(&mut buf).await.unwrap(), 1);
        assert_eq!(a.try_recv(&mut buf).unwrap(), 1);
    });
}

/// A task that only receives learns that nobody is at the other end.
#[cfg(target_os = "linux")]
#[test]
fn udp_errors_reach_those_who_receive() {
    everywhere(|| async {
        let (a, b) = udp_pair().await;
        drop(b);
        a.send(b"to nobody").await.unwrap();
        let error = a.recv(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn udp_options() {
    everywhere(|| async {
        let socket = UdpSocket::bind(LOCAL).await.unwrap();
        socket.set_broadcast(true).unwrap();
        assert!(socket.broadcast().unwrap());
        socket.set_ttl(9).unwrap();
        assert_eq!(socket.ttl().unwrap(), 9);
        socket.set_multicast_loop_v4(false).unwrap();
        assert!(!socket.multicast_loop_v4().unwrap());
        socket.set_multicast_ttl_v4(3).unwrap();
        assert_eq!(socket.multicast_ttl_v4().unwrap(), 3);
        let std = socket.into_std().unwrap();
        let socket = UdpSocket::from_std(std).unwrap();
        let addr = socket.local_addr().unwrap();
        assert_eq!(UdpSocket::bind(addr).await.unwrap_err().kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn unix_datagrams() {
    everywhere(|| async {
        let (a, b) = UnixDatagram::pair().unwrap();
        let mut buf = [0; 8];
        a.send(b"pair").await.unwrap();
        assert_eq!(b.recv(&mut buf).await.unwrap(), 4);
        assert_eq!(b.try_recv(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        a.send(b"x").await.unwrap();
        let (count, sender) = b.recv_from(&mut buf).await.unwrap();
        assert!(count == 1 && sender.is_unnamed());
        a.send(b"y").await.unwrap();
        let mut grows = Vec::with_capacity(8);
        let (count, sender) = b.recv_buf_from(&mut grows).await.unwrap();
        assert!(count == 1 && sender.is_unnamed(), "{sender:?}");

        let folder = std::env::temp_dir();
        let name = |end: &str| {
            folder.join(format!(
                "trefoil-{}-{:?}-{end}",
                std::process::id(),
                std::thread::current().id()
            ))
        };
        let (from, to) = (name("a"), name("b"));
        let (a, b) = (UnixDatagram::bind(&from).unwrap(), UnixDatagram::bind(&to).unwrap());
        a.send_to(b"path", &to).await.unwrap();
        let (count, sender) = b.recv_from(&mut buf).await.unwrap();
        assert_eq!((count, sender.as_pathname()), (4, Some(&*from)));
        b.connect(&from).unwrap();
        b.send(b"back").await.unwrap();
        let mut place = ReadBuf::new(&mut buf);
        let sender = poll_fn(|cx| a.poll_recv_from(cx, &mut place)).await.unwrap();
        assert_eq!(sender.as_pathname(), Some(&*to));
        std::fs::remove_file(from).unwrap();
        std::fs::remove_file(to).unwrap();
    });
}
