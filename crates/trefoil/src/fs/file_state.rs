//! What a file is doing: one call on the blocking pool at a time, and the bytes of it.

use crate::io::ReadBuf;
use crate::io::blocking::Buf;
use crate::task::{JoinHandle, spawn_blocking};
use std::fs::File as StdFile;
use std::future::Future;
use std::io::{self, IoSlice, Seek, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The state of a file, between calls and during one.
///
/// The system's position may be ahead of the file's, by what a read has left in the buffer. A call
/// that depends on the position first goes back by that.
#[derive(Debug)]
pub(super) struct FileState {
    call: Call,
    /// Of a write whose future was done before. It comes with the next write or flush.
    write_error: Option<io::Error>,
    /// That of the last seek.
    position: u64,
}

#[derive(Debug)]
enum Call {
    Idle(Buf),
    Busy(JoinHandle<Done>),
}

/// A call that is over.
#[derive(Debug)]
struct Done {
    buf: Buf,
    result: CallResult,
}

#[derive(Debug)]
pub(super) enum CallResult {
    Read(io::Result<()>),
    Write(io::Result<()>),
    Seek(io::Result<u64>),
    Other(io::Result<()>),
}

impl FileState {
    pub(super) fn new() -> Self {
        Self { call: Call::Idle(Buf::default()), write_error: None, position: 0 }
    }

    /// Waits for the call that is under way, and returns its result, or `None` if there is none.
    ///
    /// # Errors
    /// The call was cancelled with its runtime. What the file had read ahead is lost.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<CallResult>>> {
        let Call::Busy(call) = &mut self.call else { return Poll::Ready(Ok(None)) };
        let done = ready!(Pin::new(call).poll(cx));
        self.call = Call::Idle(Buf::default());
        let Done { buf, result } = done?;
        self.call = Call::Idle(buf);
        if let CallResult::Seek(Ok(position)) = result {
            self.position = position;
        }
        Poll::Ready(Ok(Some(result)))
    }

    /// The bytes that were read and not given out yet. The state is idle.
    fn buf(&mut self) -> &mut Buf {
        match &mut self.call {
            Call::Idle(buf) => buf,
            Call::Busy(_) => unreachable!("the call was waited for"),
        }
    }

    /// Begins a call. The state is idle.
    fn begin(&mut self, call: impl FnOnce(&mut Buf) -> CallResult + Send + 'static) {
        let mut buf = std::mem::take(self.buf());
        self.call = Call::Busy(spawn_blocking(move || {
            let result = call(&mut buf);
            Done { buf, result }
        }));
    }

    pub(super) fn poll_read(
        &mut self,
        std: &Arc<StdFile>,
        max: usize,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            match ready!(self.poll_idle(cx))? {
                Some(CallResult::Read(Ok(()))) => {
                    self.buf().give(buf);
                    return Poll::Ready(Ok(()));
                }
                Some(CallResult::Read(Err(error))) => return Poll::Ready(Err(error)),
                Some(CallResult::Write(Err(error))) => self.write_error = Some(error),
                _ => {}
            }
            let own = self.buf();
            if !own.is_empty() || buf.remaining() == 0 {
                own.give(buf);
                return Poll::Ready(Ok(()));
            }
            let (std, max) = (Arc::clone(std), max.max(1).min(buf.remaining()));
            self.begin(move |own| CallResult::Read(own.read_from(&mut &*std, max)));
        }
    }

    /// Copies bytes, begins to write them, and returns how many.
    pub(super) fn poll_write(
        &mut self,
        std: &Arc<StdFile>,
        max: usize,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(error) = self.write_error.take() {
            return Poll::Ready(Err(error));
        }
        if let Some(CallResult::Write(Err(error))) = ready!(self.poll_idle(cx))? {
            return Poll::Ready(Err(error));
        }
        let own = self.buf();
        let ahead = if own.is_empty() { Buf::default() } else { std::mem::take(own) };
        let taken = own.take_from(bufs, max);
        let buf = std::mem::take(own);
        let mut write = Write { std: Arc::clone(std), buf, ahead, is_due: true };
        self.call = Call::Busy(spawn_blocking(move || {
            let result = CallResult::Write(write.run());
            // What was to be written is never read, also if none of it was written.
            let is_ahead = !write.ahead.is_empty();
            let buf = std::mem::take(if is_ahead { &mut write.ahead } else { &mut write.buf });
            Done { buf, result }
        }));
        Poll::Ready(Ok(taken))
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(error) = self.write_error.take() {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(match ready!(self.poll_idle(cx))? {
            Some(CallResult::Write(result)) => result,
            _ => Ok(()),
        })
    }

    /// Waits for the call that is under way. If it has failed to write, the next write or flush
    /// says so.
    pub(super) fn poll_settle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // An error that is kept already says nothing about the call that is under way.
        match ready!(self.poll_idle(cx)) {
            Ok(Some(CallResult::Write(Err(error)))) | Err(error) => {
                self.write_error.get_or_insert(error);
            }
            Ok(_) => {}
        }
        Poll::Ready(())
    }

    /// Makes the system's position the file's, if the file has one. The state is settled. This
    /// moves a number of the system's, and does not wait.
    pub(super) fn give_back(&mut self, std: &StdFile) {
        // A terminal, a pipe or a socket has none; nobody else can have what was read from it.
        let _ = give_back(std, self.buf());
    }

    /// # Errors
    /// Another call is under way.
    pub(super) fn start_seek(&mut self, std: &Arc<StdFile>, position: SeekFrom) -> io::Result<()> {
        if let Call::Busy(_) = self.call {
            return Err(io::Error::other(
                "another operation of the file is under way: call `poll_complete` before \
                 `start_seek`",
            ));
        }
        let std = Arc::clone(std);
        self.begin(move |own| {
            // What was read ahead is the file's until the system's position has moved: a seek that
            // fails leaves both.
            CallResult::Seek(match position {
                SeekFrom::Current(_) => give_back(&std, own).and_then(|()| (&*std).seek(position)),
                _ => (&*std).seek(position).inspect(|_| *own = Buf::default()),
            })
        });
        Ok(())
    }

    pub(super) fn poll_seek(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        match ready!(self.poll_idle(cx))? {
            Some(CallResult::Seek(result)) => return Poll::Ready(result),
            Some(CallResult::Write(Err(error))) => self.write_error = Some(error),
            _ => {}
        }
        Poll::Ready(Ok(self.position))
    }

    /// Begins a call that neither reads nor writes. The state is settled. With `is_exact`, the
    /// system's position is first made the file's.
    pub(super) fn begin_other(
        &mut self,
        std: &Arc<StdFile>,
        is_exact: bool,
        call: impl FnOnce(&StdFile) -> io::Result<()> + Send + 'static,
    ) {
        let std = Arc::clone(std);
        self.begin(move |own| {
            let moved = if is_exact { give_back(&std, own) } else { Ok(()) };
            CallResult::Other(moved.and_then(|()| call(&std)))
        });
    }

    /// Waits for such a call.
    pub(super) fn poll_other(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match ready!(self.poll_idle(cx))? {
            Some(CallResult::Other(result)) => result,
            other => unreachable!("only `begin_other` comes before: {other:?}"),
        })
    }
}

