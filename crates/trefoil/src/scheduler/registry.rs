//! The runtimes of the process, found by their ids.
//!
//! A timer that is polled outside of its runtime finds the runtime here. This is the slow path of
//! something rare, so one lock for the whole process is enough.

use super::{Handle, Id, Scheduler, current, multi};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Arc, Weak};

#[cfg(not(loom))]
use crate::primitives::{Mutex, MutexGuard};
#[cfg(loom)]
use std::sync::{Mutex, MutexGuard};

#[derive(Debug)]
enum WeakHandle {
    Multi(Weak<multi::Shared>),
    Current(Weak<current::Shared>),
}

/// Not loom's lock: loom has no statics that outlive a model. No model depends on this one, and
/// nothing that loom has to see happens while it is held.
static RUNTIMES: Mutex<BTreeMap<NonZeroU64, WeakHandle>> = Mutex::new(BTreeMap::new());

fn runtimes() -> MutexGuard<'static, BTreeMap<NonZeroU64, WeakHandle>> {
    let runtimes = RUNTIMES.lock();
    #[cfg(loom)]
    let runtimes = runtimes.expect("no critical section panics");
    runtimes
}

/// Adds a runtime, until `leave`.
pub(crate) fn enter(handle: &Handle) {
    let weak = match &handle.scheduler {
        Scheduler::Multi(shared) => WeakHandle::Multi(Arc::downgrade(shared)),
        Scheduler::Current(shared) => WeakHandle::Current(Arc::downgrade(shared)),
    };
    runtimes().insert(handle.id().0, weak);
}

/// Removes a runtime whose shutdown begins.
pub(crate) fn leave(id: Id) {
    runtimes().remove(&id.0);
}

/// Finds a runtime whose shutdown has not begun.
pub(crate) fn find(id: Id) -> Option<Handle> {
    // The lock is released before the caller can drop the handle, and the runtime with it.
    let scheduler = match runtimes().get(&id.0)? {
        WeakHandle::Multi(shared) => Scheduler::Multi(shared.upgrade()?),
        WeakHandle::Current(shared) => Scheduler::Current(shared.upgrade()?),
    };
    Some(Handle { scheduler })
}
