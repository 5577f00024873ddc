//! The methods of both receivers.

/// Implements a receiver. A macro, because a trait would have to be public and imported.
macro_rules! receiver {
    ($receiver:ident, $sender:literal, $weak:literal) => {
        impl<T> $receiver<T> {
            /// Receives the next message, and waits for it if need be. `None` if there is none, and
            /// nobody can send any more: all senders were dropped, or [`close`](Self::close) was
            /// called and no permit is left.
            ///
            /// # Cancellation safety
            /// If the future is dropped, it has received nothing.
            pub fn recv(&mut self) -> impl Future<Output = Option<T>> {
                // An `async fn` would be larger, and is not `Unpin`. This is not, either, so that
                // it may become one; the marker takes no room.
                let pinned = std::marker::PhantomPinned;
                std::future::poll_fn(move |cx| {
                    let _ = &pinned;
                    self.rx.poll_recv(cx)
                })
            }

            /// Receives up to `limit` messages into `buffer`, and waits for the first of them if
            /// need be. Returns how many; 0 if `limit` is 0, or if [`recv`](Self::recv) would
            /// return `None`.
            ///
            /// # Cancellation safety
            /// If the future is dropped, it has received nothing.
            pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                std::future::poll_fn(|cx| self.rx.poll_recv_many(cx, buffer, limit)).await
            }

            /// Takes the next message if there is one.
            ///
            /// # Errors
            /// [`Empty`](TryRecvError::Empty) if there is none yet, and
            /// [`Disconnected`](TryRecvError::Disconnected) if there will be none.
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                self.rx.try_recv()
            }

            /// [`recv`](Self::recv), for code that is not asynchronous: blocks the thread.
            ///
            /// # Panics
            /// In asynchronous code, where the thread must not block.
            #[track_caller]
            pub fn blocking_recv(&mut self) -> Option<T> {
                crate::scheduler::block_on::blocking(self.recv())
            }

            /// [`recv_many`](Self::recv_many), for code that is not asynchronous: blocks the
            /// thread.
            ///
            /// # Panics
            /// In asynchronous code, where the thread must not block.
            #[track_caller]
            pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                crate::scheduler::block_on::blocking(self.recv_many(buffer, limit))
            }

            /// Keeps the senders from sending. Messages that were sent before can still be
            /// received, and so can those of permits that were given before.
            pub fn close(&mut self) {
                self.rx.close();
            }

            /// Whether the channel is closed: by [`close`](Self::close), or because all senders
            /// were dropped. There may still be messages.
            pub fn is_closed(&self) -> bool {
                self.rx.is_closed()
            }

            /// Whether there is no message to receive at the moment.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The number of messages that can be received at the moment.
            pub fn len(&self) -> usize {
                self.rx.len()
            }

            /// Polls for the next message: see [`recv`](Self::recv). If there is none, the task of
            /// `cx` is woken when there is, and only that of the last call.
            ///
            /// It is `Pending` for a moment, too, if the task's budget is spent, or a message is
            /// still being written by another thread.
            pub fn poll_recv(
                &mut self,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<T>> {
                self.rx.poll_recv(cx)
            }

            /// Polls for up to `limit` messages: see [`recv_many`](Self::recv_many) and
            /// [`poll_recv`](Self::poll_recv).
            pub fn poll_recv_many(
                &mut self,
                cx: &mut std::task::Context<'_>,
                buffer: &mut Vec<T>,
                limit: usize,
            ) -> std::task::Poll<usize> {
                self.rx.poll_recv_many(cx, buffer, limit)
            }

            #[doc = concat!("The number of [`", $sender, "`]s.")]
            pub fn sender_strong_count(&self) -> usize {
                self.rx.channel().strong_count()
            }

            #[doc = concat!("The number of [`", $weak, "`]s.")]
            pub fn sender_weak_count(&self) -> usize {
                self.rx.channel().weak_count()
            }
        }

        impl<T> fmt::Debug for $receiver<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($receiver))
                    .field("len", &self.len())
                    .field("closed", &self.is_closed())
                    .finish_non_exhaustive()
            }
        }
    };
}

pub(super) use receiver;
