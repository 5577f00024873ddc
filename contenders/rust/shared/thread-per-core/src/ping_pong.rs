//! Ping-pong over TCP, by one thread of several.

use std::io;
use std::net::SocketAddr;

use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;
use tcp_work::{Accepted, Connected, Plan, Totals, while_doing};

use crate::Core;
use crate::threads::{Share, Threads, fail};

async fn serve<C: Core>(mut stream: C::Stream, round_trips: u64) -> io::Result<Totals> {
    let mut side = Accepted::default();
    while side.round_trips() < round_trips {
        C::write_byte(&mut stream, side.next()).await?;
        let byte = C::read_byte(&mut stream).await?;
        side.read(byte);
    }
    Ok(side.into())
}

async fn answer<C: Core>(
    mut stream: C::Stream,
    mut side: Connected,
    round_trips: u64,
) -> io::Result<Totals> {
    while side.answered() < round_trips {
        let byte = C::read_byte(&mut stream).await?;
        C::write_byte(&mut stream, side.answer(byte)).await?;
    }
    Ok(side.into())
}

async fn connect_and_answer<C: Core>(address: SocketAddr, number: u32, round_trips: u64) -> Totals {
    let connected = C::connect(address).await;
    let stream = connected
        .unwrap_or_else(|e| fail(&while_doing(&format!("cannot connect to {address}"), &e)));
    let side = Connected::new(salt::of_process(), number);
    let answered = answer::<C>(stream, side, round_trips).await;
    answered.unwrap_or_else(|e| fail(&while_doing("the connecting side of a connection", &e)))
}

async fn accept_and_serve<C: Core>(stream: C::Stream, round_trips: u64) -> Totals {
    let served = serve::<C>(stream, round_trips).await;
    served.unwrap_or_else(|e| fail(&while_doing("the accepting side of a connection", &e)))
}

/// The part of one thread: it joins what it has spawned.
pub(crate) async fn exchange<C: Core>(share: Share) -> Totals {
    let Share { listener, address, numbers, round_trips } = share;
    let listener =
        C::listener(listener).unwrap_or_else(|e| fail(&while_doing("cannot listen", &e)));
    let connect = |&number| C::spawn(connect_and_answer::<C>(address, number, round_trips));
    let connecting: Vec<_> = numbers.iter().map(connect).collect();
    let mut accepted = Vec::with_capacity(numbers.len());
    for _ in &numbers {
        let stream = C::accept(&listener).await;
        let stream = stream.unwrap_or_else(|e| fail(&while_doing("cannot accept", &e)));
        accepted.push(C::spawn(accept_and_serve::<C>(stream, round_trips)));
    }
    let mut totals = Totals::default();
    for side in accepted {
        totals = totals + side.await;
    }
    for side in connecting {
        totals = totals + side.await;
    }
    totals
}

pub(crate) fn prepare<C: Core>(request: &mut Request) -> Result<Work, Refusal> {
    let plan = Plan::of(request)?;
    let threads = Threads::start::<C>(request.threads).expect("threads are to be had");
    Ok(Work::new(move || {
        let totals = threads.exchange(plan);
        totals.unwrap_or_else(|error| panic!("tcp_ping_pong: {error}")).into()
    }))
}
