//! Hosts: threads to which tasks are bound.
//!
//! A fiber may move between threads until it first runs. Then it has frames on a stack, which may
//! refer to the thread's locals and hold values that are not `Send`: it is *bound* to the thread
//! that has run it, its *host*, and no other thread polls or drops it.
//!
//! A pinned task rests with a worker, whose state may go to another thread. A bound task rests
//! with a thread, whatever becomes of that thread's state. So a host has a queue, an inbox and a
//! list of tasks of its own:
//!
//! - While the thread is a worker, bound tasks have the turns of pinned ones, and events that come
//!   for them unpark the worker. One that the thread itself has woken goes first, as from the LIFO
//!   slot: the host has a slot, because thieves and the monitor take tasks out of the worker's. The
//!   two count as one, in which there is one task at most.
//! - A thread that has lost its state in a long poll serves its bound tasks alone
//!   (`serve_as_host`), beside the worker's new thread, until there are none. So bound tasks wait
//!   for no thread but theirs. While none of them is ready, it may become the worker of any state
//!   that needs a thread (`scheduler/blocking/hosts.rs`), and serves them as that.
//! - At the end of the runtime, a host cancels its bound tasks before it leaves.
//!
//! # Why no wake-up is lost
//!
//! The one who queues a task pushes it (an RMW) and, if the inbox was empty, makes a full fence and
//! reads where the host sleeps. The host, when it loses its place, writes that it sleeps at its own
//! parker, makes a full fence, and looks at the inbox before each wait. So either the push is seen,
//! or the new place is. If the old place is read, the token goes to the worker's new thread, which
//! looks around and sleeps again. When the host becomes a worker again, it writes that place, and
//! makes a full fence before it next looks at the inbox: the same, with the places exchanged. What
//! came before that look needs no token, and one that the host's own parker has kept ends a later
//! wait early. While the host is a worker, it looks at the inbox after it was counted as asleep, as
//! at the worker's own, and tokens of the worker's parker end its wait. (It does not lend its place
//! to threads in `block_on`, who would take the tokens.)

use super::Shared;
use crate::primitives::Mutex;
use crate::primitives::abort::AbortOnUnwind;
use crate::primitives::atomic::{AtomicU32, SeqCst, fence, fence_after_rmw};
use crate::primitives::parker::Parker;
use crate::queue::{Fifo, Inbox};
use crate::task::{HOSTS, MOST_HOSTS, OwnedTasks, Runnable};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

/// The place of a host that is no worker.
const NO_PLACE: u32 = u32::MAX;

/// A thread to which tasks are bound.
pub(super) struct Host {
    /// From [`HOSTS`] on.
    index: u32,
    inbox: Inbox<Runnable>,
    /// The worker that the thread is, or `NO_PLACE`.
    place: AtomicU32,
    /// Where the thread sleeps if it is no worker.
    parker: Arc<Parker>,
    /// For the host's thread only.
    own: Own,
}

#[derive(Default)]
struct Own {
    queue: RefCell<Fifo<Runnable>>,
    tasks: OwnedTasks,
    /// The last turn was one of this queue's.
    had_turn: Cell<bool>,
}

// SAFETY: `own` is only accessed through `Local`, which stays on the host's thread. Other threads
// drop it at most, when it is empty: the host leaves when it has no tasks.
unsafe impl Send for Host {}
// SAFETY: `own` is the only field that is not `Sync`, and only the host's thread accesses it.
unsafe impl Sync for Host {}

/// All hosts of a runtime, by their indices.
#[derive(Default)]
pub(super) struct Hosts(Mutex<Vec<Option<Arc<Host>>>>);

/// A host, on its own thread, which takes it off the list in the end.
pub(super) struct Local {
    host: Arc<Host>,
    shared: Arc<Shared>,
    /// The task that the thread has woken last: see `WorkerThread::schedule_bound`.
    slot: Cell<Option<Runnable>>,
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    stacks: crate::fiber::Held,
    /// Keeps it on its thread.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Hosts {
    /// Sends a bound task to its host.
    pub(super) fn send(&self, shared: &Shared, task: Runnable, host: u32) {
        let host = self.0.lock()[(host - HOSTS) as usize].clone();
        let host = host.expect("a host has left before a task that is bound to it");
        let was_empty = host.inbox.push(task).expect("the inbox of a host is never closed");
        if was_empty {
            fence_after_rmw();
            host.wake(shared);
        }
    }

    /// Wakes those who are no workers, because the runtime ends.
    pub(super) fn wake_all(&self, shared: &Shared) {
        let hosts: Vec<_> = self.0.lock().iter().flatten().cloned().collect();
        hosts.iter().for_each(|host| host.wake(shared));
    }
}

impl Host {
    fn wake(&self, shared: &Shared) {
        // SeqCst: behind the sender's fence; the other half is in `Local::leave_place`.
        match self.place.load(SeqCst) {
            NO_PLACE => self.parker.unpark(),
            worker => shared.remotes[worker as usize].parker.unpark(),
        };
    }
}

