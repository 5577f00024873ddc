//! `Take`: a reader that ends early.

use crate::io::async_read::poll_read_counted;
use crate::io::{AsyncBufRead, AsyncRead, ReadBuf};
use pin_project_lite::pin_project;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// At most a number of bytes of a reader: see
    /// [`AsyncReadExt::take`](crate::io::AsyncReadExt::take).
    #[derive(Debug)]
    pub struct Take<R> {
        #[pin]
        inner: R,
        limit: u64,
    }
}

impl<R: AsyncRead> Take<R> {
    pub(in crate::io) fn new(inner: R, limit: u64) -> Self {
        Self { inner, limit }
    }

    /// How many bytes can be read before this reader ends. The inner one may end before.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Sets how many bytes can be read from now on.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// The inner reader.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// The inner reader. What is read from it directly does not count against the limit.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The inner reader, pinned. What is read from it directly does not count against the limit.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// The inner reader.
    pub fn into_inner(self) -> R {
        self.inner
    }
}

impl<R: AsyncRead> AsyncRead for Take<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.limit == 0 {
            return Poll::Ready(Ok(()));
        }
        let this = self.project();
        let max = usize::try_from(*this.limit).unwrap_or(usize::MAX);
        let mut part = buf.take(max);
        let polled = poll_read_counted(this.inner, cx, &mut part);
        let (filled, initialized) = (part.filled().len(), part.initialized().len());
        // SAFETY: `part` is still the buffer over the first unfilled bytes of `buf`, and says that
        // it has initialized these.
        unsafe { buf.assume_init(initialized) };
        let read = ready!(polled)?;
        debug_assert_eq!(read, filled, "the part began empty");
        buf.advance(read);
        *this.limit -= read as u64;
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncBufRead> AsyncBufRead for Take<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        // The inner reader is not asked for what nobody may have: it might wait for long.
        if self.limit == 0 {
            return Poll::Ready(Ok(&[]));
        }
        let this = self.project();
        let filled = ready!(this.inner.poll_fill_buf(cx))?;
        let max = usize::try_from(*this.limit).unwrap_or(usize::MAX);
        Poll::Ready(Ok(&filled[..filled.len().min(max)]))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let this = self.project();
        let amt = usize::try_from(*this.limit).unwrap_or(usize::MAX).min(amt);
        *this.limit -= amt as u64;
        this.inner.consume(amt);
    }
}
