//! Futures that are dropped at every poll: those that promise it lose nothing.

use bytes::Buf;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use trefoil::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter,
    ReadBuf,
};

/// A reader and writer of at most two bytes at a time that waits before each.
#[derive(Default)]
struct Jerky {
    input: VecDeque<u8>,
    output: Vec<u8>,
    has_waited: bool,
}

impl Jerky {
    fn new(input: &[u8]) -> Self {
        Self { input: input.iter().copied().collect(), ..Self::default() }
    }

    fn wait(&mut self) -> Poll<()> {
        self.has_waited = !self.has_waited;
        if self.has_waited { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl AsyncRead for Jerky {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        std::task::ready!(self.wait());
        for _ in 0..buf.remaining().min(2) {
            let Some(byte) = self.input.pop_front() else { break };
            buf.put_slice(&[byte]);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Jerky {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        std::task::ready!(self.wait());
        let written = &buf[..buf.len().min(2)];
        self.output.extend(written);
        Poll::Ready(Ok(written.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wait().map(Ok)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wait().map(Ok)
    }
}

/// Polls so often, and returns the output if there is one by then.
fn poll_times<F: Future>(future: F, times: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let cx = &mut Context::from_waker(Waker::noop());
    (0..times).find_map(|_| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    })
}

const TEXT: &[u8] = "first\nsecond, longer ä line\n\nlast".as_bytes();

#[test]
fn reads_that_are_dropped_have_read_nothing() {
    for patience in 1..4 {
        let mut reader = Jerky::new(TEXT);
        let (mut all, mut buf) = (Vec::new(), [0; 3]);
        loop {
            match poll_times(reader.read(&mut buf), patience) {
                Some(read) if read.as_ref().is_ok_and(|&read| read == 0) => break,
                Some(read) => all.extend(&buf[..read.unwrap()]),
                None => {}
            }
            match poll_times(reader.read_buf(&mut all), patience) {
                Some(read) if read.as_ref().is_ok_and(|&read| read == 0) => break,
                Some(read) => assert!(read.is_ok()),
                None => {}
            }
        }
        assert_eq!(all, TEXT, "with {patience} polls each");
    }
}

#[test]
fn what_is_read_up_to_a_delimiter_stays_in_the_buffer() {
    for patience in 1..8 {
        let mut reader = BufReader::with_capacity(3, Jerky::new(TEXT));
        let (mut segments, mut segment) = (Vec::new(), Vec::new());
        loop {
            let before = segment.len();
            let Some(read) = poll_times(reader.read_until(b'\n', &mut segment), patience) else {
                continue;
            };
            assert_eq!(read.unwrap(), segment.len() - before);
            if segment.is_empty() {
                break;
            }
            segments.push(std::mem::take(&mut segment));
        }
        assert_eq!(segments.concat(), TEXT, "with {patience} polls each");
        assert_eq!(segments.len(), 4);
    }
}

#[test]
fn streams_of_lines_and_segments_lose_nothing() {
    let lines: Vec<String> =
        String::from_utf8(TEXT.to_vec()).unwrap().lines().map(Into::into).collect();
    for patience in 1..8 {
        let mut found = Vec::new();
        let mut stream = BufReader::with_capacity(3, Jerky::new(TEXT)).lines();
        loop {
            match poll_times(stream.next_line(), patience) {
                None => {}
                Some(line) => match line.unwrap() {
                    Some(line) => found.push(line),
                    None => break,
                },
            }
        }
        assert_eq!(found, lines, "with {patience} polls each");

        let mut found = Vec::new();
        let mut stream = BufReader::with_capacity(3, Jerky::new(TEXT)).split(b'\n');
        loop {
            match poll_times(stream.next_segment(), patience) {
                None => {}
                Some(segment) => match segment.unwrap() {
                    Some(segment) => found.push(String::from_utf8(segment).unwrap()),
                    None => break,
                },
            }
        }
        assert_eq!(found, lines, "with {patience} polls each");
    }
}

#[test]
fn what_is_read_to_the_end_is_in_the_buffer() {
    for patience in 1..8 {
        let mut reader = Jerky::new(TEXT);
        let mut all = b"before ".to_vec();
        while poll_times(reader.read_to_end(&mut all), patience).is_none() {}
        assert_eq!(all, [b"before ", TEXT].concat(), "with {patience} polls each");
    }
}

#[test]
fn a_string_is_as_it_was_after_a_future_that_was_dropped() {
    for patience in 0..12 {
        let mut text = String::from("kept");
        let mut reader = BufReader::with_capacity(3, Jerky::new(TEXT));
        match poll_times(reader.read_line(&mut text), patience) {
            None => assert_eq!(text, "kept", "after {patience} polls"),
            Some(read) => {
                assert_eq!(read.unwrap(), 6);
                assert_eq!(text, "keptfirst\n");
            }
        }
        let mut text = String::from("kept");
        let mut reader = Jerky::new(TEXT);
        assert!(poll_times(reader.read_to_string(&mut text), patience).is_none());
        assert_eq!(text, "kept", "after {patience} polls");
    }
}

#[test]
fn a_string_is_as_it_was_if_what_comes_is_no_text() {
    let mut text = String::from("kept");
    let mut reader = BufReader::new(Jerky::new(b"\xffno\n"));
    let error = poll_times(reader.read_line(&mut text), 99).unwrap().unwrap_err();
    assert_eq!((error.kind(), &text[..]), (io::ErrorKind::InvalidData, "kept"));
    let mut reader = Jerky::new(b"no\xff");
    let error = poll_times(reader.read_to_string(&mut text), 99).unwrap().unwrap_err();
    assert_eq!((error.kind(), &text[..]), (io::ErrorKind::InvalidData, "kept"));
    // A stream of lines goes on behind such a line.
    let mut lines = BufReader::new(Jerky::new(b"\xff\nyes\n")).lines();
    assert!(poll_times(lines.next_line(), 99).unwrap().is_err());
    assert_eq!(poll_times(lines.next_line(), 99).unwrap().unwrap().unwrap(), "yes");
}

#[test]
fn writes_that_are_dropped_have_written_nothing_that_they_do_not_say() {
    for patience in 1..8 {
        let mut writer = Jerky::default();
        let mut left = TEXT;
        while left.has_remaining() {
            let before = left.len();
            if let Some(written) = poll_times(writer.write_buf(&mut left), patience) {
                assert_eq!(written.unwrap(), before - left.len());
            }
            if let Some(done) = poll_times(writer.write_all_buf(&mut left), patience) {
                done.unwrap();
            }
            assert_eq!(writer.output.len() + left.len(), TEXT.len());
        }
        assert_eq!(writer.output, TEXT, "with {patience} polls each");
    }
}

#[test]
fn a_flush_that_is_dropped_is_gone_on_with() {
    for patience in 1..8 {
        let mut writer = BufWriter::with_capacity(64, Jerky::default());
        assert_eq!(poll_times(writer.write_all(TEXT), 1).unwrap().ok(), Some(()));
        while poll_times(writer.flush(), patience).is_none() {}
        assert_eq!(writer.buffer(), b"");
        assert_eq!(writer.into_inner().output, TEXT, "with {patience} polls each");
    }
}

/// What was written by a flush that was dropped is not buffered any more.
#[test]
fn a_buffer_is_what_was_not_written_yet() {
    let mut writer = BufWriter::with_capacity(64, Jerky::default());
    assert!(poll_times(writer.write_all(TEXT), 1).unwrap().is_ok());
    assert!(poll_times(writer.flush(), 2).is_none());
    let written = writer.get_ref().output.clone();
    assert!(!written.is_empty());
    assert_eq!([&written, writer.buffer()].concat(), TEXT);
}
