//! The state word of a task, and every transition it can make.
//!
//! Flags live in the low bits, the reference count above them. All
//! transitions are read-modify-writes on the one word, so they form a single
//! total order; each returns an enum that names what its caller now owes.
//! The protocol, with the owner of every field in every state, is in
//! `README.md` beside this file.

use crate::primitives::atomic::{AcqRel, Acquire, AtomicUsize, Relaxed, fence};
use std::fmt;

/// Somebody holds the exclusive right to the future: the worker that polls it,
/// or the queue entry of a task that yielded.
const RUNNING: usize = 1;
/// A wake-up is owed. Whoever sets it while `RUNNING` is clear owes a queue
/// entry; while `RUNNING` is set, the holder of the right owes it.
const SCHEDULED: usize = 1 << 1;
/// The output (or the panic, or the cancellation) is stored. Final.
const COMPLETE: usize = 1 << 2;
/// The next holder of the right must drop the future instead of polling it.
const CANCELLED: usize = 1 << 3;
/// The join handle exists and owns the output once `COMPLETE` is set.
const JOIN_INTEREST: usize = 1 << 4;
/// The join waker's cell is filled and belongs to the completing side.
const JOIN_WAKER: usize = 1 << 5;
/// The runtime's shutdown took the future from a queue entry that was still in a
/// waker's hands; see [`State::seize`].
const SEIZED: usize = 1 << 6;

const REF_ONE: usize = 1 << 8;
const REF_MASK: usize = !(REF_ONE - 1);

/// One reference for the runtime and one for the join handle; queued.
const INITIAL: usize = SCHEDULED | JOIN_INTEREST | (2 * REF_ONE);

pub(crate) struct State {
    word: AtomicUsize,
}

/// What the holder of a queue entry has to do with it.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Start {
    /// Poll the future; the right to it is held.
    Poll,
    /// Drop the future; the right to it is held.
    Cancel,
}

/// What follows a poll that returned `Pending`.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Idle {
    /// The right is given up; the task must not be touched any more.
    Parked,
    /// A wake-up came during the poll: the caller owes a queue entry.
    Rescheduled,
}

/// What follows the storing of the output.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Complete {
    /// The runtime's reference went with the transition; do not touch the
    /// task any more.
    Released,
    /// Take the join waker and wake it, then give up the reference.
    WakeJoiner,
    /// Nobody will join: drop the output, then give up the reference.
    DropOutput,
    /// Only the reference remains to be given up.
    Keep,
}

/// What a wake-up by reference has to do.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Wake {
    /// Put the task into a queue.
    Schedule,
    /// Somebody else has seen to it, or the task is complete.
    Nothing,
}

/// What a wake-up that gives its reference away has to do.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum WakeOwned {
    /// Put the task into a queue; the runtime's reference keeps it alive.
    Schedule,
    /// Nothing, and the waker's reference is gone.
    Nothing,
    /// Nothing, and that was the last reference.
    Dealloc,
}

/// What the dropping of a join handle has to do.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum DropJoin {
    /// The handle's reference went with the transition.
    Released,
    /// The join waker's cell belongs to the handle again: empty it, then give
    /// up the reference.
    TakeWaker,
    /// The output belongs to the handle: drop it, then give up the reference.
    DropOutput,
}

/// What the shutdown of a runtime may do with a task on its list.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Seize {
    /// The future is the caller's to drop.
    Taken,
    /// The same, but a waker elsewhere is about to queue the task: a reference was
    /// added for it.
    TakenFromWaker,
    /// Somebody holds the right to the future. Cannot happen at shutdown.
    Busy,
}

/// What a waker finds that could not deliver a task to its closed queue.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Undeliver {
    /// The task is as if it had not been woken; the shutdown will find it.
    Reverted,
    /// The shutdown came first and left a reference, which the caller owes.
    Seized,
}

/// The task is complete: its output can be taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completed;

impl State {
    pub(crate) fn new() -> Self {
        Self { word: AtomicUsize::new(INITIAL) }
    }

    /// From a queue entry to a poll.
    ///
    /// A task that yielded is still `RUNNING` while it waits in its queue, so
    /// a yield costs no transition at all.
    #[inline]
    pub(crate) fn start(&self) -> Start {
        // Relaxed: the entry came through a queue, whose own ordering makes
        // the last holder's writes visible; only the flags matter here.
        let seen = self.word.load(Relaxed);
        debug_assert!(seen & (COMPLETE | SEIZED) == 0, "{self:?}");
        let seen = if seen & RUNNING != 0 {
            if seen & SCHEDULED != 0 {
                // Acquire: pairs with the Release half of `wake`, whose
                // caller's writes the coming poll must see.
                self.word.fetch_and(!SCHEDULED, AcqRel)
            } else {
                seen
            }
        } else {
            debug_assert!(seen & SCHEDULED != 0, "{self:?}");
            // Acquire: pairs with the Release half of `wake`. Release: keeps
            // the chain of a state that another thread acquires unbroken.
            self.word.fetch_add(RUNNING.wrapping_sub(SCHEDULED), AcqRel)
        };
        if seen & CANCELLED != 0 { Start::Cancel } else { Start::Poll }
    }

