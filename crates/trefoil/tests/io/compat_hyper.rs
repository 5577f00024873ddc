//! hyper on this runtime: connections over a pipe in memory, with HTTP/1 and HTTP/2.
#![cfg(feature = "hyper")]

use crate::support::multi;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Executor, Timer};
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::convert::Infallible;
use std::time::Duration;
use trefoil::compat::{TrefoilExecutor, TrefoilIo, TrefoilTimer};
use trefoil::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// Answers with the body that it got, twice.
async fn twice(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::new([&body[..], &body[..]].concat().into())))
}

fn request(body: &str) -> Request<Full<Bytes>> {
    Request::post("http://host/").body(Full::new(body.to_owned().into())).unwrap()
}

#[test]
fn http_1_is_served_and_asked_for() {
    multi(2).block_on(async {
        // Less than a request has, so both sides wait for each other now and then.
        let (near, far) = duplex(16);
        let server = hyper::server::conn::http1::Builder::new()
            .timer(TrefoilTimer::new())
            .header_read_timeout(Duration::from_secs(60))
            .serve_connection(TrefoilIo::new(far), service_fn(twice));
        let server = trefoil::spawn(server);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TrefoilIo::new(near)).await.unwrap();
        let client = trefoil::spawn(connection);
        for n in 0..3 {
            let body = n.to_string().repeat(100);
            // The last answer may be here before its connection is ready for another request.
            sender.ready().await.unwrap();
            let response = sender.send_request(request(&body)).await.unwrap();
            let answer = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(answer, body.repeat(2));
        }
        drop(sender);
        client.await.unwrap().unwrap();
        server.await.unwrap().unwrap();
    });
}

#[test]
fn http_2_serves_many_requests_at_once() {
    multi(2).block_on(async {
        let (near, far) = duplex(1024);
        let server = hyper::server::conn::http2::Builder::new(TrefoilExecutor::new())
            .timer(TrefoilTimer::new())
            .keep_alive_interval(Duration::from_secs(60))
            .serve_connection(TrefoilIo::new(far), service_fn(twice));
        let server = trefoil::spawn(server);
        let (sender, connection) =
            hyper::client::conn::http2::handshake(TrefoilExecutor::new(), TrefoilIo::new(near))
                .await
                .unwrap();
        let client = trefoil::spawn(connection);
        let mut asking = trefoil::task::JoinSet::new();
        for n in 0..20 {
            let mut sender = sender.clone();
            asking.spawn(async move {
                let body = n.to_string();
                let response = sender.send_request(request(&body)).await.unwrap();
                let answer = response.into_body().collect().await.unwrap().to_bytes();
                assert_eq!(answer, body.repeat(2));
            });
        }
        let mut answered = 0;
        while let Some(asked) = asking.join_next().await {
            asked.unwrap();
            answered += 1;
        }
        assert_eq!(answered, 20);
        drop(sender);
        client.await.unwrap().unwrap();
        server.await.unwrap().unwrap();
    });
}

#[test]
fn an_upgraded_connection_has_the_traits_of_this_crate() {
    multi(2).block_on(async {
        let (near, far) = duplex(64);
        let upgrade = service_fn(|mut request: Request<Incoming>| {
            trefoil::spawn(async move {
                let upgraded = hyper::upgrade::on(&mut request).await.unwrap();
                let mut stream = TrefoilIo::new(upgraded);
                let byte = stream.read_u8().await.unwrap();
                stream.write_u8(byte + 1).await.unwrap();
                stream.shutdown().await.unwrap();
            });
            let response = Response::builder().status(101).header("upgrade", "count");
            async { Ok::<_, Infallible>(response.body(Full::<Bytes>::default()).unwrap()) }
        });
        let server = hyper::server::conn::http1::Builder::new()
            .serve_connection(TrefoilIo::new(far), upgrade)
            .with_upgrades();
        trefoil::spawn(server);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TrefoilIo::new(near)).await.unwrap();
        trefoil::spawn(connection.with_upgrades());
        let request = Request::get("/").header("connection", "upgrade").header("upgrade", "count");
        let response = sender.send_request(request.body(Full::<Bytes>::default()).unwrap()).await;
        let upgraded = hyper::upgrade::on(response.unwrap()).await.unwrap();
        let mut stream = TrefoilIo::new(upgraded);
        stream.write_u8(41).await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), 42);
    });
}

#[test]
fn the_executor_spawns_and_the_timer_can_be_set_again() {
    use std::sync::mpsc;
    let (sender, receiver) = mpsc::channel();
    let runtime = trefoil::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async move {
        TrefoilExecutor::new().execute(async move { sender.send(7).unwrap() });
        let timer = TrefoilTimer::new();
        let start = timer.now();
        let mut sleep = timer.sleep(Duration::from_secs(3600));
        timer.reset(&mut sleep, start + Duration::from_secs(10));
        sleep.await;
        // Time is paused, and jumps to the timer: not earlier, and not to the first deadline.
        let passed = timer.now() - start;
        assert!(passed >= Duration::from_secs(10) && passed < Duration::from_secs(60));
        timer.sleep_until(start + Duration::from_secs(20)).await;
        assert!(timer.now() - start >= Duration::from_secs(20));
    });
    assert_eq!(receiver.try_recv(), Ok(7));
}
