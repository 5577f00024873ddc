//! `BufReader`: reads much at once, and gives it out in small pieces.

use super::DEFAULT_BYTES;
use crate::io::async_read::poll_read_counted;
use crate::io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// A reader with a buffer.
    ///
    /// Many small reads become few large ones. A read that is at least as long as the buffer, while
    /// that is empty, goes to the inner reader directly. What is buffered is lost when the value is
    /// dropped.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() -> trefoil::io::Result<()> {
    /// use trefoil::io::{AsyncBufReadExt, BufReader};
    ///
    /// let mut reader = BufReader::new(&b"first\nsecond\n"[..]);
    /// let mut line = String::new();
    /// reader.read_line(&mut line).await?;
    /// assert_eq!((&line[..], reader.buffer()), ("first\n", &b"second\n"[..]));
    /// # Ok(())
    /// # }
    /// ```
    pub struct BufReader<R> {
        #[pin]
        pub(super) inner: R,
        pub(super) buf: Box<[u8]>,
        // `buf[start..end]` was read, and not given out yet.
        pub(super) start: usize,
        pub(super) end: usize,
        pub(super) seek: Seek,
    }
}

/// Where a seek has come to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seek {
    None,
    /// It was asked for.
    Asked(SeekFrom),
    /// The inner reader goes back over what is buffered. Then it moves by that many bytes.
    GoingBack(i64),
    /// The inner reader does it.
    Begun,
}

impl<R: AsyncRead> BufReader<R> {
    /// A reader with a buffer of 8 KiB.
    pub fn new(inner: R) -> Self {
        Self::with_capacity(DEFAULT_BYTES, inner)
    }

    /// A reader with a buffer of that many bytes.
    ///
    /// # Panics
    /// If `capacity` is 0: what is not read past the buffer would seem to have ended.
    #[track_caller]
    pub fn with_capacity(capacity: usize, inner: R) -> Self {
        assert!(capacity > 0, "capacity must be greater than zero");
        let buf = vec![0; capacity].into_boxed_slice();
        Self { inner, buf, start: 0, end: 0, seek: Seek::None }
    }

    /// The inner reader.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// The inner reader. What is read from it directly comes behind what is buffered.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The inner reader, pinned. What is read from it directly comes behind what is buffered.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// The inner reader. What is buffered is lost.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// What is buffered. Unlike `fill_buf`, this reads nothing.
    pub fn buffer(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }

    fn forget_buffer(self: Pin<&mut Self>) {
        let this = self.project();
        (*this.start, *this.end) = (0, 0);
    }
}

impl<R: AsyncRead> AsyncRead for BufReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.buffer().is_empty() && buf.remaining() >= self.buf.len() {
            return self.project().inner.poll_read(cx, buf);
        }
        let available = ready!(self.as_mut().poll_fill_buf(cx))?;
        let read = available.len().min(buf.remaining());
        buf.put_slice(&available[..read]);
        self.consume(read);
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncRead> AsyncBufRead for BufReader<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.project();
        // The future of a seek was dropped, which the inner reader ends before it reads. What is
        // buffered comes before it, and what is read now behind it.
        if matches!(this.seek, Seek::Begun | Seek::GoingBack(_)) {
            (*this.seek, *this.start, *this.end) = (Seek::None, 0, 0);
        }
        if this.start == this.end {
            (*this.start, *this.end) = (0, 0);
            *this.end = ready!(poll_read_counted(this.inner, cx, &mut ReadBuf::new(this.buf)))?;
        }
        Poll::Ready(Ok(&this.buf[*this.start..*this.end]))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let this = self.project();
        *this.start += amt.min(*this.end - *this.start);
    }
}

impl<R: AsyncRead + AsyncSeek> AsyncSeek for BufReader<R> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        *self.project().seek = Seek::Asked(position);
        Ok(())
    }

    /// The inner reader is ahead by what is buffered, so a seek from the current position goes back
    /// by that. If both together are no number that a seek can take, they are two seeks.
    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        loop {
            let ahead = self.buffer().len() as i64;
            let this = self.as_mut().project();
            let next = match std::mem::replace(this.seek, Seek::None) {
                // Nothing was asked for here; but an earlier operation of the inner reader has to
                // end before another may begin.
                Seek::None => {
                    let position = ready!(this.inner.poll_complete(cx))?;
                    return Poll::Ready(Ok(position.saturating_sub(ahead as u64)));
                }
                Seek::Asked(SeekFrom::Current(offset)) => match offset.checked_sub(ahead) {
                    Some(offset) => {
                        this.inner.start_seek(SeekFrom::Current(offset))?;
                        Seek::Begun
                    }
                    None => {
                        this.inner.start_seek(SeekFrom::Current(-ahead))?;
                        Seek::GoingBack(offset)
                    }
                },
                Seek::Asked(position) => {
                    this.inner.start_seek(position)?;
                    Seek::Begun
                }
                Seek::GoingBack(offset) => match this.inner.poll_complete(cx)? {
                    Poll::Pending => {
                        *this.seek = Seek::GoingBack(offset);
                        return Poll::Pending;
                    }
                    Poll::Ready(_) => {
                        self.as_mut().forget_buffer();
                        self.as_mut().project().inner.start_seek(SeekFrom::Current(offset))?;
                        Seek::Begun
                    }
                },
                Seek::Begun => match this.inner.poll_complete(cx)? {
                    Poll::Pending => {
                        *this.seek = Seek::Begun;
                        return Poll::Pending;
                    }
                    Poll::Ready(position) => {
                        self.forget_buffer();
                        return Poll::Ready(Ok(position));
                    }
                },
            };
            *self.as_mut().project().seek = next;
        }
    }
}

impl<R: AsyncRead + AsyncWrite> AsyncWrite for BufReader<R> {
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
        self.get_pin_mut().poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_pin_mut().poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

impl<R: fmt::Debug> fmt::Debug for BufReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufReader")
            .field("inner", &self.inner)
            .field("buffered", &(self.end - self.start))
            .field("capacity", &self.buf.len())
            .finish()
    }
}
