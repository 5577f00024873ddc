//! tokio's traits.

use super::accessors;
use crate::io::async_read::poll_read_counted;
use crate::io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io as theirs;

pin_project! {
    /// tokio's `AsyncRead`, `AsyncWrite`, `AsyncSeek` and `AsyncBufRead` for a type that has this
    /// crate's traits, and back.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() -> trefoil::io::Result<()> {
    /// use trefoil::compat::TokioCompat;
    /// use trefoil::io::AsyncReadExt;
    ///
    /// // A type of tokio, with the methods of this crate.
    /// let (theirs, _other) = tokio::io::duplex(8);
    /// drop(_other);
    /// assert_eq!(TokioCompat::new(theirs).read(&mut [0; 8]).await?, 0);
    ///
    /// // A type of this crate, for a function that wants tokio's traits.
    /// let (ours, _other) = trefoil::io::duplex(8);
    /// tokio::io::AsyncWriteExt::write_all(&mut TokioCompat::new(ours), b"hello").await?;
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug)]
    pub struct TokioCompat<T> {
        #[pin]
        inner: T,
    }
}

accessors!(TokioCompat {});

impl<T: AsyncRead> theirs::AsyncRead for TokioCompat<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut theirs::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let known = buf.initialized().len() - buf.filled().len();
        // SAFETY: `own` makes no initialized byte uninitialized.
        let mut own = ReadBuf::uninit(unsafe { buf.unfilled_mut() });
        // SAFETY: the other buffer says that as many of its unfilled bytes are initialized.
        unsafe { own.assume_init(known) };
        let polled = poll_read_counted(self.get_pin_mut(), cx, &mut own);
        let (filled, initialized) = (own.filled().len(), own.initialized().len());
        // SAFETY: `own` is still the buffer over these bytes, and says that they are initialized.
        unsafe { buf.assume_init(initialized) };
        buf.advance(filled);
        polled.map_ok(|_| ())
    }
}

impl<T: theirs::AsyncRead> AsyncRead for TokioCompat<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let known = buf.initialized().len() - buf.filled().len();
        // SAFETY: their buffer makes no initialized byte uninitialized.
        let mut own = theirs::ReadBuf::uninit(unsafe { buf.unfilled_mut() });
        // SAFETY: this crate's buffer says that as many of its unfilled bytes are initialized.
        unsafe { own.assume_init(known) };
        let place = (own.filled().as_ptr(), own.capacity());
        let polled = self.get_pin_mut().poll_read(cx, &mut own);
        assert_eq!(
            (own.filled().as_ptr(), own.capacity()),
            place,
            "`poll_read` has exchanged the buffer"
        );
        let (filled, initialized) = (own.filled().len(), own.initialized().len());
        // SAFETY: `own` is still the buffer over these bytes, and says that they are initialized.
        unsafe { buf.assume_init(initialized) };
        buf.advance(filled);
        polled
    }
}

/// Each of these is the call of the same name, so it is written once for both directions.
macro_rules! both_ways {
    ($([$own:path as $other:path])*) => {$(
        impl<T: $own> $other for TokioCompat<T> {
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
    )*};
    ($([seek $own:path as $other:path])*) => {$(
        impl<T: $own> $other for TokioCompat<T> {
            fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
                self.get_pin_mut().start_seek(position)
            }

            fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
                self.get_pin_mut().poll_complete(cx)
            }
        }
    )*};
    ($([fill $own:path as $other:path])*) => {$(
        impl<T: $own> $other for TokioCompat<T> {
            fn poll_fill_buf(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<&[u8]>> {
                self.get_pin_mut().poll_fill_buf(cx)
            }

            fn consume(self: Pin<&mut Self>, amt: usize) {
                self.get_pin_mut().consume(amt);
            }
        }
    )*};
}

both_ways! { [AsyncWrite as theirs::AsyncWrite] [theirs::AsyncWrite as AsyncWrite] }
both_ways! { [seek AsyncSeek as theirs::AsyncSeek] [seek theirs::AsyncSeek as AsyncSeek] }
both_ways! { [fill AsyncBufRead as theirs::AsyncBufRead] [fill theirs::AsyncBufRead as AsyncBufRead] }
