//! Ping-pong over TCP: what a thread would do with a socket, with a wait in the place of a block.

use std::io;
use std::net::SocketAddr;

use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;
use tcp_work::{Accepted, Connected, Plan, Totals, listen, while_doing};
use trefoil::fiber::{self, wait};
use trefoil::io::{AsyncReadExt, AsyncWriteExt};
use trefoil::net::{TcpListener, TcpStream};

use crate::fibers::{Root, join, start};

fn serve(mut stream: TcpStream, round_trips: u64) -> io::Result<Totals> {
    let mut side = Accepted::default();
    while side.round_trips() < round_trips {
        let mut byte = [side.next()];
        wait(stream.write_all(&byte))?;
        wait(stream.read_exact(&mut byte))?;
        side.read(byte[0]);
    }
    Ok(side.into())
}

fn answer(mut stream: TcpStream, mut side: Connected, round_trips: u64) -> io::Result<Totals> {
    while side.answered() < round_trips {
        let mut byte = [0];
        wait(stream.read_exact(&mut byte))?;
        byte[0] = side.answer(byte[0]);
        wait(stream.write_all(&byte))?;
    }
    Ok(side.into())
}

/// Who cannot connect ends the process: the root would wait for a connection that never comes.
fn connect_and_answer(
    address: SocketAddr,
    side: Connected,
    round_trips: u64,
) -> io::Result<Totals> {
    let stream = wait(TcpStream::connect(address)).unwrap_or_else(|error| {
        eprintln!("tcp_ping_pong: cannot connect to {address}: {error}");
        std::process::exit(1)
    });
    let answered = answer(stream, side, round_trips);
    answered.map_err(|error| while_doing("the connecting side of a connection", &error))
}

fn root(Plan { connections, round_trips }: Plan) -> io::Result<Totals> {
    let (listener, address) = listen(connections)?;
    let listener = TcpListener::from_std(listener)
        .map_err(|error| while_doing("cannot listen on 127.0.0.1", &error))?;
    let connecting: Vec<_> = (0..connections)
        .map(|number| {
            let side = Connected::new(salt::of_process(), number);
            fiber::spawn(move || connect_and_answer(address, side, round_trips))
        })
        .collect();
    let mut accepted = Vec::with_capacity(connections as usize);
    for _ in 0..connections {
        let (stream, _) =
            wait(listener.accept()).map_err(|error| while_doing("cannot accept", &error))?;
        accepted.push(fiber::spawn(move || {
            let served = serve(stream, round_trips);
            served.map_err(|error| while_doing("the accepting side of a connection", &error))
        }));
    }
    accepted.into_iter().chain(connecting).map(join).sum()
}

pub(crate) fn ping_pong(request: &mut Request) -> Result<Work, Refusal> {
    let plan = Plan::of(request)?;
    let runtime = start(request.threads);
    Ok(Work::new(move || {
        let totals = Root::Worker.run(&runtime, move || root(plan));
        totals.unwrap_or_else(|error| panic!("tcp_ping_pong: {error}")).into()
    }))
}
