//! The traits of `futures::io`.

use super::accessors;
use crate::io::async_read::poll_read_counted;
use crate::io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use futures_io as theirs;
use pin_project_lite::pin_project;
use std::io::{self, IoSlice, IoSliceMut, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// `AsyncRead`, `AsyncWrite`, `AsyncSeek` and `AsyncBufRead` of `futures::io` for a type that
    /// has this crate's traits, and back. Their `close` is this crate's `shutdown`.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() -> trefoil::io::Result<()> {
    /// use futures::io::AsyncReadExt;
    /// use trefoil::compat::FuturesCompat;
    ///
    /// let mut text = String::new();
    /// FuturesCompat::new(&b"hello"[..]).read_to_string(&mut text).await?;
    /// assert_eq!(text, "hello");
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug)]
    pub struct FuturesCompat<T> {
        #[pin]
        inner: T,
        // A seek that was asked for. Around a type of this crate, it was begun, and nothing was
        // read or written since: what does so has left a seek behind whose future was dropped.
        seek: Option<SeekFrom>,
    }
}

accessors!(FuturesCompat { seek: None });

impl<T> FuturesCompat<T> {
    /// The inner type, which is about to be read or written: a later seek is another one.
    fn leave_seek(self: Pin<&mut Self>) -> Pin<&mut T> {
        let this = self.project();
        *this.seek = None;
        this.inner
    }
}

impl<T: AsyncRead> theirs::AsyncRead for FuturesCompat<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        poll_read_counted(self.leave_seek(), cx, &mut ReadBuf::new(buf))
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter_mut().find(|buf| !buf.is_empty());
        self.poll_read(cx, first.map_or(&mut [], |buf| &mut **buf))
    }
}

impl<T: theirs::AsyncRead> AsyncRead for FuturesCompat<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Their readers may look at what they are given.
        let read = ready!(self.get_pin_mut().poll_read(cx, buf.initialize_unfilled()))?;
        let room = buf.remaining();
        assert!(read <= room, "`poll_read` has read {read} bytes into {room}");
        buf.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite> theirs::AsyncWrite for FuturesCompat<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.leave_seek().poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.leave_seek().poll_write_vectored(cx, bufs)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_pin_mut().poll_flush(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_pin_mut().poll_shutdown(cx)
    }
}

impl<T: theirs::AsyncWrite> AsyncWrite for FuturesCompat<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_pin_mut().poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_pin_mut().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_pin_mut().poll_close(cx)
    }

    // Their trait does not say whether a writer takes several buffers, so `is_write_vectored` says
    // no, and who calls this all the same gets what the writer does.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_pin_mut().poll_write_vectored(cx, bufs)
    }
}

impl<T: AsyncBufRead> theirs::AsyncBufRead for FuturesCompat<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.leave_seek().poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.get_pin_mut().consume(amt);
    }
}

impl<T: theirs::AsyncBufRead> AsyncBufRead for FuturesCompat<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.get_pin_mut().poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.get_pin_mut().consume(amt);
    }
}

impl<T: AsyncSeek> theirs::AsyncSeek for FuturesCompat<T> {
    fn poll_seek(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        position: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        let mut this = self.project();
        if *this.seek != Some(position) {
            // Another seek, or none, is under way.
            ready!(this.inner.as_mut().poll_complete(cx))?;
            *this.seek = None;
            this.inner.as_mut().start_seek(position)?;
            *this.seek = Some(position);
        }
        let done = ready!(this.inner.poll_complete(cx));
        *this.seek = None;
        Poll::Ready(done)
    }
}

impl<T: theirs::AsyncSeek> AsyncSeek for FuturesCompat<T> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        *self.project().seek = Some(position);
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let this = self.project();
        let Some(position) = *this.seek else { return Poll::Ready(Ok(0)) };
        let done = ready!(this.inner.poll_seek(cx, position));
        *this.seek = None;
        Poll::Ready(done)
    }
}
