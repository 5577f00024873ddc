//! What a thread tells those who look for stalls: see `scheduler/stalls.rs`.

use super::*;
use crate::scheduler::stalls::{Outer, Subject};

impl WorkerThread {
    /// A task is about to be polled. `None` if the runtime does not report stalls.
    pub(crate) fn begin_watch(&self, subject: Subject) -> Option<Outer> {
        let outer = self.watched.as_ref()?.begin(subject);
        if self.state().is_none() {
            // This thread runs what is bound to it, perhaps while all workers sleep. Between the
            // entry and the look at the monitor: the other half is in `Monitor::rest`. (Of a worker
            // that is awake, the monitor knows.)
            fence(SeqCst);
        }
        self.shared.monitor.ensure_early(&self.shared);
        Some(outer)
    }

    /// That poll has ended.
    pub(crate) fn end_watch(&self, outer: Outer) {
        if let Some(watched) = &self.watched {
            watched.end(outer);
        }
    }

    /// This thread polls no more.
    pub(super) fn end_watches(&self) {
        if let (Some(stalls), Some(watched)) = (&self.shared.common.stalls, &self.watched) {
            stalls.forget(watched);
        }
    }

    /// Whether this thread's poll, if it is in one, is watched.
    pub(super) fn is_watched(&self) -> bool {
        self.watched.as_ref().is_some_and(|watched| !watched.is_paused())
    }

    /// The state is on offer, or gone: what this thread does keeps no worker.
    pub(super) fn pause_watch(&self) {
        if let Some(watched) = &self.watched {
            watched.pause();
        }
    }

    /// The state is back.
    pub(super) fn resume_watch(&self) {
        if let Some(watched) = &self.watched {
            watched.resume();
        }
    }
}
