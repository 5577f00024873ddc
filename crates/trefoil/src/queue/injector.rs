//! The queue from which every worker takes: it has the tasks that foreign threads spawn and wake,
//! and those that do not fit into a ring.

use super::{Fifo, Linked};
use crate::primitives::Mutex;
use crate::primitives::atomic::{AtomicUsize, Relaxed};

/// A linked list under a lock. Its length is outside of the lock, so that `is_empty` takes no lock.
///
/// Critical sections are a few writes of pointers. Consumers take many values at a time.
#[derive(Debug)]
pub(crate) struct Injector<T> {
    /// Written under the lock.
    len: AtomicUsize,
    queue: Mutex<Queue<T>>,
}

#[derive(Debug)]
struct Queue<T> {
    values: Fifo<T>,
    is_closed: bool,
}

impl<T: Linked> Injector<T> {
    pub(crate) fn new() -> Self {
        let queue = Queue { values: Fifo::new(), is_closed: false };
        Self { len: AtomicUsize::new(0), queue: Mutex::new(queue) }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Relaxed: a hint. A worker that is about to sleep must not miss a value, and the fences of
        // the idle protocol see to that.
        self.len.load(Relaxed)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// # Errors
    /// The injector is closed.
    pub(crate) fn push(&self, value: T) -> Result<(), T> {
        self.put(value, Fifo::push_back)
    }

    /// Pushes a value before all others.
    ///
    /// # Errors
    /// The injector is closed.
    pub(crate) fn push_front(&self, value: T) -> Result<(), T> {
        self.put(value, Fifo::push_front)
    }

    /// Pushes all values, in their order.
    ///
    /// # Errors
    /// The injector is closed.
    pub(crate) fn push_all(&self, mut values: Fifo<T>) -> Result<(), Fifo<T>> {
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return Err(values);
        }
        queue.values.append(&mut values);
        // Relaxed: see `len`.
        self.len.store(queue.values.len(), Relaxed);
        Ok(())
    }

    fn put(&self, value: T, put: impl FnOnce(&mut Fifo<T>, T)) -> Result<(), T> {
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return Err(value);
        }
        put(&mut queue.values, value);
        // Relaxed: see `len`.
        self.len.store(queue.values.len(), Relaxed);
        Ok(())
    }

    /// Takes the first `share`-th part of the values, at least one and at most `max`. Returns the
    /// first value, and passes the others to `keep`.
    pub(crate) fn pop_batch(&self, share: usize, max: usize, mut keep: impl FnMut(T)) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock();
        let count = (queue.values.len() / share + 1).min(max.max(1));
        let first = queue.values.pop_front();
        for _ in 1..count {
            let Some(value) = queue.values.pop_front() else { break };
            keep(value);
        }
        // Relaxed: see `len`.
        self.len.store(queue.values.len(), Relaxed);
        first
    }

    /// Refuses all further values, and returns those that are left.
    pub(crate) fn close(&self) -> Fifo<T> {
        let mut queue = self.queue.lock();
        queue.is_closed = true;
        // Relaxed: see `len`.
        self.len.store(0, Relaxed);
        std::mem::take(&mut queue.values)
    }
}
