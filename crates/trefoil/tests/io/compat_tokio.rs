//! The adapter to tokio's traits, in both directions.
#![cfg(feature = "tokio")]

use crate::support::current_thread;
use std::io::{Cursor, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tokio::io as theirs;
use trefoil::compat::TokioCompat;
use trefoil::io;

#[test]
fn a_type_of_this_crate_works_with_the_methods_of_tokio() {
    use theirs::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWrite, AsyncWriteExt};
    current_thread().block_on(async {
        let (near, far) = io::duplex(4);
        let (mut near, mut far) = (TokioCompat::new(near), TokioCompat::new(far));
        assert!(near.is_write_vectored());
        let writing = trefoil::spawn(async move {
            near.write_all(b"more than fits").await.unwrap();
            near.shutdown().await.unwrap();
            near
        });
        let mut all = Vec::new();
        far.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"more than fits");
        drop(writing.await.unwrap().into_inner());

        let mut cursor = TokioCompat::new(Cursor::new(b"one\ntwo\n"));
        let mut line = String::new();
        cursor.read_line(&mut line).await.unwrap();
        assert_eq!(line, "one\n");
        assert_eq!(cursor.seek(SeekFrom::Current(-1)).await.unwrap(), 3);
        assert_eq!(cursor.get_ref().position(), 3);
    });
}

#[test]
fn a_type_of_tokio_works_with_the_methods_of_this_crate() {
    use io::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWrite, AsyncWriteExt};
    current_thread().block_on(async {
        let (near, far) = theirs::duplex(4);
        let (mut near, mut far) = (TokioCompat::new(near), TokioCompat::new(far));
        assert!(near.is_write_vectored());
        let writing = trefoil::spawn(async move {
            let bufs = [IoSlice::new(b"ab"), IoSlice::new(b"cd")];
            assert_eq!(near.write_vectored(&bufs).await.unwrap(), 4);
            near.write_all(b" and more").await.unwrap();
            near.shutdown().await.unwrap();
            near
        });
        let mut all = String::new();
        far.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "abcd and more");
        drop(writing.await.unwrap());

        let mut cursor = TokioCompat::new(Cursor::new(b"one\ntwo\n"));
        assert_eq!(cursor.fill_buf().await.unwrap(), b"one\ntwo\n");
        cursor.consume(4);
        assert_eq!(cursor.stream_position().await.unwrap(), 4);
    });
}

/// Initializes all of the buffer, fills one byte and says that it waits, as far as it may.
struct Partial(bool);

impl io::AsyncRead for Partial {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buf.initialize_unfilled().fill(1);
        if std::mem::replace(&mut self.0, true) {
            buf.advance(1);
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }
}

#[test]
fn what_is_initialized_on_one_side_is_so_on_the_other() {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut storage = [std::mem::MaybeUninit::uninit(); 4];
    let mut buf = theirs::ReadBuf::uninit(&mut storage);
    buf.put_slice(b"a");
    let mut reader = TokioCompat::new(Partial(false));
    assert!(theirs::AsyncRead::poll_read(Pin::new(&mut reader), cx, &mut buf).is_pending());
    assert_eq!((buf.filled(), buf.initialized()), (&b"a"[..], &[b'a', 1, 1, 1][..]));
    assert!(theirs::AsyncRead::poll_read(Pin::new(&mut reader), cx, &mut buf).is_ready());
    assert_eq!(buf.filled(), [b'a', 1]);

    // There and back again.
    let mut storage = [std::mem::MaybeUninit::uninit(); 4];
    let mut buf = io::ReadBuf::uninit(&mut storage);
    buf.put_slice(b"b");
    let mut reader = TokioCompat::new(TokioCompat::new(Partial(true)));
    assert!(io::AsyncRead::poll_read(Pin::new(&mut reader), cx, &mut buf).is_ready());
    assert_eq!((buf.filled(), buf.initialized()), (&[b'b', 1][..], &[b'b', 1, 1, 1][..]));
}

/// Exchanges the buffer that it is given.
struct Thief;

impl theirs::AsyncRead for Thief {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut theirs::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut other = theirs::ReadBuf::new(Box::leak(vec![7; 64].into_boxed_slice()));
        other.set_filled(64);
        *buf = other;
        Poll::Ready(Ok(()))
    }
}

#[test]
#[should_panic(expected = "exchanged the buffer")]
fn a_reader_of_tokio_that_exchanges_the_buffer_is_noticed() {
    use io::AsyncReadExt;
    let _ = current_thread().block_on(TokioCompat::new(Thief).read(&mut [0; 4]));
}
