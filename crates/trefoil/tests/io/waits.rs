//! Copies beside readers that wait, and seeks beside operations that are under way.

use std::future::Future;
use std::io::{self, Cursor, SeekFrom};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};
use trefoil::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite, AsyncWriteExt,
    BufReader, ReadBuf, copy, copy_buf, duplex,
};

/// Polls until it is done: what waits here is ready the next time, or never.
fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    for _ in 0..10_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
    panic!("it is never done");
}

/// Passes nothing on before it is flushed.
struct Kept<W> {
    kept: Vec<u8>,
    writer: W,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Kept<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.kept.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { kept, writer } = &mut *self;
        while !kept.is_empty() {
            let written = ready!(Pin::new(&mut *writer).poll_write(cx, kept))?;
            kept.drain(..written);
        }
        Pin::new(writer).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

/// The reader gets what the copy itself writes, and waits for it twice.
#[test]
fn a_copy_flushes_while_its_reader_waits() {
    for is_buffered in [true, false] {
        let (near, far) = duplex(1024);
        let mut writer = Kept { kept: Vec::new(), writer: far };
        let bytes = run(async {
            writer.write_all(&[7; 300]).await.unwrap();
            writer.flush().await.unwrap();
            let mut reader = BufReader::new(near).take(900);
            if is_buffered {
                copy_buf(&mut reader, &mut writer).await.unwrap()
            } else {
                copy(&mut reader, &mut writer).await.unwrap()
            }
        });
        assert_eq!(bytes, 900);
    }
}

/// Has an operation under way, at first.
struct Busy {
    inner: Cursor<&'static [u8]>,
    is_busy: bool,
}

impl AsyncRead for Busy {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncSeek for Busy {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        assert!(!self.is_busy, "an operation is under way");
        Pin::new(&mut self.inner).start_seek(position)
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if std::mem::take(&mut self.is_busy) {
            return Poll::Pending;
        }
        Pin::new(&mut self.inner).poll_complete(cx)
    }
}

#[test]
fn a_seek_waits_for_the_operation_before_it() {
    let inner = Busy { inner: Cursor::new(b"abcd"), is_busy: false };
    let mut reader = BufReader::with_capacity(2, inner);
    run(async {
        assert_eq!(reader.fill_buf().await.unwrap(), b"ab");
        reader.get_mut().is_busy = true;
        assert_eq!(reader.seek(SeekFrom::Current(1)).await.unwrap(), 1);
        assert_eq!(reader.fill_buf().await.unwrap(), b"bc");
    });
}
