//! What goes wrong around sockets: no descriptors, descriptors that others close, many sockets, and
//! forks.
#![cfg(all(feature = "net", target_os = "linux"))]

mod support;

use rustix::process::{Pid, Resource, Rlimit, WaitOptions, getrlimit, setrlimit, waitpid};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use support::{current_and_multi, current_thread};
use trefoil::io::{AsyncReadExt, AsyncWriteExt};
use trefoil::net::{TcpListener, TcpStream, UdpSocket};
use trefoil::runtime::{Builder, Handle, Runtime};
use trefoil::time::{Duration, sleep, timeout};

const LOCAL: &str = "127.0.0.1:0";

/// Runs a test of this file alone in a process of its own: it changes what belongs to the process.
fn alone(name: &str, body: impl FnOnce()) {
    const CHILD: &str = "TREFOIL_NET_FAULTS";
    if std::env::var(CHILD).is_ok_and(|child| child == name) {
        return body();
    }
    let exe = std::env::current_exe().unwrap();
    let output = Command::new(exe).args(["--exact", name]).env(CHILD, name).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// Both ends of a connection.
async fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(LOCAL).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (client, server) = trefoil::join!(TcpStream::connect(addr), listener.accept());
    (client.unwrap(), server.unwrap().0)
}

fn limit_descriptors(limit: u64) {
    let old = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(limit), maximum: old.maximum }).unwrap();
}

fn open_descriptors() -> u64 {
    std::fs::read_dir("/proc/self/fd").unwrap().count() as u64
}

/// The listener says so each time that it is asked, nothing else happens meanwhile, and the
/// connection is accepted when there is a descriptor again.
#[test]
fn no_descriptor_for_a_connection() {
    alone("no_descriptor_for_a_connection", || {
        for runtime in current_and_multi([1, 2]) {
            runtime
                .block_on(runtime.spawn(async {
                    limit_descriptors(4096);
                    let listener = TcpListener::bind(LOCAL).await.unwrap();
                    let addr = listener.local_addr().unwrap();
                    let mut client = TcpStream::connect(addr).await.unwrap();
                    let spare = std::fs::File::open("/dev/null").unwrap();
                    limit_descriptors(spare.as_raw_fd() as u64 + 1);
                    // All numbers below the limit are in use.
                    let mut more = Vec::new();
                    while let Ok(file) = std::fs::File::open("/dev/null") {
                        more.push(file);
                    }
                    for _ in 0..3 {
                        let error = listener.accept().await.unwrap_err();
                        assert_eq!(error.raw_os_error(), Some(24), "EMFILE: {error}");
                    }
                    // Nobody asks, and so nothing is done: the workers sleep but for this timer.
                    let metrics = Handle::current().metrics();
                    let polls = || {
                        (0..metrics.num_workers())
                            .map(|n| metrics.worker_poll_count(n))
                            .sum::<u64>()
                    };
                    let before = polls();
                    sleep(Duration::from_millis(50)).await;
                    assert!(polls() - before <= 3, "{} polls", polls() - before);

                    drop(spare);
                    let (mut server, _) = listener.accept().await.unwrap();
                    client.write_all(b"late").await.unwrap();
                    let mut buf = [0; 4];
                    server.read_exact(&mut buf).await.unwrap();
                    assert_eq!(&buf, b"late");
                }))
                .unwrap();
        }
    });
}

/// A runtime takes descriptors of its own with its first socket, which fails if there are none. The
/// next one tries again.
#[test]
fn no_descriptor_for_the_first_socket() {
    alone("no_descriptor_for_the_first_socket", || {
        let without = open_descriptors();
        let runtimes = current_and_multi([1]);
        for runtime in &runtimes {
            runtime.block_on(runtime.spawn(async {})).unwrap();
        }
        assert_eq!(open_descriptors(), without);
        let enough = getrlimit(Resource::Nofile).current.unwrap();
        for runtime in runtimes {
            let [first, second] = [(); 2].map(|()| std::net::UdpSocket::bind(LOCAL).unwrap());
            first.set_nonblocking(true).unwrap();
            second.set_nonblocking(true).unwrap();
            let _entered = runtime.enter();
            limit_descriptors(0);
            let error = UdpSocket::from_std(first).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(24), "EMFILE");
            limit_descriptors(enough);
            let socket = UdpSocket::from_std(second).unwrap();
            runtime.block_on(async {
                let receives = async { socket.recv(&mut [0; 2]).await.unwrap() };
                let sends = async {
                    sleep(Duration::from_millis(1)).await;
                    socket.send_to(b"a", socket.local_addr().unwrap()).await.unwrap()
                };
                assert_eq!(trefoil::join!(receives, sends), (1, 1));
            });
        }
    });
}

