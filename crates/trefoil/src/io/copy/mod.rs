//! Copying from readers to writers.

mod bidirectional;
mod transfer;

pub use bidirectional::{copy_bidirectional, copy_bidirectional_with_sizes};

use super::async_write::poll_write_on;
use super::buffered::DEFAULT_BYTES;
use super::{AsyncBufRead, AsyncRead, AsyncWrite};
use crate::task::coop;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};
use transfer::Transfer;

/// Copies all that comes from a reader to a writer, flushes that, and returns how many bytes it
/// were.
///
/// It reads ahead while the writer is not ready, into a buffer of 8 KiB, and flushes whenever the
/// reader has nothing to give for a while.
///
/// # Errors
/// Those of the reader and of the writer, and `WriteZero` if the writer takes no more.
///
/// # Cancellation safety
/// None: what was read and not written is lost.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::io::Result<()> {
/// let mut written = Vec::new();
/// let bytes = trefoil::io::copy(&mut &b"all of this"[..], &mut written).await?;
/// assert_eq!((bytes, &written[..]), (11, &b"all of this"[..]));
/// # Ok(())
/// # }
/// ```
pub async fn copy<'a, R, W>(reader: &'a mut R, writer: &'a mut W) -> io::Result<u64>
where
    R: AsyncRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut transfer = Transfer::new(DEFAULT_BYTES);
    poll_fn(|cx| transfer.poll(cx, Pin::new(&mut *reader), Pin::new(&mut *writer))).await
}

/// Copies all that comes from a reader with a buffer to a writer, flushes that, and returns how
/// many bytes it were. It needs no buffer of its own, and flushes whenever the reader has nothing
/// to give for a while.
///
/// # Errors
/// Those of the reader and of the writer, and `WriteZero` if the writer takes no more. What was
/// not written is still in the reader.
///
/// # Cancellation safety
/// What was not written is still in the reader; how much was written is not known.
pub async fn copy_buf<'a, R, W>(reader: &'a mut R, writer: &'a mut W) -> io::Result<u64>
where
    R: AsyncBufRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut copied = 0;
    // Something was written since the last flush.
    let mut needs_flush = false;
    poll_fn(|cx| {
        loop {
            let unit = ready!(coop::poll_proceed(cx));
            let available = match Pin::new(&mut *reader).poll_fill_buf(cx) {
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {
                    unit.made_progress();
                    continue;
                }
                Poll::Ready(available) => available?,
                Poll::Pending => {
                    // Nothing comes for a while. Whoever waits for what was written gets it now.
                    if needs_flush {
                        ready!(Pin::new(&mut *writer).poll_flush(cx))?;
                        needs_flush = false;
                    }
                    return Poll::Pending;
                }
            };
            if available.is_empty() {
                ready!(Pin::new(&mut *writer).poll_flush(cx))?;
                unit.made_progress();
                return Poll::Ready(Ok(copied));
            }
            let written = ready!(poll_write_on(Pin::new(&mut *writer), cx, available))?;
            unit.made_progress();
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            copied += written as u64;
            needs_flush = true;
            Pin::new(&mut *reader).consume(written);
        }
    })
    .await
}
