//! What goes wrong with sockets: there are too few, or a client's server dies.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::exit;
use std::thread;

use palio_protocol::open_files;

/// Refuses to race where so many files cannot be open, as the harness does.
pub(super) fn make_room(count: u64) {
    if let Err(refusal) = open_files::make_room(count) {
        eprintln!("fake: {refusal}");
        exit(3);
    }
}

/// How many bytes come before the server is gone.
const BYTES: usize = 3;

/// A client and its server in one process: ends the process with what the client then reads.
pub(super) fn read_until_the_server_dies() -> ! {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the client connects");
        stream.write_all(&[0; BYTES]).expect("the client reads");
    });
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let error = loop {
        if let Err(error) = stream.read_exact(&mut [0]) {
            break error;
        }
    };
    server.join().expect("it has died in peace");
    eprintln!("fake: the connecting side of a connection: {error}");
    exit(1);
}
