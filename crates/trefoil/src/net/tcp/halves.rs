//! The halves of a [`TcpStream`].

use std::net::SocketAddr;

crate::net::halves::halves!(TcpStream, SocketAddr, "TCP connection");

macro_rules! peeks {
    ($Half:ty) => {
        impl $Half {
            /// Polls for [`peek`](Self::peek).
            ///
            /// # Errors
            /// Those of the system.
            pub fn poll_peek(
                &mut self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<usize>> {
                self.connection().poll_peek(cx, buf)
            }

            /// Reads what there is, and leaves it there for the next read: see
            /// [`TcpStream::peek`].
            ///
            /// # Errors
            /// Those of the system.
            ///
            /// # Cancellation safety
            /// Nothing is lost if the future is dropped.
            pub async fn peek(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                let mut buf = ReadBuf::new(buf);
                std::future::poll_fn(|cx| self.poll_peek(cx, &mut buf)).await
            }
        }
    };
}

peeks!(ReadHalf<'_>);
peeks!(OwnedReadHalf);
