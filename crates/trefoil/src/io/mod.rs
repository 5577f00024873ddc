//! Asynchronous input and output: traits, readers and writers in memory, and the process's own.
//!
//! Names and semantics are tokio's. Sockets are in `net`, files in [`fs`](crate::fs), and adapters
//! to the traits of other crates in `compat`; a descriptor of any other kind becomes asynchronous
//! by `io::unix::AsyncFd`. (`net` and `AsyncFd` need the feature `net`.)
//!
//! [`stdin`], [`stdout`] and [`stderr`] are the process's, by the blocking pool. [`duplex`] and
//! [`simplex`] are pipes in memory; [`BufReader`] and [`BufWriter`] save calls to the system;
//! [`copy`](fn@copy) and [`copy_bidirectional`] move all that there is. [`split`] divides a stream
//! into its two directions.
//!
//! [`AsyncRead`], [`AsyncWrite`], [`AsyncSeek`] and [`AsyncBufRead`] are what types implement; the
//! methods that return futures are those of [`AsyncReadExt`], [`AsyncWriteExt`], [`AsyncSeekExt`]
//! and [`AsyncBufReadExt`].
//!
//! ```
//! use trefoil::io::{self, AsyncReadExt, AsyncWriteExt};
//!
//! # #[trefoil::main(flavor = "current_thread")]
//! # async fn main() -> io::Result<()> {
//! let mut message = Vec::new();
//! message.write_u8(5).await?;
//! message.write_all(b"hello").await?;
//!
//! let mut reader = &message[..];
//! let length = reader.read_u8().await?;
//! let mut text = String::new();
//! reader.take(length.into()).read_to_string(&mut text).await?;
//! assert_eq!(text, "hello");
//! # Ok(())
//! # }
//! ```
//!
//! # Interruptions
//!
//! What makes several calls, such as `read_exact`, `write_all` and [`copy()`], makes a call again
//! that has failed with [`ErrorKind::Interrupted`]. What makes one call, such as `read` and
//! `write`, returns that error.
//!
//! # Readers and writers that lie
//!
//! The traits are safe to implement, so an implementation may exchange the buffer that it was
//! given, or say that it has written more than there was. Callers in this crate notice that, and
//! panic. None of them counts with such a number.

mod adapters;
mod async_buf_read;
pub(crate) mod async_read;
mod async_seek;
mod async_write;
pub(crate) mod blocking;
mod buffered;
mod copy;
mod ext;
mod memory;
mod pipe;
mod read_buf;
mod stdio;
mod trivial;
#[cfg(all(feature = "net", unix))]
pub mod unix;

#[cfg(feature = "net")]
pub use crate::reactor::{Interest, Ready};
pub use adapters::{Chain, Join, ReadHalf, Take, WriteHalf, join, split};
pub use async_buf_read::AsyncBufRead;
pub use async_read::AsyncRead;
pub use async_seek::AsyncSeek;
pub use async_write::AsyncWrite;
pub use buffered::{BufReader, BufStream, BufWriter};
pub use copy::{copy, copy_bidirectional, copy_bidirectional_with_sizes, copy_buf};
pub use ext::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, Lines, Split};
pub use pipe::{DuplexStream, SimplexStream, duplex, simplex};
pub use read_buf::ReadBuf;
#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};
pub use stdio::{Stderr, Stdin, Stdout, stderr, stdin, stdout};
pub use trivial::{Empty, Repeat, Sink, empty, repeat, sink};
