//! `empty`, `repeat` and `sink`: readers and writers that are always ready. Each call spends a unit
//! of the budget, because nothing else would ever let another task run.

use super::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use crate::task::coop;
use bytes::BufMut;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Spends a unit of the budget.
fn poll_turn(cx: &mut Context<'_>) -> Poll<()> {
    ready!(coop::poll_proceed(cx)).made_progress();
    Poll::Ready(())
}

/// A reader that is at its end, and a writer that takes all: see [`empty`].
#[derive(Debug)]
pub struct Empty {
    _private: (),
}

/// A reader that is at its end, and a writer that forgets what it is given.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::io::Result<()> {
/// use trefoil::io::{self, AsyncReadExt, AsyncWriteExt};
///
/// let mut empty = io::empty();
/// assert_eq!(empty.read(&mut [0; 8]).await?, 0);
/// empty.write_all(b"gone").await?;
/// # Ok(())
/// # }
/// ```
pub fn empty() -> Empty {
    Empty { _private: () }
}

impl AsyncRead for Empty {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        poll_turn(cx).map(Ok)
    }
}

impl AsyncBufRead for Empty {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        poll_turn(cx).map(|()| Ok(&[][..]))
    }

    fn consume(self: Pin<&mut Self>, _: usize) {}
}

impl AsyncSeek for Empty {
    fn start_seek(self: Pin<&mut Self>, _: SeekFrom) -> io::Result<()> {
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        poll_turn(cx).map(|()| Ok(0))
    }
}

/// A writer that forgets what it is given: see [`sink`].
#[derive(Debug)]
pub struct Sink {
    _private: (),
}

/// A writer that forgets what it is given.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::io::Result<()> {
/// use trefoil::io::{self, AsyncWriteExt};
///
/// assert_eq!(io::sink().write(b"gone").await?, 4);
/// # Ok(())
/// # }
/// ```
pub fn sink() -> Sink {
    Sink { _private: () }
}

macro_rules! forgets {
    ($type:ty) => {
        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                poll_turn(cx).map(|()| Ok(buf.len()))
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                poll_turn(cx).map(Ok)
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                poll_turn(cx).map(Ok)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                poll_turn(cx).map(|()| Ok(length_of(bufs)))
            }

            fn is_write_vectored(&self) -> bool {
                true
            }
        }
    };
}

forgets!(Empty);
forgets!(Sink);

/// The length of all buffers together. It saturates, because one slice may stand there many times.
pub(super) fn length_of(bufs: &[IoSlice<'_>]) -> usize {
    bufs.iter().fold(0, |sum: usize, buf| sum.saturating_add(buf.len()))
}

/// A reader that never ends: see [`repeat`].
#[derive(Debug)]
pub struct Repeat {
    byte: u8,
}

/// A reader that returns one byte again and again.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::io::Result<()> {
/// use trefoil::io::{self, AsyncReadExt};
///
/// let mut threes = [0; 3];
/// io::repeat(3).read_exact(&mut threes).await?;
/// assert_eq!(threes, [3, 3, 3]);
/// # Ok(())
/// # }
/// ```
pub fn repeat(byte: u8) -> Repeat {
    Repeat { byte }
}

impl AsyncRead for Repeat {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        poll_turn(cx).map(|()| {
            buf.put_bytes(self.byte, buf.remaining());
            Ok(())
        })
    }
}
