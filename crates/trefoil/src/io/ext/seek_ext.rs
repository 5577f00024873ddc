//! `AsyncSeekExt`: what one does with a position.

use crate::io::AsyncSeek;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io::{self, SeekFrom};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The methods of every [`AsyncSeek`].
///
/// ```
/// use std::io::{Cursor, SeekFrom};
/// use trefoil::io::{AsyncReadExt, AsyncSeekExt};
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::io::Result<()> {
/// let mut cursor = Cursor::new(b"abcdef");
/// assert_eq!(cursor.seek(SeekFrom::End(-2)).await?, 4);
/// assert_eq!(cursor.read_u8().await?, b'e');
/// assert_eq!(cursor.stream_position().await?, 5);
/// # Ok(())
/// # }
/// ```
pub trait AsyncSeekExt: AsyncSeek {
    /// Moves the position, and returns the new one, counted from the beginning. A seek that is
    /// under way is waited for first.
    ///
    /// # Errors
    /// Those of the implementation, such as for a position before the beginning.
    ///
    /// # Cancellation safety
    /// The position may have been moved or not.
    fn seek(&mut self, pos: SeekFrom) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        Seek { seek: self, position: Some(pos), _pinned: PhantomPinned }
    }

    /// Moves the position to the beginning.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    ///
    /// # Cancellation safety
    /// As `seek`.
    fn rewind(&mut self) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Start(0))
    }

    /// The position, counted from the beginning.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    ///
    /// # Cancellation safety
    /// The position is not changed.
    fn stream_position(&mut self) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Current(0))
    }
}

impl<S: AsyncSeek + ?Sized> AsyncSeekExt for S {}

pin_project! {
    /// The future of `AsyncSeekExt::seek`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Seek<'a, S: ?Sized> {
        seek: &'a mut S,
        // `None` once the seek was begun.
        position: Option<SeekFrom>,
        #[pin]
        _pinned: PhantomPinned,
    }
}

impl<S: AsyncSeek + Unpin + ?Sized> Future for Seek<'_, S> {
    type Output = io::Result<u64>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let this = self.project();
        if let Some(position) = *this.position {
            ready!(Pin::new(&mut **this.seek).poll_complete(cx))?;
            Pin::new(&mut **this.seek).start_seek(position)?;
            *this.position = None;
        }
        Pin::new(&mut **this.seek).poll_complete(cx)
    }
}
