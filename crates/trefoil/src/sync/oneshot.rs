//! A channel for one value.

use crate::context;
use crate::primitives::UnsafeCell;
use crate::primitives::atomic::{AcqRel, Acquire, AtomicU32};
use crate::scheduler::block_on;
use crate::task::coop;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use error::{RecvError, TryRecvError};

#[cfg(all(test, loom))]
mod loom_tests;

/// The sender is done: the value is there, or never will be. Set by the
/// sender, unless `CLOSED` is; after that, the value is the receiver's.
const DONE: u32 = 1;
/// The receiver takes no value that is not there yet. Set by the receiver. If
/// `DONE` is not set by then, it never will be, and the value is the sender's.
const CLOSED: u32 = 1 << 1;
/// The receiver's waker is in its cell. Changed by the receiver; the sender
/// reads the cell if it sees this when it sets `DONE`.
const RECEIVER_WAITS: u32 = 1 << 2;
/// The sender's waker is in its cell. Changed by the sender; the receiver
/// reads the cell if it sees this when it sets `CLOSED`.
const SENDER_WAITS: u32 = 1 << 3;

struct Shared<T> {
    /// RMW only; all `AcqRel`, so that each bit hands over the cells it speaks
    /// of.
    state: AtomicU32,
    value: UnsafeCell<Option<T>>,
    receiver: UnsafeCell<Option<Waker>>,
    sender: UnsafeCell<Option<Waker>>,
}

// SAFETY: the value goes from one thread to another, for which `T: Send` is
// enough; the cells are handed over by the bits of `state`.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

/// Sends the value.
///
/// Dropping it without sending makes the receiver return an error.
pub struct Sender<T> {
    shared: Option<Arc<Shared<T>>>,
}

/// Receives the value, as a future.
///
/// # Cancellation safety
/// `&mut receiver` can be awaited in a `select!`: the value is not lost.
///
/// # Panics
/// When polled after it has returned.
pub struct Receiver<T> {
    shared: Option<Arc<Shared<T>>>,
}

/// Makes a channel for one value.
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
        // Acquire: pairs with the AcqRel of whoever set the bits.
        self.state.load(Acquire)
    }

    /// The sender is done. False if the receiver has closed before.
    fn finish(&self) -> bool {
        // Were both bits set whatever came first, nobody could tell any more
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
                    waker.wake_by_ref();
                }
            });
        }
        true
    }

    /// # Safety
    /// The caller owns the value's cell: the receiver, once it has seen `DONE`;
    /// the sender, as long as it has not set that.
    unsafe fn take(&self) -> Option<T> {
        // SAFETY: the caller's promise.
        self.value.with_mut(|value| unsafe { Option::take(&mut *value) })
    }

    /// The receiver will take nothing.
    fn close(&self) -> u32 {
        let before = self.state.fetch_or(CLOSED, AcqRel);
        if before & (DONE | CLOSED) == 0 && before & SENDER_WAITS != 0 {
            self.sender.with(|waker| {
                // SAFETY: the sender does not write to the cell once `CLOSED`
                // is set while `SENDER_WAITS` was.
                if let Some(waker) = unsafe { &*waker } {
                    waker.wake_by_ref();
                }
            });
        }
        before
    }

    /// Waits for a bit that the other side sets.
    ///
    /// # Safety
    /// The caller is the only one to wait through this cell, whose bit is
    /// `waits`, and the other side leaves it alone until it sets `end`.
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
                // SAFETY: only this side writes to it.
                unsafe { &*old }.as_ref().is_some_and(|old| old.will_wake(waker))
            });
            if is_same {
                return Poll::Pending;
            }
            let before = self.state.fetch_and(!waits, AcqRel);
            if before & end != 0 {
                // The other side may be reading the cell: leave it as it is.
                self.state.fetch_or(waits, AcqRel);
                return Poll::Ready(());
            }
        }
        cell.with_mut(|cell| {
            // SAFETY: with `waits` clear, the other side does not look.
            unsafe { *cell = Some(waker.clone()) }
        });
        if self.state.fetch_or(waits, AcqRel) & end != 0 {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl<T> Sender<T> {
    /// Sends the value. Never waits.
    ///
    /// # Errors
    /// The value, if the receiver is gone or closed.
    pub fn send(mut self, value: T) -> Result<(), T> {
        let shared = self.shared.take().expect("a sender sends once");
        shared.value.with_mut(|cell| {
            // SAFETY: the cell is the sender's until it sets `DONE`.
            unsafe { *cell = Some(value) }
        });
        if shared.finish() {
            return Ok(());
        }
        // SAFETY: it was closed before it was done.
        match unsafe { shared.take() } {
            Some(value) => Err(value),
            None => unreachable!("a closed receiver takes nothing"),
        }
    }

    /// Waits until the receiver is gone or closed.
    ///
    /// # Cancellation safety
    /// Yes.
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_closed(cx)).await;
    }

    /// Whether the receiver is gone or closed.
    pub fn is_closed(&self) -> bool {
        self.shared().load() & CLOSED != 0
    }

    /// Polls whether the receiver is gone or closed.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let budget = ready!(coop::poll_proceed(cx));
        let shared = self.shared();
        // SAFETY: the sender's cell, and there is one sender.
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
    /// Keeps the sender from sending. What was sent before can be received.
    pub fn close(&mut self) {
        if let Some(shared) = &self.shared {
            shared.close();
        }
    }

    /// Whether it has returned, successfully or not.
    pub fn is_terminated(&self) -> bool {
        self.shared.is_none()
    }

    /// Whether there is nothing to be received at the moment.
    pub fn is_empty(&self) -> bool {
        let Some(shared) = &self.shared else { return true };
        if shared.load() & DONE == 0 {
            return true;
        }
        // SAFETY: `DONE` makes the cell the receiver's.
        shared.value.with(|value| unsafe { &*value }.is_none())
    }

    /// Takes the value if it is there.
    ///
    /// # Errors
    /// It is not there, or never will be.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let Some(shared) = &self.shared else { return Err(TryRecvError::Closed) };
        let seen = shared.load();
        if seen & DONE != 0 {
            // SAFETY: `DONE` makes the cell the receiver's.
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

    /// Waits for the value, blocking the thread.
    ///
    /// # Errors
    /// The sender was dropped without sending.
    ///
    /// # Panics
    /// In asynchronous code.
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        let _entered = context::enter_blocking_section();
        block_on::wait(self)
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let budget = ready!(coop::poll_proceed(cx));
        let shared =
            self.shared.as_ref().expect("a oneshot receiver was polled after it had returned");
        if shared.load() & (DONE | CLOSED) != CLOSED {
            // SAFETY: the receiver's cell, and there is one receiver.
            ready!(unsafe { shared.wait(&shared.receiver, RECEIVER_WAITS, DONE, cx.waker()) });
        }
        budget.made_progress();
        let value = if shared.load() & DONE != 0 {
            // SAFETY: `DONE` makes the cell the receiver's.
            unsafe { shared.take() }
        } else {
            // Closed before anything was sent.
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
            // SAFETY: `DONE` makes the cell the receiver's.
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
    //! What can go wrong with a oneshot channel.

    use std::error::Error;
    use std::fmt;

    /// The sender was dropped without sending.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RecvError(pub(super) ());

    /// There is nothing to take.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum TryRecvError {
        /// Nothing was sent yet.
        Empty,
        /// Nothing will be sent any more.
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
