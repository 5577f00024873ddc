//! The schedulers, which run tasks: one with several workers, and one for the current thread; and
//! the pool of threads that may block.

pub(crate) mod affinity;
pub(crate) mod block_on;
pub(crate) mod blocking;
mod common;
mod counters;
pub(crate) mod current;
mod handle;
pub(crate) mod histogram;
mod id;
pub(crate) mod multi;
pub(crate) mod registry;
mod seeds;
pub(crate) mod stalls;

pub(crate) use affinity::Affinity;
pub(crate) use common::{Common, Hook, Hooks, Knobs};
pub(crate) use counters::{Counter, TaskCounters, WorkerCounters};
pub(crate) use handle::NO_RUNTIME;
pub use handle::{EnterGuard, Handle, RuntimeFlavor, TryCurrentError};
pub use id::Id;
pub(crate) use seeds::Seeds;

use std::sync::Arc;

#[derive(Clone, Debug)]
pub(crate) enum Scheduler {
    Multi(Arc<multi::Shared>),
    Current(Arc<current::Shared>),
}
