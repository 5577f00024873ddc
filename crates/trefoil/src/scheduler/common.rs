//! The parts that both schedulers have, and the settings of the user.

use super::Id;
use super::affinity::Visitor;
use super::histogram::Histograms;
use super::stalls::Stalls;
use super::{Affinity, Counter, Seeds, TaskCounters, blocking};
use crate::primitives::CachePadded;
use crate::primitives::parker::Parker;
use crate::reactor::{Reactor, Wakes};
use crate::task::{LocalEnterGuard, Notes, Origin, RuntimeSet, TaskHooks, discard};
use crate::time::{BlockOnTimers, Clock};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The parts that both schedulers have.
pub(crate) struct Common {
    pub(crate) blocking: Arc<blocking::Pool>,
    pub(crate) clock: Clock,
    pub(crate) hooks: Hooks,
    pub(crate) thread_stack_bytes: Option<usize>,
    pub(crate) has_time: bool,
    /// The timers of threads that are in a `block_on` of the runtime and drive nothing.
    pub(crate) block_on_timers: BlockOnTimers,
    /// Where tasks wait for the system's events, if the runtime has I/O.
    pub(crate) reactor: Option<Reactor>,
    /// The signals that the runtime has ever listened to.
    #[cfg(all(feature = "signal", unix, not(loom)))]
    pub(crate) signals: crate::signal::Hubs,
    /// The numbers of tasks that were spawned, and that ended, on threads without a worker state.
    pub(crate) tasks_elsewhere: CachePadded<TaskCounters>,
    /// The number of tasks that were woken there.
    pub(crate) woken_elsewhere: CachePadded<Counter>,
    /// How often a task's budget was used up.
    pub(crate) forced_yields: Counter,
    /// The CPUs of the threads, if the workers are pinned.
    pub(crate) affinity: Option<Affinity>,
    /// The histograms that the workers keep. Each task knows whether there are any.
    pub(crate) histograms: Histograms,
    pub(crate) is_measured: bool,
    /// The functions that are called for tasks, if there are any.
    pub(crate) task_hooks: Option<Arc<TaskHooks>>,
    /// The set of local tasks, of a `LocalRuntime`.
    pub(crate) local: OnceLock<RuntimeSet>,
    /// What its random numbers start with, if the user has said it.
    pub(crate) seeds: Option<Seeds>,
    /// Who looks for polls that do not end, if anybody does.
    pub(crate) stalls: Option<Stalls>,
    /// Some of these three are there, so tasks have notes.
    pub(crate) is_observed: bool,
    /// How long fibers go on without waiting.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(crate) slice: crate::fiber::Slice,
    pub(crate) id: Id,
    pub(crate) name: Option<String>,
    /// The process that has made the runtime. A fork of it has none of the runtime's threads.
    pub(crate) process: u32,
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
    /// Whether the task that was woken last goes to the LIFO slot.
    pub(crate) has_lifo_slot: bool,
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

    #[inline]
    pub(crate) fn thread_park(&self) {
        call(&self.thread_park);
    }

    #[inline]
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
    /// How large the stacks of the runtime's threads are.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(crate) fn stack_bytes(&self) -> usize {
        self.thread_stack_bytes.unwrap_or_else(|| {
            // As `std` has it.
            let bytes = std::env::var("RUST_MIN_STACK").ok().and_then(|bytes| bytes.parse().ok());
            bytes.unwrap_or(2 << 20)
        })
    }

    /// Makes the set of a `LocalRuntime` the current one, if this is its thread.
    pub(crate) fn enter_local(&self) -> Option<LocalEnterGuard> {
        self.local.get()?.enter()
    }

    /// The notes of a new task, if it has any.
    #[inline(always)]
    pub(crate) fn notes(&self, origin: Origin<'_>) -> Option<Notes> {
        self.is_observed.then(|| {
            let notes = Notes::new(origin, self.is_measured, self.task_hooks.as_ref());
            notes.watched(self.stalls.is_some())
        })
    }

    /// Whether a task has panicked whose panic ends the scheduler.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.task_hooks.as_ref().is_some_and(|hooks| hooks.end.has_begun())
    }

    /// The number of tasks that were ever spawned or woken on threads without a worker state.
    pub(crate) fn scheduled_elsewhere(&self) -> u64 {
        self.tasks_elsewhere.spawned.get() + self.woken_elsewhere.get()
    }

    /// A parker for a thread of the scheduler.
    pub(crate) fn parker(&self) -> Parker {
        Parker::with_interrupt(self.reactor.as_ref().map(Reactor::interrupt))
    }

    /// Waits for a token of the parker, or for events if nobody else does. The wakers that come of
    /// it, if any, are added to `wakes`, for the caller to wake when it counts as awake. Returns
    /// whether the parker got a token.
    pub(crate) fn park(
        &self,
        parker: &Parker,
        timeout: Option<Duration>,
        wakes: &mut Wakes,
    ) -> bool {
        match &self.reactor {
            Some(reactor) => reactor.park(parker, timeout, wakes),
            None => parker.park_at_most(timeout),
        }
    }

    /// Whether there is anything that events may come from.
    #[inline]
    pub(crate) fn has_sources(&self) -> bool {
        self.reactor.as_ref().is_some_and(Reactor::has_sources)
    }

    /// Looks for events without waiting. The wakers are added to `wakes`, as by `park`.
    #[inline]
    pub(crate) fn look_at_events(&self, wakes: &mut Wakes) {
        if let Some(reactor) = &self.reactor {
            reactor.look(wakes);
        }
    }

    /// Without sources, nobody polls, and a fork does its parent no harm: only `register` asks
    /// then.
    ///
    /// # Panics
    /// If there are sources, and this process is a fork of the one that has made the runtime, whose
    /// events it would take.
    pub(crate) fn check_process(&self) {
        if let Some(reactor) = &self.reactor
            && reactor.has_sources()
            && let Err(error) = reactor.check_process()
        {
            panic!("{error}");
        }
    }

    /// Whether this process is a fork of the one that has made the runtime. No thread of the
    /// runtime came with it, and any lock may have been taken by one.
    pub(crate) fn is_in_a_fork(&self) -> bool {
        std::process::id() != self.process
    }

    /// # Panics
    /// In a fork, where nobody would run what is spawned.
    #[track_caller]
    pub(crate) fn check_workers(&self) {
        assert!(
            !self.is_in_a_fork(),
            "this process is a fork of the one that has made the runtime, whose worker threads it \
             does not have: make a new runtime after the fork"
        );
    }

    /// All operations on sources fail from here on.
    pub(crate) fn shut_down_reactor(&self) {
        if let Some(reactor) = &self.reactor {
            reactor.shut_down();
            #[cfg(all(feature = "signal", unix, not(loom)))]
            self.signals.clear();
        }
    }

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
