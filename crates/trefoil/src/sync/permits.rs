//! `Permits`: a number that waiters take from in the order in which they asked. The semaphore, the
//! locks and bounded channels stand on it. `README.md` beside the models argues for its promises.

use crate::primitives::atomic::{Acquire, AtomicU32, AtomicUsize, Relaxed, Release};
use crate::primitives::{Mutex, MutexGuard, UnsafeCell};
use crate::task::{coop, wake_guarded};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};

#[cfg(all(test, loom))]
mod loom_tests;
mod parcel;

pub(crate) use parcel::{Collected, Parcel};

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

/// A ring of waiters. It has one pointer, because it lies in each lock of a program.
#[derive(Debug)]
struct Waiters {
    /// The one that has waited the longest.
    first: Option<NonNull<Waiter>>,
}

// SAFETY: the pointers are to waiters that remove themselves under the lock before they are
// dropped, and a waiter's waker is `Send`.
unsafe impl Send for Waiters {}

struct Waiter {
    /// Guarded by the lock.
    node: UnsafeCell<Node>,
    wanted: usize,
    /// What whoever grants the permits takes with them.
    parcel: Option<NonNull<Parcel>>,
    /// How the wait has ended. It is written once, under the lock, when the waiter leaves the ring;
    /// the writer does not access the waiter from then on.
    outcome: AtomicU32,
    /// For its future alone. It is here because it takes no room beside `outcome`.
    phase: Cell<Phase>,
    _pinned: PhantomPinned,
}

struct Node {
    /// The waiter itself if it is alone.
    prev: NonNull<Waiter>,
    next: NonNull<Waiter>,
    waker: Option<Waker>,
    /// How many of the wanted permits the waiter has. All but the first have none.
    gathered: usize,
}

const NONE: u32 = 0;
const GRANTED: u32 = 1;
const REFUSED: u32 = 2;
/// The permits were granted, and went away with the parcel at once.
const COLLECTED: u32 = 3;

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

    #[track_caller]
    fn add(word: usize, permits: usize) -> usize {
        assert!(
            permits <= Self::MAX - (word >> SHIFT),
            "a semaphore has at most `MAX_PERMITS` permits, and {permits} more would be too many"
        );
        word + permits * PERMIT
    }

    #[cold]
    #[track_caller]
    fn release_slow(&self, permits: usize) {
        // With nothing in the word, this is the whole check.
        Self::add(0, permits);
        let waiters = self.waiters.lock();
        if waiters.first.is_some() {
            return self.hand_out(waiters, permits);
        }
        // The last waiter has left in the meantime.
        drop(waiters);
        self.release(permits);
    }

    /// Gives permits to the waiters, in their order, and what is left to nobody.
    fn hand_out(&self, mut waiters: MutexGuard<'_, Waiters>, mut permits: usize) {
        let mut woken = Woken::default();
        while let Some(first) = waiters.first {
            if permits == 0 {
                return self.end_of_hand_out(waiters, woken);
            }
            // SAFETY: a waiter in the ring is live.
            let Waiter { wanted, parcel, .. } = *unsafe { first.as_ref() };
            // SAFETY: 1: a waiter in the ring is live. 2: the lock is held.
            let is_satisfied = unsafe {
                with_node(first, |node| {
                    let given = permits.min(wanted - node.gathered);
                    node.gathered += given;
                    permits -= given;
                    node.gathered == wanted
                })
            };
            if !is_satisfied {
                return self.end_of_hand_out(waiters, woken);
            }
            let collected = parcel.map(|parcel| {
                // SAFETY: its waiter is in the ring, so the parcel is live.
                let collect = unsafe { parcel.as_ref() }.collect;
                // SAFETY: the lock is held, and the waiter leaves the ring now, so this is once.
                unsafe { collect(parcel) }
            });
            let outcome = match collected {
                None => GRANTED,
                Some(Collected::Gone(waker)) => {
                    woken.push(waker);
                    COLLECTED
                }
                Some(Collected::Unwanted) => {
                    permits += wanted;
                    REFUSED
                }
            };
            // SAFETY: it is in the ring, whose lock is held.
            woken.push(unsafe { waiters.end_wait(first, outcome) });
        }
        // Nobody waits any more. Until this store, only the thread that holds the lock changes the
        // word, which has no permits. So `permits` is within the limit: `release_slow` has checked
        // it, or one waiter has gathered them.
        // Relaxed: the thread that set `WAITING` has done so under the lock.
        let closed = self.word.load(Relaxed) & CLOSED;
        // Release: pairs with the Acquire of those who take the permits. It hides no earlier
        // `release`: the thread that set `WAITING` has seen them all and has held the lock since.
        self.word.store((permits * PERMIT) | closed, Release);
        self.end_of_hand_out(waiters, woken);
    }

    /// Foreign code runs once the lock is free.
    fn end_of_hand_out(&self, waiters: MutexGuard<'_, Waiters>, woken: Woken) {
        drop(waiters);
        woken.wake();
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
        // SAFETY: 1: a waiter in the ring is live. 2: the lock is held.
        let gathered = unsafe { with_node(first, |node| node.gathered) };
        let mut woken = Woken::default();
        while let Some(first) = waiters.first {
            // SAFETY: it is in the ring, whose lock is held.
            woken.push(unsafe { waiters.end_wait(first, REFUSED) });
        }
        // Release: as above. As in `hand_out`, nobody else changes the word meanwhile. Of all
        // waiters, only the first had permits.
        self.word.store((gathered * PERMIT) | CLOSED, Release);
        drop(waiters);
        woken.wake();
    }
}

