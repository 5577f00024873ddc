//! Errors that no ordinary call fetches, and those who wait for them. On Linux, the time at which a
//! datagram was sent lies in the socket's queue of errors: a `recv` would block although there is
//! an error to fetch.
#![cfg(all(feature = "net", target_os = "linux"))]

use crate::rig::everywhere;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use trefoil::io::unix::AsyncFd;
use trefoil::io::{AsyncReadExt, AsyncWriteExt};
use trefoil::io::{Interest, Ready};
use trefoil::net::{TcpListener, TcpStream, UdpSocket};
use trefoil::spawn;
use trefoil::time::{sleep, timeout};

const LOCAL: &str = "127.0.0.1:0";
const SECONDS: Duration = Duration::from_secs(20);

/// A socket and whom it sends to.
async fn pair() -> (UdpSocket, UdpSocket) {
    let (a, b) = (UdpSocket::bind(LOCAL).await.unwrap(), UdpSocket::bind(LOCAL).await.unwrap());
    a.connect(b.local_addr().unwrap()).await.unwrap();
    (a, b)
}

/// Has the system put the time of each datagram that is sent into the queue of errors.
fn stamps(socket: &impl AsRawFd) -> bool {
    // SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE
    let options: libc::c_uint = 1 << 1 | 1 << 4;
    let len = size_of_val(&options) as libc::socklen_t;
    // SAFETY: the system reads `len` bytes at the pointer during the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const options).cast(),
            len,
        )
    };
    if result != 0 {
        eprintln!("skipped: this system stamps nothing");
    }
    result == 0
}

fn fetch(socket: &impl AsRawFd) -> std::io::Result<usize> {
    let mut buf = [0_u8; 256];
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the system writes at most `buf.len()` bytes to `buf` during the call.
    let count =
        unsafe { libc::recv(socket.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len(), flags) };
    usize::try_from(count).map_err(|_| std::io::Error::last_os_error())
}

#[test]
fn an_attempt_to_read_clears_no_error() {
    everywhere(|| async {
        let (a, _b) = pair().await;
        if !stamps(&a) {
            return;
        }
        a.send(b"x").await.unwrap();
        let ready = timeout(SECONDS, a.ready(Interest::ERROR)).await;
        assert!(ready.expect("there is a stamp").unwrap().is_error());
        assert_eq!(a.try_recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        // Nobody has fetched it.
        let ready = timeout(SECONDS, a.ready(Interest::ERROR)).await;
        assert!(ready.expect("the stamp is still there").unwrap().is_error());
        assert!(fetch(&a).is_ok());
    });
}

/// As a service has it that notes when its packets left: one task receives, another fetches.
#[test]
fn a_reader_takes_no_wakeup_from_who_waits_for_errors() {
    everywhere(|| async {
        let (a, _b) = pair().await;
        if !stamps(&a) {
            return;
        }
        let a = Arc::new(a);
        let its = a.clone();
        // The first on the list, and so the first to be woken.
        let reader = spawn(async move { its.recv(&mut [0; 8]).await });
        sleep(Duration::from_millis(5)).await;
        let its = a.clone();
        let fetcher = spawn(async move { its.async_io(Interest::ERROR, || fetch(&*its)).await });
        sleep(Duration::from_millis(5)).await;
        a.send(b"x").await.unwrap();
        let fetched = timeout(SECONDS, fetcher).await.expect("its event has come");
        fetched.unwrap().unwrap();
        reader.abort();
    });
}

/// A guard that is asked to clear what may be read must not leave the next wait ready.
#[test]
fn a_guard_of_reads_leaves_no_readiness_behind() {
    everywhere(|| async {
        let socket = std::net::UdpSocket::bind(LOCAL).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket.connect(socket.local_addr().unwrap()).unwrap();
        if !stamps(&socket) {
            return;
        }
        let fd = AsyncFd::new(socket).unwrap();
        fd.get_ref().send(b"x").unwrap();
        fd.async_io(Interest::READABLE, |socket| socket.recv(&mut [0; 8])).await.unwrap();
        timeout(SECONDS, fd.ready(Interest::ERROR)).await.unwrap().unwrap().retain_ready();
        let mut turns = 0;
        let waits = poll_fn(|cx| {
            while turns < 50 {
                let Poll::Ready(guard) = fd.poll_read_ready(cx) else {
                    return Poll::Ready(true);
                };
                let mut guard = guard.unwrap();
                let read = guard.get_inner().recv(&mut [0; 8]);
                assert_eq!(read.unwrap_err().kind(), ErrorKind::WouldBlock);
                guard.clear_ready_matching(Ready::READABLE);
                turns += 1;
            }
            Poll::Ready(false)
        });
        assert!(waits.await, "it would spin for ever: {turns} turns");
    });
}

/// Time stamps of a connection's packets are reported as if nobody read any more at the other end.
/// Who waits for room still waits.
#[test]
fn notices_of_a_connection_do_not_end_its_writes() {
    everywhere(|| async {
        let listener = TcpListener::bind(LOCAL).await.unwrap();
        let connects = TcpStream::connect(listener.local_addr().unwrap());
        let (a, b) = trefoil::join!(connects, listener.accept());
        let (mut a, (mut b, _)) = (a.unwrap(), b.unwrap());
        if !stamps(&a) {
            return;
        }
        a.write_all(b"x").await.unwrap();
        let ready = timeout(SECONDS, a.ready(Interest::ERROR)).await;
        assert!(ready.expect("there is a stamp").unwrap().is_error());
        // Full for good, also for what the system still makes room for.
        let is_full = async {
            loop {
                while a.try_write(&[0; 1 << 16]).is_ok() {}
                if timeout(Duration::from_millis(50), a.writable()).await.is_err() {
                    return;
                }
            }
        };
        timeout(SECONDS, is_full).await.expect("a full connection is always writable");
        // Its end is told.
        b.read_u8().await.unwrap();
        drop(b);
        let ends = async {
            loop {
                a.writable().await.unwrap();
                match a.try_write(&[0; 1 << 16]) {
                    Err(error) if error.kind() != ErrorKind::WouldBlock => return,
                    _ => {}
                }
            }
        };
        timeout(SECONDS, ends).await.expect("the other side has gone");
    });
}
