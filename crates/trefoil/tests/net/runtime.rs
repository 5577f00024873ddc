//! Sockets and the runtime that they belong to: without I/O, at its end, and while tasks block.
#![cfg(feature = "net")]

use crate::support::{self, current_and_multi, current_thread};
use std::future::{Future, poll_fn};
use std::pin::pin;
use trefoil::io::{AsyncReadExt, AsyncWriteExt};
use trefoil::net::{TcpListener, TcpStream};
use trefoil::runtime::{Builder, Runtime, is_rt_shutdown_err};
use trefoil::spawn;
use trefoil::time::{Duration, Instant, sleep};

const LOCAL: &str = "127.0.0.1:0";

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(LOCAL).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let (client, server) = trefoil::join!(TcpStream::connect(addr), listener.accept());
    (client.unwrap(), server.unwrap().0)
}

#[test]
fn without_io_there_is_a_message() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let listener = std::net::TcpListener::bind(LOCAL).unwrap();
    listener.set_nonblocking(true).unwrap();
    let message = |panic: Box<dyn std::any::Any + Send>| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().unwrap()).to_owned(),
    };
    let its = listener.try_clone().unwrap();
    let panic = std::panic::catch_unwind(|| {
        runtime.block_on(async { drop(TcpListener::from_std(its)) });
    });
    assert!(message(panic.unwrap_err()).contains("enable_io"));
    let panic = std::panic::catch_unwind(|| drop(TcpListener::from_std(listener)));
    assert!(message(panic.unwrap_err()).contains("no Trefoil runtime"));
    // That comes before what is wrong with the socket.
    let blocks = std::net::TcpListener::bind(LOCAL).unwrap();
    let panic = std::panic::catch_unwind(|| drop(TcpListener::from_std(blocks)));
    assert!(message(panic.unwrap_err()).contains("no Trefoil runtime"));
}

#[test]
fn what_has_arrived_may_be_taken_when_the_runtime_has_shut_down() {
    let runtime = current_thread();
    let (mut near, mut far) = runtime.block_on(pair());
    runtime.block_on(async {
        far.write_all(b"late").await.unwrap();
        near.readable().await.unwrap();
    });
    drop(runtime);
    let mut word = [0; 4];
    assert_eq!(near.try_read(&mut word).unwrap(), 4);
    assert_eq!(&word, b"late");
    assert_eq!(near.try_read(&mut word).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let runtime = current_thread();
    let error = runtime.block_on(near.read(&mut word)).unwrap_err();
    assert!(is_rt_shutdown_err(&error));
    let error = runtime.block_on(near.write(b"no")).unwrap_err();
    assert!(is_rt_shutdown_err(&error));
    // What does not wait is written, and the end after it.
    assert_eq!(near.try_write(b"bye").unwrap(), 3);
    runtime.block_on(near.shutdown()).unwrap();
    let mut far = far.into_std().unwrap();
    far.set_nonblocking(false).unwrap();
    let mut all = Vec::new();
    std::io::Read::read_to_end(&mut far, &mut all).unwrap();
    assert_eq!(all, b"bye");
}

/// Nobody looks for events while the thread of a current-thread runtime does something else.
#[test]
fn an_attempt_is_in_vain_until_the_runtime_has_seen_an_event() {
    let runtime = current_thread();
    let listener = std::net::TcpListener::bind(LOCAL).unwrap();
    let near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    near.set_nonblocking(true).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    let system = near.try_clone().unwrap();
    let near = runtime.block_on(async { TcpStream::from_std(near) }).unwrap();
    let mut buf = [0; 8];
    assert_eq!(near.try_read(&mut buf).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    std::io::Write::write_all(&mut far, b"there").unwrap();
    // The bytes are there, as the system says.
    while system.peek(&mut buf).is_err() {
        std::thread::yield_now();
    }
    assert_eq!(near.try_read(&mut buf).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    runtime.block_on(near.readable()).unwrap();
    assert_eq!(near.try_read(&mut buf).unwrap(), 5);
}

/// Tasks that are always ready, and events that are taken one by one: all of them are.
#[test]
fn events_are_taken_in_small_numbers_if_asked() {
    let refuses_zero = |set: fn(&mut Builder, usize) -> &mut Builder| {
        let mut builder = Builder::new_current_thread();
        std::panic::catch_unwind(move || set(&mut builder, 0).build().map(drop)).is_err()
    };
    assert!(refuses_zero(Builder::max_io_events_per_tick));
    assert!(refuses_zero(Builder::max_io_events_per_busy_tick));
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime = builder
            .worker_threads(1)
            .max_io_events_per_tick(usize::MAX)
            .max_io_events_per_busy_tick(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let busy = spawn(async {
                loop {
                    trefoil::task::yield_now().await;
                }
            });
            let mut exchanges = trefoil::task::JoinSet::new();
            for _ in 0..16 {
                exchanges.spawn(async {
                    let (mut near, mut far) = pair().await;
                    let echo = spawn(async move {
                        let mut byte = [0];
                        while far.read(&mut byte).await.unwrap() > 0 {
                            far.write_all(&byte).await.unwrap();
                        }
                    });
                    for n in 0..16 {
                        near.write_all(&[n]).await.unwrap();
                        assert_eq!(near.read_u8().await.unwrap(), n);
                    }
                    drop(near);
                    echo.await.unwrap();
                });
            }
            exchanges.join_all().await;
            busy.abort();
        });
    }
}

/// A thread outside waits, and is woken by the end.
fn ends(runtime: Runtime, mut socket: TcpStream) {
    let handle = runtime.handle().clone();
    let (begun, has_begun) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let error = handle.block_on(async {
            let mut buf = [0];
            let mut read = pin!(socket.read(&mut buf));
            poll_fn(|cx| {
                let polled = read.as_mut().poll(cx);
                begun.send(()).unwrap();
                polled
            })
            .await
            .unwrap_err()
        });
        let later = handle.block_on(socket.write(b"x")).unwrap_err();
        assert!(is_rt_shutdown_err(&error) && is_rt_shutdown_err(&later));
    });
    has_begun.recv().unwrap();
    drop(runtime);
    waiting.join().unwrap();
}

