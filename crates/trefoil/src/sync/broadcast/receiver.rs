//! The receiver, and how it waits.

use super::error::{RecvError, TryRecvError};
use super::ring::Ring;
use crate::scheduler::block_on;
use crate::sync::sleeper::Sleeper;
use crate::task::coop;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Receives all that is sent after it was made.
///
/// Values that it has not received when it is dropped are dropped with it, if no other receiver
/// waits for them.
pub struct Receiver<T> {
    ring: Arc<Ring<T>>,
    /// The position of the next value.
    next: u64,
}

impl<T> Receiver<T> {
    /// The one that is counted already.
    pub(super) fn first(ring: Arc<Ring<T>>) -> Self {
        Self { ring, next: 0 }
    }

    pub(super) fn another(ring: &Arc<Ring<T>>) -> Self {
        let ring = Arc::clone(ring);
        let next = ring.add_receiver();
        Self { ring, next }
    }

    /// How many values were sent that this receiver has not received. If these are more than the
    /// channel's capacity, it lags.
    pub fn len(&self) -> usize {
        usize::try_from(self.ring.end() - self.next).unwrap_or(usize::MAX)
    }

    /// Whether this receiver has received all values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both receivers are of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ring, &other.ring)
    }

    /// How many senders there are, without the weak ones.
    pub fn sender_strong_count(&self) -> usize {
        self.ring.sender_count()
    }

    /// How many weak senders there are.
    pub fn sender_weak_count(&self) -> usize {
        self.ring.weak_sender_count()
    }

    /// Whether all senders are dropped. There may still be values to receive.
    pub fn is_closed(&self) -> bool {
        self.sender_strong_count() == 0
    }
}

impl<T: Clone> Receiver<T> {
    /// A new receiver of this channel, for what is sent from now on.
    ///
    /// ```
    /// let (sender, mut receiver) = trefoil::sync::broadcast::channel(4);
    /// sender.send("old").unwrap();
    /// let mut newer = receiver.resubscribe();
    /// sender.send("new").unwrap();
    /// assert_eq!((receiver.try_recv(), newer.try_recv()), (Ok("old"), Ok("new")));
    /// ```
    pub fn resubscribe(&self) -> Self {
        Self::another(&self.ring)
    }

    /// Waits for the next value.
    ///
    /// # Errors
    /// [`Lagged`](RecvError::Lagged) if the receiver was too slow: it has missed that many values,
    /// and goes on with the oldest that is kept. [`Closed`](RecvError::Closed) if all senders are
    /// dropped, and all values were received.
    ///
    /// # Cancellation safety
    /// A future that is dropped before it has returned has received nothing.
    pub async fn recv(&mut self) -> Result<T, RecvError> {
        Recv { receiver: self, sleeper: Sleeper::asleep() }.await
    }

    /// Takes the next value, without waiting.
    ///
    /// # Errors
    /// [`Empty`](TryRecvError::Empty) if it was not sent yet, and else those of
    /// [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        // SAFETY: there is no sleeper.
        unsafe { self.ring.receive(&mut self.next, None) }
    }

    /// Blocks the thread until there is a value.
    ///
    /// # Errors
    /// Those of [`recv`](Self::recv).
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    ///
    /// ```
    /// let (sender, mut receiver) = trefoil::sync::broadcast::channel(4);
    /// let thread = std::thread::spawn(move || receiver.blocking_recv());
    /// sender.send(5).unwrap();
    /// assert_eq!(thread.join().unwrap(), Ok(5));
    /// ```
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        block_on::blocking(self.recv())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.ring.drop_receiver(self.next);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// The future of [`Receiver::recv`].
struct Recv<'a, T> {
    receiver: &'a mut Receiver<T>,
    sleeper: Sleeper,
}

impl<T: Clone> Future for Recv<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let budget = ready!(coop::poll_proceed(cx));
        // SAFETY: nothing is moved out of the pinned value.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: it is a part of the pinned future.
        let sleeper = unsafe { Pin::new_unchecked(&this.sleeper) };
        let Receiver { ring, next } = this.receiver;
        // SAFETY: the sleeper is this future's, of one channel, and `drop` calls `leave`.
        let result = match unsafe { ring.receive(next, Some((sleeper, cx.waker()))) } {
            Ok(value) => Ok(value),
            Err(TryRecvError::Empty) => return Poll::Pending,
            Err(TryRecvError::Closed) => Err(RecvError::Closed),
            Err(TryRecvError::Lagged(missed)) => Err(RecvError::Lagged(missed)),
        };
        budget.made_progress();
        Poll::Ready(result)
    }
}

impl<T> Drop for Recv<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the sleeper is only used with this channel.
        unsafe { self.receiver.ring.leave(&self.sleeper) };
    }
}
