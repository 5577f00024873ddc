//! Descriptors of Unix: any that the system tells events of.
//!
//! ```
//! use std::os::unix::net::UnixStream;
//! use std::io::{Read, Write};
//! use trefoil::io::unix::AsyncFd;
//!
//! # #[trefoil::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let (ours, mut theirs) = UnixStream::pair()?;
//! ours.set_nonblocking(true)?;
//! let ours = AsyncFd::new(ours)?;
//! theirs.write_all(b"hello")?;
//!
//! let mut buf = [0; 16];
//! let count = loop {
//!     let mut guard = ours.readable().await?;
//!     match guard.try_io(|inner| inner.get_ref().read(&mut buf)) {
//!         Ok(result) => break result?,
//!         Err(_would_block) => continue,
//!     }
//! };
//! assert_eq!(&buf[..count], b"hello");
//! # Ok(())
//! # }
//! ```

use crate::io::{Interest, Ready};
use crate::reactor::{Direction, Event, Registration};
use crate::scheduler::Handle;
use mio::unix::SourceFd;
use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll, ready};

/// A descriptor whose events wake tasks.
///
/// It must not block, and must be open for as long as this lives. If it is closed earlier, nobody
/// is woken for it any more. Worse, the system soon gives its number to something else. If that is
/// registered with the same runtime, the drop of this, or [`into_inner`](AsyncFd::into_inner), ends
/// that registration instead, and whoever waits for the other one then waits for ever.
///
/// Readiness is kept until it is cleared: by [`try_io`](AsyncFdReadyGuard::try_io), if the call
/// says that it would block, or by
/// [`clear_ready`](AsyncFdReadyGuard::clear_ready). A guard that clears nothing has the next wait
/// return at once. That the other side is closed stays ready, whatever is cleared, for as long as
/// it is so. (On Linux. Elsewhere it stays ready for ever, also if the other side of a terminal or
/// of a pipe with a name is opened again.)
pub struct AsyncFd<T: AsRawFd> {
    registration: Registration,
    /// None once it was given back.
    inner: Option<T>,
}

/// What was ready, of a descriptor that is borrowed.
#[must_use = "a guard whose readiness is neither cleared nor retained has no use"]
pub struct AsyncFdReadyGuard<'a, T: AsRawFd> {
    fd: &'a AsyncFd<T>,
    event: Option<Event>,
}

/// What was ready, of a descriptor that is borrowed mutably.
#[must_use = "a guard whose readiness is neither cleared nor retained has no use"]
pub struct AsyncFdReadyMutGuard<'a, T: AsRawFd> {
    fd: &'a mut AsyncFd<T>,
    event: Option<Event>,
}

/// A call would block: see [`AsyncFdReadyGuard::try_io`].
#[derive(Debug)]
pub struct TryIoError(());

impl fmt::Display for TryIoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operation would block")
    }
}

impl Error for TryIoError {}

/// A descriptor that could not be registered, and why.
pub struct AsyncFdRegisterError<T> {
    inner: T,
    cause: io::Error,
}

impl<T> AsyncFdRegisterError<T> {
    /// The descriptor and the reason.
    pub fn into_parts(self) -> (T, io::Error) {
        (self.inner, self.cause)
    }
}

impl<T> fmt::Display for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl<T> fmt::Debug for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl<T> Error for AsyncFdRegisterError<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

impl<T> From<AsyncFdRegisterError<T>> for io::Error {
    fn from(error: AsyncFdRegisterError<T>) -> Self {
        error.cause
    }
}

/// The older name of [`AsyncFdRegisterError`].
#[doc(hidden)]
pub type AsyncFdTryNewError<T> = AsyncFdRegisterError<T>;

impl<T: AsRawFd> AsyncFd<T> {
    /// As [`try_new`](Self::try_new).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// As [`new`](Self::new).
    ///
    /// # Safety
    /// The descriptor is open, and the same, until this is dropped. (No memory of this crate is at
    /// risk otherwise, and [`try_new`](Self::try_new), which does the same, asks for no promise.
    /// [`AsyncFd`] says what does go wrong. It is a promise so that programs can be compiled with
    /// either crate.)
    #[track_caller]
    pub unsafe fn register(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        Self::try_new(inner)
    }

    /// As [`try_with_interest`](Self::try_with_interest).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// As [`new`](Self::new).
    ///
    /// # Safety
    /// As [`register`](Self::register).
    #[track_caller]
    pub unsafe fn register_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<Self, AsyncFdRegisterError<T>> {
        Self::try_with_interest(inner, interest)
    }