#[test]
fn the_end_of_the_runtime_wakes_those_who_wait() {
    for runtime in [support::multi(1), support::multi(3)] {
        let (socket, _other) = runtime.block_on(pair());
        ends(runtime, socket);
    }
    let runtime = current_thread();
    let (socket, _other) = runtime.block_on(pair());
    ends(runtime, socket);
}

/// The peer answers a task that blocks its thread in the runtime's own context.
#[test]
fn a_task_that_blocks_in_place_on_io() {
    for workers in [1, 2] {
        let runtime = support::multi(workers);
        let handle = runtime.handle().clone();
        runtime.block_on(async {
            let (mut client, mut server) = pair().await;
            let blocks = spawn(async move {
                trefoil::task::block_in_place(|| {
                    handle.block_on(async {
                        let mut buf = [0; 4];
                        server.read_exact(&mut buf).await.unwrap();
                        server.write_all(&buf).await.unwrap();
                    });
                });
            });
            trefoil::time::sleep(Duration::from_millis(20)).await;
            client.write_all(b"ping").await.unwrap();
            client.read_exact(&mut [0; 4]).await.unwrap();
            blocks.await.unwrap();
        });
    }
}

#[test]
fn sources_and_their_events_are_counted() {
    let without = Builder::new_current_thread().build().unwrap().metrics();
    assert_eq!((without.io_driver_fd_registered_count(), without.io_driver_ready_count()), (0, 0));
    let runtime = current_thread();
    let metrics = runtime.metrics();
    let counts =
        || (metrics.io_driver_fd_registered_count(), metrics.io_driver_fd_deregistered_count());
    assert_eq!((counts(), metrics.io_driver_ready_count()), ((0, 0), 0));
    let (near, mut far) = runtime.block_on(pair());
    assert_eq!(counts(), (3, 1), "the listener has gone");
    let before = metrics.io_driver_ready_count();
    assert!(before > 0, "somebody has connected");
    runtime.block_on(async {
        far.write_all(b"x").await.unwrap();
        while near.try_read(&mut [0]).is_err() {
            near.readable().await.unwrap();
        }
    });
    assert!(metrics.io_driver_ready_count() > before);
    drop((near, far));
    assert_eq!(counts(), (3, 3));
}

/// Whoever sleeps until a timer sleeps where events come, and the system counts milliseconds there.
/// The machine may have something else to do, but not each time.
#[test]
fn a_timer_does_not_wait_for_a_whole_millisecond() {
    const SHORT: Duration = Duration::from_micros(100);
    for runtime in current_and_multi([1, 2]) {
        runtime.block_on(async {
            // Something that events may come from.
            let _source = trefoil::net::UdpSocket::bind(LOCAL).await.unwrap();
            let is_exact = spawn(async {
                for _ in 0..2000 {
                    let begun = Instant::now();
                    sleep(SHORT).await;
                    let slept = begun.elapsed();
                    assert!(slept >= SHORT, "a timer is never early");
                    if slept < Duration::from_millis(1) {
                        return true;
                    }
                }
                false
            });
            assert!(is_exact.await.unwrap());
        });
    }
}
