//! Readers and writers for code that knows only those of `std`.

use super::wait::wait;
use crate::io::async_read::poll_read_counted;
use crate::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use std::future::poll_fn;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;

/// Reads and writes a socket, a pipe or a file of this crate by the traits of [`std::io`], and
/// waits as [`wait`](fn@wait) does: a fiber leaves its thread to others meanwhile.
///
/// So code that was written for threads, such as a parser that reads from a `std::io::Read`, runs
/// in a fiber as it is. The type is neither an [`AsyncRead`] nor an [`AsyncWrite`], so that a call
/// never means the other one: asynchronous code uses [`get_mut`](Self::get_mut) or
/// [`into_inner`](Self::into_inner).
///
/// To read and to write from two fibers, wrap the halves of a socket: each is a reader or a writer.
///
/// # Cancellation safety
/// If the fiber is aborted while it waits in a read, nothing was read. A write has written nothing,
/// or, by a method that writes all, a part.
///
/// # Panics
/// Where `wait` does: in asynchronous code, which must not block its thread. (On a thread outside
/// of the runtime, it blocks.)
///
/// ```
/// use std::io::{BufRead, BufReader, Write};
/// use trefoil::fiber::{self, Blocking};
/// use trefoil::net::{TcpListener, TcpStream};
///
/// # #[trefoil::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let address = listener.local_addr()?;
/// let server = fiber::spawn(move || -> std::io::Result<String> {
///     let (stream, _peer) = fiber::wait(listener.accept())?;
///     let mut line = String::new();
///     BufReader::new(Blocking::new(stream)).read_line(&mut line)?;
///     Ok(line)
/// });
/// let client = fiber::spawn(move || -> std::io::Result<()> {
///     let mut stream = Blocking::new(fiber::wait(TcpStream::connect(address))?);
///     writeln!(stream, "hello")
/// });
/// client.await??;
/// assert_eq!(server.await??, "hello\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Blocking<T> {
    inner: T,
}

impl<T> Blocking<T> {
    /// Wraps a reader, a writer, or what is both.
    pub fn new(inner: T) -> Self {
        Self { inner }
    }

    /// What is wrapped.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// What is wrapped.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Unwraps it. Nothing is kept in between.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: AsyncRead + Unpin> io::Read for Blocking<T> {
    #[track_caller]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut buf = ReadBuf::new(buf);
        wait(poll_fn(|cx| poll_read_counted(Pin::new(&mut self.inner), cx, &mut buf)))
    }
}

impl<T: AsyncWrite + Unpin> Blocking<T> {
    /// Says that nothing more will be written: see
    /// [`AsyncWriteExt::shutdown`](crate::io::AsyncWriteExt::shutdown).
    ///
    /// # Errors
    /// Those of the writer.
    #[track_caller]
    pub fn shutdown(&mut self) -> io::Result<()> {
        wait(poll_fn(|cx| Pin::new(&mut self.inner).poll_shutdown(cx)))
    }
}

impl<T: AsyncWrite + Unpin> io::Write for Blocking<T> {
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        wait(poll_fn(|cx| Pin::new(&mut self.inner).poll_write(cx, buf)))
    }

    #[track_caller]
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        wait(poll_fn(|cx| Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)))
    }

    #[track_caller]
    fn flush(&mut self) -> io::Result<()> {
        wait(poll_fn(|cx| Pin::new(&mut self.inner).poll_flush(cx)))
    }
}

impl<T: AsyncSeek + Unpin> io::Seek for Blocking<T> {
    #[track_caller]
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        wait(poll_fn(|cx| Pin::new(&mut self.inner).poll_complete(cx)))?;
        Pin::new(&mut self.inner).start_seek(position)?;
        wait(poll_fn(|cx| Pin::new(&mut self.inner).poll_complete(cx)))
    }
}
