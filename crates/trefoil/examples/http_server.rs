//! hyper on this runtime: HTTP/1 and HTTP/2 on one port, and an orderly end.
//!
//! `cargo run --release -p trefoil --example http_server -- [ADDRESS] [current_thread]`
//!
//! Prints the address it listens on. At ctrl-c it takes no more connections than the system has
//! taken for it by then, answers what it is asked on those it has, closes them, and ends. Who has
//! not finished by `DRAIN` is cut off.

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::time::Duration;
use trefoil::compat::{TrefoilExecutor, TrefoilIo, TrefoilTimer};
use trefoil::net::{TcpListener, TcpStream};
use trefoil::runtime::Builder;
use trefoil::sync::watch;
use trefoil::task::JoinSet;
use trefoil::{select, signal, time};

/// How long a silent connection stays open once the server has been told to stop. The client of
/// HTTP/1 may be sending a request just now, which would be lost if the connection were closed.
const LINGER: Duration = Duration::from_millis(500);

/// How long connections may take to end once the server has been told to.
const DRAIN: Duration = Duration::from_secs(10);

/// After an error of `accept`, such as too many open files, some connections may end first.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// More connections than the system keeps waiting for `accept`.
const WAITING_MAX: usize = 10_000;

/// Says hello, and sends back what is posted while it still comes in.
async fn answer(
    request: Request<Incoming>,
) -> Result<Response<Either<Full<Bytes>, Incoming>>, Infallible> {
    let text = |text: &'static str| Either::Left(Full::new(Bytes::from_static(text.as_bytes())));
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => (StatusCode::OK, text("hello\n")),
        (&Method::POST, "/echo") => (StatusCode::OK, Either::Right(request.into_body())),
        _ => (StatusCode::NOT_FOUND, text("not found\n")),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    Ok(response)
}

/// Serves one connection until its client closes it or the sender of `stop` is dropped.
async fn serve(stream: TcpStream, mut stop: watch::Receiver<()>) {
    // Answers are small, and none should wait until the one before it is acknowledged.
    let _ = stream.set_nodelay(true);
    let mut builder = auto::Builder::new(TrefoilExecutor::new());
    // With a timer, a client that is slow to send its headers does not stay for ever.
    builder.http1().timer(TrefoilTimer::new());
    builder.http2().timer(TrefoilTimer::new());
    let stopping = stop.clone();
    let service = service_fn(move |request| {
        let last = stopping.is_closed() && request.version() <= Version::HTTP_11;
        async move {
            let mut response = answer(request).await?;
            if last {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut connection = pin!(builder.serve_connection(TrefoilIo::new(stream), service));
    let ended = select! {
        ended = connection.as_mut() => ended,
        _ = stop.changed() => match time::timeout(LINGER, connection.as_mut()).await {
            Ok(ended) => ended,
            Err(_) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        },
    };
    // A client that goes away in the middle is no fault of ours.
    if let Err(error) = ended {
        eprintln!("connection: {error}");
    }
}

async fn run(address: String) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let (stop, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    let mut interrupt = pin!(signal::ctrl_c());
    loop {
        select! {
            // In this order, so that ctrl-c is listened for before a connection is taken. There are
            // never more that have ended than were taken.
            biased;
            interrupted = interrupt.as_mut() => {
                interrupted?;
                break;
            }
            // Those that ended are forgotten, or the set would grow for ever.
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _peer)) => {
                    connections.spawn(serve(stream, stopped.clone()));
                }
                Err(error) => {
                    eprintln!("accept: {error}");
                    time::sleep(AFTER_ERROR).await;
                }
            },
        }
    }

    // The clients of these are connected, and may have asked already: to close the listener with
    // them would reset them. Others may connect meanwhile, so there is a bound.
    let waiting = listener.into_std()?;
    for stream in waiting.incoming().map_while(Result::ok).take(WAITING_MAX) {
        match stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream)) {
            Ok(stream) => drop(connections.spawn(serve(stream, stopped.clone()))),
            Err(error) => eprintln!("accept: {error}"),
        }
    }
    drop(waiting);
    drop(stop);
    let drained = time::timeout(DRAIN, async { while connections.join_next().await.is_some() {} });
    if drained.await.is_err() {
        eprintln!("{} connections were cut off", connections.len());
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let address = args.next().unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let mut builder = match args.next().as_deref() {
        Some("current_thread") => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.enable_all().build()?.block_on(run(address))
}
