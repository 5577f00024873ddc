//! `AsyncBufReadExt`: what one does with a reader that has a buffer.

use super::segments::{FillBuf, Lines, ReadLine, ReadUntil, Split};
use crate::io::AsyncBufRead;
use std::pin::Pin;

/// The methods of every [`AsyncBufRead`].
///
/// ```
/// use trefoil::io::{self, AsyncBufReadExt};
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> io::Result<()> {
/// let mut lines = (&b"one\r\ntwo\nthree"[..]).lines();
/// let mut found = Vec::new();
/// while let Some(line) = lines.next_line().await? {
///     found.push(line);
/// }
/// assert_eq!(found, ["one", "two", "three"]);
/// # Ok(())
/// # }
/// ```
pub trait AsyncBufReadExt: AsyncBufRead {
    /// Reads up to the delimiter `byte` and with it, or up to the end, appends that to `buf`, and
    /// returns how many bytes that were. Zero means that the end is reached.
    ///
    /// # Errors
    /// Those of the reader. What was read before is in `buf`.
    ///
    /// # Cancellation safety
    /// What was read is in `buf`, and nothing is lost: another call with the same `buf` goes on.
    fn read_until<'a>(&'a mut self, byte: u8, buf: &'a mut Vec<u8>) -> ReadUntil<'a, Self>
    where
        Self: Unpin,
    {
        ReadUntil::new(self, byte, buf)
    }

    /// Reads a line with its `\n`, or up to the end, appends that to `buf`, and returns how many
    /// bytes that were. Zero means that the end is reached.
    ///
    /// # Errors
    /// Those of the reader; what was read before is in `buf` if it is UTF-8. `InvalidData` if the
    /// line is not UTF-8; `buf` is then as it was.
    ///
    /// # Cancellation safety
    /// None: `buf` is as it was, and what was read of the line is lost. While the future exists,
    /// `buf` is empty, and it stays so if the future is forgotten. [`lines`](Self::lines) loses
    /// nothing.
    fn read_line<'a>(&'a mut self, buf: &'a mut String) -> ReadLine<'a, Self>
    where
        Self: Unpin,
    {
        ReadLine::new(self, buf)
    }

    /// The segments between delimiters, without these.
    fn split(self, byte: u8) -> Split<Self>
    where
        Self: Sized + Unpin,
    {
        Split::new(self, byte)
    }

    /// Returns what is buffered, or reads more if that is nothing. An empty slice means that the
    /// end is reached.
    ///
    /// # Errors
    /// Those of the reader.
    ///
    /// # Cancellation safety
    /// Nothing is lost: what was read stays in the reader's buffer.
    fn fill_buf(&mut self) -> FillBuf<'_, Self>
    where
        Self: Unpin,
    {
        FillBuf::new(self)
    }

    /// Takes the first `amt` bytes out of the reader's buffer. It is at most the length of what
    /// [`fill_buf`](Self::fill_buf) has returned.
    fn consume(&mut self, amt: usize)
    where
        Self: Unpin,
    {
        Pin::new(self).consume(amt);
    }

    /// The lines, without their `\n` or `\r\n`.
    fn lines(self) -> Lines<Self>
    where
        Self: Sized,
    {
        Lines::new(self)
    }
}

impl<R: AsyncBufRead + ?Sized> AsyncBufReadExt for R {}
