//! The futures that read or write one number.

use super::reading::early_end;
use crate::io::async_read::poll_read_on;
use crate::io::async_write::poll_write_on;
use crate::io::{AsyncRead, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The future of `AsyncReadExt::read_u32` and its like.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadNumber<'a, R: ?Sized, T, B> {
        reader: &'a mut R,
        bytes: B,
        read: usize,
        decode: fn(B) -> T,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, R: ?Sized, T, const N: usize> ReadNumber<'a, R, T, [u8; N]> {
    #[inline]
    pub(super) fn new(reader: &'a mut R, decode: fn([u8; N]) -> T) -> Self {
        Self { reader, bytes: [0; N], read: 0, decode, _pinned: PhantomPinned }
    }
}

impl<R: AsyncRead + Unpin + ?Sized, T, const N: usize> Future for ReadNumber<'_, R, T, [u8; N]> {
    type Output = io::Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let this = self.project();
        while *this.read < N {
            let mut buf = ReadBuf::new(&mut this.bytes[*this.read..]);
            match ready!(poll_read_on(Pin::new(&mut **this.reader), cx, &mut buf))? {
                0 => return Poll::Ready(Err(early_end())),
                read => *this.read += read,
            }
        }
        Poll::Ready(Ok((this.decode)(*this.bytes)))
    }
}

impl<R: ?Sized, T, B> fmt::Debug for ReadNumber<'_, R, T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadNumber").field("read", &self.read).finish_non_exhaustive()
    }
}

pin_project! {
    /// The future of `AsyncWriteExt::write_u32` and its like.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteNumber<'a, W: ?Sized, B> {
        writer: &'a mut W,
        bytes: B,
        written: usize,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<'a, W: ?Sized, B> WriteNumber<'a, W, B> {
    #[inline]
    pub(super) fn new(writer: &'a mut W, bytes: B) -> Self {
        Self { writer, bytes, written: 0, _pinned: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin + ?Sized, const N: usize> Future for WriteNumber<'_, W, [u8; N]> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.project();
        while *this.written < N {
            let left = &this.bytes[*this.written..];
            match ready!(poll_write_on(Pin::new(&mut **this.writer), cx, left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => *this.written += written,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<W: ?Sized, B> fmt::Debug for WriteNumber<'_, W, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteNumber").field("written", &self.written).finish_non_exhaustive()
    }
}
