//! Readers and writers that block, driven on the blocking pool.

use super::{AsyncRead, AsyncWrite, ReadBuf};
use crate::scheduler::Handle;
use crate::scheduler::blocking::try_spawn;
use crate::task::JoinHandle;
use std::future::Future;
use std::io::{self, IoSlice, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The most that one call reads or writes, if nothing else is asked for.
pub(crate) const CALL_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Bytes on their way between a task and a thread of the pool.
///
/// The thread may outlive the future that waits for it, so it cannot read into the future's buffer.
#[derive(Debug, Default)]
pub(crate) struct Buf {
    /// Its length is the part that was ever used. It is not cleared in between.
    storage: Vec<u8>,
    /// `storage[start..end]` are the bytes.
    start: usize,
    end: usize,
}

impl Buf {
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Gives as many bytes as there are and fit.
    pub(crate) fn give(&mut self, buf: &mut ReadBuf<'_>) {
        let given = self.len().min(buf.remaining());
        buf.put_slice(&self.storage[self.start..self.start + given]);
        self.start += given;
    }

    /// Takes bytes, at most `max` and at least one if there is any, and returns how many. What was
    /// here before is forgotten.
    pub(crate) fn take_from(&mut self, bufs: &[IoSlice<'_>], max: usize) -> usize {
        self.clear();
        self.storage.clear();
        for buf in bufs {
            let room = max.max(1) - self.storage.len();
            self.storage.extend_from_slice(&buf[..buf.len().min(room)]);
        }
        self.end = self.storage.len();
        self.end
    }

    /// Reads once, at most `max` bytes. What was here before is forgotten.
    pub(crate) fn read_from(&mut self, reader: &mut impl Read, max: usize) -> io::Result<()> {
        self.clear();
        if self.storage.len() < max {
            self.storage.resize(max, 0);
        }
        loop {
            match reader.read(&mut self.storage[..max]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    assert!(read <= max, "a reader has read {read} bytes into {max}");
                    self.end = read;
                    return Ok(());
                }
            }
        }
    }

    /// Writes all, and forgets it.
    pub(crate) fn write_to(&mut self, writer: &mut impl Write) -> io::Result<()> {
        let written = writer.write_all(&self.storage[self.start..self.end]);
        self.clear();
        written
    }
}

/// A blocking reader or writer as an asynchronous one. One call at a time is under way.
///
/// A write is done when its bytes are copied, and its error comes with a later call.
#[derive(Debug)]
pub(crate) struct Blocking<T> {
    state: State<T>,
    /// Something was written since the last flush was begun.
    needs_flush: bool,
}

#[derive(Debug)]
enum State<T> {
    Idle(T, Buf),
    /// With the result of the call.
    Busy(JoinHandle<(T, Buf, io::Result<()>)>),
    /// The call has panicked, or was cancelled with its runtime, and `T` is gone.
    Lost,
}

impl<T: Send + 'static> Blocking<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { state: State::Idle(inner, Buf::default()), needs_flush: false }
    }

    /// Waits for the call that is under way, and returns its result.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            State::Idle(..) => Poll::Ready(Ok(())),
            State::Lost => {
                Poll::Ready(Err(io::Error::other("an earlier call on the blocking pool failed")))
            }
            State::Busy(call) => {
                let done = ready!(Pin::new(call).poll(cx));
                self.state = State::Lost;
                let (inner, buf, result) = done?;
                self.state = State::Idle(inner, buf);
                Poll::Ready(result)
            }
        }
    }

    /// Begins a call. The state is idle.
    ///
    /// # Errors
    /// The runtime has shut down, or its pool has no thread and the system gives none. `T` is gone
    /// then.
    fn begin(
        &mut self,
        call: impl FnOnce(&mut T, &mut Buf) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let State::Idle(mut inner, mut buf) = std::mem::replace(&mut self.state, State::Lost)
        else {
            unreachable!("a call begins when none is under way")
        };
        let call = try_spawn(&Handle::current(), move || {
            let result = call(&mut inner, &mut buf);
            (inner, buf, result)
        })?;
        self.state = State::Busy(call);
        Ok(())
    }
}

impl<T: Read + Unpin + Send + 'static> AsyncRead for Blocking<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut has_read = matches!(self.state, State::Busy(_));
        loop {
            ready!(self.poll_idle(cx))?;
            if let State::Idle(_, own) = &mut self.state
                && (has_read || !own.is_empty() || buf.remaining() == 0)
            {
                own.give(buf);
                return Poll::Ready(Ok(()));
            }
            let max = buf.remaining().min(CALL_BYTES_MAX);
            self.begin(move |inner, own| own.read_from(inner, max))?;
            has_read = true;
        }
    }
}

impl<T: Write + Unpin + Send + 'static> Blocking<T> {
    fn poll_write_some(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_idle(cx))?;
        let State::Idle(_, own) = &mut self.state else {
            unreachable!("`poll_idle` has returned no error")
        };
        let taken = own.take_from(bufs, CALL_BYTES_MAX);
        self.begin(|inner, own| own.write_to(inner))?;
        self.needs_flush = true;
        Poll::Ready(Ok(taken))
    }
}

impl<T: Write + Unpin + Send + 'static> AsyncWrite for Blocking<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_some(cx, &[IoSlice::new(buf)])
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_idle(cx))?;
            if !std::mem::take(&mut self.needs_flush) {
                return Poll::Ready(Ok(()));
            }
            self.begin(|inner, _| inner.flush())?;
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_some(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}
