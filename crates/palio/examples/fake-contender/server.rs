//! A contender that serves, more or less.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Bytes of a request, and connections of an iteration; the tests' catalogue says the same.
const BYTES: usize = 16;
const CONNECTIONS: usize = 2;
/// Requests of an iteration.
pub(super) const REQUESTS: u64 = 40;

/// One iteration: `well` serves to the end, `garbled` answers something else, `cut` closes its
/// connections after one answer, `absent` is not where it says, `loud` writes more to standard
/// error than a pipe holds before it answers, and `greedy` takes memory and answers nothing.
pub(super) fn serve(how: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("a port").port();
    let listener = (how != "absent").then_some(listener);
    super::say(&format!("serving {port}"));
    let Some(listener) = listener else { super::hang() };
    let accept = |_| listener.accept().expect("a connection").0;
    let streams: Vec<TcpStream> = (0..CONNECTIONS).map(accept).collect();
    thread::scope(|scope| {
        for stream in streams {
            scope.spawn(move || answer(stream, how));
        }
    });
    if how == "cut" {
        eprintln!("fake: no more of this");
        std::process::exit(7);
    }
}

/// Until the other side closes, or does not listen any more.
fn answer(mut stream: TcpStream, how: &str) {
    match how {
        "loud" => eprintln!("{}", "no end of it ".repeat(20_000)),
        "greedy" => {
            let taken = vec![1_u8; 200 << 20];
            std::hint::black_box(&taken);
            super::hang();
        }
        _ => {}
    }
    let mut request = [0; BYTES];
    while stream.read_exact(&mut request).is_ok() {
        if how == "garbled" {
            request[BYTES - 1] = 1;
        }
        if stream.write_all(&request).is_err() || how == "cut" {
            return;
        }
    }
}
