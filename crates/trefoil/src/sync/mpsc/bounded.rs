//! Channels that hold a limited number of messages.

use super::channel::{self, Limit, Rx, Tx, WeakTx};
use super::error::{SendError, SendTimeoutError, TryRecvError, TrySendError};
use super::letter::Letter;
use super::permit::{OwnedPermit, Permit, PermitIterator};
use super::receiver;
use crate::scheduler::block_on;
use crate::sync::permits::{Acquiring, Closed, Permits, TryError};
use crate::task::coop;
use crate::time;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Each message takes a permit, and gives it back when it is received.
pub(super) struct Bounded {
    pub(super) permits: Permits,
    capacity: usize,
}

impl Limit for Bounded {
    /// Those who have permits may still send.
    const CLOSES_QUEUE: bool = false;

    fn received(&self, messages: usize) {
        self.permits.release(messages);
    }

    fn close(&self) {
        self.permits.close();
    }

    fn is_idle(&self) -> bool {
        self.permits.available() == self.capacity
    }
}

/// Sends messages to a [`Receiver`], and waits while the channel is full. Made by [`channel()`].
///
/// When the last clone is dropped, the receiver gets the messages that were sent, and then `None`.
pub struct Sender<T> {
    pub(super) tx: Tx<T, Bounded>,
}

/// A [`Sender`] that does not keep the channel open. Made by [`Sender::downgrade`].
pub struct WeakSender<T> {
    tx: WeakTx<T, Bounded>,
}

/// Receives what the [`Sender`]s send. Made by [`channel()`].
///
/// Messages that were not received are dropped with it, by the thread that drops it.
pub struct Receiver<T> {
    rx: Rx<T, Bounded>,
}

/// A wait that ends without permits may give some back, of which the receiver is told. None once
/// the permits are there.
pub(super) struct GivenUp<'a, T>(pub(super) Option<&'a Tx<T, Bounded>>);

impl<T> Drop for GivenUp<'_, T> {
    fn drop(&mut self) {
        self.0.into_iter().for_each(wake_if_closed);
    }
}

pin_project! {
    /// The future of [`Sender::send`].
    ///
    /// Not an `async fn`, whose future keeps the sender and the message twice, and would have the
    /// one of `reserve` inside: every task that sends is as much larger.
    struct Sending<'a, T> {
        // Dropped in this order: the receiver is told when the permits are back.
        #[pin]
        acquiring: Acquiring<'a>,
        given_up: GivenUp<'a, T>,
        // None once it was sent, or returned.
        message: Option<T>,
    }
}

impl<T> Future for Sending<'_, T> {
    type Output = Result<(), SendError<T>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let acquired = ready!(this.acquiring.poll(cx));
        let tx = this.given_up.0.take();
        let (Some(tx), Some(message)) = (tx, this.message.take()) else {
            panic!("a send was polled after its end");
        };
        Poll::Ready(send_or_return(tx, acquired, message))
    }
}

/// What becomes of a message for which the wait for room is over.
pub(super) fn send_or_return<T>(
    tx: &Tx<T, Bounded>,
    acquired: Result<(), Closed>,
    message: T,
) -> Result<(), SendError<T>> {
    match acquired {
        Ok(()) => {
            Permit::new(tx).send(message);
            Ok(())
        }
        Err(Closed) => {
            drop(GivenUp(Some(tx)));
            Err(SendError(message))
        }
    }
}

/// Makes a channel that holds up to `capacity` messages.
///
/// Senders that wait for room get it in the order in which they asked.
///
/// # Panics
/// If `capacity` is 0 or more than [`Semaphore::MAX_PERMITS`](crate::sync::Semaphore::MAX_PERMITS).
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() {
/// let (sender, mut receiver) = trefoil::sync::mpsc::channel(2);
/// trefoil::spawn(async move {
///     for n in 0..100 {
///         // Waits while there are two messages that were not received.
///         sender.send(n).await.unwrap();
///     }
/// });
/// let mut sum = 0;
/// while let Some(n) = receiver.recv().await {
///     sum += n;
/// }
/// assert_eq!(sum, 4950);
/// # }
/// ```
#[track_caller]
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "a bounded channel has room for at least one message");
    assert!(
        capacity <= Permits::MAX,
        "a bounded channel has room for at most `Semaphore::MAX_PERMITS` messages"
    );
    let (tx, rx) = channel::channel(Bounded { permits: Permits::new(capacity), capacity });
    (Sender { tx }, Receiver { rx })
}