/// Moves the position back by what was read ahead, and forgets that: it will be read again.
///
/// # Errors
/// Those of the system. What was read ahead is still there then.
fn give_back(mut std: &StdFile, ahead: &mut Buf) -> io::Result<()> {
    if !ahead.is_empty() {
        // A buffer has less than `isize::MAX` bytes.
        std.seek(SeekFrom::Current(-(ahead.len() as i64)))?;
        *ahead = Buf::default();
    }
    Ok(())
}

/// Bytes whose writer was told that they are written.
struct Write {
    std: Arc<StdFile>,
    buf: Buf,
    /// What was read ahead. A file that has no position keeps it for the next read.
    ahead: Buf,
    is_due: bool,
}

impl Write {
    fn run(&mut self) -> io::Result<()> {
        self.is_due = false;
        match give_back(&self.std, &mut self.ahead) {
            // A terminal, a pipe, a socket: its reads and its writes know nothing of each other.
            Err(error) if error.kind() == io::ErrorKind::NotSeekable => {}
            moved => moved?,
        }
        self.buf.write_to(&mut &*self.std)
    }
}

impl Drop for Write {
    /// A runtime that ends cancels calls for which the system has no thread. This one was promised,
    /// so the thread that cancels it makes it.
    fn drop(&mut self) {
        if self.is_due {
            // Nobody is left to hear of an error.
            let _ = self.run();
        }
    }
}
