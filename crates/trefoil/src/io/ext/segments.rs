//! Reading up to a delimiter: `read_until`, `read_line`, and the streams of segments and lines.

use super::filling::Borrowed;
use crate::io::AsyncBufRead;
use pin_project_lite::pin_project;
use std::future::{Future, poll_fn};
use std::io;
use std::marker::PhantomPinned;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Appends to `buf` all up to the delimiter, and the delimiter, or all up to the end. Returns the
/// number of bytes that were appended since `read` was zero, and makes it zero.
fn poll_until<R: AsyncBufRead + ?Sized>(
    mut reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    delimiter: u8,
    buf: &mut Vec<u8>,
    read: &mut usize,
) -> Poll<io::Result<usize>> {
    loop {
        let available = match ready!(reader.as_mut().poll_fill_buf(cx)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            available => available?,
        };
        let found = available.iter().position(|&byte| byte == delimiter);
        let used = found.map_or(available.len(), |index| index + 1);
        buf.extend_from_slice(&available[..used]);
        reader.as_mut().consume(used);
        *read += used;
        if found.is_some() || used == 0 {
            return Poll::Ready(Ok(mem::take(read)));
        }
    }
}

pin_project! {
    /// The future of `AsyncBufReadExt::read_until`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadUntil<'a, R: ?Sized> {
        reader: &'a mut R,
        delimiter: u8,
        buf: &'a mut Vec<u8>,
        read: usize,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, R: ?Sized> ReadUntil<'a, R> {
    pub(super) fn new(reader: &'a mut R, delimiter: u8, buf: &'a mut Vec<u8>) -> Self {
        Self { reader, delimiter, buf, read: 0, _pinned: PhantomPinned }
    }
}

impl<R: AsyncBufRead + Unpin + ?Sized> Future for ReadUntil<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let this = self.project();
        poll_until(Pin::new(&mut **this.reader), cx, *this.delimiter, this.buf, this.read)
    }
}

pin_project! {
    /// The future of `AsyncBufReadExt::read_line`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadLine<'a, R: ?Sized> {
        reader: &'a mut R,
        buf: Borrowed<'a>,
        read: usize,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, R: ?Sized> ReadLine<'a, R> {
    pub(super) fn new(reader: &'a mut R, buf: &'a mut String) -> Self {
        Self { reader, buf: Borrowed::new(buf), read: 0, _pinned: PhantomPinned }
    }
}

impl<R: AsyncBufRead + Unpin + ?Sized> Future for ReadLine<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let this = self.project();
        let reader = Pin::new(&mut **this.reader);
        let polled = ready!(poll_until(reader, cx, b'\n', &mut this.buf.bytes, this.read));
        // After an error of the reader, what it has read before stays, as in `std`.
        let kept = this.buf.finish();
        Poll::Ready(polled.and_then(|read| kept.map(|()| read)))
    }
}

pin_project! {
    /// The future of `AsyncBufReadExt::fill_buf`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct FillBuf<'a, R: ?Sized> {
        reader: Option<&'a mut R>,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, R: ?Sized> FillBuf<'a, R> {
    pub(super) fn new(reader: &'a mut R) -> Self {
        Self { reader: Some(reader), _pinned: PhantomPinned }
    }
}

impl<'a, R: AsyncBufRead + Unpin + ?Sized> Future for FillBuf<'a, R> {
    type Output = io::Result<&'a [u8]>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&'a [u8]>> {
        let this = self.project();
        let reader = this.reader.take().expect("polled after it was done");
        match Pin::new(&mut *reader).poll_fill_buf(cx) {
            Poll::Ready(Ok(filled)) => {
                // The borrow checker takes `reader` as borrowed for `'a` in the other branches,
                // too, once this one returns what borrows from it, so the lifetime is made here.
                // SAFETY: `filled` borrows from `*reader`, which is borrowed mutably for `'a`, and
                // `reader` was taken out of the future, so nothing else reaches it before `'a`
                // ends.
                Poll::Ready(Ok(unsafe { &*std::ptr::from_ref(filled) }))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                *this.reader = Some(reader);
                Poll::Pending
            }
        }
    }
}

pin_project! {
    /// The segments of a reader between delimiters: see
    /// [`AsyncBufReadExt::split`](super::AsyncBufReadExt::split).
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Split<R> {
        #[pin]
        reader: R,
        buf: Vec<u8>,
        delimiter: u8,
        read: usize,
    }
}

impl<R: AsyncBufRead> Split<R> {
    pub(super) fn new(reader: R, delimiter: u8) -> Self {
        Self { reader, buf: Vec::new(), delimiter, read: 0 }
    }

    /// The next segment, without the delimiter; `None` at the end.
    ///
    /// # Errors
    /// Those of the reader. What was read of the segment is kept for the next call.
    ///
    /// # Cancellation safety
    /// Nothing is lost: what was read stays here for the next call.
    pub async fn next_segment(&mut self) -> io::Result<Option<Vec<u8>>>
    where
        R: Unpin,
    {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_segment(cx)).await
    }

    /// Polls for the next segment: see [`next_segment`](Self::next_segment).
    ///
    /// # Errors
    /// As `next_segment`.
    pub fn poll_next_segment(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Vec<u8>>>> {
        let this = self.project();
        let read = ready!(poll_until(this.reader, cx, *this.delimiter, this.buf, this.read))?;
        if read == 0 && this.buf.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let mut segment = mem::take(this.buf);
        segment.pop_if(|last| last == this.delimiter);
        Poll::Ready(Ok(Some(segment)))
    }
}

pin_project! {
    /// The lines of a reader: see [`AsyncBufReadExt::lines`](super::AsyncBufReadExt::lines).
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Lines<R> {
        #[pin]
        reader: R,
        buf: Vec<u8>,
        read: usize,
    }
}

impl<R: AsyncBufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buf: Vec::new(), read: 0 }
    }

    /// The next line, without its `\n` or `\r\n`; `None` at the end.
    ///
    /// # Errors
    /// Those of the reader; what was read of the line is kept for the next call. `InvalidData` for
    /// a line that is not UTF-8; the next call goes on behind it.
    ///
    /// # Cancellation safety
    /// Nothing is lost: what was read stays here for the next call.
    pub async fn next_line(&mut self) -> io::Result<Option<String>>
    where
        R: Unpin,
    {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_line(cx)).await
    }

    /// Polls for the next line: see [`next_line`](Self::next_line).
    ///
    /// # Errors
    /// As `next_line`.
    pub fn poll_next_line(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<String>>> {
        let this = self.project();
        let read = ready!(poll_until(this.reader, cx, b'\n', this.buf, this.read))?;
        if read == 0 && this.buf.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let mut line = mem::take(this.buf);
        if line.pop_if(|last| *last == b'\n').is_some() {
            line.pop_if(|last| *last == b'\r');
        }
        // The bytes are in the error: they are in no buffer any more.
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        Poll::Ready(String::from_utf8(line).map(Some).map_err(invalid))
    }
}

impl<R> Lines<R> {
    /// The reader. What is read from it directly is missing from the lines.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// The reader.
    pub fn get_ref(&mut self) -> &R {
        &self.reader
    }

    /// The reader. What was read of a line that is not whole yet is lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}