/// Somebody closes the descriptor of a socket, and a new socket gets its number. The old socket's
/// events do not reach the new one.
#[test]
fn a_descriptor_that_others_close() {
    alone("a_descriptor_that_others_close", || {
        current_thread().block_on(async {
            let listener = TcpListener::bind(LOCAL).await.unwrap();
            let addr = listener.local_addr().unwrap();
            let (stream, accepted) = trefoil::join!(TcpStream::connect(addr), listener.accept());
            let (mut stream, (mut accepted, _)) = (stream.unwrap(), accepted.unwrap());
            // The file lives on by its copy, so the system still reports its events.
            let copy = rustix::io::dup(&stream).unwrap();
            // SAFETY: nobody relies on the number but calls that are to fail.
            unsafe { rustix::io::close(stream.as_raw_fd()) };
            accepted.write_all(b"to nobody").await.unwrap();
            assert_eq!(stream.read(&mut [0]).await.unwrap_err().raw_os_error(), Some(9), "EBADF");
            // The system cannot be told to forget it.
            let fd = stream.as_raw_fd();
            std::mem::forget(stream);

            let (a, b) = trefoil::join!(TcpStream::connect(addr), listener.accept());
            let (mut a, (mut b, _)) = (a.unwrap(), b.unwrap());
            assert!([a.as_raw_fd(), b.as_raw_fd()].contains(&fd), "a number is used again");
            for n in 0..10 {
                accepted.write_all(b"to nobody").await.unwrap();
                a.write_all(&[n]).await.unwrap();
                assert_eq!(b.read_u8().await.unwrap(), n);
            }
            drop(copy);
        });
    });
}

/// Many sockets, all of which are idle but one at a time.
#[test]
fn ten_thousand_sockets() {
    alone("ten_thousand_sockets", || {
        let most = getrlimit(Resource::Nofile).maximum.unwrap_or(30_000).min(30_000);
        limit_descriptors(most);
        let pairs = (most - open_descriptors() - 100).min(20_000) as usize / 2;
        for runtime in current_and_multi([2]) {
            runtime.block_on(async {
                let listener = TcpListener::bind(LOCAL).await.unwrap();
                let addr = listener.local_addr().unwrap();
                let mut sockets = Vec::new();
                for _ in 0..pairs {
                    let (client, server) =
                        trefoil::join!(TcpStream::connect(addr), listener.accept());
                    sockets.push((client.unwrap(), server.unwrap().0));
                }
                for n in (0..pairs).rev().step_by(37) {
                    let (client, server) = &mut sockets[n];
                    client.write_all(&[n as u8]).await.unwrap();
                    assert_eq!(server.read_u8().await.unwrap(), n as u8);
                }
                for (client, server) in &mut sockets {
                    client.shutdown().await.unwrap();
                    let mut buf = [0];
                    let read = timeout(support::watch::WATCHDOG, server.read(&mut buf));
                    assert_eq!(read.await.unwrap().unwrap(), 0);
                }
            });
        }
    });
}

/// In a fork of the process: what is the parent's fails and says why, and a new runtime works. All
/// that uses the parent's reactor would take the parent's events away.
fn in_the_fork(runtime: &Runtime, mut stream: TcpStream) {
    let why = "this process is a fork of the one that has made the runtime";
    let guard = runtime.enter();
    let listener = std::net::TcpListener::bind(LOCAL).unwrap();
    listener.set_nonblocking(true).unwrap();
    let error = TcpListener::from_std(listener).unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
    drop(guard);
    let panic = catch_unwind(AssertUnwindSafe(|| runtime.block_on(stream.read_u8())));
    let panic = panic.unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains(why));
    // The parent's reactor is to keep it.
    let error = stream.into_std().unwrap_err();
    assert!(error.to_string().contains(why), "{error}");

    current_thread().block_on(async {
        let listener = TcpListener::bind(LOCAL).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (client, server) = trefoil::join!(TcpStream::connect(addr), listener.accept());
        client.unwrap().write_all(b"x").await.unwrap();
        assert_eq!(server.unwrap().0.read_u8().await.unwrap(), b'x');
    });
}

