//! Sockets and the runtime that they belong to: without I/O, at its end, and while tasks block.
#![cfg(feature = "net")]

mod support;

use std::future::{Future, poll_fn};
use std::pin::pin;
use support::current_thread;
use trefoil::io::{AsyncReadExt, AsyncWriteExt};
use trefoil::net::{TcpListener, TcpStream};
use trefoil::runtime::{Builder, Runtime, is_rt_shutdown_err};
use trefoil::spawn;
use trefoil::time::Duration;

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
