//! `AsyncWriteExt`: what one does with a writer.

use super::numbers::WriteNumber;
use super::writing::{Flush, Shutdown, Write, WriteAll, WriteAllBuf, WriteBuf, WriteVectored};
use crate::io::AsyncWrite;
use bytes::Buf;
use std::io::IoSlice;

/// Adds a method for each kind of number.
macro_rules! write_numbers {
    ($($name:ident: $type:ident, $bytes:literal, $encode:ident, $order:literal;)*) => {$(
        #[doc = concat!("Writes a ", $order, "`", stringify!($type), "`.")]
        ///
        /// # Errors
        /// Those of [`write_all`](Self::write_all).
        ///
        /// # Cancellation safety
        /// None for a number of several bytes: a part of it may have been written.
        fn $name(&mut self, n: $type) -> WriteNumber<'_, Self, [u8; $bytes]>
        where
            Self: Unpin,
        {
            WriteNumber::new(self, n.$encode())
        }
    )*};
}

/// The methods of every [`AsyncWrite`].
///
/// ```
/// use trefoil::io::{self, AsyncWriteExt};
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> io::Result<()> {
/// let mut writer = Vec::new();
/// writer.write_u16(42).await?;
/// writer.write_all(b"hello").await?;
/// writer.flush().await?;
/// assert_eq!(writer, b"\x00\x2ahello");
/// # Ok(())
/// # }
/// ```
pub trait AsyncWriteExt: AsyncWrite {
    /// Writes some bytes of `src`, from its front, and returns how many.
    ///
    /// Zero means that `src` is empty, or that the writer takes no more.
    ///
    /// # Errors
    /// Those of the writer. Nothing was written then.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it is done, nothing was written.
    fn write<'a>(&'a mut self, src: &'a [u8]) -> Write<'a, Self>
    where
        Self: Unpin,
    {
        Write::new(self, src)
    }

    /// Writes some bytes of several buffers, in their order, and returns how many.
    ///
    /// # Errors
    /// Those of the writer. Nothing was written then.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it is done, nothing was written.
    fn write_vectored<'a, 'b>(&'a mut self, bufs: &'a [IoSlice<'b>]) -> WriteVectored<'a, 'b, Self>
    where
        Self: Unpin,
    {
        WriteVectored::new(self, bufs)
    }

    /// Writes some bytes of a buffer, takes them out of it, and returns how many.
    ///
    /// # Errors
    /// Those of the writer. Nothing was written then.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it is done, nothing was written.
    fn write_buf<'a, B>(&'a mut self, src: &'a mut B) -> WriteBuf<'a, Self, B>
    where
        Self: Sized + Unpin,
        B: Buf,
    {
        WriteBuf::new(self, src)
    }

    /// Writes all bytes of a buffer, and takes out of it what was written.
    ///
    /// # Errors
    /// `WriteZero` if the writer takes no more, and the errors of the writer. What is left in the
    /// buffer was not written.
    ///
    /// # Cancellation safety
    /// What is left in the buffer was not written, so another call goes on where this one was.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() -> trefoil::io::Result<()> {
    /// use bytes::Buf;
    /// use trefoil::io::AsyncWriteExt;
    ///
    /// let mut writer = Vec::new();
    /// let mut buf = (&b"two "[..]).chain(&b"parts"[..]);
    /// writer.write_all_buf(&mut buf).await?;
    /// assert_eq!((&writer[..], buf.remaining()), (&b"two parts"[..], 0));
    /// # Ok(())
    /// # }
    /// ```
    fn write_all_buf<'a, B>(&'a mut self, src: &'a mut B) -> WriteAllBuf<'a, Self, B>
    where
        Self: Sized + Unpin,
        B: Buf,
    {
        WriteAllBuf::new(self, src)
    }

    /// Writes all bytes of `src`.
    ///
    /// # Errors
    /// `WriteZero` if the writer takes no more, and the errors of the writer. How much was written
    /// before is not known.
    ///
    /// # Cancellation safety
    /// None: a part of `src` may have been written, and nobody knows how much. Use
    /// [`write_all_buf`](Self::write_all_buf) to know.
    fn write_all<'a>(&'a mut self, src: &'a [u8]) -> WriteAll<'a, Self>
    where
        Self: Unpin,
    {
        WriteAll::new(self, src)
    }

    write_numbers! {
        write_u8: u8, 1, to_be_bytes, "";
        write_i8: i8, 1, to_be_bytes, "";
        write_u16: u16, 2, to_be_bytes, "big-endian ";
        write_i16: i16, 2, to_be_bytes, "big-endian ";
        write_u32: u32, 4, to_be_bytes, "big-endian ";
        write_i32: i32, 4, to_be_bytes, "big-endian ";
        write_u64: u64, 8, to_be_bytes, "big-endian ";
        write_i64: i64, 8, to_be_bytes, "big-endian ";
        write_u128: u128, 16, to_be_bytes, "big-endian ";
        write_i128: i128, 16, to_be_bytes, "big-endian ";
        write_f32: f32, 4, to_be_bytes, "big-endian ";
        write_f64: f64, 8, to_be_bytes, "big-endian ";
        write_u16_le: u16, 2, to_le_bytes, "little-endian ";
        write_i16_le: i16, 2, to_le_bytes, "little-endian ";
        write_u32_le: u32, 4, to_le_bytes, "little-endian ";
        write_i32_le: i32, 4, to_le_bytes, "little-endian ";
        write_u64_le: u64, 8, to_le_bytes, "little-endian ";
        write_i64_le: i64, 8, to_le_bytes, "little-endian ";
        write_u128_le: u128, 16, to_le_bytes, "little-endian ";
        write_i128_le: i128, 16, to_le_bytes, "little-endian ";
        write_f32_le: f32, 4, to_le_bytes, "little-endian ";
        write_f64_le: f64, 8, to_le_bytes, "little-endian ";
    }

    /// Has all that was written reach its destination.
    ///
    /// # Errors
    /// Those of the writer.
    ///
    /// # Cancellation safety
    /// Nothing is lost; whether all has reached its destination is not known.
    fn flush(&mut self) -> Flush<'_, Self>
    where
        Self: Unpin,
    {
        Flush::new(self)
    }

    /// Flushes, and says that nothing more will be written. On a connection, this ends one
    /// direction of it.
    ///
    /// # Errors
    /// Those of the writer.
    ///
    /// # Cancellation safety
    /// Nothing is lost; whether the writer is shut down is not known, and another call goes on.
    fn shutdown(&mut self) -> Shutdown<'_, Self>
    where
        Self: Unpin,
    {
        Shutdown::new(self)
    }
}

impl<W: AsyncWrite + ?Sized> AsyncWriteExt for W {}
