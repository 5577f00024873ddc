//! The two halves of a connection, which borrow it or own it together.

/// Makes the four types of halves for a connection with addresses of type `$Addr`.
macro_rules! halves {
    ($Connection:ident, $Addr:ty, $what:literal) => {
        use super::$Connection;
        use crate::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
        use bytes::BufMut;
        use std::error::Error;
        use std::fmt;
        use std::io::{self, IoSlice, IoSliceMut};
        use std::pin::Pin;
        use std::sync::Arc;
        use std::task::{Context, Poll};

        #[doc = concat!("The half of a ", $what, " that reads, and borrows it.")]
        #[derive(Debug)]
        pub struct ReadHalf<'a>(pub(super) &'a $Connection);

        #[doc = concat!("The half of a ", $what, " that writes, and borrows it.")]
        #[derive(Debug)]
        pub struct WriteHalf<'a>(pub(super) &'a $Connection);

        #[doc = concat!("The half of a ", $what, " that reads, and shares it with the other half.")]
        #[derive(Debug)]
        pub struct OwnedReadHalf(Arc<$Connection>);

        #[doc = concat!("The half of a ", $what, " that writes, and shares it with the other half.")]
        ///
        /// The drop ends the writes, as `shutdown` does, unless it is by
        /// [`forget`](Self::forget).
        #[derive(Debug)]
        pub struct OwnedWriteHalf {
            inner: Arc<$Connection>,
            ends_writes: bool,
        }

        /// The halves are of two different connections. Both are given back.
        #[derive(Debug)]
        pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

        impl fmt::Display for ReuniteError {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the two halves are not of the same connection")
            }
        }

        impl Error for ReuniteError {}

        pub(super) fn split(connection: $Connection) -> (OwnedReadHalf, OwnedWriteHalf) {
            let inner = Arc::new(connection);
            (OwnedReadHalf(Arc::clone(&inner)), OwnedWriteHalf { inner, ends_writes: true })
        }

        fn reunite(
            read: OwnedReadHalf,
            write: OwnedWriteHalf,
        ) -> Result<$Connection, ReuniteError> {
            if !Arc::ptr_eq(&read.0, &write.inner) {
                return Err(ReuniteError(read, write));
            }
            write.forget();
            // Only the two halves have it, and no half can be cloned.
            let Some(connection) = Arc::into_inner(read.0) else {
                unreachable!("there are two halves")
            };
            Ok(connection)
        }

        impl OwnedReadHalf {
            /// Puts the two halves together again.
            ///
            /// # Errors
            /// If they are not of the same connection.
            pub fn reunite(self, other: OwnedWriteHalf) -> Result<$Connection, ReuniteError> {
                reunite(self, other)
            }

            fn connection(&self) -> &$Connection {
                &self.0
            }
        }

        impl OwnedWriteHalf {
            /// Puts the two halves together again.
            ///
            /// # Errors
            /// If they are not of the same connection.
            pub fn reunite(self, other: OwnedReadHalf) -> Result<$Connection, ReuniteError> {
                reunite(other, self)
            }

            /// Drops this half without ending the writes. The connection is open for as long as the
            /// other half is.
            pub fn forget(mut self) {
                self.ends_writes = false;
            }

            fn connection(&self) -> &$Connection {
                &self.inner
            }
        }

        impl Drop for OwnedWriteHalf {
            fn drop(&mut self) {
                // The connection is also the parent's, which is to keep it.
                if self.ends_writes && self.inner.is_of_this_process() {
                    // It fails if the other side has gone, whom one need not tell.
                    let _ = self.inner.end_writes();
                }
            }
        }

        impl ReadHalf<'_> {
            fn connection(&self) -> &$Connection {
                self.0
            }
        }

        impl WriteHalf<'_> {
            fn connection(&self) -> &$Connection {
                self.0
            }
        }

        macro_rules! both {
            ($Half:ty) => {
                impl $Half {
                    /// Waits until one of the operations in `interest` may succeed: see
                    #[doc = concat!("[`", stringify!($Connection), "::ready`].")]
                    ///
                    /// # Errors
                    /// If the runtime has shut down.
                    ///
                    /// # Cancellation safety
                    /// Nothing is lost if the future is dropped.
                    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                        self.connection().ready(interest).await
                    }

                    /// The address of the other side.
                    ///
                    /// # Errors
                    /// Those of the system.
                    pub fn peer_addr(&self) -> io::Result<$Addr> {
                        self.connection().peer_addr()
                    }

                    /// The address of this side.
                    ///
                    /// # Errors
                    /// Those of the system.
                    pub fn local_addr(&self) -> io::Result<$Addr> {
                        self.connection().local_addr()
                    }
                }

                impl AsRef<$Connection> for $Half {
                    fn as_ref(&self) -> &$Connection {
                        self.connection()
                    }
                }
            };
        }

        macro_rules! reads {
            ($Half:ty) => {
                both!($Half);

                impl $Half {
                    /// Waits until there may be something to read.
                    ///
                    /// # Errors
                    /// If the runtime has shut down.
                    ///
                    /// # Cancellation safety
                    /// Nothing is lost if the future is dropped.
                    pub async fn readable(&self) -> io::Result<()> {
                        self.connection().readable().await
                    }

                    /// Reads what there is, without waiting.
                    ///
                    /// # Errors
                    /// `WouldBlock` if there is nothing, and those of the system.
                    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                        self.connection().try_read(buf)
                    }

                    /// As [`try_read`](Self::try_read), into several buffers.
                    ///
                    /// # Errors
                    /// As [`try_read`](Self::try_read).
                    pub fn try_read_vectored(
                        &self,
                        bufs: &mut [IoSliceMut<'_>],
                    ) -> io::Result<usize> {
                        self.connection().try_read_vectored(bufs)
                    }

                    /// As [`try_read`](Self::try_read), to the end of a buffer that grows.
                    ///
                    /// # Errors
                    /// As [`try_read`](Self::try_read).
                    pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                        self.connection().try_read_buf(buf)
                    }
                }

                impl AsyncRead for $Half {
                    fn poll_read(
                        self: Pin<&mut Self>,
                        cx: &mut Context<'_>,
                        buf: &mut ReadBuf<'_>,
                    ) -> Poll<io::Result<()>> {
                        self.connection().poll_read_here(cx, buf)
                    }
                }
            };
        }

        macro_rules! writes {
            ($Half:ty, $this:ident => $shut_down:expr) => {
                both!($Half);

                impl $Half {
                    /// Waits until there may be room to write.
                    ///
                    /// # Errors
                    /// If the runtime has shut down.
                    ///
                    /// # Cancellation safety
                    /// Nothing is lost if the future is dropped.
                    pub async fn writable(&self) -> io::Result<()> {
                        self.connection().writable().await
                    }

                    /// Writes what there is room for, without waiting.
                    ///
                    /// # Errors
                    /// `WouldBlock` if there is no room, and those of the system.
                    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                        self.connection().try_write(buf)
                    }

                    /// As [`try_write`](Self::try_write), from several buffers.
                    ///
                    /// # Errors
                    /// As [`try_write`](Self::try_write).
                    pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                        self.connection().try_write_vectored(bufs)
                    }
                }

                impl AsyncWrite for $Half {
                    fn poll_write(
                        self: Pin<&mut Self>,
                        cx: &mut Context<'_>,
                        buf: &[u8],
                    ) -> Poll<io::Result<usize>> {
                        self.connection().poll_write_here(cx, buf)
                    }

                    fn poll_write_vectored(
                        self: Pin<&mut Self>,
                        cx: &mut Context<'_>,
                        bufs: &[IoSlice<'_>],
                    ) -> Poll<io::Result<usize>> {
                        self.connection().poll_write_vectored_here(cx, bufs)
                    }

                    fn is_write_vectored(&self) -> bool {
                        true
                    }

                    fn poll_flush(
                        self: Pin<&mut Self>,
                        _cx: &mut Context<'_>,
                    ) -> Poll<io::Result<()>> {
                        Poll::Ready(Ok(()))
                    }

                    fn poll_shutdown(
                        self: Pin<&mut Self>,
                        _cx: &mut Context<'_>,
                    ) -> Poll<io::Result<()>> {
                        let $this = self.get_mut();
                        Poll::Ready($shut_down)
                    }
                }
            };
        }

        reads!(ReadHalf<'_>);
        reads!(OwnedReadHalf);
        writes!(WriteHalf<'_>, this => this.0.end_writes());
        writes!(OwnedWriteHalf, this => {
            let ended = this.inner.end_writes();
            if ended.is_ok() {
                this.ends_writes = false;
            }
            ended
        });
    };
}

pub(super) use halves;
