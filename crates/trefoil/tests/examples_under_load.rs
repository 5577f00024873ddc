//! The examples of servers, each as a program of its own: under load, and to their end at ctrl-c.
//!
//! `cargo test` of the whole package builds the examples beforehand. For this file alone, build
//! them first: `cargo build -p trefoil --examples`.
#![cfg(all(unix, feature = "hyper", feature = "signal"))]

mod support;

use http_body_util::{BodyExt, Full, StreamBody};
use hyper::Request;
use hyper::body::{Body, Bytes, Frame};
use hyper::client::conn::{http1, http2};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use support::multi;
use trefoil::compat::{TrefoilExecutor, TrefoilIo};
use trefoil::io::{AsyncReadExt, AsyncWriteExt};
use trefoil::net::{TcpListener, TcpStream, UdpSocket};
use trefoil::task::JoinSet;
use trefoil::time;

const CONNECTIONS: usize = 64;
const REQUESTS: usize = 100;

/// No test is judged by its pace. This only makes a hang a failure.
const HANG: Duration = Duration::from_secs(120);

/// A running example, which does not outlive its test.
struct Example {
    child: Child,
    address: String,
}

/// Where `cargo build --examples` puts an example.
fn program(name: &str) -> PathBuf {
    let mut program = std::env::current_exe().unwrap();
    program.pop();
    program.pop();
    program.push("examples");
    program.push(name);
    program
}

impl Example {
    fn start(name: &str, args: &[&str]) -> Self {
        let program = program(name);
        let started = Command::new(&program).args(args).stdout(Stdio::piped()).spawn();
        let mut child = started.unwrap_or_else(|error| {
            panic!("{}, which `cargo build --examples` makes: {error}", program.display())
        });
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let is_address = |word: &&str| word.parse::<SocketAddr>().is_ok();
        let address = line.split_whitespace().find(is_address).expect("it says where it listens");
        let address = address.to_owned();
        Self { child, address }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Waits until the program has ended, and not by the signal.
    async fn ends_well(mut self) {
        let ended = time::timeout(HANG, async {
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    break status;
                }
                time::sleep(Duration::from_millis(5)).await;
            }
        });
        let status = ended.await.expect("the program hangs after its ctrl-c");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        // Both fail if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hello() -> Request<Full<Bytes>> {
    Request::get("http://host/").header("host", "host").body(Full::default()).unwrap()
}

async fn connect_1<B>(address: &str) -> http1::SendRequest<B>
where
    B: Body<Data = Bytes, Error = std::convert::Infallible> + Send + 'static,
{
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) = http1::handshake(TrefoilIo::new(stream)).await.unwrap();
    drop(trefoil::spawn(connection));
    sender
}

/// Many connections of each version of HTTP, with many requests each.
async fn load_http(address: &str) {
    let mut clients = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let address = address.to_owned();
        clients.spawn(async move {
            let mut sender = connect_1(&address).await;
            for _ in 0..REQUESTS {
                sender.ready().await.unwrap();
                let response = sender.send_request(hello()).await.unwrap();
                assert_eq!(response.status(), 200);
                assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "hello\n");
            }
            REQUESTS
        });
    }
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) =
        http2::handshake(TrefoilExecutor::new(), TrefoilIo::new(stream)).await.unwrap();
    drop(trefoil::spawn(connection));
    for _ in 0..CONNECTIONS {
        let mut sender = sender.clone();
        clients.spawn(async move {
            for _ in 0..REQUESTS {
                let response = sender.send_request(hello()).await.unwrap();
                assert_eq!(response.status(), 200);
                assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "hello\n");
            }
            REQUESTS
        });
    }
    drop(sender);
    let answered: usize = clients.join_all().await.into_iter().sum();
    assert_eq!(answered, 2 * CONNECTIONS * REQUESTS);
}