/// The wakers of waiters that have left the ring. One is the rule, and needs no allocation.
#[derive(Default)]
struct Woken {
    first: Option<Waker>,
    others: Vec<Waker>,
}

impl Woken {
    fn push(&mut self, waker: Option<Waker>) {
        match self.first {
            None => self.first = waker,
            Some(_) => self.others.extend(waker),
        }
    }

    /// A waker that panics keeps no other one from being woken, and does not make the drop of a
    /// guard panic.
    fn wake(self) {
        self.first.into_iter().chain(self.others).for_each(wake_guarded);
    }
}

impl Waiter {
    fn new(wanted: usize, parcel: Option<NonNull<Parcel>>) -> Self {
        let node =
            Node { prev: NonNull::dangling(), next: NonNull::dangling(), waker: None, gathered: 0 };
        Self {
            node: UnsafeCell::new(node),
            wanted,
            parcel,
            outcome: AtomicU32::new(NONE),
            phase: Cell::new(Phase::New),
            _pinned: PhantomPinned,
        }
    }

    fn outcome(&self) -> u32 {
        // Acquire: pairs with the Release in `end_wait`. What came before the permits were given
        // back is visible, and the other thread's accesses to the waiter are over.
        self.outcome.load(Acquire)
    }
}

/// # Safety
/// 1. `waiter` is live.
/// 2. The lock of its ring is held, and `f` makes no other reference to the node.
unsafe fn with_node<R>(waiter: NonNull<Waiter>, f: impl FnOnce(&mut Node) -> R) -> R {
    // SAFETY: the waiter is live by 1.
    let waiter = unsafe { waiter.as_ref() };
    waiter.node.with_mut(|node| {
        // SAFETY: by 2, there is no other reference to the node.
        f(unsafe { &mut *node })
    })
}

impl Waiters {
    /// # Safety
    /// `waiter` is live and in no ring, and it leaves this one before it is dropped.
    unsafe fn push(&mut self, waiter: NonNull<Waiter>, waker: Waker, gathered: usize) {
        let first = *self.first.get_or_insert(waiter);
        let last = if first == waiter {
            waiter
        } else {
            // SAFETY: 1: a waiter in the ring is live. 2: `&mut self` comes from the lock.
            unsafe { with_node(first, |node| std::mem::replace(&mut node.prev, waiter)) }
        };
        // SAFETY: 1: the caller promises it. 2: `&mut self` comes from the lock.
        unsafe {
            with_node(waiter, |node| {
                *node = Node { prev: last, next: first, waker: Some(waker), gathered };
            });
        }
        // SAFETY: 1: it is in the ring, or `waiter` itself. 2: `&mut self` comes from the lock.
        unsafe { with_node(last, |node| node.next = waiter) };
    }

