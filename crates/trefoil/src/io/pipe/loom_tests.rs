//! A reader and a writer on two threads. A lost wake-up is a deadlock, which loom reports.

use super::*;
use crate::io::{AsyncReadExt, AsyncWriteExt};
use loom::future::block_on;
use loom::thread;

#[test]
fn loom_pipe_wakes_the_reader_that_waits() {
    loom::model(|| {
        let (mut near, mut far) = duplex(1);
        let writing = thread::spawn(move || {
            block_on(near.write_u8(7)).unwrap();
            near
        });
        assert_eq!(block_on(far.read_u8()).unwrap(), 7);
        drop(writing.join().unwrap());
    });
}

#[test]
fn loom_pipe_wakes_the_writer_that_waits_for_room() {
    loom::model(|| {
        let (mut near, mut far) = duplex(1);
        let writing = thread::spawn(move || block_on(near.write_all(&[1, 2])).unwrap());
        let mut read = [0; 2];
        block_on(far.read_exact(&mut read)).unwrap();
        assert_eq!(read, [1, 2]);
        writing.join().unwrap();
    });
}

#[test]
fn loom_pipe_tells_the_reader_that_the_writer_is_gone() {
    loom::model(|| {
        let (mut near, mut far) = duplex(1);
        let writing = thread::spawn(move || block_on(near.write_u8(7)).unwrap());
        let mut all = Vec::new();
        block_on(far.read_to_end(&mut all)).unwrap();
        assert_eq!(all, [7]);
        writing.join().unwrap();
    });
}

#[test]
fn loom_pipe_tells_the_writer_that_the_reader_is_gone() {
    loom::model(|| {
        let (mut near, far) = duplex(1);
        let leaving = thread::spawn(move || drop(far));
        // The first byte fits, unless the reader is gone; the second one waits for it to go.
        let error = block_on(near.write_all(&[1, 2])).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        leaving.join().unwrap();
    });
}
