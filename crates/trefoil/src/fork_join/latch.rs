//! The state of one stolen job: a word per slot of the deque.

use crate::primitives::atomic::{AcqRel, Acquire, AtomicU32, Relaxed};

/// The thief has run the job, and has written the outcome.
const DONE: u32 = 1;
/// The thief has given the job back without running it.
const RETURNED: u32 = 2;
/// The owner sleeps, or is about to, until the job is settled.
const ASLEEP: u32 = 4;
/// The thief has stored the id of its deque above `ID_SHIFT`.
const KNOWN: u32 = 8;
/// The job waits for something, or has waited: see [`Latch::job_waits`].
const WAITS: u32 = 16;
/// The owner's fiber was aborted: see [`Latch::abort`].
#[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
const ABORTED: u32 = 32;
const ID_SHIFT: u32 = 8;

/// How many ids fit beside the flags.
pub(crate) const MAX_IDS: usize = 1 << (u32::BITS - ID_SHIFT);

/// One-shot completion of a stolen job.
///
/// A latch is a part of the victim's deque and not of the job. The job's frame may be gone as soon
/// as the owner sees the latch settled, but the thief still touches the latch then. A latch is 0
/// while its slot is not stolen.
///
/// The thief writes it by `begin` and then by `finish` or `give_back`, once each, and in between by
/// `job_waits`. The owner writes it by `fall_asleep` and `abort`, and by `reset` at the end. All
/// writes but the reset are RMWs.
#[derive(Debug)]
pub(crate) struct Latch(AtomicU32);

/// A stolen job's state, as its owner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Progress {
    /// A thief has claimed it and has not stored its id yet.
    Claimed,
    /// The thief with this id has it.
    Running(u32),
    /// It has run, and its outcome can be taken.
    Done,
    /// The thief has given it back, so the owner has to run it.
    Returned,
}

fn progress(word: u32) -> Progress {
    if word & DONE != 0 {
        Progress::Done
    } else if word & RETURNED != 0 {
        Progress::Returned
    } else if word & KNOWN != 0 {
        Progress::Running(word >> ID_SHIFT)
    } else {
        Progress::Claimed
    }
}

impl Progress {
    /// Whether the thief has run the job or given it back.
    pub(crate) fn is_settled(self) -> bool {
        matches!(self, Progress::Done | Progress::Returned)
    }
}

impl Latch {
    #[cfg(loom)]
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Stores the thief's id.
    pub(super) fn begin(&self, thief: u32) {
        // Relaxed: an id orders nothing. An RMW, because the owner may have set `ASLEEP` already.
        self.0.fetch_or(KNOWN | thief << ID_SHIFT, Relaxed);
    }

    /// Says that the job has run. True if the owner has to be woken.
    #[must_use]
    pub(super) fn finish(&self) -> bool {
        // Release: pairs with the Acquire in `progress` and `fall_asleep`; publishes the outcome.
        // Acquire: pairs with the Release in `fall_asleep`.
        self.0.swap(DONE, AcqRel) & ASLEEP != 0
    }

    /// Says that the job was given back. True if the owner has to be woken.
    #[must_use]
    pub(super) fn give_back(&self) -> bool {
        // Release: pairs with the Acquire in `progress` and `fall_asleep`; the thief's read of the
        // slot comes before. Acquire: pairs with the Release in `fall_asleep`.
        self.0.swap(RETURNED, AcqRel) & ASLEEP != 0
    }

    /// Says that the job waits for something other than a CPU. True if the owner has to be woken,
    /// which then knows that its own wait may be as long.
    #[must_use]
    pub(super) fn job_waits(&self) -> bool {
        // Relaxed: nothing is published. This and `fall_asleep` are RMWs of one word: either this
        // sees `ASLEEP`, or the owner sees `WAITS` (by `does_job_wait`, which comes after it).
        self.0.fetch_or(WAITS, Relaxed) & (ASLEEP | WAITS) == ASLEEP
    }

    /// Whether the job has waited.
    pub(super) fn does_job_wait(&self) -> bool {
        // Relaxed: as in `job_waits`.
        self.0.load(Relaxed) & WAITS != 0
    }

    /// Says that the job is to be unwound where it waits.
    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    pub(super) fn abort(&self) {
        // Relaxed: nothing is published. Who waits in the job finds it, or is found, by a lock
        // (`Deque::abort`). If the job has ended meanwhile, nobody looks any more.
        self.0.fetch_or(ABORTED, Relaxed);
    }

    /// Whether the job is to be unwound where it waits.
    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    pub(super) fn is_aborted(&self) -> bool {
        // Relaxed: as in `abort`.
        self.0.load(Relaxed) & ABORTED != 0
    }

    pub(crate) fn progress(&self) -> Progress {
        // Acquire: pairs with the Release in `finish` and `give_back`.
        progress(self.0.load(Acquire))
    }

    /// Says that the owner is about to sleep. The progress that this returns may be settled
    /// already.
    pub(crate) fn fall_asleep(&self) -> Progress {
        // Acquire: pairs with the Release in `finish` and `give_back`, as in `progress`. Release:
        // pairs with their Acquire.
        progress(self.0.fetch_or(ASLEEP, AcqRel))
    }

    /// Prepares a settled latch for the next theft. The owner calls this.
    pub(super) fn reset(&self) {
        debug_assert!(self.progress().is_settled());
        // Relaxed: the next publication of the slot makes this visible to the next thief.
        self.0.store(0, Relaxed);
    }
}
