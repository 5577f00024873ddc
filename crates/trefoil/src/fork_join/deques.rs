//! The deques of one scheduler.

use super::deque::{Deque, Owner, Stolen};
use super::latch::MAX_IDS;
use crate::primitives::Mutex;
use crate::primitives::atomic::{Acquire, AtomicPtr, AtomicUsize, Relaxed, Release};
use std::collections::HashSet;
use std::marker::PhantomData;
use std::ptr;

/// How many deques there are beside those of the workers: for threads that go on with a fork
/// although another thread is the worker now.
const SPARE: usize = 64;

/// How many there are beside these: for threads whose own is with a fiber that waits in a fork.
const FOR_FIBERS: usize = if cfg!(all(feature = "fiber", unix, not(loom))) { 192 } else { 0 };

/// The id of a thief without a deque. Nobody can steal back from such a thief.
const NAMELESS: u32 = MAX_IDS as u32 - 1;

/// A table of deques. A deque is made when it is first needed, and is freed with the table.
///
/// A deque belongs to a thread and not to a worker's state: it points to frames of the thread's
/// stack, which stay on the thread when another one retakes the state. If they are on the stack of
/// a fiber that waits, the deque is the fiber's meanwhile, and the thread has another.
#[derive(Debug)]
pub(crate) struct Deques {
    /// Null where no deque was made yet.
    table: Box<[AtomicPtr<Deque>]>,
    /// The number of deques: entries below it are not null.
    len: AtomicUsize,
    free: Mutex<Free>,
    is_solo: bool,
}

/// The deques that belong to no thread.
#[derive(Debug, Default)]
struct Free {
    /// Their indices.
    indices: Vec<usize>,
    /// The others that were made for threads whose own a fiber has taken along.
    exchanged: HashSet<usize>,
}

/// Keeps a deque for a thread; the drop gives the deque back to the table.
#[derive(Debug)]
pub(crate) struct DequeGuard<'a> {
    deques: &'a Deques,
    deque: &'a Deque,
    _thread: PhantomData<*const ()>,
}

impl Deques {
    pub(crate) fn new(workers: usize) -> Self {
        let most = (workers + SPARE + FOR_FIBERS).min(NAMELESS as usize);
        Self {
            table: (0..most).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
            len: AtomicUsize::new(0),
            free: Mutex::default(),
            is_solo: workers == 1,
        }
    }

    /// Gets a deque for the calling thread. None if the table is full.
    pub(crate) fn acquire(&self) -> Option<DequeGuard<'_>> {
        self.acquire_for(false)
    }

    /// Threads leave what is for fibers, and fibers leave the rest.
    fn acquire_for(&self, is_for_fiber: bool) -> Option<DequeGuard<'_>> {
        let mut free = self.free.lock();
        let for_fibers = FOR_FIBERS - free.exchanged.len();
        // Relaxed: it is only written while this lock is held.
        let left = free.indices.len() + self.table.len() - self.len.load(Relaxed);
        if if is_for_fiber { for_fibers == 0 } else { left <= for_fibers } {
            return None;
        }
        let index = free.indices.pop().or_else(|| {
            // Relaxed: it is only written while this lock is held.
            let index = self.len.load(Relaxed);
            let entry = self.table.get(index)?;
            let deque = Deque::boxed(index as u32, self.is_solo);
            // Release: pairs with the Acquire in `get`; publishes the deque.
            entry.store(Box::into_raw(deque), Release);
            // Release: pairs with the Acquire in `len`; publishes the entry.
            self.len.store(index + 1, Release);
            Some(index)
        })?;
        if is_for_fiber {
            free.exchanged.insert(index);
        }
        drop(free);
        let deque = self.get(index)?;
        deque.parker().adopt();
        Some(DequeGuard { deques: self, deque, _thread: PhantomData })
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Deque> {
        // Acquire: pairs with the Release in `acquire`; makes the new deque visible.
        let deque = self.table.get(index)?.load(Acquire);
        // SAFETY: the pointer is null or came from `Box::into_raw`, and the deque is freed with the
        // table.
        unsafe { deque.as_ref() }
    }

    /// The number of deques. Those that belong to no thread are empty.
    pub(crate) fn len(&self) -> usize {
        // Acquire: pairs with the Release in `acquire`; makes the entries visible.
        self.len.load(Acquire)
    }

    /// Takes the oldest job of the first deque that has one, from the deque `start` on.
    pub(crate) fn steal(&self, thief: Option<u32>, start: usize) -> Option<Stolen<'_>> {
        let len = self.len();
        let name = thief.unwrap_or(NAMELESS);
        (0..len).find_map(|offset| self.get((start + offset) % len)?.steal(name))
    }

    /// Whether there is a job to steal.
    pub(crate) fn have_public(&self) -> bool {
        (0..self.len()).any(|index| self.get(index).is_some_and(Deque::has_public))
    }
}

impl Drop for Deques {
    fn drop(&mut self) {
        for entry in &self.table {
            // Relaxed: `&mut self` means that all other accesses came before.
            let deque = entry.load(Relaxed);
            if !deque.is_null() {
                // SAFETY: it came from `Box::into_raw`. Guards borrow the table, so none is left.
                drop(unsafe { Box::from_raw(deque) });
            }
        }
    }
}

impl<'a> DequeGuard<'a> {
    /// The thread has exchanged the deque for that one, of the same table.
    pub(crate) fn is_now(&mut self, deque: &'a Deque) {
        self.deque = deque;
    }

    pub(crate) fn owner(&self) -> Owner<'a> {
        // SAFETY: the table gives a deque to one guard at a time, and neither the guard nor the
        // owner leaves its thread.
        unsafe { Owner::new(self.deque) }
    }
}

#[cfg(all(feature = "fiber", unix, not(loom)))]
impl Deques {
    /// Exchanges the calling thread's deque, which a fiber takes along, for a free one.
    ///
    /// The caller makes it the thread's, and gives it back with `put_back`. None if none is free.
    pub(crate) fn exchange(&self) -> Option<&Deque> {
        let guard = self.acquire_for(true)?;
        let deque = guard.deque;
        std::mem::forget(guard);
        Some(deque)
    }

    /// The calling thread gives back its deque, for that of a fiber.
    ///
    /// # Safety
    /// The deque is one of this table, and this thread is its owner, which it is no more.
    pub(crate) unsafe fn put_back<'a>(&'a self, deque: &'a Deque) {
        drop(DequeGuard { deques: self, deque, _thread: PhantomData });
    }
}

impl Drop for DequeGuard<'_> {
    fn drop(&mut self) {
        debug_assert!(self.owner().is_empty(), "a thread leaves with its jobs");
        let index = self.deque.id() as usize;
        let mut free = self.deques.free.lock();
        free.exchanged.remove(&index);
        free.indices.push(index);
    }
}
