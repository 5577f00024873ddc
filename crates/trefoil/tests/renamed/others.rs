use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

type Body = Full<Bytes>;

/// Waits a little, and sends back what it was sent.
async fn answer(request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    tokio::time::sleep(Duration::from_millis(1)).await;
    let body = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::new(body)))
}

/// A server for one connection.
async fn listen(is_http2: bool) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let io = TokioIo::new(stream);
        if is_http2 {
            let mut server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            server.timer(TokioTimer::new()).serve_connection(io, service_fn(answer)).await.unwrap();
        } else {
            let mut server = hyper::server::conn::http1::Builder::new();
            server.timer(TokioTimer::new()).serve_connection(io, service_fn(answer)).await.unwrap();
        }
    });
    Ok(address)
}

#[tokio::test]
async fn hyper_speaks_http1() -> Result<(), Box<dyn std::error::Error>> {
    let stream = TcpStream::connect(listen(false).await?).await?;
    let (mut client, connection) =
        hyper::client::conn::http1::handshake::<_, Body>(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    for n in 0..10 {
        let sent = Bytes::from(vec![n; 100_000]);
        let response = client.send_request(Request::new(Full::new(sent.clone()))).await?;
        assert_eq!(response.into_body().collect().await?.to_bytes(), sent);
    }
    drop(client);
    Ok(connection.await??)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hyper_speaks_http2() -> Result<(), Box<dyn std::error::Error>> {
    let stream = TcpStream::connect(listen(true).await?).await?;
    let io = TokioIo::new(stream);
    let (client, connection) =
        hyper::client::conn::http2::handshake::<_, _, Body>(TokioExecutor::new(), io).await?;
    let connection = tokio::spawn(connection);
    let mut requests = tokio::task::JoinSet::new();
    for n in 0..20 {
        let mut client = client.clone();
        requests.spawn(async move {
            let sent = Bytes::from(vec![n; 100_000]);
            let request = Request::post("http://localhost/").body(Full::new(sent.clone())).unwrap();
            let response = client.send_request(request).await.unwrap();
            assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), sent);
        });
    }
    requests.join_all().await;
    drop(client);
    Ok(connection.await??)
}
