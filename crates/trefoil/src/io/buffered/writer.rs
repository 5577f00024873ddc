//! `BufWriter`: collects what is written in small pieces, and writes much at once.

use super::DEFAULT_BYTES;
use crate::io::async_write::poll_write_on;
use crate::io::trivial::length_of;
use crate::io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// A writer with a buffer.
    ///
    /// Many small writes become few large ones. A write that is at least as long as the buffer goes
    /// to the inner writer directly. What is buffered is lost when the value is dropped: call
    /// [`flush`](crate::io::AsyncWriteExt::flush) or
    /// [`shutdown`](crate::io::AsyncWriteExt::shutdown) before.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() -> trefoil::io::Result<()> {
    /// use trefoil::io::{AsyncWriteExt, BufWriter};
    ///
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"kept").await?;
    /// assert_eq!((&writer.get_ref()[..], writer.buffer()), (&b""[..], &b"kept"[..]));
    /// writer.flush().await?;
    /// assert_eq!(writer.into_inner(), b"kept");
    /// # Ok(())
    /// # }
    /// ```
    pub struct BufWriter<W> {
        #[pin]
        pub(super) inner: W,
        // Its capacity never changes: it is never made longer than that.
        pub(super) buf: Vec<u8>,
        // How much of `buf` the inner writer has taken, while it is being written out.
        pub(super) written: usize,
        pub(super) seek: Seek,
    }
}

/// Where a seek has come to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seek {
    None,
    /// It was asked for.
    Asked(SeekFrom),
    /// The inner writer does it.
    Begun,
}

impl<W: AsyncWrite> BufWriter<W> {
    /// A writer with a buffer of 8 KiB.
    pub fn new(inner: W) -> Self {
        Self::with_capacity(DEFAULT_BYTES, inner)
    }

    /// A writer with a buffer of that many bytes.
    pub fn with_capacity(capacity: usize, inner: W) -> Self {
        Self { inner, buf: Vec::with_capacity(capacity), written: 0, seek: Seek::None }
    }

    /// The inner writer.
    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// The inner writer. What is written to it directly comes before what is buffered.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// The inner writer, pinned. What is written to it directly comes before what is buffered.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().inner
    }

    /// The inner writer. What is buffered is lost.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// What is buffered, and was not written yet.
    pub fn buffer(&self) -> &[u8] {
        &self.buf[self.written..]
    }

    fn room(&self) -> usize {
        self.buf.capacity() - self.buf.len()
    }

    /// Writes all that is buffered. After an error, what was not written stays buffered.
    fn poll_write_out(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut this = self.project();
        let result = loop {
            let left = &this.buf[*this.written..];
            if left.is_empty() {
                break Ok(());
            }
            match ready!(poll_write_on(this.inner.as_mut(), cx, left)) {
                Ok(0) => {
                    let text = "failed to write the buffered data";
                    break Err(io::Error::new(io::ErrorKind::WriteZero, text));
                }
                Ok(written) => *this.written += written,
                Err(error) => break Err(error),
            }
        };
        this.buf.drain(..std::mem::take(this.written));
        Poll::Ready(result)
    }
}

impl<W: AsyncWrite> AsyncWrite for BufWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if buf.len() > self.room() {
            ready!(self.as_mut().poll_write_out(cx))?;
        }
        let this = self.project();
        if buf.len() >= this.buf.capacity() {
            return this.inner.poll_write(cx, buf);
        }
        this.buf.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_write_out(cx))?;
        self.get_pin_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_write_out(cx))?;
        self.get_pin_mut().poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.inner.is_write_vectored() {
            let all = length_of(bufs);
            if all > self.room() {
                ready!(self.as_mut().poll_write_out(cx))?;
            }
            let this = self.project();
            if all >= this.buf.capacity() {
                return this.inner.poll_write_vectored(cx, bufs);
            }
            bufs.iter().for_each(|buf| this.buf.extend_from_slice(buf));
            return Poll::Ready(Ok(all));
        }
        // The inner writer takes one buffer at a time. So does this one if the first is long, and
        // otherwise as many as there is room for.
        let mut bufs = bufs.iter().skip_while(|buf| buf.is_empty());
        let Some(first) = bufs.next() else { return Poll::Ready(Ok(0)) };
        if first.len() > self.room() {
            ready!(self.as_mut().poll_write_out(cx))?;
        }
        let this = self.project();
        if first.len() >= this.buf.capacity() {
            return this.inner.poll_write(cx, first);
        }
        let before = this.buf.len();
        this.buf.extend_from_slice(first);
        for buf in bufs {
            if buf.len() > this.buf.capacity() - this.buf.len() {
                break;
            }
            this.buf.extend_from_slice(buf);
        }
        Poll::Ready(Ok(this.buf.len() - before))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl<W: AsyncWrite + AsyncSeek> AsyncSeek for BufWriter<W> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        *self.project().seek = Seek::Asked(position);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if let Seek::Asked(position) = self.seek {
            ready!(self.as_mut().poll_write_out(cx))?;
            let mut this = self.as_mut().project();
            // A writer of files does what it was given later, and refuses a seek until then.
            ready!(this.inner.as_mut().poll_complete(cx))?;
            *this.seek = Seek::None;
            this.inner.start_seek(position)?;
            *this.seek = Seek::Begun;
        }
        let this = self.project();
        let position = ready!(this.inner.poll_complete(cx));
        *this.seek = Seek::None;
        Poll::Ready(position)
    }
}

impl<W: AsyncWrite + AsyncRead> AsyncRead for BufWriter<W> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.get_pin_mut().poll_read(cx, buf)
    }
}

impl<W: AsyncWrite + AsyncBufRead> AsyncBufRead for BufWriter<W> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.get_pin_mut().poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.get_pin_mut().consume(amt);
    }
}

impl<W: fmt::Debug> fmt::Debug for BufWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufWriter")
            .field("inner", &self.inner)
            .field("buffered", &(self.buf.len() - self.written))
            .field("capacity", &self.buf.capacity())
            .finish()
    }
}
