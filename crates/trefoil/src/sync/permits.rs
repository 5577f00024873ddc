//! `Permits`: a number that waiters take from in the order in which they asked. The semaphore, the
//! locks and bounded channels stand on it. `README.md` beside the models argues for its promises.

mod acquiring;
#[cfg(all(test, loom))]
mod loom_tests;
mod parcel;
mod waiters;

pub(crate) use acquiring::Acquiring;
pub(crate) use parcel::{Collected, Parcel};

use crate::primitives::atomic::{Acquire, AtomicUsize, Relaxed, Release};
use crate::primitives::{Mutex, MutexGuard};
use crate::sync::wakers::Wakers;
use std::fmt;
use std::pin::pin;
use std::ptr::NonNull;
use waiters::{COLLECTED, GRANTED, REFUSED, Waiter, Waiters, next, with_node};

/// No more permits are given.
const CLOSED: usize = 0b01;
/// The list is not empty. All permits that come in belong to its first waiter, so none are in the
/// word. This bit is set and cleared under the lock, and while it is set, the word only changes
/// under the lock.
const WAITING: usize = 0b10;
/// The unit of the number of permits above the bits.
const PERMIT: usize = 0b1000;
const SHIFT: u32 = PERMIT.trailing_zeros();

/// A number of permits, and those who wait for some of them.
///
/// A waiter that wants several permits gathers them while it is the first in the queue. Whoever
/// comes later gets nothing before it, not even what would be enough for the latter and is too
/// little for the former.
pub(crate) struct Permits {
    /// The number of permits that nobody has, and the bits above.
    word: AtomicUsize,
    waiters: Mutex<Waiters>,
}

/// No more permits are given: somebody has closed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// Why permits were not there at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TryError {
    Closed,
    /// There are too few, or somebody waits for them.
    TooFew,
}

impl Permits {
    pub(crate) const MAX: usize = usize::MAX >> SHIFT;

    /// # Panics
    /// If `permits` is more than [`Permits::MAX`].
    #[cfg(not(loom))]
    #[track_caller]
    pub(crate) const fn new(permits: usize) -> Self {
        Self {
            word: AtomicUsize::new(Self::to_word(permits)),
            waiters: Mutex::new(Waiters { first: None }),
        }
    }

    #[cfg(loom)]
    pub(crate) fn new(permits: usize) -> Self {
        Self {
            word: AtomicUsize::new(Self::to_word(permits)),
            waiters: Mutex::new(Waiters { first: None }),
        }
    }

    #[track_caller]
    const fn to_word(permits: usize) -> usize {
        assert!(permits <= Self::MAX, "a semaphore has at most `MAX_PERMITS` permits");
        permits << SHIFT
    }

    /// How many permits nobody has. While somebody waits, that is none.
    pub(crate) fn available(&self) -> usize {
        // Acquire: pairs with `release`, for those who see that all permits are back.
        self.word.load(Acquire) >> SHIFT
    }

    pub(crate) fn is_closed(&self) -> bool {
        // Acquire: pairs with `close`.
        self.word.load(Acquire) & CLOSED != 0
    }

    /// Takes permits if they are there and nobody waits. It does not spend the budget.
    ///
    /// None at all (`wanted` is 0) are always there.
    #[inline]
    pub(crate) fn try_acquire(&self, wanted: usize) -> Result<(), TryError> {
        // Acquire, on success and on failure: pairs with `release` and `close`. What came before
        // the permits were given back is visible to those who take them. While nobody waits, all
        // changes are RMWs, which continue the release sequence of each `release`.
        let mut seen = self.word.load(Acquire);
        loop {
            if seen & CLOSED != 0 {
                return Err(TryError::Closed);
            }
            if seen >> SHIFT < wanted {
                return Err(TryError::TooFew);
            }
            match self.word.compare_exchange(seen, seen - wanted * PERMIT, Acquire, Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => seen = now,
            }
        }
    }

