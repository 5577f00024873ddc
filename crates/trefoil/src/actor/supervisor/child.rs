//! How a child is started, and what its end means.

use super::{BoxError, Supervisor};
use crate::actor::cell::Peer;
use crate::actor::{Address, Builder, Context, Outcome};
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// When a child that has ended is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Always.
    Permanent,
    /// If it has failed: for another reason than `Normal` and `Shutdown`. With others, it is
    /// started again however it has ended.
    Transient,
    /// Never: neither for itself, nor with others. When it has ended, its supervisor forgets it.
    Temporary,
}

/// An actor that a supervisor starts, as often as it has to.
pub struct Child {
    pub(super) name: String,
    pub(super) start: Start,
    pub(super) restart: Restart,
    /// `None`: without a limit.
    pub(super) grace: Option<Duration>,
}

type StartActor = dyn FnMut(Starter<'_>) -> Result<(), BoxError> + Send;

pub(super) enum Start {
    Actor(Box<StartActor>),
    Supervisor(Box<dyn FnMut() -> Supervisor + Send>),
}

impl Child {
    /// A child that this closure starts. It spawns one actor by the [`Starter`], may give it a
    /// name, and say to others where it is. It runs in the supervisor, which waits for it.
    ///
    /// The child was not started if the closure returns an error, panics, or spawns nothing. If it
    /// has spawned an actor before, that is aborted.
    pub fn new<F>(name: impl Into<String>, start: F) -> Self
    where
        F: FnMut(Starter<'_>) -> Result<(), BoxError> + Send + 'static,
    {
        let grace = Some(Duration::from_secs(5));
        let start = Start::Actor(Box::new(start));
        Self { name: name.into(), start, restart: Restart::Permanent, grace }
    }

    /// A child that is a task with this function: see [`actor::spawn`](fn@crate::actor::spawn).
    /// For reports of stalls and for hooks, the task is spawned where this is called.
    #[track_caller]
    pub fn task<M, F, R>(name: impl Into<String>, f: F) -> Self
    where
        M: Send + 'static,
        F: FnOnce(Context<M>) -> R + Clone + Send + 'static,
        R: Future<Output: Outcome> + Send + 'static,
    {
        let place = Location::caller();
        Self::new(name, move |mut starter| {
            starter.builder = starter.builder.asked_at(place);
            starter.spawn(f.clone());
            Ok(())
        })
    }

    /// A child that is a supervisor with children of its own. It has no limit of time to stop.
    pub fn supervisor<F>(name: impl Into<String>, make: F) -> Self
    where
        F: FnMut() -> Supervisor + Send + 'static,
    {
        let start = Start::Supervisor(Box::new(make));
        Self { name: name.into(), start, restart: Restart::Permanent, grace: None }
    }

    /// When the child is started again. [`Restart::Permanent`] without this.
    #[must_use]
    pub fn restart(mut self, restart: Restart) -> Self {
        self.restart = restart;
        self
    }

    /// How long the child may take to end when it is told to, before it is aborted. Five seconds
    /// without this. `Duration::ZERO` aborts it at once, and `Duration::MAX` never.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace).filter(|grace| *grace < Duration::MAX);
        self
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("name", &self.name)
            .field("restart", &self.restart)
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}

/// Spawns a child, linked to its supervisor.
pub struct Starter<'a> {
    supervisor: &'a Arc<dyn Peer>,
    /// The child, when there is one.
    spawned: &'a mut Option<Arc<dyn Peer>>,
    builder: Builder,
}

impl<'a> Starter<'a> {
    pub(super) fn new(
        name: &str,
        supervisor: &'a Arc<dyn Peer>,
        spawned: &'a mut Option<Arc<dyn Peer>>,
    ) -> Self {
        Self { supervisor, spawned, builder: Builder::new().name(name) }
    }

    /// Gives the child a mailbox with a bound: see [`Builder::capacity`].
    ///
    /// # Panics
    /// As that does.
    #[must_use]
    #[track_caller]
    pub fn capacity(mut self, messages: usize) -> Self {
        self.builder = self.builder.capacity(messages);
        self
    }

    /// The bytes of the stack of a child that is a fiber.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.builder = self.builder.stack_size(bytes);
        self
    }

    /// Spawns the child as a task: see [`actor::spawn`](fn@crate::actor::spawn).
    #[track_caller]
    pub fn spawn<M, F, R>(self, f: F) -> Address<M>
    where
        M: Send + 'static,
        F: FnOnce(Context<M>) -> R + Send + 'static,
        R: Future<Output: Outcome> + Send + 'static,
    {
        let address = self.builder.link_peer(Arc::clone(self.supervisor)).spawn(f);
        *self.spawned = Some(address.peer());
        address
    }

    /// Spawns the child as a fiber: see [`Builder::spawn_fiber`].
    ///
    /// # Errors
    /// As there.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    #[track_caller]
    pub fn spawn_fiber<M, F, R>(self, f: F) -> std::io::Result<Address<M>>
    where
        M: Send + 'static,
        F: FnOnce(Context<M>) -> R + Send + 'static,
        R: Outcome + 'static,
    {
        let address = self.builder.link_peer(Arc::clone(self.supervisor)).spawn_fiber(f)?;
        *self.spawned = Some(address.peer());
        Ok(address)
    }
}

impl fmt::Debug for Starter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let supervisor = self.supervisor.core().pid();
        f.debug_struct("Starter").field("supervisor", &supervisor).finish_non_exhaustive()
    }
}
