//! The schedulers, which run tasks: one with several workers, and one for the current thread; and
//! the pool of threads that may block.

pub(crate) mod affinity;
pub(crate) mod block_on;
pub(crate) mod blocking;
mod common;
mod counters;
pub(crate) mod current;
pub(crate) mod multi;

pub(crate) use affinity::Affinity;
pub(crate) use common::{Common, Hook, Hooks, Knobs};
pub(crate) use counters::{TaskCounters, WorkerCounters};

use std::sync::Arc;

#[derive(Clone, Debug)]
pub(crate) enum Scheduler {
    Multi(Arc<multi::Shared>),
    Current(Arc<current::Shared>),
}
