//! The parts that both schedulers have, and the settings of the user.

use super::Id;
use super::affinity::Visitor;
use super::histogram::Histograms;
use super::{Affinity, TaskCounters, blocking};
use crate::primitives::CachePadded;
use crate::task::discard;
use crate::time::Clock;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The parts that both schedulers have.
pub(crate) struct Common {
    pub(crate) blocking: Arc<blocking::Pool>,
    pub(crate) clock: Clock,
    pub(crate) hooks: Hooks,
    pub(crate) thread_stack_bytes: Option<usize>,
    pub(crate) has_time: bool,
    /// The numbers of tasks that were spawned, and that ended, on threads without a worker state.
    pub(crate) tasks_elsewhere: CachePadded<TaskCounters>,
    /// The CPUs of the threads, if the workers are pinned.
    pub(crate) affinity: Option<Affinity>,
    /// The histograms that the workers keep. Each task knows whether there are any.
    pub(crate) histograms: Histograms,
    pub(crate) is_measured: bool,
    pub(crate) id: Id,
    pub(crate) name: Option<String>,
}

/// How often a scheduler does its periodic work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knobs {
    /// The number of polls between two looks at timers and messages.
    pub(crate) event_interval: u32,
    /// The number of polls between two looks at the shared queue while there is other work.
    pub(crate) global_queue_interval: u32,
    /// How many rounds a searcher makes before it sleeps.
    pub(crate) search_rounds: u32,
    /// Whether workers offer their states while they fork.
    pub(crate) hands_off_while_forking: bool,
    /// Whether threads in `block_on` take the places of workers that sleep.
    pub(crate) serves_in_block_on: bool,
}

pub(crate) type Hook = Option<Arc<dyn Fn() + Send + Sync>>;

/// The user's functions that are called at certain moments.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) thread_start: Hook,
    pub(crate) thread_stop: Hook,
    pub(crate) thread_park: Hook,
    pub(crate) thread_unpark: Hook,
}

impl Hooks {
    pub(crate) fn thread_start(&self) {
        call(&self.thread_start);
    }

    pub(crate) fn thread_stop(&self) {
        call(&self.thread_stop);
    }

    pub(crate) fn thread_park(&self) {
        call(&self.thread_park);
    }

    pub(crate) fn thread_unpark(&self) {
        call(&self.thread_unpark);
    }
}

/// Calls a hook, and catches its panic, which would otherwise end a scheduler's thread and lose its
/// tasks. The message of the panic was printed.
#[inline]
fn call(hook: &Hook) {
    if let Some(hook) = hook
        && let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook()))
    {
        discard(payload);
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

impl Common {
    /// Pins the calling thread, which becomes that worker.
    pub(crate) fn pin_worker(&self, worker: u32) {
        if let Some(affinity) = &self.affinity {
            affinity.pin(worker);
        }
    }

    /// Pins the calling thread, which is the user's, as that worker's until the drop.
    pub(crate) fn pin_visitor(&self, worker: u32) -> Option<Visitor<'_>> {
        self.affinity.as_ref()?.pin_visitor(worker)
    }

    /// Unpins the calling thread, which is no worker, or no longer one.
    pub(crate) fn unpin(&self) {
        if let Some(affinity) = &self.affinity {
            affinity.release();
        }
    }
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common").field("blocking", &self.blocking).finish_non_exhaustive()
    }
}