    /// Registers a descriptor with the current runtime, for reads and writes.
    ///
    /// # Errors
    /// Those of the system. Regular files are refused, since they are always ready.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub fn new(inner: T) -> io::Result<Self> {
        Self::with_interest(inner, Interest::READABLE | Interest::WRITABLE)
    }

    /// As [`new`](Self::new), for other operations. A wait for something else never ends.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[track_caller]
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<Self> {
        Ok(Self::try_with_interest(inner, interest)?)
    }

    /// As [`new`](Self::new), with the descriptor in the error.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[track_caller]
    pub fn try_new(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        Self::try_with_interest(inner, Interest::READABLE | Interest::WRITABLE)
    }

    /// As [`with_interest`](Self::with_interest), with the descriptor in the error.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[track_caller]
    pub fn try_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<Self, AsyncFdRegisterError<T>> {
        let fd = inner.as_raw_fd();
        match Registration::new(&mut SourceFd(&fd), interest, &Handle::current()) {
            Ok(mut registration) => {
                registration.ends_while_reported_of(fd);
                Ok(Self { registration, inner: Some(inner) })
            }
            Err(cause) => Err(AsyncFdRegisterError { inner, cause }),
        }
    }

    /// The descriptor's owner.
    pub fn get_ref(&self) -> &T {
        self.inner.as_ref().expect("it is taken on drop only")
    }

    /// The descriptor's owner. Its descriptor must stay the same.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("it is taken on drop only")
    }

    /// Gives the descriptor's owner back. Nobody is woken for it any more.
    pub fn into_inner(mut self) -> T {
        let Some(inner) = self.leave() else { unreachable!("it is taken once") };
        inner
    }

    fn leave(&mut self) -> Option<T> {
        let inner = self.inner.take()?;
        // It fails if the descriptor was closed by somebody else: then there is nothing to forget.
        // If its number has been given again since, the system forgets whatever has that now. To
        // tell the two apart would take a table of numbers, locked during each registration.
        let _ = self.registration.deregister(&mut SourceFd(&inner.as_raw_fd()));
        Some(inner)
    }

    /// Polls for a read that may succeed. The last caller of this function and of
    /// [`poll_read_ready_mut`](Self::poll_read_ready_mut) is woken.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_read_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyGuard { fd: self, event: Some(event) }))
    }

    /// As [`poll_read_ready`](Self::poll_read_ready), with a guard that borrows mutably.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_read_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard { fd: self, event: Some(event) }))
    }

    /// Polls for a write that may succeed. The last caller of this function and of
    /// [`poll_write_ready_mut`](Self::poll_write_ready_mut) is woken.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_write_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyGuard { fd: self, event: Some(event) }))
    }

    /// As [`poll_write_ready`](Self::poll_write_ready), with a guard that borrows mutably.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_write_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard { fd: self, event: Some(event) }))
    }

    /// Waits until one of the operations in `interest` may succeed.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn ready(&self, interest: Interest) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        let event = self.registration.ready(interest).await?;
        Ok(AsyncFdReadyGuard { fd: self, event: Some(event) })
    }

    /// As [`ready`](Self::ready), with a guard that borrows mutably.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn ready_mut(
        &mut self,
        interest: Interest,
    ) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        let event = self.registration.ready(interest).await?;
        Ok(AsyncFdReadyMutGuard { fd: self, event: Some(event) })
    }

    /// Waits until a read may succeed.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::READABLE).await
    }

    /// As [`readable`](Self::readable), with a guard that borrows mutably.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn readable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::READABLE).await
    }

    /// Waits until a write may succeed.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn writable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::WRITABLE).await
    }

    /// As [`writable`](Self::writable), with a guard that borrows mutably.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped.
    pub async fn writable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::WRITABLE).await
    }

    /// Makes a call on the descriptor whenever it may succeed, until it would not block.
    ///
    /// # Errors
    /// Those of the call; and if the runtime has shut down.
    ///
    /// # Cancellation safety
    /// If the future is dropped while it waits, no call has had an effect, unless one that said
    /// that it would block did.
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.async_io(interest, || f(self.get_ref())).await
    }

    /// As [`async_io`](Self::async_io), with the descriptor borrowed mutably.
    ///
    /// # Errors
    /// As [`async_io`](Self::async_io).
    ///
    /// # Cancellation safety
    /// As [`async_io`](Self::async_io).
    pub async fn async_io_mut<R>(
        &mut self,
        interest: Interest,
        mut f: impl FnMut(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        let Self { registration, inner } = self;
        let Some(inner) = inner else { unreachable!("it is taken on drop only") };
        registration.async_io(interest, || f(inner)).await
    }

    /// Makes a call on the descriptor, if it may succeed.
    ///
    /// # Errors
    /// `WouldBlock` if nothing is ready, and those of the call.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.try_io(interest, || f(self.get_ref()))
    }

    /// As [`try_io`](Self::try_io), with the descriptor borrowed mutably.
    ///
    /// # Errors
    /// As [`try_io`](Self::try_io).
    pub fn try_io_mut<R>(
        &mut self,
        interest: Interest,
        f: impl FnOnce(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        let Self { registration, inner } = self;
        let Some(inner) = inner else { unreachable!("it is taken on drop only") };
        registration.try_io(interest, || f(inner))
    }
}