    /// Removes a waiter, and returns its waker and what it has gathered.
    ///
    /// # Safety
    /// `waiter` is in this ring.
    unsafe fn remove(&mut self, waiter: NonNull<Waiter>) -> (Option<Waker>, usize) {
        // SAFETY: 1: a waiter in the ring is live. 2: `&mut self` comes from the lock.
        let (prev, next, waker, gathered) = unsafe {
            with_node(waiter, |node| (node.prev, node.next, node.waker.take(), node.gathered))
        };
        // SAFETY: 1: the neighbours are in the ring too, or are `waiter`. 2: `&mut self` comes from
        // the lock.
        unsafe { with_node(prev, |node| node.next = next) };
        // SAFETY: 1: the neighbours are in the ring too, or are `waiter`. 2: `&mut self` comes from
        // the lock.
        unsafe { with_node(next, |node| node.prev = prev) };
        if self.first == Some(waiter) {
            self.first = (next != waiter).then_some(next);
        }
        (waker, gathered)
    }

    /// Removes a waiter whose wait is over. It may be freed from here on.
    ///
    /// # Safety
    /// `waiter` is in this ring.
    unsafe fn end_wait(&mut self, waiter: NonNull<Waiter>, outcome: u32) -> Option<Waker> {
        // SAFETY: the caller promises it.
        let (waker, _) = unsafe { self.remove(waiter) };
        // SAFETY: its owner does not free it without the lock or this outcome.
        let waiter = unsafe { waiter.as_ref() };
        // Release: pairs with the Acquire in `Waiter::outcome`.
        waiter.outcome.store(outcome, Release);
        waker
    }
}

/// The future of [`Permits::acquire`].
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Acquiring<'a> {
    permits: &'a Permits,
    waiter: Waiter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    /// The waiter is in the ring, or has an outcome.
    Queued,
    /// The permits are this future's. It has not said so yet, for want of budget.
    Taken,
    /// They were, and went away with its parcel.
    Collected,
    /// `Ready` was returned, or will be with an error.
    Done,
}

// SAFETY: the lock of the ring guards the waiter's node, which holds a `Waker`, which is `Send`. A
// parcel may be collected by any thread, and this itself does not access it.
unsafe impl Send for Acquiring<'_> {}
// SAFETY: a shared reference gives access to the phase alone, which only `&mut self` changes.
unsafe impl Sync for Acquiring<'_> {}

