//! Ping-pong over TCP, in yaay's own readers and writers, which belong to one task each.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc as std_mpsc;

use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;
use tcp_work::{Accepted, Connected, Plan, Totals, while_doing};
use yaay_mio::net::{TcpListenerHandle, TcpStream, TcpStreamReadHandle, TcpStreamWriteHandle};
use yaay_mt_runtime::runtime::MTRuntime;
use yaay_runtime_api::RuntimeAPI;

use crate::host::Host;

/// How many ports are tried.
const PORTS_TRIED: usize = 8;

/// What the sampling thread receives: from each side of a connection its totals, and from the root
/// that it has closed the listener.
type Report = std_mpsc::Sender<Totals>;

/// An error of a socket ends the process: neither the root, which may wait for a connection that
/// never comes, nor the sampling thread would hear of it.
fn or_exit<T>(done: io::Result<T>, what: &str) -> T {
    done.unwrap_or_else(|error| {
        eprintln!("tcp_ping_pong: {}", while_doing(what, &error));
        std::process::exit(1)
    })
}

/// yaay does not say which port a listener got, so one is asked of the system and given back first.
fn bind() -> io::Result<(TcpListenerHandle, SocketAddr)> {
    let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr();
    let mut failed = None;
    for _ in 0..PORTS_TRIED {
        let address = free()?;
        match TcpListenerHandle::bind(&address) {
            Ok(listener) => return Ok((listener, address)),
            // Somebody else was faster.
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.expect("some were tried"))
}

async fn serve(
    mut read: TcpStreamReadHandle,
    mut write: TcpStreamWriteHandle,
    round_trips: u64,
) -> io::Result<Totals> {
    let mut reader = read.reader().await;
    let mut writer = write.writer().await;
    let mut side = Accepted::default();
    while side.round_trips() < round_trips {
        let mut byte = [side.next()];
        writer.write_all(&byte).await?;
        reader.read_exact(&mut byte).await?;
        side.read(byte[0]);
    }
    Ok(side.into())
}

async fn connect_and_answer(
    address: SocketAddr,
    mut side: Connected,
    round_trips: u64,
) -> io::Result<Totals> {
    let (mut read, mut write) = TcpStream::connect(&address)?;
    let mut reader = read.reader().await;
    let mut writer = write.writer().await;
    while side.answered() < round_trips {
        let mut byte = [0];
        reader.read_exact(&mut byte).await?;
        byte[0] = side.answer(byte[0]);
        writer.write_all(&byte).await?;
    }
    Ok(side.into())
}

async fn root(Plan { connections, round_trips }: Plan, report: Report) {
    let (mut listener, address) = or_exit(bind(), "cannot listen on 127.0.0.1");
    for number in 0..connections {
        let side = Connected::new(salt::of_process(), number);
        let report = report.clone();
        MTRuntime::spawn(async move {
            let answered = connect_and_answer(address, side, round_trips).await;
            let totals = or_exit(answered, "the connecting side of a connection");
            report.send(totals).expect("the sampling thread waits");
        });
    }
    {
        let mut acceptor = listener.acceptor().await;
        for _ in 0..connections {
            let (read, write, _) = or_exit(acceptor.accept().await, "cannot accept");
            let report = report.clone();
            MTRuntime::spawn(async move {
                let served = serve(read, write, round_trips).await;
                let totals = or_exit(served, "the accepting side of a connection");
                report.send(totals).expect("the sampling thread waits");
            });
        }
    }
    drop(listener);
    report.send(Totals::default()).expect("the sampling thread waits");
}

pub(crate) fn ping_pong(request: &mut Request) -> Result<Work, Refusal> {
    let plan = Plan::of(request)?;
    let host = Host::with_net(request.threads);
    Ok(Work::new(move || {
        let (report, reports) = std_mpsc::channel();
        host.spawn(root(plan, report));
        // Ends when the root and all sides have reported, and so dropped their ends.
        reports.into_iter().sum::<Totals>().into()
    }))
}
