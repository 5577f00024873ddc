//! Waiting for a job that was stolen.
//!
//! A worker that waits does nothing for others, save for the thief it waits
//! for: what it takes from there is a part of the very job it waits for, and
//! so cannot need anything that the waiting frames hold (a lock, say) without
//! being bound to need it anyway.

use super::Fork;
use super::latch::{Latch, Progress};
use crate::scheduler::multi::WorkerThread;

/// How often a waiting worker looks again before it sleeps. A wait that ends
/// sooner than a sleeper could be woken should not put it to sleep.
const SPINS: u32 = 1 << 7;

/// Whose the job is when the wait is over.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Waited {
    /// It has run.
    Done,
    /// The thief gave it back: it has to be run here.
    Returned,
}

/// Waits until the youngest job of this thread, which is stolen, is settled.
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
            // The name comes in a moment; then there may be something to do.
            Progress::Claimed => None,
            Progress::Running(thief) => deques.get(thief as usize),
        };
        if let Some(stolen) = thief.and_then(|thief| thief.steal(fork.deque().id())) {
            if latch.progress().is_settled() {
                // The thief was through with our job, perhaps before we took
                // this one from it, which then is none of our business. The
                // claim reads what the thief published after settling the
                // latch, so if it is not settled now, it was not then.
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
            fork.deque().parker().park();
            if let Some(thief) = thief {
                thief.withdraw_help(fork.deque().id());
            }
            spins = 0;
        }
    }
}
