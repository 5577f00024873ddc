//! What an actor has that others do not: its mailbox, and its side of links and monitors.

use super::cell::{self, Cell, Peer};
use super::error::Exited;
use super::mailbox::{self, Event};
use super::{Address, Builder, Outcome, Pid};
use crate::scheduler::block_on;
use crate::task::coop;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Poll, ready};

/// The actor's own side: what its function gets.
///
/// An actor that drops its context, or gives it away to somebody who does, can receive nothing any
/// more: whoever sends it a message gets it back, and it traps no exits. It runs on. If it trapped
/// them until then, an exit signal ends it where it waits next; if it returns or panics before,
/// that is its reason. So signals that come while its function drops what it has do not change it.
pub struct Context<M: Send + 'static> {
    cell: Arc<Cell<M>>,
    /// What was taken out of the shared side of the mailbox, and not received yet.
    seen: VecDeque<Event<M>>,
}

/// A monitor of an actor, which [`Context::monitor`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonitorRef {
    pub(super) owner: Pid,
    pub(super) number: u64,
}

impl<M: Send + 'static> Context<M> {
    pub(super) fn new(cell: Arc<Cell<M>>) -> Self {
        Self { cell, seen: VecDeque::new() }
    }

    pub(super) fn peer(&self) -> Arc<dyn Peer> {
        Arc::clone(&self.cell) as _
    }

    /// The actor's pid.
    pub fn pid(&self) -> Pid {
        self.cell.core().pid()
    }

    /// The actor's address, for those who are to send it messages.
    pub fn address(&self) -> Address<M> {
        Address::new(Arc::clone(&self.cell))
    }

    /// Receives the next event: a message, an exit signal, or the end of somebody who is monitored.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it is done, nothing was received. So a time limit is
    /// [`timeout`](crate::time::timeout) around any of these methods. One of zero finds what has
    /// arrived before.
    ///
    /// # Errors
    /// The actor has ended, and its context was given to somebody else before.
    pub async fn next(&mut self) -> Result<Event<M>, Exited> {
        self.next_where(|_| true).await
    }

    /// Receives the first event for which `is_wanted` is true, and leaves all others in the
    /// mailbox, in their order.
    ///
    /// Each event is looked at once by each call. In a mailbox with a bound, messages that are left
    /// keep their room.
    ///
    /// # Cancellation safety
    /// As [`next`](Self::next).
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn next_where(
        &mut self,
        mut is_wanted: impl FnMut(&Event<M>) -> bool,
    ) -> Result<Event<M>, Exited> {
        let mut looked_at = 0;
        poll_fn(|cx| {
            let unit = ready!(coop::poll_proceed(cx));
            loop {
                match self.find(&mut looked_at, &mut is_wanted) {
                    Ok(None) => {}
                    Ok(Some(event)) => {
                        unit.made_progress();
                        return Poll::Ready(Ok(event));
                    }
                    Err(exited) => return Poll::Ready(Err(exited)),
                }
                if let Err(exited) = ready!(self.cell.mailbox.poll_take(cx, &mut self.seen)) {
                    return Poll::Ready(Err(exited));
                }
            }
        })
        .await
    }

    /// Receives the next message. Other events stay in the mailbox.
    ///
    /// # Cancellation safety
    /// As [`next`](Self::next).
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn receive(&mut self) -> Result<M, Exited> {
        self.receive_where(|_| true).await
    }

    /// Receives the first message for which `is_wanted` is true: see
    /// [`next_where`](Self::next_where).
    ///
    /// ```
    /// # #[trefoil::main]
    /// # async fn main() {
    /// use trefoil::actor::{self, Context};
    /// use trefoil::time::{Duration, timeout};
    ///
    /// let actor = actor::spawn(async |mut own: Context<u32>| {
    ///     // The even one first, although it came last.
    ///     assert_eq!(own.receive_where(|n| n % 2 == 0).await, Ok(2));
    ///     assert_eq!(own.receive().await, Ok(1));
    ///     assert_eq!(own.receive().await, Ok(3));
    ///     assert!(timeout(Duration::ZERO, own.receive()).await.is_err());
    /// });
    /// for n in [1, 3, 2] {
    ///     actor.send(n).await.unwrap();
    /// }
    /// assert!(actor.join().await.is_normal());
    /// # }
    /// ```
    ///
    /// # Cancellation safety
    /// As [`next`](Self::next).
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn receive_where(
        &mut self,
        mut is_wanted: impl FnMut(&M) -> bool,
    ) -> Result<M, Exited> {
        let event = self
            .next_where(|event| match event {
                Event::Message(message) => is_wanted(message),
                _ => false,
            })
            .await?;
        Ok(event.into_message().expect("only a message is wanted"))
    }

    /// The next event, if one has arrived.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn try_next(&mut self) -> Result<Option<Event<M>>, Exited> {
        let mut looked_at = 0;
        loop {
            if let Some(event) = self.find(&mut looked_at, &mut |_| true)? {
                return Ok(Some(event));
            }
            match self.cell.mailbox.take(&mut self.seen) {
                Some(taken) => taken?,
                None => return Ok(None),
            }
        }
    }

    /// [`next`](Self::next), for fibers and threads. What waits with a condition or a time limit
    /// there is [`fiber::wait`](crate::fiber) of the other methods.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_next(&mut self) -> Result<Event<M>, Exited> {
        block_on::blocking(self.next())
    }

    /// [`receive`](Self::receive), for fibers and threads.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    #[track_caller]
    pub fn blocking_receive(&mut self) -> Result<M, Exited> {
        block_on::blocking(self.receive())
    }

    /// Takes the first event that is wanted, of those from `looked_at` on.
    fn find(
        &mut self,
        looked_at: &mut usize,
        is_wanted: &mut impl FnMut(&Event<M>) -> bool,
    ) -> Result<Option<Event<M>>, Exited> {
        if self.cell.core().ended().initialized() {
            return Err(Exited);
        }
        while let Some(event) = self.seen.get(*looked_at) {
            if is_wanted(event) {
                let event = self.seen.remove(*looked_at);
                if let Some(Event::Message(_)) = event {
                    self.cell.mailbox.make_room();
                }
                return Ok(event);
            }
            *looked_at += 1;
        }
        Ok(None)
    }

    /// Chooses what exit signals do to this actor. If it traps them, they are events, and
    /// [`next`](Self::next) receives them. If it does not, as in the beginning, each signal with
    /// another reason than [`ExitReason::Normal`](super::ExitReason::Normal) ends it.
    /// [`abort`](Address::abort) ends it in any case.
    pub fn trap_exit(&mut self, traps: bool) {
        self.cell.core().trap_exits(traps);
    }

    /// Links this actor and another one: when one of them ends, the other one gets an exit signal.
    /// If the other one has ended already, the signal comes now, with
    /// [`ExitReason::NoActor`](super::ExitReason::NoActor).
    ///
    /// Two actors have one link or none, whoever has made it. A link to oneself does nothing.
    pub fn link(&self, other: impl Into<Pid>) {
        cell::link(&self.peer(), other.into());
    }

    /// Takes the link to another actor away, if there is one. No signal comes through it
    /// afterwards. One that came before stays in the mailbox.
    pub fn unlink(&self, other: impl Into<Pid>) {
        cell::unlink(&self.peer(), other.into());
    }

    /// Has this actor told when another one ends, by an [`Event::Down`] with the monitor that this
    /// returns. If the other one has ended already, the event comes now, with
    /// [`ExitReason::NoActor`](super::ExitReason::NoActor). For itself, it never comes.
    ///
    /// Each call makes a monitor, and each monitor is told once.
    pub fn monitor(&self, other: impl Into<Pid>) -> MonitorRef {
        cell::monitor(&self.peer(), other.into())
    }

    /// Takes a monitor away. Its event is not received afterwards, also if it has arrived. A
    /// monitor that is used up, or another actor's, is left alone.
    pub fn demonitor(&mut self, monitor: MonitorRef) {
        if monitor.owner != self.pid() {
            return;
        }
        if !cell::demonitor(&self.peer(), monitor) {
            // The event is in the mailbox, or was received.
            let is_it = |its: MonitorRef| its == monitor;
            self.forget(|event| matches!(event, Event::Down { monitor, .. } if is_it(*monitor)));
        }
    }

    /// Takes the exit signals of an actor that has ended out of the mailbox: that of its link, and
    /// what it has sent.
    pub(super) fn forget_exits_of(&mut self, pid: Pid) {
        self.forget(|event| matches!(event, Event::Exit { from, .. } if *from == Some(pid)));
    }

    /// Drops these events. They are no messages.
    fn forget(&mut self, is_it: impl Fn(&Event<M>) -> bool) {
        // An actor that has ended has no mailbox.
        let _ = self.cell.mailbox.take(&mut self.seen);
        self.seen.retain(|event| !is_it(event));
    }

    /// Sends an exit signal that comes from this actor: see [`Address::exit`]. Returns whether
    /// there was somebody to receive it.
    pub fn send_exit(&self, to: impl Into<Pid>, reason: super::ExitReason) -> bool {
        let to = to.into();
        to.peer().is_ok_and(|to| cell::send_exit(&to, Some(self.pid()), reason))
    }

    /// Spawns an actor that is linked to this one before it begins: see [`spawn`](super::spawn()).
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn_link<N, F, R>(&self, f: F) -> Address<N>
    where
        N: Send + 'static,
        F: FnOnce(Context<N>) -> R + Send + 'static,
        R: Future<Output: Outcome> + Send + 'static,
    {
        Builder::new().link(self).spawn(f)
    }

    /// Spawns an actor, and monitors it before it begins: see [`spawn`](super::spawn()).
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn_monitor<N, F, R>(&self, f: F) -> (Address<N>, MonitorRef)
    where
        N: Send + 'static,
        F: FnOnce(Context<N>) -> R + Send + 'static,
        R: Future<Output: Outcome> + Send + 'static,
    {
        let mut monitor = None;
        let address = Builder::new().spawn_after(|pid| monitor = Some(self.monitor(pid)), f);
        (address, monitor.expect("it was made before the actor began"))
    }
}

impl<M: Send + 'static> Drop for Context<M> {
    fn drop(&mut self) {
        self.cell.core().trap_no_more();
        self.cell.mailbox.close();
        mailbox::discard_all(std::mem::take(&mut self.seen));
    }
}

impl<M: Send + 'static> fmt::Debug for Context<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("pid", &self.pid()).finish_non_exhaustive()
    }
}
