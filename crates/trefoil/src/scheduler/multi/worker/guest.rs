//! A thread from outside, in the place of a worker that sleeps.
//!
//! To send a closure to a worker and its result back takes two wake-ups of
//! threads, which are microseconds each; the fork itself may be shorter. So a
//! *guest* forks on its own thread. It has a deque, as every worker has, but no
//! worker state, no ring and no tasks. The worker whose place it takes stays
//! asleep, so that no more threads compute than there are workers. If that worker
//! wakes, for a timer or for a task that only it may run, it serves tasks and
//! steals no jobs, like one whose state was taken from a fork (`handoff.rs`).

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl WorkerThread {
    /// Gives the place back, if this is a guest that has one.
    pub(super) fn leave_place(&self) {
        let Some(place) = self.place.take() else { return };
        // Under the sleepers' lock. A worker that has woken is not on the list of
        // the covered, and does not count as asleep again while it has forkers. So
        // an entry that is found there is this guest's, and not a later one's.
        let before_sleep = || self.shared.remotes[place as usize].handoff.guest_leaves();
        match self.shared.idle.uncover(place, before_sleep) {
            Some(asleep) => {
                if asleep == Asleep::LookAgain {
                    self.shared.look_again(place);
                }
                // The worker may sleep elsewhere than in the poll, and whoever has added a source
                // meanwhile has found no sleeper. With one worker, there is no monitor who would
                // see that.
                self.shared.have_reactor_attended();
            }
            // The worker woke meanwhile and is in a timed park. Unpark it so that
            // it notices that the guest has left.
            None => drop(self.shared.remotes[place as usize].parker.unpark()),
        }
    }
}

/// Runs `f` on the calling thread, as a guest.
///
/// The runtime's end does not wait for guests. A guest has none of the runtime's
/// tasks, and the last thread to leave runs the tasks' destructors, which must not
/// run on a user's stack. If the runtime ends meanwhile, the guest continues alone,
/// and what it asks of the runtime is refused.
///
/// The caller is not a worker of any runtime, and does not drive one.
///
/// # Errors
/// No worker sleeps, or all deques are in use. `f` was not called.
pub(crate) fn work_here<F, R>(shared: &Arc<Shared>, f: F) -> Result<std::thread::Result<R>, F>
where
    F: FnOnce() -> R,
{
    let before_wake = |place: u32| shared.remotes[place as usize].handoff.guest_enters();
    let Some(place) = shared.idle.cover(before_wake) else { return Err(f) };
    let worker = WorkerThread::new(Arc::clone(shared), Some(place));
    // A thread that queued a task just before may have found no sleeper to wake.
    // The fence is the guest's half of a store-buffering pattern with `notify`:
    // either that thread still sees the sleeper, or this one sees the task.
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
        Some(deque) => Ok(context::enter_worker(&worker, || {
            context::enter_fork(Some(deque), || catch_unwind(AssertUnwindSafe(f)))
        })),
        None => Err(f),
    };
    worker.leave_place();
    result
}
