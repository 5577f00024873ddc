//! Copying between two streams, in both directions.

use super::DEFAULT_BYTES;
use super::transfer::Transfer;
use crate::io::{AsyncRead, AsyncWrite};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Copies in both directions between `a` and `b`, and returns how many bytes went from `a` to `b`
/// and from `b` to `a`.
///
/// When one of them is at its end, the other one is shut down for writing, and the other direction
/// goes on. It is done when both directions are.
///
/// # Errors
/// The first of either stream, unless it is `Interrupted`: such a call is made again. Both
/// directions end with it.
///
/// # Cancellation safety
/// None: what was read and not written is lost.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::io::Result<()> {
/// use trefoil::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional, duplex};
///
/// let (mut client, mut near) = duplex(16);
/// let (mut far, mut server) = duplex(16);
/// let proxy = trefoil::spawn(async move { copy_bidirectional(&mut near, &mut far).await });
///
/// client.write_all(b"ping").await?;
/// client.shutdown().await?;
/// let mut request = String::new();
/// server.read_to_string(&mut request).await?;
/// server.write_all(b"pong!").await?;
/// server.shutdown().await?;
/// assert_eq!(request, "ping");
/// assert_eq!(proxy.await.unwrap()?, (4, 5));
/// # Ok(())
/// # }
/// ```
pub async fn copy_bidirectional<A, B>(a: &mut A, b: &mut B) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    copy_bidirectional_with_sizes(a, b, DEFAULT_BYTES, DEFAULT_BYTES).await
}

/// As [`copy_bidirectional`], with buffers of those sizes.
///
/// # Errors
/// As `copy_bidirectional`.
///
/// # Panics
/// If a size is zero: such a buffer could pass nothing on.
///
/// # Cancellation safety
/// As `copy_bidirectional`.
pub async fn copy_bidirectional_with_sizes<A, B>(
    a: &mut A,
    b: &mut B,
    a_to_b_buf_size: usize,
    b_to_a_buf_size: usize,
) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    assert!(a_to_b_buf_size > 0, "`a_to_b_buf_size` must be greater than 0");
    assert!(b_to_a_buf_size > 0, "`b_to_a_buf_size` must be greater than 0");
    let mut there = Direction::Copying(Transfer::new(a_to_b_buf_size));
    let mut back = Direction::Copying(Transfer::new(b_to_a_buf_size));
    let mut back_is_first = false;
    poll_fn(|cx| {
        // Both are polled, so that neither waits for the other. They share the budget, which one
        // that is always ready spends: so each is the first in every other poll.
        let (there, back) = if back_is_first {
            let back = back.poll(cx, &mut *b, &mut *a)?;
            (there.poll(cx, &mut *a, &mut *b)?, back)
        } else {
            (there.poll(cx, &mut *a, &mut *b)?, back.poll(cx, &mut *b, &mut *a)?)
        };
        back_is_first = !back_is_first;
        Poll::Ready(Ok((ready!(there), ready!(back))))
    })
    .await
}

enum Direction {
    Copying(Transfer),
    /// With the number of bytes that were copied.
    ShuttingDown(u64),
    Done(u64),
}

impl Direction {
    fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut R,
        writer: &mut W,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + Unpin + ?Sized,
        W: AsyncWrite + Unpin + ?Sized,
    {
        if let Self::Copying(transfer) = self {
            let copied = ready!(transfer.poll(cx, Pin::new(reader), Pin::new(writer)))?;
            *self = Self::ShuttingDown(copied);
        }
        if let Self::ShuttingDown(copied) = *self {
            ready!(Pin::new(writer).poll_shutdown(cx))?;
            *self = Self::Done(copied);
        }
        match *self {
            Self::Done(copied) => Poll::Ready(Ok(copied)),
            _ => unreachable!("both earlier states lead to the last"),
        }
    }
}
