//! All deques of one scheduler.

use super::deque::{Deque, Owner, Stolen};
use super::latch::MAX_IDS;
use crate::primitives::Mutex;
use crate::primitives::atomic::{Acquire, AtomicPtr, AtomicUsize, Relaxed, Release};
use std::marker::PhantomData;
use std::ptr;

/// Deques for threads that go on with a fork while another thread has taken
/// over as the worker, because they block.
const SPARE: usize = 64;

/// The id of thieves without a deque, from whom nobody can steal back.
const NAMELESS: u32 = MAX_IDS as u32 - 1;

/// A table of deques, made when they are first needed and kept until the end.
///
/// A deque belongs to a thread and not to a worker's core: frames of the
/// thread's stack are in it, which cannot move when the core does.
#[derive(Debug)]
pub(crate) struct Deques {
    /// Null where none was needed yet.
    table: Box<[AtomicPtr<Deque>]>,
    /// Entries before this one are not null.
    len: AtomicUsize,
    /// Indices of deques that no thread has.
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

    /// A deque for the calling thread; none if there are too many already.
    pub(crate) fn acquire(&self) -> Option<DequeGuard<'_>> {
        let mut free = self.free.lock();
        let index = free.pop().or_else(|| {
            // Relaxed: written under this lock.
            let index = self.len.load(Relaxed);
            let entry = self.table.get(index)?;
            let deque = Box::new(Deque::new(index as u32, self.is_solo));
            // Release: pairs with `get`.
            entry.store(Box::into_raw(deque), Release);
            // Release: pairs with `all`.
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
        // SAFETY: it came from `Box::into_raw` and is freed with the table.
        unsafe { deque.as_ref() }
    }

    /// Deques that there are; those of idle threads are empty.
    pub(crate) fn len(&self) -> usize {
        // Acquire: pairs with the Release in `acquire`; makes the entries visible.
        self.len.load(Acquire)
    }

    /// Takes the oldest job of the first deque that has one, looking from a
    /// random place on.
    pub(crate) fn steal(&self, thief: Option<u32>, start: usize) -> Option<Stolen<'_>> {
        let len = self.len();
        let name = thief.unwrap_or(NAMELESS);
        (0..len).find_map(|offset| self.get((start + offset) % len)?.steal(name))
    }

    /// Whether there is anything to steal.
    pub(crate) fn have_public(&self) -> bool {
        (0..self.len()).any(|index| self.get(index).is_some_and(Deque::has_public))
    }
}

impl Drop for Deques {
    fn drop(&mut self) {
        for entry in &self.table {
            // Relaxed: `&mut self` ordered everything.
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
