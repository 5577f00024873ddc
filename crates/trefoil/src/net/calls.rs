//! The calls that move bytes, as far as they come with each message.
//!
//! On Linux they go to the system directly. The functions of glibc are points at which a thread can
//! be cancelled: where there are several threads, each call changes the thread's state by two
//! atomic operations, for cancellations that Rust does not have.

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use direct::{receive, send, send_vectored};
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) use portable::{receive, send, send_vectored};

#[cfg(any(target_os = "linux", target_os = "android"))]
mod direct {
    use rustix::net::{RecvFlags, SendFlags};
    use std::io::{self, IoSlice};
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;

    /// Reads to the front of `place`, and writes nothing else there.
    #[inline]
    pub(in crate::net) fn receive(
        socket: &impl AsFd,
        place: &mut [MaybeUninit<u8>],
    ) -> io::Result<usize> {
        let (_, count) = rustix::net::recv(socket, place, RecvFlags::empty())?;
        Ok(count)
    }

    #[inline]
    pub(in crate::net) fn send(socket: &impl AsFd, buf: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(socket, buf, SendFlags::NOSIGNAL)?)
    }

    #[inline]
    pub(in crate::net) fn send_vectored(
        socket: &impl AsFd,
        bufs: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        Ok(rustix::io::writev(socket, bufs)?)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod portable {
    use socket2::SockRef;
    use std::io::{self, IoSlice, Write};
    use std::mem::MaybeUninit;

    #[cfg(unix)]
    use std::os::fd::AsFd as OfSystem;
    #[cfg(windows)]
    use std::os::windows::io::AsSocket as OfSystem;

    /// Reads to the front of `place`, and writes nothing else there.
    pub(in crate::net) fn receive(
        socket: &impl OfSystem,
        place: &mut [MaybeUninit<u8>],
    ) -> io::Result<usize> {
        SockRef::from(socket).recv(place)
    }

    pub(in crate::net) fn send<S>(socket: &S, buf: &[u8]) -> io::Result<usize>
    where
        for<'a> &'a S: Write,
    {
        let mut socket = socket;
        socket.write(buf)
    }

    pub(in crate::net) fn send_vectored<S>(socket: &S, bufs: &[IoSlice<'_>]) -> io::Result<usize>
    where
        for<'a> &'a S: Write,
    {
        let mut socket = socket;
        socket.write_vectored(bufs)
    }
}
