//! A channel for one value, between two tasks or threads.

use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{AcqRel, Acquire, AtomicU32};
use crate::scheduler::block_on;
use crate::task::{coop, wake_by_ref_guarded};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use error::{RecvError, TryRecvError};

#[cfg(all(test, loom))]
mod loom_tests;

/// The sender has sent the value or was dropped. The sender sets this, unless `CLOSED` is set. From
/// then on, the value's cell is the receiver's.
const DONE: u32 = 1;
/// The receiver takes no value that has not been sent. The receiver sets this. If `DONE` is not set
/// by then, it is never set, and the value's cell stays the sender's.
const CLOSED: u32 = 1 << 1;
/// The receiver's waker is in its cell. The receiver changes this. The sender reads the cell if it
/// sees this when it sets `DONE`.
const RECEIVER_WAITS: u32 = 1 << 2;
/// The sender's waker is in its cell. The sender changes this. The receiver reads the cell if it
/// sees this when it sets `CLOSED`.
const SENDER_WAITS: u32 = 1 << 3;

struct Shared<T> {
    /// Only changed by RMWs. All of them are `AcqRel`, so that each bit hands over the cells that
    /// it stands for.
    state: AtomicU32,
    value: UnsafeCell<Option<T>>,
    receiver: UnsafeCell<Option<Waker>>,
    sender: UnsafeCell<Option<Waker>>,
}

// SAFETY: whichever thread drops this drops the value, for which `T: Send` is enough; wakers are
// `Send`.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: the bits of `state` give each cell to one thread at a time. The value moves from one
// thread to another and is never shared, so `T: Send` is enough; wakers are `Sync`.
unsafe impl<T: Send> Sync for Shared<T> {}

/// Sends the value.
///
/// If the sender is dropped before it has sent the value, the receiver gets an error.
pub struct Sender<T> {
    shared: Option<Arc<Shared<T>>>,
}

/// Receives the value: a future that returns it, or an error if the sender was dropped without
/// sending.
///
/// # Cancellation safety
/// No value is lost if `&mut receiver` is awaited, in a `select!` for example. A value that was
/// sent is dropped with the receiver.
///
/// # Panics
/// If it is polled after it has returned.
pub struct Receiver<T> {
    shared: Option<Arc<Shared<T>>>,
}

/// Makes a channel for one value.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() {
/// let (sender, receiver) = trefoil::sync::oneshot::channel();
/// trefoil::spawn(async move { sender.send(42) });
/// assert_eq!(receiver.await, Ok(42));
/// # }
/// ```
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        state: AtomicU32::new(0),
        value: UnsafeCell::new(None),
        receiver: UnsafeCell::new(None),
        sender: UnsafeCell::new(None),
    });
    (Sender { shared: Some(Arc::clone(&shared)) }, Receiver { shared: Some(shared) })
}

impl<T> Shared<T> {
    fn load(&self) -> u32 {
        // Acquire: pairs with the AcqRel of the other side's changes.
        self.state.load(Acquire)
    }

    /// Sets `DONE`. False if the receiver has set `CLOSED` before.
    fn finish(&self) -> bool {
        // A CAS and not a `fetch_or`: if both bits could be set in either order, they would not say
        // whose the value is.
        let mut before = self.load();
        loop {
            if before & CLOSED != 0 {
                return false;
            }
            match self.state.compare_exchange(before, before | DONE, AcqRel, Acquire) {
                Ok(_) => break,
                Err(now) => before = now,
            }
        }
        if before & RECEIVER_WAITS != 0 {
            self.receiver.with(|waker| {
                // SAFETY: the receiver does not write to the cell once `DONE`
                // is set while `RECEIVER_WAITS` was.
                if let Some(waker) = unsafe { &*waker } {
                    wake_by_ref_guarded(waker);
                }
            });
        }
        true
    }

    /// # Safety
    /// The value's cell is the caller's: the receiver's when it has seen `DONE`, and the sender's
    /// while it has not set that.
    unsafe fn take(&self) -> Option<T> {
        // SAFETY: the caller promises that the cell is its own.
        self.value.with_mut(|value| unsafe { Option::take(&mut *value) })
    }

    /// Sets `CLOSED`, and returns the state before.
    fn close(&self) -> u32 {
        let before = self.state.fetch_or(CLOSED, AcqRel);
        if before & (DONE | CLOSED) == 0 && before & SENDER_WAITS != 0 {
            self.sender.with(|waker| {
                // SAFETY: the sender does not write to the cell once `CLOSED`
                // is set while `SENDER_WAITS` was.
                if let Some(waker) = unsafe { &*waker } {
                    wake_by_ref_guarded(waker);
                }
            });
        }
        before
    }

