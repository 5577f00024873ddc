//! A router of axum on this runtime.
//!
//! `cargo run --release -p trefoil --example axum_server -- [ADDRESS]`
//!
//! `axum::serve` needs tokio's sockets and tasks. A `Router` needs neither: it is a service, which
//! hyper serves here. For an orderly end at ctrl-c, see `http_server`.

use axum::Router;
use axum::extract::Path;
use axum::routing::{get, post};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::time::Duration;
use trefoil::compat::{TrefoilExecutor, TrefoilIo, TrefoilTimer};
use trefoil::net::{TcpListener, TcpStream};
use trefoil::{select, signal, time};

/// After an error of `accept`, such as too many open files, some connections may end first.
const AFTER_ERROR: Duration = Duration::from_millis(100);

fn router() -> Router {
    Router::new()
        .route("/", get(|| async { "hello\n" }))
        .route(
            "/hello/{name}",
            get(|Path(name): Path<String>| async move { format!("hello {name}\n") }),
        )
        .route("/echo", post(|body: String| async { body }))
}

async fn serve(stream: TcpStream, router: Router) {
    let _ = stream.set_nodelay(true);
    let mut builder = auto::Builder::new(TrefoilExecutor::new());
    // With a timer, a client that is slow to send its headers does not stay for ever.
    builder.http1().timer(TrefoilTimer::new());
    builder.http2().timer(TrefoilTimer::new());
    // With upgrades, a handler may take the connection over, as for WebSockets.
    let connection = builder
        .serve_connection_with_upgrades(TrefoilIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = connection.await {
        eprintln!("connection: {error}");
    }
}

async fn accept(listener: TcpListener) {
    let router = router();
    loop {
        match listener.accept().await {
            Ok((stream, _peer)) => drop(trefoil::spawn(serve(stream, router.clone()))),
            Err(error) => {
                eprintln!("accept: {error}");
                time::sleep(AFTER_ERROR).await;
            }
        }
    }
}

#[trefoil::main]
async fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    select! {
        () = accept(listener) => Ok(()),
        interrupted = signal::ctrl_c() => interrupted,
    }
}
