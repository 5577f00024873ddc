//! Names of actors that are never given twice, and the table in which they are looked up.

use super::cell::{self, Cell, Peer};
use super::error::{LookupError, NoActor};
use super::{Address, ExitReason};
use crate::primitives::Mutex;
use std::fmt;
use std::sync::Arc;

/// The name of an actor, unique in the process: a place in a table, and the generation of what is
/// there.
///
/// A pid is only a number: it keeps nothing alive, and can be copied, sent and compared. Once its
/// actor has ended, it names nobody, and never will again: the next actor at its place has another
/// generation, and a place whose generations are used up is given up.
///
/// ```
/// # #[trefoil::main]
/// # async fn main() {
/// use trefoil::actor::{self, Context};
///
/// let actor = actor::spawn(async |_: Context<()>| ());
/// let pid = actor.pid();
/// actor.join().await;
/// assert!(!pid.is_alive());
/// assert!(pid.abort().is_err());
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid {
    index: u32,
    generation: u32,
}

impl Pid {
    /// Whether the actor runs.
    pub fn is_alive(self) -> bool {
        self.peer().is_ok_and(|peer| peer.core().is_alive())
    }

    /// Sends an exit signal: see [`Address::exit`].
    ///
    /// # Errors
    /// The actor has ended.
    pub fn exit(self, reason: ExitReason) -> Result<(), NoActor> {
        cell::send_exit(&self.peer()?, None, reason).then_some(()).ok_or(NoActor(self))
    }

    /// Ends the actor, whatever it traps: see [`Address::abort`].
    ///
    /// # Errors
    /// The actor has ended.
    pub fn abort(self) -> Result<(), NoActor> {
        cell::doom(&self.peer()?, ExitReason::Aborted).then_some(()).ok_or(NoActor(self))
    }

    /// The address of the actor, to send it messages of this type.
    ///
    /// # Errors
    /// The actor has ended, or receives messages of another type.
    pub fn address<M: Send + 'static>(self) -> Result<Address<M>, LookupError> {
        let peer = self.peer().map_err(|_| LookupError::NoActor)?;
        typed(peer).ok_or(LookupError::OtherType)
    }

    pub(super) fn peer(self) -> Result<Arc<dyn Peer>, NoActor> {
        TABLE.lock().get(self).ok_or(NoActor(self))
    }
}

/// The address of this actor, if it takes messages of this type.
pub(super) fn typed<M: Send + 'static>(peer: Arc<dyn Peer>) -> Option<Address<M>> {
    peer.into_any().downcast::<Cell<M>>().ok().map(Address::new)
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}.{}>", self.index, self.generation)
    }
}

impl fmt::Debug for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pid{self}")
    }
}

#[cfg(not(loom))]
static TABLE: Mutex<Table> = Mutex::new(Table::new());
// A model begins with an empty one.
#[cfg(loom)]
loom::lazy_static! {
    static ref TABLE: Mutex<Table> = Mutex::new(Table::new());
}

/// Makes an actor's cell, and puts it into the table.
pub(super) fn enroll<M: Send + 'static>(
    make: impl FnOnce(Pid) -> Cell<M>,
) -> Result<Arc<Cell<M>>, TooMany> {
    let mut table = TABLE.lock();
    let pid = table.reserve()?;
    let cell = Arc::new(make(pid));
    table.fill(pid, cell.clone());
    Ok(cell)
}

/// Takes an actor that has ended out of the table. The last reference to it may be the returned
/// one, and its destructor is foreign code: it must not be dropped under a lock.
pub(super) fn strike(pid: Pid) -> Option<Arc<dyn Peer>> {
    TABLE.lock().remove(pid)
}

/// All places are taken.
#[derive(Debug)]
pub(super) struct TooMany;

struct Table {
    places: Vec<Place>,
    free: Vec<u32>,
}

struct Place {
    generation: u32,
    peer: Option<Arc<dyn Peer>>,
}

impl Table {
    const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    fn reserve(&mut self) -> Result<Pid, TooMany> {
        if let Some(index) = self.free.pop() {
            return Ok(Pid { index, generation: self.places[index as usize].generation });
        }
        let index = u32::try_from(self.places.len()).map_err(|_| TooMany)?;
        self.places.push(Place { generation: 0, peer: None });
        Ok(Pid { index, generation: 0 })
    }

    fn fill(&mut self, pid: Pid, peer: Arc<dyn Peer>) {
        self.places[pid.index as usize].peer = Some(peer);
    }

    fn get(&self, pid: Pid) -> Option<Arc<dyn Peer>> {
        let place = self.places.get(pid.index as usize)?;
        place.peer.clone().filter(|_| place.generation == pid.generation)
    }

    fn remove(&mut self, pid: Pid) -> Option<Arc<dyn Peer>> {
        let place = self.places.get_mut(pid.index as usize)?;
        if place.generation != pid.generation {
            return None;
        }
        let peer = place.peer.take()?;
        // A place that has had all generations is not used again.
        if let Some(next) = place.generation.checked_add(1) {
            place.generation = next;
            self.free.push(pid.index);
        }
        Some(peer)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn someone(pid: Pid) -> Arc<dyn Peer> {
        Arc::new(Cell::<()>::new(pid, None, None))
    }

    #[test]
    fn a_place_goes_to_another_generation() {
        let mut table = Table::new();
        let first = table.reserve().unwrap();
        table.fill(first, someone(first));
        let other = table.reserve().unwrap();
        assert_ne!(first.index, other.index);
        assert!(table.remove(first).is_some());
        assert!(table.remove(first).is_none());
        let second = table.reserve().unwrap();
        table.fill(second, someone(second));
        assert_eq!((second.index, second.generation), (first.index, first.generation + 1));
        assert!(table.get(first).is_none());
        assert!(table.remove(first).is_none());
        assert!(table.get(second).is_some());
    }

    #[test]
    fn a_place_without_generations_is_given_up() {
        let mut table = Table::new();
        let pid = table.reserve().unwrap();
        table.places[0].generation = u32::MAX - 1;
        for generation in [u32::MAX - 1, u32::MAX] {
            let pid = Pid { generation, ..pid };
            table.fill(pid, someone(pid));
            assert!(table.get(pid).is_some());
            assert!(table.remove(pid).is_some());
            assert!(table.get(pid).is_none());
            let next = table.reserve().unwrap();
            assert_eq!(next.index == pid.index, generation < u32::MAX, "{next}");
        }
    }
}
