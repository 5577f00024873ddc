//! Closures of forks that a thread has taken from another.

use super::{Entered, Restore, is_in_local, with};
use crate::scheduler::multi;

/// Runs `f`, the closure of a fork that this thread has taken from another, in a task of the
/// fork's.
pub(crate) fn in_helper<R>(f: impl FnOnce() -> R) -> R {
    let _helper = Restore::set(|context| &context.helper, with(|context| context.task.get()));
    f()
}

/// Whether the calling code is that of a fork's closure, and nothing on top of it, that this thread
/// has taken from another. It may block in place.
pub(crate) fn is_in_taken_closure() -> bool {
    with(|context| {
        let is_taken = || match context.task.get() {
            None => context.worker().is_some_and(multi::WorkerThread::is_in_job),
            task => task == context.helper.get(),
        };
        context.entered() == Entered::Yes && is_taken() && !is_in_local()
    })
}