impl<T: AsRawFd> Drop for AsyncFd<T> {
    fn drop(&mut self) {
        drop(self.leave());
    }
}

impl<T: AsRawFd> AsRawFd for AsyncFd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.get_ref().as_raw_fd()
    }
}

impl<T: AsRawFd + AsFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<T: AsRawFd + fmt::Debug> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFd").field("inner", &self.inner).finish()
    }
}

macro_rules! guard {
    ($Guard:ident, $fd:ty) => {
        impl<'a, T: AsRawFd> $Guard<'a, T> {
            /// Says that the descriptor is not ready any more, since a call has found so. An event
            /// that has come since the wait is not forgotten.
            pub fn clear_ready(&mut self) {
                if let Some(event) = self.event.take() {
                    self.fd.registration.clear(event);
                }
            }

            /// As [`clear_ready`](Self::clear_ready), for a part of what was ready.
            pub fn clear_ready_matching(&mut self, ready: Ready) {
                if let Some(event) = self.event.as_mut() {
                    let mut cleared = *event;
                    // What the guard does not show must not end the next wait.
                    let ready = ready | Ready::UNFETCHED;
                    cleared.ready = event.ready & ready;
                    event.ready = event.ready - ready;
                    self.fd.registration.clear(cleared);
                }
            }

            /// Says that the descriptor may be ready still. It does nothing.
            pub fn retain_ready(&mut self) {}

            /// What was ready.
            pub fn ready(&self) -> Ready {
                self.event.map_or(Ready::EMPTY, |event| event.ready & Ready::ALL)
            }
        }

        impl<T: AsRawFd + fmt::Debug> fmt::Debug for $Guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Guard))
                    .field("fd", &self.fd)
                    .field("ready", &self.ready())
                    .finish()
            }
        }
    };
}

guard!(AsyncFdReadyGuard, &'a AsyncFd<T>);
guard!(AsyncFdReadyMutGuard, &'a mut AsyncFd<T>);

impl<'a, T: AsRawFd> AsyncFdReadyGuard<'a, T> {
    /// Makes a call. If it would block, clears what was ready.
    ///
    /// # Errors
    /// [`TryIoError`] if the call would block.
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&'a AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        let result = f(self.fd);
        match result {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.clear_ready();
                Err(TryIoError(()))
            }
            result => Ok(result),
        }
    }

    /// The descriptor.
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.fd
    }

    /// The descriptor's owner.
    pub fn get_inner(&self) -> &'a T {
        self.fd.get_ref()
    }
}

impl<T: AsRawFd> AsyncFdReadyMutGuard<'_, T> {
    /// Makes a call. If it would block, clears what was ready.
    ///
    /// # Errors
    /// [`TryIoError`] if the call would block.
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&mut AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        let result = f(self.fd);
        match result {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.clear_ready();
                Err(TryIoError(()))
            }
            result => Ok(result),
        }
    }

    /// The descriptor.
    pub fn get_ref(&self) -> &AsyncFd<T> {
        self.fd
    }

    /// The descriptor, mutably.
    pub fn get_mut(&mut self) -> &mut AsyncFd<T> {
        self.fd
    }

    /// The descriptor's owner.
    pub fn get_inner(&self) -> &T {
        self.fd.get_ref()
    }

    /// The descriptor's owner, mutably.
    pub fn get_inner_mut(&mut self) -> &mut T {
        self.fd.get_mut()
    }
}