impl Local {
    /// Makes the calling thread, which is that worker, a host.
    pub(super) fn new(shared: &Arc<Shared>, worker: u32) -> Self {
        let mut hosts = shared.hosts.0.lock();
        let free = hosts.iter().position(Option::is_none).unwrap_or(hosts.len());
        assert!(free < MOST_HOSTS as usize, "more threads run fibers than can be told apart");
        let host = Arc::new(Host {
            index: HOSTS + free as u32,
            inbox: Inbox::new(),
            place: AtomicU32::new(worker),
            parker: Arc::new(Parker::new()),
            own: Own::default(),
        });
        if free == hosts.len() {
            hosts.push(None);
        }
        hosts[free] = Some(Arc::clone(&host));
        drop(hosts);
        host.parker.adopt();
        Self {
            host,
            shared: Arc::clone(shared),
            slot: Cell::new(None),
            #[cfg(all(feature = "fiber", unix, not(loom)))]
            stacks: crate::fiber::Held::default(),
            _thread: std::marker::PhantomData,
        }
    }

    /// The free stacks of this thread.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(super) fn stacks(&self) -> &crate::fiber::Held {
        &self.stacks
    }

    /// The thread is about to sleep, perhaps for long.
    pub(super) fn about_to_sleep(&self) {
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        self.stacks.give_back();
    }

    #[inline]
    pub(super) fn index(&self) -> u32 {
        self.host.index
    }

    pub(super) fn tasks(&self) -> &OwnedTasks {
        &self.host.own.tasks
    }

    /// Whether nothing is queued. Tasks may be at rest all the same.
    pub(super) fn is_idle(&self) -> bool {
        self.host.own.queue.borrow().len() == 0 && self.host.inbox.is_empty() && !self.has_slot()
    }

    /// Whether something has come from another thread.
    #[inline]
    pub(super) fn has_mail(&self) -> bool {
        !self.host.inbox.is_empty()
    }

    /// Whether there is a task in the slot.
    #[inline]
    pub(super) fn has_slot(&self) -> bool {
        let task = self.take_slot();
        let has = task.is_some();
        self.slot.set(task);
        has
    }

    #[inline]
    pub(super) fn take_slot(&self) -> Option<Runnable> {
        self.slot.take()
    }

    /// Puts a task into the slot. What was there goes behind all others.
    #[inline]
    pub(super) fn fill_slot(&self, task: Runnable) {
        if let Some(before) = self.slot.replace(Some(task)) {
            self.push(before);
        }
    }

    /// Whether there are bound tasks. One that has yielded since it began is queued, and perhaps on
    /// no list.
    pub(super) fn has_tasks(&self) -> bool {
        self.tasks().len() > 0 || !self.is_idle()
    }

    /// A task that this thread has woken goes behind all that came before it.
    #[inline]
    pub(super) fn push(&self, task: Runnable) {
        self.empty_inbox();
        self.host.own.queue.borrow_mut().push_back(task);
    }

    #[inline]
    pub(super) fn next(&self) -> Option<Runnable> {
        self.empty_inbox();
        let next = self.host.own.queue.borrow_mut().pop_front();
        next.or_else(|| self.take_slot())
    }

    /// As `next`, every second time at most if `others` wait as well.
    #[inline]
    pub(super) fn next_in_turn(&self, others: bool) -> Option<Runnable> {
        let is_theirs = self.host.own.had_turn.get() && others;
        let task = if is_theirs { None } else { self.next() };
        self.host.own.had_turn.set(task.is_some());
        task
    }

    /// The thread is no worker any more.
    pub(super) fn leave_place(&self) {
        // SeqCst: see the top of this file. The fence is part of the store for the look at the
        // inbox that follows, which is made after a fence as well.
        self.host.place.store(NO_PLACE, SeqCst);
    }

    /// The thread is that worker.
    pub(super) fn take_place(&self, worker: u32) {
        // SeqCst, and the fence behind it: see the top of this file. The fence comes before all
        // looks at the inbox that this makes as the worker.
        self.host.place.store(worker, SeqCst);
        fence(SeqCst);
    }

    /// Where the thread sleeps while it is no worker.
    pub(super) fn parker(&self) -> &Arc<Parker> {
        &self.host.parker
    }

    /// Waits until something may be queued.
    pub(super) fn park(&self) {
        self.about_to_sleep();
        self.host.parker.park();
    }

    #[inline]
    fn empty_inbox(&self) {
        if !self.host.inbox.is_empty() {
            self.host.own.queue.borrow_mut().append(&mut self.host.inbox.take());
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if self.tasks().len() > 0 {
            // Others may have borrowed from their stacks, or locals of this thread.
            drop(AbortOnUnwind("(a thread has left before fibers that began on it)"));
        }
        self.shared.hosts.0.lock()[(self.host.index - HOSTS) as usize] = None;
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        if self.shared.is_shut_down() {
            self.stacks.give_back();
            crate::fiber::trim_after_end();
        }
    }
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosts").field("len", &self.0.lock().iter().flatten().count()).finish()
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("index", &self.host.index).finish_non_exhaustive()
    }
}
