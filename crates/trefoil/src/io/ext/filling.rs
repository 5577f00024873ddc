//! The futures that read all there is: `read_to_end` and `read_to_string`.

use crate::io::async_read::poll_read_on;
use crate::io::{AsyncRead, ReadBuf};
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::mem::{self, MaybeUninit};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Room for at least as many bytes is made for each read, and as many are read on the stack in
/// order to learn whether a vector that is exactly full has to grow.
const ROOM: usize = 32;

/// Where reading to the end has come to.
#[derive(Debug)]
struct Progress {
    read: usize,
    /// The capacity that the vector came with. As long as it has that, there may be nothing more to
    /// read, and growing might be for nothing.
    first_capacity: usize,
    /// How many bytes behind the vector's end are known to be initialized.
    spare_initialized: usize,
}

impl Progress {
    fn new(buf: &Vec<u8>) -> Self {
        Self { read: 0, first_capacity: buf.capacity(), spare_initialized: 0 }
    }

    /// Reads to the end of `reader`, and appends that to `buf`, which nobody else changes.
    fn poll<R: AsyncRead + Unpin + ?Sized>(
        &mut self,
        reader: &mut R,
        buf: &mut Vec<u8>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        loop {
            match ready!(self.poll_some(reader, buf, cx))? {
                0 => return Poll::Ready(Ok(self.read)),
                read => self.read += read,
            }
        }
    }

    fn poll_some<R: AsyncRead + Unpin + ?Sized>(
        &mut self,
        reader: &mut R,
        buf: &mut Vec<u8>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let spare = buf.capacity() - buf.len();
        if spare < ROOM && self.first_capacity >= ROOM && self.first_capacity == buf.capacity() {
            let mut probe = [MaybeUninit::uninit(); ROOM];
            let mut probe = ReadBuf::uninit(&mut probe);
            let read = ready!(poll_read_on(Pin::new(reader), cx, &mut probe))?;
            self.spare_initialized = 0;
            buf.extend_from_slice(probe.filled());
            return Poll::Ready(Ok(read));
        }
        if spare < ROOM {
            self.spare_initialized = 0;
            buf.reserve(ROOM);
        }
        let mut into = ReadBuf::uninit(buf.spare_capacity_mut());
        // SAFETY: an earlier round has seen this many initialized bytes behind the vector's end,
        // and the vector has neither moved nor shrunk since then.
        unsafe { into.assume_init(self.spare_initialized) };
        let polled = poll_read_on(Pin::new(reader), cx, &mut into);
        let (filled, initialized) = (into.filled().len(), into.initialized().len());
        self.spare_initialized = initialized - filled;
        let end = buf.len() + filled;
        // SAFETY: `filled` bytes behind the vector's end are initialized and within its capacity:
        // `into` is still the buffer over them.
        unsafe { buf.set_len(end) };
        polled
    }
}

pin_project! {
    /// The future of `AsyncReadExt::read_to_end`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadToEnd<'a, R: ?Sized> {
        reader: &'a mut R,
        buf: &'a mut Vec<u8>,
        progress: Progress,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, R: ?Sized> ReadToEnd<'a, R> {
    pub(super) fn new(reader: &'a mut R, buf: &'a mut Vec<u8>) -> Self {
        let progress = Progress::new(buf);
        Self { reader, buf, progress, _pinned: PhantomPinned }
    }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadToEnd<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let this = self.project();
        this.progress.poll(&mut **this.reader, this.buf, cx)
    }
}

/// A string whose bytes are appended to, and that is given back whole: with what was appended if
/// that is UTF-8, and otherwise as it was.
#[derive(Debug)]
pub(super) struct Borrowed<'a> {
    string: &'a mut String,
    pub(super) bytes: Vec<u8>,
    /// The length that the string came with. `None` once it was given back.
    first_len: Option<usize>,
}

impl<'a> Borrowed<'a> {
    pub(super) fn new(string: &'a mut String) -> Self {
        let first_len = Some(string.len());
        Self { bytes: mem::take(string).into_bytes(), string, first_len }
    }

    /// Gives the string back, with what was appended.
    ///
    /// # Errors
    /// `InvalidData` if that is not UTF-8. The string is then as it was.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match String::from_utf8(mem::take(&mut self.bytes)) {
            Ok(whole) => {
                *self.string = whole;
                self.first_len = None;
                Ok(())
            }
            Err(error) => {
                self.bytes = error.into_bytes();
                self.give_back();
                Err(std_not_utf8())
            }
        }
    }

    /// Gives the string back as it was.
    pub(super) fn give_back(&mut self) {
        if let Some(len) = self.first_len.take() {
            self.bytes.truncate(len);
            let bytes = mem::take(&mut self.bytes);
            *self.string = String::from_utf8(bytes).expect("these are the bytes of a string");
        }
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// The error of bytes that are not UTF-8: that of `std`'s readers, by which programs tell it.
fn std_not_utf8() -> io::Error {
    let mut reader: &[u8] = &[0xff];
    let read = std::io::Read::read_to_string(&mut reader, &mut String::new());
    read.expect_err("this byte is in no UTF-8")
}

pin_project! {
    /// The future of `AsyncReadExt::read_to_string`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadToString<'a, R: ?Sized> {
        reader: &'a mut R,
        buf: Borrowed<'a>,
        progress: Progress,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, R: ?Sized> ReadToString<'a, R> {
    pub(super) fn new(reader: &'a mut R, buf: &'a mut String) -> Self {
        let buf = Borrowed::new(buf);
        let progress = Progress::new(&buf.bytes);
        Self { reader, buf, progress, _pinned: PhantomPinned }
    }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadToString<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let this = self.project();
        let polled = ready!(this.progress.poll(&mut **this.reader, &mut this.buf.bytes, cx));
        let read = match polled {
            Ok(read) => this.buf.finish().map(|()| read),
            Err(error) => {
                this.buf.give_back();
                Err(error)
            }
        };
        Poll::Ready(read)
    }
}
