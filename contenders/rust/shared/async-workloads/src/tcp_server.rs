//! A server that sends back what it reads, or computes first, asked by Palio at a fixed rate: how
//! long requests wait.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use palio_protocol::harness::{Iteration, Prepare, Refusal, Request, Work};
use palio_protocol::served::{self, answer_in_place};

use crate::AsyncRuntime;

/// A runtime that serves TCP.
pub trait TcpServer: AsyncRuntime {
    type Listener: Send + Sync + 'static;
    type Stream: Send + 'static;

    /// Takes over a listener that does not block; in a task.
    ///
    /// # Errors
    /// Those of the system.
    fn listen(listener: TcpListener) -> io::Result<Self::Listener>;

    /// The next connection, with TCP_NODELAY.
    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Reads as many bytes as there are, at least one; 0 at the end of the stream.
    fn read(
        stream: &mut Self::Stream,
        buffer: &mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send;

    /// Writes all of it.
    fn write_all(
        stream: &mut Self::Stream,
        bytes: &[u8],
    ) -> impl Future<Output = io::Result<()>> + Send;
}

/// [`TcpServer`] for an adapter that [`adapt_tokio_api`](crate::adapt_tokio_api) has made.
#[macro_export]
macro_rules! adapt_tokio_tcp {
    ($api:ident as $name:ident) => {
        impl<S: Scheduler> $crate::TcpServer for $name<S> {
            type Listener = $api::net::TcpListener;
            type Stream = $api::net::TcpStream;

            fn listen(listener: ::std::net::TcpListener) -> ::std::io::Result<Self::Listener> {
                $api::net::TcpListener::from_std(listener)
            }

            async fn accept(listener: &Self::Listener) -> ::std::io::Result<Self::Stream> {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(stream)
            }

            async fn read(
                stream: &mut Self::Stream,
                buffer: &mut [u8],
            ) -> ::std::io::Result<usize> {
                $api::io::AsyncReadExt::read(stream, buffer).await
            }

            async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> ::std::io::Result<()> {
                $api::io::AsyncWriteExt::write_all(stream, bytes).await
            }
        }
    };
}

/// The rows of a runtime that serves TCP.
pub fn tcp_rows<R: TcpServer>() -> Vec<(&'static str, Prepare)> {
    vec![("tcp_echo_latency", echoing::<R>), ("tcp_compute_latency", computing::<R>)]
}

fn echoing<R: TcpServer>(request: &mut Request) -> Result<Work, Refusal> {
    prepare::<R>(request, size_of::<u64>(), |_| ())
}

fn computing<R: TcpServer>(request: &mut Request) -> Result<Work, Refusal> {
    let steps: u64 = request.param("steps")?;
    prepare::<R>(request, served::NUMBERS, move |request| answer_in_place(request, steps))
}

/// What makes a request of at least so many bytes its answer.
trait Answer: Fn(&mut [u8]) + Copy + Send + Sync + 'static {}

impl<F: Fn(&mut [u8]) + Copy + Send + Sync + 'static> Answer for F {}

fn prepare<R: TcpServer>(
    request: &mut Request,
    numbers: usize,
    answer: impl Answer,
) -> Result<Work, Refusal> {
    let connections: u64 = request.param("connections")?;
    let bytes: usize = request.param("bytes")?;
    if bytes < numbers {
        let what = format!("--set bytes={bytes}: a request begins with {numbers} bytes of numbers");
        return Err(Refusal::Misuse(what));
    }
    // When requests come, and how many, is for those who ask.
    request.param::<u64>("rate")?;
    request.param::<u64>("requests")?;
    let runtime = R::start(request.threads);
    let failed = |error: io::Error| Refusal::Unsupported(format!("cannot listen: {error}"));
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    let port = socket.local_addr().map_err(failed)?.port();
    let listener = Arc::new(runtime.run(async move { R::listen(socket) }).map_err(failed)?);
    Ok(Work::serving(port, move || {
        let listener = Arc::clone(&listener);
        runtime.run(async move { serve::<R>(&listener, connections, bytes, answer).await })
    }))
}

/// Serves so many connections to their end.
async fn serve<R: TcpServer>(
    listener: &R::Listener,
    connections: u64,
    bytes: usize,
    answer: impl Answer,
) -> Iteration {
    let mut tasks = Vec::new();
    for _ in 0..connections {
        let stream = R::accept(listener).await.expect("a connection");
        tasks.push(R::spawn(attend::<R>(stream, bytes, answer)));
    }
    let (mut sum, mut requests) = (0_u64, 0);
    for task in tasks {
        let (part, count) = task.await;
        (sum, requests) = (sum.wrapping_add(part), requests + count);
    }
    Iteration { answer: sum, ops: requests, work: Some(requests) }
}

/// Answers each request of a connection; the sum of the answers' numbers, and how many there were.
async fn attend<R: TcpServer>(
    mut stream: R::Stream,
    bytes: usize,
    answer: impl Answer,
) -> (u64, u64) {
    let mut buffer = vec![0; bytes];
    let (mut sum, mut requests) = (0_u64, 0);
    loop {
        let mut filled = 0;
        while filled < bytes {
            let more =
                R::read(&mut stream, &mut buffer[filled..]).await.expect("a readable socket");
            if more == 0 {
                assert_eq!(filled, 0, "a request was cut off");
                return (sum, requests);
            }
            filled += more;
        }
        answer(&mut buffer);
        R::write_all(&mut stream, &buffer).await.expect("a writable socket");
        let (number, _) = buffer.split_first_chunk().expect("answers have room for a number");
        sum = sum.wrapping_add(u64::from_le_bytes(*number));
        requests += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;
    use crate::test_runtime::TestRuntime;

    impl TcpServer for TestRuntime {
        type Listener = smol::net::TcpListener;
        type Stream = smol::net::TcpStream;

        fn listen(listener: TcpListener) -> io::Result<Self::Listener> {
            smol::Async::try_from(listener).map(Into::into)
        }

        async fn accept(listener: &Self::Listener) -> io::Result<Self::Stream> {
            Ok(listener.accept().await?.0)
        }

        async fn read(stream: &mut Self::Stream, buffer: &mut [u8]) -> io::Result<usize> {
            smol::io::AsyncReadExt::read(stream, buffer).await
        }

        async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
            smol::io::AsyncWriteExt::write_all(stream, bytes).await
        }
    }

    /// What comes of two connections with three requests each, of which each is answered as
    /// `answer` says.
    fn asked(answer: impl Answer) -> Iteration {
        let runtime = TestRuntime::start(2);
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = socket.local_addr().unwrap();
        let listener = TestRuntime::listen(socket).unwrap();
        let clients = std::thread::spawn(move || {
            for first in [10_u64, 20] {
                let mut stream = TcpStream::connect(address).unwrap();
                for number in first..first + 3 {
                    let request = [&number.to_le_bytes()[..], &[7; 12]].concat();
                    // In two parts, as a network may deliver it.
                    stream.write_all(&request[..5]).unwrap();
                    stream.write_all(&request[5..]).unwrap();
                    let mut received = [0; 20];
                    stream.read_exact(&mut received).unwrap();
                    let mut expected = request;
                    answer(&mut expected);
                    assert_eq!(received[..], expected);
                }
            }
        });
        let done = runtime.run(async move { serve::<TestRuntime>(&listener, 2, 20, answer).await });
        clients.join().unwrap();
        done
    }

    #[test]
    fn every_request_is_answered_with_itself_and_counted() {
        assert_eq!(asked(|_| ()), Iteration { answer: 33 + 63, ops: 6, work: Some(6) });
    }

    #[test]
    fn what_was_computed_is_answered_and_counts() {
        let factor = 0x0707_0707_0707_0707_u64;
        let step = |x: u64, _| x.wrapping_mul(factor).wrapping_add(1);
        let computed = |x| (0..3).fold(x, step);
        let sum = [10, 11, 12, 20, 21, 22].map(computed).into_iter().fold(0, u64::wrapping_add);
        let done = asked(|request| answer_in_place(request, 3));
        assert_eq!(done, Iteration { answer: sum, ops: 6, work: Some(6) });
    }
}