impl<T> Sender<T> {
    /// Sends a message, and waits for room if need be. Senders that wait get room in the order in
    /// which they asked.
    ///
    /// # Errors
    /// Returns the message if the receiver was dropped or closed, also during the wait.
    ///
    /// # Cancellation safety
    /// If the future is dropped, the message is dropped and was not sent, and the sender's place in
    /// the queue is lost. To keep the message, wait for room with [`reserve`](Self::reserve).
    pub fn send(&self, message: T) -> impl Future<Output = Result<(), SendError<T>>> {
        Sending {
            acquiring: self.tx.channel().limit.permits.acquire(1),
            given_up: GivenUp(Some(&self.tx)),
            message: Some(message),
        }
    }

    /// Sends a message if there is room and nobody waits for it.
    ///
    /// # Errors
    /// Returns the message if there is no room, or if the receiver was dropped or closed.
    #[inline]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        match self.try_reserve() {
            Ok(permit) => {
                permit.send(message);
                Ok(())
            }
            Err(TrySendError::Full(())) => Err(TrySendError::Full(message)),
            Err(TrySendError::Closed(())) => Err(TrySendError::Closed(message)),
        }
    }

    /// Sends a message, and waits for room up to `timeout` if need be.
    ///
    /// # Errors
    /// Returns the message if the time ends first, or if the receiver was dropped or closed.
    ///
    /// # Cancellation safety
    /// As [`send`](Self::send).
    ///
    /// # Panics
    /// Outside of a runtime, and in a runtime without `enable_time`.
    pub async fn send_timeout(
        &self,
        message: T,
        timeout: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        match time::timeout(timeout, self.reserve()).await {
            Ok(Ok(permit)) => {
                permit.send(message);
                Ok(())
            }
            Ok(Err(_)) => Err(SendTimeoutError::Closed(message)),
            Err(_) => Err(SendTimeoutError::Timeout(message)),
        }
    }

    /// [`send`](Self::send), for code that is not asynchronous: blocks the thread, or has a fiber
    /// wait.
    ///
    /// The message does not wait for the caller to go on: whoever makes room for it sends it. So a
    /// receiver gets the messages of all that wait here without a turn of theirs.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_send(&self, message: T) -> Result<(), SendError<T>> {
        let letter = Letter::new(&self.tx, message);
        block_on::blocking(letter.send())
    }

    /// Waits until the receiver is dropped or closed.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped: it can be made again.
    pub async fn closed(&self) {
        self.tx.closed(|channel| channel.limit.permits.is_closed()).await;
    }

    /// Whether the receiver was dropped or closed.
    pub fn is_closed(&self) -> bool {
        self.tx.channel().limit.permits.is_closed()
    }

    /// Waits for room for a message. The room is the caller's until the permit is used or dropped.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (sender, mut receiver) = trefoil::sync::mpsc::channel(1);
    /// let permit = sender.reserve().await.unwrap();
    /// // The only room is taken.
    /// assert!(sender.try_send(1).is_err());
    /// permit.send(2);
    /// assert_eq!(receiver.recv().await, Some(2));
    /// # }
    /// ```
    ///
    /// # Errors
    /// The receiver was dropped or closed, also during the wait.
    ///
    /// # Cancellation safety
    /// If the future is dropped, the place in the queue is lost, and nothing else.
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        self.acquire(1).await?;
        Ok(Permit::new(&self.tx))
    }

    /// Waits for room for `n` messages, as [`reserve`](Self::reserve). While it waits, nobody who
    /// asks later gets room.
    ///
    /// # Errors
    /// The receiver was dropped or closed, also during the wait, or the channel never has room for
    /// so many messages.
    ///
    /// # Cancellation safety
    /// As [`reserve`](Self::reserve).
    pub async fn reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, SendError<()>> {
        self.acquire(n).await?;
        Ok(PermitIterator::new(&self.tx, n))
    }

    /// Waits for room for a message, as [`reserve`](Self::reserve). The permit owns this sender,
    /// and gives it back when it is used.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve). The sender is dropped.
    ///
    /// # Cancellation safety
    /// As [`reserve`](Self::reserve). The sender is dropped with the future.
    pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
        self.acquire(1).await?;
        Ok(OwnedPermit::new(self))
    }

    /// A permit, if there is room and nobody waits for it.
    ///
    /// # Errors
    /// There is no room, or the receiver was dropped or closed.
    #[inline]
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        self.try_acquire(1)?;
        Ok(Permit::new(&self.tx))
    }

    /// Permits for `n` messages, if there is room for all of them and nobody waits for it.
    ///
    /// # Errors
    /// There is not enough room, or the receiver was dropped or closed.
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        if n > self.max_capacity() {
            return Err(TrySendError::Full(()));
        }
        self.try_acquire(n)?;
        Ok(PermitIterator::new(&self.tx, n))
    }

    /// A permit that owns this sender, if there is room and nobody waits for it.
    ///
    /// # Errors
    /// Returns the sender if there is no room, or if the receiver was dropped or closed.
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.try_acquire(1) {
            Ok(()) => Ok(OwnedPermit::new(self)),
            Err(TrySendError::Full(())) => Err(TrySendError::Full(self)),
            Err(TrySendError::Closed(())) => Err(TrySendError::Closed(self)),
        }
    }

    /// Whether both send to the same receiver.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.tx.is_same(&other.tx)
    }

    /// For how many messages there is room at the moment. Permits take room as messages do.
    pub fn capacity(&self) -> usize {
        self.tx.channel().limit.permits.available()
    }

    /// For how many messages there is room in an empty channel.
    pub fn max_capacity(&self) -> usize {
        self.tx.channel().limit.capacity
    }

    /// A sender that does not keep the channel open. This one stays.
    #[must_use = "this sender stays, and so does the channel"]
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender { tx: self.tx.downgrade() }
    }

    /// The number of [`Sender`]s, those within permits included.
    pub fn strong_count(&self) -> usize {
        self.tx.channel().strong_count()
    }

    /// The number of [`WeakSender`]s.
    pub fn weak_count(&self) -> usize {
        self.tx.channel().weak_count()
    }

    async fn acquire(&self, n: usize) -> Result<(), SendError<()>> {
        if n > self.max_capacity() {
            coop::consume_budget().await;
            return Err(SendError(()));
        }
        // Made before the wait, and so dropped after it.
        let mut given_up = GivenUp(Some(&self.tx));
        self.tx.channel().limit.permits.acquire(n).await.map_err(|_| SendError(()))?;
        given_up.0 = None;
        Ok(())
    }

    #[inline]
    fn try_acquire(&self, n: usize) -> Result<(), TrySendError<()>> {
        self.tx.channel().limit.permits.try_acquire(n).map_err(|error| match error {
            TryError::TooFew => TrySendError::Full(()),
            TryError::Closed => TrySendError::Closed(()),
        })
    }
}

