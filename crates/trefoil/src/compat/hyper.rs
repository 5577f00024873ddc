//! The traits of `hyper::rt`: what hyper 1 needs of a runtime.

use super::accessors;
use crate::io::async_read::poll_read_counted;
use crate::io::{AsyncRead, AsyncWrite, ReadBuf};
use crate::time;
use hyper::rt;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

pin_project! {
    /// hyper's `Read` and `Write` for a type that has this crate's traits, such as a connection,
    /// and back, such as for an upgraded connection.
    #[derive(Debug)]
    pub struct TrefoilIo<T> {
        #[pin]
        inner: T,
    }
}

accessors!(TrefoilIo {});

impl<T: AsyncRead> rt::Read for TrefoilIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: `own` makes no initialized byte uninitialized.
        let mut own = ReadBuf::uninit(unsafe { buf.as_mut() });
        let read = ready!(poll_read_counted(self.get_pin_mut(), cx, &mut own))?;
        // SAFETY: the first `read` bytes were filled in: `own` is still the buffer over them.
        unsafe { buf.advance(read) };
        Poll::Ready(Ok(()))
    }
}

impl<T: rt::Read> AsyncRead for TrefoilIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: their buffer makes no initialized byte uninitialized.
        let mut own = rt::ReadBuf::uninit(unsafe { buf.unfilled_mut() });
        ready!(self.get_pin_mut().poll_read(cx, own.unfilled()))?;
        let read = own.filled().len();
        // SAFETY: the reader had a cursor over these bytes, with which it cannot reach `own`, and
        // `own` says that as many are filled in.
        unsafe { buf.assume_init(read) };
        buf.advance(read);
        Poll::Ready(Ok(()))
    }
}

/// Each of these is the call of the same name, so it is written once for both directions.
macro_rules! both_ways {
    ($([$own:path as $other:path])*) => {$(
        impl<T: $own> $other for TrefoilIo<T> {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.get_pin_mut().poll_write(cx, buf)
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.get_pin_mut().poll_flush(cx)
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.get_pin_mut().poll_shutdown(cx)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.get_pin_mut().poll_write_vectored(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                self.inner.is_write_vectored()
            }
        }
    )*};
}

both_ways! { [AsyncWrite as rt::Write] [rt::Write as AsyncWrite] }

/// Spawns hyper's futures as tasks of the current runtime.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TrefoilExecutor;

impl TrefoilExecutor {
    /// The executor. It has no state: each future goes to the runtime in whose context hyper runs.
    pub fn new() -> Self {
        Self
    }
}

impl<F> rt::Executor<F> for TrefoilExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        drop(crate::spawn(future));
    }
}

/// This crate's timers, for hyper's time-outs. In paused time, they are paused.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TrefoilTimer;

impl TrefoilTimer {
    /// The timer. It has no state: each timer is one of the runtime in whose context hyper runs.
    pub fn new() -> Self {
        Self
    }
}

pin_project! {
    struct Sleep {
        #[pin]
        inner: time::Sleep,
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().inner.poll(cx)
    }
}

impl rt::Sleep for Sleep {}

impl rt::Timer for TrefoilTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(Sleep { inner: time::sleep(duration) })
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(Sleep { inner: time::sleep_until(deadline.into()) })
    }

    fn now(&self) -> Instant {
        time::Instant::now().into_std()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn rt::Sleep>>, new_deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<Sleep>() {
            Some(own) => own.project().inner.reset(new_deadline.into()),
            // Another timer has made it.
            None => *sleep = self.sleep_until(new_deadline),
        }
    }
}
