use super::end::{end, prepare, set_nonblocking};
use crate::io::{AsyncWrite, Interest, Ready};
use crate::reactor::{Direction, Source};
use rustix::fs::OFlags;
use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The end of a pipe that is written to.
///
/// A write fails with `BrokenPipe` when all receivers have gone. There is no end of a stream but
/// the drop of all senders: `shutdown` does nothing.
///
/// ```no_run
/// use trefoil::io::AsyncWriteExt;
/// use trefoil::net::unix::pipe;
///
/// # async fn f() -> std::io::Result<()> {
/// let mut sender = pipe::OpenOptions::new().open_sender("/run/service.fifo")?;
/// sender.write_all(b"reload").await?;
/// # Ok(())
/// # }
/// ```
pub struct Sender {
    io: Source<mio::unix::pipe::Sender>,
}

end!(Sender, Interest::WRITABLE, OFlags::WRONLY, "writes");

impl Sender {
    /// Waits until there may be room to write, or nobody reads any more.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await.map(drop)
    }

    /// Polls for [`writable`](Self::writable). The last caller is woken.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.registration().poll_ready(cx, Direction::Write).map_ok(drop)
    }

    /// Writes what there is room for, without waiting, and returns how much that is. What is no
    /// longer than the system's `PIPE_BUF` is written at once or not at all.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room, and those of the system.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.registration().try_io(Interest::WRITABLE, || (&*self.io).write(buf))
    }

    /// As [`try_write`](Self::try_write), from several buffers.
    ///
    /// # Errors
    /// As [`try_write`](Self::try_write).
    pub fn try_write_vectored(&self, buf: &[IoSlice<'_>]) -> io::Result<usize> {
        self.io.registration().try_io(Interest::WRITABLE, || (&*self.io).write_vectored(buf))
    }
}

impl AsyncWrite for Sender {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io.registration().poll_io(cx, Direction::Write, || (&*self.io).write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io.registration().poll_io(cx, Direction::Write, || (&*self.io).write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// What was written is on its way: there is no buffer in between.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
