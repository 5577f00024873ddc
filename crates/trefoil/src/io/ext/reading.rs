//! The futures of single reads: `read`, `read_buf` and `read_exact`.

use crate::io::async_read::{poll_read_counted, poll_read_on};
use crate::io::{AsyncRead, ReadBuf};
use bytes::BufMut;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The future of `AsyncReadExt::read`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Read<'a, R: ?Sized> {
        reader: &'a mut R,
        buf: &'a mut [u8],
        // No future of these traits is `Unpin`, so that each may become an `async fn` later.
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, R: ?Sized> Read<'a, R> {
    pub(super) fn new(reader: &'a mut R, buf: &'a mut [u8]) -> Self {
        Self { reader, buf, _pinned: PhantomPinned }
    }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for Read<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let this = self.project();
        poll_read_counted(Pin::new(&mut **this.reader), cx, &mut ReadBuf::new(this.buf))
    }
}

pin_project! {
    /// The future of `AsyncReadExt::read_buf`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadInto<'a, R: ?Sized, B: ?Sized> {
        reader: &'a mut R,
        buf: &'a mut B,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, R: ?Sized, B: ?Sized> ReadInto<'a, R, B> {
    pub(super) fn new(reader: &'a mut R, buf: &'a mut B) -> Self {
        Self { reader, buf, _pinned: PhantomPinned }
    }
}

impl<R: AsyncRead + Unpin + ?Sized, B: BufMut + ?Sized> Future for ReadInto<'_, R, B> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let this = self.project();
        if !this.buf.has_remaining_mut() {
            return Poll::Ready(Ok(0));
        }
        // A chunk may be longer than what the buffer still takes.
        let max = this.buf.remaining_mut();
        let chunk = this.buf.chunk_mut();
        let max = chunk.len().min(max);
        // SAFETY: nothing here or in `ReadBuf` makes an initialized byte uninitialized.
        let chunk = unsafe { chunk.as_uninit_slice_mut() };
        let mut into = ReadBuf::uninit(&mut chunk[..max]);
        let read = ready!(poll_read_counted(Pin::new(&mut **this.reader), cx, &mut into))?;
        // SAFETY: `read` bytes were filled in, at the chunk's beginning: the buffer is the one that
        // was given.
        unsafe { this.buf.advance_mut(read) };
        Poll::Ready(Ok(read))
    }
}

pin_project! {
    /// The future of `AsyncReadExt::read_exact`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadExact<'a, R: ?Sized> {
        reader: &'a mut R,
        buf: ReadBuf<'a>,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, R: ?Sized> ReadExact<'a, R> {
    pub(super) fn new(reader: &'a mut R, buf: &'a mut [u8]) -> Self {
        Self { reader, buf: ReadBuf::new(buf), _pinned: PhantomPinned }
    }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadExact<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let this = self.project();
        while this.buf.remaining() > 0 {
            if ready!(poll_read_on(Pin::new(&mut **this.reader), cx, this.buf))? == 0 {
                return Poll::Ready(Err(early_end()));
            }
        }
        Poll::Ready(Ok(this.buf.capacity()))
    }
}

/// The end came before all was read that had to be.
pub(super) fn early_end() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "early eof")
}
