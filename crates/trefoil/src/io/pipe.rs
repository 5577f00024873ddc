//! Pipes in memory: `duplex` and `simplex`.

use super::adapters::{ReadHalf, WriteHalf, split};
use super::{AsyncRead, AsyncWrite, ReadBuf};
use crate::primitives::Mutex;
use crate::task::{coop, wake_guarded};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

#[cfg(all(test, loom))]
mod loom_tests;

/// One direction: bytes on their way from a writer to a reader.
///
/// There is at most one reader and one writer at a time, so each has one place for its waker.
struct Pipe {
    state: Mutex<State>,
}

struct State {
    bytes: VecDeque<u8>,
    bytes_max: usize,
    /// No more is written: one of the two is gone, or the writer has said so.
    is_closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Which side of a pipe waits.
#[derive(Clone, Copy)]
enum Side {
    Reader,
    Writer,
}

impl State {
    fn waker_of(&mut self, side: Side) -> &mut Option<Waker> {
        match side {
            Side::Reader => &mut self.reader,
            Side::Writer => &mut self.writer,
        }
    }

    /// Moves as much as there is and fits.
    fn read(&mut self, buf: &mut ReadBuf<'_>) {
        let (front, back) = self.bytes.as_slices();
        let from_front = front.len().min(buf.remaining());
        buf.put_slice(&front[..from_front]);
        let from_back = back.len().min(buf.remaining());
        buf.put_slice(&back[..from_back]);
        self.bytes.drain(..from_front + from_back);
    }

    /// Takes as much as there is room for, and returns how much that was.
    fn write(&mut self, bufs: &[IoSlice<'_>]) -> usize {
        let before = self.bytes.len();
        for buf in bufs {
            let room = self.bytes_max - self.bytes.len();
            self.bytes.extend(&buf[..buf.len().min(room)]);
        }
        self.bytes.len() - before
    }
}

impl Pipe {
    fn new(bytes_max: usize) -> Self {
        let bytes = VecDeque::new();
        let state = State { bytes, bytes_max, is_closed: false, reader: None, writer: None };
        Self { state: Mutex::new(state) }
    }

    /// Waits until `step` returns a result, and wakes the other side if that has moved bytes.
    ///
    /// All of the lock's sections are here and in `close`. Only bytes are moved under it: wakers
    /// are cloned, dropped and woken outside.
    fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        side: Side,
        mut step: impl FnMut(&mut State) -> Option<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let unit = ready!(coop::poll_proceed(cx));
        let mut fresh = None;
        loop {
            let mut state = self.state.lock();
            let before = state.bytes.len();
            if let Some(result) = step(&mut state) {
                let other = match side {
                    Side::Reader => Side::Writer,
                    Side::Writer => Side::Reader,
                };
                let has_moved = state.bytes.len() != before;
                let waker = if has_moved { state.waker_of(other).take() } else { None };
                drop(state);
                unit.made_progress();
                waker.into_iter().for_each(wake_guarded);
                return Poll::Ready(result);
            }
            let place = state.waker_of(side);
            if place.as_ref().is_some_and(|kept| kept.will_wake(cx.waker())) {
                return Poll::Pending;
            }
            if let Some(fresh) = fresh.take() {
                let old = place.replace(fresh);
                drop(state);
                drop(old);
                return Poll::Pending;
            }
            drop(state);
            fresh = Some(cx.waker().clone());
        }
    }

    fn poll_read(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        self.poll(cx, Side::Reader, |state| {
            state.read(buf);
            // Whoever asks for nothing has it at once.
            let is_done = buf.filled().len() > before || buf.remaining() == 0 || state.is_closed;
            is_done.then_some(Ok(()))
        })
    }

    fn poll_write(&self, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.poll(cx, Side::Writer, |state| {
            if state.is_closed {
                return Some(Err(io::ErrorKind::BrokenPipe.into()));
            }
            let written = state.write(bufs);
            (written > 0 || bufs.iter().all(|buf| buf.is_empty())).then_some(Ok(written))
        })
    }

    /// The reader gets what is left, and then the end; the writer an error.
    fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let wakers = [state.reader.take(), state.writer.take()];
        drop(state);
        wakers.into_iter().flatten().for_each(wake_guarded);
    }

