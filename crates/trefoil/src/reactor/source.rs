//! A source of events together with its place in the reactor.

use super::{Event, Interest, Registration};
use crate::scheduler::Handle;
use std::fmt;
use std::io;
use std::ops::Deref;

/// Something that the system tells events of, registered until the drop.
pub(crate) struct Source<S: mio::event::Source> {
    /// Taken out on drop, and when it is given away.
    inner: Option<S>,
    registration: Registration,
}

impl<S: mio::event::Source> Source<S> {
    /// Registers a source with the current runtime.
    ///
    /// # Errors
    /// Those of the system; and if the runtime has shut down.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub(crate) fn new(mut inner: S, interest: Interest) -> io::Result<Self> {
        let registration = Registration::new(&mut inner, interest, &Handle::current())?;
        Ok(Self { inner: Some(inner), registration })
    }

    /// As [`new`](Self::new), for a source without a last event: see
    /// [`Registration::never_closes`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[track_caller]
    pub(crate) fn that_never_closes(inner: S, interest: Interest) -> io::Result<Self> {
        let mut source = Self::new(inner, interest)?;
        source.registration.never_closes();
        Ok(source)
    }

    /// As [`new`](Self::new), for a connection: see [`Registration::ends_writes_by_hang_up`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[track_caller]
    pub(crate) fn of_connection(connection: S, interest: Interest) -> io::Result<Self>
    where
        S: std::os::fd::AsRawFd,
    {
        let fd = connection.as_raw_fd();
        let mut source = Self::new(connection, interest)?;
        source.registration.ends_writes_by_hang_up(fd);
        Ok(source)
    }

    /// As [`new`](Self::new), for a connection.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    #[track_caller]
    pub(crate) fn of_connection(connection: S, interest: Interest) -> io::Result<Self> {
        Self::new(connection, interest)
    }

    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    pub(crate) fn clear(&self, event: Event) {
        self.registration.clear(event);
    }

    /// Takes the source out of the reactor.
    ///
    /// # Errors
    /// If the source's descriptor was closed by somebody else.
    pub(crate) fn into_inner(mut self) -> io::Result<S> {
        let Some(mut inner) = self.inner.take() else { unreachable!("it is taken once") };
        self.registration.deregister(&mut inner)?;
        Ok(inner)
    }
}

impl<S: mio::event::Source> Deref for Source<S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.inner.as_ref().expect("it is taken on drop only")
    }
}

impl<S: mio::event::Source> Drop for Source<S> {
    fn drop(&mut self) {
        if let Some(mut inner) = self.inner.take() {
            // It fails if the descriptor was closed by somebody else: then there is nothing to
            // forget, or what is left does no harm (`README.md`). If its number has been given
            // again since, the system forgets what has that now, and the drop of `inner` closes it:
            // whoever closes a descriptor that is not theirs breaks both.
            let _ = self.registration.deregister(&mut inner);
        }
    }
}

impl<S: mio::event::Source + fmt::Debug> fmt::Debug for Source<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("inner", &self.inner).finish_non_exhaustive()
    }
}
