//! The tasks at rest whose home is one worker.

use super::TaskRef;
use super::header::{Header, NO_HOME, Neighbours, trailer};
use std::cell::Cell;
use std::ptr::NonNull;

/// A doubly linked list through the trailers of its tasks. Only the thread that has the worker's
/// state uses it, so it needs no lock: a task that ends elsewhere is sent back to its home, which
/// unlinks it.
///
/// A task joins the list when it first rests. A task that finishes in its first poll never touches
/// a list.
#[derive(Debug, Default)]
pub(crate) struct OwnedTasks {
    head: Cell<Option<NonNull<Header>>>,
    len: Cell<usize>,
}

impl OwnedTasks {
    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    pub(super) fn first(&self) -> Option<NonNull<Header>> {
        self.head.get()
    }

    /// # Safety
    /// 1. `task` is live, on no list, and stays live until it is removed.
    /// 2. The caller holds the right to its future.
    pub(super) unsafe fn insert(&self, task: NonNull<Header>, home: u32) {
        debug_assert_ne!(home, NO_HOME);
        let first = self.head.replace(Some(task));
        // SAFETY: 1.
        unsafe { set(task, |n| n.next = first) };
        if let Some(first) = first {
            // SAFETY: what is on the list is live (1, at its insertion).
            unsafe { set(first, |n| n.prev = Some(task)) };
        }
        // SAFETY: 1.
        let trailer = unsafe { trailer(task) };
        trailer.home.with_mut(|cell| {
            // SAFETY: 2.
            unsafe { *cell = home }
        });
        self.len.set(self.len.get() + 1);
    }

    /// # Safety
    /// `task` is on this list.
    pub(super) unsafe fn remove(&self, task: NonNull<Header>) {
        let mut own = Neighbours::default();
        // SAFETY: what is on the list is live.
        unsafe { set(task, |n| own = std::mem::take(n)) };
        match own.prev {
            // SAFETY: what is on the list is live.
            Some(prev) => unsafe { set(prev, |n| n.next = own.next) },
            None => self.head.set(own.next),
        }
        if let Some(next) = own.next {
            // SAFETY: what is on the list is live.
            unsafe { set(next, |n| n.prev = own.prev) };
        }
        self.len.set(self.len.get() - 1);
    }

    /// A reference to each task.
    pub(super) fn all(&self) -> Vec<TaskRef> {
        let mut all = Vec::with_capacity(self.len());
        let mut next = self.head.get();
        while let Some(task) = next {
            // SAFETY: what is on the list is live, by the runtime's reference.
            all.push(unsafe { TaskRef::share(task) });
            // SAFETY: what is on the list is live.
            let trailer = unsafe { trailer(task) };
            next = trailer.neighbours.with(|cell| {
                // SAFETY: only the list's owner, which is this thread, accesses its links.
                unsafe { (*cell).next }
            });
        }
        all
    }

    /// Unlinks a task that ended elsewhere, and gives up the runtime's reference.
    ///
    /// # Safety
    /// `task` is complete, on this list, and comes with the runtime's
    /// reference.
    pub(crate) unsafe fn reap(&self, task: NonNull<Header>) {
        // SAFETY: the caller's promise.
        unsafe { self.remove(task) };
        // SAFETY: the caller's promise.
        drop(unsafe { TaskRef::from_raw(task) });
    }
}

/// # Safety
/// `task` is live and the caller owns the list that it is on or joins.
unsafe fn set(task: NonNull<Header>, change: impl FnOnce(&mut Neighbours)) {
    // SAFETY: the caller's promise.
    let trailer = unsafe { trailer(task) };
    trailer.neighbours.with_mut(|cell| {
        // SAFETY: only the list's owner, the caller, accesses its links.
        change(unsafe { &mut *cell });
    });
}
