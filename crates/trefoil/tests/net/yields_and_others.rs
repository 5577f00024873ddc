//! A task that yields until something has happened leaves their turn to events and to `block_on`.
#![cfg(all(feature = "net", unix))]

use crate::support::by_hand::turns_of_others;
use crate::support::{current_thread, multi};
use std::future::poll_fn;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use trefoil::io::Interest;
use trefoil::net::{TcpListener, UdpSocket, UnixStream, lookup_host};
use trefoil::task::{consume_budget, yield_now};

/// A socket that has nothing to read, and its other end.
fn pair() -> (UnixStream, std::os::unix::net::UnixStream) {
    let (ours, other) = std::os::unix::net::UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let ours = UnixStream::from_std(ours).unwrap();
    assert_eq!(ours.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    (ours, other)
}

/// How often `wait` had to be awaited until the socket knew of what the system had for it.
async fn waits_until_an_event_is_seen<W: Future<Output = ()>>(wait: impl Fn() -> W) -> usize {
    let (ours, mut other) = pair();
    other.write_all(b"x").unwrap();
    for waits in 1..1000 {
        wait().await;
        if ours.try_read(&mut [0]).is_ok() {
            return waits;
        }
    }
    panic!("the event was never seen");
}

async fn spend_a_budget() {
    for _ in 0..128 {
        consume_budget().await;
    }
}

#[test]
fn one_yield_of_a_current_thread_runtime_looks_at_events() {
    let runtime = current_thread();
    assert_eq!(runtime.block_on(waits_until_an_event_is_seen(yield_now)), 1);
    let task = runtime.spawn(waits_until_an_event_is_seen(yield_now));
    assert_eq!(runtime.block_on(task).unwrap(), 1);
    let task = runtime.spawn(waits_until_an_event_is_seen(spend_a_budget));
    assert!(runtime.block_on(task).unwrap() <= 2);
}

/// Another thread may just be looking when the worker wants to, so it is not always one.
#[test]
fn some_yields_of_a_worker_look_at_events() {
    let runtime = multi(1);
    let task = runtime.spawn(waits_until_an_event_is_seen(yield_now));
    assert!(runtime.block_on(task).unwrap() <= 10);
    let task = runtime.spawn(waits_until_an_event_is_seen(spend_a_budget));
    assert!(runtime.block_on(task).unwrap() <= 10);
}

#[test]
fn the_future_of_block_on_yields_as_often_as_tasks_do() {
    let runtime = current_thread();
    let turns = Arc::new(AtomicUsize::new(0));
    let its = Arc::clone(&turns);
    runtime.spawn(async move {
        loop {
            its.fetch_add(1, Ordering::Relaxed);
            yield_now().await;
        }
    });
    runtime.block_on(async {
        for _ in 0..100 {
            yield_now().await;
        }
    });
    let turns = turns.load(Ordering::Relaxed);
    assert!((90..=110).contains(&turns), "{turns}");
}

/// A loop of `readable` and `try_read` that never has to wait does not keep its worker.
#[test]
fn waiting_for_what_is_ready_spends_the_budget() {
    current_thread().block_on(async {
        let (ours, _other) = pair();
        trefoil::select! {
            biased;
            () = async { loop { ours.writable().await.unwrap(); } } => unreachable!(),
            () = yield_now() => {}
        }
    });
}

/// So does a poll for that, and a call that its caller makes.
#[test]
fn polls_and_calls_that_need_not_wait_spend_the_budget() {
    current_thread().block_on(async {
        let (ours, _other) = pair();
        ours.writable().await.unwrap();
        trefoil::select! {
            biased;
            () = async {
                for _ in 0..1000 {
                    poll_fn(|cx| ours.poll_write_ready(cx)).await.unwrap();
                }
            } => panic!("polls keep the worker"),
            () = yield_now() => {}
        }
        trefoil::select! {
            biased;
            () = async {
                for _ in 0..1000 {
                    ours.async_io(Interest::WRITABLE, || Ok(())).await.unwrap();
                }
            } => panic!("calls keep the worker"),
            () = yield_now() => {}
        }
    });
}

/// An address that needs no lookup is there at once, and so is what is made of it.
#[test]
fn addresses_that_need_no_lookup_spend_the_budget() {
    const HERE: &str = "127.0.0.1:0";
    let lookups = turns_of_others(async {
        for _ in 0..1000 {
            assert!(lookup_host(HERE).await.is_ok());
        }
    });
    let many = turns_of_others(async {
        let addrs: [SocketAddr; 2] = [HERE.parse().unwrap(); 2];
        for _ in 0..1000 {
            assert!(lookup_host(&addrs[..]).await.is_ok());
        }
    });
    let listeners = turns_of_others(async {
        for _ in 0..1000 {
            TcpListener::bind(HERE).await.unwrap();
        }
    });
    let sockets = turns_of_others(async {
        for _ in 0..1000 {
            UdpSocket::bind(HERE).await.unwrap();
        }
    });
    let connects = turns_of_others(async {
        let socket = UdpSocket::bind(HERE).await.unwrap();
        let addr = socket.local_addr().unwrap();
        for _ in 1..1000 {
            socket.connect(addr).await.unwrap();
        }
    });
    assert_eq!((lookups, many, listeners, sockets, connects), (7, 7, 7, 7, 7));
}

#[test]
fn who_waits_for_what_another_has_read_waits_on() {
    current_thread().block_on(async {
        let (ours, mut other) = pair();
        let ours = Arc::new(ours);
        // Woken in this order, and the first reads all that there is.
        let its = ours.clone();
        let first = trefoil::spawn(async move {
            its.readable().await.unwrap();
            let count = its.try_read(&mut [0; 8]).unwrap();
            (count, its.try_read(&mut [0; 8]).unwrap_err().kind())
        });
        let second = trefoil::spawn(async move { ours.readable().await });
        yield_now().await;
        other.write_all(b"x").unwrap();
        assert_eq!(first.await.unwrap(), (1, ErrorKind::WouldBlock));
        for _ in 0..10 {
            yield_now().await;
        }
        assert!(!second.is_finished());
        other.write_all(b"x").unwrap();
        second.await.unwrap().unwrap();
    });
}