    /// Takes permits, and waits for them if need be. The permits are the caller's once the future
    /// has returned `Ok`; he gives them back by [`release`](Self::release).
    ///
    /// The first poll takes a place in the queue, also if the task has no budget left. The future
    /// then yields before it returns.
    ///
    /// # Errors
    /// The permits were closed, before or during the wait.
    ///
    /// # Cancellation safety
    /// A future that is dropped loses its place in the queue. Permits that it was given go to the
    /// next waiter.
    #[inline]
    pub(crate) fn acquire(&self, wanted: usize) -> Acquiring<'_> {
        Acquiring { permits: self, waiter: Waiter::new(wanted, None) }
    }

    /// As `acquire`. If the permits are not there at once, whoever grants them later collects the
    /// parcel, and they are not the caller's then.
    ///
    /// # Safety
    /// 1. The future is dropped before the parcel is.
    /// 2. `collect` may be called with the parcel, by any thread that grants permits, while the
    ///    caller waits.
    #[inline]
    pub(crate) unsafe fn acquire_for(
        &self,
        wanted: usize,
        parcel: NonNull<Parcel>,
    ) -> Acquiring<'_> {
        Acquiring { permits: self, waiter: Waiter::new(wanted, Some(parcel)) }
    }

    /// Gives permits, to the waiters first. The permits need not have been taken before.
    ///
    /// # Panics
    /// If there were more than [`Permits::MAX`] afterwards; then nothing has changed.
    #[inline]
    #[track_caller]
    pub(crate) fn release(&self, permits: usize) {
        if permits == 0 {
            return;
        }
        // Relaxed: a guess, which the exchange checks.
        let mut seen = self.word.load(Relaxed);
        while seen & WAITING == 0 {
            let next = Self::add(seen, permits);
            // Release: pairs with the Acquire of those who take the permits. Relaxed: as above.
            match self.word.compare_exchange(seen, next, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
        self.release_slow(permits);
    }

    /// How many permits there may be beside those in the word.
    fn room(word: usize) -> usize {
        Self::MAX - (word >> SHIFT)
    }

    #[track_caller]
    fn add(word: usize, permits: usize) -> usize {
        if permits > Self::room(word) {
            Self::refuse(permits);
        }
        word + permits * PERMIT
    }

    #[cold]
    #[track_caller]
    fn refuse(permits: usize) -> ! {
        panic!(
            "a semaphore has at most `MAX_PERMITS` permits, and {permits} more would be too many"
        )
    }

    #[cold]
    #[track_caller]
    fn release_slow(&self, permits: usize) {
        let waiters = self.waiters.lock();
        if let Some(first) = waiters.first {
            // Nothing is in the word. What waits with the first waiter to be handed out counts as
            // if it were there.
            // SAFETY: a waiter in the ring is live.
            let wanted = unsafe { first.as_ref() }.wanted;
            // SAFETY: 1: a waiter in the ring is live. 2: the lock is held.
            let gathered = unsafe { with_node(first, |node| node.gathered) };
            let there = if gathered < wanted { 0 } else { gathered * PERMIT };
            if permits > Self::room(there) {
                // The panic calls its hook, which is foreign code.
                drop(waiters);
                Self::refuse(permits);
            }
            return self.hand_out(waiters, permits);
        }
        // The last waiter has left in the meantime.
        drop(waiters);
        self.release(permits);
    }

    /// Gives permits to the waiters, in their order, and what is left to nobody.
    ///
    /// One critical section serves a bounded number of waiters. Between two, what is left is with
    /// the first waiter, where whoever comes first finds it: another one that gives permits, or
    /// this waiter, should it give up.
    fn hand_out<'a>(&'a self, mut waiters: MutexGuard<'a, Waiters>, mut permits: usize) {
        let mut wakers = Wakers::new();
        loop {
            while let Some(first) = waiters.first {
                // SAFETY: a waiter in the ring is live.
                let Waiter { wanted, parcel, .. } = *unsafe { first.as_ref() };
                // A waiter has one waker, and what collects its parcel may hand out another.
                let is_served = wakers.room() >= 2;
                // SAFETY: 1: a waiter in the ring is live. 2: the lock is held.
                let is_satisfied = unsafe {
                    with_node(first, |node| {
                        node.gathered += permits;
                        let is_satisfied = node.gathered >= wanted;
                        permits = if is_satisfied && is_served {
                            std::mem::take(&mut node.gathered) - wanted
                        } else {
                            0
                        };
                        is_satisfied
                    })
                };
                if !is_satisfied {
                    drop(waiters);
                    return wakers.wake();
                }
                if !is_served {
                    break;
                }
                let collected = parcel.map(|parcel| {
                    // SAFETY: its waiter is in the ring, so the parcel is live.
                    let collect = unsafe { parcel.as_ref() }.collect;
                    // SAFETY: the lock is held, and the waiter leaves the ring now: this is once.
                    unsafe { collect(parcel) }
                });
                let outcome = match collected {
                    None => GRANTED,
                    Some(Collected::Gone(waker)) => {
                        waker.into_iter().for_each(|waker| wakers.add(waker));
                        COLLECTED
                    }
                    Some(Collected::Unwanted) => {
                        permits += wanted;
                        REFUSED
                    }
                };
                // SAFETY: it is in the ring, whose lock is held.
                let waker = unsafe { waiters.end_wait(first, outcome) };
                waker.into_iter().for_each(|waker| wakers.add(waker));
            }
            if waiters.first.is_none() {
                break;
            }
            drop(waiters);
            wakers.wake();
            waiters = self.waiters.lock();
            if waiters.first.is_none() {
                // Others have done the rest.
                return;
            }
        }
        // Nobody waits any more. Until this store, only the thread that holds the lock changes the
        // word, which has no permits. So `permits` is within the limit: `release_slow` has checked
        // it, or waiters have had them.
        // Relaxed: the thread that set `WAITING` has done so under the lock.
        let closed = self.word.load(Relaxed) & CLOSED;
        // Release: pairs with the Acquire of those who take the permits. It hides no earlier
        // `release`: the thread that set `WAITING` has seen them all and has held the lock since.
        self.word.store((permits * PERMIT) | closed, Release);
        drop(waiters);
        wakers.wake();
    }

    /// Takes away up to `permits` of those that nobody has. Returns how many.
    pub(crate) fn forget(&self, permits: usize) -> usize {
        // Acquire: as in `try_acquire`, since this takes permits.
        let mut seen = self.word.load(Acquire);
        loop {
            let taken = permits.min(seen >> SHIFT);
            match self.word.compare_exchange(seen, seen - taken * PERMIT, Acquire, Acquire) {
                Ok(_) => return taken,
                Err(now) => seen = now,
            }
        }
    }

    /// Gives no more permits, and wakes all waiters. Permits may still be given back.
    pub(crate) fn close(&self) {
        let mut waiters = self.waiters.lock();
        let Some(first) = waiters.first else {
            // Release: pairs with the Acquire of those who see that it is closed.
            self.word.fetch_or(CLOSED, Release);
            return;
        };
        // Of all waiters, only the first has permits.
        // SAFETY: 1: a waiter in the ring is live. 2: the lock is held.
        let gathered = unsafe { with_node(first, |node| std::mem::take(&mut node.gathered)) };
        let guard = pin!(Waiter::new(0, None));
        let guard = NonNull::from(&*guard);
        // SAFETY: the guard is pinned and in no ring. It is the last one in its ring: the loop ends
        // with that, and nothing in it unwinds.
        unsafe { waiters.move_behind(guard) };
        // Release: as above. As in `hand_out`, nobody else changes the word meanwhile. From here on
        // nobody begins to wait.
        self.word.store((gathered * PERMIT) | CLOSED, Release);
        let mut wakers = Wakers::new();
        loop {
            let is_last = loop {
                // SAFETY: it is in its ring, whose lock is held.
                let waiter = unsafe { next(guard) };
                if waiter == guard {
                    break true;
                }
                if wakers.room() == 0 {
                    break false;
                }
                // SAFETY: the waiter is in the ring of the guard, whose lock is held.
                let waker = unsafe { waiters.end_wait(waiter, REFUSED) };
                waker.into_iter().for_each(|waker| wakers.add(waker));
            };
            drop(waiters);
            wakers.wake();
            if is_last {
                return;
            }
            waiters = self.waiters.lock();
        }
    }
}

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: a snapshot for debug output.
        let word = self.word.load(Relaxed);
        f.debug_struct("Permits")
            .field("available", &(word >> SHIFT))
            .field("waiting", &(word & WAITING != 0))
            .field("closed", &(word & CLOSED != 0))
            .finish()
    }
}