/// To be called after permits were given back without a message: the receiver of a closed channel
/// may wait for them.
pub(super) fn wake_if_closed<T>(tx: &Tx<T, Bounded>) {
    let channel = tx.channel();
    // Either this sees the receiver's `close`, which comes before its look at the permits, or that
    // look sees these permits: both are changes of one word.
    if channel.limit.permits.is_closed() && channel.limit.is_idle() {
        channel.wake_receiver();
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { tx: self.tx.clone() }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("capacity", &self.capacity())
            .field("max_capacity", &self.max_capacity())
            .field("closed", &self.is_closed())
            .finish()
    }
}

impl<T> WeakSender<T> {
    /// A sender, if there is still one.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.tx.upgrade().map(|tx| Sender { tx })
    }

    /// The number of [`Sender`]s, those within permits included.
    pub fn strong_count(&self) -> usize {
        self.tx.channel().strong_count()
    }

    /// The number of [`WeakSender`]s.
    pub fn weak_count(&self) -> usize {
        self.tx.channel().weak_count()
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self { tx: self.tx.clone() }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender").finish_non_exhaustive()
    }
}

receiver!(Receiver, "Sender", "WeakSender");

impl<T> Receiver<T> {
    /// For how many messages there is room at the moment. Permits take room as messages do.
    pub fn capacity(&self) -> usize {
        self.rx.channel().limit.permits.available()
    }

    /// For how many messages there is room in an empty channel.
    pub fn max_capacity(&self) -> usize {
        self.rx.channel().limit.capacity
    }
}
