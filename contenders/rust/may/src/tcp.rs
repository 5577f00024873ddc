//! The rows about sockets: may's own, which block the coroutine.

use std::io::{self, Read, Write};
use std::net::SocketAddr;

use may::go;
use may::net::{TcpListener, TcpStream};
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;
use tcp_work::{Accepted, Connected, Plan, Totals, while_doing};

use crate::scheduler::{join, keep_stacks, run, start};

fn serve(mut stream: TcpStream, round_trips: u64) -> io::Result<Totals> {
    let mut side = Accepted::default();
    while side.round_trips() < round_trips {
        let mut byte = [side.next()];
        stream.write_all(&byte)?;
        stream.read_exact(&mut byte)?;
        side.read(byte[0]);
    }
    Ok(side.into())
}

fn answer(mut stream: TcpStream, mut side: Connected, round_trips: u64) -> io::Result<Totals> {
    while side.answered() < round_trips {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        byte[0] = side.answer(byte[0]);
        stream.write_all(&byte)?;
    }
    Ok(side.into())
}

/// Who cannot connect ends the process: the root would wait for a connection that never comes, and
/// a coroutine that waits for a connection cannot be told to stop.
fn connect_and_answer(
    address: SocketAddr,
    side: Connected,
    round_trips: u64,
) -> io::Result<Totals> {
    let stream = TcpStream::connect(address).unwrap_or_else(|error| {
        eprintln!("tcp_ping_pong: cannot connect to {address}: {error}");
        std::process::exit(1)
    });
    let answered = answer(stream, side, round_trips);
    answered.map_err(|error| while_doing("the connecting side of a connection", &error))
}

fn root(Plan { connections, round_trips }: Plan) -> io::Result<Totals> {
    // may makes its listeners itself, with room for 1,024 connections.
    let listener = TcpListener::bind("127.0.0.1:0")
        .map_err(|error| while_doing("cannot listen on 127.0.0.1", &error))?;
    let address = listener.local_addr()?;
    let connecting: Vec<_> = (0..connections)
        .map(|number| {
            let side = Connected::new(salt::of_process(), number);
            go!(move || connect_and_answer(address, side, round_trips))
        })
        .collect();
    let mut accepted = Vec::with_capacity(connections as usize);
    for _ in 0..connections {
        let (stream, _) =
            listener.accept().map_err(|error| while_doing("cannot accept", &error))?;
        accepted.push(go!(move || {
            let served = serve(stream, round_trips);
            served.map_err(|error| while_doing("the accepting side of a connection", &error))
        }));
    }
    accepted.into_iter().chain(connecting).map(join).sum()
}

pub(crate) fn ping_pong(request: &mut Request) -> Result<Work, Refusal> {
    let plan = Plan::of(request)?;
    keep_stacks(2 * plan.connections as usize);
    start(request)?;
    Ok(Work::new(move || {
        let totals = run(move || root(plan));
        totals.unwrap_or_else(|error| panic!("tcp_ping_pong: {error}")).into()
    }))
}
