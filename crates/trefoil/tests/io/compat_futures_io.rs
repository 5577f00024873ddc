//! The adapter to the traits of `futures::io`, in both directions.
#![cfg(feature = "futures-io")]

use crate::support::current_thread;
use futures::io as theirs;
use std::io::{IoSlice, IoSliceMut, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};
use trefoil::compat::FuturesCompat;
use trefoil::io;

#[test]
fn a_type_of_this_crate_works_with_the_methods_of_futures() {
    use theirs::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
    current_thread().block_on(async {
        let (near, far) = io::duplex(4);
        let (mut near, mut far) = (FuturesCompat::new(near), FuturesCompat::new(far));
        let writing = trefoil::spawn(async move {
            let bufs = [IoSlice::new(b"ab"), IoSlice::new(b"cd")];
            assert_eq!(near.write_vectored(&bufs).await.unwrap(), 4);
            near.write_all(b" and more").await.unwrap();
            near.close().await.unwrap();
            near
        });
        let (mut none, mut two) = ([], [0; 2]);
        let bufs = &mut [IoSliceMut::new(&mut none), IoSliceMut::new(&mut two)];
        assert_eq!(far.read_vectored(bufs).await.unwrap(), 2);
        assert_eq!(&two, b"ab");
        let mut all = String::new();
        far.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "cd and more");
        drop(writing.await.unwrap());

        let cursor = std::io::Cursor::new(b"one\ntwo\n");
        let mut cursor = FuturesCompat::new(io::BufReader::new(cursor));
        let mut line = String::new();
        cursor.read_line(&mut line).await.unwrap();
        assert_eq!(line, "one\n");
        assert_eq!(cursor.seek(SeekFrom::Current(-1)).await.unwrap(), 3);
        assert!(cursor.seek(SeekFrom::Current(-9)).await.is_err());
        assert_eq!(cursor.seek(SeekFrom::Start(2)).await.unwrap(), 2);
    });
}

#[test]
fn a_type_of_futures_works_with_the_methods_of_this_crate() {
    use io::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
    current_thread().block_on(async {
        let mut reader = FuturesCompat::new(theirs::Cursor::new(b"one\ntwo\n".to_vec()));
        let mut line = String::new();
        reader.read_line(&mut line).await.unwrap();
        assert_eq!(line, "one\n");
        assert_eq!(reader.seek(SeekFrom::Start(1)).await.unwrap(), 1);
        let mut two = Vec::with_capacity(2);
        assert_eq!(reader.read_buf(&mut two).await.unwrap(), 2);
        assert_eq!(two, b"ne");
        let mut writer = FuturesCompat::new(Vec::new());
        writer.write_all(b"bytes").await.unwrap();
        writer.shutdown().await.unwrap();
        assert_eq!(writer.into_inner(), b"bytes");
    });
}

/// Claims more than it was given.
struct Liar;

impl theirs::AsyncRead for Liar {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len() + 1))
    }
}

#[test]
#[should_panic(expected = "has read 5 bytes into 4")]
fn a_reader_of_futures_that_claims_too_much_is_noticed() {
    use io::AsyncReadExt;
    let _ = current_thread().block_on(FuturesCompat::new(Liar).read(&mut [0; 4]));
}

/// A seeker that is ready at the second poll of each seek.
struct Slow {
    bytes: &'static [u8],
    position: u64,
    target: Option<u64>,
    has_waited: bool,
}

impl Slow {
    fn settle(&mut self) {
        if let Some(target) = self.target.take() {
            self.position = target;
        }
    }
}

impl io::AsyncRead for Slow {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.settle();
        let rest = &self.bytes[self.position as usize..];
        let read = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..read]);
        self.position += read as u64;
        Poll::Ready(Ok(()))
    }
}

impl io::AsyncSeek for Slow {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        let SeekFrom::Start(target) = position else { unreachable!() };
        self.target = Some(target);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if self.target.is_some() {
            self.has_waited = !self.has_waited;
            if self.has_waited {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        self.settle();
        Poll::Ready(Ok(self.position))
    }
}

/// Each seek is made, also one that is asked for as one was before whose future was dropped.
#[test]
fn a_seek_after_a_dropped_one_is_made() {
    use theirs::{AsyncReadExt, AsyncSeekExt};
    let slow = Slow { bytes: b"0123456789", position: 3, target: None, has_waited: false };
    let mut slow = FuturesCompat::new(slow);
    current_thread().block_on(async {
        let mut seek = slow.seek(SeekFrom::Start(0));
        let waits = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut seek).poll(cx))).await;
        assert!(waits.is_pending());
        drop(seek);
        let mut buf = [0; 5];
        slow.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"01234");
        assert_eq!(slow.seek(SeekFrom::Start(0)).await.unwrap(), 0);
        slow.read_exact(&mut buf).await.unwrap();
        assert_eq!(&buf, b"01234");
    });
}
