//! The queue that every worker takes from: what foreign threads spawn and
//! wake, and what does not fit into a ring.

use super::item::{Fifo, Item};
use crate::primitives::Mutex;
use crate::primitives::atomic::{AtomicUsize, Relaxed};

/// A linked list under a lock, with its length outside, so that looking
/// whether there is anything takes no lock.
///
/// Critical sections are a few pointer writes; consumers take many at a time.
#[derive(Debug)]
pub(crate) struct Injector {
    /// Written under the lock.
    len: AtomicUsize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    items: Fifo,
    closed: bool,
}

impl Injector {
    pub(crate) fn new() -> Self {
        Self { len: AtomicUsize::new(0), queue: Mutex::new(Queue::default()) }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Relaxed: a hint. Where a missed item would be missed for good, the
        // idle protocol's fences come in between.
        self.len.load(Relaxed)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// # Errors
    /// The injector is closed.
    pub(crate) fn push(&self, item: Item) -> Result<(), Item> {
        self.put(item, Fifo::push_back)
    }

    /// Before all others.
    ///
    /// # Errors
    /// The injector is closed.
    pub(crate) fn push_front(&self, item: Item) -> Result<(), Item> {
        self.put(item, Fifo::push_front)
    }

    fn put(&self, item: Item, put: impl FnOnce(&mut Fifo, Item)) -> Result<(), Item> {
        let mut queue = self.queue.lock();
        if queue.closed {
            return Err(item);
        }
        put(&mut queue.items, item);
        // Relaxed: see `len`.
        self.len.store(queue.items.len(), Relaxed);
        Ok(())
    }

    /// Takes the first `share`-th part, at least one and at most `max`: one is
    /// returned, the others are given to `keep`.
    pub(crate) fn pop_batch(
        &self,
        share: usize,
        max: usize,
        mut keep: impl FnMut(Item),
    ) -> Option<Item> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock();
        let count = (queue.items.len() / share + 1).min(max.max(1));
        let first = queue.items.pop_front();
        for _ in 1..count {
            let Some(item) = queue.items.pop_front() else { break };
            keep(item);
        }
        // Relaxed: see `len`.
        self.len.store(queue.items.len(), Relaxed);
        first
    }

    /// Refuses all further items, and returns those that are left.
    pub(crate) fn close(&self) -> Fifo {
        let mut queue = self.queue.lock();
        queue.closed = true;
        // Relaxed: see `len`.
        self.len.store(0, Relaxed);
        std::mem::take(&mut queue.items)
    }
}
