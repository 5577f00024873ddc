//! A thread from outside, in the place of a worker that sleeps.
//!
//! To hand a closure to a worker, and what it returns back, takes two wake-ups of threads, which are microseconds each;
//! a fork may take no longer. A guest forks itself: it has a deque, as every worker has, and nothing else of one: no
//! state, no ring, no tasks. The worker whose place it takes sleeps on, so that no more threads compute than there are
//! workers. Should that worker wake, for a timer or for a task that only it may run, it serves tasks and steals no
//! jobs, like one whose state was taken from a fork (`handoff.rs`).

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl WorkerThread {
    /// Gives the place back, if this is a guest that has one.
    pub(super) fn vacate(&self) {
        let Some(place) = self.place.take() else { return };
        // Under the sleepers' lock: had the worker woken, it would not be on the list of the covered, and while it has
        // forkers it does not sleep. So what is found there is this guest's entry, and no later one's.
        let unseat = || self.shared.remotes[place as usize].handoff.guest_leaves();
        match self.shared.idle.uncover(place, unseat) {
            Some(Asleep::LookAgain) => self.shared.look_again(place),
            Some(Asleep::OthersSearch) => {}
            // It has woken, and naps where nobody chooses it, for as long as it takes it to see that the guest has gone.
            None => drop(self.shared.remotes[place as usize].parker.unpark()),
        }
    }
}

/// Runs `f` on the calling thread, as a guest. `Err` if that cannot be: no worker sleeps, or there are too many deques.
///
/// A guest is not one of the threads that the runtime's end waits for: it has none of its tasks, and those last to leave
/// run destructors, which have no business on a stack that they know nothing of. If the runtime ends meanwhile, the
/// guest is on its own, and what it asks of the runtime is refused.
///
/// The caller is neither a worker, of any runtime, nor does it drive one.
pub(crate) fn work_here<F, R>(shared: &Arc<Shared>, f: F) -> Result<std::thread::Result<R>, F>
where
    F: FnOnce() -> R,
{
    let seat = |place: u32| shared.remotes[place as usize].handoff.guest_enters();
    let Some(place) = shared.idle.cover(seat) else { return Err(f) };
    let worker = WorkerThread::new(Arc::clone(shared), Some(place));
    // Who posted just before may have found the sleeper gone. The fence is the guest's half of a Dekker duel with
    // `notify`: either the poster sees `counts` without the sleeper, or this sees what was posted.
    fence(SeqCst);
    if shared.has_queued_tasks() {
        shared.unpark_worker(place);
    }
    if shared.knobs.hands_off_while_forking && shared.workers() > 1 {
        shared.monitor.ensure(shared);
    }
    let _handle = context::enter_handle(handle(shared));
    let _entered = context::mark_entered(Entered::Yes);
    let result = match shared.deques.acquire() {
        Some(lease) => Ok(context::enter_worker(&worker, || {
            context::enter_fork(Some(lease.owner()), || catch_unwind(AssertUnwindSafe(f)))
        })),
        None => Err(f),
    };
    worker.vacate();
    result
}
