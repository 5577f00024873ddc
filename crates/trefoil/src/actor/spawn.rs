//! How an actor is made.

use super::cell::{self, Cell, Peer};
use super::{Address, Context, Outcome, Pid, pid};
use crate::scheduler::Handle;
use crate::task::Origin;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

/// Spawns an actor into the current runtime, as a task.
///
/// The function gets the actor's [`Context`], by which it receives. It is called in the task: it
/// may panic, and need not be asynchronous.
///
/// The mailbox has no bound; [`Builder::capacity`] gives it one.
///
/// # Panics
/// Outside of a runtime.
#[track_caller]
pub fn spawn<M, F, R>(f: F) -> Address<M>
where
    M: Send + 'static,
    F: FnOnce(Context<M>) -> R + Send + 'static,
    R: Future<Output: Outcome> + Send + 'static,
{
    Builder::new().spawn(f)
}

/// Spawns an actor into the current runtime, as a [fiber](crate::fiber) with a stack of 256 KiB.
/// See [`Builder::spawn_fiber`].
///
/// # Errors
/// The runtime is a current-thread one, which [has no fibers](crate::fiber#threads)
/// ([`Unsupported`](std::io::ErrorKind::Unsupported)); or the system gives no memory for the stack.
///
/// # Panics
/// Outside of a runtime.
#[cfg(all(feature = "fiber", unix, not(loom)))]
#[track_caller]
pub fn spawn_fiber<M, F, R>(f: F) -> std::io::Result<Address<M>>
where
    M: Send + 'static,
    F: FnOnce(Context<M>) -> R + Send + 'static,
    R: Outcome + 'static,
{
    Builder::new().spawn_fiber(f)
}

/// Options of a new actor.
#[derive(Clone, Default)]
#[must_use = "a builder makes nothing before `spawn`"]
pub struct Builder {
    name: Option<String>,
    capacity: Option<usize>,
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    stack_size: Option<usize>,
    linked: Option<Arc<dyn Peer>>,
    /// Where the user has asked for the actor, if the spawn is elsewhere.
    asked_at: Option<&'static Location<'static>>,
}

impl Builder {
    /// An actor without a name, whose mailbox has no bound.
    pub fn new() -> Self {
        Self::default()
    }

    /// A name, for messages about the actor. It need not be unique, and nobody is found by it: that
    /// is what a [`Registry`](super::Registry) is for.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// A bound for the messages in the mailbox: whoever [sends](Address::send) more waits. Signals
    /// need no room.
    ///
    /// # Panics
    /// If it is 0, or more than a [`Semaphore`](crate::sync::Semaphore) can count.
    #[track_caller]
    pub fn capacity(mut self, messages: usize) -> Self {
        assert!(messages > 0, "a mailbox needs room for a message");
        let most = crate::sync::Semaphore::MAX_PERMITS;
        assert!(messages <= most, "a mailbox has room for at most {most} messages");
        self.capacity = Some(messages);
        self
    }

    /// The bytes of the stack of an actor that is a fiber: see
    /// [`fiber::Builder`](crate::fiber::Builder::stack_size).
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Links the actor to this one, before it begins. If this one has ended (its context is
    /// somebody else's then), the new actor gets the exit signal, with
    /// [`ExitReason::NoActor`](super::ExitReason::NoActor).
    pub fn link<N: Send + 'static>(mut self, to: &Context<N>) -> Self {
        self.linked = Some(to.peer());
        self
    }

    pub(super) fn link_peer(mut self, to: Arc<dyn Peer>) -> Self {
        self.linked = Some(to);
        self
    }

    pub(super) fn asked_at(mut self, place: &'static Location<'static>) -> Self {
        self.asked_at = Some(place);
        self
    }

    /// Spawns the actor into the current runtime, as a task: see [`spawn`](spawn()).
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn<M, F, R>(self, f: F) -> Address<M>
    where
        M: Send + 'static,
        F: FnOnce(Context<M>) -> R + Send + 'static,
        R: Future<Output: Outcome> + Send + 'static,
    {
        self.spawn_after(|_| (), f)
    }

