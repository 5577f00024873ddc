//! Readers and writers in memory: slices, vectors and cursors. They are ready at once, and end.

use super::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use std::io::{self, BufRead, Cursor, IoSlice, Seek, SeekFrom, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

impl AsyncRead for &[u8] {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (read, left) = self.split_at(self.len().min(buf.remaining()));
        buf.put_slice(read);
        *self = left;
        Poll::Ready(Ok(()))
    }
}

impl AsyncBufRead for &[u8] {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(Ok(*self))
    }

    fn consume(mut self: Pin<&mut Self>, amt: usize) {
        *self = &self[amt..];
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncRead for Cursor<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // `as_ref` is foreign, so it is called once: it might return another slice the next time.
        let position = self.position();
        let all = self.get_ref().as_ref();
        // A position behind the end is one at which there is nothing.
        let start = usize::try_from(position).map_or(all.len(), |start| start.min(all.len()));
        let read = buf.remaining().min(all.len() - start);
        buf.put_slice(&all[start..start + read]);
        self.set_position(position.saturating_add(read as u64));
        Poll::Ready(Ok(()))
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncBufRead for Cursor<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(self.get_mut().fill_buf())
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        BufRead::consume(self.get_mut(), amt);
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncSeek for Cursor<T> {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        Seek::seek(&mut *self, position).map(drop)
    }

    fn poll_complete(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.position()))
    }
}

/// A writer that `std` has, too, and that neither waits nor buffers.
macro_rules! writes_at_once {
    ($($type:ty),*) => {$(
        impl AsyncWrite for $type {
            fn poll_write(
                mut self: Pin<&mut Self>,
                _: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                Poll::Ready(Write::write(&mut *self, buf))
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_write_vectored(
                mut self: Pin<&mut Self>,
                _: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                Poll::Ready(Write::write_vectored(&mut *self, bufs))
            }

            fn is_write_vectored(&self) -> bool {
                true
            }
        }
    )*};
}

writes_at_once!(
    Vec<u8>,
    Cursor<&mut [u8]>,
    Cursor<&mut Vec<u8>>,
    Cursor<Vec<u8>>,
    Cursor<Box<[u8]>>
);
