//! The future of a `block_on`, seen from those who wake it and from the thread that polls it.

use crate::context;
use crate::primitives::Mutex;
use crate::primitives::atomic::{AcqRel, Acquire, AtomicBool};
use crate::primitives::parker::Parker;
use std::sync::Arc;
use std::task::Wake;

/// The future that a thread is in `block_on` with: its *root*. This is what the root's wakers have.
#[derive(Debug)]
pub(in crate::scheduler::multi) struct Root {
    /// The root was woken, and not polled since. A wake is an RMW, so that what a waker wrote
    /// before is visible to the poll.
    woken: AtomicBool,
    /// Where its thread waits: at a parker of its own, or at that of the worker that it is.
    parker: Mutex<Arc<Parker>>,
}

impl Root {
    /// A root that is to be polled.
    pub(super) fn new(parker: &Arc<Parker>) -> Self {
        Self { woken: AtomicBool::new(true), parker: Mutex::new(Arc::clone(parker)) }
    }

    /// Whether it was woken since it was polled last.
    pub(super) fn is_woken(&self) -> bool {
        // Acquire: pairs with `wake_by_ref`, as everything in `begin_poll`.
        self.woken.load(Acquire)
    }

    /// Whether it was woken; from here on, it was not.
    pub(super) fn begin_poll(&self) -> bool {
        // Acquire: pairs with the RMWs of all wakers up to here.
        self.is_woken() && self.woken.swap(false, AcqRel)
    }

    /// Its thread waits elsewhere from here on. Before it waits, it looks whether the root was
    /// woken: a waker that came here before has found the old place, and the thread finds that it
    /// was woken; one that comes later finds the new place. The lock puts the two in an order.
    pub(super) fn wait_at(&self, parker: &Arc<Parker>) {
        let before = std::mem::replace(&mut *self.parker.lock(), Arc::clone(parker));
        drop(before);
    }
}

impl Wake for Root {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Release: pairs with `begin_poll`. Acquire: as in `Parker::unpark`.
        if self.woken.swap(true, AcqRel) {
            // Whoever was first unparks the thread, or has.
            return;
        }
        let root = Arc::as_ptr(self);
        let is_here = context::with(|context| {
            context.worker().is_some_and(|worker| worker.stands_in_for(root))
        });
        // Its own thread looks before it sleeps.
        if !is_here {
            let parker = Arc::clone(&self.parker.lock());
            parker.unpark();
        }
    }
}
