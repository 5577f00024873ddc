//! Supervisors: actors that start other actors, and start them again when they fail.
//!
//! A supervisor starts its children in order, and is linked to each of them. When a child ends, its
//! [`Restart`] says whether it is started again, and the [`Strategy`] says who else is. If there
//! are more restarts than the supervisor's [intensity](Supervisor::intensity) allows, it stops all
//! children and fails, which is then the matter of its own supervisor.
//!
//! A child has started when it is spawned, and a supervisor below when its children have. What the
//! child's function does first may come after what the next child's does. What others need at once
//! is made in the closure of [`Child::new`], such as the name below.
//!
//! ```
//! # #[trefoil::main]
//! # async fn main() {
//! use std::time::Duration;
//! use trefoil::actor::supervisor::{Child, Strategy, Supervisor};
//! use trefoil::actor::{Context, Registry};
//!
//! async fn divider(mut own: Context<u32>) {
//!     while let Ok(n) = own.receive().await {
//!         println!("{}", 1000 / n);
//!     }
//! }
//!
//! let registry = Registry::new();
//! let names = registry.clone();
//! let supervisor = Supervisor::new(Strategy::OneForOne)
//!     .intensity(3, Duration::from_secs(5))
//!     .child(Child::new("divider", move |starter| {
//!         names.register("divider", &starter.spawn(divider))?;
//!         Ok(())
//!     }))
//!     .start()
//!     .await
//!     .unwrap();
//!
//! let first = registry.find::<u32>("divider").unwrap();
//! first.send(0).await.unwrap();
//! assert!(first.join().await.as_panic().is_some());
//! # // The supervisor answers after it has seen the end, and has started the next one.
//! assert_eq!(supervisor.children().await.unwrap()[0].restarts, 1);
//! registry.find::<u32>("divider").unwrap().send(8).await.unwrap();
//! supervisor.stop().await;
//! # }
//! ```
//!
//! # Stopping
//!
//! Children are stopped in the reverse of their order, one after the other: a child gets the exit
//! signal [`ExitReason::Shutdown`], and is aborted if it has not ended after its
//! [grace](Child::grace). A child that never waits cannot be aborted, nor one that waits for a
//! closure of a [fork](crate::fork_join) that another thread has taken and that waits for ever; its
//! supervisor waits for it.
//!
//! An exit signal that is not a child's end, such as that of [`Handle::stop`] or the end of its own
//! supervisor, stops a supervisor, and its reason is the signal's. To
//! [`abort`](super::Address::abort) a supervisor stops nothing in order: its children get the exit
//! signals of their links, all at once.

mod child;
mod running;

pub use child::{Child, Restart, Starter};

use super::cell::Peer;
use super::error::Exited;
use super::{Address, Builder, Context, ExitReason, Pid};
use crate::sync::oneshot;
use running::{Command, Running};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

type BoxError = Box<dyn Error + Send + Sync>;

/// Who is started again when a child is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Only that child.
    OneForOne,
    /// All children: the others are stopped first.
    OneForAll,
    /// That child, and those that were started after it, which are stopped first.
    RestForOne,
}

/// A supervisor that was not started yet.
#[derive(Debug)]
#[must_use = "a supervisor does nothing before `start`"]
pub struct Supervisor {
    name: Option<String>,
    strategy: Strategy,
    max_restarts: u32,
    within: Duration,
    children: Vec<Child>,
    made_at: &'static Location<'static>,
}

impl Supervisor {
    /// A supervisor without children, that allows one restart in five seconds. For hooks and for
    /// reports of stalls, its task is spawned where this is called.
    #[track_caller]
    pub fn new(strategy: Strategy) -> Self {
        let within = Duration::from_secs(5);
        let made_at = Location::caller();
        Self { name: None, strategy, max_restarts: 1, within, children: Vec::new(), made_at }
    }

    /// A name, for messages about the supervisor.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The most restarts in any period of this length. One more, and the supervisor gives up: it
    /// stops its children, and ends with the error [`TooManyRestarts`]. A child that fails to start
    /// is tried again, and each attempt counts.
    pub fn intensity(mut self, max_restarts: u32, within: Duration) -> Self {
        self.max_restarts = max_restarts;
        self.within = within;
        self
    }

    /// Adds a child, which is started after those that were added before.
    pub fn child(mut self, child: Child) -> Self {
        self.children.push(child);
        self
    }

