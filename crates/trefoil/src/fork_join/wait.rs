//! Waiting for a job that was stolen.
//!
//! A worker that waits only runs jobs that it steals back from its thief. Such a job is a part of
//! the job that the worker waits for. If it needed something that the waiting frames hold (a lock,
//! say), the program would hang without the theft, too.

use super::Fork;
use super::deque::Deque;
use super::latch::{Latch, Progress};
use crate::context;
use crate::scheduler::multi::WorkerThread;
#[cfg(all(feature = "fiber", unix, not(loom)))]
use {
    super::is_in_fiber,
    std::task::{Poll, Waker},
};

/// How often a waiting worker checks again before it sleeps. A wait that is shorter than a wake-up
/// should not put the worker to sleep.
const SPINS: u32 = 1 << 7;

/// How the wait ended.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Waited {
    /// The thief has run the job.
    Done,
    /// The thief gave the job back: the waiting worker has to run it.
    Returned,
}

/// Waits until the latch of this thread's youngest job, which is stolen, is settled.
#[cold]
pub(super) fn wait(fork: Fork<'_>, latch: &Latch) -> Waited {
    fork.with_worker(|worker| wait_as(worker, fork, latch))
}

fn wait_as(worker: &WorkerThread, fork: Fork<'_>, latch: &Latch) -> Waited {
    let deques = worker.deques();
    let mut spins = 0;
    loop {
        let progress = latch.progress();
        let thief = match progress {
            Progress::Done => return Waited::Done,
            Progress::Returned => return Waited::Returned,
            // The thief stores its id in a moment. This worker can steal back from then on.
            Progress::Claimed => None,
            // Whoever is to be unwound takes nothing more: it might be a part of a destructor that
            // runs for that, and would be unwound here.
            Progress::Running(_) if is_to_unwind() => None,
            Progress::Running(thief) => deques.get(thief as usize),
        };
        if let Some(stolen) = thief.and_then(|thief| thief.steal(fork.deque().id())) {
            if latch.progress().is_settled() {
                // The thief may have settled our job before it published this one, which is then
                // unrelated. If the latch is not settled now, it was not settled then: the claim
                // has read the publication, and the thief settles before it publishes an unrelated
                // job.
                stolen.give_back();
            } else {
                worker.leapfrog(stolen);
                spins = 0;
            }
            continue;
        }
        if spins < SPINS {
            spins += 1;
            std::hint::spin_loop();
            continue;
        }
        if let Some(thief) = thief {
            thief.offer_help(fork.deque().id());
            if thief.has_public() {
                continue;
            }
        }
        if !latch.fall_asleep().is_settled() {
            sleep(fork, latch, thief);
            if let Some(thief) = thief {
                thief.withdraw_help(fork.deque().id());
            }
            spins = 0;
        }
    }
}

/// Whether the calling code is a fiber's that was aborted, or a closure of the fork of such a one.
fn is_to_unwind() -> bool {
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    return is_in_fiber() && crate::fiber::is_aborted();
    #[cfg(not(all(feature = "fiber", unix, not(loom))))]
    false
}

/// Sleeps until the latch may be settled, or the thief has something to steal back.
///
/// A thread waits for a job that computes, and does nothing else: a lock that is held across the
/// fork then keeps out no code that the thread could come to. A job that waits is as if the owner
/// had run it itself, and had waited there. So the owner's fiber leaves its stack, or else others
/// of its thread, for which the job may wait, could not go on.
fn sleep(fork: Fork<'_>, latch: &Latch, thief: Option<&Deque>) {
    if latch.does_job_wait() {
        context::taken_closure_waits();
        #[cfg(all(feature = "fiber", unix, not(loom)))]
        {
            let is_over = || latch.progress().is_settled() || thief.is_some_and(Deque::has_public);
            let poll = |waker: &Waker| {
                drop(fork.deque().wakes(Some(waker.clone())));
                if is_over() { Poll::Ready(()) } else { Poll::Pending }
            };
            let abort = || fork.deque().abort(latch);
            let has_waited = crate::fiber::wait_in_fork(poll, abort);
            if has_waited {
                drop(fork.deque().wakes(None));
                return;
            }
        }
    }
    let _ = thief;
    fork.deque().parker().park();
}