/// Answers that have begun before ctrl-c are completed after it, and then the program ends.
async fn drains(server: Example) {
    let mut begun = Vec::new();
    for _ in 0..CONNECTIONS {
        let (parts, body) = futures::channel::mpsc::unbounded::<Result<Frame<Bytes>, _>>();
        let mut sender = connect_1(&server.address).await;
        let post = Request::post("/echo").header("host", "host").body(StreamBody::new(body));
        parts.unbounded_send(Ok(Frame::data("before ".into()))).unwrap();
        let mut response = sender.send_request(post.unwrap()).await.unwrap().into_body();
        let first = response.frame().await.unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), "before ");
        begun.push((sender, parts, response));
    }
    server.interrupt();
    // Once it takes no more connections, it has seen the signal.
    let refused = time::timeout(HANG, async {
        while TcpStream::connect(&server.address).await.is_ok() {
            time::sleep(Duration::from_millis(5)).await;
        }
    });
    refused.await.expect("the program still takes connections after its ctrl-c");
    for (_sender, parts, response) in begun {
        parts.unbounded_send(Ok(Frame::data("after".into()))).unwrap();
        drop(parts);
        assert_eq!(response.collect().await.unwrap().to_bytes(), "after");
    }
    server.ends_well().await;
}

#[test]
fn http_server_answers_all_and_drains() {
    for args in [&["127.0.0.1:0"][..], &["127.0.0.1:0", "current_thread"]] {
        multi(2).block_on(async {
            let server = Example::start("http_server", args);
            time::timeout(HANG, load_http(&server.address)).await.expect("a request hangs");
            time::timeout(HANG, drains(server)).await.expect("an answer hangs");
        });
    }
}

/// A request that the system has taken before ctrl-c is answered, although the program has not
/// seen its connection by then.
#[test]
fn http_server_answers_who_waits_to_be_accepted() {
    for args in [&["127.0.0.1:0"][..], &["127.0.0.1:0", "current_thread"]] {
        multi(2).block_on(async {
            let server = Example::start("http_server", args);
            // The program listens for signals before it takes a connection.
            let mut sender = connect_1(&server.address).await;
            sender.send_request(hello()).await.unwrap();
            server.signal(Signal::STOP);
            let mut asked = Vec::new();
            for _ in 0..CONNECTIONS {
                let mut stream = TcpStream::connect(&server.address).await.unwrap();
                stream.write_all(b"GET / HTTP/1.1\r\nhost: host\r\n\r\n").await.unwrap();
                asked.push(stream);
            }
            server.interrupt();
            server.signal(Signal::CONT);
            for mut stream in asked {
                let mut answer = String::new();
                let read = time::timeout(HANG, stream.read_to_string(&mut answer)).await;
                read.expect("an answer hangs").unwrap();
                assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello\n"));
            }
            server.ends_well().await;
        });
    }
}

#[test]
fn axum_server_answers_all() {
    multi(2).block_on(async {
        let server = Example::start("axum_server", &["127.0.0.1:0"]);
        time::timeout(HANG, load_http(&server.address)).await.expect("a request hangs");
        server.interrupt();
        server.ends_well().await;
    });
}

/// Takes in all that a connection has to say, up to its end, and only then says it back.
async fn echo_after_end(mut stream: TcpStream) {
    let mut said = Vec::new();
    stream.read_to_end(&mut said).await.unwrap();
    stream.write_all(&said).await.unwrap();
    stream.shutdown().await.unwrap();
}

#[test]
fn tcp_proxy_passes_on_all_bytes_and_both_ends() {
    const BYTES: usize = 300_000;
    multi(2).block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = listener.local_addr().unwrap().to_string();
        let targets = trefoil::spawn(async move {
            let mut connections = JoinSet::new();
            for _ in 0..2 * CONNECTIONS {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(echo_after_end(stream));
            }
            connections.join_all().await.len()
        });

        let proxy = Example::start("tcp_proxy", &["127.0.0.1:0", &target]);
        let mut clients = JoinSet::new();
        for n in 0..CONNECTIONS {
            let address = proxy.address.clone();
            clients.spawn(async move {
                for round in 0..2 {
                    let said: Vec<u8> =
                        (0..BYTES).map(|i| (i * 31 + i / 251 + n + round) as u8).collect();
                    let mut stream = TcpStream::connect(&address).await.unwrap();
                    stream.write_all(&said).await.unwrap();
                    // The target answers only if this end is passed on.
                    stream.shutdown().await.unwrap();
                    let mut heard = Vec::new();
                    stream.read_to_end(&mut heard).await.unwrap();
                    assert!(heard == said, "connection {n}: {} bytes came back", heard.len());
                }
            });
        }
        let all = async { (clients.join_all().await.len(), targets.await.unwrap()) };
        let counts = time::timeout(HANG, all).await.expect("a connection hangs");
        assert_eq!(counts, (CONNECTIONS, 2 * CONNECTIONS));
        proxy.interrupt();
        proxy.ends_well().await;
    });
}

