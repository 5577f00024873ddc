//! Streams of Unix sockets, and descriptors of any kind.
#![cfg(all(feature = "net", unix))]

use crate::rig::everywhere;
use crate::support::current_thread;
use std::io::{ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::os::fd::{AsFd, RawFd};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Waker};
use trefoil::io::unix::AsyncFd;
use trefoil::io::{AsyncReadExt, AsyncWriteExt, Interest, Ready};
use trefoil::net::{UnixDatagram, UnixListener, UnixSocket, UnixStream};
use trefoil::spawn;

/// A path that nobody else has, whose file is removed in the end.
struct Name(PathBuf);

impl Name {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("trefoil-{}-{}.sock", std::process::id(), NEXT.fetch_add(1, Relaxed));
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn streams() {
    everywhere(|| async {
        let name = Name::new();
        let listener = UnixListener::bind(&name.0).unwrap();
        let (client, server) = trefoil::join!(UnixStream::connect(&name.0), listener.accept());
        let (mut client, (mut server, addr)) = (client.unwrap(), server.unwrap());
        assert!(addr.is_unnamed());
        assert_eq!(client.peer_addr().unwrap().as_pathname(), Some(&*name.0));
        for n in 0..50_u8 {
            client.write_all(&[n; 64]).await.unwrap();
            let mut buf = [0; 64];
            server.read_exact(&mut buf).await.unwrap();
            assert_eq!(buf, [n; 64]);
        }
        assert_eq!(server.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        let (mut read, write) = server.into_split();
        drop(write);
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
        client.shutdown().await.unwrap();
        assert_eq!(read.read(&mut [0]).await.unwrap(), 0);

        let error = UnixListener::bind(&name.0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        drop(listener);
        let error = UnixStream::connect(&name.0).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn sockets_that_are_bound_first() {
    current_thread().block_on(async {
        let name = Name::new();
        let socket = UnixSocket::new_stream().unwrap();
        socket.bind(&name.0).unwrap();
        let listener = socket.listen(8).unwrap();
        let connecting = UnixSocket::new_stream().unwrap().connect(&name.0);
        let (client, server) = trefoil::join!(connecting, listener.accept());
        client.unwrap().write_all(b"x").await.unwrap();
        assert_eq!(server.unwrap().0.read_u8().await.unwrap(), b'x');
        assert!(UnixSocket::new_datagram().unwrap().listen(1).is_err());
        assert!(UnixSocket::new_stream().unwrap().datagram().is_err());
    });
}

#[test]
fn a_path_with_a_nul_inside_is_refused() {
    current_thread().block_on(async {
        let name = Name::new();
        let cut = format!("{}\0x", name.0.display());
        // Both are there, so that a path that was cut would do.
        let _listener = UnixListener::bind(&name.0).unwrap();
        let other = Name::new();
        let cut_other = format!("{}\0x", other.0.display());
        let _receiver = UnixDatagram::bind(&other.0).unwrap();
        let refused = |what: &str, result: std::io::Result<()>| {
            assert_eq!(result.expect_err(what).kind(), ErrorKind::InvalidInput, "{what}");
        };
        refused("a stream", UnixStream::connect(&cut).await.map(drop));
        let socket = UnixSocket::new_stream().unwrap();
        refused("a socket", socket.connect(&cut).await.map(drop));
        refused("a listener", UnixListener::bind(&cut).map(drop));
        let socket = UnixSocket::new_stream().unwrap();
        refused("a bound socket", socket.bind(&cut));
        let datagrams = UnixDatagram::unbound().unwrap();
        refused("a bound one of datagrams", UnixDatagram::bind(&cut_other).map(drop));
        refused("connecting", datagrams.connect(&cut_other));
        refused("sending", datagrams.send_to(b"x", &cut_other).await.map(drop));
        refused("trying to send", datagrams.try_send_to(b"x", &cut_other).map(drop));
    });
}

#[cfg(target_os = "linux")]
#[test]
fn abstract_names_and_credentials() {
    current_thread().block_on(async {
        let name = format!("\0trefoil-{}", std::process::id());
        let listener = UnixListener::bind(&name).unwrap();
        let (client, server) = trefoil::join!(UnixStream::connect(&name), listener.accept());
        let (client, (server, _)) = (client.unwrap(), server.unwrap());
        let addr = client.peer_addr().unwrap();
        assert_eq!(addr.as_abstract_name(), Some(&name.as_bytes()[1..]));
        for stream in [client, server] {
            let peer = stream.peer_cred().unwrap();
            assert_eq!(peer.pid(), Some(std::process::id() as i32));
        }
        // Without a peer, the system has no process to tell.
        let socket = UnixSocket::new_stream().unwrap().as_fd().try_clone_to_owned().unwrap();
        let unconnected = UnixStream::from_std(socket.into()).unwrap();
        assert_eq!(unconnected.peer_cred().unwrap().pid(), None);
    });
}

fn is_pending(future: impl Future) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

fn async_pair() -> (AsyncFd<std::os::unix::net::UnixStream>, std::os::unix::net::UnixStream) {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (AsyncFd::new(ours).unwrap(), theirs)
}

#[test]
fn descriptors() {
    everywhere(|| async {
        let (ours, mut theirs) = async_pair();
        assert!(is_pending(ours.readable()));
        theirs.write_all(b"ab").unwrap();

        // Readiness stays until it is cleared.
        for _ in 0..3 {
            let mut guard = ours.readable().await.unwrap();
            assert!(guard.ready().is_readable());
            guard.retain_ready();
        }
        let mut buf = [0; 1];
        for _ in 0..2 {
            let mut guard = ours.readable().await.unwrap();
            let read = guard.try_io(|fd| fd.get_ref().read(&mut buf)).unwrap();
            assert_eq!(read.unwrap(), 1);
        }
        let mut guard = ours.readable().await.unwrap();
        assert!(guard.try_io(|fd| fd.get_ref().read(&mut buf)).is_err());
        assert!(is_pending(ours.readable()));

        // What comes after the wait is not cleared.
        theirs.write_all(b"c").unwrap();
        let mut old = ours.readable().await.unwrap();
        theirs.write_all(b"d").unwrap();
        trefoil::time::sleep(std::time::Duration::from_millis(5)).await;
        old.clear_ready();
        ours.readable().await.unwrap().retain_ready();

        let mut guard = ours.ready(Interest::READABLE | Interest::WRITABLE).await.unwrap();
        guard.clear_ready_matching(Ready::WRITABLE);
        assert!(guard.ready().is_readable() && !guard.ready().is_writable());
        let count = ours.async_io(Interest::READABLE, |mut inner| inner.read(&mut [0; 8])).await;
        assert_eq!(count.unwrap(), 2);
        let would_block = ours.try_io(Interest::READABLE, |mut inner| inner.read(&mut [0]));
        assert_eq!(would_block.unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(theirs);
        assert!(ours.readable().await.unwrap().ready().is_read_closed());
        let inner = ours.into_inner();
        AsyncFd::new(inner).unwrap();
    });
}

/// Whether the descriptor has nothing to do, now that `tried` was in vain.
#[cfg(target_os = "linux")]
fn waits<T: std::os::fd::AsRawFd>(fd: &AsyncFd<T>, tried: impl Fn(&AsyncFd<T>)) -> bool {
    // What was reported before may come once more.
    (0..3).any(|_| {
        tried(fd);
        // This spends no budget, which would look like a wait.
        fd.try_io(Interest::READABLE, |_| Ok(())).is_err()
    })
}

/// A reader of a FIFO file, which `AsyncFd` does not know to be one, and whose writers come and go.
#[cfg(target_os = "linux")]
#[test]
fn an_end_that_has_passed_makes_nobody_spin() {
    use std::os::unix::fs::OpenOptionsExt;
    type Try = fn(&AsyncFd<std::fs::File>);
    let in_vain: [Try; 3] = [
        |fd| {
            let read = fd.try_io(Interest::READABLE, |mut file| file.read(&mut [0]));
            assert_eq!(read.unwrap_err().kind(), ErrorKind::WouldBlock);
        },
        |fd| {
            let cx = &mut Context::from_waker(Waker::noop());
            if let std::task::Poll::Ready(guard) = fd.poll_read_ready(cx) {
                assert!(guard.unwrap().try_io(|fd| fd.get_ref().read(&mut [0])).is_err());
            }
        },
        |fd| {
            let read = fd.async_io(Interest::READABLE, |mut file| file.read(&mut [0]));
            assert!(is_pending(read));
        },
    ];
    everywhere(move || async move {
        let fifo = Name::new();
        let made = std::process::Command::new("mkfifo").arg(&fifo.0).status().unwrap();
        assert!(made.success());
        let mut reads = std::fs::OpenOptions::new();
        let reads = reads.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
        let file = reads.open(&fifo.0).unwrap();
        let fd = Arc::new(AsyncFd::with_interest(file, Interest::READABLE).unwrap());
        for tried in in_vain {
            drop(std::fs::OpenOptions::new().write(true).open(&fifo.0).unwrap());
            while !fd.readable().await.unwrap().ready().is_read_closed() {}
            let read = fd.async_io(Interest::READABLE, |mut file| file.read(&mut [0])).await;
            assert_eq!(read.unwrap(), 0);
            // The next writer has nothing to say yet.
            let mut writer = std::fs::OpenOptions::new().write(true).open(&fifo.0).unwrap();
            assert!(waits(&fd, tried));
            writer.write_all(b"x").unwrap();
            let read = fd.async_io(Interest::READABLE, |mut file| file.read(&mut [0])).await;
            assert_eq!(read.unwrap(), 1);
            // The next end is seen, although the one before was cleared.
            let last = spawn({
                let fd = fd.clone();
                async move { fd.async_io(Interest::READABLE, |mut file| file.read(&mut [0])).await }
            });
            trefoil::task::yield_now().await;
            drop(writer);
            assert_eq!(last.await.unwrap().unwrap(), 0);
        }
    });
}

#[test]
fn the_end_of_a_stream_cannot_be_cleared() {
    everywhere(|| async {
        let (ours, theirs) = async_pair();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        let mut guard = ours.readable().await.unwrap();
        assert!(guard.ready().is_read_closed());
        guard.clear_ready();
        assert!(!is_pending(ours.readable()));
    });
}

#[test]
fn a_regular_file_is_refused_and_given_back() {
    current_thread().block_on(async {
        let file = std::fs::File::open("/dev/null").unwrap();
        // A device may be refused or not; a file is.
        drop(file);
        let path = std::env::current_exe().unwrap();
        let file = std::fs::File::open(path).unwrap();
        let (mut file, error) = AsyncFd::try_new(file).unwrap_err().into_parts();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        file.read_exact(&mut [0; 4]).unwrap();
    });
}

/// A number may be that of a descriptor which was closed, and `AsyncFd::new` asks for no promise.
#[test]
fn a_descriptor_is_lent_if_its_owner_lends_it() {
    struct Is<T>(PhantomData<T>);
    impl<T: AsFd> Is<T> {
        const LENT: bool = true;
    }
    /// Takes effect where the bound above is not met.
    trait Otherwise {
        const LENT: bool = false;
    }
    impl<T> Otherwise for Is<T> {}
    let of_file = Is::<AsyncFd<std::fs::File>>::LENT;
    assert_eq!((of_file, Is::<AsyncFd<RawFd>>::LENT), (true, false));
}

#[test]
fn a_descriptor_shared_by_tasks() {
    everywhere(|| async {
        let (ours, mut theirs) = async_pair();
        let ours = Arc::new(ours);
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let ours = ours.clone();
                let read = async move {
                    ours.async_io(Interest::READABLE, |mut inner| inner.read(&mut [0])).await
                };
                spawn(read)
            })
            .collect();
        trefoil::task::yield_now().await;
        for _ in 0..20 {
            theirs.write_all(b"x").unwrap();
            trefoil::task::yield_now().await;
        }
        for task in tasks {
            assert_eq!(task.await.unwrap().unwrap(), 1);
        }
    });
}

/// All this happens in one poll, so the reactor is not asked meanwhile.
#[test]
fn new_sockets_are_written_to_before_any_event() {
    current_thread().block_on(async {
        let (a, b) = UnixStream::pair().unwrap();
        assert_eq!((a.try_write(b"x").unwrap(), b.try_write(b"y").unwrap()), (1, 1));
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(a.poll_read_ready(cx).is_pending());

        let (a, b) = UnixDatagram::pair().unwrap();
        assert_eq!((a.try_send(b"x").unwrap(), b.try_send(b"y").unwrap()), (1, 1));
        assert!(a.poll_recv_ready(cx).is_pending());

        let name = Name::new();
        let listener = UnixListener::bind(&name.0).unwrap();
        let mut client = std::os::unix::net::UnixStream::connect(&name.0).unwrap();
        client.write_all(b"early").unwrap();
        let (server, _) = listener.accept().await.unwrap();
        assert_eq!(server.try_read(&mut [0; 8]).unwrap(), 5);
        assert_eq!(server.try_write(b"x").unwrap(), 1);
    });
}

/// Bytes that have come are read before stopped time jumps to the next timer.
#[cfg(feature = "test-util")]
#[test]
fn stopped_time_does_not_jump_past_an_event() {
    use trefoil::time::{Duration, Instant, sleep};
    let mut builder = trefoil::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap().block_on(async {
        let (mut near, mut far) = UnixStream::pair().unwrap();
        let _timer = spawn(sleep(Duration::from_secs(1)));
        spawn(async move {
            while let Ok(byte) = far.read_u8().await {
                far.write_u8(byte).await.unwrap();
            }
        });
        let start = Instant::now();
        for byte in 0..20 {
            near.write_u8(byte).await.unwrap();
            assert_eq!(near.read_u8().await.unwrap(), byte);
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
    });
}
