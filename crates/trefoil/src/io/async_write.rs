//! `AsyncWrite`: bytes that go out.

use std::io::{self, IoSlice};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Writes bytes, and has the task woken when there is room for more.
///
/// The methods for users are those of [`AsyncWriteExt`](super::AsyncWriteExt).
pub trait AsyncWrite {
    /// Writes some bytes of `buf`, from its front, and returns how many.
    ///
    /// Zero of a `buf` that is not empty means that the writer takes no more. After `Pending`, none
    /// was written, and the task is woken when it is worth trying again.
    ///
    /// # Errors
    /// Those of the writer. Nothing was written then.
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>>;

    /// Has all that was written reach its destination.
    ///
    /// # Errors
    /// Those of the writer.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Says that nothing more will be written: flushes, and ends this direction of the connection.
    ///
    /// Afterwards, the writer may be dropped, and nothing is lost by that. A writer that has
    /// nothing to end only flushes.
    ///
    /// # Errors
    /// Those of the writer.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Writes some bytes of several buffers, in their order, and returns how many.
    ///
    /// A writer that does not override this gets the first buffer that is not empty.
    ///
    /// # Errors
    /// As [`poll_write`](Self::poll_write).
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter().find(|buf| !buf.is_empty());
        self.poll_write(cx, first.map_or(&[], |buf| &**buf))
    }

    /// Whether [`poll_write_vectored`](Self::poll_write_vectored) takes more than one buffer. If
    /// not, it is better to copy small buffers together.
    fn is_write_vectored(&self) -> bool {
        false
    }
}

/// The methods of a writer that points to another one, which `$target` reaches from `$this`.
macro_rules! forward {
    ($this:ident => $target:expr) => {
        fn poll_write(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            let $this = self;
            $target.poll_write(cx, buf)
        }

        fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let $this = self;
            $target.poll_flush(cx)
        }

        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let $this = self;
            $target.poll_shutdown(cx)
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bufs: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let $this = self;
            $target.poll_write_vectored(cx, bufs)
        }

        fn is_write_vectored(&self) -> bool {
            (**self).is_write_vectored()
        }
    };
}

impl<T: AsyncWrite + Unpin + ?Sized> AsyncWrite for Box<T> {
    forward!(this => Pin::new(&mut **this.get_mut()));
}

impl<T: AsyncWrite + Unpin + ?Sized> AsyncWrite for &mut T {
    forward!(this => Pin::new(&mut **this.get_mut()));
}

impl<P> AsyncWrite for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncWrite,
{
    forward!(this => this.as_deref_mut());
}

/// Writes once. A writer that claims to have written more than it was given is told from an honest
/// one here, so that nobody counts with what it says.
///
/// # Errors
/// Those of the writer.
///
/// # Panics
/// If the writer lies.
#[inline]
pub(crate) fn poll_write_counted<W: AsyncWrite + ?Sized>(
    writer: Pin<&mut W>,
    cx: &mut Context<'_>,
    buf: &[u8],
) -> Poll<io::Result<usize>> {
    writer.poll_write(cx, buf).map_ok(|written| {
        assert!(written <= buf.len(), "`poll_write` has written {written} of {} bytes", buf.len());
        written
    })
}

/// As `poll_write_counted`, and again for as long as a signal has interrupted the writer.
#[inline]
pub(crate) fn poll_write_on<W: AsyncWrite + ?Sized>(
    mut writer: Pin<&mut W>,
    cx: &mut Context<'_>,
    buf: &[u8],
) -> Poll<io::Result<usize>> {
    loop {
        match poll_write_counted(writer.as_mut(), cx, buf) {
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            polled => return polled,
        }
    }
}