    /// Waits for the bit `end`, which the other side sets.
    ///
    /// # Safety
    /// Only the caller waits with this cell, whose bit is `waits`. The other side does not access
    /// the cell before it sets `end`.
    unsafe fn wait(
        &self,
        cell: &UnsafeCell<Option<Waker>>,
        waits: u32,
        end: u32,
        waker: &Waker,
    ) -> Poll<()> {
        let seen = self.load();
        if seen & end != 0 {
            return Poll::Ready(());
        }
        if seen & waits != 0 {
            let is_same = cell.with(|old| {
                // SAFETY: only this side writes to the cell.
                unsafe { &*old }.as_ref().is_some_and(|old| old.will_wake(waker))
            });
            if is_same {
                return Poll::Pending;
            }
            let before = self.state.fetch_and(!waits, AcqRel);
            if before & end != 0 {
                // The other side may be reading the cell, so it stays as it is.
                self.state.fetch_or(waits, AcqRel);
                return Poll::Ready(());
            }
        }
        cell.with_mut(|cell| {
            // SAFETY: while `waits` is clear, the other side does not access the cell.
            unsafe { *cell = Some(waker.clone()) }
        });
        if self.state.fetch_or(waits, AcqRel) & end != 0 {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl<T> Sender<T> {
    /// Sends the value, without waiting.
    ///
    /// # Errors
    /// Returns the value if the receiver was dropped or closed.
    pub fn send(mut self, value: T) -> Result<(), T> {
        let shared = self.shared.take().expect("a sender sends once");
        shared.value.with_mut(|cell| {
            // SAFETY: the cell is the sender's until it sets `DONE`.
            unsafe { *cell = Some(value) }
        });
        if shared.finish() {
            return Ok(());
        }
        // SAFETY: `DONE` was not set, so the cell is still the sender's.
        match unsafe { shared.take() } {
            Some(value) => Err(value),
            None => unreachable!("a closed receiver takes nothing"),
        }
    }

    /// Waits until the receiver is dropped or closed.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped: it can be made again.
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_closed(cx)).await;
    }

    /// Whether the receiver was dropped or closed.
    pub fn is_closed(&self) -> bool {
        self.shared().load() & CLOSED != 0
    }

    /// Polls whether the receiver was dropped or closed. If not, the task of `cx` is woken when it
    /// is.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let budget = ready!(coop::poll_proceed(cx));
        let shared = self.shared();
        // SAFETY: this is the sender's cell, there is one sender, and the receiver accesses the
        // cell only when it sets `CLOSED`.
        ready!(unsafe { shared.wait(&shared.sender, SENDER_WAITS, CLOSED, cx.waker()) });
        budget.made_progress();
        Poll::Ready(())
    }

    fn shared(&self) -> &Shared<T> {
        self.shared.as_ref().expect("a sender sends once")
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            let _ = shared.finish();
        }
    }
}

impl<T> Receiver<T> {
    /// Keeps the sender from sending. A value that was sent before can still be received.
    pub fn close(&mut self) {
        if let Some(shared) = &self.shared {
            shared.close();
        }
    }

    /// Whether the receiver has returned the value or an error.
    pub fn is_terminated(&self) -> bool {
        self.shared.is_none()
    }

    /// Whether there is no value to receive at the moment.
    pub fn is_empty(&self) -> bool {
        let Some(shared) = &self.shared else { return true };
        if shared.load() & DONE == 0 {
            return true;
        }
        // SAFETY: `DONE` is set, so the cell is the receiver's.
        shared.value.with(|value| unsafe { &*value }.is_none())
    }

    /// Takes the value if it has been sent.
    ///
    /// # Errors
    /// [`Empty`](TryRecvError::Empty) if no value was sent yet, and
    /// [`Closed`](TryRecvError::Closed) if none will be sent any more.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let Some(shared) = &self.shared else { return Err(TryRecvError::Closed) };
        let seen = shared.load();
        if seen & DONE != 0 {
            // SAFETY: `DONE` is set, so the cell is the receiver's.
            let value = unsafe { shared.take() };
            self.shared = None;
            return value.ok_or(TryRecvError::Closed);
        }
        if seen & CLOSED != 0 {
            self.shared = None;
            return Err(TryRecvError::Closed);
        }
        Err(TryRecvError::Empty)
    }

    /// Blocks the thread until the value is sent.
    ///
    /// # Errors
    /// The sender was dropped, and no value was sent.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        block_on::blocking(self)
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let budget = ready!(coop::poll_proceed(cx));
        let shared =
            self.shared.as_ref().expect("a oneshot receiver was polled after it had returned");
        if shared.load() & (DONE | CLOSED) != CLOSED {
            // SAFETY: this is the receiver's cell, there is one receiver, and the sender accesses
            // the cell only when it sets `DONE`.
            ready!(unsafe { shared.wait(&shared.receiver, RECEIVER_WAITS, DONE, cx.waker()) });
        }
        budget.made_progress();
        let value = if shared.load() & DONE != 0 {
            // SAFETY: `DONE` is set, so the cell is the receiver's.
            unsafe { shared.take() }
        } else {
            // The receiver was closed before a value was sent.
            None
        };
        self.shared = None;
        Poll::Ready(value.ok_or(RecvError(())))
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let Some(shared) = &self.shared else { return };
        if shared.close() & DONE != 0 {
            // SAFETY: `DONE` is set, so the cell is the receiver's.
            drop(unsafe { shared.take() });
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

pub mod error {
    //! The errors of a oneshot channel.

    use std::error::Error;
    use std::fmt;

    /// The sender was dropped without sending.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RecvError(pub(super) ());

    /// There is no value to take.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum TryRecvError {
        /// No value was sent yet.
        Empty,
        /// No value will be sent any more.
        Closed,
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the sender was dropped without sending a value")
        }
    }

    impl Error for RecvError {}

    impl fmt::Display for TryRecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(match self {
                Self::Empty => "no value was sent yet",
                Self::Closed => "no value will be sent any more",
            })
        }
    }

    impl Error for TryRecvError {}
}
