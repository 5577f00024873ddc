//! `Transfer`: one direction of copying.

use crate::io::async_read::poll_read_on;
use crate::io::async_write::poll_write_on;
use crate::io::{AsyncRead, AsyncWrite, ReadBuf};
use crate::task::coop;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What was read and not written yet.
#[derive(Debug)]
pub(super) struct Transfer {
    buf: Box<[u8]>,
    /// `buf[start..end]` waits for the writer.
    start: usize,
    end: usize,
    reader_is_over: bool,
    /// Something was written since the last flush.
    needs_flush: bool,
    copied: u64,
}

impl Transfer {
    /// A buffer of no bytes could pass none on, so there is always one.
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            buf: vec![0; bytes.max(1)].into_boxed_slice(),
            start: 0,
            end: 0,
            reader_is_over: false,
            needs_flush: false,
            copied: 0,
        }
    }

    /// Copies until the reader is at its end and the writer is flushed.
    ///
    /// Each round spends a unit of the budget, whatever the reader and the writer do: they may be
    /// always ready, and know nothing of it.
    pub(super) fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        loop {
            let unit = ready!(coop::poll_proceed(cx));
            let read = self.poll_read(cx, reader.as_mut())?;
            if read == Poll::Ready(true) {
                unit.made_progress();
            } else if read.is_pending() && self.start == self.end {
                // Nothing comes for a while. Whoever waits for what was written gets it now.
                if self.needs_flush {
                    ready!(writer.as_mut().poll_flush(cx))?;
                    unit.made_progress();
                    self.needs_flush = false;
                }
                return Poll::Pending;
            }
            while self.start < self.end {
                let waiting = &self.buf[self.start..self.end];
                let Poll::Ready(written) = poll_write_on(writer.as_mut(), cx, waiting)? else {
                    // The time is used to read ahead, if there is room. What comes of it is
                    // written when the writer wakes the task.
                    if read.is_ready() && self.poll_read(cx, reader)? == Poll::Ready(true) {
                        unit.made_progress();
                    }
                    return Poll::Pending;
                };
                unit.made_progress();
                if written == 0 {
                    let text = "write zero byte into writer";
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::WriteZero, text)));
                }
                self.start += written;
                self.copied += written as u64;
                self.needs_flush = true;
            }
            (self.start, self.end) = (0, 0);
            if self.reader_is_over {
                ready!(writer.as_mut().poll_flush(cx))?;
                unit.made_progress();
                return Poll::Ready(Ok(self.copied));
            }
        }
    }

    /// Reads behind what waits for the writer. Returns whether it has learnt anything: without
    /// room, or at the reader's end, it does not ask.
    fn poll_read<R: AsyncRead + ?Sized>(
        &mut self,
        cx: &mut Context<'_>,
        reader: Pin<&mut R>,
    ) -> Poll<io::Result<bool>> {
        if self.end == self.buf.len() || self.reader_is_over {
            return Poll::Ready(Ok(false));
        }
        let mut buf = ReadBuf::new(&mut self.buf[self.end..]);
        let read = ready!(poll_read_on(reader, cx, &mut buf))?;
        self.end += read;
        self.reader_is_over = read == 0;
        Poll::Ready(Ok(true))
    }
}
