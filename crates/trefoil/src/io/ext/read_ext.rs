//! `AsyncReadExt`: what one does with a reader.

use super::filling::{ReadToEnd, ReadToString};
use super::numbers::ReadNumber;
use super::reading::{Read, ReadExact, ReadInto};
use crate::io::{AsyncRead, Chain, Take};
use bytes::BufMut;

/// Adds a method for each kind of number.
macro_rules! read_numbers {
    ($($name:ident: $type:ident, $bytes:literal, $decode:ident, $order:literal;)*) => {$(
        #[doc = concat!("Reads a ", $order, "`", stringify!($type), "`.")]
        ///
        /// # Errors
        /// Those of [`read_exact`](Self::read_exact).
        ///
        /// # Cancellation safety
        /// None for a number of several bytes: the part that was read is lost.
        fn $name(&mut self) -> ReadNumber<'_, Self, $type, [u8; $bytes]>
        where
            Self: Unpin,
        {
            ReadNumber::new(self, $type::$decode)
        }
    )*};
}

/// The methods of every [`AsyncRead`].
///
/// ```
/// use trefoil::io::{self, AsyncReadExt};
///
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> io::Result<()> {
/// let mut reader = &b"\x00\x2ahello, world"[..];
/// assert_eq!(reader.read_u16().await?, 42);
/// let mut word = [0; 5];
/// reader.read_exact(&mut word).await?;
/// assert_eq!(&word, b"hello");
/// let mut rest = String::new();
/// reader.read_to_string(&mut rest).await?;
/// assert_eq!(rest, ", world");
/// # Ok(())
/// # }
/// ```
pub trait AsyncReadExt: AsyncRead {
    /// A reader of this one's bytes, and then of those of `next`.
    fn chain<R>(self, next: R) -> Chain<Self, R>
    where
        Self: Sized,
        R: AsyncRead,
    {
        Chain::new(self, next)
    }

    /// Reads some bytes into `buf`, and returns how many.
    ///
    /// Zero means that `buf` is empty, or that the end is reached.
    ///
    /// # Errors
    /// Those of the reader. Nothing was read then.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it is done, nothing was read.
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> Read<'a, Self>
    where
        Self: Unpin,
    {
        Read::new(self, buf)
    }

    /// Reads some bytes, appends them to a buffer, and returns how many.
    ///
    /// Zero means that the buffer is full, or that the end is reached. A `Vec` or a `BytesMut` is
    /// never full, and grows.
    ///
    /// # Errors
    /// Those of the reader. Nothing was read then.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it is done, nothing was read.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() -> trefoil::io::Result<()> {
    /// use trefoil::io::AsyncReadExt;
    ///
    /// let mut buf = Vec::with_capacity(16);
    /// assert_eq!((&b"some bytes"[..]).read_buf(&mut buf).await?, 10);
    /// assert_eq!(buf, b"some bytes");
    /// # Ok(())
    /// # }
    /// ```
    fn read_buf<'a, B>(&'a mut self, buf: &'a mut B) -> ReadInto<'a, Self, B>
    where
        Self: Unpin,
        B: BufMut + ?Sized,
    {
        ReadInto::new(self, buf)
    }

    /// Fills `buf`, and returns its length.
    ///
    /// # Errors
    /// `UnexpectedEof` if the end comes before `buf` is full, and the errors of the reader. What
    /// `buf` holds then, and how much was read, is not specified.
    ///
    /// # Cancellation safety
    /// None: what was read is in `buf`, but nobody knows how much that is.
    fn read_exact<'a>(&'a mut self, buf: &'a mut [u8]) -> ReadExact<'a, Self>
    where
        Self: Unpin,
    {
        ReadExact::new(self, buf)
    }

    read_numbers! {
        read_u8: u8, 1, from_be_bytes, "";
        read_i8: i8, 1, from_be_bytes, "";
        read_u16: u16, 2, from_be_bytes, "big-endian ";
        read_i16: i16, 2, from_be_bytes, "big-endian ";
        read_u32: u32, 4, from_be_bytes, "big-endian ";
        read_i32: i32, 4, from_be_bytes, "big-endian ";
        read_u64: u64, 8, from_be_bytes, "big-endian ";
        read_i64: i64, 8, from_be_bytes, "big-endian ";
        read_u128: u128, 16, from_be_bytes, "big-endian ";
        read_i128: i128, 16, from_be_bytes, "big-endian ";
        read_f32: f32, 4, from_be_bytes, "big-endian ";
        read_f64: f64, 8, from_be_bytes, "big-endian ";
        read_u16_le: u16, 2, from_le_bytes, "little-endian ";
        read_i16_le: i16, 2, from_le_bytes, "little-endian ";
        read_u32_le: u32, 4, from_le_bytes, "little-endian ";
        read_i32_le: i32, 4, from_le_bytes, "little-endian ";
        read_u64_le: u64, 8, from_le_bytes, "little-endian ";
        read_i64_le: i64, 8, from_le_bytes, "little-endian ";
        read_u128_le: u128, 16, from_le_bytes, "little-endian ";
        read_i128_le: i128, 16, from_le_bytes, "little-endian ";
        read_f32_le: f32, 4, from_le_bytes, "little-endian ";
        read_f64_le: f64, 8, from_le_bytes, "little-endian ";
    }

    /// Reads all until the end, appends it to `buf`, and returns how many bytes that were.
    ///
    /// # Errors
    /// Those of the reader. What was read before is in `buf`.
    ///
    /// # Cancellation safety
    /// What was read is in `buf`, and nothing is lost.
    fn read_to_end<'a>(&'a mut self, buf: &'a mut Vec<u8>) -> ReadToEnd<'a, Self>
    where
        Self: Unpin,
    {
        ReadToEnd::new(self, buf)
    }

    /// Reads all until the end, appends it to `buf`, and returns how many bytes that were.
    ///
    /// # Errors
    /// `InvalidData` if what was read is not UTF-8, and the errors of the reader. `buf` is then as
    /// it was, and what was read is lost.
    ///
    /// # Cancellation safety
    /// None: `buf` is as it was, and what was read is lost. While the future exists, `buf` is
    /// empty, and it stays so if the future is forgotten.
    fn read_to_string<'a>(&'a mut self, buf: &'a mut String) -> ReadToString<'a, Self>
    where
        Self: Unpin,
    {
        ReadToString::new(self, buf)
    }

    /// A reader that ends after `limit` bytes.
    fn take(self, limit: u64) -> Take<Self>
    where
        Self: Sized,
    {
        Take::new(self, limit)
    }
}

impl<R: AsyncRead + ?Sized> AsyncReadExt for R {}
