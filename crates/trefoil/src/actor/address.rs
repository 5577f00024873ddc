//! Where messages to an actor are sent.

use super::cell::{self, Cell, Peer};
use super::error::{SendError, TrySendError};
use super::{ExitReason, Pid};
use crate::scheduler::block_on;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Where messages of one type are sent to one actor. It can be cloned, and sent in messages.
///
/// An address does not keep its actor alive, and the last address does not end it: an actor ends
/// when its function returns, panics, or is ended by somebody.
pub struct Address<M> {
    cell: Arc<Cell<M>>,
}

impl<M: Send + 'static> Address<M> {
    pub(super) fn new(cell: Arc<Cell<M>>) -> Self {
        Self { cell }
    }

    pub(super) fn peer(&self) -> Arc<dyn Peer> {
        Arc::clone(&self.cell) as _
    }

    /// The actor's pid.
    pub fn pid(&self) -> Pid {
        self.cell.core().pid()
    }

    /// The name that [`Builder::name`](super::Builder::name) gave it. See
    /// [`Registry`](super::Registry) for names by which actors are found.
    pub fn name(&self) -> Option<&str> {
        self.cell.core().name()
    }

    /// Sends a message. If the mailbox has a bound, this waits until there is room, in the order in
    /// which senders came; without one, it never waits.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it is done, the message was not sent, and is dropped.
    ///
    /// # Errors
    /// The actor has ended. The message comes back. An actor that ends later may drop a message
    /// that was sent.
    pub async fn send(&self, message: M) -> Result<(), SendError<M>> {
        self.cell.mailbox.send(message).await
    }

    /// Sends a message at once.
    ///
    /// # Errors
    /// The mailbox is full, which one without a bound never is; or the actor has ended. The message
    /// comes back.
    pub fn try_send(&self, message: M) -> Result<(), TrySendError<M>> {
        self.cell.mailbox.try_send(message)
    }

    /// [`send`](Self::send), for fibers and threads.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_send(&self, message: M) -> Result<(), SendError<M>> {
        block_on::blocking(self.send(message))
    }

    /// Whether the actor runs.
    pub fn is_alive(&self) -> bool {
        self.cell.core().is_alive()
    }

    /// Waits for the actor's end; an actor that waits for its own waits until somebody ends it.
    /// When this returns, the actor's state was dropped, its names are free, and all who are linked
    /// to it or monitor it were told. Any number may wait, any number of times: all get the same
    /// answer.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped: it can be made again.
    pub async fn join(&self) -> ExitReason {
        self.cell.core().ended().wait().await.clone()
    }

    /// [`join`](Self::join), for fibers and threads.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_join(&self) -> ExitReason {
        block_on::blocking(self.join())
    }

    /// Sends an exit signal that comes from no actor. An actor that
    /// [traps](super::Context::trap_exit) exits receives it as an event. For any other,
    /// [`ExitReason::Normal`] does nothing, and all other reasons end it, as an
    /// [abort](Self::abort) does, with that reason.
    ///
    /// Returns whether there was somebody to receive it.
    pub fn exit(&self, reason: ExitReason) -> bool {
        cell::send_exit(&self.peer(), None, reason)
    }

    /// Ends the actor where it waits, whatever it traps: a task's future is dropped, and a fiber is
    /// unwound, with the closures of its [forks](crate::fork_join) that other threads have taken.
    /// What does not wait runs on until it does. The reason is [`ExitReason::Aborted`], unless its
    /// end was decided before.
    pub fn abort(&self) {
        cell::doom(&self.peer(), ExitReason::Aborted);
    }
}

impl<M> Clone for Address<M> {
    fn clone(&self) -> Self {
        Self { cell: Arc::clone(&self.cell) }
    }
}

impl<M: Send + 'static> From<&Address<M>> for Pid {
    fn from(address: &Address<M>) -> Self {
        address.pid()
    }
}

impl<M: Send + 'static> PartialEq for Address<M> {
    fn eq(&self, other: &Self) -> bool {
        self.pid() == other.pid()
    }
}

impl<M: Send + 'static> Eq for Address<M> {}

impl<M: Send + 'static> Hash for Address<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.pid().hash(state);
    }
}

impl<M: Send + 'static> fmt::Debug for Address<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Address");
        text.field("pid", &self.pid());
        if let Some(name) = self.name() {
            text.field("name", &name);
        }
        text.finish()
    }
}
