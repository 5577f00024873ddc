//! Names by which actors are found.

use super::cell::Peer;
use super::error::{LookupError, RegisterError};
use super::mailbox::discard_all;
use super::pid::typed;
use super::{Address, Pid};
use crate::primitives::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::{Arc, LazyLock, Weak};

/// Actors by their names. Each name is one actor's; an actor may have several.
///
/// The end of an actor takes its names out of the registry, before anybody who is linked to it,
/// monitors or joins it is told: whoever is told can give the name to a successor.
///
/// ```
/// # #[trefoil::main]
/// # async fn main() {
/// use trefoil::actor::{self, Context, Registry};
///
/// let registry = Registry::new();
/// let first = actor::spawn(async |mut own: Context<u32>| assert_eq!(own.receive().await, Ok(7)));
/// registry.register("first", &first).unwrap();
/// registry.find::<u32>("first").unwrap().send(7).await.unwrap();
/// first.join().await;
/// assert!(registry.find::<u32>("first").is_err());
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    names: Arc<Names>,
}

#[derive(Default)]
struct Names(Mutex<BTreeMap<String, Arc<dyn Peer>>>);

/// That an actor has a name, for the actor's end.
pub(super) struct Registration {
    names: Weak<Names>,
    name: String,
}

impl Registry {
    /// A registry without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// The registry of the process, for those who do not pass their own on.
    pub fn global() -> &'static Self {
        static GLOBAL: LazyLock<Registry> = LazyLock::new(Registry::new);
        &GLOBAL
    }

    /// Gives the actor this name.
    ///
    /// # Errors
    /// Another actor, or this one, has the name; or the actor has ended.
    pub fn register<M: Send + 'static>(
        &self,
        name: impl Into<String>,
        actor: &Address<M>,
    ) -> Result<(), RegisterError> {
        let (name, peer) = (name.into(), actor.peer());
        // The actor's lock first, as at its end. So the end takes the name away, or has been.
        let mut state = peer.core().lock();
        if state.has_ended() {
            return Err(RegisterError::NoActor);
        }
        match self.names.0.lock().entry(name) {
            Entry::Occupied(taken) => return Err(RegisterError::Taken(taken.get().core().pid())),
            Entry::Vacant(free) => {
                let name = free.key().clone();
                free.insert(Arc::clone(&peer));
                state.names.push(Registration { names: Arc::downgrade(&self.names), name });
            }
        }
        Ok(())
    }

    /// Takes a name away from whoever has it. False if nobody had it.
    pub fn unregister(&self, name: &str) -> bool {
        let Some(peer) = self.names.0.lock().remove(name) else { return false };
        let names = Arc::downgrade(&self.names);
        let is_it = |its: &Registration| its.name == name && its.names.ptr_eq(&names);
        let mut state = peer.core().lock();
        if let Some(place) = state.names.iter().position(is_it) {
            state.names.swap_remove(place);
        }
        true
    }

    /// The address of the actor with this name.
    ///
    /// # Errors
    /// Nobody has the name, or whoever has it receives messages of another type.
    pub fn find<M: Send + 'static>(&self, name: &str) -> Result<Address<M>, LookupError> {
        let peer = self.names.0.lock().get(name).cloned().ok_or(LookupError::NoActor)?;
        typed(peer).ok_or(LookupError::OtherType)
    }

    /// The pid of the actor with this name.
    pub fn pid(&self, name: &str) -> Option<Pid> {
        self.names.0.lock().get(name).map(|peer| peer.core().pid())
    }

    /// All names, in their order, with the pids of those who have them.
    pub fn names(&self) -> Vec<(String, Pid)> {
        let names = self.names.0.lock();
        names.iter().map(|(name, peer)| (name.clone(), peer.core().pid())).collect()
    }
}

impl Registration {
    /// Takes the name away, if it is still this actor's.
    pub(super) fn remove(&self, pid: Pid) {
        let Some(names) = self.names.upgrade() else { return };
        let removed = match names.0.lock().entry(self.name.clone()) {
            Entry::Occupied(taken) if taken.get().core().pid() == pid => Some(taken.remove()),
            _ => None,
        };
        drop(removed);
    }
}

/// The registry is gone, and its actors live on without its names.
impl Drop for Names {
    fn drop(&mut self) {
        let this: *const Self = self;
        // Whoever drops a registry has no lock of an actor, and that of the names is not taken any
        // more: nobody can reach them.
        let named: Vec<_> = std::mem::take(&mut *self.0.lock()).into_values().collect();
        for peer in &named {
            // Nothing foreign is dropped under the lock. For an actor with several names, the first
            // look takes all of them.
            peer.core().lock().names.retain(|its| !std::ptr::eq(its.names.as_ptr(), this));
        }
        // An actor that has ended may have had nobody else.
        discard_all(named);
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.names()).finish()
    }
}