#[test]
fn a_fork_without_exec() {
    alone("a_fork_without_exec", || {
        let runtime = current_thread();
        let (mut client, server) = runtime.block_on(connection());
        let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
        assert_eq!(threads, 2, "this one, and the main thread, which waits for it");
        let mut server = Some(server);
        // SAFETY: the only other thread waits for this test to end, and holds no lock but maybe one
        // of the allocator, which the C libraries of Linux have in order in the child. So the child
        // may do more than system calls.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let stream = server.take().expect("it is there in both processes");
            let ended = catch_unwind(AssertUnwindSafe(|| in_the_fork(&runtime, stream)));
            // SAFETY: this ends the process, without anything that is the parent's to run.
            unsafe { libc::_exit(i32::from(ended.is_err())) };
        }
        let child = Pid::from_raw(child).expect("a fork failed");
        let (_, status) = waitpid(Some(child), WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(0), "see above for what the child says");
        // The parent's socket is still registered.
        runtime.block_on(async {
            let mut server = server.take().expect("the child had its own");
            let mut buf = [0];
            let (read, written) = trefoil::join!(server.read(&mut buf), client.write_all(b"y"));
            written.unwrap();
            assert_eq!((read.unwrap(), buf), (1, *b"y"));
        });
    });
}

/// Forks, runs `child` there, and panics if it has.
fn fork(child: impl FnOnce()) {
    // SAFETY: the other threads are asleep, but maybe one in the allocator, which the C libraries
    // of Linux have in order in the child. So the child may do more than system calls.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let ended = catch_unwind(AssertUnwindSafe(child));
        // SAFETY: as in `a_fork_without_exec`.
        unsafe { libc::_exit(i32::from(ended.is_err())) };
    }
    let pid = Pid::from_raw(pid).expect("a fork failed");
    let (_, status) = waitpid(Some(pid), WaitOptions::empty()).unwrap().unwrap();
    assert_eq!(status.exit_status(), Some(0), "see above for what the child says");
}

/// Nobody would ever run what is spawned, nor end what the drop waits for.
#[test]
fn a_fork_without_exec_has_no_workers() {
    alone("a_fork_without_exec_has_no_workers", || {
        for with_io in [false, true] {
            let mut builder = Builder::new_multi_thread();
            let builder = builder.worker_threads(2).enable_time();
            let builder = if with_io { builder.enable_io() } else { builder };
            let runtime = builder.build().unwrap();
            let handle = runtime.handle().clone();
            runtime.block_on(async { trefoil::spawn(async {}).await.unwrap() });
            let mut runtime = Some(runtime);
            fork(|| {
                let runtime = runtime.take().expect("it is there in both processes");
                for handle in [runtime.handle(), &handle] {
                    let panic = catch_unwind(AssertUnwindSafe(|| handle.block_on(async {})));
                    let panic = panic.unwrap_err();
                    let text = panic.downcast_ref::<&str>().unwrap();
                    assert!(text.contains("make a new runtime after the fork"), "{text}");
                }
                drop(runtime);
                let new = support::multi(2);
                assert_eq!(new.block_on(new.spawn(async { 1 })).unwrap(), 1);
            });
            runtime.expect("the child had its own").block_on(async {});
        }
    });
}

#[test]
fn a_runtime_of_the_parent_whose_pool_has_threads_ends_in_a_fork() {
    alone("a_runtime_of_the_parent_whose_pool_has_threads_ends_in_a_fork", || {
        let runtime = current_thread();
        runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
        let mut runtime = Some(runtime);
        fork(|| drop(runtime.take()));
        runtime.expect("the child had its own").block_on(async {});
    });
}

/// The drop of a half ends the writes of a connection, and that one is the parent's as well.
#[test]
fn a_half_that_a_fork_drops_ends_no_writes_of_the_parent() {
    alone("a_half_that_a_fork_drops_ends_no_writes_of_the_parent", || {
        let runtime = current_thread();
        let (mut client, server) = runtime.block_on(connection());
        let mut halves = Some(server.into_split());
        fork(|| drop(halves.take()));
        let (_read, mut write) = halves.take().expect("the child had its own");
        runtime.block_on(async {
            write.write_all(b"y").await.unwrap();
            assert_eq!(client.read_u8().await.unwrap(), b'y');
            drop(write);
            assert!(client.read_u8().await.is_err(), "the parent's own drop ends them");
        });
    });
}

/// As above: `kill_on_drop` is for the parent.
#[test]
#[cfg(feature = "process")]
fn a_child_that_a_fork_drops_lives_on() {
    alone("a_child_that_a_fork_drops_lives_on", || {
        let runtime = current_thread();
        let mut child = Some(runtime.block_on(async {
            let mut cat = trefoil::process::Command::new("cat");
            cat.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
            cat.kill_on_drop(true).spawn().unwrap()
        }));
        fork(|| drop(child.take()));
        let mut child = child.take().expect("the fork had its own");
        runtime.block_on(async {
            child.stdin.as_mut().unwrap().write_all(b"y").await.unwrap();
            assert_eq!(child.stdout.as_mut().unwrap().read_u8().await.unwrap(), b'y');
            drop(child.stdin.take());
            assert!(child.wait().await.unwrap().success());
        });
    });
}
