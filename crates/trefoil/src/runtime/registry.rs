//! The runtimes of the process, for those who know one by its id only.
//!
//! A timer that is polled outside of its runtime finds it here. This is the slow
//! path of something rare, so one lock for all of the process does.

use super::{Handle, Id};
use crate::scheduler::{Scheduler, current, multi};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

#[derive(Debug)]
enum WeakHandle {
    Multi(Weak<multi::Shared>),
    Current(Weak<current::Shared>),
}

/// Never loom's, which has no statics that outlive a model: no model depends on
/// it, and nothing that loom would have to see happens under the lock.
static RUNTIMES: Mutex<BTreeMap<NonZeroU64, WeakHandle>> = Mutex::new(BTreeMap::new());

fn runtimes() -> MutexGuard<'static, BTreeMap<NonZeroU64, WeakHandle>> {
    // No critical section leaves the map half done.
    RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a runtime known, until `leave`.
pub(super) fn enter(handle: &Handle) {
    let weak = match &handle.scheduler {
        Scheduler::Multi(shared) => WeakHandle::Multi(Arc::downgrade(shared)),
        Scheduler::Current(shared) => WeakHandle::Current(Arc::downgrade(shared)),
    };
    runtimes().insert(handle.id().0, weak);
}

/// The runtime is told to shut down.
pub(super) fn leave(id: Id) {
    runtimes().remove(&id.0);
}

/// A runtime that has not been told to shut down.
pub(crate) fn find(id: Id) -> Option<Handle> {
    // The lock ends before the handle may be dropped, and the runtime with it.
    let scheduler = match runtimes().get(&id.0)? {
        WeakHandle::Multi(shared) => Scheduler::Multi(shared.upgrade()?),
        WeakHandle::Current(shared) => Scheduler::Current(shared.upgrade()?),
    };
    Some(Handle { scheduler })
}
