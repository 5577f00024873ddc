//! A message whose sender waits for room on its own stack, and that whoever makes room sends.
//!
//! Otherwise, the message would wait for its sender's next turn, and with a channel that is full,
//! the receiver for each message: one switch between the two for each of them; and where both are
//! bound to threads, as fibers are, one wake-up of a thread.
//!
//! The future of `Sender::send` is no such sender: if it is dropped, its message was not sent.

use super::bounded::{Bounded, GivenUp, send_or_return};
use super::channel::Tx;
use super::error::SendError;
use crate::primitives::UnsafeCell;
use crate::sync::permits::{Acquiring, Collected, Parcel};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

#[repr(C)]
pub(super) struct Letter<'a, T> {
    /// First, so that a pointer to this is a pointer to that.
    parcel: Parcel,
    tx: &'a Tx<T, Bounded>,
    /// `None` once it was sent, or returned. It is the sender's, except while the sender is in the
    /// queue for room: then it is for whoever has the lock of the permits.
    message: UnsafeCell<Option<T>>,
}

pin_project! {
    struct Sending<'a, T> {
        // Dropped in this order: the receiver is told when the room is given back.
        #[pin]
        acquiring: Acquiring<'a>,
        given_up: GivenUp<'a, T>,
        letter: &'a Letter<'a, T>,
    }
}

impl<'a, T> Letter<'a, T> {
    pub(super) fn new(tx: &'a Tx<T, Bounded>, message: T) -> Self {
        let parcel = Parcel { collect: collect::<T> };
        Self { parcel, tx, message: UnsafeCell::new(Some(message)) }
    }

    /// Sends the message when there is room. It must not be forgotten: it is for a caller that
    /// keeps it on its stack until it has ended.
    pub(super) fn send(&'a self) -> impl Future<Output = Result<(), SendError<T>>> {
        // A pointer to all of this.
        let parcel = NonNull::from(self).cast::<Parcel>();
        let permits = &self.tx.channel().limit.permits;
        // SAFETY: 1: it borrows the letter, and is not forgotten. 2: by `collect`. Senders of a
        // message that is not `Send` are all on one thread, with the receiver.
        let acquiring = unsafe { permits.acquire_for(1, parcel) };
        Sending { acquiring, given_up: GivenUp(Some(self.tx)), letter: self }
    }

    /// # Safety
    /// The caller is the one whose the message is.
    unsafe fn take(&self) -> Option<T> {
        self.message.with_mut(|message| {
            // SAFETY: the caller's promise.
            unsafe { &mut *message }.take()
        })
    }

    /// # Safety
    /// As for `take`.
    unsafe fn put_back(&self, message: T) {
        self.message.with_mut(|place| {
            // SAFETY: the caller's promise.
            unsafe { *place = Some(message) };
        });
    }
}

/// Sends the message of a letter.
///
/// # Safety
/// The parcel is that of a live `Letter<T>`, whose sender is in the queue for room. The lock of the
/// permits is held.
unsafe fn collect<T>(parcel: NonNull<Parcel>) -> Collected {
    // SAFETY: the parcel is its first field, and the pointer was made from one to all of it.
    let letter = unsafe { parcel.cast::<Letter<'_, T>>().as_ref() };
    // SAFETY: the sender is in the queue, and the lock is held.
    let Some(message) = (unsafe { letter.take() }) else {
        unreachable!("a parcel is collected once")
    };
    match letter.tx.send_quietly(message) {
        Ok(waker) => Collected::Gone(waker),
        Err(message) => {
            // SAFETY: the sender is in the queue still, and the lock is held.
            unsafe { letter.put_back(message) };
            Collected::Unwanted
        }
    }
}

impl<T> Future for Sending<'_, T> {
    type Output = Result<(), SendError<T>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let acquired = ready!(this.acquiring.poll(cx));
        let Some(tx) = this.given_up.0.take() else { panic!("a send was polled after its end") };
        // SAFETY: the wait for room is over, or there was none: nobody else accesses the message,
        // and what others have done to it came before the outcome of the wait.
        let message = unsafe { this.letter.take() };
        match (acquired, message) {
            (Ok(()), None) => Poll::Ready(Ok(())),
            (acquired, Some(message)) => Poll::Ready(send_or_return(tx, acquired, message)),
            (Err(_), None) => unreachable!("a message was sent without room"),
        }
    }
}
