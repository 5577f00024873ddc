//! The futures that write: `write`, `write_all` and their like, `flush` and `shutdown`.

use crate::io::AsyncWrite;
use crate::io::async_write::poll_write_on;
use crate::task::coop;
use bytes::Buf;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io::{self, IoSlice};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The future of `AsyncWriteExt::write`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Write<'a, W: ?Sized> {
        writer: &'a mut W,
        buf: &'a [u8],
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, W: ?Sized> Write<'a, W> {
    pub(super) fn new(writer: &'a mut W, buf: &'a [u8]) -> Self {
        Self { writer, buf, _pinned: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for Write<'_, W> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let this = self.project();
        Pin::new(&mut **this.writer).poll_write(cx, this.buf)
    }
}

pin_project! {
    /// The future of `AsyncWriteExt::write_vectored`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteVectored<'a, 'b, W: ?Sized> {
        writer: &'a mut W,
        bufs: &'a [IoSlice<'b>],
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, 'b, W: ?Sized> WriteVectored<'a, 'b, W> {
    pub(super) fn new(writer: &'a mut W, bufs: &'a [IoSlice<'b>]) -> Self {
        Self { writer, bufs, _pinned: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for WriteVectored<'_, '_, W> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let this = self.project();
        Pin::new(&mut **this.writer).poll_write_vectored(cx, this.bufs)
    }
}

pin_project! {
    /// The future of `AsyncWriteExt::write_all`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteAll<'a, W: ?Sized> {
        writer: &'a mut W,
        left: &'a [u8],
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, W: ?Sized> WriteAll<'a, W> {
    pub(super) fn new(writer: &'a mut W, buf: &'a [u8]) -> Self {
        Self { writer, left: buf, _pinned: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for WriteAll<'_, W> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.project();
        while !this.left.is_empty() {
            match ready!(poll_write_on(Pin::new(&mut **this.writer), cx, this.left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => *this.left = &this.left[written..],
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// How many chunks of a buffer are offered to a writer at once.
const CHUNKS: usize = 64;

/// Writes from the front of `buf` what the writer takes in one call, and advances `buf` by that.
fn poll_write_buf<W: AsyncWrite + ?Sized, B: Buf + ?Sized>(
    writer: Pin<&mut W>,
    cx: &mut Context<'_>,
    buf: &mut B,
) -> Poll<io::Result<usize>> {
    let written = if writer.is_write_vectored() {
        let mut chunks = [IoSlice::new(&[]); CHUNKS];
        let count = buf.chunks_vectored(&mut chunks);
        ready!(writer.poll_write_vectored(cx, &chunks[..count]))?
    } else {
        ready!(writer.poll_write(cx, buf.chunk()))?
    };
    let left = buf.remaining();
    assert!(written <= left, "the writer has written {written} of {left} bytes");
    buf.advance(written);
    Poll::Ready(Ok(written))
}

pin_project! {
    /// The future of `AsyncWriteExt::write_buf`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteBuf<'a, W: ?Sized, B> {
        writer: &'a mut W,
        buf: &'a mut B,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, W: ?Sized, B> WriteBuf<'a, W, B> {
    pub(super) fn new(writer: &'a mut W, buf: &'a mut B) -> Self {
        Self { writer, buf, _pinned: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin + ?Sized, B: Buf> Future for WriteBuf<'_, W, B> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let this = self.project();
        if !this.buf.has_remaining() {
            return Poll::Ready(Ok(0));
        }
        poll_write_buf(Pin::new(&mut **this.writer), cx, &mut **this.buf)
    }
}

pin_project! {
    /// The future of `AsyncWriteExt::write_all_buf`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteAllBuf<'a, W: ?Sized, B> {
        writer: &'a mut W,
        buf: &'a mut B,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, W: ?Sized, B> WriteAllBuf<'a, W, B> {
    pub(super) fn new(writer: &'a mut W, buf: &'a mut B) -> Self {
        Self { writer, buf, _pinned: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin + ?Sized, B: Buf> Future for WriteAllBuf<'_, W, B> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.project();
        while this.buf.has_remaining() {
            let written = poll_write_buf(Pin::new(&mut **this.writer), cx, &mut **this.buf);
            let written = match ready!(written) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                written => written?,
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Poll::Ready(Ok(()))
    }
}

pin_project! {
    /// The future of `AsyncWriteExt::flush`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Flush<'a, W: ?Sized> {
        writer: &'a mut W,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, W: ?Sized> Flush<'a, W> {
    pub(super) fn new(writer: &'a mut W) -> Self {
        Self { writer, _pinned: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for Flush<'_, W> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        spending(cx, |cx| Pin::new(&mut **self.project().writer).poll_flush(cx))
    }
}

pin_project! {
    /// The future of `AsyncWriteExt::shutdown`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Shutdown<'a, W: ?Sized> {
        writer: &'a mut W,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, W: ?Sized> Shutdown<'a, W> {
    pub(super) fn new(writer: &'a mut W) -> Self {
        Self { writer, _pinned: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for Shutdown<'_, W> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        spending(cx, |cx| Pin::new(&mut **self.project().writer).poll_shutdown(cx))
    }
}

/// Spends a unit of the budget for what most writers have nothing to do for, and spend none.
fn spending<R>(cx: &mut Context<'_>, poll: impl FnOnce(&mut Context<'_>) -> Poll<R>) -> Poll<R> {
    // Only a look whether there is any. A unit that is kept would, if the writer waits, give back
    // what that has spent, too.
    drop(ready!(coop::poll_proceed(cx)));
    let result = ready!(poll(cx));
    // The writer may have spent the last one.
    let _ = coop::spend();
    Poll::Ready(result)
}
