//! Ping-pong over TCP, with sockets that stay with their worker.

use std::io;
use std::net::SocketAddr;

use nio::net::{TcpListener, TcpStream};
use nio::spawn_pinned;
use palio_protocol::harness::{Prepare, Refusal, Request, Work};
use palio_protocol::salt;
use tcp_work::{Accepted, Connected, Plan, Totals, listen, while_doing};

use crate::{Flavour, Join, builder};

/// The workloads about sockets.
pub fn tcp_rows<R: Flavour>() -> [(&'static str, Prepare); 1] {
    [("tcp_ping_pong", prepare::<R>)]
}

/// Ends the process: the root waits for connections, and would not hear of one that never comes.
fn or_exit<T>(done: io::Result<T>, what: &str) -> T {
    done.unwrap_or_else(|error| {
        eprintln!("tcp_ping_pong: {}", while_doing(what, &error));
        std::process::exit(1)
    })
}

async fn read_byte(stream: &mut TcpStream) -> io::Result<u8> {
    let mut byte = [0];
    match stream.read(&mut byte).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(byte[0]),
    }
}

async fn write_byte(stream: &mut TcpStream, byte: u8) -> io::Result<()> {
    match stream.write(&[byte]).await? {
        0 => Err(io::ErrorKind::WriteZero.into()),
        _ => Ok(()),
    }
}

async fn serve(mut stream: TcpStream, round_trips: u64) -> io::Result<Totals> {
    let mut side = Accepted::default();
    while side.round_trips() < round_trips {
        write_byte(&mut stream, side.next()).await?;
        side.read(read_byte(&mut stream).await?);
    }
    Ok(side.into())
}

async fn connect_and_answer(
    address: SocketAddr,
    mut side: Connected,
    round_trips: u64,
) -> io::Result<Totals> {
    let mut stream = TcpStream::connect(address).await?;
    while side.answered() < round_trips {
        let byte = read_byte(&mut stream).await?;
        write_byte(&mut stream, side.answer(byte)).await?;
    }
    Ok(side.into())
}

async fn root(Plan { connections, round_trips }: Plan) -> Totals {
    let (listener, address) = or_exit(listen(connections), "cannot listen");
    let listener = TcpListener::new(mio::net::TcpListener::from_std(listener));
    let mut listener = or_exit(listener, "cannot listen");
    let mut sides: Vec<Join<Totals>> = Vec::with_capacity(2 * connections as usize);
    for number in 0..connections {
        let side = Connected::new(salt::of_process(), number);
        let task = move || async move {
            let answered = connect_and_answer(address, side, round_trips).await;
            or_exit(answered, "the connecting side of a connection")
        };
        sides.push(spawn_pinned(task).into());
    }
    for _ in 0..connections {
        let accepted = or_exit(listener.accept().await, "cannot accept");
        let task = move || async move {
            let stream = or_exit(accepted.connect().await, "cannot watch a connection");
            or_exit(serve(stream, round_trips).await, "the accepting side of a connection")
        };
        sides.push(spawn_pinned(task).into());
    }
    let mut totals = Totals::default();
    for side in sides {
        totals = totals + side.await;
    }
    totals
}

fn prepare<R: Flavour>(request: &mut Request) -> Result<Work, Refusal> {
    let plan = Plan::of(request)?;
    let runtime = R::start(builder(request.threads));
    Ok(Work::new(move || runtime.block_on_pinned(move || root(plan)).into()))
}
