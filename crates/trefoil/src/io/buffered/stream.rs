//! `BufStream`: a buffer for each direction.

use super::{BufReader, BufWriter, DEFAULT_BYTES, reader, writer};
use crate::io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// A reader and writer with a buffer for each direction.
    ///
    /// It is a [`BufReader`] and a [`BufWriter`], and all that is said of these holds: above all,
    /// what is buffered is lost unless it is flushed.
    #[derive(Debug)]
    pub struct BufStream<RW> {
        #[pin]
        inner: BufReader<BufWriter<RW>>,
    }
}

impl<RW: AsyncRead + AsyncWrite> BufStream<RW> {
    /// A stream with buffers of 8 KiB.
    pub fn new(stream: RW) -> Self {
        Self::with_capacity(DEFAULT_BYTES, DEFAULT_BYTES, stream)
    }

    /// A stream with buffers of that many bytes.
    ///
    /// # Panics
    /// If `reader_capacity` is 0.
    #[track_caller]
    pub fn with_capacity(reader_capacity: usize, writer_capacity: usize, stream: RW) -> Self {
        let writer = BufWriter::with_capacity(writer_capacity, stream);
        Self { inner: BufReader::with_capacity(reader_capacity, writer) }
    }

    /// The inner stream.
    pub fn get_ref(&self) -> &RW {
        self.inner.get_ref().get_ref()
    }

    /// The inner stream. What is read from it and written to it directly passes by the buffers.
    pub fn get_mut(&mut self) -> &mut RW {
        self.inner.get_mut().get_mut()
    }

    /// The inner stream, pinned. What is read and written directly passes by the buffers.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut RW> {
        self.project().inner.get_pin_mut().get_pin_mut()
    }

    /// The inner stream. What is buffered is lost.
    pub fn into_inner(self) -> RW {
        self.inner.into_inner().into_inner()
    }
}

impl<RW> From<BufReader<BufWriter<RW>>> for BufStream<RW> {
    fn from(inner: BufReader<BufWriter<RW>>) -> Self {
        Self { inner }
    }
}

impl<RW> From<BufWriter<BufReader<RW>>> for BufStream<RW> {
    /// Both buffers stay what they are; only which one is the outer one changes.
    fn from(outer: BufWriter<BufReader<RW>>) -> Self {
        let BufWriter { inner: reader, buf: write_buf, written, seek: write_seek } = outer;
        let BufReader { inner: stream, buf, start, end, seek } = reader;
        // Each of the two may have a seek that was not waited for. The outer one would have been
        // the first to do its own.
        let (write_seek, seek) = match (write_seek, seek) {
            (writer::Seek::Asked(position), _) => {
                (writer::Seek::None, reader::Seek::Asked(position))
            }
            (_, seek) => (writer::Seek::None, seek),
        };
        let inner = BufWriter { inner: stream, buf: write_buf, written, seek: write_seek };
        Self { inner: BufReader { inner, buf, start, end, seek } }
    }
}

impl<RW: AsyncRead + AsyncWrite> AsyncWrite for BufStream<RW> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

impl<RW: AsyncRead + AsyncWrite> AsyncRead for BufStream<RW> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.project().inner.poll_read(cx, buf)
    }
}

impl<RW: AsyncRead + AsyncWrite> AsyncBufRead for BufStream<RW> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().inner.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().inner.consume(amt);
    }
}

/// A seek writes what is buffered, and forgets what was read ahead.
impl<RW: AsyncRead + AsyncWrite + AsyncSeek> AsyncSeek for BufStream<RW> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.project().inner.start_seek(position)
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.project().inner.poll_complete(cx)
    }
}
