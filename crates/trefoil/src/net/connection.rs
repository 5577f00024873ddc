//! What streams of bytes have in common, whatever their addresses.

/// The operations of a connection, whose type has a field `io: Source<_>`.
///
/// `$short_read` says whether a read that returns less than there was room for has emptied the
/// socket: then the next one need not try in vain.
macro_rules! connection {
    ($Connection:ident, short_reads: $short_reads:expr) => {
        use crate::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
        use crate::net::calls;
        use crate::reactor::{Direction, Event};
        use bytes::BufMut;
        use std::io::{IoSlice, IoSliceMut, Read as _, Write as _};
        use std::mem::MaybeUninit;

        impl $Connection {
            /// Waits until one of the operations in `interest` may succeed, and returns what may.
            ///
            /// What is returned is empty of what was not asked for. It may be out of date by the
            /// time that it is used: what is ready is cleared when a call finds that it would
            /// block.
            ///
            /// # Errors
            /// If the runtime has shut down.
            ///
            /// # Cancellation safety
            /// Nothing is lost if the future is dropped.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                Ok(self.io.registration().ready(interest).await?.ready)
            }

            /// Waits until there may be something to read, or the other side writes no more.
            ///
            /// # Errors
            /// If the runtime has shut down.
            ///
            /// # Cancellation safety
            /// Nothing is lost if the future is dropped.
            pub async fn readable(&self) -> io::Result<()> {
                self.ready(Interest::READABLE).await.map(drop)
            }

            /// Waits until there may be room to write, or the other side reads no more.
            ///
            /// # Errors
            /// If the runtime has shut down.
            ///
            /// # Cancellation safety
            /// Nothing is lost if the future is dropped.
            pub async fn writable(&self) -> io::Result<()> {
                self.ready(Interest::WRITABLE).await.map(drop)
            }

            /// Polls for [`readable`](Self::readable). The last caller that would read is woken.
            ///
            /// # Errors
            /// If the runtime has shut down.
            pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.io.registration().poll_ready(cx, Direction::Read).map_ok(drop)
            }

            /// Polls for [`writable`](Self::writable). The last caller that would write is woken.
            ///
            /// # Errors
            /// If the runtime has shut down.
            pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.io.registration().poll_ready(cx, Direction::Write).map_ok(drop)
            }

            /// Reads what there is, without waiting. Zero bytes say that the other side writes no
            /// more, unless `buf` is empty.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing, and those of the system.
            pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.io.registration().try_io(Interest::READABLE, || (&*self.io).read(buf))
            }

            /// As [`try_read`](Self::try_read), into several buffers.
            ///
            /// # Errors
            /// As [`try_read`](Self::try_read).
            pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                let read = || (&*self.io).read_vectored(bufs);
                self.io.registration().try_io(Interest::READABLE, read)
            }

            /// As [`try_read`](Self::try_read), to the end of a buffer that grows.
            ///
            /// # Errors
            /// As [`try_read`](Self::try_read).
            pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                self.io.registration().try_io(Interest::READABLE, || {
                    let chunk = buf.chunk_mut();
                    // SAFETY: `receive` writes nothing but what it has received, so no byte that
                    // was initialized is so no more.
                    let place = unsafe { chunk.as_uninit_slice_mut() };
                    let count = self.receive(place)?;
                    // SAFETY: so many bytes were written to the front of the chunk.
                    unsafe { buf.advance_mut(count) };
                    Ok(count)
                })
            }

            /// Writes what there is room for, without waiting, and returns how much that is.
            ///
            /// # Errors
            /// `WouldBlock` if there is no room, and those of the system.
            pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                self.io.registration().try_io(Interest::WRITABLE, || (&*self.io).write(buf))
            }

            /// As [`try_write`](Self::try_write), from several buffers.
            ///
            /// # Errors
            /// As [`try_write`](Self::try_write).
            pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                let write = || (&*self.io).write_vectored(bufs);
                self.io.registration().try_io(Interest::WRITABLE, write)
            }

            /// Makes a call on the socket, if it may succeed. If the call says that it would
            /// block, the socket counts as not ready until the system says otherwise. So the call
            /// must say so only if it is true of the operations in `interest`.
            ///
            /// # Errors
            /// `WouldBlock` if the socket is not ready, and those of the call.
            pub fn try_io<R>(
                &self,
                interest: Interest,
                f: impl FnOnce() -> io::Result<R>,
            ) -> io::Result<R> {
                self.io.registration().try_io(interest, || self.io.try_io(f))
            }

            /// Makes a call on the socket whenever it may succeed, until it would not block. What
            /// is said at [`try_io`](Self::try_io) holds for the call.
            ///
            /// # Errors
            /// Those of the call; and if the runtime has shut down.
            ///
            /// # Cancellation safety
            /// If the future is dropped while it waits, no call has had an effect, unless one that
            /// said that it would block did.
            pub async fn async_io<R>(
                &self,
                interest: Interest,
                mut f: impl FnMut() -> io::Result<R>,
            ) -> io::Result<R> {
                self.io.registration().async_io(interest, || self.io.try_io(&mut f)).await
            }

            fn receive(&self, place: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
                self.io.try_io(|| calls::receive(&*self.io, place))
            }

            pub(super) fn poll_read_here(
                &self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                let count = ready!(self.io.registration().poll_io_with(
                    cx,
                    Direction::Read,
                    |event: Event| {
                        // SAFETY: `receive` writes nothing but what it has received.
                        let place = unsafe { buf.unfilled_mut() };
                        let room = place.len();
                        let count = self.receive(place)?;
                        if 0 < count && count < room && $short_reads(&event) {
                            self.io.clear(event);
                        }
                        Ok(count)
                    }
                ))?;
                // SAFETY: so many bytes were written to the front of the unfilled part.
                unsafe { buf.assume_init(count) };
                buf.advance(count);
                Poll::Ready(Ok(()))
            }

            pub(super) fn poll_write_here(
                &self,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                let write = || calls::send(&*self.io, buf);
                self.io.registration().poll_io(cx, Direction::Write, write)
            }

            pub(super) fn poll_write_vectored_here(
                &self,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                let write = || calls::send_vectored(&*self.io, bufs);
                self.io.registration().poll_io(cx, Direction::Write, write)
            }

            /// A connection that was accepted has room, and often brings its first bytes, so that
            /// the first read is worth a try.
            pub(super) fn of_accepted(stream: mio::net::$Connection) -> io::Result<Self> {
                let connection = Self::of_mio(stream)?;
                connection.io.registration().assume(Ready::UNTRIED | Ready::WRITABLE);
                Ok(connection)
            }

            /// False in a fork of the process that has made the runtime.
            pub(super) fn is_of_this_process(&self) -> bool {
                self.io.registration().is_of_this_process()
            }

            /// A connection that is no more, because the other side has reset it, has no writes to
            /// end. When that is found out is a matter of luck, so it is no error.
            pub(super) fn end_writes(&self) -> io::Result<()> {
                match self.io.shutdown(Shutdown::Write) {
                    Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
                    result => result,
                }
            }
        }

        impl AsyncRead for $Connection {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.poll_read_here(cx, buf)
            }
        }

        impl AsyncWrite for $Connection {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_write_here(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.poll_write_vectored_here(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            /// What was written is on its way: there is no buffer in between.
            fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.end_writes())
            }
        }

        impl AsRef<Self> for $Connection {
            fn as_ref(&self) -> &Self {
                self
            }
        }

        impl fmt::Debug for $Connection {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (*self.io).fmt(f)
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsFd for $Connection {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.io.as_fd()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $Connection {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.io.as_raw_fd()
            }
        }
    };
}

pub(super) use connection;
