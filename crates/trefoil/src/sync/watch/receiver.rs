//! The receiver, and how it waits.

use super::Ref;
use super::error::RecvError;
use super::shared::{Shared, Version};
use crate::sync::sleeper::Sleeper;
use crate::task::coop;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Sees the latest value, and waits for newer ones.
///
/// A clone has seen what the original has seen.
#[derive(Debug)]
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    seen: Version,
}

impl<T> Receiver<T> {
    /// The one that is counted already.
    pub(super) fn first(shared: Arc<Shared<T>>) -> Self {
        Self { shared, seen: Version::FIRST }
    }

    pub(super) fn another(shared: &Arc<Shared<T>>, seen: Version) -> Self {
        let shared = Arc::clone(shared);
        shared.add_receiver();
        Self { shared, seen }
    }

    /// The latest value. It does not count as seen by this. See [`Ref`] for what it keeps from
    /// others.
    pub fn borrow(&self) -> Ref<'_, T> {
        let value = self.shared.value.read();
        // While the value is locked, its version does not change.
        let has_changed = self.shared.look().version() != self.seen;
        Ref { value, has_changed }
    }

    /// The latest value, which counts as seen from now on. See [`Ref`] for what it keeps from
    /// others.
    ///
    /// In a loop with [`changed`](Self::changed), this is better than [`borrow`](Self::borrow): if
    /// another value comes between the two calls, the loop does not run once more for it.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        look_and_update(&self.shared, &mut self.seen)
    }

    /// Whether there is a value that was not seen, even if it equals the one before.
    ///
    /// # Errors
    /// All senders are dropped, whether the last value was seen or not.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let seen = self.shared.look();
        if seen.is_closed() { Err(RecvError(())) } else { Ok(seen.version() != self.seen) }
    }

    /// Whether all senders are dropped.
    pub fn is_closed(&self) -> bool {
        self.shared.look().is_closed()
    }

    /// Makes the latest value one that was not seen: the next [`changed`](Self::changed) returns at
    /// once.
    pub fn mark_changed(&mut self) {
        self.seen = self.shared.look().version().before();
    }

    /// Makes the latest value one that was seen, without a look at it.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.look().version();
    }

    /// Waits for a value that was not seen, and marks it as seen. Returns at once if there is one.
    ///
    /// # Errors
    /// All senders are dropped, and the last value was seen.
    ///
    /// # Cancellation safety
    /// A future that is dropped before it has returned has marked nothing as seen.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (sender, mut receiver) = trefoil::sync::watch::channel(1);
    /// trefoil::spawn(async move { sender.send(2) });
    /// receiver.changed().await.unwrap();
    /// assert_eq!(*receiver.borrow(), 2);
    /// assert!(receiver.changed().await.is_err());
    /// # }
    /// ```
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        Changed::new(&self.shared, &mut self.seen).await
    }

    /// Waits for a value for which `is_it` returns true, and marks it as seen. `is_it` is called
    /// with the present value first, even if it was seen, and then with the latest one whenever
    /// there is a newer one. It must not use this channel to send: the value is locked.
    ///
    /// See [`Ref`] for what the returned borrow keeps from others.
    ///
    /// # Errors
    /// All senders are dropped, and `is_it` has returned false for the last value.
    ///
    /// # Panics
    /// If `is_it` does.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it has returned, `is_it` has returned false for the last
    /// value that is marked as seen.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (sender, mut receiver) = trefoil::sync::watch::channel(1);
    /// trefoil::spawn(async move {
    ///     for n in 2..100 {
    ///         sender.send(n).unwrap();
    ///         trefoil::task::yield_now().await;
    ///     }
    /// });
    /// assert!(*receiver.wait_for(|n| *n >= 17).await.unwrap() >= 17);
    /// # }
    /// ```
    pub async fn wait_for(
        &mut self,
        mut is_it: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvError> {
        let Self { shared, seen } = self;
        coop::consume_budget().await;
        let mut is_closed = false;
        loop {
            {
                let value = look_and_update(shared, seen);
                // After the end, the value was shown already, unless it is new.
                if (!is_closed || value.has_changed()) && is_it(&value) {
                    return Ok(value);
                }
            }
            if is_closed {
                return Err(RecvError(()));
            }
            is_closed = Changed::new(shared, seen).await.is_err();
        }
    }

    /// Whether both receivers are of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

fn look_and_update<'a, T>(shared: &'a Shared<T>, seen: &mut Version) -> Ref<'a, T> {
    let value = shared.value.read();
    // While the value is locked, its version does not change.
    let version = shared.look().version();
    let has_changed = std::mem::replace(seen, version) != version;
    Ref { value, has_changed }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self::another(&self.shared, self.seen)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.drop_receiver();
    }
}

/// The future of [`Receiver::changed`].
struct Changed<'a, T> {
    shared: &'a Shared<T>,
    seen: &'a mut Version,
    sleeper: Sleeper,
}

impl<'a, T> Changed<'a, T> {
    fn new(shared: &'a Shared<T>, seen: &'a mut Version) -> Self {
        Self { shared, seen, sleeper: Sleeper::asleep() }
    }
}

impl<T> Future for Changed<'_, T> {
    type Output = Result<(), RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let budget = ready!(coop::poll_proceed(cx));
        // SAFETY: nothing is moved out of the pinned value.
        let this = unsafe { self.get_unchecked_mut() };
        let result = loop {
            let now = this.shared.look();
            if now.version() != *this.seen {
                *this.seen = now.version();
                break Ok(());
            }
            if now.is_closed() {
                break Err(RecvError(()));
            }
            // SAFETY: it is a part of the pinned future.
            let sleeper = unsafe { Pin::new_unchecked(&this.sleeper) };
            // SAFETY: the sleeper is this future's, of one channel, and `drop` calls `leave`.
            if unsafe { this.shared.begin_to_wait(*this.seen, sleeper, cx.waker()) } {
                return Poll::Pending;
            }
        };
        budget.made_progress();
        Poll::Ready(result)
    }
}

impl<T> Drop for Changed<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the sleeper is only used with this channel.
        unsafe { self.shared.leave(&self.sleeper) };
    }
}
