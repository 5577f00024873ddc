//! The deques of one scheduler.

use super::deque::{Deque, Owner, Stolen};
use super::latch::MAX_IDS;
use crate::primitives::Mutex;
use crate::primitives::atomic::{Acquire, AtomicPtr, AtomicUsize, Relaxed, Release};
use std::marker::PhantomData;
use std::ptr;

/// How many deques there are beside those of the workers: for threads that go on with a fork
/// although another thread is the worker now.
const SPARE: usize = 64;

/// The id of a thief without a deque. Nobody can steal back from such a thief.
const NAMELESS: u32 = MAX_IDS as u32 - 1;

/// A table of deques. A deque is made when it is first needed, and is freed with the table.
///
/// A deque belongs to a thread and not to a worker's state: it points to frames of the thread's
/// stack, which stay on the thread when another one retakes the state.
#[derive(Debug)]
pub(crate) struct Deques {
    /// Null where no deque was made yet.
    table: Box<[AtomicPtr<Deque>]>,
    /// The number of deques: entries below it are not null.
    len: AtomicUsize,
    /// The indices of deques that belong to no thread.
    free: Mutex<Vec<usize>>,
    is_solo: bool,
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
        let most = (workers + SPARE).min(NAMELESS as usize);
        Self {
            table: (0..most).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
            len: AtomicUsize::new(0),
            free: Mutex::new(Vec::new()),
            is_solo: workers == 1,
        }
    }

    /// Gets a deque for the calling thread. None if the table is full.
    pub(crate) fn acquire(&self) -> Option<DequeGuard<'_>> {
        let mut free = self.free.lock();
        let index = free.pop().or_else(|| {
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
    pub(crate) fn owner(&self) -> Owner<'a> {
        // SAFETY: the table gives a deque to one guard at a time, and neither the guard nor the
        // owner leaves its thread.
        unsafe { Owner::new(self.deque) }
    }
}

impl Drop for DequeGuard<'_> {
    fn drop(&mut self) {
        debug_assert!(self.owner().is_empty(), "a thread leaves with its jobs");
        self.deques.free.lock().push(self.deque.id() as usize);
    }
}