impl Acquiring<'_> {
    /// The first poll, up to where the permits are taken or a place in the queue is.
    ///
    /// # Safety
    /// `self` is pinned.
    #[inline]
    unsafe fn ask(&mut self, waker: &Waker) {
        match self.permits.try_acquire(self.waiter.wanted) {
            Ok(()) => self.waiter.phase.set(Phase::Taken),
            Err(TryError::Closed) => self.waiter.phase.set(Phase::Done),
            Err(TryError::TooFew) => {
                // SAFETY: the caller promises it.
                unsafe { self.enqueue(waker) }
            }
        }
    }

    /// # Safety
    /// `self` is pinned and new.
    #[cold]
    unsafe fn enqueue(&mut self, waker: &Waker) {
        // The clone comes before the lock, because it may run any code.
        let waker = waker.clone();
        let wanted = self.waiter.wanted;
        let mut waiters = self.permits.waiters.lock();
        // Acquire, here and below: as in `try_acquire`, for the permits that are taken.
        let mut seen = self.permits.word.load(Acquire);
        let gathered = loop {
            if seen & CLOSED != 0 {
                self.waiter.phase.set(Phase::Done);
                break None;
            }
            if seen & WAITING != 0 {
                break Some(0);
            }
            // Either permits that are given meanwhile make this exchange fail, or the thread that
            // gives them sees `WAITING` and waits for the lock.
            let there = seen >> SHIFT;
            let next = if there < wanted { WAITING } else { seen - wanted * PERMIT };
            match self.permits.word.compare_exchange(seen, next, Acquire, Acquire) {
                Ok(_) if there < wanted => break Some(there),
                Ok(_) => {
                    self.waiter.phase.set(Phase::Taken);
                    break None;
                }
                Err(now) => seen = now,
            }
        };
        let Some(gathered) = gathered else {
            drop(waiters);
            return;
        };
        self.waiter.phase.set(Phase::Queued);
        // SAFETY: the waiter is pinned and so stays live, it is new and so in no ring, and `drop`
        // removes it.
        unsafe { waiters.push(NonNull::from(&self.waiter), waker, gathered) };
    }

    /// Whether the wait in the queue is over; keeps the waker if it is not.
    fn poll_queued(&mut self, waker: &Waker) -> Poll<Phase> {
        let mut new = None;
        loop {
            match self.waiter.outcome() {
                NONE => {}
                GRANTED => return Poll::Ready(Phase::Taken),
                COLLECTED => return Poll::Ready(Phase::Collected),
                _ => return Poll::Ready(Phase::Done),
            }
            let waiters = self.permits.waiters.lock();
            if self.waiter.outcome() != NONE {
                continue;
            }
            let this = NonNull::from(&self.waiter);
            // SAFETY: 1: the waiter is a part of `self`. 2: without an outcome it is in the ring,
            // whose lock is held.
            let done = unsafe {
                with_node(this, |node| match &node.waker {
                    Some(old) if old.will_wake(waker) => Ok(None),
                    _ => new.take().map(|new| node.waker.replace(new)).ok_or(()),
                })
            };
            drop(waiters);
            match done {
                // The old waker is dropped here, and not under the lock.
                Ok(_old) => return Poll::Pending,
                // Another one's clone may run any code, so it is made without the lock.
                Err(()) => new = Some(waker.clone()),
            }
        }
    }
}

impl Future for Acquiring<'_> {
    type Output = Result<(), Closed>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of the pinned value.
        let this = unsafe { self.get_unchecked_mut() };
        let budget = coop::poll_proceed(cx);
        let is_new = this.waiter.phase.get() == Phase::New;
        if is_new {
            // Without budget too: a task that yields before it has asked would be overtaken, maybe
            // each time, by others that ask while it waits for its turn.
            // SAFETY: the future is pinned.
            unsafe { this.ask(cx.waker()) };
        }
        let budget = ready!(budget);
        if this.waiter.phase.get() == Phase::Queued {
            if is_new {
                return Poll::Pending;
            }
            let phase = ready!(this.poll_queued(cx.waker()));
            this.waiter.phase.set(phase);
        }
        budget.made_progress();
        match this.waiter.phase.replace(Phase::Done) {
            Phase::Taken => {}
            // Whether there are permits now does not matter: they have served.
            Phase::Collected => return Poll::Ready(Ok(())),
            _ => return Poll::Ready(Err(Closed)),
        }
        if !is_new && this.permits.is_closed() {
            // They were granted in time, but nobody is told of permits after the end.
            this.permits.release(this.waiter.wanted);
            return Poll::Ready(Err(Closed));
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Acquiring<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.waiter.phase.get() {
            Phase::New | Phase::Collected | Phase::Done => {}
            Phase::Taken => self.permits.release(self.waiter.wanted),
            Phase::Queued => self.leave(),
        }
    }
}

impl Acquiring<'_> {
    /// Gives up the wait in the queue.
    #[cold]
    fn leave(&mut self) {
        let mut waiters = self.permits.waiters.lock();
        match self.waiter.outcome() {
            NONE => {
                // SAFETY: a waiter without an outcome is in the ring, whose lock is held.
                let (waker, gathered) = unsafe { waiters.remove(NonNull::from(&self.waiter)) };
                // Also if it has gathered nothing: it may have been the last one.
                self.permits.hand_out(waiters, gathered);
                drop(waker);
            }
            GRANTED => {
                drop(waiters);
                self.permits.release(self.waiter.wanted);
            }
            _ => {}
        }
    }
}

impl fmt::Debug for Acquiring<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquiring")
            .field("wanted", &self.waiter.wanted)
            .field("phase", &self.waiter.phase.get())
            .finish_non_exhaustive()
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
