//! The end of a runtime: every task that is left is cancelled.

use super::worker::WorkerState;
use super::{Shared, drain};
use crate::queue::Item;
use crate::task::{Home, OwnedTasks, Runnable, cancel_all, reap, wake_guarded};
use std::sync::Arc;

/// Called by the last thread to leave, which thereby has all queues and lists
/// to itself; only wakers on foreign threads are still about.
///
/// It has no state any more, so whatever the futures' destructors wake or spawn
/// goes to the injector, and that is closed first of all.
pub(super) fn cancel_tasks(shared: &Arc<Shared>) {
    let mut states = std::mem::take(&mut *shared.retired.lock());
    states.sort_by_key(|state| state.index());
    debug_assert_eq!(states.len(), shared.workers());
    let first = Rites { shared, state: &states[0] };
    let cancel = |item: Item| {
        // SAFETY: these queues hold tasks only.
        unsafe { Runnable::from_item(item) }.cancel(&first);
    };

    drain(shared.injector.close(), cancel);
    for state in &states {
        let remote = &shared.remotes[state.index() as usize];
        drain(remote.inbox.close(), cancel);
        drain(state.take_pinned(), cancel);
        if let Some(task) = remote.lifo.take() {
            task.cancel(&first);
        }
        remote.deferred.take().into_iter().for_each(wake_guarded);
        // SAFETY: the owner has left, and its thread's last act made us the
        // only one to touch this.
        while let Some(item) = unsafe { remote.ring.pop() } {
            cancel(item);
        }
    }
    for state in &states {
        drain(shared.remotes[state.index() as usize].completed_elsewhere.take(), |item| {
            // SAFETY: it was sent to this state's worker.
            unsafe { reap(item, state.tasks()) };
        });
        cancel_all(shared, &Rites { shared, state });
    }
    for remote in &shared.remotes {
        remote.timers.close();
    }
}

struct Rites<'a> {
    shared: &'a Shared,
    state: &'a WorkerState,
}

impl Home for Rites<'_> {
    fn index(&self) -> u32 {
        self.state.index()
    }

    fn tasks(&self) -> &OwnedTasks {
        self.state.tasks()
    }

    fn count_end(&self) {
        self.shared.common.tasks_elsewhere.ended.add_shared(1);
    }

    fn send_home(&self, home: u32, task: Item) {
        let sent = self.shared.remotes[home as usize].completed_elsewhere.push(task);
        debug_assert!(sent.is_ok(), "completed_elsewhere are never closed");
    }
}