    /// As [`spawn`](Self::spawn), and calls `prepare` before the actor begins.
    #[track_caller]
    pub(super) fn spawn_after<M, F, R>(self, prepare: impl FnOnce(Pid), f: F) -> Address<M>
    where
        M: Send + 'static,
        F: FnOnce(Context<M>) -> R + Send + 'static,
        R: Future<Output: Outcome> + Send + 'static,
    {
        let runtime = Handle::current();
        let place = self.asked_at.unwrap_or(Location::caller());
        let (cell, context) = self.make();
        let origin = Origin::at(place, cell.core().name());
        prepare(cell.core().pid());
        let task = async move { f(context).await.into_reason() };
        let task = runtime.spawn_with(task, None, origin);
        cell.follow(task);
        Address::new(cell)
    }

    /// Spawns the actor into the current runtime, as a [fiber](crate::fiber): its function may
    /// block without blocking its thread. Its stack is made at once.
    ///
    /// An actor that is ended is unwound where it waits. A function that catches this has to return
    /// or resume it: it is unwound again in each further wait for what is not ready.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// # let runtime = trefoil::runtime::Runtime::new()?;
    /// # let _guard = runtime.enter();
    /// use trefoil::actor::{self, Context};
    ///
    /// let printer = actor::spawn_fiber(|mut own: Context<String>| {
    ///     while let Ok(line) = own.blocking_receive() {
    ///         if line.is_empty() {
    ///             break;
    ///         }
    ///         println!("{line}");
    ///     }
    /// })?;
    /// printer.blocking_send("hello".to_owned()).unwrap();
    /// printer.blocking_send(String::new()).unwrap();
    /// assert!(printer.blocking_join().is_normal());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`fiber::Builder::spawn`](crate::fiber::Builder::spawn), among them
    /// [`Unsupported`](std::io::ErrorKind::Unsupported) in a current-thread runtime. Nobody is
    /// linked then.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    #[track_caller]
    pub fn spawn_fiber<M, F, R>(self, f: F) -> std::io::Result<Address<M>>
    where
        M: Send + 'static,
        F: FnOnce(Context<M>) -> R + Send + 'static,
        R: Outcome + 'static,
    {
        let runtime = Handle::current();
        let mut fiber = crate::fiber::Builder::new();
        if let Some(name) = &self.name {
            fiber = fiber.name(name);
        }
        if let Some(bytes) = self.stack_size {
            fiber = fiber.stack_size(bytes);
        }
        let linked = self.linked.clone();
        let (cell, context) = self.make();
        match fiber.spawn_on(&runtime, move || f(context).into_reason()) {
            Ok(task) => {
                cell.follow(task);
                Ok(Address::new(cell))
            }
            Err(error) => {
                if let Some(linked) = linked {
                    cell::unlink(&linked, cell.core().pid());
                }
                let peer: Arc<dyn Peer> = cell;
                cell::end(&peer, super::ExitReason::Aborted, true);
                Err(error)
            }
        }
    }

    /// Makes what there is of the actor before its task.
    fn make<M: Send + 'static>(self) -> (Arc<Cell<M>>, Context<M>) {
        let name = self.name.map(String::into_boxed_str);
        let cell = pid::enroll(|pid| Cell::new(pid, name, self.capacity));
        let cell = cell.expect("the process has 2^32 actors, or has had them all");
        if let Some(linked) = &self.linked {
            // From its side: should the other one have ended, it is this one that is told.
            let peer: Arc<dyn Peer> = Arc::clone(&cell) as _;
            cell::link(&peer, linked.core().pid());
        }
        let context = Context::new(Arc::clone(&cell));
        (cell, context)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let linked = self.linked.as_ref().map(|linked| linked.core().pid());
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("capacity", &self.capacity)
            .field("link", &linked)
            .finish_non_exhaustive()
    }
}
