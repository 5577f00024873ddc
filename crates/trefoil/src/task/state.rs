//! The state word of a task, and every transition it can make.
//!
//! The flags are in the low bits, and the reference count is above them. All transitions are
//! read-modify-writes on the one word, so they have a single total order. Each returns an enum that
//! says what its caller has to do next. The protocol, with the owner of every field in every state,
//! is in `README.md` beside this file.

use crate::primitives::atomic::{AcqRel, Acquire, AtomicUsize, Relaxed, fence};
use std::fmt;

/// The exclusive right to the future is held: by the worker that polls it, or by the queue entry of
/// a task that yielded or is new.
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
/// The runtime's shutdown took the future of a task at rest; see [`State::seize`].
const SEIZED: usize = 1 << 6;
/// Even if it is cancelled, the task is polled: it ends by itself; see [`State::shield`].
const SHIELDED: usize = 1 << 7;

const REF_ONE: usize = 1 << 8;
const REF_MASK: usize = !(REF_ONE - 1);

/// One reference for the runtime and one for the join handle; queued, and the right to the future
/// is the entry's, as if the task had yielded.
const INITIAL: usize = RUNNING | JOIN_INTEREST | (2 * REF_ONE);

pub(crate) struct State {
    word: AtomicUsize,
}

/// What the holder of a queue entry has to do with it.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Start {
    /// Poll the future: the caller holds the right to it.
    Poll,
    /// Drop the future: the caller holds the right to it.
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
    /// The transition gave up the runtime's reference. The task must not be touched any more.
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
    /// Nothing: the task is scheduled already, or it is complete.
    Nothing,
}

/// What a wake-up that gives up its reference has to do.
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

/// What the drop of a join handle has to do.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum DropJoin {
    /// The transition gave up the handle's reference.
    Released,
    /// The join waker's cell belongs to the handle again: empty it, then give up the reference.
    TakeWaker,
    /// The output belongs to the handle: drop it, then give up the reference.
    DropOutput,
}

/// What the shutdown of a runtime may do with a task on its list.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Seize {
    /// The caller has to drop the future.
    Taken,
    /// The same, and the task has a wake in flight: a reference was added for its entry.
    TakenFromWaker,
    /// The right to the future is held already. This cannot happen at shutdown.
    Busy,
}

