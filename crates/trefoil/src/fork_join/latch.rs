//! What has become of one stolen job: a word per slot of the deque.

use crate::primitives::atomic::{AcqRel, Acquire, AtomicU32, Relaxed};

/// The thief has the job's result where the owner looks for it.
const DONE: u32 = 1;
/// The thief did not run the job, and will not.
const RETURNED: u32 = 2;
/// The owner sleeps, or is about to, until the job is settled.
const ASLEEP: u32 = 4;
/// The thief has said who it is; its deque's id stands above `ID_SHIFT`.
const KNOWN: u32 = 8;
const ID_SHIFT: u32 = 8;

/// The ids that fit beside the flags.
pub(crate) const MAX_IDS: usize = 1 << (u32::BITS - ID_SHIFT);

/// One-shot completion of a stolen job.
///
/// It lives in the victim's deque and not in the job, whose frame is gone as
/// soon as the owner sees the latch settled: what the thief touches last
/// outlives both. A latch is 0 for as long as its slot is not stolen.
///
/// Written by the thief (`begin`, then `finish` or `give_back`, once each), by
/// the owner (`fall_asleep`, and `reset` when all is over); RMW only, save for
/// the reset.
#[derive(Debug)]
pub(crate) struct Latch(AtomicU32);

/// A stolen job's state, as its owner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Progress {
    /// Claimed by a thief that has not given its name yet.
    Claimed,
    /// The thief with this id has it.
    Running(u32),
    /// It has run, and its outcome can be taken.
    Done,
    /// It has not run, and is the owner's again.
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
    /// Whether the thief is through with the job.
    pub(crate) fn is_settled(self) -> bool {
        matches!(self, Progress::Done | Progress::Returned)
    }
}

impl Latch {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// The thief gives its name.
    pub(super) fn begin(&self, thief: u32) {
        // Relaxed: a name orders nothing. An RMW, because the owner may have
        // fallen asleep already.
        self.0.fetch_or(KNOWN | thief << ID_SHIFT, Relaxed);
    }

    /// The job has run. True if the owner has to be woken.
    #[must_use]
    pub(super) fn finish(&self) -> bool {
        // Release: pairs with `progress`; the outcome is written. Acquire: the
        // owner's way to sleep comes before our waking it.
        self.0.swap(DONE, AcqRel) & ASLEEP != 0
    }

    /// The job was not run. True if the owner has to be woken.
    #[must_use]
    pub(super) fn give_back(&self) -> bool {
        // As in `finish`; what is released is our read of the slot.
        self.0.swap(RETURNED, AcqRel) & ASLEEP != 0
    }

    pub(crate) fn progress(&self) -> Progress {
        // Acquire: pairs with `finish` and `give_back`.
        progress(self.0.load(Acquire))
    }

    /// The owner announces its sleep. What it returns may be settled already.
    pub(crate) fn fall_asleep(&self) -> Progress {
        // Acquire: as in `progress`. Release: pairs with the swaps.
        progress(self.0.fetch_or(ASLEEP, AcqRel))
    }

    /// For the owner, once the latch is settled.
    pub(super) fn reset(&self) {
        debug_assert!(self.progress().is_settled());
        // Relaxed: the next thief gets here by way of the next publication.
        self.0.store(0, Relaxed);
    }
}