#[test]
fn udp_echo_sends_all_back() {
    multi(2).block_on(async {
        let echo = Example::start("udp_echo", &["127.0.0.1:0"]);
        let address: Arc<str> = echo.address.as_str().into();
        let mut clients = JoinSet::new();
        for n in 0..CONNECTIONS {
            let address = Arc::clone(&address);
            clients.spawn(async move {
                let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
                socket.connect(&*address).await.unwrap();
                let mut heard = [0; 2048];
                for round in 0..REQUESTS {
                    // One on its way for each client: the buffers of the system have room for all,
                    // so none is lost.
                    let said = vec![(n + round) as u8; 1 + 13 * round];
                    assert_eq!(socket.send(&said).await.unwrap(), said.len());
                    let count = socket.recv(&mut heard).await.unwrap();
                    assert!(heard[..count] == said, "client {n}, round {round}");
                }
            });
        }
        let all = clients.join_all();
        let ended = time::timeout(HANG, all).await.expect("a datagram is lost");
        assert_eq!(ended.len(), CONNECTIONS);
        echo.interrupt();
        echo.ends_well().await;
    });
}

/// 10,000 connections at once, or as many as this process may have.
#[cfg(all(feature = "fiber", not(trefoil_tsan)))]
#[test]
fn fiber_echo_sends_all_back_on_as_many_connections_as_there_may_be() {
    use rustix::process::{Resource, getrlimit};
    use trefoil::sync::Semaphore;

    /// Of the process itself, and of the tests beside this one.
    const OTHERS: usize = 1000;
    let limit = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize);
    let connections = limit.saturating_sub(OTHERS).clamp(CONNECTIONS, 10_000);
    multi(2).block_on(async {
        let echo = Example::start("fiber_echo", &["127.0.0.1:0"]);
        let address: Arc<str> = echo.address.as_str().into();
        // The system has a bound on those that the server has not accepted yet.
        let connects = Arc::new(Semaphore::new(CONNECTIONS));
        let all_are_there = Arc::new(trefoil::sync::Barrier::new(connections));
        let mut clients = JoinSet::new();
        for n in 0..connections {
            let (address, connects) = (Arc::clone(&address), Arc::clone(&connects));
            let all_are_there = Arc::clone(&all_are_there);
            clients.spawn(async move {
                let mut permit = Some(connects.acquire().await.unwrap());
                let mut stream = TcpStream::connect(&*address).await.unwrap();
                let mut heard = Vec::new();
                for round in 0..2 {
                    let said: Vec<u8> = (0..100 + n % 100).map(|i| (i + n + round) as u8).collect();
                    stream.write_all(&said).await.unwrap();
                    heard.resize(said.len(), 0);
                    stream.read_exact(&mut heard).await.unwrap();
                    assert!(heard == said, "connection {n}, round {round}");
                    if round == 0 {
                        // Accepted, and answered.
                        drop(permit.take());
                        all_are_there.wait().await;
                    }
                }
                stream.shutdown().await.unwrap();
                assert_eq!(stream.read(&mut heard).await.unwrap(), 0);
            });
        }
        let ended = time::timeout(HANG, clients.join_all()).await.expect("a connection hangs");
        assert_eq!(ended.len(), connections);
        // Those that are open end as well.
        let _open = TcpStream::connect(&*address).await.unwrap();
        echo.interrupt();
        echo.ends_well().await;
    });
}

#[test]
fn stall_report_names_the_place_and_answers_meanwhile() {
    let output = Command::new(program("stall_report")).output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("stall_report.rs:"), "{said}");
    let meanwhile = said.lines().find(|line| line.ends_with("requests were answered meanwhile"));
    let answered = meanwhile.and_then(|line| line.split(' ').next()?.parse().ok());
    assert!(answered.is_some_and(|answered: u64| answered > 0), "{said}");
}