/// What a waker finds after its queue has refused the entry.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Undeliver {
    /// The task is at rest again, and the shutdown will find it.
    Reverted,
    /// The shutdown came first. It has added a reference, which the caller has to give up.
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
    /// A task that yielded is still `RUNNING` while it waits in its queue, so a yield costs no
    /// transition. A new task is, too, and so costs none here.
    #[inline]
    pub(crate) fn start(&self) -> Start {
        // Relaxed: the entry came through a queue, whose own ordering makes the last holder's
        // writes visible. Only the flags matter here.
        let seen = self.word.load(Relaxed);
        debug_assert!(seen & (COMPLETE | SEIZED) == 0, "{self:?}");
        let seen = if seen & RUNNING != 0 {
            if seen & SCHEDULED != 0 {
                // Acquire: pairs with the Release half of `wake`. The coming poll must see what the
                // waker wrote before.
                self.word.fetch_and(!SCHEDULED, AcqRel)
            } else {
                seen
            }
        } else {
            debug_assert!(seen & SCHEDULED != 0, "{self:?}");
            // Acquire: pairs with the Release half of `wake`. Release: other threads may acquire
            // through this RMW what was released before it.
            self.word.fetch_add(RUNNING.wrapping_sub(SCHEDULED), AcqRel)
        };
        if seen & CANCELLED == 0 {
            return Start::Poll;
        }
        if seen & SHIELDED == 0 { Start::Cancel } else { Start::Poll }
    }

    /// From a poll that returned `Pending` to rest, or back to a queue.
    #[inline]
    pub(crate) fn idle(&self) -> Idle {
        // Release: publishes the future to whoever starts it next. Acquire: if `SCHEDULED` is set,
        // the caller queues the task again, which must come after the waker's writes.
        let seen = self.word.fetch_sub(RUNNING, AcqRel);
        debug_assert!(seen & RUNNING != 0 && seen & COMPLETE == 0);
        if seen & SCHEDULED != 0 { Idle::Rescheduled } else { Idle::Parked }
    }

    /// From a stored output to completion. With `keep`, the transition never gives up the runtime's
    /// reference.
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
                // The join handle holds another reference, so this one is not the last.
                next -= REF_ONE;
                Complete::Released
            };
            // Release: publishes the output, for example to `is_complete`. Acquire: pairs with
            // `set_join_waker`, whose cell is read next.
            match self.word.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return outcome,
                Err(now) => seen = now,
            }
        }
    }

    /// Marks a wake-up. The caller keeps its reference.
    #[inline]
    pub(crate) fn wake(&self) -> Wake {
        // If `SCHEDULED` is set already, a plain load would not be enough: the waker's writes must
        // be visible to the poll that consumes the flag. So this is always an RMW, whose Release
        // pairs with the Acquire of `start`.
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

    /// Asks for cancellation. [`Wake::Schedule`] means the same as in [`State::wake`].
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

    /// From here on, a task that is cancelled is polled all the same, until `unshield`. Its future
    /// asks [`is_cancelled`](Self::is_cancelled) in each poll.
    ///
    /// For the holder of the right to the future, inside of a poll.
    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    pub(crate) fn shield(&self) {
        // Relaxed: only the holder of the right asks for the flag, in this order by itself.
        self.word.fetch_or(SHIELDED, Relaxed);
    }

    /// Ends what `shield` began.
    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    pub(crate) fn unshield(&self) {
        // Relaxed: as in `shield`.
        self.word.fetch_and(!SHIELDED, Relaxed);
    }

    /// Whether the task is shielded, for the holder of the right to the future or of the entry.
    #[cfg(all(feature = "fiber", unix, not(loom)))]
    pub(crate) fn is_shielded(&self) -> bool {
        // Relaxed: set by the last holder, and the entry came through a queue.
        self.word.load(Relaxed) & SHIELDED != 0
    }

    #[cfg(any(all(feature = "fiber", unix, not(loom)), all(test, loom)))]
    pub(crate) fn is_cancelled(&self) -> bool {
        // Relaxed: it is a request, and nothing that comes with it is read. Whoever cancels also
        // sets `SCHEDULED`, so that a poll comes that sees it.
        self.word.load(Relaxed) & CANCELLED != 0
    }

    /// Takes the future of a task at rest, after all queues were closed and emptied and all pollers
    /// have left. Only a wake in flight may race with it.
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
            // Acquire: `idle` has published the future. Release: the reference must be visible to
            // `undeliver`, which gives it up.
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
            // AcqRel: `seize` may acquire through this RMW what `idle` has released.
            match self.word.compare_exchange_weak(seen, seen & !SCHEDULED, AcqRel, Relaxed) {
                Ok(_) => return Undeliver::Reverted,
                Err(now) => seen = now,
            }
        }
    }

    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        // Acquire: pairs with `complete`, which publishes the output.
        self.word.load(Acquire) & COMPLETE != 0
    }

    /// Hands the filled join waker's cell to the completing side.
    ///
    /// # Errors
    /// The task is complete; the cell still belongs to the join handle.
    pub(crate) fn set_join_waker(&self) -> Result<(), Completed> {
        self.update_join_waker(|seen| seen | JOIN_WAKER)
    }

    /// Takes the join waker's cell back from the completing side, if it was handed over.
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
            // Release: publishes the cell to `complete`. Acquire: pairs with `complete`, as in the
            // load.
            match self.word.compare_exchange_weak(seen, change(seen), AcqRel, Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => seen = now,
            }
        }
    }

    /// Whether the join waker's cell was handed over. Only the join handle changes this, so its own
    /// question is no race.
    pub(crate) fn has_join_waker(&self) -> bool {
        // Relaxed: the caller itself has written the flag.
        self.word.load(Relaxed) & JOIN_WAKER != 0
    }

    /// Whether the task is complete, and the reference of the join handle, which asks, is the last.
    #[inline(always)]
    pub(crate) fn is_join_last(&self) -> bool {
        // Acquire: pairs with `complete`, and with the Release of all others that gave up a
        // reference. Nobody can add one, as in `unref`.
        let seen = self.word.load(Acquire);
        seen & (COMPLETE | REF_MASK) == COMPLETE | REF_ONE
    }

    /// Says that the join handle is dropped.
    pub(crate) fn drop_join(&self) -> DropJoin {
        // Acquire: if the task is complete, the caller drops the output next.
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
        // Relaxed: the new reference is made from an existing one. Passing it to another thread
        // orders what came before.
        let seen = self.word.fetch_add(REF_ONE, Relaxed);
        // A count that overflows would free a task in use. A program that leaks wakers in a loop
        // gets here, so it is checked, and the process aborts.
        if seen > isize::MAX as usize {
            std::process::abort();
        }
    }

    /// Gives up a reference; true if it was the last.
    #[inline]
    #[must_use]
    pub(crate) fn unref(&self) -> bool {
        // Acquire: pairs with the Release of all others that gave up a reference. If there is only
        // one reference, it is our own, and nobody else can add one. Then the decrement can be
        // omitted.
        if self.word.load(Acquire) & REF_MASK == REF_ONE {
            return true;
        }
        // Release: our accesses to the task come before its deallocation on any thread. Acquire:
        // the accesses of others come before our deallocation.
        let seen = self.word.fetch_sub(REF_ONE, AcqRel);
        debug_assert!(seen & REF_MASK != 0);
        seen & REF_MASK == REF_ONE
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: a snapshot for debug output.
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
            (SHIELDED, "shielded"),
        ] {
            if word & flag != 0 {
                set.entry(&name);
            }
        }
        set.entry(&format_args!("{} refs", word / REF_ONE)).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_new_task_that_is_cancelled_is_dropped_by_its_first_entry() {
        let state = State::new();
        assert_eq!(state.cancel(), Wake::Nothing, "there is an entry already");
        assert_eq!(state.start(), Start::Cancel);
        assert_eq!(state.complete(false), Complete::Released);
    }

    #[test]
    fn the_join_handle_is_the_last_when_all_others_are_gone() {
        let state = State::new();
        assert_eq!(state.start(), Start::Poll);
        assert!(!state.is_join_last(), "it runs");
        state.add_ref();
        assert_eq!(state.complete(false), Complete::Released);
        assert!(!state.is_join_last(), "somebody else has a reference");
        assert!(!state.unref());
        assert!(state.is_join_last());
        let kept = State::new();
        assert_eq!(kept.start(), Start::Poll);
        assert_eq!(kept.complete(true), Complete::Keep);
        assert!(!kept.is_join_last(), "the runtime has its own");
    }

    #[cfg(all(feature = "fiber", unix))]
    #[test]
    fn a_shielded_task_is_polled_although_it_is_cancelled() {
        let state = State::new();
        assert_eq!(state.start(), Start::Poll);
        state.shield();
        assert_eq!(state.cancel(), Wake::Nothing);
        assert!(state.is_cancelled());
        assert_eq!(state.idle(), Idle::Rescheduled);
        assert!(state.is_shielded());
        assert_eq!(state.start(), Start::Poll);
        assert_eq!(state.wake(), Wake::Nothing);
        state.unshield();
        assert_eq!(state.idle(), Idle::Rescheduled);
        assert_eq!(state.start(), Start::Cancel);
    }
}
