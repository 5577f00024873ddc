//! What was sent to an actor, and what it has not yet looked at.

use super::cell::Signal;
use super::error::{Exited, SendError, TrySendError};
use super::{ExitReason, MonitorRef, Pid};
use crate::primitives::Mutex;
use crate::sync::Semaphore;
use crate::sync::TryAcquireError;
use crate::task::wake_guarded;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};

/// What an actor receives.
pub enum Event<M> {
    /// Somebody has sent this.
    Message(M),
    /// An exit signal, for an actor that [traps](super::Context::trap_exit) them: a linked actor
    /// has ended, or somebody has sent the signal.
    Exit {
        /// The linked actor, or the one that sent the signal; `None` if no actor did.
        from: Option<Pid>,
        /// Why it has ended, or what was sent.
        reason: ExitReason,
    },
    /// An actor that is [monitored](super::Context::monitor) has ended.
    Down {
        /// The monitor, which is used up.
        monitor: MonitorRef,
        /// Who has ended.
        pid: Pid,
        /// Why.
        reason: ExitReason,
    },
}

impl<M> Event<M> {
    /// The message, if it is one.
    pub fn into_message(self) -> Option<M> {
        match self {
            Self::Message(message) => Some(message),
            _ => None,
        }
    }
}

impl<M: fmt::Debug> fmt::Debug for Event<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(message) => f.debug_tuple("Message").field(message).finish(),
            Self::Exit { from, reason } => {
                f.debug_struct("Exit").field("from", from).field("reason", reason).finish()
            }
            Self::Down { monitor, pid, reason } => f
                .debug_struct("Down")
                .field("monitor", monitor)
                .field("pid", pid)
                .field("reason", reason)
                .finish(),
        }
    }
}

impl<M> From<Signal> for Event<M> {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Exit { from, reason } => Self::Exit { from, reason },
            Signal::Down { monitor, pid, reason } => Self::Down { monitor, pid, reason },
        }
    }
}

/// The shared side of a mailbox. The other one is the actor's own, in its `Context`.
pub(super) struct Mailbox<M> {
    queue: Mutex<Queue<M>>,
    /// One permit for each message that there is room for; `None` without a bound.
    room: Option<Semaphore>,
}

/// A mailbox keeps room for as many events as it likes, up to this.
const ROOM_KEPT: usize = 64;

struct Queue<M> {
    events: VecDeque<Event<M>>,
    waker: Option<Waker>,
    is_closed: bool,
}

impl<M> Mailbox<M> {
    pub(super) fn new(capacity: Option<usize>) -> Self {
        let queue = Queue { events: VecDeque::new(), waker: None, is_closed: false };
        Self { queue: Mutex::new(queue), room: capacity.map(Semaphore::new) }
    }

    /// Appends an event, and returns whom to wake. A mailbox that is closed gives the event back.
    pub(super) fn push(&self, event: Event<M>) -> Result<Option<Waker>, Event<M>> {
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return Err(event);
        }
        queue.events.push_back(event);
        Ok(queue.waker.take())
    }

    /// Sends a message for which there is room.
    fn send_now(&self, message: M) -> Result<(), SendError<M>> {
        match self.push(Event::Message(message)) {
            Ok(waker) => {
                waker.into_iter().for_each(wake_guarded);
                Ok(())
            }
            Err(Event::Message(message)) => Err(SendError(message)),
            Err(_) => unreachable!("what was pushed comes back"),
        }
    }

    pub(super) async fn send(&self, message: M) -> Result<(), SendError<M>> {
        if let Some(room) = &self.room {
            match room.acquire().await {
                Ok(permit) => permit.forget(),
                Err(_closed) => return Err(SendError(message)),
            }
        }
        self.send_now(message)
    }

    pub(super) fn try_send(&self, message: M) -> Result<(), TrySendError<M>> {
        if let Some(room) = &self.room {
            match room.try_acquire() {
                Ok(permit) => permit.forget(),
                Err(TryAcquireError::NoPermits) => return Err(TrySendError::Full(message)),
                Err(TryAcquireError::Closed) => return Err(TrySendError::NoActor(message)),
            }
        }
        self.send_now(message).map_err(|SendError(message)| TrySendError::NoActor(message))
    }

    /// A message was received: there is room for another one.
    pub(super) fn make_room(&self) {
        if let Some(room) = &self.room {
            room.add_permits(1);
        }
    }

    /// Moves all events to the end of `seen`. If there is none, the waker is woken when one comes.
    pub(super) fn poll_take(
        &self,
        cx: &mut Context<'_>,
        seen: &mut VecDeque<Event<M>>,
    ) -> Poll<Result<(), Exited>> {
        if let Some(taken) = self.take(seen) {
            return Poll::Ready(taken);
        }
        // Wakers are foreign code: cloned and dropped without the lock.
        let waker = cx.waker().clone();
        let old = {
            let mut queue = self.queue.lock();
            if queue.events.is_empty() && !queue.is_closed {
                Ok(queue.waker.replace(waker))
            } else {
                Err(waker)
            }
        };
        match old {
            Ok(_replaced) => Poll::Pending,
            Err(_unused) => self.take(seen).map_or(Poll::Pending, Poll::Ready),
        }
    }

    /// As [`poll_take`](Self::poll_take), without waiting: `None` if there is nothing.
    pub(super) fn take(&self, seen: &mut VecDeque<Event<M>>) -> Option<Result<(), Exited>> {
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return Some(Err(Exited));
        }
        if queue.events.is_empty() {
            return None;
        }
        if !seen.is_empty() {
            seen.append(&mut queue.events);
            return Some(Ok(()));
        }
        std::mem::swap(seen, &mut queue.events);
        // The room of a flood that is over goes back.
        let spare = match queue.events.capacity() > ROOM_KEPT.max(4 * seen.len()) {
            true => std::mem::take(&mut queue.events),
            false => VecDeque::new(),
        };
        drop(queue);
        drop(spare);
        Some(Ok(()))
    }

    /// Lets nothing in any more, and drops what is there.
    pub(super) fn close(&self) {
        let (events, waker) = {
            let mut queue = self.queue.lock();
            queue.is_closed = true;
            (std::mem::take(&mut queue.events), queue.waker.take())
        };
        if let Some(room) = &self.room {
            room.close();
        }
        waker.into_iter().for_each(wake_guarded);
        discard_all(events);
    }
}

/// Drops messages, whose destructors may panic: each on its own. (A second panic in the destructor
/// of a collection ends the process.)
pub(super) fn discard_all<T>(all: impl IntoIterator<Item = T>) {
    for one in all {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(one))) {
            crate::task::discard(payload);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_a_flood_goes_back() {
        let mailbox = Mailbox::new(None);
        let mut seen = VecDeque::new();
        let mut rooms = Vec::new();
        for arrived in [1, 10_000, 5_000, 1, 1, 1] {
            for n in 0..arrived {
                assert!(mailbox.push(Event::Message(n)).is_ok());
            }
            assert!(matches!(mailbox.take(&mut seen), Some(Ok(()))));
            assert_eq!(seen.len(), arrived);
            rooms.push(seen.capacity() + mailbox.queue.lock().events.capacity());
            seen.clear();
        }
        assert!(rooms[1] >= 10_000, "{rooms:?}");
        assert!(rooms[5] <= 2 * ROOM_KEPT, "{rooms:?}");
    }
}
