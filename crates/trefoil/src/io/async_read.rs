//! `AsyncRead`: bytes that come in.

use super::ReadBuf;
use std::io;
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Reads bytes, and has the task woken when there are some.
///
/// The methods for users are those of [`AsyncReadExt`](super::AsyncReadExt).
pub trait AsyncRead {
    /// Reads into the unfilled part of `buf`.
    ///
    /// - `Ready(Ok(()))`: what was read was appended to the filled part. If nothing was appended
    ///   although there was room, the end is reached (or, for some readers, nothing comes for now
    ///   that would be worth to wait for).
    /// - `Pending`: nothing was read, and the task is woken when it is worth trying again.
    /// - `Ready(Err(_))`: nothing was read.
    ///
    /// An implementation neither makes the filled part shorter nor puts another buffer into the
    /// place of `buf`. No caller in this crate relies on that for memory safety; some panic.
    ///
    /// # Errors
    /// Those of the reader.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>;
}

impl<T: AsyncRead + Unpin + ?Sized> AsyncRead for Box<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut **self).poll_read(cx, buf)
    }
}

impl<T: AsyncRead + Unpin + ?Sized> AsyncRead for &mut T {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut **self).poll_read(cx, buf)
    }
}

impl<P> AsyncRead for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncRead,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.as_deref_mut().poll_read(cx, buf)
    }
}

/// Reads once, and returns how many bytes were appended.
///
/// A reader could have put another buffer into the place of `buf`, or have made its filled part
/// shorter. Neither can be an accident, and no count would be right, so this panics.
#[inline]
pub(crate) fn poll_read_counted<R: AsyncRead + ?Sized>(
    reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<usize>> {
    let (place, before) = ((buf.filled().as_ptr(), buf.capacity()), buf.filled().len());
    let polled = reader.poll_read(cx, buf);
    assert_eq!(
        (buf.filled().as_ptr(), buf.capacity()),
        place,
        "`poll_read` has exchanged the buffer"
    );
    let read = buf.filled().len().checked_sub(before);
    let read = read.expect("`poll_read` has made the filled part shorter");
    polled.map_ok(|()| read)
}

/// As `poll_read_counted`, and again for as long as a signal has interrupted the reader.
#[inline]
pub(crate) fn poll_read_on<R: AsyncRead + ?Sized>(
    mut reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<usize>> {
    let before = buf.filled().len();
    loop {
        match poll_read_counted(reader.as_mut(), cx, buf) {
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            // What came with the interruption counts.
            polled => return polled.map_ok(|_last| buf.filled().len() - before),
        }
    }
}
