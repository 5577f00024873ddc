//! The end of a runtime: every task that is left is cancelled.

use super::worker::Core;
use super::{Shared, drain};
use crate::runtime::item::Item;
use crate::task::{Home, OwnedTasks, Runnable, bury, cancel_all, wake_guarded};
use std::sync::Arc;

/// Called by the last thread to leave, which thereby has all queues and lists
/// to itself; only wakers on foreign threads are still about.
///
/// It has no core any more, so whatever the futures' destructors wake or spawn
/// goes to the injector, and that is closed first of all.
pub(super) fn cancel_tasks(shared: &Arc<Shared>) {
    let mut cores = std::mem::take(&mut *shared.retired.lock());
    cores.sort_by_key(|core| core.index());
    debug_assert_eq!(cores.len(), shared.workers());
    let first = Rites { shared, core: &cores[0] };
    let cancel = |item: Item| {
        // SAFETY: these queues hold tasks only.
        unsafe { Runnable::from_item(item) }.cancel(&first);
    };

    drain(shared.injector.close(), cancel);
    for core in &cores {
        let remote = &shared.remotes[core.index() as usize];
        drain(remote.inbox.close(), cancel);
        drain(core.take_pinned(), cancel);
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
    for core in &cores {
        drain(shared.remotes[core.index() as usize].graves.take(), |item| {
            // SAFETY: it was sent to this core's worker.
            unsafe { bury(item, core.tasks()) };
        });
        cancel_all(shared, &Rites { shared, core });
    }
    for remote in &shared.remotes {
        remote.timers.close();
    }
}

struct Rites<'a> {
    shared: &'a Shared,
    core: &'a Core,
}

impl Home for Rites<'_> {
    fn index(&self) -> u32 {
        self.core.index()
    }

    fn tasks(&self) -> &OwnedTasks {
        self.core.tasks()
    }

    fn count_end(&self) {
        self.shared.common.tasks_elsewhere.ended.add_shared(1);
    }

    fn send_home(&self, home: u32, task: Item) {
        let sent = self.shared.remotes[home as usize].graves.push(task);
        debug_assert!(sent.is_ok(), "graves are never closed");
    }
}
