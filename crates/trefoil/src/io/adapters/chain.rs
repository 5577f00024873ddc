//! `Chain`: one reader after another.

use crate::io::async_read::poll_read_counted;
use crate::io::{AsyncBufRead, AsyncRead, ReadBuf};
use pin_project_lite::pin_project;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The bytes of one reader, and then those of another one: see
    /// [`AsyncReadExt::chain`](crate::io::AsyncReadExt::chain).
    pub struct Chain<T, U> {
        #[pin]
        first: T,
        #[pin]
        second: U,
        first_is_over: bool,
    }
}

impl<T: AsyncRead, U: AsyncRead> Chain<T, U> {
    pub(in crate::io) fn new(first: T, second: U) -> Self {
        Self { first, second, first_is_over: false }
    }

    /// Both readers.
    pub fn get_ref(&self) -> (&T, &U) {
        (&self.first, &self.second)
    }

    /// Both readers. What is read from one of them directly is missing from the chain.
    pub fn get_mut(&mut self) -> (&mut T, &mut U) {
        (&mut self.first, &mut self.second)
    }

    /// Both readers, pinned. What is read from one of them directly is missing from the chain.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> (Pin<&mut T>, Pin<&mut U>) {
        let this = self.project();
        (this.first, this.second)
    }

    /// Both readers.
    pub fn into_inner(self) -> (T, U) {
        (self.first, self.second)
    }
}

impl<T: AsyncRead, U: AsyncRead> AsyncRead for Chain<T, U> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.project();
        if !*this.first_is_over {
            let has_room = buf.remaining() > 0;
            // Without room, nothing read does not mean that the end is reached.
            if ready!(poll_read_counted(this.first, cx, buf))? > 0 || !has_room {
                return Poll::Ready(Ok(()));
            }
            *this.first_is_over = true;
        }
        this.second.poll_read(cx, buf)
    }
}

impl<T: AsyncBufRead, U: AsyncBufRead> AsyncBufRead for Chain<T, U> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.project();
        if !*this.first_is_over {
            match ready!(this.first.poll_fill_buf(cx))? {
                [] => *this.first_is_over = true,
                filled => return Poll::Ready(Ok(filled)),
            }
        }
        this.second.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let this = self.project();
        if *this.first_is_over { this.second.consume(amt) } else { this.first.consume(amt) }
    }
}

impl<T: fmt::Debug, U: fmt::Debug> fmt::Debug for Chain<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let readers = [&self.first as &dyn fmt::Debug, &self.second];
        f.debug_struct("Chain").field("readers", &readers).finish_non_exhaustive()
    }
}
