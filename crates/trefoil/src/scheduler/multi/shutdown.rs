//! The end of a runtime: every task that is left is cancelled.

use super::worker::WorkerState;
use super::{Shared, handle};
use crate::context;
use crate::task::{CompletedTask, Home, OwnedTasks, Runnable, cancel_all, wake_guarded};
use std::sync::Arc;

/// Called by the last thread to leave, which therefore has exclusive access to
/// all queues and lists. Wakers on foreign threads may still be in use.
///
/// The thread has no worker state any more. So tasks that the futures' destructors wake or spawn
/// are sent to the injector, which is closed first.
pub(super) fn cancel_tasks(shared: &Arc<Shared>) {
    // Destructors may ask for it. The last thread to leave may be the one that drops the
    // runtime, which has lost a race for a state (`retake_from_fork`).
    let _handle = context::enter_handle(handle(shared));
    let mut states = std::mem::take(&mut *shared.retired.lock());
    states.sort_by_key(|state| state.index());
    debug_assert_eq!(states.len(), shared.workers());
    let first = RetiredWorker { shared, state: &states[0] };
    let cancel = |task: Runnable| task.cancel(&first);

    shared.injector.close().drain(cancel);
    for state in &states {
        let remote = &shared.remotes[state.index() as usize];
        remote.inbox.close().drain(cancel);
        state.take_pinned().drain(cancel);
        if let Some(task) = remote.lifo.take() {
            cancel(task);
        }
        remote.deferred.take().into_iter().for_each(wake_guarded);
        // SAFETY: the owner's thread has left, which its last access has announced
        // (`Shared::retire`). So only this thread accesses the ring.
        while let Some(task) = unsafe { remote.ring.pop() } {
            cancel(task);
        }
    }
    for state in &states {
        shared.remotes[state.index() as usize].completed_elsewhere.take().drain(|task| {
            // SAFETY: it was sent to this state's worker.
            unsafe { task.reap(state.tasks()) };
        });
        cancel_all(shared, &RetiredWorker { shared, state });
    }
    for remote in &shared.remotes {
        remote.timers.close();
    }
}

/// A worker whose thread has left, for the time in which its tasks are cancelled.
struct RetiredWorker<'a> {
    shared: &'a Shared,
    state: &'a WorkerState,
}

impl Home for RetiredWorker<'_> {
    fn index(&self) -> u32 {
        self.state.index()
    }

    fn tasks(&self) -> &OwnedTasks {
        self.state.tasks()
    }

    fn count_end(&self) {
        self.shared.common.tasks_elsewhere.ended.add_shared(1);
    }

    fn send_home(&self, home: u32, task: CompletedTask) {
        let sent = self.shared.remotes[home as usize].completed_elsewhere.push(task);
        debug_assert!(sent.is_ok(), "`completed_elsewhere` is never closed");
    }
}
