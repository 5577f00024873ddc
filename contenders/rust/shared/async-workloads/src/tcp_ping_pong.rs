//! Ping-pong over TCP, client and server in one runtime.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;

use futures_channel::mpsc::{UnboundedSender, unbounded};
use futures_util::future::{Either, select};
use futures_util::stream::StreamExt;
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use palio_protocol::salt;
use tcp_work::{Accepted, Connected, Plan, Totals, listen, while_doing};

use crate::AsyncNet;

/// Every workload about sockets that `R` can run.
pub(crate) fn rows<R: AsyncNet>() -> [(&'static str, Prepare); 1] {
    [("tcp_ping_pong", prepare::<R>)]
}

async fn serve<R: AsyncNet>(mut stream: R::Stream, round_trips: u64) -> io::Result<Totals> {
    let mut side = Accepted::default();
    while side.round_trips() < round_trips {
        let mut byte = [side.next()];
        R::write_all(&mut stream, &byte).await?;
        R::read_exact(&mut stream, &mut byte).await?;
        side.read(byte[0]);
    }
    Ok(side.into())
}

async fn answer<R: AsyncNet>(
    mut stream: R::Stream,
    mut side: Connected,
    round_trips: u64,
) -> io::Result<Totals> {
    while side.answered() < round_trips {
        let mut byte = [0];
        R::read_exact(&mut stream, &mut byte).await?;
        byte[0] = side.answer(byte[0]);
        R::write_all(&mut stream, &byte).await?;
    }
    Ok(side.into())
}

/// A connecting task. Who cannot connect says so in `failed`, too: the root would wait for a
/// connection that never comes.
async fn connect_and_answer<R: AsyncNet>(
    address: SocketAddr,
    side: Connected,
    round_trips: u64,
    failed: UnboundedSender<io::Error>,
) -> io::Result<Totals> {
    let connected = R::connect(address).await;
    let stream = connected.map_err(|error| {
        let error = while_doing(&format!("cannot connect to {address}"), &error);
        // Nobody listens once the root has failed itself.
        drop(failed.unbounded_send(while_doing("a task", &error)));
        error
    })?;
    drop(failed);
    let answered = answer::<R>(stream, side, round_trips).await;
    answered.map_err(|error| while_doing("the connecting side of a connection", &error))
}

async fn accept_and_serve<R: AsyncNet>(stream: R::Stream, round_trips: u64) -> io::Result<Totals> {
    let served = serve::<R>(stream, round_trips).await;
    served.map_err(|error| while_doing("the accepting side of a connection", &error))
}

async fn root<R: AsyncNet>(plan: Plan) -> io::Result<Totals> {
    exchange::<R>(plan, listen(plan.connections)?).await
}

/// Whatever fails on one side of a connection closes it, and so ends the other side, too: once all
/// connections are accepted, every task ends.
async fn exchange<R: AsyncNet>(
    plan: Plan,
    (listener, address): (TcpListener, SocketAddr),
) -> io::Result<Totals> {
    let Plan { connections, round_trips } = plan;
    let mut listener = R::listener(listener)?;
    let (failed, mut failures) = unbounded();
    let connecting: Vec<_> = (0..connections)
        .map(|number| {
            let side = Connected::new(salt::of_process(), number);
            R::spawn(connect_and_answer::<R>(address, side, round_trips, failed.clone()))
        })
        .collect();
    drop(failed);
    let mut accepted = Vec::with_capacity(connections as usize);
    for _ in 0..connections {
        let accept = pin!(R::accept(&mut listener));
        let stream = match select(accept, failures.next()).await {
            Either::Left((stream, _)) => stream,
            Either::Right((Some(failure), _)) => Err(failure),
            // All have connected.
            Either::Right((None, accept)) => accept.await,
        };
        let stream = stream.map_err(|error| while_doing("cannot accept", &error))?;
        accepted.push(R::spawn(accept_and_serve::<R>(stream, round_trips)));
    }
    let mut totals = Totals::default();
    for side in accepted.into_iter().chain(connecting) {
        totals = totals + side.await?;
    }
    Ok(totals)
}

fn prepare<R: AsyncNet>(request: &mut Request) -> Result<Work, Refusal> {
    let plan = Plan::of(request)?;
    let runtime = R::start(request.threads);
    Ok(Work::new(move || {
        let totals = runtime.run(root::<R>(plan));
        totals.unwrap_or_else(|error| panic!("tcp_ping_pong: {error}")).into()
    }))
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::TcpStream;
    use std::thread;

    use palio_protocol::harness::Iteration;

    use super::*;
    use crate::AsyncRuntime;
    use crate::test_runtime::TestRuntime;

    fn plan(connections: u32, round_trips: u64) -> Plan {
        Plan { connections, round_trips }
    }

    #[test]
    fn every_byte_is_read_by_both_sides() {
        let runtime = TestRuntime::start(2);
        let iteration = |connections, round_trips| {
            Iteration::from(
                runtime.run(root::<TestRuntime>(plan(connections, round_trips))).unwrap(),
            )
        };
        let quick = Iteration { answer: 2_535_808, ops: 10_000, work: Some(20_000) };
        assert_eq!(iteration(50, 200), quick);
        assert_eq!(iteration(1, 1), Iteration { answer: 175, ops: 1, work: Some(2) });
        for (connections, round_trips) in [(0, 0), (0, 9), (9, 0)] {
            let nothing = Iteration { answer: 0, ops: 0, work: Some(0) };
            assert_eq!(iteration(connections, round_trips), nothing);
        }
    }

    #[test]
    fn a_connection_that_is_refused_ends_the_row_with_its_cause() {
        let runtime = TestRuntime::start(2);
        let bound = listen(4).unwrap();
        let (nobody, refused) = listen(1).unwrap();
        drop(nobody);
        let error = runtime.run(exchange::<TestRuntime>(plan(4, 10), (bound.0, refused)));
        let text = error.unwrap_err().to_string();
        assert!(text.contains("cannot accept: a task: cannot connect to 127.0.0.1:"), "{text}");
    }

    /// The address of a peer that serves as the accepting side for three round trips and dies.
    fn mortal() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut byte = [0];
            for _ in 0..3 {
                stream.write_all(&byte).unwrap();
                stream.read_exact(&mut byte).unwrap();
            }
        });
        address
    }

    #[test]
    fn a_server_that_dies_ends_the_side_that_connected() {
        let runtime = TestRuntime::start(2);
        let (failed, _failures) = unbounded();
        let side = Connected::new(1, 0);
        let error = runtime.run(connect_and_answer::<TestRuntime>(mortal(), side, 10, failed));
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(error.to_string().starts_with("the connecting side of a connection: "), "{error}");
    }

    #[test]
    fn a_client_that_dies_ends_the_row_with_its_cause() {
        let runtime = TestRuntime::start(2);
        let bound = listen(1).unwrap();
        let (address, elsewhere) = (bound.1, mortal());
        // The row's own client exchanges its bytes with the mortal peer; the row is left with one
        // that is gone after its first byte.
        let stranger = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.read_exact(&mut [0]).unwrap();
        });
        let error = runtime.run(exchange::<TestRuntime>(plan(1, 10), (bound.0, elsewhere)));
        stranger.join().unwrap();
        let text = error.unwrap_err().to_string();
        assert!(text.starts_with("the accepting side of a connection: "), "{text}");
    }
}
