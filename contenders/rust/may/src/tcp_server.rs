//! A server that sends back what it reads, or computes first, asked by Palio at a fixed rate: how
//! long requests wait.

use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;

use may::go;
use may::net::{TcpListener, TcpStream};
use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::served::{self, answer_in_place};

use crate::scheduler::{join, run, start};

pub(crate) fn echoing(request: &mut Request) -> Result<Work, Refusal> {
    prepare(request, size_of::<u64>(), |_| ())
}

pub(crate) fn computing(request: &mut Request) -> Result<Work, Refusal> {
    let steps: u64 = request.param("steps")?;
    prepare(request, served::NUMBERS, move |request| answer_in_place(request, steps))
}

/// What makes a request of at least so many bytes its answer.
trait Answer: Fn(&mut [u8]) + Copy + Send + Sync + 'static {}

impl<F: Fn(&mut [u8]) + Copy + Send + Sync + 'static> Answer for F {}

fn prepare(request: &mut Request, numbers: usize, answer: impl Answer) -> Result<Work, Refusal> {
    let connections: u64 = request.param("connections")?;
    let bytes: usize = request.param("bytes")?;
    if bytes < numbers {
        let what = format!("--set bytes={bytes}: a request begins with {numbers} bytes of numbers");
        return Err(Refusal::Misuse(what));
    }
    // When requests come, and how many, is for those who ask.
    request.param::<u64>("rate")?;
    request.param::<u64>("requests")?;
    start(request)?;
    let failed = |error: io::Error| Refusal::Unsupported(format!("cannot listen: {error}"));
    let listener = run(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let listener = Arc::new(listener);
    Ok(Work::serving(port, move || {
        let listener = Arc::clone(&listener);
        run(move || serve(&listener, connections, bytes, answer))
    }))
}

/// Serves so many connections to their end.
fn serve(listener: &TcpListener, connections: u64, bytes: usize, answer: impl Answer) -> Iteration {
    let accept = |_| {
        let (stream, _) = listener.accept().expect("a connection");
        stream.set_nodelay(true).expect("a socket of TCP");
        go!(move || attend(stream, bytes, answer))
    };
    let coroutines: Vec<_> = (0..connections).map(accept).collect();
    let (mut sum, mut requests) = (0_u64, 0);
    for coroutine in coroutines {
        let (part, count) = join(coroutine);
        (sum, requests) = (sum.wrapping_add(part), requests + count);
    }
    Iteration { answer: sum, ops: requests, work: Some(requests) }
}

/// Answers each request of a connection; the sum of the answers' numbers, and how many there were.
fn attend(mut stream: TcpStream, bytes: usize, answer: impl Answer) -> (u64, u64) {
    let mut buffer = vec![0; bytes];
    let (mut sum, mut requests) = (0_u64, 0);
    loop {
        let mut filled = 0;
        while filled < bytes {
            let more = stream.read(&mut buffer[filled..]).expect("a readable socket");
            if more == 0 {
                assert_eq!(filled, 0, "a request was cut off");
                return (sum, requests);
            }
            filled += more;
        }
        answer(&mut buffer);
        stream.write_all(&buffer).expect("a writable socket");
        let (number, _) = buffer.split_first_chunk().expect("answers have room for a number");
        sum = sum.wrapping_add(u64::from_le_bytes(*number));
        requests += 1;
    }
}
