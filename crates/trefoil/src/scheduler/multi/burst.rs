//! Many tasks that a thread which is no worker wakes one after the other.
//!
//! Each would take the lock of the injector, look for a sleeper, and count itself and those who use
//! the scheduler: six RMWs, or more, on words that the workers are busy with. Together they do so
//! once.
//!
//! A task of a burst is woken and not queued: to all others it has a *wake in flight*
//! (`task/README.md`), only for longer. So it is `SCHEDULED`, and other wakers leave it alone.
//!
//! # Bounds
//!
//! A task waits for fewer than [`MOST`] other wakes of the burst, each of which is one of a task:
//! a few RMWs, and no foreign code. What a burst is made of is `task::wake_all`.

use super::Shared;
use crate::queue::Fifo;
use crate::task::{self, Runnable};
use std::cell::RefCell;
use std::ptr;
use std::sync::Arc;

/// So many tasks are queued at once, and no more wait for each other.
const MOST: usize = 128;

/// The tasks that wait for the end of the burst, all of one scheduler.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    open: RefCell<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    /// Once the tasks are queued, they may complete, and the runtime may end.
    shared: Arc<Shared>,
    tasks: Fifo<Runnable>,
}

impl Burst {
    /// # Safety
    /// As for [`Schedule::deliver`](task::Schedule::deliver).
    pub(super) unsafe fn add(&self, scheduler: *const Shared, task: Runnable) {
        let is_other = |open: &mut Open| !ptr::eq(Arc::as_ptr(&open.shared), scheduler);
        if self.open.borrow_mut().as_mut().is_some_and(is_other) {
            self.end();
        }
        let mut open = self.open.borrow_mut();
        let Open { tasks, .. } = open.get_or_insert_with(|| {
            // SAFETY: the pointer is from `as_ptr`, and live up to here by the caller's promise.
            unsafe { Arc::increment_strong_count(scheduler) };
            // SAFETY: the count that was just added.
            let shared = unsafe { Arc::from_raw(scheduler) };
            Open { shared, tasks: Fifo::new() }
        });
        tasks.push_back(task);
        if tasks.len() == MOST {
            drop(open);
            self.end();
        }
    }

    /// Queues the tasks that wait.
    pub(crate) fn end(&self) {
        let Some(Open { shared, tasks }) = self.open.take() else { return };
        shared.common.woken_elsewhere.add_shared(tasks.len() as u64);
        match shared.injector.push_all(tasks) {
            Ok(()) => shared.notify(),
            Err(refused) => refused.drain(|task| {
                // SAFETY: it was given to `add` for this scheduler, which is live.
                unsafe { task::take_back(Arc::as_ptr(&shared), task) };
            }),
        }
    }
}

impl Drop for Burst {
    fn drop(&mut self) {
        debug_assert!(self.open.get_mut().is_none(), "a `Fifo` drops nothing");
    }
}