    fn fmt(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        let (waiting, closed) = (state.bytes.len(), state.is_closed);
        drop(state);
        f.debug_struct(name).field("bytes", &waiting).field("is_closed", &closed).finish()
    }
}

/// Makes two ends of a pipe in memory. What is written to one is read from the other.
///
/// At most `max_buf_size` bytes are on their way in each direction; a writer waits for room. Memory
/// is allocated for what is on its way only.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::io::Result<()> {
/// use trefoil::io::{AsyncReadExt, AsyncWriteExt};
///
/// let (mut client, mut server) = trefoil::io::duplex(64);
/// client.write_all(b"ping").await?;
/// let mut word = [0; 4];
/// server.read_exact(&mut word).await?;
/// assert_eq!(&word, b"ping");
/// drop(client);
/// assert_eq!(server.read(&mut word).await?, 0);
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// If `max_buf_size` is 0: nothing could be written.
#[track_caller]
pub fn duplex(max_buf_size: usize) -> (DuplexStream, DuplexStream) {
    assert!(max_buf_size > 0, "`max_buf_size` must be greater than 0");
    let [one, two] = [0; 2].map(|_| Arc::new(Pipe::new(max_buf_size)));
    let near = DuplexStream { incoming: Arc::clone(&one), outgoing: Arc::clone(&two) };
    (near, DuplexStream { incoming: two, outgoing: one })
}

/// An end of a pipe in memory: see [`duplex`].
///
/// When it is dropped, or shut down, the other end reads what is left, and then the end. When it is
/// dropped, the other end also gets `BrokenPipe` from its writes, from those that wait as well.
pub struct DuplexStream {
    incoming: Arc<Pipe>,
    outgoing: Arc<Pipe>,
}

impl Drop for DuplexStream {
    fn drop(&mut self) {
        self.outgoing.close();
        self.incoming.close();
    }
}

impl fmt::Debug for DuplexStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DuplexStream")
            .field("incoming", &self.incoming)
            .field("outgoing", &self.outgoing)
            .finish()
    }
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt("Pipe", f)
    }
}

/// Makes the two ends of a pipe in memory with one direction.
///
/// At most `max_buf_size` bytes are on their way; the writer waits for room. Dropping an end closes
/// nothing, as with every [`split`]: to end the stream, shut the writer down.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> trefoil::io::Result<()> {
/// use trefoil::io::{AsyncReadExt, AsyncWriteExt};
///
/// let (mut receiver, mut sender) = trefoil::io::simplex(64);
/// sender.write_all(b"one way").await?;
/// sender.shutdown().await?;
/// let mut all = String::new();
/// receiver.read_to_string(&mut all).await?;
/// assert_eq!(all, "one way");
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// If `max_buf_size` is 0: nothing could be written.
#[track_caller]
pub fn simplex(max_buf_size: usize) -> (ReadHalf<SimplexStream>, WriteHalf<SimplexStream>) {
    split(SimplexStream::new_unsplit(max_buf_size))
}

/// A pipe in memory with one direction: see [`simplex`].
pub struct SimplexStream {
    pipe: Pipe,
}

impl SimplexStream {
    /// A pipe as one value, which reads what was written to it.
    ///
    /// # Panics
    /// If `max_buf_size` is 0.
    #[track_caller]
    pub fn new_unsplit(max_buf_size: usize) -> Self {
        assert!(max_buf_size > 0, "`max_buf_size` must be greater than 0");
        Self { pipe: Pipe::new(max_buf_size) }
    }
}

impl fmt::Debug for SimplexStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pipe.fmt("SimplexStream", f)
    }
}

macro_rules! by_pipes {
    ($type:ty, $incoming:ident, $outgoing:ident) => {
        impl AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.$incoming.poll_read(cx, buf)
            }
        }

        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.$outgoing.poll_write(cx, &[IoSlice::new(buf)])
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.$outgoing.close();
                Poll::Ready(Ok(()))
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.$outgoing.poll_write(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }
        }
    };
}

by_pipes!(DuplexStream, incoming, outgoing);
by_pipes!(SimplexStream, pipe, pipe);