    /// Starts the supervisor in the current runtime, and returns when its children have started.
    ///
    /// # Cancellation safety
    /// If the future is dropped before it was polled, nothing was started. Later, the supervisor
    /// starts its children all the same.
    ///
    /// # Errors
    /// A child was not started; also if it has a [grace](Child::grace), and the runtime no timers.
    /// Those that were started have been stopped, and the supervisor has ended.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn start(self) -> Result<Handle, StartError> {
        let (actor, started) = self.launch(None);
        Self::started(actor, started).await
    }

    /// As [`start`](Self::start), linked to an actor. So if that actor fails, the supervisor stops.
    /// If the supervisor does not start, the actor gets its exit signal, too.
    ///
    /// # Cancellation safety
    /// As that of `start`.
    ///
    /// # Errors
    /// Those of `start`.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub async fn start_link<M: Send + 'static>(
        self,
        to: &Context<M>,
    ) -> Result<Handle, StartError> {
        let (actor, started) = self.launch(Some(to.peer()));
        Self::started(actor, started).await
    }

    async fn started(
        actor: Address<Command>,
        started: oneshot::Receiver<Result<(), StartError>>,
    ) -> Result<Handle, StartError> {
        match started.await {
            Ok(Ok(())) => Ok(Handle { actor }),
            Ok(Err(error)) => {
                // It ends when it has said this.
                actor.join().await;
                Err(error)
            }
            Err(_) => Err(StartError::ended(actor.join().await)),
        }
    }

    /// Spawns the actor, which starts the children and then says how that went.
    fn launch(
        self,
        linked: Option<Arc<dyn Peer>>,
    ) -> (Address<Command>, oneshot::Receiver<Result<(), StartError>>) {
        let (said, started) = oneshot::channel();
        let mut builder = Builder::new().asked_at(self.made_at);
        if let Some(name) = &self.name {
            builder = builder.name(name);
        }
        if let Some(linked) = linked {
            builder = builder.link_peer(linked);
        }
        // In a box: supervisors start supervisors, and a type cannot contain itself.
        let run = move |own| -> Pin<Box<dyn Future<Output = ExitReason> + Send>> {
            Box::pin(Running::new(self, own).run(said))
        };
        (builder.spawn(run), started)
    }
}

/// A supervisor that was started. It does not end with its handles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle {
    actor: Address<Command>,
}

/// What a supervisor says of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The child's name.
    pub name: String,
    /// The actor; `None` if it has ended, and was not started again so far.
    pub pid: Option<Pid>,
    /// How often it was started again, for itself or because of others.
    pub restarts: u64,
}

impl Handle {
    /// The supervisor's pid.
    pub fn pid(&self) -> Pid {
        self.actor.pid()
    }

    /// What the supervisor says of its children, in their order, without temporary ones that have
    /// ended. It answers after all that has come to it before; so it has dealt with each end of a
    /// child that was joined before the call.
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped: it can be made again.
    ///
    /// # Errors
    /// The supervisor has ended.
    pub async fn children(&self) -> Result<Vec<Status>, Exited> {
        let (answer, answered) = oneshot::channel();
        self.actor.send(Command::Children(answer)).await.map_err(|_| Exited)?;
        answered.await.map_err(|_| Exited)
    }

    /// Stops the children, and then the supervisor. Returns the reason of its end, which is
    /// [`ExitReason::Shutdown`] if it had none before.
    ///
    /// # Cancellation safety
    /// If the future was polled and is dropped, the supervisor stops all the same.
    pub async fn stop(&self) -> ExitReason {
        self.actor.exit(ExitReason::Shutdown);
        self.join().await
    }

    /// Waits for the supervisor's end: see [`Address::join`].
    ///
    /// # Cancellation safety
    /// Nothing is lost if the future is dropped: it can be made again.
    pub async fn join(&self) -> ExitReason {
        self.actor.join().await
    }

    /// Ends the supervisor where it waits, and its children by their links, in no order.
    pub fn abort(&self) {
        self.actor.abort();
    }
}

impl From<&Handle> for Pid {
    fn from(handle: &Handle) -> Self {
        handle.pid()
    }
}

/// A child of a supervisor was not started.
#[derive(Debug)]
pub struct StartError {
    child: Option<String>,
    error: BoxError,
}

impl StartError {
    fn new(child: &str, error: impl Into<BoxError>) -> Self {
        Self { child: Some(child.to_owned()), error: error.into() }
    }

    fn ended(reason: ExitReason) -> Self {
        Self { child: None, error: format!("the supervisor has ended: {reason}").into() }
    }

    /// The name of the child; `None` if the supervisor was ended by somebody while it started.
    pub fn child(&self) -> Option<&str> {
        self.child.as_deref()
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.child {
            Some(child) => write!(f, "the child {child:?} was not started: {}", self.error),
            None => self.error.fmt(f),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}

/// The error of a supervisor that has given up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooManyRestarts {
    /// The child that was to be started once more.
    pub child: String,
    /// The most restarts that were allowed.
    pub max_restarts: u32,
    /// In a period of this length.
    pub within: Duration,
}

impl fmt::Display for TooManyRestarts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { child, max_restarts, within } = self;
        write!(f, "more than {max_restarts} restarts within {within:?}; the last was {child:?}")
    }
}

impl Error for TooManyRestarts {}
