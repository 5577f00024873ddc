//! The end of a current-thread runtime: every task that is left is cancelled.

use super::{Driver, Shared};
use crate::context;
use crate::task::cancel_all;
#[cfg(all(feature = "fiber", unix, not(loom)))]
use crate::task::{Ran, abort_all};
use std::sync::Arc;

impl Driver {
    /// Cancels all tasks, and refuses further ones.
    pub(super) fn cancel_tasks(&self, shared: &Arc<Shared>) {
        // As if no thread drove: tasks that destructors wake or spawn are sent to the inbox, which
        // is closed.
        context::enter_current(None, || {
            self.end_scopes(shared);
            let mut queued = shared.inbox.close();
            shared.taken.add_shared(queued.len() as u64);
            queued.append(&mut self.queue.borrow_mut());
            queued.drain(|task| task.cancel(self));
            self.wake_deferred();
            cancel_all(shared, self);
        });
    }

    /// Fibers that are in a scope end when those of the scope have ended, which this thread
    /// unwinds, if it can: it runs nothing but what has to be run for that.
    fn end_scopes(&self, shared: &Arc<Shared>) {
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        while context::with(|context| context.scoped_fibers.get()) > 0 {
            abort_all(self);
            self.take_inbox(shared);
            let Some(task) = self.queue.borrow_mut().pop_front() else { break };
            let Some(task) = task.cancel_unless_shielded(self) else { continue };
            if let Ran::Woken(task) | Ran::Yielded(task) = task.run(self) {
                self.queue.borrow_mut().push_back(task);
            }
        }
        #[cfg(not(all(feature = "fiber", unix, not(loom))))]
        let _ = shared;
    }
}
