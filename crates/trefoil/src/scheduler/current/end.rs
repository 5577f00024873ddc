//! The end of a current-thread runtime: every task that is left is cancelled.

use super::{Driver, Shared};
use crate::context;
use crate::task::cancel_all;
use std::sync::Arc;

impl Driver {
    /// Cancels all tasks, and refuses further ones.
    pub(super) fn cancel_tasks(&self, shared: &Arc<Shared>) {
        // As if no thread drove: tasks that destructors wake or spawn are sent to the inbox, which
        // is closed.
        context::enter_current(None, || {
            let mut queued = shared.inbox.close();
            shared.taken.add_shared(queued.len() as u64);
            queued.append(&mut self.queue.borrow_mut());
            queued.drain(|task| task.cancel(self));
            self.wake_deferred();
            cancel_all(shared, self);
        });
    }
}
