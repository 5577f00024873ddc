//! `split`: one stream for two tasks, of which one reads and the other one writes.

use crate::io::{AsyncRead, AsyncWrite, ReadBuf};
use crate::primitives::Mutex;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

#[cfg(all(test, loom))]
mod loom_tests;

/// Divides a stream into a half that reads and a half that writes.
///
/// The halves share the stream by a lock, which is held for one poll at a time. Foreign
/// code runs under it: that of the stream, and wakers that this calls. A stream whose `poll_`
/// functions polled the other half would wait for itself, and so would a waker that does.
///
/// Dropping a half closes nothing: to end the direction of writing, call
/// [`shutdown`](crate::io::AsyncWriteExt::shutdown).
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::io::Result<()> {
/// use trefoil::io::{self, AsyncReadExt, AsyncWriteExt};
///
/// let (near, mut far) = io::duplex(16);
/// let (mut reader, mut writer) = io::split(near);
/// let reading = trefoil::spawn(async move { reader.read_u8().await.map(|byte| (byte, reader)) });
/// writer.write_u8(1).await?;
/// let answer = far.read_u8().await? + 1;
/// far.write_u8(answer).await?;
/// let (byte, reader) = reading.await.unwrap()?;
/// assert_eq!(byte, 2);
/// drop(reader.unsplit(writer));
/// # Ok(())
/// # }
/// ```
pub fn split<T: AsyncRead + AsyncWrite>(stream: T) -> (ReadHalf<T>, WriteHalf<T>) {
    let is_write_vectored = stream.is_write_vectored();
    let shared = Arc::new(Shared { stream: Mutex::new(stream), is_write_vectored });
    (ReadHalf { shared: Arc::clone(&shared) }, WriteHalf { shared })
}

/// The half of a stream that reads: see [`split`].
pub struct ReadHalf<T> {
    shared: Arc<Shared<T>>,
}

/// The half of a stream that writes: see [`split`].
pub struct WriteHalf<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    /// Structurally pinned: nothing moves it while there are two halves, and `unsplit` asks for
    /// `Unpin`.
    stream: Mutex<T>,
    /// Does not change, as the trait's users rely on that, so it is asked for without the lock.
    is_write_vectored: bool,
}

impl<T> Shared<T> {
    fn with<R>(&self, f: impl FnOnce(Pin<&mut T>) -> R) -> R {
        let mut stream = self.stream.lock();
        // SAFETY: the stream stays within the `Arc` until it is dropped there: there is no other
        // way to it than this one and `unsplit`, which moves it out only if it is `Unpin`.
        f(unsafe { Pin::new_unchecked(&mut *stream) })
    }
}

impl<T> ReadHalf<T> {
    /// Whether both halves are of one stream.
    pub fn is_pair_of(&self, other: &WriteHalf<T>) -> bool {
        other.is_pair_of(self)
    }

    /// Makes the stream whole again.
    ///
    /// # Panics
    /// If the halves are of different streams.
    #[track_caller]
    pub fn unsplit(self, wr: WriteHalf<T>) -> T
    where
        T: Unpin,
    {
        assert!(self.is_pair_of(&wr), "`unsplit` of the halves of two different streams");
        drop(wr);
        let shared = Arc::into_inner(self.shared).expect("a stream has two halves and no more");
        shared.stream.into_inner()
    }
}

impl<T> WriteHalf<T> {
    /// Whether both halves are of one stream.
    pub fn is_pair_of(&self, other: &ReadHalf<T>) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T: AsyncRead> AsyncRead for ReadHalf<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.shared.with(|stream| stream.poll_read(cx, buf))
    }
}

impl<T: AsyncWrite> AsyncWrite for WriteHalf<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.shared.with(|stream| stream.poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.with(|stream| stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.with(|stream| stream.poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.shared.with(|stream| stream.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.shared.is_write_vectored
    }
}

impl<T> fmt::Debug for ReadHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadHalf").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for WriteHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteHalf").finish_non_exhaustive()
    }
}
