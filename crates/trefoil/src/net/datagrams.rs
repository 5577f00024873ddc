//! What sockets for datagrams have in common, whatever their addresses.

/// The operations of a socket for datagrams, whose type has a field `io: Source<_>`, and a function
/// `receive_from` for uninitialized memory.
macro_rules! datagrams {
    ($Socket:ident, $Addr:ty) => {
        use crate::io::{Interest, ReadBuf, Ready};
        use crate::reactor::Direction;
        use bytes::BufMut;
        use socket2::SockRef;
        use std::mem::MaybeUninit;

        impl $Socket {
            /// Waits until one of the operations in `interest` may succeed, and returns what may.
            ///
            /// # Errors
            /// If the runtime has shut down.
            ///
            /// # Cancellation safety
            /// Nothing is lost if the future is dropped.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                Ok(self.io.registration().ready(interest).await?.ready)
            }

            /// Waits until there may be a datagram.
            ///
            /// # Errors
            /// If the runtime has shut down.
            ///
            /// # Cancellation safety
            /// Nothing is lost if the future is dropped.
            pub async fn readable(&self) -> io::Result<()> {
                self.ready(Interest::READABLE).await.map(drop)
            }

            /// Waits until there may be room for a datagram.
            ///
            /// # Errors
            /// If the runtime has shut down.
            ///
            /// # Cancellation safety
            /// Nothing is lost if the future is dropped.
            pub async fn writable(&self) -> io::Result<()> {
                self.ready(Interest::WRITABLE).await.map(drop)
            }

            /// Polls for [`readable`](Self::readable). The last caller that would receive is woken.
            ///
            /// # Errors
            /// If the runtime has shut down.
            pub fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.io.registration().poll_ready(cx, Direction::Read).map_ok(drop)
            }

            /// Polls for [`writable`](Self::writable). The last caller that would send is woken.
            ///
            /// # Errors
            /// If the runtime has shut down.
            pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.io.registration().poll_ready(cx, Direction::Write).map_ok(drop)
            }

            /// Sends a datagram to the address to which the socket is connected.
            ///
            /// # Errors
            /// Those of the system, which may be about an earlier datagram.
            ///
            /// # Cancellation safety
            /// If the future is dropped before it is done, nothing was sent.
            pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
                self.io.registration().async_io(Interest::WRITABLE, || self.io.send(buf)).await
            }

            /// Polls for [`send`](Self::send). The last caller that would send is woken.
            ///
            /// # Errors
            /// As [`send`](Self::send).
            pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.io.registration().poll_io(cx, Direction::Write, || self.io.send(buf))
            }

            /// As [`send`](Self::send), without waiting.
            ///
            /// # Errors
            /// `WouldBlock` if there is no room, and those of the system.
            pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
                self.io.registration().try_io(Interest::WRITABLE, || self.io.send(buf))
            }

            /// Receives a datagram from the address to which the socket is connected. What of it
            /// does not fit into `buf` is lost.
            ///
            /// # Errors
            /// Those of the system.
            ///
            /// # Cancellation safety
            /// No datagram is lost if the future is dropped.
            pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.io.registration().async_io(Interest::READABLE, || self.io.recv(buf)).await
            }

            /// Polls for [`recv`](Self::recv). The last caller that would receive is woken.
            ///
            /// # Errors
            /// As [`recv`](Self::recv).
            pub fn poll_recv(
                &self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.poll_into(cx, buf, |place| self.receive(place)).map_ok(drop)
            }

            /// As [`recv`](Self::recv), without waiting.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing, and those of the system.
            pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.io.registration().try_io(Interest::READABLE, || self.io.recv(buf))
            }

            /// As [`recv`](Self::recv), to the end of a buffer.
            ///
            /// The datagram gets the room that the buffer has. Only a buffer that is full grows,
            /// and not to the datagram's length. So reserve room for the longest datagram before.
            ///
            /// # Errors
            /// As [`recv`](Self::recv).
            ///
            /// # Cancellation safety
            /// No datagram is lost if the future is dropped.
            pub async fn recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                let receive = || append(buf, |place| Ok((self.receive(place)?, ())));
                Ok(self.io.registration().async_io(Interest::READABLE, receive).await?.0)
            }

            /// As [`recv_buf`](Self::recv_buf), without waiting.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing, and those of the system.
            pub fn try_recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                let receive = || append(buf, |place| Ok((self.receive(place)?, ())));
                Ok(self.io.registration().try_io(Interest::READABLE, receive)?.0)
            }

            /// Receives a datagram and the address of its sender. What of it does not fit into
            /// `buf` is lost.
            ///
            /// # Errors
            /// Those of the system.
            ///
            /// # Cancellation safety
            /// No datagram is lost if the future is dropped.
            pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, $Addr)> {
                let receive = || self.io.recv_from(buf);
                let (count, addr) =
                    self.io.registration().async_io(Interest::READABLE, receive).await?;
                Ok((count, addr.into()))
            }

            /// Polls for [`recv_from`](Self::recv_from). The last caller that would receive is
            /// woken.
            ///
            /// # Errors
            /// As [`recv_from`](Self::recv_from).
            pub fn poll_recv_from(
                &self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<$Addr>> {
                let mut sender = None;
                ready!(self.poll_into(cx, buf, |place| {
                    let (count, addr) = self.receive_from(place)?;
                    sender = Some(addr);
                    Ok(count)
                }))?;
                let Some(sender) = sender else { unreachable!("it was received") };
                Poll::Ready(Ok(sender))
            }

            /// As [`recv_from`](Self::recv_from), without waiting.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing, and those of the system.
            pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, $Addr)> {
                let receive = || self.io.recv_from(buf);
                let (count, addr) = self.io.registration().try_io(Interest::READABLE, receive)?;
                Ok((count, addr.into()))
            }

            /// As [`recv_from`](Self::recv_from), to the end of a buffer.
            ///
            /// The datagram gets the room that the buffer has. Only a buffer that is full grows,
            /// and not to the datagram's length. So reserve room for the longest datagram before.
            ///
            /// # Errors
            /// As [`recv_from`](Self::recv_from).
            ///
            /// # Cancellation safety
            /// No datagram is lost if the future is dropped.
            pub async fn recv_buf_from<B: BufMut>(
                &self,
                buf: &mut B,
            ) -> io::Result<(usize, $Addr)> {
                let receive = || append(buf, |place| self.receive_from(place));
                self.io.registration().async_io(Interest::READABLE, receive).await
            }

            /// As [`recv_buf_from`](Self::recv_buf_from), without waiting.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing, and those of the system.
            pub fn try_recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, $Addr)> {
                let receive = || append(buf, |place| self.receive_from(place));
                self.io.registration().try_io(Interest::READABLE, receive)
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

            /// Gives the socket to the standard library's type. It is not in blocking mode.
            ///
            /// # Errors
            /// If the descriptor was closed by somebody else.
            pub fn into_std(self) -> io::Result<net::$Socket> {
                Ok(self.io.into_inner()?.into())
            }

            /// The address of this side.
            ///
            /// # Errors
            /// Those of the system.
            pub fn local_addr(&self) -> io::Result<$Addr> {
                self.io.local_addr().map(Into::into)
            }

            /// The address to which the socket is connected.
            ///
            /// # Errors
            /// Those of the system, if it is to none.
            pub fn peer_addr(&self) -> io::Result<$Addr> {
                self.io.peer_addr().map(Into::into)
            }

            /// The error of the socket that nobody has fetched yet, if there is one.
            ///
            /// # Errors
            /// Those of the system.
            pub fn take_error(&self) -> io::Result<Option<io::Error>> {
                self.io.take_error()
            }

            fn receive(&self, place: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
                self.io.try_io(|| SockRef::from(&*self.io).recv(place))
            }

            /// Has `receive` write to the unfilled part of a buffer. It returns how many bytes it
            /// has written to the front, and writes nothing else.
            fn poll_into(
                &self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
                mut receive: impl FnMut(&mut [MaybeUninit<u8>]) -> io::Result<usize>,
            ) -> Poll<io::Result<usize>> {
                let count = ready!(self.io.registration().poll_io(cx, Direction::Read, || {
                    // SAFETY: `receive` writes nothing but what it has received.
                    receive(unsafe { buf.unfilled_mut() })
                }))?;
                // SAFETY: so many bytes were written to the front of the unfilled part.
                unsafe { buf.assume_init(count) };
                buf.advance(count);
                Poll::Ready(Ok(count))
            }
        }

        /// Has `receive` write to the free part of a buffer. It returns how many bytes it has
        /// written to the front, and writes nothing else.
        fn append<B: BufMut, A>(
            buf: &mut B,
            receive: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<(usize, A)>,
        ) -> io::Result<(usize, A)> {
            // SAFETY: `receive` writes nothing but what it has received.
            let place = unsafe { buf.chunk_mut().as_uninit_slice_mut() };
            let (count, addr) = receive(place)?;
            // SAFETY: so many bytes were written to the front of the chunk.
            unsafe { buf.advance_mut(count) };
            Ok((count, addr))
        }

        impl TryFrom<net::$Socket> for $Socket {
            type Error = io::Error;

            #[doc = concat!("As [`", stringify!($Socket), "::from_std`].")]
            fn try_from(socket: net::$Socket) -> io::Result<Self> {
                Self::from_std(socket)
            }
        }

        impl fmt::Debug for $Socket {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (*self.io).fmt(f)
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsFd for $Socket {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.io.as_fd()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $Socket {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.io.as_raw_fd()
            }
        }
    };
}

pub(super) use datagrams;
