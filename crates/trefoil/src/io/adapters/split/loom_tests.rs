//! Two halves on two threads. Loom sees every access to the stream between them.

use super::*;
use crate::primitives::UnsafeCell;
use loom::thread;
use std::task::Waker;

/// A stream of one byte, which is no stream for two threads at once.
struct Byte(UnsafeCell<Option<u8>>);

impl AsyncRead for Byte {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: the reference to `self` is exclusive. Loom checks that it is.
        match self.0.with_mut(|byte| unsafe { (*byte).take() }) {
            Some(byte) => {
                buf.put_slice(&[byte]);
                Poll::Ready(Ok(()))
            }
            None => Poll::Pending,
        }
    }
}

impl AsyncWrite for Byte {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        // SAFETY: the reference to `self` is exclusive. Loom checks that it is.
        self.0.with_mut(|byte| unsafe { *byte = Some(buf[0]) });
        Poll::Ready(Ok(1))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn read(half: &mut ReadHalf<Byte>) -> Option<u8> {
    let mut storage = [0];
    let mut buf = ReadBuf::new(&mut storage);
    let cx = &mut Context::from_waker(Waker::noop());
    let polled = Pin::new(half).poll_read(cx, &mut buf);
    polled.is_ready().then(|| buf.filled()[0])
}

#[test]
fn loom_split_halves_reach_the_stream_one_at_a_time() {
    loom::model(|| {
        let (mut reader, mut writer) = split(Byte(UnsafeCell::new(None)));
        let writing = thread::spawn(move || {
            let cx = &mut Context::from_waker(Waker::noop());
            assert!(Pin::new(&mut writer).poll_write(cx, &[7]).is_ready());
            writer
        });
        let early = read(&mut reader);
        let writer = writing.join().unwrap();
        let late = read(&mut reader);
        assert_eq!([early, late].into_iter().flatten().collect::<Vec<_>>(), [7]);
        assert!(reader.unsplit(writer).0.with(|byte| {
            // SAFETY: the stream is whole again, and this thread's own.
            unsafe { (*byte).is_none() }
        }));
    });
}
