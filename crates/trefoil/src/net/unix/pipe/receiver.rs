use super::end::{end, prepare, set_nonblocking};
use crate::io::{AsyncRead, Interest, ReadBuf, Ready};
use crate::reactor::{Direction, Source};
use bytes::BufMut;
use rustix::fs::OFlags;
use std::fmt;
use std::fs::File;
use std::io::{self, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The end of a pipe that is read from.
///
/// A read returns zero bytes when all senders have gone. In the case of a FIFO file, others may
/// come later; see [`OpenOptions`](super::OpenOptions).
///
/// ```no_run
/// use trefoil::io::AsyncReadExt;
/// use trefoil::net::unix::pipe;
///
/// # async fn f() -> std::io::Result<()> {
/// let mut receiver = pipe::OpenOptions::new().open_receiver("/run/service.fifo")?;
/// let mut buf = [0; 512];
/// let count = receiver.read(&mut buf).await?;
/// # Ok(())
/// # }
/// ```
pub struct Receiver {
    io: Source<mio::unix::pipe::Receiver>,
}

end!(Receiver, Interest::READABLE, OFlags::RDONLY, "reads");

impl Receiver {
    /// Waits until there may be something to read, or nobody writes any more.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await.map(drop)
    }

    /// Polls for [`readable`](Self::readable). The last caller is woken.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.registration().poll_ready(cx, Direction::Read).map_ok(drop)
    }

    /// Reads what there is, without waiting. Zero bytes say that there is no sender, unless `buf`
    /// is empty.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing, and those of the system.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.registration().try_io(Interest::READABLE, || (&*self.io).read(buf))
    }

    /// As [`try_read`](Self::try_read), into several buffers.
    ///
    /// # Errors
    /// As [`try_read`](Self::try_read).
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.io.registration().try_io(Interest::READABLE, || (&*self.io).read_vectored(bufs))
    }

    /// As [`try_read`](Self::try_read), to the end of a buffer that grows.
    ///
    /// # Errors
    /// As [`try_read`](Self::try_read).
    pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io.registration().try_io(Interest::READABLE, || {
            let chunk = buf.chunk_mut();
            // SAFETY: `receive` writes nothing but what it has received, so no byte that was
            // initialized is so no more.
            let place = unsafe { chunk.as_uninit_slice_mut() };
            let count = self.receive(place)?;
            // SAFETY: so many bytes were written to the front of the chunk.
            unsafe { buf.advance_mut(count) };
            Ok(count)
        })
    }

    fn receive(&self, place: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        self.io.try_io(|| {
            let (received, _) = rustix::io::read(&*self.io, place)?;
            Ok(received.len())
        })
    }
}

impl AsyncRead for Receiver {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = ready!(self.io.registration().poll_io(cx, Direction::Read, || {
            // SAFETY: `receive` writes nothing but what it has received.
            let place = unsafe { buf.unfilled_mut() };
            self.receive(place)
        }))?;
        // SAFETY: so many bytes were written to the front of the unfilled part.
        unsafe { buf.assume_init(count) };
        buf.advance(count);
        Poll::Ready(Ok(()))
    }
}