    /// From a poll that returned `Pending` to rest, or back to a queue.
    #[inline]
    pub(crate) fn idle(&self) -> Idle {
        // Release: publishes the future to whoever starts it next. Acquire:
        // with `SCHEDULED` set the caller re-queues the task and must be
        // ordered after the waker.
        let seen = self.word.fetch_sub(RUNNING, AcqRel);
        debug_assert!(seen & RUNNING != 0 && seen & COMPLETE == 0);
        if seen & SCHEDULED != 0 { Idle::Rescheduled } else { Idle::Parked }
    }

    /// From a stored output to completion. With `keep`, the runtime's
    /// reference outlives the transition in any case.
    #[inline]
    pub(crate) fn complete(&self, keep: bool) -> Complete {
        // Relaxed: a guess, confirmed by the exchange.
        let mut seen = self.word.load(Relaxed);
        loop {
            debug_assert!(seen & RUNNING != 0 && seen & COMPLETE == 0);
            let mut next = (seen & !RUNNING) | COMPLETE;
            let outcome = if seen & JOIN_INTEREST == 0 {
                Complete::DropOutput
            } else if seen & JOIN_WAKER != 0 {
                Complete::WakeJoiner
            } else if keep {
                Complete::Keep
            } else {
                // The join handle holds another one, so this is not the last.
                next -= REF_ONE;
                Complete::Released
            };
            // Release: publishes the output to `is_complete` and its like.
            // Acquire: pairs with `set_join_waker`, whose cell is read next.
            match self.word.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return outcome,
                Err(now) => seen = now,
            }
        }
    }

    /// Marks a wake-up. The caller keeps its reference.
    #[inline]
    pub(crate) fn wake(&self) -> Wake {
        // A plain load would not do for the case that `SCHEDULED` is set
        // already: the waker's writes must be ordered before the poll that
        // consumes the flag, so even that case is an RMW (Release, pairs with
        // the Acquire of `start`).
        let seen = self.word.fetch_or(SCHEDULED, AcqRel);
        if seen & (RUNNING | SCHEDULED | COMPLETE) == 0 { Wake::Schedule } else { Wake::Nothing }
    }

    /// Marks a wake-up and gives up the waker's reference.
    #[inline]
    pub(crate) fn wake_owned(&self) -> WakeOwned {
        // Relaxed: a guess, confirmed by the exchange.
        let mut seen = self.word.load(Relaxed);
        loop {
            let next = (seen | SCHEDULED) - REF_ONE;
            // AcqRel: as in `wake` and in `unref`.
            match self.word.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) if seen & (RUNNING | SCHEDULED | COMPLETE) == 0 => {
                    debug_assert!(next & REF_MASK != 0, "an incomplete task is the runtime's");
                    return WakeOwned::Schedule;
                }
                Ok(_) if next & REF_MASK == 0 => return WakeOwned::Dealloc,
                Ok(_) => return WakeOwned::Nothing,
                Err(now) => seen = now,
            }
        }
    }

    /// Asks for cancellation. [`Wake::Schedule`] obliges as in [`State::wake`].
    pub(crate) fn cancel(&self) -> Wake {
        // Relaxed: a guess, confirmed by the exchange.
        let mut seen = self.word.load(Relaxed);
        loop {
            if seen & (COMPLETE | CANCELLED) != 0 {
                return Wake::Nothing;
            }
            let next = seen | CANCELLED | SCHEDULED;
            // AcqRel: as in `wake`.
            match self.word.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) if seen & (RUNNING | SCHEDULED) == 0 => return Wake::Schedule,
                Ok(_) => return Wake::Nothing,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes the future of a task that is in no queue, after all queues were
    /// closed and emptied and all pollers have gone.
    pub(crate) fn seize(&self) -> Seize {
        // Relaxed: a guess, confirmed by the exchange.
        let mut seen = self.word.load(Relaxed);
        loop {
            if seen & (RUNNING | COMPLETE) != 0 {
                return Seize::Busy;
            }
            let is_with_waker = seen & SCHEDULED != 0;
            let mut next = seen | RUNNING | CANCELLED | SEIZED;
            if is_with_waker {
                next += REF_ONE;
            }
            // Acquire: the future was published by `idle`. Release: the
            // reference must be there before `undeliver` looks for it.
            match self.word.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) if is_with_waker => return Seize::TakenFromWaker,
                Ok(_) => return Seize::Taken,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes back a wake-up whose queue turned out to be closed.
    pub(crate) fn undeliver(&self) -> Undeliver {
        // Relaxed: a guess, confirmed by the exchange.
        let mut seen = self.word.load(Relaxed);
        loop {
            if seen & SEIZED != 0 {
                // Acquire: pairs with the Release of `seize`.
                fence(Acquire);
                return Undeliver::Seized;
            }
            debug_assert!(seen & SCHEDULED != 0 && seen & (RUNNING | COMPLETE) == 0);
            // AcqRel: keeps the chain from `idle` to `seize` unbroken.
            match self.word.compare_exchange_weak(seen, seen & !SCHEDULED, AcqRel, Relaxed) {
                Ok(_) => return Undeliver::Reverted,
                Err(now) => seen = now,
            }
        }
    }

    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        // Acquire: pairs with `complete`; the output is visible after it.
        self.word.load(Acquire) & COMPLETE != 0
    }

    /// Hands the filled join waker's cell to the completing side.
    ///
    /// # Errors
    /// The task is complete; the cell still belongs to the join handle.
    pub(crate) fn set_join_waker(&self) -> Result<(), Completed> {
        self.update_join_waker(|seen| seen | JOIN_WAKER)
    }

    /// Takes the join waker's cell back from the completing side, if it was
    /// handed over.
    ///
    /// # Errors
    /// The task is complete; the cell belongs to the completing side.
    pub(crate) fn unset_join_waker(&self) -> Result<(), Completed> {
        self.update_join_waker(|seen| seen & !JOIN_WAKER)
    }

    fn update_join_waker(&self, change: impl Fn(usize) -> usize) -> Result<(), Completed> {
        // Acquire: pairs with `complete` when the answer is `Completed`.
        let mut seen = self.word.load(Acquire);
        loop {
            debug_assert!(seen & JOIN_INTEREST != 0);
            if seen & COMPLETE != 0 {
                return Err(Completed);
            }
            // Release: publishes the cell to `complete`. Acquire: as above.
            match self.word.compare_exchange_weak(seen, change(seen), AcqRel, Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => seen = now,
            }
        }
    }

    /// Whether the join waker's cell was handed over. Only the join handle
    /// changes that, so it may ask without a race.
    pub(crate) fn has_join_waker(&self) -> bool {
        // Relaxed: written by the caller itself.
        self.word.load(Relaxed) & JOIN_WAKER != 0
    }

    /// The join handle is dropped.
    pub(crate) fn drop_join(&self) -> DropJoin {
        // Acquire: the output is dropped next when the task is complete.
        let mut seen = self.word.load(Acquire);
        loop {
            if seen & COMPLETE != 0 {
                return DropJoin::DropOutput;
            }
            let mut next = seen & !(JOIN_INTEREST | JOIN_WAKER);
            let outcome = if seen & JOIN_WAKER != 0 {
                DropJoin::TakeWaker
            } else {
                next -= REF_ONE;
                DropJoin::Released
            };
            // AcqRel: as in `unref`.
            match self.word.compare_exchange_weak(seen, next, AcqRel, Acquire) {
                Ok(_) => return outcome,
                Err(now) => seen = now,
            }
        }
    }

    /// Adds a reference; the caller holds one.
    #[inline]
    pub(crate) fn add_ref(&self) {
        // Relaxed: a new reference is made from an existing one, whose
        // hand-over orders whatever needs ordering.
        let seen = self.word.fetch_add(REF_ONE, Relaxed);
        // A count that overflows would free a task in use. Leaking wakers in
        // a loop gets here, so it is checked, and cannot be unwound from.
        if seen > isize::MAX as usize {
            std::process::abort();
        }
    }

    /// Gives up a reference; true if it was the last.
    #[inline]
    #[must_use]
    pub(crate) fn unref(&self) -> bool {
        // Acquire: pairs with the Release of all others who gave theirs up.
        // Seeing one reference, our own, means that nobody else is left who
        // could add any, so the decrement itself can be spared.
        if self.word.load(Acquire) & REF_MASK == REF_ONE {
            return true;
        }
        // Release: our uses of the task come before its deallocation, whoever
        // does that. Acquire: so that it may be us.
        let seen = self.word.fetch_sub(REF_ONE, AcqRel);
        debug_assert!(seen & REF_MASK != 0);
        seen & REF_MASK == REF_ONE
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: a snapshot for people.
        let word = self.word.load(Relaxed);
        let mut set = f.debug_set();
        for (flag, name) in [
            (RUNNING, "running"),
            (SCHEDULED, "scheduled"),
            (COMPLETE, "complete"),
            (CANCELLED, "cancelled"),
            (JOIN_INTEREST, "join interest"),
            (JOIN_WAKER, "join waker"),
            (SEIZED, "seized"),
        ] {
            if word & flag != 0 {
                set.entry(&name);
            }
        }
        set.entry(&format_args!("{} refs", word / REF_ONE)).finish()
    }
}
